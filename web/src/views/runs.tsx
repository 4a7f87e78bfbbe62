// The list of runs, newest first; those that go on are looked at again.

import { isLive, phraseOf, runWord } from "../model/verdict";
import { useEffect, useState } from "preact/hooks";

import { ago, commandLine, duration, mark, money, shortId, when, word } from "../format";
import type { RunListing } from "../model/types";
import { go, link } from "../router";
import { source } from "../state";
import { useActions } from "../ui/keys";
import { Badge, Empty, Trouble } from "../ui/parts";

const AGAIN = 1000;

export function RunsPage() {
  const [runs, setRuns] = useState<RunListing[] | null>(null);
  const [more, setMore] = useState<string | null>(null);
  const [canRun, setCanRun] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [place, setPlace] = useState(-1);
  const [marked, setMarked] = useState<string[]>([]);

  useEffect(() => {
    let timer = 0;
    let current = true;
    const load = async () => {
      try {
        const answer = await source.value.runs();
        if (!current) return;
        setRuns((before) => [...answer.runs, ...(before ?? []).slice(answer.runs.length)]);
        setMore((before) => before ?? answer.more);
        setCanRun(answer.can_run);
        setProblem(null);
      } catch (error) {
        if (current) setProblem(String(error instanceof Error ? error.message : error));
      }
      if (current) timer = window.setTimeout(load, AGAIN);
    };
    void load();
    return () => { current = false; clearTimeout(timer); };
  }, []);

  const start = async () => {
    try {
      go(link(["run", await source.value.start({})]));
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error));
    }
  };
  const toggle = (id: string) => setMarked((now) => (now.includes(id) ? now.filter((one) => one !== id) : [...now, id].slice(-2)));
  const [older, newer] = [...marked].sort();
  useActions((action) => {
    if (!runs?.length) return false;
    if (action === "next") setPlace((now) => Math.min(runs.length - 1, now + 1));
    else if (action === "previous") setPlace((now) => Math.max(0, now - 1));
    else if (action === "open" && runs[place]) go(link(["run", runs[place].id]));
    else if (action === "mark" && runs[place]) toggle(runs[place].id);
    else if (action === "difference" && marked.length === 2) go(link(["compare"], { before: older, after: newer }));
    else return false;
    return true;
  });
  const priced = runs?.some((run) => run.cost_usd) ?? false;
  return (
    <section class="page">
      <div class="bar">
        <h1>Runs</h1>
        <span class="gap" />
        {marked.length === 2 && <a class="button" href={link(["compare"], { before: older, after: newer })}>Compare 2</a>}
        {canRun && <button type="button" class="primary" onClick={start}>Run everything</button>}
      </div>
      {problem && <Trouble message={problem} />}
      {runs?.length === 0 && <Empty>No runs yet. <code>proctor run</code> makes one; it will appear here while it goes on.</Empty>}
      {!!runs?.length && (
        <div class="table-box">
          <table class="runs">
            <thead><tr><th><span class="visually-hidden">Mark to compare</span></th><th>Result</th><th>Started</th><th class="r">Took</th><th>Examples</th>{priced && <th class="r">Cost</th>}<th>Command</th><th>Commit</th></tr></thead>
            <tbody>
              {runs.map((run, row) => (
                <tr key={run.id} class={row === place ? "now" : undefined} onClick={() => go(link(["run", run.id]))}>
                  <td onClick={(event) => event.stopPropagation()}>
                    <input type="checkbox" aria-label={`mark run ${shortId(run.id)} to compare`} checked={marked.includes(run.id)} onChange={() => toggle(run.id)} />
                  </td>
                  <td><RunBadge run={run} /></td>
                  <td><a href={link(["run", run.id])} title={`${when(run.started_at)} · ${run.id}`}>{ago(run.started_at) || shortId(run.id)}</a>{run.tags.map((tag) => <span class="tag">{tag}</span>)}</td>
                  <td class="r num">{duration(run.duration_ms)}</td>
                  <td><Counts counts={isLive(run.state) ? run.counts : leftOpen(run.counts)} planned={run.planned} /></td>
                  {priced && <td class="r num" data-label="cost">{run.cost_usd ? money(run.cost_usd) : ""}</td>}
                  <td class="mono cut" title={run.argv.join(" ")}>{commandLine(run.argv)}</td>
                  <td class="mono">{run.commit?.slice(0, 8)}{run.dirty ? <span title="with uncommitted changes">*</span> : ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more && runs && <p><button type="button" onClick={async () => {
        const answer = await source.value.runs(more);
        setRuns([...runs, ...answer.runs]);
        setMore(answer.more);
      }}>Older runs</button></p>}
    </section>
  );
}


function RunBadge({ run }: { run: RunListing }) {
  const word = runWord(run.state, run.exit_code);
  return <Badge status={word} text={phraseOf(word)} title={isLive(run.state) ? undefined : `exit code ${run.exit_code ?? "unknown"}`} />;
}

const ORDER = ["passed", "failed", "crashed", "errored", "timed_out", "inconclusive", "pending", "cancelled", "not_run", "unfinished", "running"];

/** The server counts what has no end as running; in a run that is over it is unfinished. */
function leftOpen({ running = 0, ...counts }: Record<string, number>): Record<string, number> {
  return { ...counts, unfinished: running };
}

export function Counts({ counts, planned }: { counts: Record<string, number>; planned: number | null }) {
  const total = Math.max(planned ?? 0, Object.values(counts).reduce((sum, count) => sum + count, 0));
  const known = ORDER.filter((status) => counts[status]);
  return (
    <span class="counts">
      <span class="strip" aria-hidden="true">
        {known.map((status) => <i class={`s-${status}`} style={{ width: `${(100 * counts[status]!) / Math.max(1, total)}%` }} />)}
      </span>
      {known.map((status) => <span class={`count s-${status}`} title={word(status)}>{mark(status)} {counts[status]!.toLocaleString("en")}</span>)}
    </span>
  );
}
