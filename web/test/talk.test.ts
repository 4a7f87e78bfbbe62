import { expect, test } from "vitest";

import { criteriaOf } from "../src/model/criteria";
import { MOST_IDS, rerunRequest } from "../src/model/rerun";
import { apply, emptyRun, isJudged } from "../src/model/rows";
import { callsOf, chosenTalk, failingTurn, otherTalk, talksOf, turnAt } from "../src/model/talk";
import { takenBy, START } from "../src/model/topics";
import type { Event } from "../src/model/types";
import { wilson } from "../src/model/wilson";
import { ticksOf } from "../src/model/ticks";
import { commandLine, day, plural } from "../src/format";

let seq = 0;
const event = (event_type: string, more: object = {}): Event => ({ event_type, seq: (seq += 1), example_id: "a", time: new Date(1_700_000_000_000 + seq * 1000).toISOString(), ...more });
const call = (purpose: string) => event("ModelCall", { purpose, input_tokens: 10, output_tokens: 5 });
const check = (turn: number | undefined, passed: boolean, more: object = {}) => event("EvaluationRecorded", { turn_number: turn, mode: "hard", name: "polite", passed, ...more });

test("model calls belong to the turn that they led to", () => {
  const [talk] = talksOf([
    call("simulator"), event("UserMessage", { turn_number: 1, text: "hi" }), call("agent"), call("agent"), event("AgentResponse", { turn_number: 1, text: "hello" }),
    call("judge"), check(1, true), call("judge"), call("simulator"), event("UserMessage", { turn_number: 2, text: "bye" }), call("agent"),
    event("AgentError", { turn_number: 2, message: "gone" }), call("judge"), check(undefined, false),
  ]);
  expect(talk!.turns.map((turn) => turn.models.map((one) => one.purpose))).toEqual([["simulator", "agent", "agent", "judge", "judge"], ["simulator", "agent"]]);
  expect(talk!.models.map((one) => [one.purpose, one.turn])).toEqual([["judge", null]]);
  expect(callsOf(talk!).length).toBe(8);
});

test("the failing turn is that of a hard check, of an error, or the one that the message names", () => {
  const said = [event("UserMessage", { turn_number: 1, text: "a" }), event("UserMessage", { turn_number: 2, text: "b" })];
  const at = (...more: Event[]) => failingTurn(talksOf([...said, ...more])[0]!);
  expect(at(check(2, false))).toBe(2);
  expect(at(check(1, false, { mode: "soft" }), check(2, true))).toBe(null);
  expect(at(event("AgentError", { turn_number: 1, message: "gone" }), check(2, false))).toBe(1);
  expect(at(event("ExampleFinished", { status: "failed", exception: { message: "turn 2: too slow" } }))).toBe(2);
  expect(at(event("ExampleFinished", { status: "failed", exception: { message: "turn 7: too slow" } }))).toBe(null);
  expect(at(event("AgentError", { turn_number: 1, message: "once" }), event("ExampleFinished", { status: "passed" })), "it did not fail").toBe(null);
});

test("a moment is in the turn that had begun", () => {
  const events = [event("UserMessage", { turn_number: 1, text: "a" }), event("AgentResponse", { turn_number: 1, text: "b" }), event("UserMessage", { turn_number: 2, text: "c" })];
  const [talk] = talksOf(events);
  const time = (place: number) => Date.parse(events[place]!.time!);
  expect(turnAt(talksOf([{ ...events[0]!, time: "?" }])[0]!, time(0)), "nobody says when").toBe(null);
  expect([turnAt(talk!, time(0) - 1), turnAt(talk!, time(1)), turnAt(talk!, time(2)), turnAt(talk!, time(2) + 9)]).toEqual([1, 1, 2, 2]);
});

test("votes are read where there are any", () => {
  const [talk] = talksOf([check(undefined, false, { metadata: { votes: { passed: 1, failed: 2 } } }), check(undefined, true, { metadata: { votes: "many" } })]);
  expect(talk!.evaluations.map((one) => one.votes)).toEqual([{ passed: 1, failed: 2 }, null]);
});

test("of several attempts the first that failed is shown, beside one that passed", () => {
  const ended = (repeat: number, status: string) => event("ExampleFinished", { repeat, status });
  const talks = talksOf([ended(1, "passed"), ended(2, "failed"), ended(3, "failed")]);
  const chosen = chosenTalk(talks, new URLSearchParams())!;
  expect([chosen.repeat, otherTalk(talks, chosen, "1")!.repeat, otherTalk(talks, chosen, "3.1")!.repeat]).toEqual([2, 1, 3]);
  expect(chosenTalk(talks, new URLSearchParams({ repeat: "3", attempt: "1" }))!.repeat).toBe(3);
});

test("criteria: judged or not, and the worst conversations first", () => {
  const run = emptyRun();
  const told = (example_id: string, more: object) => apply(run, event("EvaluationRecorded", { example_id, mode: "hard", ...more }));
  told("a", { name: "polite", evaluation_type: "quality", passed: true, score: 0.9, turn_number: 2 });
  told("b", { name: "polite", evaluation_type: "quality", passed: false, score: 0.4, turn_number: 3 });
  told("c", { name: "polite", evaluation_type: "quality", passed: false, score: 0.1 });
  told("d", { name: "polite", evaluation_type: "quality", passed: true, score: 1 });
  told("a", { name: "match /x/", evaluation_type: "pattern", passed: true });
  const [polite, pattern] = criteriaOf(run.rows);
  expect(polite).toMatchObject({ name: "polite", judged: true, held: 2, checked: 4 });
  expect(polite!.mean).toBeCloseTo(0.6);
  expect(polite!.worst.map(({ row, check }) => [row.id, check.turn])).toEqual([["c", null], ["b", 3], ["a", 2]]);
  expect(pattern).toMatchObject({ judged: false, held: 1, worst: [] });
  expect([isJudged("tone", 0.5), isJudged("tone", undefined), isJudged("latency", 0.5), isJudged(undefined, null)]).toEqual([true, false, false, false]);
});

test("the conversations that took a way, those that failed first", () => {
  const run = emptyRun();
  const went = (example_id: string, status: string, ...topics: string[]) => {
    for (const to_topic of topics) apply(run, event("TopicChanged", { example_id, to_topic }));
    apply(run, event("ExampleFinished", { example_id, status }));
  };
  went("a", "passed", "x", "y", "x", "y");
  went("b", "failed", "x", "y");
  went("c", "failed", "y");
  expect(takenBy(run.rows, "x", "y").map(({ row, times, failed }) => [row.id, times, failed])).toEqual([["b", 1, true], ["a", 2, false]]);
  expect(takenBy(run.rows, START, "y").map(({ row }) => row.id)).toEqual(["c"]);
});

test("a re-run names files and examples, never what is outside the project", () => {
  const run = emptyRun();
  const started = (example_id: string, file: string | undefined) => apply(run, event("ExampleStarted", { example_id, file, path: ["x"] }));
  started("a", "./spec/a_spec.rb");
  started("b", "./spec/a_spec.rb");
  expect(rerunRequest(run.rows, "next")).toEqual({ paths: ["spec/a_spec.rb"], example_ids: ["a", "b"], agent: "next" });
  started("c", "/etc/passwd");
  started("d", "../x.yaml");
  expect(rerunRequest(run.rows, null)).toEqual({ paths: ["spec/a_spec.rb"], example_ids: ["a", "b", "c", "d"] });
  expect(rerunRequest(Array.from({ length: MOST_IDS + 1 }, () => run.rows[0]!), null), "the files whole").toEqual({ paths: ["spec/a_spec.rb"] });
  started("e", undefined);
  expect(rerunRequest(run.rows, null)["paths"], "all of the project is looked at").toEqual([]);
});

test("commands without noise, counts with their words, dates without what is known", () => {
  expect(commandLine(["/usr/bin/proctor", "run", "--ui=terse", "--run-id=x", "--color", "never", "spec", "-w", "2", "--", "--ui", "x"])).toBe("proctor run spec -w 2 -- --ui x");
  expect([plural(1, "turn"), plural(0, "turn"), plural(1200, "criterion", "criteria")]).toEqual(["1 turn", "0 turns", "1,200 criteria"]);
  const now = new Date("2026-11-19T12:00:00");
  expect([day("2026-11-16T09:05:00", now), day("2025-01-02T09:05:00", now), day(null, now), day("?", now)]).toEqual(["16 Nov 09:05", "2 Jan 2025 09:05", "", ""]);
});

test("axes have round values up to the highest", () => {
  expect(ticksOf(1)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(ticksOf(830).at(-1)!).toBeGreaterThanOrEqual(830);
});

test("the interval of a share is Wilson's", () => {
  const rounded = ({ low, high }: { low: number; high: number }) => [low, high].map((value) => Math.round(value * 10_000) / 10_000);
  expect([wilson(0, 0), wilson(0, 5), wilson(5, 5), wilson(7, 10)].map(rounded)).toEqual([[0, 1], [0, 0.4345], [0.5655, 1], [0.3968, 0.8922]]);
});
