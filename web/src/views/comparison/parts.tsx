// Small pieces that the parts of a comparison share.

import { points, word } from "../../format";
import { VERDICT_SIGNS, VERDICT_STATUS } from "../../model/comparison";
import type { Change, Verdict } from "../../model/types";

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return <span class={`badge s-${VERDICT_STATUS[verdict]}`}><span aria-hidden="true">{VERDICT_SIGNS[verdict]}</span> {word(verdict)}</span>;
}

/** Worse is red, better is green; whether it is more than chance is for the verdict to say. */
function colorOf(estimate: number): string | undefined {
  return estimate <= -0.0005 ? "s-failed" : estimate >= 0.0005 ? "s-passed" : undefined;
}

export function Difference({ change }: { change: Change }) {
  return <span class="num"><b class={colorOf(change.estimate)}>{points(change.estimate)}</b>{change.range && <span class="dim"> [{points(change.range.low)}, {points(change.range.high)}]</span>}</span>;
}

/** Scores have their own scale: no points. */
export function ScoreDifference({ change }: { change: Change }) {
  const signed = (score: number) => `${score < -0.005 ? "−" : score >= 0.005 ? "+" : "±"}${Math.abs(score).toFixed(2)}`;
  return <span class="num">{signed(change.estimate)}{change.range && <span class="dim"> [{signed(change.range.low)}, {signed(change.range.high)}]</span>}</span>;
}
