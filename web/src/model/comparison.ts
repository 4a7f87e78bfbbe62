// What a comparison says in words: the same sentences that the terminal and the Markdown report print.

import type { Comparison, Decision, ExampleChange, SuiteChange, UsageChange, Verdict } from "./types";

export const VERDICT_SIGNS: Record<Verdict, string> = {
  not_comparable: "!", regression: "▼", cannot_tell: "?", improvement: "▲", no_change_seen: "=", unchanged: "=",
};

/** The status whose colour a verdict has. */
export const VERDICT_STATUS: Record<Verdict, string> = {
  not_comparable: "failed", regression: "failed", cannot_tell: "pending", improvement: "passed", no_change_seen: "not_run", unchanged: "not_run",
};

export const DECISION_SIGNS: Record<Decision, string> = { pass: "✓", stop: "✗", not_comparable: "!", cannot_tell: "?" };

/** The status whose colour a decision has. */
export const DECISION_STATUS: Record<Decision, string> = { pass: "passed", stop: "failed", not_comparable: "failed", cannot_tell: "pending" };

export const TEST_NAMES: Record<SuiteChange["test"], string> = { stratified: "exact stratified test", pairs: "e-value of pairs" };

/** `5 points`, from a share. */
export function pointsOf(share: number): string {
  const value = Math.round(share * 1000) / 10;
  return value === 1 ? "1 point" : `${value} points`;
}

/** The verdict as a sentence. `unchanged` alone claims that something was shown. */
export function verdictSentence({ verdict, counts, suite, rules }: Comparison): string {
  const margin = rules.margin === null ? null : pointsOf(rules.margin);
  switch (verdict) {
    case "not_comparable": return "The two cannot be compared.";
    case "regression":
      return counts.regressions === 0 && suite.verdict === "regression" ? "It got worse: the suite as a whole shows it, no single example does." : "It got worse.";
    case "cannot_tell":
      return margin && suite.verdict === "cannot_tell" ? `«Not worse by more than ${margin}» is not shown.` : "It may have got worse, or it is chance.";
    case "improvement":
      return counts.improvements === 0 ? "It got better: the suite as a whole shows it, no single example does." : "It got better.";
    case "no_change_seen": return "The results are the same.";
    case "unchanged": return margin ? `It is shown not to be worse by more than ${margin}.` : "It is shown not to be worse.";
  }
}

/** What is known of good and bad days; `null` where no model takes part. */
export function daysSentence({ paired, deterministic, earlier_runs, runs_vary }: SuiteChange): string | null {
  if (paired === deterministic) return null;
  if (earlier_runs === null) return "Fewer than three earlier runs; a bad day of the model would look like a regression.";
  return `${earlier_runs} earlier runs differ by ${runs_vary ? "more than chance; that is allowed for." : "no more than chance."}`;
}

/** How a factor stands against what runs vary by; `null` where there is no factor. */
export function usageNote({ ratio, clear }: UsageChange): string | null {
  if (ratio === null) return null;
  if (clear === null) return "not known how much runs vary: fewer than three earlier runs";
  return clear ? "more than runs vary by" : "within what runs vary by";
}

/** `6 examples on both sides: 2 regressions, …`. */
export function countsSentence({ counts }: Comparison): string {
  const counted = (count: number, thing: string) => `${count} ${thing}${count === 1 ? "" : "s"}`;
  const perhaps = counts.perhaps_worse > 0 ? ` (${counts.perhaps_worse} of them pass${counts.perhaps_worse === 1 ? "es" : ""} less often)` : "";
  const moved = counts.moved > 0 ? `; ${counts.moved} moved to another file` : "";
  return `${counted(counts.paired, "example")} on both sides: ${counted(counts.regressions, "regression")}, ${counted(counts.improvements, "improvement")}, ${counts.cannot_tell} cannot be told${perhaps}, ${counts.no_change_seen} without a change${moved}.`;
}

/** Examples without a result on one side; empty where there are none. */
export function gapsSentence({ counts, not_comparable }: Comparison): string {
  const sides = [[counts.missing_after, "after"], [counts.missing_before, "before"]] as const;
  const named = sides.filter(([count]) => count > 0).map(([count, side]) => `${count} without a result ${side}`);
  if (named.length === 0) return "";
  return `${named.join(", ")}${not_comparable === undefined ? "; they stop a gate" : ""}.`;
}

/** Splits a sentence at its `code`: every second piece is code. */
export function codePieces(text: string): string[] {
  const pieces = text.split("`");
  if (pieces.length % 2 === 1) return pieces;
  // An odd number of marks: the last one is text.
  return [...pieces.slice(0, -2), `${pieces.at(-2)}\`${pieces.at(-1)}`];
}

/** The examples by verdict, in the order in which they come. */
export function groupsOf(examples: readonly ExampleChange[]): { verdict: Verdict; examples: ExampleChange[] }[] {
  const groups = new Map<Verdict, ExampleChange[]>();
  for (const example of examples) {
    const own = groups.get(example.verdict);
    if (own) own.push(example);
    else groups.set(example.verdict, [example]);
  }
  return [...groups].map(([verdict, own]) => ({ verdict, examples: own }));
}
