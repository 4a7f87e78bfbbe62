"""The journal: a command decides the active entry, and may decide only what it has shown."""

import json

from collect import ENTRY
from model import situation, truth

GOOD = 'RSpec.describe("A") { it("one") { }; it("two") { } }'
BAD = 'RSpec.describe("A") { it("one") { }; it("two") { raise "x" } }'
BOTH = truth(0, {"A > one": "passed", "A > two": "passed"})
OPEN = None


def entry_of(project):
    listed = json.loads(project.run("journal", "list", "--format", "json").stdout or "[]")
    return (listed[0].get("entry") or listed[0]) if listed else {}


def status_of(entry):
    return (entry.get("outcome") or {}).get("status")


def journal(name, command, status, files=None, expect="pass", short=False):
    """A command decides the active entry: confirmed, falsified, or nothing (OPEN). A tuple allows each of its words."""
    def also(project, say):
        for file, content in (files or {}).items():
            project.write(file, content)
        project.run(*ENTRY)
        words = [part.replace("@BINARY@", str(project.binary)) for part in command]
        project.run("journal", "run", "--expect", expect, "--", *words, timeout=40)
        found = status_of(entry_of(project))
        if found not in (status if isinstance(status, tuple) else (status,)):
            say("journal", str(status), str(found))
    situation(f"evidence/journal-{name}", BOTH, {"spec/a_spec.rb": GOOD}, also=also, short=short)


def shell(name, line, status, files=None, expect="pass"):
    journal(name, ["bash", "-c", line], status, files, expect)


B = {"b_spec.rb": BAD}
PASSING_UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"

# Runners that were started and counted.
journal("rspec-passes", ["rspec", "spec/a_spec.rb"], "confirmed")
journal("rspec-fails", ["rspec", "b_spec.rb"], "falsified", B)
journal("rspec-fails-as-expected", ["rspec", "b_spec.rb"], "confirmed", B, expect="fail")
journal("rspec-passes-against-fail", ["rspec", "spec/a_spec.rb"], "falsified", expect="fail")
journal("unittest-passes", ["python3", "-m", "unittest", "test_a"], "confirmed", {"test_a.py": PASSING_UNITTEST})
journal("unittest-fails", ["python3", "-m", "unittest", "test_a"], "falsified", {"test_a.py": PASSING_UNITTEST.replace("pass\n", "self.fail()\n")})
shell("two-runners-pass", "rspec spec/a_spec.rb && python3 -m unittest test_a", "confirmed", {"test_a.py": PASSING_UNITTEST})
shell("script-runs-rspec", "sh ./run.sh", "confirmed", {"run.sh": "rspec spec/a_spec.rb\n"})

# Runners that counted nothing.
journal("rspec-no-examples", ["rspec", "b_spec.rb"], OPEN, {"b_spec.rb": ""})
journal("rspec-does-not-load", ["rspec", "b_spec.rb"], OPEN, {"b_spec.rb": "raise 'x'"}, expect="fail")
journal("unittest-no-tests", ["python3", "-m", "unittest", "discover", "-s", "spec"], OPEN)
journal("unittest-missing-module", ["python3", "-m", "unittest", "nowhere"], OPEN, expect="fail")
journal("no-such-file", ["rspec", "nowhere_spec.rb"], OPEN)
journal("no-such-file-against-fail", ["rspec", "nowhere_spec.rb"], OPEN, expect="fail")
shell("second-runner-finds-nothing", "rspec spec/a_spec.rb && python3 -m unittest discover -s spec", OPEN)
shell("output-goes-to-a-file", "rspec spec/a_spec.rb > log.txt", OPEN)

# Commands that run no tests.
journal("version-only", ["rspec", "--version"], OPEN)
journal("dry-run", ["rspec", "--dry-run", "spec/a_spec.rb"], OPEN)
journal("grep-for-a-runner", ["grep", "-rn", "rspec", "."], OPEN)
journal("true-with-expect-pass", ["true"], OPEN)
journal("false-with-expect-fail", ["false"], OPEN, expect="fail")
shell("prints-a-summary", "echo '5 examples, 0 failures'", OPEN)
journal("prints-an-old-log", ["cat", "log.txt"], OPEN, {"log.txt": "5 examples, 0 failures\n"})
shell("runner-in-a-comment", "echo '5 examples, 0 failures' # rspec", OPEN)
shell("runner-in-quotes", "echo 'rspec'; echo '5 examples, 0 failures'", OPEN)

# Exit codes of others.
shell("pipe-cuts-everything", "rspec b_spec.rb | head -1", OPEN, B)
shell("pipe-shows-failure", "rspec b_spec.rb | tail -4", "falsified", B)
shell("pipe-shows-pass", "rspec spec/a_spec.rb | tail -4", (OPEN, "confirmed"))
shell("pipefail-pass", "set -o pipefail; rspec spec/a_spec.rb | tail -4", "confirmed")
shell("pipefail-failure", "set -o pipefail; rspec b_spec.rb | tail -4", "falsified", B)
shell("failure-ignored", "rspec b_spec.rb || true", "falsified", B)
shell("failure-before-another", "rspec b_spec.rb; true", "falsified", B)
shell("only-the-good-words-kept", "rspec b_spec.rb | sed 's/1 failure/0 failures/'", OPEN, B)
shell("last-of-two-runs", "(rspec b_spec.rb; rspec spec/a_spec.rb) | tail -2", OPEN, B)
shell("failure-excused", "rspec --failure-exit-code 0 b_spec.rb", (OPEN, "falsified"), B)

# Signals, and what never ran.
journal("killed-by-signal", ["sh", "-c", "kill -9 $$"], OPEN)
shell("shell-reports-a-signal", "rspec b_spec.rb; exit 137", OPEN, B, expect="fail")
shell("killed-runner", "timeout -s KILL 1 rspec c_spec.rb; exit $?", OPEN, {"c_spec.rb": 'RSpec.describe("A") { it { }; it { sleep 60 } }'}, expect="fail")
journal("missing-make-target", ["make", "nowhere"], OPEN, expect="exit:2")
journal("missing-script", ["sh", "./nowhere.sh"], OPEN, expect="fail")
journal("missing-program", ["no-such-runner"], OPEN, expect="fail")

# What was named is judged as it was named.
journal("exit-seen", ["true"], "confirmed", expect="exit:0")
journal("exit-not-seen", ["false"], "falsified", expect="exit:0")
journal("match-seen", ["echo", "12 warnings"], "confirmed", expect="match:[0-9]+ warnings")
journal("match-not-seen", ["echo", "clean"], "falsified", expect="match:warnings")

# Proctor's own runs.
journal("proctor-run-passes", ["@BINARY@", "run", "--ui", "terse"], "confirmed", short=True)
journal("proctor-run-fails", ["@BINARY@", "run", "b_spec.rb"], "falsified", B)
shell("proctor-run-behind-a-pipe", "@BINARY@ run | grep nothing; true", "confirmed")
shell("proctor-failure-behind-a-pipe", "@BINARY@ run b_spec.rb | grep nothing; true", "falsified", B)
shell("proctor-run-finds-nothing", "@BINARY@ run c_spec.rb", OPEN, {"c_spec.rb": ""})
shell("proctor-run-does-not-load", "@BINARY@ run c_spec.rb | cat", OPEN, {"c_spec.rb": "raise 'x'"}, "fail")
shell("proctor-list", "@BINARY@ list", OPEN)


def hook(name, command, stdout, word, files=None):
    """What the hook says of a command that has ended with 0: `confirmed`, `falsified`, `decides nothing`, or no word."""
    def also(project, say):
        for file, content in (files or {}).items():
            project.write(file, content)
        project.run(*ENTRY, "--expect", "pass")
        payload = {"hook_event_name": "PostToolUse", "session_id": "s", "cwd": str(project.root), "tool_name": "Bash",
                   "tool_input": {"command": command}, "tool_response": {"stdout": stdout, "stderr": "", "interrupted": False}}
        project.write("payload.json", json.dumps(payload))
        said = project.run("-c", f"'{project.binary}' journal hook < payload.json", program="sh").stdout
        if (word or "{}") not in said or (word != "confirmed" and "be confirmed" in said):
            say("journal hook", word or "{}", said.strip()[-160:])
        if status_of(entry_of(project)) is not None:
            say("journal hook", "does not resolve", str(status_of(entry_of(project))))
    situation(f"evidence/journal-hook-{name}", BOTH, {"spec/a_spec.rb": GOOD}, also=also)


PASSED = "45 passed in 1.20s"
hook("runner-passes", "pytest -q", PASSED, "confirmed")
hook("install", "pip install pytest", PASSED, None)
hook("commit-message", "git commit -m 'run pytest'", PASSED, None)
hook("version", "pytest --version", PASSED, None)
hook("collect-only", "pytest --collect-only", PASSED, None)
hook("pipe-passes", "pytest | tail -1", PASSED, "decides nothing")
hook("pipe-fails", "pytest | tail -1", "1 failed, 45 passed in 1.20s", "falsified")
hook("other-runners-words", "cargo test", PASSED, "decides nothing")
hook("no-counts", "pytest -q", "", "decides nothing")
