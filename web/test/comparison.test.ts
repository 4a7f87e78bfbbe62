import { expect, test } from "vitest";

import { codePieces, countsSentence, daysSentence, gapsSentence, pointsOf, usageNote, verdictSentence } from "../src/model/comparison";
import type { Comparison, SuiteChange, UsageChange, Verdict } from "../src/model/types";

const SUITE: SuiteChange = {
  verdict: "no_change_seen", test: "stratified", paired: 6, deterministic: 2, worse: 0, better: 0, p_worse: 1, p_better: 1, rate_before: 1, rate_after: 1,
  change: { estimate: 0, range: { low: -0.1, high: 0.1 } }, earlier_runs: null, runs_vary: false, repeats_to_tell: null, k: 1, pass_hat_k_before: 1, pass_hat_k_after: 1,
};
const SIDE = { label: "last", run_id: "r", started_at: null, commit: null, complete: true, errors: 0, examples: 6 };

function comparison(verdict: Verdict, changes: { suite?: Partial<SuiteChange>; counts?: Partial<Comparison["counts"]>; margin?: number } = {}): Comparison {
  return {
    v: 2, before: SIDE, after: SIDE, config_changed: null, verdict, gate: { decision: "pass", exit_code: 0, reasons: [] },
    rules: { level_suite: 0.025, level_examples: 0.015, level_better: 0.005, level_criteria: 0.01, margin: changes.margin ?? null },
    suite: { ...SUITE, ...changes.suite },
    counts: { paired: 6, regressions: 0, improvements: 0, no_change_seen: 6, cannot_tell: 0, perhaps_worse: 0, missing_after: 0, missing_before: 0, moved: 0, ...changes.counts },
    examples: [], gaps: [], criteria: [], duration: null, cost: null,
  };
}

test("no change that was seen is not called unchanged, and only a margin is shown", () => {
  expect(verdictSentence(comparison("no_change_seen"))).toBe("The results are the same.");
  expect(verdictSentence(comparison("unchanged", { suite: { verdict: "unchanged" }, margin: 0.05 }))).toBe("It is shown not to be worse by more than 5 points.");
  expect(verdictSentence(comparison("cannot_tell", { suite: { verdict: "cannot_tell" }, margin: 0.05 }))).toBe("«Not worse by more than 5 points» is not shown.");
  expect(verdictSentence(comparison("cannot_tell", { suite: { verdict: "cannot_tell" } }))).toBe("It may have got worse, or it is chance.");
  expect(verdictSentence(comparison("not_comparable"))).toBe("The two cannot be compared.");
});

test("a change that only the suite shows is said to be one", () => {
  expect(verdictSentence(comparison("regression", { suite: { verdict: "regression" } }))).toMatch(/no single example/);
  expect(verdictSentence(comparison("regression", { suite: { verdict: "regression" }, counts: { regressions: 1 } }))).toBe("It got worse.");
  // Errors outside examples are a regression that neither shows.
  expect(verdictSentence(comparison("regression"))).toBe("It got worse.");
});

test("days: unknown, allowed for, or no more than chance; none without a model", () => {
  expect(daysSentence(SUITE)).toMatch(/^Fewer than three earlier runs/);
  expect(daysSentence({ ...SUITE, earlier_runs: 4, runs_vary: true })).toBe("4 earlier runs differ by more than chance; that is allowed for.");
  expect(daysSentence({ ...SUITE, earlier_runs: 4 })).toBe("4 earlier runs differ by no more than chance.");
  expect(daysSentence({ ...SUITE, deterministic: 6 })).toBe(null);
});

test("a factor is held against what runs vary by", () => {
  const usage: UsageChange = { examples: 3, rated: 3, before: 1, after: 2, ratio: 2, ratio_range: null, clear: null };
  expect(usageNote(usage)).toMatch(/^not known how much runs vary/);
  expect(usageNote({ ...usage, clear: false })).toBe("within what runs vary by");
  expect(usageNote({ ...usage, clear: true })).toBe("more than runs vary by");
  expect(usageNote({ ...usage, ratio: null, rated: 0 })).toBe(null);
});

test("counts and points in words", () => {
  expect(countsSentence(comparison("cannot_tell", { counts: { cannot_tell: 2, perhaps_worse: 1, no_change_seen: 3, regressions: 1, moved: 1 } })))
    .toBe("6 examples on both sides: 1 regression, 0 improvements, 2 cannot be told (1 of them passes less often), 3 without a change; 1 moved to another file.");
  expect([pointsOf(0.05), pointsOf(0.01), pointsOf(0.125)]).toEqual(["5 points", "1 point", "12.5 points"]);
});

test("gaps stop a gate, unless nothing can be compared anyway", () => {
  expect(gapsSentence(comparison("regression", { counts: { missing_after: 2, missing_before: 1 } }))).toBe("2 without a result after, 1 without a result before; they stop a gate.");
  expect(gapsSentence({ ...comparison("not_comparable", { counts: { missing_after: 2 } }), not_comparable: "no example" })).toBe("2 without a result after.");
  expect(gapsSentence(comparison("no_change_seen"))).toBe("");
});

test("code in a sentence; a stray mark is text", () => {
  expect(codePieces("run `proctor run` twice")).toEqual(["run ", "proctor run", " twice"]);
  expect(codePieces("criterion `a`b` got worse")).toEqual(["criterion ", "a", "b` got worse"]);
  expect(codePieces("`")).toEqual(["`"]);
});
