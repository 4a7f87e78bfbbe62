"""Agents behind HTTP: interfaces of their own, chat completions, Anthropic's messages."""

from model import situation, truth
from situations.agents import HI, indent

HEAD = "import sys\nsys.path.insert(0, '@PROGRAMS@')\nfrom server import *\n"
START = 'command: ["@PYTHON@", "${root}/server.py", "${port}"]\n  ready: { url: /health, within: 20s }\n'


def http(name, answer, steps, outcome, exit=1, spec="http: { url: 'http://127.0.0.1:${port}/chat', text: /text }", extra="", args=(), **more):
    """A server as agent; `answer` is the body of a function of (request, n)."""
    files = {"server.py": f"{HEAD}def answer(request, n):\n{indent(answer)}\nserve(answer)\n",
             "t.scenario.yaml": f"describe: T\nagent:\n  {START}  timeout: 3s\n  {spec}\n{extra}examples:\n  - it: odd\n    steps:\n{indent(steps, 6)}"}
    situation(f"http/{name}", truth(exit, {"T > odd": outcome}), files, args, **more)


OK = "return 200, {}, {'text': 'Hello'}"
http("answers", OK, HI % "{match: Hello}", "passed", 0, short=True)
http("wrong-words", OK, HI % "{match: Nope}", "failed:agent")
# It runs its own tools, and nothing in its answer says so: nobody can tell what it called.
http("hides-tools-negated", "return 200, {}, {'text': 'Done', 'ran': ['refund']}", HI % "{not: {call_tool: refund}}", "errored", short=True)
http("hides-tools", "return 200, {}, {'text': 'Done', 'ran': ['refund']}", HI % "{call_tool: refund}", "errored", short=True)
http("hides-tools-count", OK, HI % "{expression: 'tool_calls.size() == 0'}", "errored|passed|failed", (0, 1))
MADE = "http: { url: 'http://127.0.0.1:${port}/chat', text: /text, made_calls: /ran }"
RAN = "return 200, {}, {'text': 'Done', 'ran': [{'name': 'refund', 'arguments': {'order': 7}, 'result': 'ok'}]}"
http("made-calls-forbidden", RAN, HI % "{not: {call_tool: refund}}", "failed:agent", spec=MADE, short=True)
http("made-calls-wanted", RAN, HI % "{call_tool: refund}", "passed", 0, spec=MADE)
http("made-calls-absent", OK, HI % "{not: {call_tool: refund}}", "passed|errored", (0, 1), spec=MADE)
http("made-calls-nameless", "return 200, {}, {'text': 'Done', 'ran': [{'arguments': {}}]}", HI % "{not: {call_tool: refund}}", "errored:agent", spec=MADE)
http("tools-none", OK, HI % "{not: {call_tool: refund}}", "passed|errored", (0, 1), extra="tools: none\n")
ASKED = "http: { url: 'http://127.0.0.1:${port}/chat', text: /text, tool_calls: { list: /calls } }"
http("asks-for-tool", "return 200, {}, {'text': 'Done', 'calls': [] if n else [{'id': 'c', 'name': 'refund', 'arguments': {}}]}", HI % "{not: {call_tool: refund}}", "failed:agent",
     spec=ASKED, extra="tools: {refund: [{result: ok}]}\n")
http("status-500", "return 500, {}, {'text': 'Hello'}", HI % "{match: Hello}", "errored:agent", short=True)
http("status-404", "return 404, {}, 'no'", HI % "{not: {match: error}}", "errored:agent")
http("status-401", "return 401, {}, 'no'", HI % "{not: {match: error}}", "errored:agent")
http("status-429", "return 429, {'Retry-After': '60'}, 'slow down'", HI % "{not: {match: error}}", "errored:agent", timeout=30)
http("status-204", "return 204, {}, ''", HI % "{not: {match: error}}", "errored:agent")
http("redirects", "return 302, {'Location': '/elsewhere'}, ''", HI % "{not: {match: error}}", "errored:agent")
http("no-json", "return 200, {}, '<html>Hello</html>'", HI % "{match: Hello}", "errored:agent")
http("text-missing", "return 200, {}, {'reply': 'Hello'}", HI % "{not: {match: error}}", "errored:agent", short=True)
http("text-null", "return 200, {}, {'text': None}", HI % "{not: {match: error}}", "errored:agent")
http("text-is-object", "return 200, {}, {'text': {'a': 'Hello'}}", HI % "{match: Hello}", "errored|passed|failed", (0, 1))
http("body-cut", "return 200, {'Content-Length': '500'}, '{\"text\": \"Hello'", HI % "{match: Hello}", "errored:agent")
http("closes", "return 'close', {}, ''", HI % "{not: {match: error}}", "errored:agent")
http("hangs", "time.sleep(60)", HI % "{match: Hello}", "errored|timed_out:agent", short=True, timeout=30)
http("error-with-200", "return 200, {}, {'text': 'Hello', 'error': 'broken'}", HI % "{match: Hello}", "errored:agent", spec="http: { url: 'http://127.0.0.1:${port}/chat', text: /text, error: /error }")
http("dies-after-first-turn", "if n: os._exit(0)\nreturn 200, {}, {'text': 'Hello'}", "- user: hi\n- user: more\n  expect: [{match: Hello}]", "errored:agent")

CHAT = "chat: { url: 'http://127.0.0.1:${port}/v1', model: m }"
SAY = "return 200, {}, {'choices': [{'message': {'role': 'assistant', 'content': %s%s}, 'finish_reason': 'stop'}]}"
http("chat-answers", SAY % ("'Hello'", ""), HI % "{match: Hello}", "passed", 0, spec=CHAT, short=True)
http("chat-no-choices", "return 200, {}, {'choices': []}", HI % "{not: {match: error}}", "errored:agent", spec=CHAT)
http("chat-content-null", SAY % ("None", ""), HI % "{not: {match: error}}", "errored|passed|failed", (0, 1), spec=CHAT)
http("chat-refusal", SAY % ("None", ", 'refusal': 'I cannot help'"), HI % "{match: help}", "errored|failed|passed", (0, 1), spec=CHAT)
http("chat-error-with-200", "return 200, {}, {'error': {'message': 'overloaded'}}", HI % "{not: {match: error}}", "errored:agent", spec=CHAT)
TOOL = ", 'tool_calls': [{'id': 'c', 'type': 'function', 'function': %s}]"
CALLS = "tools: {refund: {command: ['true'], description: d, parameters: {type: object}}}\n"
http("chat-forbidden-call", "if n: " + SAY % ("'Done'", "") + "\n" + SAY % ("None", TOOL % "{'name': 'refund', 'arguments': '{}'}"), HI % "{not: {call_tool: refund}}", "failed:agent", spec=CHAT,
     extra="tools: {refund: [{result: ok}]}\n", short=True)
http("chat-arguments-broken", "if n: " + SAY % ("'Done'", "") + "\n" + SAY % ("None", TOOL % "{'name': 'refund', 'arguments': '{broken'}"), HI % "{not: {call_tool: delete_all}}", "errored:agent", spec=CHAT,
     extra="tools: {refund: [{result: ok}]}\n")
http("chat-call-nameless", "if n: " + SAY % ("'Done'", "") + "\n" + SAY % ("None", TOOL % "{'arguments': '{}'}"), HI % "{not: {call_tool: delete_all}}", "errored:agent", spec=CHAT,
     extra="tools: {refund: [{result: ok}]}\n")
STREAM = "chat: { url: 'http://127.0.0.1:${port}/v1', model: m, stream: true }"
CHUNK = "'data: {\"choices\": [{\"delta\": {\"content\": \"Hello\"}}]}\\n\\n'"
http("chat-stream", f"return 200, {{'Content-Type': 'text/event-stream'}}, {CHUNK} + 'data: [DONE]\\n\\n'", HI % "{match: Hello}", "passed", 0, spec=STREAM)
http("chat-stream-cut", f"return 200, {{'Content-Type': 'text/event-stream', 'Content-Length': '900'}}, {CHUNK}", HI % "{match: Hello}", "errored:agent", spec=STREAM)
http("chat-stream-garbled", "return 200, {'Content-Type': 'text/event-stream'}, 'data: {broken\\n\\ndata: [DONE]\\n\\n'", HI % "{not: {match: error}}", "errored:agent", spec=STREAM)
CLAUDE = "chat: { url: 'http://127.0.0.1:${port}', anthropic: true, model: m }"
http("messages-answers", "return 200, {}, {'content': [{'type': 'text', 'text': 'Hello'}], 'stop_reason': 'end_turn', 'usage': {'input_tokens': 1, 'output_tokens': 1}}", HI % "{match: Hello}", "passed", 0, spec=CLAUDE)
http("messages-empty", "return 200, {}, {'content': [], 'stop_reason': 'end_turn', 'usage': {'input_tokens': 1, 'output_tokens': 1}}", HI % "{match: Hello}", "errored|failed:agent", spec=CLAUDE)
http("messages-error", "return 529, {}, {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'x'}}", HI % "{not: {match: error}}", "errored:agent", spec=CLAUDE, timeout=30)
situation("http/refused", truth(1, {"T > odd": "errored:agent"}), {"t.scenario.yaml":
          "describe: T\nagent: { http: { url: 'http://127.0.0.1:9/chat', text: /text } }\nexamples: [{it: odd, steps: [{user: hi, expect: [{not: {match: error}}]}]}]\n"}, timeout=30)
situation("http/server-never-ready", truth(1, {"T > odd": "errored:agent"}), {"t.scenario.yaml":
          "describe: T\nagent:\n  command: [sleep, '60']\n  ready: { url: /health, within: 1s }\n  http: { url: 'http://127.0.0.1:${port}/chat', text: /text }\n"
          "examples: [{it: odd, steps: [{user: hi, expect: [{match: Hello}]}]}]\n"})
situation("http/server-exits", truth(1, {"T > odd": "errored:agent"}), {"t.scenario.yaml":
          "describe: T\nagent:\n  command: ['true']\n  ready: { url: /health, within: 5s }\n  http: { url: 'http://127.0.0.1:${port}/chat', text: /text }\n"
          "examples: [{it: odd, steps: [{user: hi, expect: [{match: Hello}]}]}]\n"})
