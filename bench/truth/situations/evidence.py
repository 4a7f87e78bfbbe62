"""Gates and baselines: what `compare --gate` may exit with, whatever happened to the two runs. The journal: `evidence_journal.py`; workspaces:
`evidence_workspace.py`."""

import json

from model import situation, truth

GOOD = 'RSpec.describe("A") { it("one") { }; it("two") { } }'
BAD = 'RSpec.describe("A") { it("one") { }; it("two") { raise "x" } }'
ONE = 'RSpec.describe("A") { it("one") { } }'
PENDING = 'RSpec.describe("A") { it("one") { }; it("two") { skip "later" } }'
OUTSIDE = 'RSpec.configure { |c| c.after(:suite) { raise "late" } }\n' + GOOD
BOTH = truth(0, {"A > one": "passed", "A > two": "passed"})
ANY = truth((0, 1, 2), {}, (None,), exact=False, count_only=True)
DECISIONS = {0: "pass", 1: "stop", 2: "not_comparable", 3: "cannot_tell"}


def ask_gate(project, say, code, args=(), side="last~1"):
    """What the gate exits with; its JSON, its text and the tool for agents must say the same."""
    ran = project.run("compare", side, "last", "--gate", *args)
    if ran.code != code:
        say("compare --gate", f"exit code {code}", f"{ran.code}: {(ran.stdout + ran.stderr).strip()[-300:]}")
    if "Gate: " + DECISIONS[code].replace("_", " ") not in ran.stdout:
        say("compare --gate", DECISIONS[code], ran.stdout[-200:])
    shown = project.run("compare", side, "last", "--gate", "--format", "json", *args)
    gate = json.loads(shown.stdout or "{}").get("gate", {})
    if (shown.code, gate.get("exit_code"), gate.get("decision")) != (code, code, DECISIONS[code]):
        say("compare --format json", (code, DECISIONS[code]), (shown.code, gate))
    if not args:
        told = project.run("tool", "run_compare", json.dumps({"before": side, "after": "last"}))
        decision = json.loads(told.stdout or "{}").get("gate")
        if decision != DECISIONS[code]:
            say("tool run_compare", DECISIONS[code], decision)
    text = ran.stdout.lower()
    if "unchanged" in text and "--margin" not in args:
        say("compare --gate", "«unchanged» only of a margin that was shown", ran.stdout[-200:])


def gate(name, first, second, code, args=(), baseline=False, run=(), after=None, short=False):
    """Two runs of a spec one after the other, and what `compare --gate` exits with."""
    def before(project):
        project.write("spec/a_spec.rb", first)
        project.run("run", "--ui", "terse", *run)
        if baseline:
            project.run("baseline", "bless", "last")
        project.write("spec/a_spec.rb", second)

    def also(project, say):
        if after:
            after(project)
        ask_gate(project, say, code, args, "baseline" if baseline else "last~1")

    known = {GOOD: BOTH, BAD: truth(1, {"A > one": "passed", "A > two": "failed"}), ONE: truth(0, {"A > one": "passed"})}
    the_truth = known.get(second, ANY) if not run else ANY
    situation(f"evidence/gate-{name}", the_truth, {}, run, before=before, also=also, short=short)


gate("nothing-changed", GOOD, GOOD, 0, short=True)
gate("one-broke", GOOD, BAD, 1, short=True)
gate("one-mended", BAD, GOOD, 0)
gate("still-broken", BAD, BAD, 0)
gate("example-vanished", GOOD, ONE, 1, short=True)
gate("example-vanished-allowed", GOOD, ONE, 0, ["--allow-gaps"])
gate("example-vanished-new-allowed", GOOD, ONE, 1, ["--allow-gaps=new"])
gate("example-new", ONE, GOOD, 1)
gate("example-new-allowed", ONE, GOOD, 0, ["--allow-gaps=new"])
gate("example-pending-now", GOOD, PENDING, 1)
gate("example-renamed-and-broken", GOOD, GOOD.replace('it("two") { }', 'it("too") { raise "x" }'), 1)
gate("example-renamed-and-broken-new-allowed", GOOD, GOOD.replace('it("two") { }', 'it("too") { raise "x" }'), 1, ["--allow-gaps=new"])
gate("error-outside-examples", GOOD, OUTSIDE, 1)
gate("nothing-loads", GOOD, "raise 'x'", 2, short=True)
gate("nothing-loads-gaps-allowed", GOOD, "raise 'x'", 2, ["--allow-gaps", "--undecided", "ok"])
gate("nothing-found", GOOD, "", 2)
gate("nothing-loaded-before", "raise 'x'", GOOD, 2)
gate("nothing-in-common", 'RSpec.describe("B") { it("x") { } }', GOOD, 2)
gate("baseline-fits", GOOD, GOOD, 0, baseline=True)
gate("baseline-one-broke", GOOD, BAD, 1, baseline=True, short=True)
gate("baseline-of-other-examples", 'RSpec.describe("B") { it("x") { } }', GOOD, 2, baseline=True)
gate("baseline-example-vanished", GOOD, ONE, 1, baseline=True)
gate("repeats-of-a-spec", GOOD, GOOD, 0, run=["--repeat", "3"])
gate("criterion-that-nothing-checks", GOOD, GOOD, 1, ["--criterion", "polite"])
gate("margin-of-a-deterministic-suite", GOOD, GOOD, 0, ["--margin", "1"])
gate("cost-limit-without-costs", GOOD, GOOD, 1, ["--max-cost", "2"])
SLOW = GOOD.replace('it("one") { }', 'it("one") { sleep 3 }')
gate("slower-than-allowed-without-history", GOOD.replace('it("one") { }', 'it("one") { sleep 0.01 }'), SLOW, 3, ["--max-duration", "1.5"])
RETRIED = 'RSpec.describe("A") { it("one") { n = File.exist?("n"); File.write("n", ""); raise "x" unless n } }'
gate("retried-pass-then-hard-failure", RETRIED, 'RSpec.describe("A") { it("one") { raise "x" } }', 3, run=["--retries", "1"])


def damage(project):
    """A line in the middle of the newest recording is no longer JSON."""
    path = project.newest_run() / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if '"ExampleFinished"' in line)
    lines[place] = "{damaged\n"
    path.write_text("".join(lines))


gate("damaged-recording", GOOD, GOOD, 2, ["--allow-gaps"], after=damage)


def cut(project):
    """The newest recording ends after its first result."""
    path = project.newest_run() / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if '"ExampleFinished"' in line)
    path.write_text("".join(lines[:place + 1]))


gate("run-cut-off", GOOD, GOOD, 1, after=cut)


def alternating(project):
    for text in (GOOD, BAD, GOOD, BAD):
        project.write("spec/a_spec.rb", text)
        project.run("run", "--ui", "terse")
    project.write("spec/a_spec.rb", BAD)


def alternates(project, say):
    """Flaky by what earlier runs have shown, without any version control: one more failure proves nothing."""
    ask_gate(project, say, 3, side="last~2")


situation("evidence/gate-known-to-be-flaky", truth(1, {"A > one": "passed", "A > two": "failed"}, both_outcomes={"A > two"}), {}, before=alternating, also=alternates)


def baseline_file(name, content, code=(1, 2)):
    def also(project, say):
        project.write("base.json", content)
        ran = project.run("compare", "base.json", "last", "--gate")
        if ran.code not in code:
            say("compare --gate", f"exit code {code}", ran.code)
    situation(f"evidence/baseline-{name}", BOTH, {"spec/a_spec.rb": GOOD}, also=also)


baseline_file("empty", "")
baseline_file("no-json", "{")
baseline_file("no-baseline", "{}")
baseline_file("newer-version", json.dumps({"v": 99, "examples": []}))

# An agent that passes so often as the file `outcomes` says, one letter an answer: what it gives next time is not known to Proctor.
AGENT = """import sys
sys.path.insert(0, '@PROGRAMS@')
from agent import *
class Mine(Agent):
    asked = -1
    def chat(self, message):
        self.asked += 1
        outcomes = open('outcomes').read()
        return {'text': 'Hello' if outcomes[self.asked % len(outcomes)] == 'p' else 'Bye'}
Mine().main()
"""
SCENARIO = """describe: T
agent: {command: ["@PYTHON@", "${root}/agent.py"]%s}
examples:
  - it: greets
    steps: [{user: hi, expect: [{match: Hello}]}]
"""


def agent_gate(name, first, second, code, args=(), declared="", repeats=None, short=False):
    """The outcomes of all attempts before and after."""
    count = lambda outcomes: ["--repeat", str(len(outcomes))] if len(outcomes) > 1 else []

    def before(project):
        project.write("outcomes", first)
        project.run("run", "--ui", "terse", *count(first), timeout=60)
        project.write("outcomes", second)

    def also(project, say):
        ask_gate(project, say, code, args)

    outcome = "passed" if "f" not in second else "failed:agent"
    both = {"T > greets"} if {"p", "f"} <= set(second) else set()
    the_truth = truth(0 if outcome == "passed" else 1, {"T > greets": outcome}, both_outcomes=both)
    files = {"agent.py": AGENT, "t.scenario.yaml": SCENARIO % declared}
    situation(f"evidence/gate-agent-{name}", the_truth, files, count(second), before=before, also=also, short=short)


agent_gate("one-attempt-same", "p", "p", 0)
agent_gate("one-attempt-broke", "p", "f", 3, short=True)
agent_gate("one-attempt-broke-undecided-ok", "p", "f", 0, ["--undecided", "ok"])
agent_gate("one-attempt-broke-declared", "p", "f", 1, declared=", deterministic: true", short=True)
agent_gate("declared-but-wavers", "pppp", "pfpf", 3, declared=", deterministic: true")
agent_gate("one-attempt-mended", "f", "p", 0)
agent_gate("ten-of-ten-to-two", "p" * 10, "pp" + "f" * 8, 1)
agent_gate("ten-of-ten-to-nine", "p" * 10, "p" * 9 + "f", 3)
agent_gate("same-rate-other-repeats", "pppf", "pppfpppf", 0)
agent_gate("margin-not-shown", "p" * 10, "p" * 10, 3, ["--margin", "5"])
agent_gate("margin-shown", "p" * 10, "p" * 10, 0, ["--margin", "40"])
agent_gate("four-of-four-to-none", "pppp", "ffff", 1)
