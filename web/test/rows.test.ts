import { expect, test } from "vitest";

import sampleText from "./sample.events.jsonl?raw";
import kept from "./sample.rows.json";
import { criteriaOf } from "../src/model/criteria";
import { apply, countsOf, emptyHeader, emptyRun, isBad, rateOf, runOf, statusOf, titleOf } from "../src/model/rows";
import { parseQuery } from "../src/model/query";
import { search } from "../src/model/search";
import { talksOf } from "../src/model/talk";
import { graphOf, START } from "../src/model/topics";
import { linesOf } from "../src/model/tree";
import type { Event } from "../src/model/types";
import { fileSource } from "../src/source";

const events = sampleText.trim().split("\n").map((line: string) => JSON.parse(line) as Event);

function folded() {
  const run = emptyRun();
  for (const event of events) apply(run, event);
  return run;
}

/** The last digit of a fraction differs between the languages; times may be written in two ways. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, one) => {
    if (typeof one === "number") return Math.round(one * 1e9) / 1e9;
    if (key.endsWith("_at") && typeof one === "string") return Date.parse(one);
    return one;
  }));
}

test("the page and the server see the same run", () => {
  const { header, rows } = folded();
  expect(plain({ header, rows })).toEqual(plain(kept));
});

test("what a run without an end left open is unfinished, not running", async () => {
  const cut = events.findIndex((event) => event.event_type === "ExampleStarted");
  const feed = await fileSource(events.slice(0, cut + 1).map((event) => JSON.stringify(event)).join("\n")).open("", () => {});
  expect([feed.state, feed.run.rows.map(statusOf), feed.run.rows.map(isBad)]).toEqual(["died", ["unfinished"], [true]]);
  expect(countsOf(feed.run.rows)).toEqual({ unfinished: 1 });
});

test("an end that says passed is held to what was recorded before it", () => {
  const code = (status: string, announced: number, more: Partial<Event>[] = []) => {
    const run = emptyRun();
    const tell = (event_type: string, fields = {}) => apply(run, { seq: 0, event_type, ...fields });
    tell("SuiteStarted", { example_count: 1, policy: { flaky_fails: true } });
    tell("ExampleStarted", { example_id: "a" });
    tell("ExampleFinished", { example_id: "a", status });
    for (const event of more) apply(run, { seq: 0, event_type: "", ...event });
    tell("SuiteFinished", { state: "finished", exit_code: 0, example_count: 1, repetition_count: announced });
    return run.header.exit_code;
  };
  expect(["passed", "pending", "inconclusive"].map((status) => code(status, 1))).toEqual([0, 0, 0]);
  expect(["failed", "errored", "crashed", "timed_out", "cancelled", "not_run", "splendid"].map((status) => code(status, 1))).toEqual([1, 1, 1, 1, 1, 1, 1]);
  expect(code("passed", 2)).toBe(1);
  expect(code("passed", 1, [{ event_type: "ErrorOutsideExample" }])).toBe(1);
  expect(code("passed", 1, [{ event_type: "ExampleStarted", example_id: "b" }])).toBe(1);
  expect(code("failed", 1, [{ event_type: "ExampleFinished", example_id: "a", attempt: 2, status: "passed" }])).toBe(1);
});

test("an example without a description is called by the one it gets while it runs", () => {
  const run = emptyRun();
  const title = () => titleOf(run.rows[0]!);
  const tell = (event_type: string, attempt: number, more = {}) => apply(run, { seq: 0, event_type, example_id: "a", attempt, ...more });
  const start = { path: ["Stack"], description: "example at ./a_spec.rb:3", full_description: "Stack " };
  tell("ExampleStarted", 1, start);
  expect(title()).toBe("Stack");
  tell("ExampleFinished", 1, { status: "failed", description: "is expected to eq 1", full_description: "Stack is expected to eq 1" });
  expect(title()).toBe("Stack › is expected to eq 1");
  tell("ExampleStarted", 2, start);
  expect(title()).toBe("Stack › is expected to eq 1");
  tell("ExampleFinished", 2, { status: "passed", description: "is expected to eq 2", full_description: "Stack is expected to eq 2" });
  expect([title(), run.rows[0]!.description]).toEqual(["Stack › is expected to eq 2", "is expected to eq 2"]);
});

test("an example that need not always pass has passed when it passed often enough", () => {
  const run = emptyRun();
  const status = () => statusOf(run.rows[0]!);
  const tell = (event_type: string, repeat: number, more = {}) => apply(run, { seq: 0, event_type, example_id: "a", repeat, ...more });
  for (const [place, ended] of ["passed", "failed", "inconclusive", "passed"].entries()) {
    tell("ExampleStarted", place + 1, { pass_rate: 0.6 });
    expect(status()).toBe("running");
    tell("ExampleFinished", place + 1, { status: ended });
  }
  expect([status(), rateOf(run.rows[0]!)]).toEqual(["within_rate", { passed: 2, valid: 3 }]);
  tell("ExampleFinished", 5, { status: "failed" });
  expect(status()).toBe("failed");
  tell("ExampleFinished", 5, { status: "failed", fault: "judge" });
  expect(status(), "what the judge broke is not held against it").toBe("within_rate");
});

test("an example that checked nothing fails the run only where the run says so", () => {
  const told = (policy: object | undefined, checks: number | undefined) => {
    const run = emptyRun();
    apply(run, { seq: 0, event_type: "SuiteStarted", policy });
    apply(run, { seq: 1, event_type: "ExampleStarted", example_id: "a" });
    apply(run, { seq: 2, event_type: "ExampleFinished", example_id: "a", status: "passed", checks });
    const row = run.rows[0]!;
    return [row.verdict, row.unchecked, isBad(row)];
  };
  expect(told({ unchecked_fails: true }, 0)).toEqual(["passed", true, true]);
  expect(told({ unchecked_fails: false }, 0)).toEqual(["passed", true, false]);
  expect(told(undefined, 0)).toEqual(["passed", true, false]);
  expect(told({ unchecked_fails: true }, 1)).toEqual(["passed", false, false]);
  expect(told({ unchecked_fails: true }, undefined), "what is not recorded is not known").toEqual(["passed", false, false]);
});

test("a tool call counts once, whoever tells of it; also for a page that joins in the middle", () => {
  const tell = (run: ReturnType<typeof emptyRun>, event_type: string, more = {}) => apply(run, { seq: 0, event_type, example_id: "a", turn_number: 1, ...more });
  const said = { tool_calls: [{ id: "x", name: "find" }, { name: "book", arguments: { day: 4 } }] };
  const run = emptyRun();
  tell(run, "UserMessage");
  tell(run, "ToolCallStarted", { tool_name: "find", tool_call_id: "x" });
  const joined = runOf(emptyHeader(), JSON.parse(JSON.stringify(run.rows)));
  for (const one of [run, joined]) {
    tell(one, "ToolCallCompleted", { tool_name: "find", tool_call_id: "x" });
    tell(one, "AgentResponse", said);
    expect(one.rows[0]!.attempts[0]!.tool_calls).toBe(2);
    tell(one, "ToolCallStarted", { turn_number: 2, tool_name: "find", tool_call_id: "y" });
    expect(one.rows[0]!.attempts[0]!.tool_calls).toBe(3);
  }
  expect(joined.latest).toBe("a");
});

test("failures come first, in groups and files", () => {
  const { rows } = folded();
  const lines = linesOf(rows, { text: "", status: null }, new Set());
  const examples = lines.filter((line) => line.kind === "example");
  expect(examples).toHaveLength(rows.length);
  const flags = lines.flatMap((line) => (line.kind === "group" && line.file ? [line.bad > 0] : []));
  expect(flags).toEqual([...flags].sort((a, b) => Number(b) - Number(a)));
  const only = linesOf(rows, { text: "", status: "bad" }, new Set()).filter((line) => line.kind === "example");
  expect(only.length).toBe(rows.filter((row) => isBad(row)).length);
  const closed = linesOf(rows, { text: "second try", status: null }, new Set(["\u0000./spec/retry_spec.rb"]));
  expect(closed.map((line) => line.kind)).toEqual(["group"]);
});

test("a conversation turn by turn, whoever reported the tools", () => {
  const id = folded().rows[0]!.id;
  const talks = talksOf(events.filter((event) => event.example_id === id));
  expect(talks.map((talk) => [talk.repeat, talk.attempt])).toEqual([[1, 1], [2, 1]]);
  const turn = talks[0]!.turns[1]!;
  expect(turn.steps.map((step) => step.kind)).toEqual(["topic", "user", "tool", "agent"]);
  const call = turn.steps[2]!;
  expect(call.kind === "tool" && [call.call.done, call.call.duration_ms]).toEqual([true, 84]);
  const retried = talksOf(events.filter((event) => event.example_id === "feedfacecafe"));
  expect(retried.map((talk) => talk.status)).toEqual(["crashed", "passed"]);
  expect(retried[0]!.turns[0]!.steps.map((step) => step.kind)).toEqual(["tool", "tool", "agent"]);
});

test("topics are counted by way and by conversation", () => {
  const graph = graphOf(folded().rows);
  expect(graph.talks).toBe(24);
  expect(graph.edges.find((edge) => edge.from === START)?.count).toBe(24);
  expect(graph.nodes.every((node) => node.layer >= 0)).toBe(true);
});

test("criteria are counted, and no verdict is none", () => {
  const criteria = criteriaOf(folded().rows);
  expect(criteria[0]!.name).not.toBe("friendly");
  expect(criteria.find((one) => one.name === "intent")).toMatchObject({ checked: 0, unclear: 1 });
});

test("words are found together in one text", () => {
  const run = folded();
  expect(search("sample", events, run, parseQuery("second TRY")).hits.map((hit) => hit.found)).toContain("title");
  expect(search("sample", events, run, parseQuery("kulturbrauerei nowhere")).hits).toEqual([]);
  expect(search("sample", events, run, parseQuery(" ")).hits).toEqual([]);
});
