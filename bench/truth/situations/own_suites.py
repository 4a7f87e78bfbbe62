"""Suites of one's own: programs that speak the worker protocol, and get it wrong in one way each."""

from model import situation, truth

HEAD = "import sys\nsys.path.insert(0, '@PROGRAMS@')\nfrom suite import *\n"
TOML = '[[suite]]\nname = "mine"\ncommand = ["@PYTHON@", "suite.py"]\n'
DEFAULT = {"one": "passed", "two": "passed", "three": "passed"}
STOPPED = ("finished", "stopped", "did_not_load")


def suite(name, the_truth, body="", examples=DEFAULT, args=("-w", "1"), **more):
    text = f"{HEAD}class Mine(Suite):\n    examples = {examples!r}\n{body}\nMine().main()\n"
    situation(f"suite/{name}", the_truth, {"suite.py": text, "proctor.toml": TOML}, args, **more)


def method(text):
    return "".join(f"    {line}\n" for line in text.strip("\n").splitlines())


def run(text):
    """A `run` that does something odd with `two` and is normal with the rest."""
    body = "".join(f"        {line}\n" for line in text.strip("\n").splitlines())
    return f"    def run(self, item):\n        if item['key'] != 'two':\n            return super().run(item)\n{body}"


def ends(outcome, exit=1, one="passed", three="passed", **more):
    return truth(exit, {"S > one": one, "S > two": outcome, "S > three": three}, **more)


suite("all-pass", ends("passed", 0), short=True, all_views=True, extra=("mcp", "list only-failures"))
# Every status a program may report, and every fault with those that carry one.
for status in ("failed", "pending", "inconclusive", "errored", "crashed", "timed_out", "cancelled", "not_run"):
    suite(f"reports-{status.replace('_', '-')}", ends(status, 0 if status == "pending" else 1), examples={**DEFAULT, "two": status}, short=status in ("errored", "inconclusive"),
          all_views=status in ("errored", "inconclusive"), extra=("list only-failures",) if status in ("errored", "inconclusive") else ())
for fault in ("agent", "judge", "simulator", "tool", "harness"):
    suite(f"errored-by-{fault}", ends(f"errored|inconclusive:{fault}"), examples={**DEFAULT, "two": f"errored:{fault}"})
suite("failed-by-agent", ends("failed:agent"), examples={**DEFAULT, "two": "failed:agent"})
suite("inconclusive-ok", ends("inconclusive:judge", 0), examples={**DEFAULT, "two": "inconclusive:judge"}, args=("-w", "1", "--inconclusive", "ok"), short=True, all_views=True)
suite("errored-is-not-ok", ends("errored:agent"), examples={**DEFAULT, "two": "errored:agent"}, args=("-w", "1", "--inconclusive", "ok"))
suite("passed-with-fault", ends("passed|inconclusive|errored|failed", (0, 1)), examples={**DEFAULT, "two": "passed:judge"})
suite("only-pending", truth(0, {"S > one": "pending"}), examples={"one": "pending"})
suite("only-not-run", truth((1, 2), {"S > one": "not_run"}), examples={"one": "not_run"})

# Results that do not fit what was announced.
suite("status-unknown", ends("failed|errored|inconclusive"), run("self.started(item)\nself.finished(item, 'splendid')"), short=True)
suite("status-missing", ends("failed|errored|inconclusive|crashed|not_run"), run("self.started(item)\nself.event('ExampleFinished', key='two', repeat=1, attempt=1)"), timeout=20)
suite("status-number", ends("failed|errored|inconclusive|crashed|not_run"), run("self.started(item)\nself.finished(item, 1)"), timeout=20)
suite("status-upper-case", ends("failed|errored|inconclusive"), run("self.started(item)\nself.finished(item, 'PASSED')"), timeout=20)
suite("reported-twice", ends("passed|failed|errored", (0, 1)), run("self.started(item)\nself.finished(item, 'passed')\nself.finished(item, 'passed')"))
suite("passed-then-failed", ends("failed|errored|passed", (0, 1)), run("self.started(item)\nself.finished(item, 'passed')\nself.finished(item, 'failed')"), short=True)
suite("failed-then-passed", ends("failed|errored"), run("self.started(item)\nself.finished(item, 'failed')\nself.finished(item, 'passed')"), short=True)
suite("never-started", ends("passed|errored|failed|not_run", (0, 1)), run("self.finished(item, 'passed')"))
suite("never-started-failed", ends("errored|failed|not_run"), run("self.finished(item, 'failed')"))
suite("started-twice", ends("passed", 0), run("self.started(item)\nself.started(item)\nself.finished(item, 'passed')"))
suite("unknown-key", ends("failed", exact=False), run("self.started(dict(item, key='nobody'))\nself.finished(dict(item, key='nobody'), 'passed')\nself.started(item)\nself.finished(item, 'failed')"))
suite("unknown-key-fails", ends("passed", (0, 1), exact=False), run("self.finished(dict(item, key='nobody'), 'failed')\nself.started(item)\nself.finished(item, 'passed')"))
suite("wrong-repeat", ends("passed|errored|failed|not_run|crashed", (0, 1), exact=False),
      run("self.started(item)\nself.finished(dict(item, repeat=7), 'passed')\nself.leave()"), timeout=25)
suite("other-example-answers", ends("crashed|errored|failed|not_run", three="passed|errored|failed|crashed"),
      run("self.started(item)\nself.finished(dict(item, key='three'), 'passed')\nself.leave()"), timeout=25)
suite("final-false", ends("passed|errored", (0, 1)), run("self.started(item)\nself.finished(item, 'passed', final=False)"))
suite("alias-events", ends("failed"), run("self.started(item)\nself.event('ExampleFailed', key='two', repeat=1, attempt=1)"))
suite("alias-passed", ends("passed", 0), run("self.started(item)\nself.event('ExamplePassed', key='two', repeat=1, attempt=1)"))
suite("alias-pending", ends("pending", 0), run("self.started(item)\nself.event('ExamplePending', key='two', repeat=1, attempt=1)"))
suite("error-outside", ends("passed", 1), run("self.event('ErrorOutsideExample', phase='load', message='broken')\nsuper().run(item)"), short=True)
suite("forges-suite-finished", ends("failed"), run("self.started(item)\nself.event('SuiteFinished', example_count=3, failure_count=0, exit_code=0)\nself.finished(item, 'failed')"))

# Lines that cannot be read. V19: such an example ends, with its name, even without a time limit.
LOST = "errored|failed|crashed|not_run|timed_out"
suite("garbage-line", ends("passed", 0), run("self.raw('this is no JSON\\n')\nsuper().run(item)"))
suite("garbage-instead-of-result", ends(LOST), run("self.started(item)\nself.raw('{\"type\": \"event\", \"event_type\": \"ExampleFinished\", \"payload\": {\"key\": \"two\"\\n')"), short=True, timeout=25)
suite("line-beyond-limit", ends(LOST), run("self.started(item)\nself.finished(item, 'failed', message='m' * 9_000_000)"), timeout=25, short=True)
suite("invalid-utf8", ends(LOST), run("self.started(item)\nself.raw(b'\\xff\\xfe\\n')"), timeout=25)
suite("binary-noise", ends("passed", 0), run("self.raw(bytes(range(256)) + b'\\n')\nsuper().run(item)"))
suite("stops-talking", ends(LOST, three="passed|" + LOST), run("self.started(item)\ntime.sleep(60)"), args=("-w", "1", "--timeout", "1s"), short=True)
suite("forgets-one", ends(LOST), run("pass"), timeout=25, short=True)
suite("forgets-one-started", ends(LOST), run("self.started(item)"), timeout=25)
suite("accepts-fewer", ends("passed|" + LOST, (0, 1), one="passed|" + LOST, three="passed|" + LOST), method("def accept(self, items):\n    self.queue = self.queue[:1]\n    return {'accepted': 1}"), timeout=25)
suite("refuses-run", truth((1, 2), {f"S > {k}": LOST for k in DEFAULT}, STOPPED), method("def accept(self, items):\n    self.queue = []\n    return {'error': {'code': 'failed', 'message': 'no'}}"), timeout=25)
suite("closes-its-socket", truth((1, 2), {"S > one": "passed|" + LOST, "S > two": LOST, "S > three": "passed|" + LOST}, STOPPED),
      run("self.started(item)\nself.socket.shutdown(2)\nself.socket.close()\ntime.sleep(60)"), args=("-w", "1", "--timeout", "3s"), timeout=30)
suite("exits-zero-midway", ends("crashed", three="passed"), run("self.started(item)\nos._exit(0)"), short=True)
suite("exits-zero-before-result", ends("crashed|not_run|errored"), run("os._exit(0)"), timeout=25)
suite("exits-after-result", ends("passed", (0, 1), three="passed|crashed"), run("super().run(item)\nos._exit(0)"))
suite("killed", ends("crashed"), run("self.started(item)\nos.kill(os.getpid(), 9)"))
suite("exits-one-at-shutdown", ends("passed", (0, 1)), method("def leave(self):\n    os._exit(1)"))
suite("refuses-shutdown", ends("passed", (0, 1)), method("def shutdown(self):\n    time.sleep(60)"), timeout=30)

# Listing.
NONE = dict(state="did_not_load", exact=False)
suite("announces-more", truth((1, 2), {}, (None,), exact=False), method("def list(self, message):\n    super().list(message)\n    return {'count': 5, 'errors': []}"), short=True)
suite("announces-fewer", truth((1, 2), {}, (None,), exact=False), method("def list(self, message):\n    super().list(message)\n    return {'count': 1, 'errors': []}"))
suite("announces-no-count", truth((0, 1, 2), {}, (None,), exact=False), method("def list(self, message):\n    super().list(message)\n    return {}"))
suite("lists-nothing", truth(2, {}, "nothing_found"), examples={})
suite("list-errors", truth(2, {}, **NONE), method("def list(self, message):\n    super().list(message)\n    return {'count': 3, 'errors': [{'message': 'cannot read checks.yml', 'phase': 'load'}]}"), short=True)
suite("list-errors-malformed", truth(2, {}, (None,), exact=False), method("def list(self, message):\n    super().list(message)\n    return {'count': 3, 'errors': ['cannot read checks.yml']}"))
suite("list-refused", truth(2, {}, **NONE), method("def list(self, message):\n    return {'error': {'code': 'failed', 'message': 'no list'}}"))
suite("list-key-twice", truth((0, 1, 2), {}, (None,), exact=False, count_only=True), method("def described(self):\n    return super().described() * 2"))
suite("list-path-twice", truth(1, {}, exact=False, count_only=True),
      method("def described(self):\n    return [{'key': k, 'file': './suite.py', 'path': ['S', 'same']} for k in self.examples]"), examples={**DEFAULT, "two": "failed"})
suite("list-hangs", truth((2, 130), {}, (None,), exact=False), method("def list(self, message):\n    time.sleep(60)"), args=("-w", "1", "--time-limit", "3s"), timeout=30)
suite("list-exits-zero", truth(2, {}, **NONE), method("def list(self, message):\n    os._exit(0)"))
suite("list-garbled", truth((1, 2), {}, (None,), exact=False), method("def list(self, message):\n    self.raw('{\"type\": \"examples\", \"examples\": [{\\n')\n    return {'count': 3, 'errors': []}"), timeout=30)
suite("list-too-large", truth((0, 1, 2), {}, (None,), exact=False, count_only=True),
      method("def described(self):\n    return [{'key': k, 'file': './suite.py', 'path': ['S', k + 'd' * 4_000_000]} for k in self.examples]"), timeout=30)
suite("never-says-hello", truth(2, {}, **NONE), method("def hello(self):\n    print('I am somebody else', flush=True)\n    time.sleep(60)"), timeout=40, short=True)
suite("hello-refused", truth(2, {}, **NONE), method("def hello(self):\n    return {'error': {'code': 'unsupported_protocol', 'message': 'old'}}"))
suite("hello-other-version", truth((0, 2), {}, (None,), exact=False), method("def hello(self):\n    return {**super().hello(), 'protocol': 99}"))
suite("exits-before-hello", truth(2, {}, **NONE), method("def hello(self):\n    os._exit(0)"))
suite("slow-hello", ends("passed", 0), method("def hello(self):\n    time.sleep(1)\n    return super().hello()"))
situation("suite/program-missing", truth(2, {}, **NONE), {"proctor.toml": '[[suite]]\nname = "mine"\ncommand = ["no-such-program"]\n'})
situation("suite/program-exits-zero", truth(2, {}, **NONE), {"proctor.toml": '[[suite]]\nname = "mine"\ncommand = ["true"]\n'})
situation("suite/program-is-no-worker", truth(2, {}, **NONE), {"proctor.toml": '[[suite]]\nname = "mine"\ncommand = ["cat", "/dev/zero"]\n'}, timeout=45)

# Attempts, in this kind too.
COUNTED = "n = int(open('n').read()) if os.path.exists('n') else 0\nopen('n', 'w').write(str(n + 1))\nself.started(item)\nself.finished(item, 'passed' if %s else 'failed')"
suite("retry-passes", ends("flaky", 0), run(COUNTED % "n > 0"), args=("-w", "1", "--retries", "1"))
suite("repeat-one-fails", ends("failed", both_outcomes={"S > two"}), run(COUNTED % "n != 1"), args=("-w", "1", "--repeat", "3"))
suite("fail-fast", truth(1, {"S > one": "failed", "S > two": "not_run", "S > three": "not_run"}, ("finished", "stopped")), examples={**DEFAULT, "one": "failed"},
      args=("-w", "1", "--fail-fast"))
suite("retry-after-exit", ends("flaky", 0), run("if os.path.exists('n'):\n    return super().run(item)\nopen('n', 'w').write('1')\nself.started(item)\nos._exit(0)"), args=("-w", "1", "--retries", "1"))
