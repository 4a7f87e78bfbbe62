// How often predictions came true, with the uncertainty drawn.

import { percent } from "../format";
import { TIERS, type Choice, type EntryRows, type Group, type JournalStats, type Share } from "../model/journal";
import { source } from "../state";
import { Empty, Rate, Trouble, useLoaded } from "../ui/parts";

export function Scores({ choice, seen }: { choice: Choice; seen: EntryRows | null }) {
  // Words choose by likeness, which numbers know nothing of.
  const { q: _, ...about } = choice;
  const { value, problem } = useLoaded(() => source.value.journalStats(about), [JSON.stringify(about), seen?.total]);
  if (problem) return <Trouble message={problem} />;
  if (!value) return <p class="empty" aria-busy="true">Counting…</p>;
  const { total } = value;
  const decided = total.confirmed + total.falsified;
  const all = decided + total.abandoned + total.active;
  if (all === 0) return <Empty>Nothing to count.</Empty>;
  return (
    <div class="page">
      <div class="cards">
        <Card name="Confirmed" share={total.confirmed_rate} few={total.too_few} what="of decided predictions" />
        <Card name="At the first try" share={total.first_try_rate} few={total.too_few} what="confirmed without another iteration" />
        <Card name="Decided by a command" share={total.auto_share} few={total.too_few} what="rather than by the author" />
      </div>
      <p class="dim">{all.toLocaleString("en")} entries: {total.confirmed} confirmed, {total.falsified} falsified, {total.abandoned} abandoned, {total.active} active.{value.needing_annotation > 0 && ` ${value.needing_annotation} falsified without an explanation.`} Bars: the share, and where the true one is to be expected (Wilson, 95 %).</p>
      <Table name="Domain" groups={value.by_domain} />
      <Table name="Strategy" groups={value.by_strategy} />
      <Table name="Tier" groups={value.by_tier} titles={TIERS} />
      <Table name="Month" groups={value.by_month} />
      {value.calibration && <Calibration calibration={value.calibration} />}
    </div>
  );
}

function Card({ name, share, few, what }: { name: string; share: Share | null; few: boolean; what: string }) {
  return (
    <figure class="chart">
      <figcaption><b>{name}</b> <span class="dim">{what}</span></figcaption>
      {share ? <><p class="big num">{percent(Math.round(share.value * 1000) / 1000)}</p><p><Drawn share={share} /> <span class="dim num">{Math.round(share.low * 100)}–{Math.round(share.high * 100)} %</span>{few && <span class="tag">too few to tell</span>}</p></> : <p class="dim">nothing decided yet</p>}
    </figure>
  );
}

function Drawn({ share }: { share: Share }) {
  return <Rate tally={{ passed: share.hits, attempts: share.n, rate: share.value, range: { low: share.low, high: share.high } }} />;
}

function Table({ name, groups, titles = {} }: { name: string; groups: Record<string, Group>; titles?: Record<string, string> }) {
  const rows = Object.entries(groups);
  if (rows.length === 0) return null;
  return (
    <>
      <h2>By {name.toLowerCase()}</h2>
      <div class="table-box">
        <table class="cards-on-phone">
          <thead><tr><th>{name}</th><th>Confirmed</th><th>At the first try</th><th class="r">By a command</th><th class="r">Abandoned</th><th class="r">Active</th></tr></thead>
          <tbody>{rows.map(([key, group]) => (
            <tr key={key}>
              <td class="title" title={titles[key]}>{key}{group.too_few && <span class="tag">too few</span>}</td>
              <td data-label="confirmed">{group.confirmed_rate ? <Drawn share={group.confirmed_rate} /> : <span class="dim">–</span>}</td>
              <td data-label="at the first try">{group.first_try_rate ? <Drawn share={group.first_try_rate} /> : <span class="dim">–</span>}</td>
              <td class="r num" data-label="by a command">{group.auto_share ? `${Math.round(group.auto_share.value * 100)} %` : "–"}</td>
              <td class="r num" data-label="abandoned">{group.abandoned}</td>
              <td class="r num" data-label="active">{group.active}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
    </>
  );
}

/** Stated confidence across, what came true upwards: on the diagonal the two agree. */
function Calibration({ calibration }: { calibration: NonNullable<JournalStats["calibration"]> }) {
  const [size, edge] = [220, 26];
  const x = (share: number) => edge + share * (size - edge - 8);
  const y = (share: number) => size - edge - share * (size - edge - 8);
  return (
    <>
      <h2>Calibration</h2>
      <div class="calibration">
        <svg viewBox={`0 0 ${size} ${size}`} width={size} height={size} role="img" aria-label={`Reliability of ${calibration.n} stated probabilities, Brier score ${calibration.brier.toFixed(3)}`}>
          <line class="axis" x1={x(0)} x2={x(1)} y1={y(0)} y2={y(0)} /><line class="axis" x1={x(0)} x2={x(0)} y1={y(0)} y2={y(1)} />
          <line class="ideal" x1={x(0)} x2={x(1)} y1={y(0)} y2={y(1)} />
          {[0, 0.5, 1].map((share) => <><text x={x(share)} y={size - 8} text-anchor="middle">{share * 100}</text><text x={edge - 6} y={y(share) + 4} text-anchor="end">{share * 100}</text></>)}
          {calibration.bins.map((bin) => (
            <g key={bin.from}>
              <title>{`stated ${percent(bin.stated)}: ${bin.seen.hits} of ${bin.seen.n} came true`}</title>
              <line class="interval" x1={x(bin.stated)} x2={x(bin.stated)} y1={y(bin.seen.low)} y2={y(bin.seen.high)} />
              <circle cx={x(bin.stated)} cy={y(bin.seen.value)} r={3 + Math.min(5, Math.sqrt(bin.seen.n))} />
            </g>
          ))}
        </svg>
        <div>
          <p><b>Brier score {calibration.brier.toFixed(3)}</b> over {calibration.n} stated predictions{calibration.n < 10 && <span class="tag">too few to tell</span>}</p>
          <p class="dim">0 is perfect, 0.25 is what a coin gets. Across: what was stated; upwards: what came true, in per cent, with its 95 % interval.</p>
          <table><thead><tr><th>Stated</th><th class="r">Mean</th><th>Came true</th></tr></thead><tbody>{calibration.bins.map((bin) => <tr key={bin.from}><td class="num">{Math.round(bin.from * 100)}–{Math.round(bin.to * 100)} %</td><td class="r num">{Math.round(bin.stated * 100)} %</td><td><Drawn share={bin.seen} /></td></tr>)}</tbody></table>
        </div>
      </div>
    </>
  );
}
