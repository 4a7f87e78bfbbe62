"""Runs that are stopped: by each signal, while loading, running and finishing, in every kind of suite; and by other means."""

import json
import os
import signal
import time

from model import situation, truth
from situations.agents import COMMAND, HEAD as AGENT
from situations.own_suites import HEAD as SUITE, TOML

CODES = {"INT": 130, "TERM": 143, "HUP": (129, 143)}
ON_DISK = "@ROOT@/now"


def when(names, numbers, grace=0.0):
    """Sends signals, one after the other, once the program under test says by a file that it is there."""
    def during(project, process):
        if not project.wait_for(lambda: (project.root / "now").exists(), 20):
            return
        time.sleep(grace)
        for name in names:
            os.kill(process.pid, getattr(signal, f"SIG{name}"))
            time.sleep(0.3)
    return during


TOUCH = f'File.write("{ON_DISK}", "1")'
RSPEC = {
    "loading": f'{TOUCH}; sleep 30\nRSpec.describe("A") {{ it("one") {{ }} }}',
    "running": f'RSpec.describe("A") {{ it("first") {{ }}; it("now") {{ {TOUCH}; sleep 30 }}; it("rest") {{ }} }}',
    "finishing": f'RSpec.describe("A") {{ it("first") {{ }}; it("second") {{ }} }}\nat_exit {{ {TOUCH}; sleep 30 }}',
}
RUNNING = {"A > first": "passed", "A > now": "cancelled|crashed|not_run", "A > rest": "not_run"}
TRUTHS = {
    "loading": lambda code: truth(code, {"A > one": "not_run?"}, "stopped", exact=False),
    "running": lambda code: truth(code, RUNNING, "stopped"),
    "finishing": lambda code: truth(code, {"A > first": "passed", "A > second": "passed"}, ("stopped",)),
}
for moment, text in RSPEC.items():
    for name, code in CODES.items():
        situation(f"signal/rspec-{name}-{moment}", TRUTHS[moment](code), {"spec/a_spec.rb": text}, ["-w", "1", "--grace", "300ms"], during=when([name], CODES),
                  short=(name, moment) in (("INT", "loading"), ("TERM", "running"), ("HUP", "running")), timeout=30)
    # Killed outright: no exit code of ours, and nobody is left to write the end.
    outcomes = {"loading": {}, "running": {"A > first": "passed", "A > now": "unfinished|not_run|cancelled?", "A > rest": "unfinished|not_run?"},
                "finishing": {"A > first": "passed", "A > second": "passed"}}[moment]
    situation(f"signal/rspec-KILL-{moment}", truth(-9, outcomes, "died", validate=(1, 2), exact=moment != "loading"), {"spec/a_spec.rb": text}, ["-w", "1"], during=when(["KILL"], CODES), timeout=30,
              short=moment == "running")
situation("signal/rspec-INT-twice", truth(130, RUNNING, "stopped"), {"spec/a_spec.rb": RSPEC["running"].replace("sleep 30", 'trap("TERM", "IGNORE"); sleep 30')}, ["-w", "1", "--grace", "20s"],
          during=when(["INT", "INT"], CODES), timeout=30, short=True)
situation("signal/rspec-INT-then-TERM", truth((130, 143), RUNNING, "stopped"), {"spec/a_spec.rb": RSPEC["running"]}, ["-w", "1", "--grace", "20s"], during=when(["INT", "TERM"], CODES), timeout=30)
situation("signal/rspec-INT-example-finishes", truth(130, {"A > first": "passed", "A > now": "passed", "A > rest": "not_run"}, "stopped"),
          {"spec/a_spec.rb": RSPEC["running"].replace("sleep 30", "sleep 1")}, ["-w", "1", "--grace", "20s"], during=when(["INT"], CODES), timeout=30)
situation("signal/rspec-INT-after-failure", truth(130, {"A > first": "failed", "A > now": "cancelled|crashed|not_run", "A > rest": "not_run"}, "stopped"),
          {"spec/a_spec.rb": RSPEC["running"].replace('it("first") { }', 'it("first") { raise "x" }')}, ["-w", "1", "--grace", "300ms"], during=when(["INT"], CODES), timeout=30)
situation("signal/rspec-INT-no-preload", truth(130, RUNNING, "stopped"), {"spec/a_spec.rb": RSPEC["running"]}, ["-w", "1", "--no-preload", "--grace", "300ms"], during=when(["INT"], CODES), timeout=30)
situation("signal/rspec-time-limit", truth((1, 2, 124, 130, 143), RUNNING, "stopped"), {"spec/a_spec.rb": RSPEC["running"]}, ["-w", "1", "--time-limit", "2s", "--grace", "300ms"], timeout=30, short=True)


def stop_by_command(project, process):
    project.wait_for(lambda: (project.root / "now").exists(), 20)
    project.run("runs", "stop", "--now")


situation("signal/rspec-runs-stop", truth((130, 143), RUNNING, "stopped"), {"spec/a_spec.rb": RSPEC["running"]}, ["-w", "1", "--grace", "300ms"], during=stop_by_command, timeout=30, short=True)


def stop_by_tool(project, process):
    project.wait_for(lambda: (project.root / "now").exists(), 20)
    project.run("tool", "run_cancel", json.dumps({"run_id": project.newest_run().name}))


situation("signal/rspec-run-cancel", truth((130, 143), RUNNING, "stopped"), {"spec/a_spec.rb": RSPEC["running"]}, ["-w", "1", "--grace", "300ms"], during=stop_by_tool, timeout=30)

MINE = (f"{SUITE}class Mine(Suite):\n    examples = {{'first': 'passed', 'now': 'passed', 'rest': 'passed'}}\n    def run(self, item):\n        if item['key'] == 'now':\n"
        f"            self.started(item)\n            open('{ON_DISK}', 'w').write('1')\n            time.sleep(30)\n        super().run(item)\nMine().main()\n")
TALK = (f"{AGENT}class Mine(Agent):\n    def chat(self, message):\n        open('{ON_DISK}', 'w').write('1')\n        time.sleep(30)\n        return {{'text': 'Hello'}}\nMine().main()\n")
SCENARIO = f"describe: A\nagent: {{ {COMMAND} }}\nexamples:\n  - it: now\n    steps: [{{user: hi, expect: [{{match: Hello}}]}}]\n"
for name, code in CODES.items():
    situation(f"signal/suite-{name}-running", truth(code, {"S > first": "passed", "S > now": "cancelled|crashed|not_run", "S > rest": "not_run"}, "stopped"), {"suite.py": MINE, "proctor.toml": TOML},
              ["-w", "1", "--grace", "300ms"], during=when([name], CODES), timeout=30)
    situation(f"signal/conversation-{name}-running", truth(code, {"A > now": "cancelled|not_run"}, "stopped"), {"agent.py": TALK, "t.scenario.yaml": SCENARIO}, ["--grace", "300ms"],
              during=when([name], CODES), timeout=30, short=name == "INT")
situation("signal/suite-KILL-running", truth(-9, {"S > first": "passed", "S > now": "unfinished|not_run?", "S > rest": "unfinished|not_run?"}, "died", validate=(1, 2)),
          {"suite.py": MINE, "proctor.toml": TOML}, ["-w", "1"], during=when(["KILL"], CODES), timeout=30)
situation("signal/conversation-KILL-running", truth(-9, {"A > now": "unfinished|not_run?"}, "died", validate=(1, 2)), {"agent.py": TALK, "t.scenario.yaml": SCENARIO}, during=when(["KILL"], CODES), timeout=30)
