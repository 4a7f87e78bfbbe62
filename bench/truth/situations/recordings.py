"""Recordings that were cut off, damaged or changed: no surface may take one for a finished run that passed."""

import json

from model import situation, truth
from situations.agents import COMMAND, HEAD

# A passing run that has an event of nearly every type, in an order that is always the same: one example after the other.
AGENT = f"{HEAD}class Mine(Agent):\n    def chat(self, message):\n        return {{'text': 'Hello', 'tool_calls': [{{'name': 't', 'arguments': {{}}, 'result': 1}}]}}\nMine().main()\n"
TALKS = ("describe: T\nagent: { %s }\nsimulator: { model: { script: [one, two, three] } }\njudge: { model: { verdicts: [{about: goal, seen: Hello, because: x}] } }\n"
         "topics: { a: { next: b, expect: [{match: Hello}] }, b: { triggers: [{response: Hello}], next: a, expect: [{match: Hello}] } }\nexamples:\n"
         "  - it: one\n    steps: [{user: hi, expect: [{match: Hello}], evaluate: [{match: Hello}]}]\n  - it: two\n    steps: [{simulate: {goal: x, max_turns: 3}}]\n") % COMMAND
TALK_FILES = {"agent.py": AGENT, "t.scenario.yaml": TALKS}
SPEC_FILES = {"spec/a_spec.rb": 'RSpec.describe("T") { it("one") { puts "said" }; it("two") { } }'}
# A judge that answers with nothing usable, and an agent that dies.
ERROR_AGENT = f"{HEAD}class Mine(Agent):\n    def chat(self, message):\n        if self.said(message) == 'die':\n            os._exit(1)\n        return {{'text': 'Hello'}}\nMine().main()\n"
ERROR_TALKS = ("describe: T\nagent: { %s }\nmodels: { judge: { command: ['@PYTHON@', '-c', 'print(1)'], tries: 1 } }\njudge: { retries: 0 }\nexamples:\n"
               "  - it: one\n    steps: [{user: hi, expect: [{satisfy: polite enough}]}]\n  - it: two\n    steps: [{user: die}]\n") % COMMAND
ERROR_FILES = {"agent.py": ERROR_AGENT, "t.scenario.yaml": ERROR_TALKS}
# An agent that tells its work as a span.
SPAN_AGENT = HEAD + """import json, urllib.request
class Mine(Agent):
    def chat(self, message):
        _, trace, turn, _ = message["traceparent"].split("-")
        span = {"traceId": trace, "spanId": "00000000000000aa", "parentSpanId": turn, "name": "invoke_agent", "kind": 2,
                "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}]}
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
        url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
        urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})).read()
        return {"text": "Hello"}
Mine().main()
"""
SPAN_TALKS = ("describe: T\nagent: { %s, traces: true }\nexamples:\n  - it: one\n    steps: [{user: hi, expect: [{not: {call_tool: refund}}]}]\n"
              "  - it: two\n    steps: [{user: hi, expect: [{match: Hello}]}]\n") % COMMAND
SPAN_FILES = {"agent.py": SPAN_AGENT, "t.scenario.yaml": SPAN_TALKS}
HOOK_FILES = {"spec/a_spec.rb": 'RSpec.describe("T") { after(:context) { raise "late" }; it("one") { }; it("two") { } }'}

# Event types that a recording is cut at; `bench.py` holds them against the schema and against what runs really record.
CUT_TYPES = set()


def cut_at(kind, which=0, torn=False):
    """Cuts the recording after the first (or last) event of a type, or in the middle of its line."""
    CUT_TYPES.add(kind)

    def after(project, run):
        path = run / "events.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        places = [place for place, line in enumerate(lines) if json.loads(line).get("event_type") == kind]
        if not places:
            raise RuntimeError(f"the run has no event {kind}")
        place = places[which]
        kept = b"".join(lines[:place]) + lines[place][: len(lines[place]) // 2] if torn else b"".join(lines[: place + 1])
        path.write_bytes(kept)
    return after


def damaged(name, after, the_truth, files=SPEC_FILES, args=("-w", "1"), **more):
    # Live surfaces told of the run before it was damaged; they are not asked.
    skip = {surface: "before the damage" for surface in ("live:json", "live:junit", "live:markdown", "live:html", "live:github", "live:github summary", "live:interleaved", "live:grouped",
                                                         "live:quiet", "live:terse")}
    situation(f"recording/{name}", the_truth, files, args, after=after, drive=silently, without={**skip, **more.pop("without", {})}, **more)


def silently(project, out):
    """The run itself; its exit code is not the truth of what becomes of the recording."""
    project.run("run", "--ui", "terse", "--concurrency", "1", "-w", "1", timeout=30)
    return None


# A died run is shown with no exit code: `1000` stands for a code that no surface may name.
DIED = dict(state="died", validate=(1, 2))
# Where a cut falls: what is certain about `one` and `two` there. Only an example whose end is recorded has an outcome.
NOT_YET = "unfinished|not_run?"
NOTHING, IN_ONE, ONE_DONE, IN_TWO, BOTH_DONE = (NOT_YET, NOT_YET), ("unfinished", NOT_YET), ("passed", NOT_YET), ("passed", "unfinished"), ("passed", "passed")
CUTS = {
    # type: (files, what is certain after its first event, what is certain while its line is torn)
    "SuiteStarted": (TALK_FILES, NOTHING, NOTHING), "ExampleStarted": (TALK_FILES, IN_ONE, NOTHING), "UserMessage": (TALK_FILES, IN_ONE, IN_ONE), "AgentResponse": (TALK_FILES, IN_ONE, IN_ONE),
    "ToolCallStarted": (TALK_FILES, IN_ONE, IN_ONE), "ToolCallCompleted": (TALK_FILES, IN_ONE, IN_ONE), "EvaluationRecorded": (TALK_FILES, IN_ONE, IN_ONE),
    "TopicChanged": (TALK_FILES, IN_ONE, IN_ONE), "InvariantEvaluated": (TALK_FILES, IN_ONE, IN_ONE), "SimulationStarted": (TALK_FILES, IN_TWO, IN_TWO), "SimulationEnded": (TALK_FILES, IN_TWO, IN_TWO),
    "ExampleFinished": (TALK_FILES, ONE_DONE, IN_ONE), "Progress": (TALK_FILES, NOTHING, NOTHING),
    "ModelCall": (ERROR_FILES, IN_ONE, IN_ONE), "JudgeError": (ERROR_FILES, IN_ONE, IN_ONE), "AgentError": (ERROR_FILES, ("inconclusive:judge", "unfinished"), ("inconclusive:judge", "unfinished")),
    "AgentSpan": (SPAN_FILES, IN_ONE, IN_ONE),
    "WorkerStarted": (SPEC_FILES, NOTHING, NOTHING), "GroupStarted": (SPEC_FILES, NOTHING, NOTHING), "GroupFinished": (SPEC_FILES, BOTH_DONE, BOTH_DONE),
    "ErrorOutsideExample": (HOOK_FILES, BOTH_DONE, BOTH_DONE),
}
named = lambda pair: {"T > one": pair[0], "T > two": pair[1]}
for kind, (files, after, torn) in CUTS.items():
    damaged(f"cut-after-{kind}", cut_at(kind), truth(1000, named(after), **DIED), files, short=kind in ("ExampleStarted", "ExampleFinished"))
    damaged(f"torn-at-{kind}", cut_at(kind, torn=True), truth(1000, named(torn), ("died", "loading") if kind == "SuiteStarted" else "died", validate=(1, 2)), files)
# Output comes through a pipe of its own, so a line may be recorded before or after the end of the example that printed it.
ANYWHERE = ("passed|unfinished", "passed|unfinished|not_run?")
for kind, certain in (("WorkerLog", ANYWHERE), ("WorkerExited", BOTH_DONE), ("Progress", BOTH_DONE), ("ExampleFinished", BOTH_DONE), ("GroupFinished", BOTH_DONE)):
    damaged(f"cut-after-last-{kind}", cut_at(kind, -1), truth(1000, named(certain), **DIED))
damaged("torn-at-SuiteFinished", cut_at("SuiteFinished", torn=True), truth(1000, named(BOTH_DONE), **DIED), short=True)


def lines(change):
    def after(project, run):
        path = run / "events.jsonl"
        path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    return after


def first(kept, kind):
    return next(place for place, line in enumerate(kept) if f'"event_type":"{kind}"'.encode() in line)


def without_first(kind):
    def change(kept):
        place = first(kept, kind)
        return kept[:place] + kept[place + 1:]
    return change


def doubled(kind):
    def change(kept):
        place = first(kept, kind)
        return kept[: place + 1] + kept[place:]
    return change


def replaced(old, new):
    def change(kept):
        changed = [line.replace(old, new) for line in kept]
        if changed == kept:
            raise RuntimeError(f"nothing to replace: {old}")
        return changed
    return change


# The run is changed behind Proctor's back; what stays readable may be shown, but `validate` must not call it complete.
CHANGED = dict(state=(None,), validate=(1, 2), exact=False)
ANY = {"T > one": "passed|failed|unfinished|not_run|errored?", "T > two": "passed|failed|unfinished|not_run|errored?"}
for name, change, short in (
    ("garbage-line-in-the-middle", lambda kept: kept[:3] + [b"garbage\n"] + kept[3:], True), ("line-missing-ExampleFinished", without_first("ExampleFinished"), True),
    ("line-missing-ExampleStarted", without_first("ExampleStarted"), False), ("line-missing-SuiteStarted", without_first("SuiteStarted"), False), ("line-missing-Progress", without_first("Progress"), False),
    ("line-missing-WorkerLog", without_first("WorkerLog"), False),
    ("line-doubled-ExampleFinished", doubled("ExampleFinished"), True), ("line-doubled-SuiteFinished", doubled("SuiteFinished"), False), ("lines-swapped", lambda kept: kept[:2] + [kept[3], kept[2]] + kept[4:], False),
    ("nul-bytes", lambda kept: kept[:3] + [b"\0" * 40 + b"\n"] + kept[3:], False), ("failed-made-passed", replaced(b'"status":"failed"', b'"status":"passed"'), True),
    ("exit-code-changed", replaced(b'"exit_code":1', b'"exit_code":0'), True), ("name-changed", replaced(b'"two"', b'"tow"'), False), ("output-changed", replaced(b"said", b"told"), False),
):
    codes = (0, 1, 2, 1000)
    damaged(name, lines(change), truth(codes, ANY, **CHANGED), {"spec/a_spec.rb": 'RSpec.describe("T") { it("one") { puts "said" }; it("two") { raise "x" } }'}, short=short,
            also=None, without={"stream": "it is what was changed"})


def emptied(project, run):
    (run / "events.jsonl").write_bytes(b"")


damaged("empty-file", emptied, truth((1000,), {}, ("died", None), validate=(1, 2), exact=False), without={"tool run_results all": "nothing", "stream": "nothing"})
damaged("run-json-missing", lambda project, run: (run / "run.json").unlink(missing_ok=True), truth(0, {"T > one": "passed", "T > two": "passed"}))
damaged("history-damaged", lambda project, run: (project.root / ".proctor/history.db").write_bytes(b"no database at all" * 100), truth(0, {"T > one": "passed", "T > two": "passed"}))
damaged("history-removed", lambda project, run: (project.root / ".proctor/history.db").unlink(missing_ok=True), truth(0, {"T > one": "passed", "T > two": "passed"}))
damaged("complete", lambda project, run: None, truth(0, {"T > one": "passed", "T > two": "passed"}, validate=0), TALK_FILES, short=True)
