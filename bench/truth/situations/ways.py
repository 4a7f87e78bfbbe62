"""Other ways to make a run, and other places for what it says: tools, the server, plain rspec, workers that load by themselves, blocked and broken destinations."""

import json
import os
import select
import signal
import subprocess
import time

from collect import fetch
from model import situation, truth
from project import REPO

SPECS = {
    "pass": ('RSpec.describe("A") { it("one") { }; it("two") { } }', truth(0, {"A > one": "passed", "A > two": "passed"})),
    "fail": ('RSpec.describe("A") { it("one") { }; it("two") { raise "x" } }', truth(1, {"A > one": "passed", "A > two": "failed"})),
    "crash": ('RSpec.describe("A") { it("one") { }; it("two") { exit!(0) } }', truth(1, {"A > one": "passed", "A > two": "crashed"})),
    "load-error": ("raise 'x'", truth(2, {}, "did_not_load", exact=False)),
    "empty": ("", truth(2, {}, "nothing_found")),
}
LATER = {"live:interleaved": "the run has no terminal", "live:grouped": "", "live:quiet": "", "live:terse": ""}


def by_tool(project, out):
    """`run_start`, then `run_wait` until it is over, over separate processes as a shell would."""
    started = json.loads(project.run("tool", "run_start", json.dumps({"workers": 1}), timeout=60).stdout or "{}")
    run = started.get("run_id") or (started.get("run") or {}).get("run_id")
    end = time.monotonic() + 30
    while run and time.monotonic() < end:
        told = project.run("tool", "run_wait", json.dumps({"run_id": run})).stdout
        data = json.loads(told or "{}")
        state = (data.get("run") or data).get("state") or data.get("state")
        if state not in ("loading", "running", "stopping"):
            break
    return None


def by_server(project, out):
    """`POST /specs/run`, then `/specs/progress` until it is over."""
    process = project.start(["serve", "--format", "json"], stderr=subprocess.DEVNULL)
    try:
        ready, _, _ = select.select([process.stdout], [], [], 20)
        told = json.loads(process.stdout.readline())
        host = told["address"]
        fetch(host, "/specs/run", told["token"], "POST", json.dumps({"workers": 1}))
        end, text = time.monotonic() + 30, ""
        while time.monotonic() < end:
            text = fetch(host, "/specs/progress", told["token"])
            if json.loads(text).get("status") not in ("running", "loading", "stopping", "starting"):
                break
            time.sleep(0.05)
        out.add("specs progress", text)
    finally:
        process.send_signal(signal.SIGTERM)
        project.finish(process, 15)
    return None


for name, (text, the_truth) in SPECS.items():
    situation(f"tool/run-start-{name}", the_truth, {"spec/a_spec.rb": text}, drive=by_tool, without=LATER, short=name == "fail", timeout=60)
    situation(f"server/specs-run-{name}", the_truth, {"spec/a_spec.rb": text}, drive=by_server, without=LATER, short=name == "fail", timeout=60)
    situation(f"no-preload/{name}", the_truth, {"spec/a_spec.rb": text}, ["-w", "1", "--no-preload"], short=name == "crash")
    situation(f"many-workers/{name}", the_truth, {"spec/a_spec.rb": text}, ["-w", "8"])
HANG = 'RSpec.describe("A") { it("one") { }; it("two") { sleep 60 } }'
situation("no-preload/hang", truth(1, {"A > one": "passed", "A > two": "timed_out"}), {"spec/a_spec.rb": HANG}, ["-w", "1", "--no-preload", "--timeout", "1s"])
situation("no-preload/before-suite-raises", truth((1, 2), {"A > one": "not_run"}, ("finished", "did_not_load")),
          {"spec/a_spec.rb": 'RSpec.configure { |c| c.before(:suite) { raise "x" } }\nRSpec.describe("A") { it("one") { } }'}, ["-w", "1", "--no-preload"])
situation("no-preload/defined-late", truth((1, 2), {"A > one": "passed|failed|errored", "late > inner": "failed|not_run?"}),
          {"spec/a_spec.rb": 'RSpec.describe("A") { it("one") { RSpec.describe("late") { it("inner") { raise "x" } } } }'}, ["-w", "1", "--no-preload"])


def plain_rspec(*options, stop=None):
    """The suite under plain `rspec` with the library, which records the run through `proctor host`."""
    def drive(project, out):
        env = {"PROCTOR_BIN": project.binary, "RUBYLIB": str(REPO / "ruby/lib"), "PROCTOR_EVENTS": ""}
        process = project.start([*options], program="rspec", env=env)
        if stop:
            project.wait_for(lambda: (project.root / "now").exists(), 20)
            os.kill(process.pid, stop)
        project.finish(process, 30)
        time.sleep(0.3)
        return None
    return drive


HOSTED = ('require "proctor/rspec"\nRSpec.describe("A", type: :agent) do\n  agent { ->(messages) { { text: "Hello" } } }\n'
          '  it("one") { user.says "hi"; expect(agent).to match(/Hello/) }\n  it("two") { user.says "hi"; %s }\n  it("three") { user.says "hi"; expect(agent).to match(/Hello/) }\nend\n')
BAD = 'expect(agent).to match(/Nope/)'
CUT = truth(1000, {"A > one": "passed", "A > two": "unfinished|not_run|cancelled|failed|crashed?", "A > three": "unfinished|not_run?"}, ("died", "stopped"), validate=(1, 2))
NOW = 'File.write("@ROOT@/now", "1"); sleep 20'
situation("plain-rspec/pass", truth(0, {f"A > {n}": "passed" for n in ("one", "two", "three")}), {"spec/a_spec.rb": HOSTED % "1"}, drive=plain_rspec())
situation("plain-rspec/fail", truth(1, {"A > one": "passed", "A > two": "failed", "A > three": "passed"}), {"spec/a_spec.rb": HOSTED % BAD}, drive=plain_rspec())
situation("plain-rspec/fail-fast", truth(1, {"A > one": "passed", "A > two": "failed", "A > three": "not_run"}, ("finished", "stopped")), {"spec/a_spec.rb": HOSTED % BAD}, drive=plain_rspec("--fail-fast"))
situation("plain-rspec/KILL", CUT, {"spec/a_spec.rb": HOSTED % NOW}, drive=plain_rspec(stop=signal.SIGKILL), short=True)
# RSpec lets the example that runs finish, and runs no more.
situation("plain-rspec/INT", truth((1, 2, 130), {"A > one": "passed", "A > two": "passed|failed|cancelled", "A > three": "not_run"}, "stopped"), {"spec/a_spec.rb": HOSTED % NOW.replace("20", "1")}, drive=plain_rspec(stop=signal.SIGINT))
# An agent that lists no calls at all may have made any: checks on them can be neither passed nor failed.
for name, body, outcome, code in (("agent-raises", "", "failed|errored", 1), ("soft-fails", "evaluate(agent).to match(/Nope/)", "passed", 0), ("no-tool", "expect(agent).to call_tool(:refund)", "errored", 1),
                                  ("forbidden-tool-not-called", "expect(agent).not_to call_tool(:refund)", "errored", 1), ("criterion-without-judge", 'expect(agent).to satisfy("is polite")', "inconclusive|errored|failed", 1)):
    text = HOSTED % body if name != "agent-raises" else (HOSTED % "1").replace('{ text: "Hello" }', 'messages.to_s.include?("boom") ? raise("no") : { text: "Hello" }').replace('it("two") { user.says "hi"', 'it("two") { user.says "boom"')
    situation(f"rspec-agent/{name}", truth(code, {"A > one": "passed", "A > two": outcome, "A > three": "passed"}), {"spec/a_spec.rb": text}, ["-w", "1"])

# Destinations that block, fail or vanish must not change what a run says, nor hold it up.
PASS, FAIL = SPECS["pass"], SPECS["fail"]


def fifo(project):
    os.mkfifo(project.root / "pipe")


def fifo_held(project):
    """A reader that never reads: the pipe fills up."""
    fifo(project)
    held = os.open(project.root / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        while True:
            os.write(held, b"x" * 4096)
    except BlockingIOError:
        pass
    project.held = held


situation("destination/fifo-nobody-reads", FAIL[1], {"spec/a_spec.rb": FAIL[0]}, ["--events", "pipe"], before=fifo, timeout=25, short=True)
situation("destination/fifo-is-full", FAIL[1], {"spec/a_spec.rb": FAIL[0]}, ["--events", "pipe"], before=fifo_held, timeout=25)
situation("destination/folder-missing", truth((1, 2), {"A > one": "passed?", "A > two": "failed?"}, (None,), exact=False, validate=(0, 1, 2)), {"spec/a_spec.rb": FAIL[0]}, ["--events", "nowhere/at/all.jsonl"])
situation("destination/dev-full", truth((1, 2), {"A > one": "passed?", "A > two": "failed?"}, (None,), exact=False, validate=(0, 1, 2)), {"spec/a_spec.rb": FAIL[0]}, ["--events", "/dev/full"])
situation("destination/port-taken", truth((1, 2), {"A > one": "passed?", "A > two": "failed?"}, (None,), exact=False, validate=(0, 1, 2)), {"spec/a_spec.rb": FAIL[0]}, ["--events", "ws://localhost:1"])


def to(target, files, args=()):
    """Standard output goes elsewhere."""
    def drive(project, out):
        if target == "closed":
            reader, writer = os.pipe()
            os.close(reader)
        elif target == "stalled":
            reader, writer = os.pipe()
            project.held = reader
        else:
            writer = os.open(target, os.O_WRONLY)
        process = project.start(["run", "--ui", "interleaved", "-w", "1", *args], stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        return project.finish(process, 25).code
    return dict(files=files, drive=drive)


NOISY = {"spec/a_spec.rb": 'RSpec.describe("A") { it("one") { }; it("two") { 3000.times { puts "z" * 100 }; raise "x" } }'}
for target, codes in (("/dev/full", (1, 2)), ("closed", (1, 2, 141, -13))):
    given = to(target, {"spec/a_spec.rb": FAIL[0]})
    situation(f"destination/stdout-{target.strip('/').replace('/', '-')}", truth(codes, FAIL[1].examples), **given, without={})
given = to("/dev/full", {"spec/a_spec.rb": PASS[0]})
situation("destination/stdout-dev-full-pass", truth((0, 1, 2), PASS[1].examples), **given)
situation("destination/report-cannot-be-written", truth((1, 2), PASS[1].examples, (None,)), {"spec/a_spec.rb": PASS[0]},
          drive=lambda project, out: project.run("run", "--ui", "terse", "--junit", "nowhere/at/all.xml").code)
