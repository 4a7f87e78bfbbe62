// The verdict of a comparison, what a gate decides, and the numbers both rest on.

import { duration, money, percent, plural, pValue, shortId, when, word } from "../../format";
import { codePieces, countsSentence, daysSentence, DECISION_SIGNS, DECISION_STATUS, gapsSentence, TEST_NAMES, usageNote, verdictSentence } from "../../model/comparison";
import type { Change, Comparison, Gate, Range, SideInfo, UsageChange } from "../../model/types";
import { link } from "../../router";
import { Difference, VerdictBadge } from "./parts";

export function VerdictBox({ comparison }: { comparison: Comparison }) {
  const { counts, suite } = comparison;
  const days = daysSentence(suite);
  return (
    <section class={`verdict v-${comparison.verdict}`} aria-label="Verdict">
      <p class="big"><VerdictBadge verdict={comparison.verdict} /> {verdictSentence(comparison)}</p>
      <GateDecision gate={comparison.gate} />
      <dl class="findings">
        {suite.change && <><dt>Suite</dt><dd><SuiteLine comparison={comparison} change={suite.change} /></dd></>}
        {counts.paired > 0 && days && <><dt>Days</dt><dd>{days}</dd></>}
        {counts.paired > 0 && <><dt>Examples</dt><dd>{countsSentence(comparison)}</dd></>}
        {(counts.missing_after > 0 || counts.missing_before > 0) && <><dt>Gaps</dt><dd class="s-pending">{gapsSentence(comparison)}</dd></>}
        {comparison.duration && <><dt>Duration</dt><dd><Usage usage={comparison.duration} show={duration} /></dd></>}
        {comparison.cost && <><dt>Cost</dt><dd><Usage usage={comparison.cost} show={money} /></dd></>}
        <dt>Before</dt><dd><SideNote side={comparison.before} /></dd>
        <dt>After</dt><dd><SideNote side={comparison.after} /></dd>
      </dl>
    </section>
  );
}

function GateDecision({ gate }: { gate: Gate }) {
  return (
    <div class="gate" title="As proctor compare --gate decides without further options">
      <b>Gate:</b> <span class={`badge s-${DECISION_STATUS[gate.decision]}`}><span aria-hidden="true">{DECISION_SIGNS[gate.decision]}</span> {word(gate.decision)}</span> <span class="dim">(exit code {gate.exit_code})</span>
      <ul>{gate.reasons.map((reason) => <li>{codePieces(reason).map((piece, place) => (place % 2 === 1 ? <code>{piece}</code> : piece))}</li>)}</ul>
    </div>
  );
}

function SuiteLine({ comparison, change }: { comparison: Comparison; change: Change }) {
  const { suite, gate, rules } = comparison;
  // A gate that cannot tell has said so already.
  const repeats = gate.decision === "cannot_tell" ? null : suite.repeats_to_tell;
  return (
    <>
      {suite.rate_before !== null && suite.rate_after !== null && <SuiteChart before={suite.rate_before} after={suite.rate_after} range={change.range} margin={rules.margin} />}
      <VerdictBadge verdict={suite.verdict} /> {percent(suite.rate_before)} → {percent(suite.rate_after)}, <Difference change={change} />
      <br />{plural(suite.worse, "example passes", "examples pass")} less often, {suite.better.toLocaleString("en")} more often. <span class="dim">{TEST_NAMES[suite.test]}: worse {pValue(suite.p_worse)}, better {pValue(suite.p_better)}.</span>
      {suite.k > 1 && <> pass^{suite.k}: {percent(suite.pass_hat_k_before)} → {percent(suite.pass_hat_k_after)}.</>}
      {repeats !== null && <> About {repeats} repeats of every example a side would tell (80 % power).</>}
    </>
  );
}

/** The suite's rate on both sides on one scale, and the interval in which the rate after may be; a dashed line where the margin is. */
function SuiteChart({ before, after, range, margin }: { before: number; after: number; range: Range | null; margin: number | null }) {
  const [width, height, left, right] = [460, 84, 52, 26];
  const clamp = (share: number) => Math.min(1, Math.max(0, share));
  const x = (share: number) => left + clamp(share) * (width - left - right);
  const text = `The rate of the suite was ${percent(before)} and is ${percent(after)}${range ? `, with 95 % certainty between ${percent(clamp(before + range.low))} and ${percent(clamp(before + range.high))}` : ""}`;
  return (
    <svg class="suite-chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={text}>
      <title>{text}</title>
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <g key={share}><line class="axis" x1={x(share)} x2={x(share)} y1="8" y2="62" /><text x={x(share)} y="78" text-anchor="middle">{share * 100} %</text></g>
      ))}
      <text x={left - 8} y="26" text-anchor="end">before</text><text x={left - 8} y="50" text-anchor="end">after</text>
      <line class="zero" x1={x(before)} x2={x(before)} y1="8" y2="62" />
      {margin !== null && <line class="bound" x1={x(before - margin)} x2={x(before - margin)} y1="8" y2="62" />}
      <circle class="point before" cx={x(before)} cy="22" r="5" />
      {range && <rect class="interval" x={x(before + range.low)} width={Math.max(1, x(before + range.high) - x(before + range.low))} y="41" height="10" rx="3" />}
      <circle class={`point ${after < before ? "bad" : after > before ? "good" : ""}`} cx={x(after)} cy="46" r="5" />
    </svg>
  );
}

function SideNote({ side }: { side: SideInfo }) {
  return (
    <>
      {side.label.startsWith("baseline") && <b>{side.label} </b>}
      {side.run_id && <a href={link(["run", side.run_id])}>{when(side.started_at) || shortId(side.run_id)}</a>}{side.run_id && <> · <span class="mono">{shortId(side.run_id)}</span></>}{side.commit && <> · <span class="mono">{side.commit.slice(0, 8)}</span></>} · {plural(side.examples, "example")}
      {!side.complete && <span class="s-failed"> · did not finish</span>}{side.errors > 0 && <span class="s-failed"> · {plural(side.errors, "error")} outside examples</span>}
    </>
  );
}

function Usage({ usage, show }: { usage: UsageChange; show: (value: number) => string }) {
  const { ratio, ratio_range: range } = usage;
  const colour = usage.clear && ratio !== null ? (ratio > 1 ? "s-failed" : "s-passed") : undefined;
  return (
    <span title={`sums over ${usage.examples} examples; ${usage.rated} of them have a factor`}>
      {show(usage.before)} → {show(usage.after)}{ratio !== null && <>, typically <b class={colour}>×{ratio.toFixed(2)}</b></>}
      {range && <span class="dim num"> [×{range.low.toFixed(2)}, ×{range.high.toFixed(2)}]</span>}{ratio !== null && <span class="dim">; {usageNote(usage)}</span>}
    </span>
  );
}
