// A tested verdict on a change: the same comparison that the terminal prints.

import { isLive, runWord } from "../model/verdict";

import { day, mark, shortId, word } from "../format";
import type { Comparison, RunListing, SideInfo } from "../model/types";
import { go, link, route } from "../router";
import { source } from "../state";
import { type Action, useActions } from "../ui/keys";
import { Empty, Trouble, useLoaded } from "../ui/parts";
import { Criteria } from "./comparison/criteria";
import { Examples } from "./comparison/examples";
import { SideBySide } from "./comparison/side_by_side";
import { VerdictBox } from "./comparison/verdict_box";

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
        <Side label="before" value={before} named={value?.before ?? null} runs={runs} baselines={choices.value?.baselines ?? []} set={(id) => set({ before: id })} />
        <button type="button" class="ghost" title="Swap" aria-label="Swap the sides" onClick={() => set({ before: after, after: before })}>⇄</button>
        <Side label="after" value={after} named={value?.after ?? null} runs={runs} baselines={choices.value?.baselines ?? []} set={(id) => set({ after: id })} />
        <MarginInput key={margin} margin={margin} set={(points) => set({ margin: points, example: query.get("example") ?? "" })} />
      </div>
      {problem && <Trouble message={problem} />}
      {!ready && !choices.loading && <Empty>Two finished runs are needed; there {runs.length === 1 ? "is one" : "are none"}. <code>proctor run</code> makes them.</Empty>}
      {value ? <Verdicts comparison={value} open={(id) => go(link(["compare"], { before, after, margin, example: id }), true)} /> : ready && loading && <p class="empty" aria-busy="true">Comparing…</p>}
    </section>
  );
}

interface SideProps { label: string; value: string; named: SideInfo | null; runs: RunListing[]; baselines: string[]; set: (id: string) => void }

function Side({ label, value, named, runs, baselines, set }: SideProps) {
  // `last~4` and tags are names of runs: the run itself is what is chosen.
  const chosen = runs.find((run) => run.id === value) ?? runs.find((run) => run.id === named?.run_id && !value.startsWith("baseline"));
  const known = chosen !== undefined || value.startsWith("baseline");
  const texts = runs.map(optionText);
  return (
    <label class="side">{label}
      <select value={chosen?.id ?? value} onChange={(event) => set(event.currentTarget.value)}>
        {!known && value && <option value={value}>{day(named?.started_at) || value}</option>}
        {baselines.map((name) => { const id = name === "default" ? "baseline" : `baseline:${name}`; return <option value={id}>{id}</option>; })}
        {runs.map((run, place) => <option value={run.id}>{texts[place]}{texts.indexOf(texts[place]!) !== texts.lastIndexOf(texts[place]!) && ` · ${shortId(run.id)}`}</option>)}
      </select>
    </label>
  );
}

function optionText(run: RunListing): string {
  const parts = [day(run.started_at) || shortId(run.id), mark(runWord(run.state, run.exit_code)), run.tags.join(", "), run.commit?.slice(0, 7) ?? ""];
  return parts.filter(Boolean).join(" · ");
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

function Verdicts({ comparison, open }: { comparison: Comparison; open: (id: string | null) => void }) {
  const { counts } = comparison;
  const selected = route.value.query.get("example");
  const shown = comparison.examples;
  const place = shown.findIndex((example) => example.id === selected);
  useActions((action: Action) => {
    if (action === "next" && shown[place + 1]) open(shown[place + 1]!.id);
    else if (action === "previous" && shown[place - 1]) open(shown[place - 1]!.id);
    else if (action === "next-failure") open(shown.find((one, at) => at > place && one.verdict === "regression")?.id ?? selected);
    else if (action === "previous-failure") open(shown.findLast((one, at) => at < place && one.verdict === "regression")?.id ?? selected);
    else if (action === "back" && selected) open(null);
    else return false;
    return true;
  });
  const example = shown[place];
  return (
    <>
      {comparison.config_changed && <p class="notice">The two ran with different configurations: differences may come from there.</p>}
      <VerdictBox comparison={comparison} />
      {counts.paired > 0 && <Examples comparison={comparison} selected={selected} toggle={(id) => open(id === selected ? null : id)} />}
      {example && <SideBySide change={example} comparison={comparison} />}
      {comparison.gaps.length > 0 && <Gaps comparison={comparison} />}
      {comparison.criteria.length > 0 && <Criteria criteria={comparison.criteria} />}
    </>
  );
}

function Gaps({ comparison }: { comparison: Comparison }) {
  return (
    <section aria-label="Coverage gaps">
      <h2>Coverage gaps <span class="dim">{comparison.gaps.length}</span></h2>
      <p class="dim">Examples without a result on one side. They change no rate.{comparison.not_comparable === undefined && <> They stop a gate; <code>proctor compare --gate --allow-gaps</code> lets them pass.</>}</p>
      <div class="table-box"><table class="cards-on-phone">
        <thead><tr><th>Example</th><th>No result</th><th>Why</th></tr></thead>
        <tbody>{comparison.gaps.slice(0, 500).map((gap) => <tr key={gap.id + String(gap.missing_after)}><td class="title" title={gap.file ?? ""}>{gap.title}</td><td data-label="no result">{gap.missing_after ? "after" : "before"}</td><td data-label="why">{word(gap.reason)}</td></tr>)}</tbody>
      </table></div>
      {comparison.gaps.length > 500 && <p class="dim">and {comparison.gaps.length - 500} more</p>}
    </section>
  );
}
