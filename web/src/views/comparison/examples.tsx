// The examples of a comparison: what broke first, the rest folded by verdict.

import { word } from "../../format";
import { groupsOf } from "../../model/comparison";
import type { Comparison, ExampleChange, Verdict } from "../../model/types";
import { Rate } from "../../ui/parts";
import { VirtualList } from "../../ui/virtual";
import { Difference, VerdictBadge } from "./parts";

const TITLES: Record<Verdict, string> = {
  not_comparable: "Not comparable", regression: "Broke", cannot_tell: "Cannot be told", improvement: "Improved",
  no_change_seen: "No change seen", unchanged: "Unchanged",
};

export function Examples({ comparison, selected, toggle }: { comparison: Comparison; selected: string | null; toggle: (id: string) => void }) {
  const groups = groupsOf(comparison.examples);
  const broke = groups.some((group) => group.verdict === "regression");
  return (
    <section aria-label="Examples">
      {!broke && <h2>No single example is shown to have broken</h2>}
      {groups.map(({ verdict, examples }) => {
        const place = examples.findIndex((one) => one.id === selected);
        const list = <List examples={examples} place={place} selected={selected} toggle={toggle} />;
        if (verdict === "regression") return <div key={verdict} class="broke"><h2>{TITLES[verdict]} <span class="dim">{examples.length}</span></h2>{list}</div>;
        return <details key={verdict} class="folded" open={place >= 0 || (!broke && groups[0]!.verdict === verdict)}><summary>{TITLES[verdict]} <span class="dim">{examples.length}{verdict === "cannot_tell" && perhaps(examples)}</span></summary>{list}</details>;
      })}
    </section>
  );
}

function perhaps(examples: ExampleChange[]): string {
  const worse = examples.filter((one) => one.direction === "worse").length;
  return worse > 0 ? `, ${worse} of them ${worse === 1 ? "passes" : "pass"} less often` : "";
}

function List({ examples, place, selected, toggle }: { examples: ExampleChange[]; place: number; selected: string | null; toggle: (id: string) => void }) {
  return (
    <>
      <div class="cmp-head cmp-row" aria-hidden="true"><span>Verdict</span><span>Example</span><span>Before</span><span>After</span><span>Change</span><span>Why</span></div>
      <VirtualList items={examples} height={38} focus={place} label={`Compared examples: ${word(examples[0]!.verdict)}`} keyOf={(one) => one.id} class={examples.length > 12 ? "cmp-list" : "cmp-list short"}
        render={(one) => <ChangeLine change={one} selected={one.id === selected} toggle={() => toggle(one.id)} />} />
    </>
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
