// A tested verdict on a change: the same comparison that the terminal prints.

import { isLive } from "../model/verdict";
import { useMemo, useState } from "preact/hooks";

import { ago, duration, money, percent, points, pValue, shortId, turnName, when, word } from "../format";
import { codePieces, countsSentence, daysSentence, DECISION_SIGNS, DECISION_STATUS, gapsSentence, TEST_NAMES, usageNote, VERDICT_SIGNS, VERDICT_STATUS, verdictSentence } from "../model/comparison";
import { diffWords, type Piece } from "../model/diff";
import { talksOf, type Talk, type Turn } from "../model/talk";
import type { Change, Comparison, CriterionChange, Event, ExampleChange, Gate, Range, RunListing, SideInfo, UsageChange, Verdict } from "../model/types";
import { go, link, route } from "../router";
import { source } from "../state";
import { type Action, useActions } from "../ui/keys";
import { Badge, Empty, Rate, Trouble, useLoaded } from "../ui/parts";
import { VirtualList } from "../ui/virtual";

export function ComparePage() {
  const query = route.value.query;
  const choices = useLoaded(async () => {
    const [{ runs }, baselines] = await Promise.all([source.value.runs(), source.value.baselines()]);
    return { runs, baselines };
  }, []);
  const runs = choices.value?.runs.filter((run) => !isLive(run.state)) ?? [];
  const after = query.get("after") || runs[0]?.id || "";
  const place = runs.findIndex((run) => run.id === after);
  const before = query.get("before") || (choices.value?.baselines.includes("default") ? "baseline" : "") || runs[place + 1]?.id || "";
  const margin = query.get("margin") ?? "";
  const ready = before !== "" && after !== "";
  const { value, problem, loading } = useLoaded(() => (ready ? source.value.compare(before, after, margin) : Promise.resolve(null)), [before, after, margin]);
  const set = (changes: Record<string, string>) => go(link(["compare"], { before, after, margin, ...changes }));
  if (choices.problem) return <section class="page"><Trouble message={choices.problem} /></section>;
  return (
    <section class="page compare">
      <div class="bar">
        <h1>Compare</h1>
        <Side label="before" value={before} runs={runs} baselines={choices.value?.baselines ?? []} set={(id) => set({ before: id })} />
        <button type="button" class="ghost" title="Swap" aria-label="Swap the sides" onClick={() => set({ before: after, after: before })}>⇄</button>
        <Side label="after" value={after} runs={runs} baselines={choices.value?.baselines ?? []} set={(id) => set({ after: id })} />
        <MarginInput key={margin} margin={margin} set={(points) => set({ margin: points, example: query.get("example") ?? "" })} />
      </div>
      {problem && <Trouble message={problem} />}
      {!ready && !choices.loading && <Empty>Two finished runs are needed; there {runs.length === 1 ? "is one" : "are none"}. <code>proctor run</code> makes them.</Empty>}
      {value ? <Verdicts comparison={value} open={(id) => go(link(["compare"], { before, after, margin, example: id }), true)} /> : ready && loading && <p class="empty" aria-busy="true">Comparing…</p>}
    </section>
  );
}

function Side({ label, value, runs, baselines, set }: { label: string; value: string; runs: RunListing[]; baselines: string[]; set: (id: string) => void }) {
  const known = runs.some((run) => run.id === value) || value.startsWith("baseline");
  return (
    <label class="side">{label}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {!known && value && <option value={value}>{value}</option>}
        {baselines.map((name) => { const id = name === "default" ? "baseline" : `baseline:${name}`; return <option value={id}>{id}</option>; })}
        {runs.map((run) => <option value={run.id}>{ago(run.started_at)} · {shortId(run.id)} · {run.exit_code === 0 ? "✓" : "✗"}{run.tags.length ? ` · ${run.tags.join(", ")}` : ""}{run.commit ? ` · ${run.commit.slice(0, 7)}` : ""}</option>)}
      </select>
    </label>
  );
}

function MarginInput({ margin, set }: { margin: string; set: (points: string) => void }) {
  return (
    <label class="side margin" title="Demand that «not worse by more than this» is shown for the suite, as proctor compare --margin does">margin
      <input type="number" min="0" max="100" step="any" placeholder="none" aria-label="Margin in points" defaultValue={margin}
        onChange={(event) => { if (!event.currentTarget.validity.badInput) set(event.currentTarget.value); }} />
      points
    </label>
  );
}

function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return <span class={`badge s-${VERDICT_STATUS[verdict]}`}><span aria-hidden="true">{VERDICT_SIGNS[verdict]}</span> {word(verdict)}</span>;
}

function Verdicts({ comparison, open }: { comparison: Comparison; open: (id: string | null) => void }) {
  const { counts } = comparison;
  const selected = route.value.query.get("example");
  const [only, setOnly] = useState<Verdict | null>(null);
  const shown = comparison.examples.filter((example) => only === null || example.verdict === only);
  const place = shown.findIndex((example) => example.id === selected);
  useActions((action: Action) => {
    if (action === "next" && shown[place + 1]) open(shown[place + 1]!.id);
    else if (action === "previous" && shown[place - 1]) open(shown[place - 1]!.id);
    else if (action === "back" && selected) open(null);
    else return false;
    return true;
  });
  const example = comparison.examples.find((one) => one.id === selected);
  const chips: [Verdict, number][] = [["regression", counts.regressions], ["cannot_tell", counts.cannot_tell], ["improvement", counts.improvements], ["no_change_seen", counts.no_change_seen]];
  return (
    <>
      {comparison.config_changed && <p class="notice">The two ran with different configurations: differences may come from there.</p>}
      <VerdictBox comparison={comparison} />
      {comparison.criteria.length > 0 && <CriteriaTable criteria={comparison.criteria} />}
      {counts.paired > 0 && (
        <>
          <div class="bar">
            <h2>Examples</h2>
            <div class="chips" role="group" aria-label="Filter by verdict">
              <button type="button" aria-pressed={only === null} onClick={() => setOnly(null)}>all {counts.paired}</button>
              {chips.map(([verdict, count]) => <button type="button" aria-pressed={only === verdict} onClick={() => setOnly(verdict)}>{word(verdict)} {count}</button>)}
            </div>
          </div>
          <div class="cmp-head cmp-row" aria-hidden="true"><span>Verdict</span><span>Example</span><span>Before</span><span>After</span><span>Change</span><span>Why</span></div>
          <VirtualList items={shown} height={38} focus={place} label="Compared examples" keyOf={(one) => one.id} class={shown.length > 12 ? "cmp-list" : "cmp-list short"}
            render={(one) => <ChangeLine change={one} selected={one.id === selected} toggle={() => open(one.id === selected ? null : one.id)} />} />
        </>
      )}
      {example && <SideBySide change={example} comparison={comparison} />}
      {comparison.gaps.length > 0 && <Gaps comparison={comparison} />}
    </>
  );
}

/** The verdict, what a gate decides, and the numbers both rest on. */
function VerdictBox({ comparison }: { comparison: Comparison }) {
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
      <VerdictBadge verdict={suite.verdict} /> {percent(suite.rate_before)} → {percent(suite.rate_after)}, <Difference change={change} /> {change.range && <Interval change={change} range={change.range} margin={rules.margin} />}
      <br />{suite.worse} pass less often, {suite.better} more often. <span class="dim">{TEST_NAMES[suite.test]}: worse {pValue(suite.p_worse)}, better {pValue(suite.p_better)}.</span>
      {suite.k > 1 && <> pass^{suite.k}: {percent(suite.pass_hat_k_before)} → {percent(suite.pass_hat_k_after)}.</>}
      {repeats !== null && <> About {repeats} repeats of every example a side would tell (80 % power).</>}
    </>
  );
}

/** A difference with its interval, drawn around “no change”; a dashed line where the margin is. */
function Interval({ change, range, margin }: { change: Change; range: Range; margin: number | null }) {
  const reach = Math.max(Math.abs(range.low), Math.abs(range.high), margin ?? 0, 0.01) * 1.1;
  const x = (share: number) => 60 + (share / reach) * 60;
  return (
    <svg class="rate change" viewBox="0 0 120 12" width="120" height="12" aria-hidden="true">
      <line class="axis" x1="0" x2="120" y1="6" y2="6" />
      <rect class="interval" x={x(range.low)} width={Math.max(1, x(range.high) - x(range.low))} y="3" height="6" rx="2" />
      <line class="zero" x1="60" x2="60" y1="0" y2="12" />
      {margin !== null && <line class="bound" x1={x(-margin)} x2={x(-margin)} y1="0" y2="12" />}
      <rect class="point" x={x(change.estimate) - 1.5} width="3" y="1" height="10" />
    </svg>
  );
}

function SideNote({ side }: { side: SideInfo }) {
  return (
    <>
      {side.label.startsWith("baseline") && <b>{side.label} </b>}
      {side.run_id && <a href={link(["run", side.run_id])} class="mono">{shortId(side.run_id)}</a>} · {when(side.started_at)}{side.commit && <> · <span class="mono">{side.commit.slice(0, 8)}</span></>} · {side.examples} {side.examples === 1 ? "example" : "examples"}
      {!side.complete && <span class="s-failed"> · did not finish</span>}{side.errors > 0 && <span class="s-failed"> · {side.errors} {side.errors === 1 ? "error" : "errors"} outside examples</span>}
    </>
  );
}

function Difference({ change }: { change: Change }) {
  return <span class="num">{points(change.estimate)}{change.range && <span class="dim"> [{points(change.range.low)}, {points(change.range.high)}]</span>}</span>;
}

/** Scores have their own scale: no points. */
function ScoreDifference({ change }: { change: Change }) {
  const signed = (score: number) => `${score < -0.005 ? "−" : score >= 0.005 ? "+" : "±"}${Math.abs(score).toFixed(2)}`;
  return <span class="num">{signed(change.estimate)}{change.range && <span class="dim"> [{signed(change.range.low)}, {signed(change.range.high)}]</span>}</span>;
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

const smallP = (p: number) => (p < 0.001 ? "< 0.001" : p.toFixed(3));

function CriteriaTable({ criteria }: { criteria: CriterionChange[] }) {
  return (
    <section>
      <h2>Quality by criterion</h2>
      <div class="table-box"><table>
        <thead><tr><th>Criterion</th><th>Verdict</th><th>Before</th><th>After</th><th>Change, 95 % interval</th><th>Score</th><th class="r">p of worse</th><th class="r">p of better</th></tr></thead>
        <tbody>{criteria.map((one) => (
          <tr key={one.name}>
            <td>{one.name}</td><td><VerdictBadge verdict={one.verdict} /></td><td><Rate tally={one.before} /></td><td><Rate tally={one.after} /></td>
            <td>{one.change && <Difference change={one.change} />}</td>
            <td class="num">{one.score_before !== null && one.score_after !== null && <>{one.score_before.toFixed(2)} → {one.score_after.toFixed(2)}</>}{one.score_change && <>, <ScoreDifference change={one.score_change} /></>}</td>
            <td class="r num" title={`${one.p_worse.toFixed(3)} before the adjustment for ${criteria.length} criteria`}>{smallP(one.p_worse_adjusted)}</td>
            <td class="r num" title={`${one.p_better.toFixed(3)} before the adjustment for ${criteria.length} criteria`}>{smallP(one.p_better_adjusted)}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </section>
  );
}

function ChangeLine({ change, selected, toggle }: { change: ExampleChange; selected: boolean; toggle: () => void }) {
  return (
    <button type="button" class={`cmp-row ${selected ? "now" : ""}`} aria-expanded={selected} onClick={toggle}>
      <span><VerdictBadge verdict={change.verdict} /></span>
      <span class="text" title={`${change.title}\n${change.file ?? ""}`}><Title text={change.title} />{change.moved_from && <span class="tag" title={`from ${change.moved_from}`}>moved</span>}</span>
      <span><Rate tally={change.before} /></span><span><Rate tally={change.after} /></span>
      <span><Difference change={{ ...change.change, range: null }} /></span>
      <span class="text dim" title={change.why}>{change.why}</span>
    </button>
  );
}

/** The example's own words first: its context is what gets cut off. */
export function Title({ text }: { text: string }) {
  const parts = text.split(" > ");
  return <>{parts.at(-1)} {parts.length > 1 && <span class="dim">{parts.slice(0, -1).join(" › ")}</span>}</>;
}

function Gaps({ comparison }: { comparison: Comparison }) {
  return (
    <section>
      <h2>Coverage gaps</h2>
      <p class="dim">Examples without a result on one side. They change no rate.{comparison.not_comparable === undefined && <> They stop a gate; <code>proctor compare --gate --allow-gaps</code> lets them pass.</>}</p>
      <div class="table-box"><table>
        <thead><tr><th>Example</th><th>No result</th><th>Why</th></tr></thead>
        <tbody>{comparison.gaps.slice(0, 500).map((gap) => <tr key={gap.id + String(gap.missing_after)}><td title={gap.file ?? ""}>{gap.title}</td><td>{gap.missing_after ? "after" : "before"}</td><td>{word(gap.reason)}</td></tr>)}</tbody>
      </table></div>
      {comparison.gaps.length > 500 && <p class="dim">and {comparison.gaps.length - 500} more</p>}
    </section>
  );
}

async function talksIn(run: string | null, id: string): Promise<Talk[]> {
  if (!run) return [];
  const feed = await source.value.open(run, () => {});
  try {
    return talksOf((await feed.exampleEvents(id)) as Event[]);
  } finally {
    feed.close();
  }
}

function SideBySide({ change, comparison }: { change: ExampleChange; comparison: Comparison }) {
  const { value, problem } = useLoaded(
    () => Promise.all([talksIn(comparison.before.run_id, change.id_before ?? change.id), talksIn(comparison.after.run_id, change.id)]),
    [change.id, comparison],
  );
  const [chosen, setPlaces] = useState<[number, number] | null>(null);
  if (problem) return <Trouble message={`the conversations cannot be shown: ${problem}`} />;
  if (!value) return <p class="empty" aria-busy="true">Reading both conversations…</p>;
  const [left, right] = value;
  const places = chosen ?? telling(left, right, change);
  const [a, b] = [left[Math.min(places[0], left.length - 1)], right[Math.min(places[1], right.length - 1)]];
  const picker = (talks: Talk[], side: 0 | 1) => talks.length > 1 && (
    <select aria-label={`attempt ${side === 0 ? "before" : "after"}`} value={places[side]} onChange={(event) => setPlaces(side === 0 ? [Number(event.currentTarget.value), places[1]] : [places[0], Number(event.currentTarget.value)])}>
      {talks.map((talk, place) => <option value={place}>{`repeat ${talk.repeat}, attempt ${talk.attempt}: ${word(talk.status ?? "running")}`}</option>)}
    </select>
  );
  return (
    <section class="both" aria-label="Both conversations">
      <h2>{change.title}</h2>
      <p>{change.why}. Change: <Difference change={change.change} />{change.repeats_to_tell !== null && <>. More attempts: <code>proctor run --repeat {change.repeats_to_tell} --stable-id {change.id}</code></>}</p>
      <div class="two-head">
        <div><b>before</b> {a && <Badge status={a.status ?? "running"} />} {duration(change.duration_before_ms)} {change.cost_before_usd ? money(change.cost_before_usd) : ""} {picker(left, 0)} {comparison.before.run_id && <a href={link(["run", comparison.before.run_id, "example", change.id_before ?? change.id])}>open</a>}</div>
        <div><b>after</b> {b && <Badge status={b.status ?? "running"} />} {duration(change.duration_after_ms)} {change.cost_after_usd ? money(change.cost_after_usd) : ""} {picker(right, 1)} {comparison.after.run_id && <a href={link(["run", comparison.after.run_id, "example", change.id])}>open</a>}</div>
      </div>
      {a && b ? <Diff a={a} b={b} /> : <p class="empty">{comparison.before.run_id && comparison.after.run_id ? "One side has no record of what was said." : "A baseline keeps results, not conversations."}</p>}
    </section>
  );
}

/** The attempts that show the change: a pass beside a failure where there is one. */
function telling(left: Talk[], right: Talk[], change: ExampleChange): [number, number] {
  const worse = change.direction !== "better";
  const find = (talks: Talk[], passed: boolean) => Math.max(0, talks.findIndex((talk) => (talk.status === "passed") === passed));
  return [find(left, worse), find(right, !worse)];
}

interface Text { kind: string; text: string }

/** A turn as texts that can be set side by side. */
function textsOf(turn: Turn | undefined): Text[] {
  if (!turn) return [];
  const steps = turn.steps.map((step): Text => {
    switch (step.kind) {
      case "user": return { kind: "user", text: step.said.text };
      case "agent": return { kind: "agent", text: step.said.text };
      case "tool": return { kind: "tool", text: `${step.call.name} ${JSON.stringify(step.call.arguments ?? {})}${step.call.error ? ` ✗ ${step.call.error}` : step.call.result === undefined ? "" : ` → ${typeof step.call.result === "string" ? step.call.result : JSON.stringify(step.call.result)}`}` };
      case "topic": return { kind: "topic", text: step.to };
      case "trouble": return { kind: "trouble", text: `${step.trouble.whose}: ${step.trouble.message}` };
    }
  });
  const checks = turn.evaluations.map((check): Text => ({ kind: "check", text: `${check.passed === null ? "?" : check.passed ? "✓" : "✗"} ${check.name}${check.reasoning ? ` — ${check.reasoning}` : ""}` }));
  return [...steps, ...checks];
}

function Diff({ a, b }: { a: Talk; b: Talk }) {
  const rows = useMemo(() => {
    const whole = (talk: Talk): Turn => ({ number: Infinity, topic: null, steps: talk.exception ? [{ kind: "trouble", trouble: { seq: 0, whose: talk.exception.class ?? "failure", turn: null, class: null, message: talk.exception.message, operation: null } }] : [], evaluations: talk.evaluations });
    const numbers = [...new Set([...a.turns, ...b.turns].map((turn) => turn.number))].sort((x, y) => x - y);
    const turns = numbers.map((number) => [number, a.turns.find((turn) => turn.number === number), b.turns.find((turn) => turn.number === number)] as const);
    return [...turns, [Infinity, whole(a), whole(b)] as const].map(([number, left, right]) => ({ number, pairs: pairUp(textsOf(left), textsOf(right)) }));
  }, [a, b]);
  const first = rows.find((row) => row.pairs.some(([left, right]) => left?.text !== right?.text));
  return (
    <div class="diff">
      <p class="dim">{first ? (first.number === Infinity ? "What was said is the same; the verdict differs." : `First difference: turn ${first.number}.`) : "Word for word the same."}</p>
      {rows.filter((row) => row.pairs.length > 0).map((row) => (
        <div class="diff-turn">
          <div class="turn-head">{row.number === Infinity ? "At the end" : turnName(row.number)}</div>
          {row.pairs.map(([left, right]) => {
            const pieces = diffWords(left?.text ?? "", right?.text ?? "");
            return <div class="two"><DiffCell text={left} pieces={pieces.before} /><DiffCell text={right} pieces={pieces.after} /></div>;
          })}
        </div>
      ))}
    </div>
  );
}

/** Sets texts of the same kind beside each other, in order. */
function pairUp(left: Text[], right: Text[]): [Text | null, Text | null][] {
  const pairs: [Text | null, Text | null][] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [l, r] = [left[i], right[j]];
    if (l && r && l.kind === r.kind) { pairs.push([l, r]); i += 1; j += 1; }
    else if (l && (!r || !right.slice(j).some((one) => one.kind === l.kind))) { pairs.push([l, null]); i += 1; }
    else if (r && (!l || !left.slice(i).some((one) => one.kind === r.kind))) { pairs.push([null, r]); j += 1; }
    else { pairs.push([l ?? null, null]); i += 1; }
  }
  return pairs;
}

function DiffCell({ text, pieces }: { text: Text | null; pieces: Piece[] }) {
  if (!text) return <div class="said none" />;
  return (
    <div class={`said of-${text.kind} ${text.kind === "check" ? "" : text.kind}`}>
      <div class="who">{text.kind[0]!.toUpperCase() + text.kind.slice(1)}</div>
      <div class="text">{pieces.map((piece) => piece.kind === "same" ? piece.text : piece.kind === "gone" ? <del>{piece.text}</del> : <ins>{piece.text}</ins>)}</div>
    </div>
  );
}
