"""Gates, baselines, the journal and workspaces: the issue on evidence. Counted apart; they may fail for now."""

import json

from collect import ENTRY
from model import situation, truth

GOOD = 'RSpec.describe("A") { it("one") { }; it("two") { } }'
BAD = 'RSpec.describe("A") { it("one") { }; it("two") { raise "x" } }'
ONE = 'RSpec.describe("A") { it("one") { } }'
BOTH = truth(0, {"A > one": "passed", "A > two": "passed"})


def gate(name, first, second, code, args=(), baseline=False):
    """Two runs one after the other, and what `compare --gate` exits with."""
    def before(project):
        project.write("spec/a_spec.rb", first)
        project.run("run", "--ui", "terse")
        if baseline:
            project.run("baseline", "bless", "last")
        project.write("spec/a_spec.rb", second)

    def also(project, say):
        side = "baseline" if baseline else "last~1"
        ran = project.run("compare", side, "last", "--gate", *args)
        codes = code if isinstance(code, tuple) else (code,)
        if ran.code not in codes:
            say("compare --gate", f"exit code {' or '.join(map(str, codes))}", f"{ran.code}: {(ran.stdout + ran.stderr).strip()[-160:]}")

    after = {GOOD: BOTH, BAD: truth(1, {"A > one": "passed", "A > two": "failed"}), ONE: truth(0, {"A > one": "passed"})}
    the_truth = after.get(second, truth((1, 2), {}, (None,), exact=False, count_only=True))
    situation(f"evidence/gate-{name}", the_truth, {}, before=before, also=also)


gate("nothing-changed", GOOD, GOOD, 0)
gate("one-broke", GOOD, BAD, 1)
gate("one-mended", BAD, GOOD, 0)
gate("still-broken", BAD, BAD, (0, 1, 3))
gate("example-vanished", GOOD, ONE, (1, 3))
gate("example-renamed-and-broken", GOOD, GOOD.replace('it("two") { }', 'it("too") { raise "x" }'), (1, 3))
gate("nothing-loads", GOOD, "raise 'x'", (1, 2, 3))
gate("nothing-found", GOOD, "", (1, 2, 3))
gate("baseline-fits", GOOD, GOOD, 0, baseline=True)
gate("baseline-one-broke", GOOD, BAD, 1, baseline=True)
gate("baseline-of-other-examples", 'RSpec.describe("B") { it("x") { } }', GOOD, (1, 2, 3), baseline=True)
gate("baseline-example-vanished", GOOD, ONE, (1, 3), baseline=True)


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


def journal(name, command, confirmed, files=None, expect="pass"):
    """A command decides the active entry: it may confirm only what it has shown."""
    def also(project, say):
        for file, content in (files or {}).items():
            project.write(file, content)
        project.run(*ENTRY)
        project.run("journal", "run", "--expect", expect, "--", *[project.binary if part == "@BINARY@" else part for part in command], timeout=40)
        listed = json.loads(project.run("journal", "list", "--format", "json").stdout or "[]")
        entry = (listed[0].get("entry") or listed[0]) if listed else {}
        outcome = json.dumps((entry.get("outcome") or {}).get("status"))
        if ("confirmed" in outcome) != confirmed:
            say("journal", "confirmed" if confirmed else "not confirmed", outcome)
    situation(f"evidence/journal-{name}", BOTH, {"spec/a_spec.rb": GOOD}, also=also)


journal("rspec-passes", ["rspec", "spec/a_spec.rb"], True)
journal("rspec-fails", ["rspec", "b_spec.rb"], False, {"b_spec.rb": BAD})
journal("rspec-no-examples", ["rspec", "b_spec.rb"], False, {"b_spec.rb": ""})
journal("version-only", ["rspec", "--version"], False)
journal("grep-for-a-runner", ["grep", "-rn", "rspec", "."], False)
journal("unittest-no-tests", ["python3", "-m", "unittest", "discover", "-s", "spec"], False)
journal("pipeline-hides-failure", ["sh", "-c", "rspec b_spec.rb | head -1"], False, {"b_spec.rb": BAD})
journal("true-with-expect-pass", ["true"], False)
journal("killed-by-signal", ["sh", "-c", "kill -9 $$"], False)
journal("no-such-file", ["rspec", "nowhere_spec.rb"], False)
journal("proctor-run-passes", ["@BINARY@", "run", "--ui", "terse"], True)
journal("dry-run", ["rspec", "--dry-run", "spec/a_spec.rb"], False)

WORKSPACE = "describe: W\nexamples: [{it: odd, setup: {}, mock: {responses: []}, run: {}, assert: [{%s}]}]\n"
for name, check in {"pattern-matches-nothing": "no_event: 'build.[a-z]*'", "unknown-assertion": "no_such_check: x"}.items():
    situation(f"evidence/workspace-{name}", truth((1, 2), {}, (None,), exact=False, count_only=True), {"w.workspace.yaml": WORKSPACE % check})
