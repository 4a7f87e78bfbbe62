// Rows are examples, columns are criteria, worst first.

import { useMemo } from "preact/hooks";

import { percent } from "../format";
import { criteriaOf, type Cell } from "../model/criteria";
import { isBad, statusOf, titleOf } from "../model/rows";
import { link } from "../router";
import type { Feed } from "../source";
import { version } from "../state";
import { Empty, Mark } from "../ui/parts";
import { VirtualList } from "../ui/virtual";

export function Criteria({ feed, at }: { feed: Feed; at: string[] }) {
  const criteria = useMemo(() => criteriaOf(feed.run.rows), [feed, version.value]);
  if (criteria.names.length === 0) return <Empty>Nothing was checked by criterion in this run. Scenarios with <code>expect</code> or <code>evaluate</code> fill this table.</Empty>;
  const rows = [...criteria.rows].sort((a, b) => Number(isBad(b.row)) - Number(isBad(a.row)));
  const columns = `minmax(180px, 320px) repeat(${criteria.names.length}, minmax(92px, 1fr))`;
  return (
    <div class="page tall">
      <div class="criteria" style={{ minWidth: `${180 + criteria.names.length * 92}px` }}>
        <div class="c-row c-head" style={{ gridTemplateColumns: columns }}>
          <span>{rows.length} examples</span>
          {criteria.names.map((name) => <span title={name}><span class="c-name">{name}</span><Held cell={criteria.totals.get(name)!} total /></span>)}
        </div>
        <VirtualList items={rows} height={32} label="Examples by criterion" keyOf={(item) => item.row.id} class="c-list"
          render={({ row, cells }) => (
            <div class="c-row" style={{ gridTemplateColumns: columns }}>
              <a href={link([...at, "example", row.id])} title={titleOf(row)}><Mark status={statusOf(row)} /> {row.path.at(-1) ?? titleOf(row)} <span class="dim">{row.path.slice(0, -1).join(" › ")}</span></a>
              {criteria.names.map((name) => <span>{cells.has(name) ? <Held cell={cells.get(name)!} /> : <span class="dim">·</span>}</span>)}
            </div>
          )} />
      </div>
    </div>
  );
}

function Held({ cell, total = false }: { cell: Cell; total?: boolean }) {
  const mean = cell.scores.length ? cell.scores.reduce((a, b) => a + b, 0) / cell.scores.length : null;
  const share = cell.checked ? cell.held / cell.checked : null;
  const kind = share === null ? "inconclusive" : share === 1 ? "passed" : share === 0 ? "failed" : "pending";
  const text = total || cell.checked > 1 ? percent(share) : share === null ? "?" : share === 1 ? "✓" : "✗";
  return <span class={`held s-${kind}`} title={`held ${cell.held} of ${cell.checked}${cell.unclear ? `, ${cell.unclear} without verdict` : ""}${mean === null ? "" : `, mean score ${mean.toFixed(2)}`}`}>{text}{mean !== null && <small> {mean.toFixed(2)}</small>}</span>;
}
