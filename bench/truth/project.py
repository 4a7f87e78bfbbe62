"""A project in a folder of its own, and the binary run in it: bounded in time, with nothing left behind."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parent.parent
PROGRAMS = HERE / "programs"
LIVE = set()  # process groups that were started and not yet waited for
LEAVING = threading.Event()  # set when nothing more may be started


class Ran:
    """What a process printed and how it ended. `code` is None where it was killed for taking too long."""

    def __init__(self, code, stdout, stderr, late=False):
        self.code, self.stdout, self.stderr, self.late = code, stdout, stderr, late


class Project:
    """A folder with files, a home and an environment of its own."""

    def __init__(self, binary, base):
        self.binary = str(binary)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="p", dir=base))
        self.root = self.folder / "project"
        self.root.mkdir()
        (self.folder / "tmp").mkdir()
        self.base = pathlib.Path(base)
        self.extra_env = {}
        self.deadline = time.monotonic() + 3600

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content = content.replace("@PYTHON@", sys.executable).replace("@PROGRAMS@", str(PROGRAMS)).replace("@ROOT@", str(self.root))
            path.write_text(content, encoding="utf-8")

    def env(self, **more):
        home = self.base / "home"
        home.mkdir(exist_ok=True)
        env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_STATE_HOME": str(self.folder / "state"), "TMPDIR": str(self.folder / "tmp"), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1",
        }
        for name in ("PYENV_ROOT", "GEM_HOME", "GEM_PATH", "RUBYLIB"):
            if name in os.environ:
                env[name] = os.environ[name]
        env.update(self.extra_env)
        env.update({name: value for name, value in more.items() if value is not None})
        return env

    def start(self, args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=None, program=None, stdin=subprocess.DEVNULL):
        if LEAVING.is_set():
            raise RuntimeError("the bench is ending")
        argv = [program or self.binary, *[str(arg) for arg in args]]
        process = subprocess.Popen(argv, cwd=self.root, env=self.env(**(env or {})), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)
        LIVE.add(process.pid)
        return process

    def finish(self, process, timeout):
        late = False
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            late = True
            kill_group(process)
            try:
                out, err = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                out, err = b"", b""
        LIVE.discard(process.pid)
        text = lambda raw: (raw or b"").decode("utf-8", "replace")
        return Ran(None if late else process.returncode, text(out), text(err), late)

    def run(self, *args, timeout=20.0, env=None, program=None):
        return self.finish(self.start(args, env=env, program=program), timeout)

    def runs_folder(self):
        return self.root / ".proctor" / "runs"

    def newest_run(self):
        """The folder of the newest recording; ids sort by time."""
        folder = self.runs_folder()
        names = sorted(path.name for path in folder.iterdir() if (path / "events.jsonl").exists()) if folder.is_dir() else []
        return folder / names[-1] if names else None

    def events(self, run=None):
        """The events of a recording that can be read, as dictionaries."""
        run = run or self.newest_run()
        if run is None:
            return []
        found = []
        for line in (run / "events.jsonl").read_bytes().split(b"\n"):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                found.append(event)
        return found

    def wait_for(self, condition, timeout=15.0):
        """Polls until the condition holds; whether it did."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.01)
        return False

    def remove(self):
        for _ in range(3):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(0.1)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_all_started():
    """Ends what is still there of what we started, and starts nothing more."""
    LEAVING.set()
    time.sleep(0.05)
    for pid in list(LIVE):
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
