// A list per criterion: how often it held, and the conversations in which it held least.

import { useMemo, useState } from "preact/hooks";

import { plural, turnName } from "../format";
import { criteriaOf, type Criterion, type Judged } from "../model/criteria";
import { titleOf } from "../model/rows";
import { link, route, go } from "../router";
import type { Feed } from "../source";
import { version } from "../state";
import { useActions } from "../ui/keys";
import { Empty, Rate } from "../ui/parts";

/** So many conversations of a criterion are listed at first. */
const FEW = 10;

export function Criteria({ feed, at }: { feed: Feed; at: string[] }) {
  const criteria = useMemo(() => criteriaOf(feed.run.rows), [feed, version.value]);
  const judged = criteria.filter((one) => one.judged);
  const mechanical = criteria.filter((one) => !one.judged);
  const open = route.value.query.get("criterion");
  const show = (name: string | null) => go(link([...at, "criteria"], { criterion: name }), true);
  const shown = [...judged, ...mechanical];
  const place = shown.findIndex((one) => one.name === open);
  useActions((action) => {
    if (action === "next" && shown[place + 1]) show(shown[place + 1]!.name);
    else if (action === "previous" && shown[place - 1]) show(shown[place - 1]!.name);
    else if (action === "back" && open !== null) show(null);
    else return false;
    return true;
  });
  if (criteria.length === 0) return <Empty>Nothing was checked by criterion in this run. Scenarios with <code>expect</code> or <code>evaluate</code> fill this list.</Empty>;
  const list = (some: Criterion[]) => <ul class="criteria">{some.map((one) => <Line key={one.name} criterion={one} at={at} open={one.name === open} toggle={() => show(one.name === open ? null : one.name)} />)}</ul>;
  const failing = mechanical.filter((one) => one.held < one.checked).length;
  return (
    <div class="page tall">
      <section aria-label="Judged criteria">
        <h2>Judged <span class="dim">{plural(judged.length, "criterion", "criteria")}, worst first</span></h2>
        {judged.length > 0 ? list(judged) : <p class="dim">No judge decided anything in this run.</p>}
      </section>
      {mechanical.length > 0 && (
        <details class="mechanical" open={judged.length === 0 || mechanical.some((one) => one.name === open)}>
          <summary>Mechanical checks: {mechanical.length}{failing > 0 ? `, ${failing} did not always hold` : ", all held"}</summary>
          {list(mechanical)}
        </details>
      )}
    </div>
  );
}

function Line({ criterion, at, open, toggle }: { criterion: Criterion; at: string[]; open: boolean; toggle: () => void }) {
  const { name, held, checked, unclear, mean, range, worst, soft } = criterion;
  const state = checked === 0 ? "inconclusive" : held === checked ? "passed" : soft ? "pending" : "failed";
  return (
    <li class={open ? "open" : undefined}>
      <button type="button" class="criterion" aria-expanded={open} onClick={toggle}>
        <span class="fold" aria-hidden="true">{open ? "▾" : "▸"}</span>
        <span class="name">{name}{soft && <span class="tag" title="recorded as quality; does not decide the verdict">soft</span>}</span>
        <span class={`held s-${state}`}>held {held} of {checked}{unclear > 0 && <span class="dim">, {unclear} undecided</span>}</span>
        {checked === 0 ? <span /> : <Rate tally={{ passed: held, attempts: checked, rate: checked ? held / checked : null, range }} bare />}
        <span class="num score">{mean !== null && <>mean {mean.toFixed(2)}</>}</span>
      </button>
      {open && <Worst worst={worst} at={at} />}
    </li>
  );
}

function Worst({ worst, at }: { worst: Judged[]; at: string[] }) {
  const [all, setAll] = useState(false);
  if (worst.length === 0) return <p class="dim worst">It held everywhere.</p>;
  return (
    <>
      <ol class="worst">{worst.slice(0, all ? undefined : FEW).map(({ row, attempt, check }) => (
        <li>
          <span class={`mark s-${check.passed === null ? "inconclusive" : check.passed ? "passed" : check.soft ? "pending" : "failed"}`} role="img" aria-label={check.passed === null ? "no verdict" : check.passed ? "holds" : "does not hold"}>{check.passed === null ? "?" : check.passed ? "✓" : check.soft ? "~" : "✗"}</span>
          <a href={link([...at, "example", row.id], { repeat: attempt.repeat, attempt: attempt.attempt, turn: check.turn })}>{titleOf(row)}</a>
          <span class="dim">{[check.turn === null ? "" : turnName(check.turn).toLowerCase(), row.attempts.length > 1 ? `repeat ${attempt.repeat}` : ""].filter(Boolean).join(", ")}</span>
          {check.score !== null && <span class="num">{check.score.toFixed(2)}</span>}
        </li>
      ))}</ol>
      {!all && worst.length > FEW && <p class="worst"><button type="button" class="small" onClick={() => setAll(true)}>{worst.length - FEW} more</button></p>}
    </>
  );
}
