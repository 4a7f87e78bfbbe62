"""Runs a situation through the binary and collects what every surface says, as text."""

import hashlib
import http.client
import json
import os
import pty
import select
import signal
import subprocess
import threading
import time
import zlib

import page
from project import LIVE, Ran
from surfaces import recorded, reports, served, terminal

# Every surface with its adapter. `live:` surfaces come from the run itself, the others from its recording.
SURFACES = {
    "live:interleaved": terminal.interleaved, "live:grouped": terminal.grouped, "live:quiet": terminal.quiet, "live:terse": terminal.terse,
    "live:screen": terminal.summary, "live:json": reports.json_report, "live:junit": reports.junit, "live:markdown": reports.markdown,
    "live:html": reports.html_page, "live:github": reports.github, "live:github summary": reports.markdown,
    "stream": reports.stream, "show": terminal.show, "show json": reports.json_report, "show junit": reports.junit, "show markdown": reports.markdown,
    "watch": terminal.watch, "runs": recorded.runs_text, "runs json": recorded.runs_json, "history": recorded.history_json,
    "history example": recorded.history_example, "flaky": recorded.flaky_json, "validate": recorded.validate, "compare": recorded.compare_self,
    "list only-failures": recorded.only_failures, "baseline": recorded.baseline, "live:journal": recorded.journal,
    "api runs": served.api_runs, "api run": served.api_run, "api examples": served.api_examples, "api example": served.api_example,
    "specs progress": served.progress, "page": served.page, "page html": served.page, "page show html": served.page,
    "tool run_status": served.tool_run, "tool run_wait": served.tool_run, "tool run_results": served.tool_results, "tool run_results all": served.tool_results_all,
    "tool show_example": served.tool_example, "mcp run_results": served.tool_results,
}
ENTRY = ("journal", "create", "--domain", "debugging", "--strategy", "check-assumptions", "--goal", "g", "--hypothesis", "h", "--action", "a", "--prediction", "p")
UIS = ("interleaved", "grouped", "quiet", "terse")


class Collected:
    """The exit code, and the raw text of every surface: a list of (surface, text)."""

    def __init__(self):
        self.exit, self.late, self.raw, self.run_id, self.names = None, False, [], None, {}

    def add(self, surface, text):
        self.raw.append((surface, text))


def stable_id(file, title):
    """The documented rule of stable ids (docs/events.md)."""
    return hashlib.sha256(f"./{file}::{title}".encode()).hexdigest()[:12]


def ui_of(situation):
    return UIS[zlib.crc32(situation.name.encode()) % len(UIS)]


def run_situation(situation, project, ui=None, reports_too=True):
    """Makes the run of a situation; gives what the live surfaces said."""
    out = Collected()
    for name, content in situation.files.items():
        project.write(name, content)
    if not (project.root / "proctor.toml").exists():
        project.write("proctor.toml", "")
    project.extra_env = {name: value.replace("@ROOT@", str(project.root)) for name, value in situation.env.items()}
    if situation.before:
        situation.before(project)
    before = set(project.runs_folder().iterdir()) if project.runs_folder().is_dir() else set()
    if situation.drive:
        out.exit = situation.drive(project, out)
    else:
        live_run(situation, project, out, ui or ui_of(situation), reports_too)
    after = set(project.runs_folder().iterdir()) if project.runs_folder().is_dir() else set()
    fresh = sorted(path.name for path in after - before if (path / "events.jsonl").exists())
    out.run_id = fresh[-1] if fresh else None
    if situation.after and out.run_id:
        situation.after(project, project.runs_folder() / out.run_id)
    out.names = names_of(situation, project, out.run_id)
    return out


def names_of(situation, project, run_id):
    """Titles by id. Those of the truth are computed here; others are taken from the recording, to be named in a report."""
    names = {}
    if run_id:
        for event in project.events(project.runs_folder() / run_id):
            if event.get("example_id") and isinstance(event.get("path"), list):
                names.setdefault(event["example_id"], " > ".join(str(part) for part in event["path"] if part))
    seen = set(names)
    for file in situation.files:
        for title in situation.truth.examples:
            key = stable_id(file, title)
            # Of several files that might hold it, one that the recording knows is told last: it is the one that is asked for.
            if key not in seen:
                names = {key: title, **names}
            else:
                names[key] = title
    return names


def live_run(situation, project, out, ui, reports_too):
    folder = project.folder
    written = {name: folder / f"live.{name}" for name in ("json", "junit", "markdown", "html")}
    args = ["run", "--ui", ui, *situation.args]
    if reports_too:
        options = [part for name, path in written.items() for part in (f"--{name}", path)]
        # The run decides an entry of the journal that predicts a pass.
        predicted = project.run(*ENTRY).code == 0  # not where the configuration cannot be read
        args = ["run", "--ui", ui, *options, *(["--resolve-journal=pass"] if predicted else []), *situation.args]
    summary = folder / "summary.md"
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)} if reports_too else {}
    process = project.start(args, env=env)
    if situation.during:
        threading.Thread(target=situation.during, args=(project, process), daemon=True).start()
    ran = project.finish(process, situation.timeout)
    out.exit, out.late = ran.code, ran.late
    text = ran.stdout + "\n" + ran.stderr
    plain = "\n".join(line for line in text.splitlines() if not line.startswith(("::", "journal: ")))
    out.add(f"live:{ui}", plain)
    out.output = text
    if reports_too:
        for name, path in written.items():
            if path.exists():
                out.add(f"live:{name}", path.read_text(encoding="utf-8", errors="replace"))
        if predicted:
            out.add("live:journal", project.run("journal", "list", "--format", "json").stdout)
        out.add("live:github", text)
        if summary.exists():
            out.add("live:github summary", summary.read_text(encoding="utf-8", errors="replace"))


def on_screen(situation, project):
    """The interactive screen on a terminal: the text that stays when the screen, and the review of failures behind it, have closed."""
    out = Collected()
    for name, content in situation.files.items():
        project.write(name, content)
    if not (project.root / "proctor.toml").exists():
        project.write("proctor.toml", "")
    main, side = pty.openpty()
    import fcntl, struct, termios
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    process = subprocess.Popen([project.binary, "run", "--ui", "interactive", *situation.args], cwd=project.root, stdin=side, stdout=side, stderr=side,
                               env=project.env(TERM="xterm-256color"), start_new_session=True)
    LIVE.add(process.pid)
    os.close(side)
    data, end, asked = b"", time.monotonic() + situation.timeout, 0.0
    while time.monotonic() < end:
        ready, _, _ = select.select([main], [], [], 0.05)
        if ready:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            data += piece
            if b"\x1b[6n" in piece:
                os.write(main, b"\x1b[1;1R")  # it asks where the cursor is
        elif process.poll() is not None:
            break
        elif b"\x1b[?1049h" in data and time.monotonic() - asked > 0.5 and time.monotonic() > end - situation.timeout + 3:
            # A screen that stays open after the end is closed by its key.
            asked = time.monotonic()
            os.write(main, b"q")
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    LIVE.discard(process.pid)
    os.close(main)
    out.exit = process.returncode
    import re
    text = re.sub(r"\x1b\[\?1049h.*?(?:\x1b\[\?1049l|\Z)", "", data.decode("utf-8", "replace"), flags=re.S)
    text = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>78]|\r", "", text)
    out.add("live:screen", text)
    return out


def recorded_surfaces(situation, project, out):
    """Asks every surface that reads recordings."""
    run = out.run_id
    if run is None:
        return
    skip = situation.without
    ask = lambda *args: project.run(*args, timeout=30)
    events = project.runs_folder() / run / "events.jsonl"
    out.add("stream", events.read_text(encoding="utf-8", errors="replace"))
    files = {name: project.folder / f"show.{name}" for name in ("junit", "markdown", "html")}
    shown = ask("show", run)
    out.add("show", shown.stdout + shown.stderr)
    ask("show", run, *[part for name, path in files.items() for part in (f"--{name}", path)])
    page.add_folds(out, events.read_text(encoding="utf-8", errors="replace"), {"page html": project.folder / "live.html", "page show html": files.pop("html")})
    for name, path in files.items():
        if path.exists():
            out.add(f"show {name}", path.read_text(encoding="utf-8", errors="replace"))
    out.add("show json", ask("show", run, "--format", "json").stdout)
    # `watch` follows what has no end; it is not asked for ever.
    watched = project.run("watch", run, "--lines", timeout=30 if ended(events) else 2)
    if not watched.late:
        out.add("watch", watched.stdout)
    out.add("runs", ask("runs").stdout)
    out.add("runs json", ask("runs", "--format", "json").stdout)
    if "history" not in skip:
        history = ask("history", "--format", "json").stdout
        if run in history or not history.startswith("{"):
            out.add("history", history)
        out.add("flaky", ask("flaky", "--format", "json").stdout)
    valid = ask("validate", run, "--format", "json")
    out.add("validate", f"{valid.code}\n{valid.stdout}")
    compared = ask("compare", run, run, "--format", "json", "--all")
    out.add("compare", f"{compared.code}\n{compared.stdout}")
    tool = lambda name, **given: ask("tool", name, json.dumps({"run_id": run, **given}))
    for name in ("run_status", "run_wait", "run_results"):
        answer = tool(name, **({"limit": 100} if name == "run_results" else {}))
        out.add(f"tool {name}", answer.stdout or answer.stderr)
    answer = tool("run_results", statuses=["all"], limit=100)
    if '"next": "' not in answer.stdout:
        out.add("tool run_results all", answer.stdout or answer.stderr)
    for key in some_ids(situation, out):
        answer = tool("show_example", example=key)
        out.add("tool show_example", answer.stdout or answer.stderr)
        if "history" not in skip:
            history = ask("history", key, "--format", "json").stdout
            if run in history:
                out.add("history example", history)
    over_http(situation, project, out)
    blessed = ask("baseline", "bless", run, "--name", "truth")
    kept = project.root / ".proctor/baselines/truth.json"
    out.add("baseline", json.dumps({"code": blessed.code, "said": blessed.stdout + blessed.stderr, "kept": json.loads(kept.read_text()) if kept.exists() else None,
                                    "shown": ask("baseline", "show", "--format", "json").stdout}))
    if "list only-failures" in situation.extra:
        out.add("list only-failures", ask("list", "--only-failures", "--format", "json").stdout)
    if "mcp" in situation.extra:
        over_mcp(project, out)


def ended(events):
    return any(reports.stream_ended(line) for line in events.read_text(encoding="utf-8", errors="replace").splitlines()[-2:] if line.endswith("}"))


def some_ids(situation, out):
    """One example of each verdict, at most four: those that are worth a call of their own."""
    by_title = {title: key for key, title in out.names.items()}
    chosen, seen = [], set()
    for title, outcome in situation.truth.examples.items():
        if outcome.verdicts not in seen and not outcome.optional and title in by_title:
            seen.add(outcome.verdicts)
            chosen.append(by_title[title])
    return chosen[:4]


def over_http(situation, project, out):
    process = project.start(["serve", "--format", "json", "--read-only"], stderr=subprocess.DEVNULL)
    try:
        ready, _, _ = select.select([process.stdout], [], [], 20)
        told = json.loads(process.stdout.readline()) if ready else None
        if not told:
            out.add("api runs", "")
            return
        host = told["address"].replace("http://", "").rstrip("/")
        get = lambda path: fetch(host, path, told["token"])
        out.add("api runs", get("/api/runs"))
        out.add("api run", get(f"/api/runs/{out.run_id}"))
        out.add("api examples", get(f"/api/runs/{out.run_id}/examples"))
        for key in some_ids(situation, out):
            out.add("api example", get(f"/api/runs/{out.run_id}/examples/{key}"))
        out.add("specs progress", get("/specs/progress"))
    finally:
        process.send_signal(signal.SIGTERM)
        project.finish(process, 10)


def fetch(host, path, token, method="GET", body=None):
    connection = http.client.HTTPConnection(host, timeout=20)
    try:
        connection.request(method, path, body=body, headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        return connection.getresponse().read().decode("utf-8", "replace")
    except OSError as error:
        return f"{error}"
    finally:
        connection.close()


def over_mcp(project, out):
    """The same results over the real protocol, on standard input and output."""
    process = project.start(["mcp", "--tools", "runs"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "truth", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run_results", "arguments": {"run_id": out.run_id, "limit": 100}}},
    ]
    answer = ""
    try:
        for request in requests:
            process.stdin.write((json.dumps(request) + "\n").encode())
            process.stdin.flush()
            if "id" in request:
                ready, _, _ = select.select([process.stdout], [], [], 20)
                line = process.stdout.readline() if ready else b""
                if request["id"] == 2:
                    answer = line.decode("utf-8", "replace")
        result = (json.loads(answer) or {}).get("result") or {}
        content = result.get("structuredContent")
        if content is None:
            content = json.loads(result["content"][0]["text"])
        out.add("mcp run_results", json.dumps(content))
    except (OSError, ValueError, KeyError, IndexError) as error:
        out.add("mcp run_results", f"{error}: {answer[:200]}")
    finally:
        process.stdin.close()
        process.stdin = None
        project.finish(process, 10)


__all__ = ["Collected", "Ran", "SURFACES", "on_screen", "recorded_surfaces", "run_situation"]
