// Entries day by day: what was thought, what was predicted, what was seen.

import { byDay, type EntryRows } from "../model/journal";
import { link } from "../router";
import { Sign, Tier } from "../ui/ended";
import { Empty } from "../ui/parts";

export function Days({ rows, more }: { rows: EntryRows | null; more: (() => void) | null }) {
  if (!rows) return <p class="empty" aria-busy="true">Reading…</p>;
  if (rows.entries.length === 0) return <Empty>No entry fits.</Empty>;
  const days = byDay([...rows.entries].sort((a, b) => (a.created_at < b.created_at ? 1 : -1)));
  return (
    <div class="page">
      {days.map(({ day, rows: entries }) => (
        <section class="day" key={day} aria-label={day}>
          <h2>{day} <span class="dim">{entries.length} {entries.length === 1 ? "entry" : "entries"}</span></h2>
          <ol>{entries.map((row) => (
            <li key={row.id}>
              <time class="num dim" dateTime={row.created_at}>{new Date(row.created_at).toTimeString().slice(0, 5)}</time>
              <Sign status={row.status} />
              <div>
                <a href={link(["journal", "entry", row.id])}>{row.goal}</a> {row.tier && row.tier !== "abandoned" && <Tier tier={row.tier} />}{row.lane && <span class="tag">lane {row.lane}</span>}
                <p><span class="label">thought</span> {row.hypothesis}</p>
                <p><span class="label">predicted</span> {row.prediction}</p>
                {row.result && <p><span class="label">seen</span> {row.result}</p>}
                {row.surprise && <p><span class="label">surprise</span> {row.surprise}</p>}
              </div>
            </li>
          ))}</ol>
        </section>
      ))}
      {more && <p><button type="button" onClick={more}>Older entries</button></p>}
    </div>
  );
}
