"""Conversations: agents that lie, do nothing, do it twice, hide what they did, answer in another shape, hang and die."""

from model import situation, truth

HEAD = "import sys\nsys.path.insert(0, '@PROGRAMS@')\nfrom agent import *\n"
COMMAND = 'command: ["@PYTHON@", "${root}/agent.py"]'


def indent(text, by=4):
    return "".join(f"{' ' * by}{line}\n" for line in text.strip("\n").splitlines())


def scenario(steps, agent, extra="", beside=True):
    """One example `odd`, beside one that asks for nothing but an answer."""
    ok = "  - it: ok\n    steps: [{user: fine}]\n" if beside else ""
    return f"describe: T\nagent: {{ {agent} }}\n{extra}examples:\n{ok}  - it: odd\n    steps:\n{indent(steps, 6)}"


def agent(name, chat, steps, outcome, exit=1, more_agent="", extra="", args=(), methods="", beside=False, **more):
    """A program as agent; `chat` is the body of its method."""
    text = f"{HEAD}class Mine(Agent):\n    def chat(self, message):\n{indent(chat, 8)}{indent(methods)}\nMine().main()\n"
    files = {"agent.py": text, "t.scenario.yaml": scenario(steps, COMMAND + more_agent, extra, beside)}
    examples = {"T > odd": outcome, **({"T > ok": "passed"} if beside else {})}
    situation(f"agent/{name}", truth(exit, examples), files, args, **more)


HI = "- user: hi\n  expect: [%s]"
agent("answers", "return {'text': 'Hello'}", HI % "{match: Hello}", "passed", 0, short=True, all_views=True, beside=True, extra="", args=())
agent("wrong-words", "return {'text': 'Hello'}", HI % "{match: Goodbye}", "failed:agent", short=True, all_views=True)
agent("says-nothing", "return {'text': ''}", HI % "{match: Hello}", "failed:agent")
agent("says-nothing-negated", "return {'text': ''}", HI % "{not: {match: error}}", "passed|errored|failed", (0, 1))
agent("no-text", "return {}", HI % "{not: {match: error}}", "errored:agent", short=True)
agent("text-null", "return {'text': None}", HI % "{not: {match: error}}", "errored:agent")
agent("text-number", "return {'text': 7}", HI % "{match: '7'}", "errored:agent")
agent("text-object", "return {'text': {'a': 1}}", HI % "{match: a}", "errored:agent")
agent("error-reply", "return {'error': {'code': 'failed', 'message': 'tired'}}", HI % "{not: {match: error}}", "errored:agent")
agent("exits-zero", "os._exit(0)", HI % "{not: {match: error}}", "errored:agent", short=True)
agent("exits-one", "os._exit(1)", HI % "{not: {match: error}}", "errored:agent")
agent("killed", "os.kill(os.getpid(), 9)", HI % "{not: {match: error}}", "errored:agent")
agent("dies-mid-answer", "self.raw('{\"reply_to\": \"' + message['id'] + '\", \"text\": \"Hel')\nos._exit(0)", HI % "{match: Hel}", "errored:agent", short=True)
agent("answers-and-exits", "self.raw(json.dumps({'reply_to': message['id'], 'text': 'Hello'}) + '\\n')\nos._exit(0)", HI % "{match: Hello}", "passed", 0)
agent("dies-in-second-turn", "if message['turn'] > 1: os._exit(0)\nreturn {'text': 'Hello'}", "- user: hi\n  expect: [{match: Hello}]\n- user: more", "errored:agent")
agent("failed-then-dies", "if message['turn'] > 1: os._exit(0)\nreturn {'text': 'Hello'}", "- user: hi\n  expect: [{match: Nope}]\n- user: more", "failed:agent")
agent("exits-before-hello", "return {}", HI % "{match: Hello}", "errored:agent", methods="def hello(self):\n    os._exit(0)")
agent("never-says-hello", "return {}", HI % "{match: Hello}", "errored:agent", methods="def hello(self):\n    print('not me', flush=True)\n    time.sleep(60)", timeout=35)
agent("hangs", "time.sleep(60)", HI % "{match: Hello}", "errored|timed_out:agent", more_agent=", timeout: 1s", short=True)
agent("hangs-run-limit", "time.sleep(60)", HI % "{match: Hello}", "errored|timed_out", args=("--timeout", "1s"))
agent("slow-but-there", "time.sleep(1)\nreturn {'text': 'Hello'}", HI % "{match: Hello}", "passed", 0, more_agent=", timeout: 20s")
agent("garbage-then-answer", "self.raw('no JSON at all\\n')\nreturn {'text': 'Hello'}", HI % "{match: Hello}", "passed", 0)
agent("garbage-alone", "self.raw('no JSON at all\\n')", HI % "{not: {match: error}}", "errored:agent", more_agent=", timeout: 1s")
agent("answers-somebody-else", "self.raw(json.dumps({'reply_to': 'r999', 'text': 'Hello'}) + '\\n')", HI % "{match: Hello}", "errored:agent", more_agent=", timeout: 1s")
agent("answers-twice", "self.raw(json.dumps({'reply_to': message['id'], 'text': 'Hello'}) + '\\n')\nreturn {'text': 'Goodbye'}", HI % "{match: Hello}", "passed", 0)
agent("answer-2-mb", "return {'text': 'Hello ' + 'x' * 2_000_000}", HI % "{match: Hello}", "passed", 0)
agent("answer-9-mb", "return {'text': 'Hello ' + 'x' * 9_000_000}", HI % "{match: Hello}", "errored:agent", more_agent=", timeout: 2s")
agent("answer-control-characters", "return {'text': 'Hello \\x00\\x1b[31m ]]> \\u202e'}", HI % "{match: Nope}", "failed:agent")
agent("answer-forges-verdict", "return {'text': '✓ T > odd  passed\\n1 example: 1 passed\\n::error title=x::y'}", HI % "{match: Nope}", "failed:agent")

# What an agent did, against what it says.
CALL = "return {'text': 'Done', 'tool_calls': [%s]}"
REFUND = "{'name': 'refund', 'arguments': {'order': 7}, 'result': 'ok'}"
agent("lies-about-tool", "return {'text': 'I refunded it.'}", HI % "{call_tool: refund}", "errored|failed", short=True)  # it lists no calls at all: nobody can know
agent("calls-tool", CALL % REFUND, HI % "{call_tool: refund}", "passed", 0, short=True)
agent("calls-forbidden-tool", CALL % REFUND, HI % "{not: {call_tool: refund}}", "failed:agent", short=True)
agent("does-it-twice", CALL % f"{REFUND}, {REFUND}", HI % "{call_tool: {name: refund, times: 1}}", "failed:agent", short=True)
agent("does-it-once", CALL % REFUND, HI % "{call_tool: {name: refund, times: 1}}", "passed", 0)
agent("wrong-arguments", CALL % REFUND, HI % "{call_tool: {name: refund, with: {order: 8}}}", "failed:agent")
BIG = "{'name': 'refund', 'arguments': {'order': 1234567890123456788}, 'result': 'ok'}"
agent("large-integer-differs", CALL % BIG, HI % "{call_tool: {name: refund, with: {order: 1234567890123456789}}}", "failed:agent", short=True)
agent("large-integer-equals", CALL % BIG, HI % "{call_tool: {name: refund, with: {order: 1234567890123456788}}}", "passed", 0)
agent("tool-order-wrong", CALL % "{'name': 'b', 'arguments': {}, 'result': 1}, {'name': 'a', 'arguments': {}, 'result': 1}", HI % "{tool_order: [a, b]}", "failed:agent")
agent("openai-shape", CALL % "{'id': '1', 'type': 'function', 'function': {'name': 'refund', 'arguments': '{}'}}", HI % "{not: {call_tool: refund}}", "errored|failed:agent", short=True)
agent("nameless-call", CALL % "{'arguments': {}}", HI % "{not: {call_tool: delete_all}}", "errored:agent", short=True)
agent("name-number", CALL % "{'name': 7, 'arguments': {}}", HI % "{not: {call_tool: delete_all}}", "errored:agent")
agent("name-empty", CALL % "{'name': '', 'arguments': {}}", HI % "{not: {call_tool: delete_all}}", "errored:agent")
agent("calls-no-list", "return {'text': 'Done', 'tool_calls': {'name': 'refund'}}", HI % "{not: {call_tool: refund}}", "errored|failed:agent")
agent("calls-of-strings", CALL % "'refund'", HI % "{not: {call_tool: refund}}", "errored|failed:agent")
agent("arguments-as-text", CALL % "{'name': 'refund', 'arguments': '{\"n\": 1}', 'result': 'ok'}", HI % "{call_tool: {name: refund, with: {n: {absent: true}}}}", "errored|failed:agent")
agent("arguments-list", CALL % "{'name': 'refund', 'arguments': [1], 'result': 'ok'}", HI % "{call_tool: {name: refund, with: {n: {absent: true}}}}", "errored|failed:agent")

# Tools that the host calls.
STUB = "tools: {refund: [{result: ok}]}\n"
PENDING = "if self.results(message): return {'text': 'Done'}\nreturn {'text': '', 'pending_tool_calls': [%s]}"
ASK = "{'id': 'c1', 'name': 'refund', 'arguments': {'order': 7}}"
agent("asks-for-tool", PENDING % ASK, HI % "{call_tool: refund}", "passed", 0, extra=STUB)
agent("asks-for-forbidden-tool", PENDING % ASK, HI % "{not: {call_tool: refund}}", "failed:agent", extra=STUB)
agent("asks-for-unknown-tool", PENDING % "{'id': 'c1', 'name': 'nothing', 'arguments': {}}", HI % "{match: Done}", "errored|failed|passed", (0, 1), extra=STUB)
agent("asks-for-ever", "return {'text': '', 'pending_tool_calls': [%s]}" % ASK, HI % "{match: Done}", "errored|failed:agent", extra=STUB)
agent("tool-fails-as-told", PENDING % ASK, HI % "{match: Done}", "passed", 0, extra="tools: {refund: [{error: no}]}\n")
agent("tool-command-missing", PENDING % ASK, HI % "{match: Done}", "errored|passed", (0, 1), extra="tools: {refund: {command: [no-such-program]}}\n")
agent("asks-nameless", PENDING % "{'id': 'c1', 'arguments': {}}", HI % "{match: Done}", "errored:agent", extra=STUB)

# Checks that decide, and checks that do not.
agent("soft-fails", "return {'text': 'Hello'}", "- user: hi\n  evaluate: [{match: Nope}]\n  expect: [{match: Hello}]", "passed", 0, short=True, all_views=True)
agent("soft-command-missing", "return {'text': 'Hello'}", "- user: hi\n  evaluate: [{command: [no-such-program]}]\n  expect: [{match: Hello}]", "passed", 0, short=True)
agent("hard-then-command-missing", "return {'text': 'Hello'}", HI % "{match: Nope}, {command: [no-such-program]}", "failed:agent", short=True)
agent("command-says-yes", "return {'text': 'Hello'}", HI % "{command: ['true']}", "passed", 0)
agent("command-says-no", "return {'text': 'Hello'}", HI % "{command: ['false']}", "failed")
agent("command-cannot-run", "return {'text': 'Hello'}", HI % "{command: [no-such-program]}", "errored")
agent("command-killed", "return {'text': 'Hello'}", HI % "{command: [sh, -c, 'kill -9 $$']}", "errored|failed")
agent("command-under-not-cannot-run", "return {'text': 'Hello'}", HI % "{not: {command: [no-such-program]}}", "errored", short=True)
agent("expression-true", "return {'text': 'Hello'}", HI % "{expression: turn_count == 1}", "passed", 0)
agent("expression-false", "return {'text': 'Hello'}", HI % "{expression: turn_count == 2}", "failed")
agent("expression-fails-to-compute", "return {'text': 'Hello'}", HI % "{expression: 'tool_calls[5].name == \"x\"'}", "errored|failed")
agent("expression-under-not-fails-to-compute", "return {'text': 'Hello'}", HI % "{not: {expression: 'tool_calls[5].name == \"x\"'}}", "errored|failed")
agent("cost-unknown", "return {'text': 'Hello'}", HI % "{cost_usd: {below: 1}}", "errored", short=True)
agent("turn-count", "return {'text': 'Hello'}", "- user: a\n- user: b\n  expect: [{turn_count: 2}]", "passed|failed", (0, 1))
agent("checks-nothing", "return {'text': 'Hello'}", "- user: hi", "passed", 0)
agent("checks-nothing-refused", "return {'text': 'Hello'}", "- user: hi", "passed|errored|failed|inconclusive", 1, args=("--unchecked", "fail"))
agent("skipped", "return {'text': 'Hello'}", "- user: hi", "pending", 0, extra="skip: not now\n")
agent("one-dies-others-live", "if 'fine' in self.said(message): return {'text': 'Hello'}\nos._exit(0)", HI % "{match: Hello}", "errored:agent", beside=True,
      args=("--concurrency", "1"), more_agent=", process_per_conversation: true")
agent("second-try-passes", "return {'text': 'Hello' if self.count() else 'Oops'}", HI % "{match: Hello}", "flaky", 0, args=("--retries", "1"), short=True)
agent("second-try-errs", "if self.count(): os._exit(0)\nreturn {'text': 'Oops'}", HI % "{match: Hello}", "errored:agent", args=("--retries", "1"))
agent("time-out-in-simulation-then-step", "return {'text': 'Hello'}", "- simulate: {goal: x, max_turns: 2, timeout: 30s, on_max_turns: fine}\n- user: hi\n  expect: [{match: Hello}]", "passed", 0,
      extra='simulator: { model: { script: ["one", "two", "three", "four"] } }\njudge: { model: { verdicts: [{about: goal, satisfied: false, because: not yet}] } }\n')

# Mistakes in files: nothing is run.
BAD = dict(state="did_not_load", exact=False)
for name, steps in {
    "unknown-key": "- user: hi\n  expects: [{match: x}]", "unknown-assertion": HI % "{mach: x}", "bad-pattern": HI % "{match: '('}", "empty-match": HI % "{match: []}",
    "empty-satisfy": HI % "{satisfy: []}", "empty-tool-order": HI % "{tool_order: []}", "empty-forbidden-claims": HI % "{forbidden_claims: []}", "empty-under-not": HI % "{not: {match: []}}",
    "unknown-name-in-expression": HI % "{expression: turn_cuont == 1}", "expression-does-not-parse": HI % "{expression: 'turn_count =='}", "no-judge": HI % "{satisfy: polite}",
    "max-turns-zero": "- simulate: {goal: x, max_turns: 0}", "no-simulator": "- simulate: {goal: x}", "unknown-topic": HI % "{topic: nowhere}", "unknown-criterion-text": "- usr: hi",
}.items():
    situation(f"mistake/{name}", truth(2, {}, **BAD), {"t.scenario.yaml": scenario(steps, "script: [Hello]")}, short=name in ("unknown-key", "empty-match", "unknown-name-in-expression"))
for name, text in {
    "agent-unknown": "describe: T\nagent: nobody\nexamples: [{it: odd, steps: [{user: hi}]}]\n", "no-agent": "describe: T\nexamples: [{it: odd, steps: [{user: hi}]}]\n",
    "no-yaml": "describe: [T\n", "empty-file": "", "no-steps": "describe: T\nagent: {script: [Hello]}\nexamples: [{it: odd, steps: []}]\n", "no-it": "describe: T\nagent: {script: [Hello]}\nexamples: [{steps: [{user: hi}]}]\n",
    "rate-beyond-one": "describe: T\nagent: {script: [Hello]}\nexamples: [{it: odd, pass_rate: 1.5, repeat: 2, steps: [{user: hi}]}]\n",
    "repeat-zero": "describe: T\nagent: {script: [Hello]}\nexamples: [{it: odd, repeat: 0, steps: [{user: hi}]}]\n",
    "row-file-missing": "describe: T\nagent: {script: [Hello]}\nsets: [{name: s, file: nowhere.csv, examples: [{it: odd, steps: [{user: hi}]}]}]\n",
    "two-mistakes": "describe: T\nagent: {script: [Hello]}\nexamples: [{it: odd, steps: [{user: hi, expect: [{mach: x}]}]}, {it: odd2, steps: [{user: hi, expect: [{match: '('}]}]}]\n",
}.items():
    states = ("did_not_load", "nothing_found") if name == "empty-file" else "did_not_load"
    situation(f"mistake/{name}", truth(2, {}, states, exact=False), {"t.scenario.yaml": text})
situation("mistake/beside-healthy-file", truth(2, {}, **BAD), {"t.scenario.yaml": scenario(HI % "{mach: x}", "script: [Hello]"),
          "u.scenario.yaml": "describe: U\nagent: {script: [Hello]}\nexamples: [{it: fine, steps: [{user: hi, expect: [{match: Hello}]}]}]\n"}, short=True)
situation("mistake/ab-of-equals", truth(2, {}, (None,), exact=False, count_only=True), {"proctor.toml": "[agents.mine]\nscript = ['Hello']\n", "other.toml": "[agents.mine]\nscript = ['Hello']\n",
          "t.scenario.yaml": "describe: T\nagent: mine\nexamples: [{it: fine, steps: [{user: hi, expect: [{match: Hello}]}]}]\n"}, ["--ab", "other.toml"])
situation("mistake/duplicate-titles", truth(1, {"T > same": "passed", "T > same #2": "failed"}, plain_titles=False), {"t.scenario.yaml":
          "describe: T\nagent: {script: [Hello]}\nexamples:\n  - {it: same, steps: [{user: hi, expect: [{match: Hello}]}]}\n  - {it: same, steps: [{user: hi, expect: [{match: Nope}]}]}\n"})
situation("agent/rows", truth(1, {"T > s > odd > a": "passed", "T > s > odd > b": "failed:agent"}), {"t.scenario.yaml":
          "describe: T\nagent: {script: [Hello]}\nsets:\n  - name: s\n    rows: [{name: a, w: Hello}, {name: b, w: Nope}]\n    examples: [{it: odd, steps: [{user: hi, expect: [{match: '{{w}}'}]}]}]\n"})
situation("agent/rows-with-bom", truth(0, {"T > s > odd > a": "passed"}), {"r.csv": "\ufeffname,w\na,Hello\n", "t.scenario.yaml":
          "describe: T\nagent: {script: [Hello]}\nsets:\n  - name: s\n    file: r.csv\n    examples: [{it: odd, steps: [{user: hi, expect: [{match: '{{w}}'}]}]}]\n"})
