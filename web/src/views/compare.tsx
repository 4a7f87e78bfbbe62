// A tested verdict on a change: the same comparison that the terminal prints.

import { isLive } from "../model/verdict";
import { useMemo, useState } from "preact/hooks";

import { ago, duration, money, percent, points, pValue, shortId, turnName, when, word } from "../format";
import { diffWords, type Piece } from "../model/diff";
import { talksOf, type Talk, type Turn } from "../model/talk";
import type { Change, Comparison, CriterionChange, Event, ExampleChange, RunListing, SideInfo, UsageChange, Verdict } from "../model/types";
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
  const ready = before !== "" && after !== "";
  const { value, problem, loading } = useLoaded(() => (ready ? source.value.compare(before, after) : Promise.resolve(null)), [before, after]);
  const set = (side: "before" | "after", id: string) => go(link(["compare"], { before, after, [side]: id }));
  if (choices.problem) return <section class="page"><Trouble message={choices.problem} /></section>;
  return (
    <section class="page compare">
      <div class="bar">
        <h1>Compare</h1>
        <Side label="before" value={before} runs={runs} baselines={choices.value?.baselines ?? []} set={(id) => set("before", id)} />
        <button type="button" class="ghost" title="Swap" aria-label="Swap the sides" onClick={() => go(link(["compare"], { before: after, after: before }))}>⇄</button>
        <Side label="after" value={after} runs={runs} baselines={choices.value?.baselines ?? []} set={(id) => set("after", id)} />
      </div>
      {problem && <Trouble message={problem} />}
      {!ready && !choices.loading && <Empty>Two finished runs are needed; there {runs.length === 1 ? "is one" : "are none"}. <code>proctor run</code> makes them.</Empty>}
      {value ? <Verdicts comparison={value} before={before} after={after} /> : ready && loading && <p class="empty" aria-busy="true">Comparing…</p>}
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

const SENTENCES: Record<Verdict, string> = {
  regression: "It got worse.",
  improvement: "It got better.",
  unchanged: "Nothing changed, as far as the data can show.",
  too_little_data: "Too little data to tell.",
};

const KINDS: Record<Verdict, string> = { regression: "failed", improvement: "passed", unchanged: "not_run", too_little_data: "pending" };

function VerdictBadge({ verdict }: { verdict: Verdict }) {
  const sign = { regression: "▼", improvement: "▲", unchanged: "=", too_little_data: "?" }[verdict];
  return <span class={`badge s-${KINDS[verdict]}`}><span aria-hidden="true">{sign}</span> {word(verdict)}</span>;
}

function Verdicts({ comparison, before, after }: { comparison: Comparison; before: string; after: string }) {
  const { counts, suite } = comparison;
  const selected = route.value.query.get("example");
  const [only, setOnly] = useState<Verdict | null>(null);
  const shown = comparison.examples.filter((example) => only === null || example.verdict === only);
  const place = shown.findIndex((example) => example.id === selected);
  const open = (id: string | null) => go(link(["compare"], { before, after, example: id }), true);
  useActions((action: Action) => {
    if (action === "next" && shown[place + 1]) open(shown[place + 1]!.id);
    else if (action === "previous" && shown[place - 1]) open(shown[place - 1]!.id);
    else if (action === "back" && selected) open(null);
    else return false;
    return true;
  });
  const example = comparison.examples.find((one) => one.id === selected);
  const chips: [Verdict, number][] = [["regression", counts.regressions], ["improvement", counts.improvements], ["too_little_data", counts.too_little_data], ["unchanged", counts.unchanged]];
  return (
    <>
      {comparison.config_changed && <p class="notice">The two ran with different configurations: differences may come from there.</p>}
      <section class={`verdict v-${comparison.verdict}`} aria-label="Verdict">
        <p class="big"><VerdictBadge verdict={comparison.verdict} /> {SENTENCES[comparison.verdict]}{counts.regressions + counts.improvements === 0 && suite.verdict === comparison.verdict && comparison.verdict !== "unchanged" && comparison.verdict !== "too_little_data" && " No single example proves it; the suite as a whole does."}</p>
        <p>
          {counts.paired} examples on both sides: {counts.regressions} worse, {counts.improvements} better, {counts.unchanged} unchanged, {counts.too_little_data} too little data.
          {" "}Suite: {percent(suite.rate_before)} → {percent(suite.rate_after)}
          {suite.change && <> (<Difference change={suite.change} />)</>}; {suite.worse} pass less often, {suite.better} more often, McNemar {pValue(suite.p)}.
          {suite.k > 1 && <> pass^{suite.k}: {percent(suite.pass_hat_k_before)} → {percent(suite.pass_hat_k_after)}.</>}
        </p>
        <p class="usage">
          <Usage name="Duration" usage={comparison.duration} show={duration} />
          <Usage name="Cost" usage={comparison.cost} show={money} />
          {(counts.missing_after > 0 || counts.missing_before > 0) && <span class="s-pending">Coverage gaps, not counted: {counts.missing_after} without result after, {counts.missing_before} without result before.</span>}
          {counts.moved > 0 && <span>{counts.moved} moved to another file.</span>}
        </p>
        <SideNote name="before" side={comparison.before} /><SideNote name="after" side={comparison.after} />
      </section>
      {comparison.criteria.length > 0 && <CriteriaTable criteria={comparison.criteria} />}
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
      {example && <SideBySide change={example} comparison={comparison} />}
      {comparison.gaps.length > 0 && <Gaps comparison={comparison} />}
    </>
  );
}

function SideNote({ name, side }: { name: string; side: SideInfo }) {
  return (
    <p class="dim meta">{name}: {side.label.startsWith("baseline") ? <b>{side.label} </b> : null}
      {side.run_id && <a href={link(["run", side.run_id])} class="mono">{shortId(side.run_id)}</a>} · {when(side.started_at)}{side.commit && <> · <span class="mono">{side.commit.slice(0, 8)}</span></>} · {side.examples} examples
      {!side.complete && <span class="s-failed"> · did not finish</span>}{side.errors > 0 && <span class="s-failed"> · {side.errors} errors outside examples</span>}
    </p>
  );
}

function Difference({ change }: { change: Change }) {
  return <span class="num">{points(change.estimate)}{change.range && <span class="dim"> [{points(change.range.low)}, {points(change.range.high)}]</span>}</span>;
}

function Usage({ name, usage, show }: { name: string; usage: UsageChange | null; show: (value: number) => string }) {
  if (!usage) return null;
  const factor = `×${usage.ratio.toFixed(2)}`;
  return <span title={`over ${usage.examples} examples${usage.ratio_range ? `, 95 % interval ×${usage.ratio_range.low.toFixed(2)} to ×${usage.ratio_range.high.toFixed(2)}` : ""}`}>{name}: {show(usage.before)} → {show(usage.after)} <b class={usage.significant ? (usage.ratio > 1 ? "s-failed" : "s-passed") : undefined}>{factor}</b>{!usage.significant && <span class="dim"> not significant</span>}. </span>;
}

function CriteriaTable({ criteria }: { criteria: CriterionChange[] }) {
  return (
    <section>
      <h2>Quality by criterion</h2>
      <div class="table-box"><table>
        <thead><tr><th>Criterion</th><th>Verdict</th><th>Before</th><th>After</th><th>Change, 95 % interval</th><th class="r">Score</th><th class="r">p, adjusted</th></tr></thead>
        <tbody>{criteria.map((one) => (
          <tr key={one.name}>
            <td>{one.name}</td><td><VerdictBadge verdict={one.verdict} /></td><td><Rate tally={one.before} /></td><td><Rate tally={one.after} /></td>
            <td><Difference change={one.change} /></td>
            <td class="r num">{one.score_before !== null && one.score_after !== null ? `${one.score_before.toFixed(2)} → ${one.score_after.toFixed(2)}` : ""}</td>
            <td class="r num">{one.p_adjusted.toFixed(3)}</td>
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
      <p class="dim">Examples that only one side can say something about. They count for nothing.</p>
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
      <p>{change.why} {change.p_adjusted !== null && <span class="dim">{pValue(change.p)}, adjusted {change.p_adjusted.toFixed(3)}. </span>}{change.repeats_to_tell !== null && <span class="dim">Rates like these can be told apart with {change.repeats_to_tell} repeats a side: <code>proctor run --repeat {change.repeats_to_tell} --stable-id {change.id}</code></span>}</p>
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
  const worse = change.change.estimate <= 0;
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
