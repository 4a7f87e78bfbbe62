"""The page's own code over the events of a run: the model of `web/src`, bundled once and run by one node process for the whole bench."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import threading

from project import LIVE, PROGRAMS, REPO

# The surfaces that this process answers for.
SURFACES = ("page", "page html", "page show html")


class Page:
    """Answers `fold(events)` with what the page shows, as text. `missing` says why there is no such surface."""

    def __init__(self, base):
        self.lock, self.process, self.missing = threading.Lock(), None, None
        node, bundler = shutil.which("node"), REPO / "web/node_modules/rolldown/bin/cli.mjs"
        if node is None:
            self.missing = "node is not on PATH"
        elif not bundler.exists():
            self.missing = "web/node_modules is missing (cd web && npm ci)"
        else:
            self.start(node, bundler, pathlib.Path(base) / "page.mjs")

    def start(self, node, bundler, bundle):
        # What is there but does not build is an error, not a surface to leave out.
        subprocess.run([node, bundler, PROGRAMS / "page.ts", "--file", bundle, "--format", "esm", "--platform", "node", "--log-level", "silent"], cwd=REPO / "web", check=True, timeout=60,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen([node, bundle], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        LIVE.add(self.process.pid)

    def fold(self, events, timeout=20):
        with self.lock:
            try:
                self.process.stdin.write(json.dumps({"events": events}).encode() + b"\n")
                self.process.stdin.flush()
                return self.read_line(timeout).decode("utf-8", "replace")
            except OSError as error:
                return f"the page's process: {error}"

    def read_line(self, timeout):
        """One line, by the file descriptor: a buffered reader would wait for ever on a process that hangs."""
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], timeout)[0]:
                raise OSError("no answer in time")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise OSError("it ended")
            line += piece
        return line


PAGE = None


def open_page(base):
    """Starts the process, once per bench run; gives why it cannot, or None."""
    global PAGE
    page = Page(base)
    if page.missing is None:
        PAGE = page
    return page.missing


def add_folds(out, events, html_report):
    """What the page shows: of the recording, of the report that the run wrote, and of the report that `show` writes."""
    if PAGE is None:
        return
    out.add("page", PAGE.fold(events))
    for surface, path in html_report.items():
        if path.exists():
            text = embedded_events(path.read_text(encoding="utf-8", errors="replace"))
            out.add(surface, "no embedded events" if text is None else PAGE.fold(text))


def embedded_events(page):
    """The text of the element that the page's script reads."""
    _, found, rest = page.partition('<script type="application/x-ndjson" id="proctor-events">')
    return rest.partition("</script>")[0] if found else None
