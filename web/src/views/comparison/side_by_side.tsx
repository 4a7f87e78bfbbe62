// Both conversations of an example, side by side.

import { useState } from "preact/hooks";

import { duration, money, word } from "../../format";
import { talksOf, type Talk } from "../../model/talk";
import type { Comparison, Event, ExampleChange } from "../../model/types";
import { link } from "../../router";
import { source } from "../../state";
import { Badge, Trouble, useLoaded } from "../../ui/parts";
import { Diff } from "../diff";
import { Difference } from "./parts";

async function talksIn(run: string | null, id: string): Promise<Talk[]> {
  if (!run) return [];
  const feed = await source.value.open(run, () => {});
  try {
    return talksOf((await feed.exampleEvents(id)) as Event[]);
  } finally {
    feed.close();
  }
}

export function SideBySide({ change, comparison }: { change: ExampleChange; comparison: Comparison }) {
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
