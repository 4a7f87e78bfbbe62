"""Workspaces: patterns, topics, limits, snapshots and warnings. Part of the issue on evidence."""

import json
import os
import signal

from model import situation, truth
from project import PROGRAMS

TOML = '[tools]\nralph = "tools/ralph"\n'
RALPH = "#!@PYTHON@\n" + (PROGRAMS / "ralph.py").read_text(encoding="utf-8")
BUSY = [{"output": "", "events": [{"topic": "build.task"}, {"topic": "deep.a.b"}], "times": 20}]
DONE = [{"output": "LOOP_COMPLETE"}]
REFUSED = truth(2, {}, "did_not_load", exact=False)
PASSED = truth(0, {"W": "passed"})
FAILED = truth(1, {"W": "failed:agent"})
EXITS_0 = {"type": "exit_code", "expected": 0}


def files(checks, mock=None, run=None, setup=None):
    """A project with one workspace file. JSON is YAML."""
    text = {"name": "W", "mock": DONE if mock is None else mock, "run": {"task": "t", **(run or {})}, "assert": checks, "setup": setup or {}}
    return {"proctor.toml": TOML, "tools/ralph": RALPH, "w.workspace.yaml": json.dumps(text)}


def executable(project):
    (project.root / "tools/ralph").chmod(0o755)


def workspace(name, the_truth, checks, told=(), untold=(), **more):
    """One file, run; `told` must be said by the run and in its JSON, `untold` must not."""
    def also(project, say):
        ran = project.run("show", "last", "--format", "json")
        # A file that does not load has no run to show.
        shown = ran.stdout if ran.code == 0 else ""
        for text in told:
            if text not in shown:
                say("show --format json", text, shown[-300:])
        for text in untold:
            if text in shown:
                say("show --format json", f"no {text}", text)
    situation(f"evidence/workspace-{name}", the_truth, files(checks, **more), before=executable, also=also)


def event(kind, topic, **more):
    return [{"type": kind, "topic": topic, **more}]


# What is no pattern is refused before anything runs.
for name, topic in {"class": "build.[a-z]*", "star-within": "build*", "bracket": "[", "question": "build.tas?", "braces": "{build,task}.*",
                    "empty-segment": "build..task", "empty": "", "regex": "^build"}.items():
    workspace(f"topic-refused-{name}", REFUSED, event("no_event", topic))
workspace("topic-refused-in-sequence", REFUSED, [{"type": "event_sequence", "topics": ["task.start", "build*"]}])
workspace("topic-refused-in-count", REFUSED, event("event_count", "build*", max=0))
workspace("topic-refused-in-mock", REFUSED, [EXITS_0], mock=[{"output": "", "events": [{"topic": "build.*"}]}])
workspace("file-pattern-refused", REFUSED, [{"type": "snapshot_matches", "snapshot": "initial", "include_patterns": ["src/**x"]}])
workspace("unknown-assertion", REFUSED, [{"type": "no_such_check", "topic": "x"}])
workspace("unknown-field", REFUSED, [{"type": "exit_code", "expectd": 0}])

# What is one means what the documents say.
ONE = {"max_iterations": 1}
workspace("lone-star-is-everything", FAILED, event("no_event", "*"), mock=BUSY, run=ONE)
workspace("star-is-one-segment", FAILED, event("no_event", "build.*"), mock=BUSY, run=ONE)
workspace("star-is-not-two-segments", PASSED, event("no_event", "deep.*"), mock=BUSY, run=ONE)
workspace("two-stars-are-any-number", FAILED, event("no_event", "deep.**"), mock=BUSY, run=ONE)
workspace("two-stars-are-none-too", FAILED, event("event_count", "build.task.**", max=0), mock=BUSY, run=ONE)
workspace("literal-topic", FAILED, event("no_event", "build.task"), mock=BUSY, run=ONE)

# A topic that cannot occur: green, and said so.
workspace("typo-is-warned", PASSED, event("no_event", "bulid.task"), told=["outside the topology", "did you mean build.task?"], mock=BUSY, run=ONE)
workspace("own-topics-are-known", PASSED, event("no_event", "event.orphaned"), untold=["outside the topology"], mock=BUSY, run=ONE)
workspace("occurred-topics-are-known", PASSED, event("event_occurred", "deep.a.b"), untold=["outside the topology"], mock=BUSY, run=ONE)
workspace("literal-trigger-is-warned", PASSED, [EXITS_0], told=["hats.a.triggers"],
          setup={"config": {"hats": {"a": {"triggers": ["build*"], "publishes": ["x"]}}}})

# Limits: the call, then the configuration, then the default.
LIMIT = {"config": {"event_loop": {"max_iterations": 2}}}
EXACTLY = lambda count: [{"type": "iterations", "exact": count}]
workspace("limit-of-the-default", PASSED, EXACTLY(5), mock=BUSY)
workspace("limit-of-the-configuration", PASSED, EXACTLY(2), mock=BUSY, setup=LIMIT)
workspace("limit-of-the-file", PASSED, EXACTLY(3), mock=BUSY, setup={"fixtures": {"ralph.yml": "event_loop: {max_iterations: 3}\n"}})
workspace("limit-of-the-call", PASSED, EXACTLY(1), mock=BUSY, setup=LIMIT, run=ONE)
workspace("limit-that-is-no-number", REFUSED, [EXITS_0], setup={"config": {"event_loop": {"max_iterations": "many"}}})

# Configurations and programs that do not work.
workspace("configuration-is-no-mapping", REFUSED, [EXITS_0], setup={"fixtures": {"ralph.yml": "- a\n"}})
workspace("overrides-are-no-mapping", REFUSED, [EXITS_0], setup={"config": ["a"]})
REFUSES = {"config": {"refuse": "the moon is full"}}
workspace("startup-error-says-why", FAILED, [EXITS_0], told=["exit code 1", "the moon is full"], setup=REFUSES)
workspace("nothing-began", PASSED, event("no_event", "build.task"), told=["never began (StartupError)"], setup=REFUSES)
workspace("mock-file-not-written", PASSED, [EXITS_0], told=["the file a/b was not written"], setup={"fixtures": {"a": "file"}},
          mock=[{"output": "LOOP_COMPLETE", "files": {"a/b": "x"}}])
workspace("snapshot-pattern-without-file", PASSED, [{"type": "snapshot_matches", "snapshot": "initial", "include_patterns": ["scr/**"]}],
          told=["matches no file"], setup={"fixtures": {"src/a": "a"}})


def tools(name, steps, timeout=40):
    """Calls of `proctor tool`, each with what its answer must be, after a run that passes."""
    def also(project, say):
        remembered = {}
        for tool, parameters, check in steps:
            text = json.dumps({"workspace_id": "w", **parameters})
            for key, value in remembered.items():
                text = text.replace(key, value)
            ran = project.run("tool", tool, text, timeout=timeout)
            answer = json.loads(ran.stdout) if ran.stdout.strip() else {}
            if "snapshot_id" in answer:
                remembered[f"@{len(remembered) + 1}@"] = answer["snapshot_id"]
            problem = check(ran.code, answer, ran.stderr)
            if problem:
                say(f"tool {tool}", problem, (ran.stdout + ran.stderr)[-300:])
    situation(f"evidence/workspace-{name}", PASSED, files([EXITS_0]), before=executable, also=also)


def fine(code, answer, said):
    return None if code == 0 else "exit code 0"


def counts(*expected):
    def check(code, answer, said):
        found = answer.get("counts", {})
        return None if [found.get(name) for name in ("changed", "added", "deleted")] == list(expected) else f"{expected} files"
    return check


def says(text):
    return lambda code, answer, said: None if text in json.dumps(answer) + said else text


def holds(expected):
    return lambda code, answer, said: None if answer.get("passed") is expected else f"passed: {expected}"


def refused(code, answer, said):
    return None if code == 1 and "is not a topic pattern" in said else "refused"


GENERIC = {"orchestrator": {"kind": "generic", "command": ["sh", "-c", "echo changed > docs/a"]}}
FIXTURES = {"fixtures": {"src/a": "a", "docs/a": "d"}}
SAME = [{"type": "snapshot_matches", "snapshot": "@1@"}]
tools("snapshot-patterns-on-both-sides", [
    ("test_setup", {**GENERIC, **FIXTURES}, fine),
    ("test_snapshot", {"include_patterns": ["src/**"]}, fine),
    ("test_diff", {"baseline": "@1@"}, counts(0, 0, 0)),
    ("test_assert", {"assertions": SAME}, holds(True)),
    ("test_run", {"task": "t"}, fine),
    ("test_diff", {"baseline": "@1@"}, counts(0, 0, 0)),
    ("test_diff", {"baseline": "initial"}, counts(1, 0, 0)),
    ("test_assert", {"assertions": SAME}, holds(True)),
    ("test_snapshot", {"include_patterns": ["docs/**"]}, fine),
    ("test_diff", {"baseline": "@1@", "compare_to": "@2@"}, says("nothing was compared")),
])
tools("timeline-honours-the-filter", [
    ("test_setup", {}, fine),
    ("test_run", {"task": "t", "mock_responses": [{"output": "", "events": [{"topic": "build.task"}]}, *DONE]}, fine),
    ("test_inspect", {"format": "timeline"}, lambda code, answer, said: None if answer.get("total_matched") == 2 else "2 iterations"),
    ("test_inspect", {"format": "timeline", "filter": {"before_iteration": 2}}, lambda code, answer, said: None if answer.get("total_matched") == 1 else "1 iteration"),
    ("test_inspect", {"format": "timeline", "filter": {"topics": ["nothing.*"]}}, lambda code, answer, said: None if answer.get("total_matched") == 0 else "no iteration"),
    ("test_inspect", {"filter": {"topics": ["bulid.*"]}}, says("outside the topology")),
    ("test_inspect", {"filter": {"topics": ["build*"]}}, refused),
])
tools("limits-are-told", [
    ("test_setup", LIMIT, says('"configuration"')),
    ("test_run", {"task": "t", "mock_responses": BUSY, "max_runtime_secs": 60},
     lambda code, answer, said: None if answer.get("limits", {}).get("max_iterations") == {"value": 2, "from": "configuration"}
     and answer["limits"]["max_runtime_secs"] == {"value": 60, "from": "call"} else "limits with their source"),
])


def interrupted_tool(project, say):
    """Ctrl-C during a tool's run: 130, and what the run did is told."""
    mark = project.root / "now"
    setup = {"workspace_id": "w", "orchestrator": {"kind": "generic", "command": ["sh", "-c", f"touch '{mark}'; exec sleep 60"]}}
    project.run("tool", "test_setup", json.dumps(setup))
    process = project.start(["tool", "test_run", json.dumps({"workspace_id": "w", "task": "t"})])
    if project.wait_for(mark.exists, 20):
        os.kill(process.pid, signal.SIGINT)
    ran = project.finish(process, 30)
    if ran.code != 130 or "HarnessCancelled" not in ran.stdout:
        say("tool test_run", "exit code 130, HarnessCancelled", f"{ran.code}: {(ran.stdout + ran.stderr)[-200:]}")


situation("evidence/workspace-tool-interrupted", PASSED, files([EXITS_0]), before=executable, also=interrupted_tool)


def interrupt(project, process):
    if project.wait_for((project.root / "now").exists, 20):
        os.kill(process.pid, signal.SIGINT)


situation("evidence/workspace-run-interrupted", truth(130, {"W": "cancelled|crashed|not_run"}, "stopped"), {
    "w.workspace.yaml": json.dumps({"name": "W", "setup": {"orchestrator": {"kind": "generic", "command": ["sh", "-c", "touch '@ROOT@/now'; exec sleep 60"]}},
                                    "run": {"task": "t"}, "assert": [EXITS_0]}),
}, during=interrupt)
