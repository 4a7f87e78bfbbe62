import { expect, test } from "vitest";

import vectors from "../../crates/proctor-verdict/vectors.json";
import { endOf, evidence, fails, isLive, reaches, runWord, verdictOf } from "../src/model/verdict";
import type { Made } from "../src/model/verdict";

test("statuses and faults say what they say in Rust", () => {
  for (const { status, fault, evidence: expected } of vectors.evidence) expect([status, fault, evidence(status, fault)]).toEqual([status, fault, expected]);
});

test("verdicts are those of Rust", () => {
  for (const vector of vectors.verdicts) {
    const { word, passed, valid, unchecked } = verdictOf(vector.attempts as Made[], vector.pass_rate, vector.over);
    const strict = { flaky_fails: true, inconclusive_fails: true, unchecked_fails: true };
    expect({ word, passed, valid, unchecked, failure: fails(word, unchecked), strict_failure: fails(word, unchecked, strict), of: vector })
      .toEqual({
        word: vector.verdict, passed: vector.passed, valid: vector.valid, unchecked: vector.unchecked, failure: vector.failure,
        strict_failure: vector.strict_failure, of: vector,
      });
  }
});

test("the boundary of a pass rate is exact", () => {
  expect([reaches(0.056, 7, 125), reaches(0.056, 6, 125), reaches(1e-7, 1, 10_000_000), reaches(1e-7, 1, 10_000_001), reaches(1, 3, 3)])
    .toEqual([true, false, true, false, true]);
});

test("a run has one word", () => {
  expect([runWord("finished", 0), runWord("finished", 1), runWord("stopped", 130), runWord("died", null)]).toEqual(["passed", "failed", "stopped", "died"]);
  expect([endOf({ state: "finished", exit_code: 0 }), endOf({ exit_code: 130 }), endOf({ exit_code: 2, example_count: 0 }), endOf({ state: "new" })])
    .toEqual(["finished", "stopped", "nothing_found", "did_not_load"]);
  expect([isLive("loading"), isLive("running"), isLive("died")]).toEqual([true, true, false]);
});
