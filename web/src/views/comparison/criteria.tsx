// What a comparison says of each criterion.

import { plural } from "../../format";
import type { CriterionChange } from "../../model/types";
import { Rate } from "../../ui/parts";
import { Difference, ScoreDifference, VerdictBadge } from "./parts";

const smallP = (p: number) => (p < 0.001 ? "< 0.001" : p.toFixed(3));

/** Those that changed, or may have; the others are folded. */
export function Criteria({ criteria }: { criteria: CriterionChange[] }) {
  const same = criteria.filter((one) => one.verdict === "no_change_seen" || one.verdict === "unchanged");
  const changed = criteria.filter((one) => !same.includes(one));
  return (
    <section aria-label="Criteria">
      <h2>Quality by criterion</h2>
      {changed.length > 0 && <CriteriaTable criteria={changed} all={criteria.length} />}
      {same.length > 0 && (
        <details class="folded" open={changed.length === 0 && same.length <= 8}>
          <summary>{plural(same.length, "criterion", "criteria")} without a change</summary>
          <CriteriaTable criteria={same} all={criteria.length} />
        </details>
      )}
    </section>
  );
}

function CriteriaTable({ criteria, all }: { criteria: CriterionChange[]; all: number }) {
  return (
      <div class="table-box"><table class="cards-on-phone">
        <thead><tr><th>Criterion</th><th>Verdict</th><th>Before</th><th>After</th><th>Change, 95 % interval</th><th>Score</th><th class="r">p of worse</th><th class="r">p of better</th></tr></thead>
        <tbody>{criteria.map((one) => (
          <tr key={one.name}>
            <td class="title">{one.name}</td><td data-label="verdict"><VerdictBadge verdict={one.verdict} /></td><td data-label="before"><Rate tally={one.before} /></td><td data-label="after"><Rate tally={one.after} /></td>
            <td data-label="change">{one.change && <Difference change={one.change} />}</td>
            <td class="num" data-label="score">{one.score_before !== null && one.score_after !== null && <>{one.score_before.toFixed(2)} → {one.score_after.toFixed(2)}</>}{one.score_change && <>, <ScoreDifference change={one.score_change} /></>}</td>
            <td class="r num" data-label="p of worse" title={`${one.p_worse.toFixed(3)} before the adjustment for ${all} criteria`}>{smallP(one.p_worse_adjusted)}</td>
            <td class="r num" data-label="p of better" title={`${one.p_better.toFixed(3)} before the adjustment for ${all} criteria`}>{smallP(one.p_better_adjusted)}</td>
          </tr>
        ))}</tbody>
      </table></div>
  );
}
