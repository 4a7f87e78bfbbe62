// One run: how far it is, its examples, and whatever one looks at closely.

import { isLive, phraseOf, runWord } from "../model/verdict";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { commandLine, duration, money, percent, plural, shortId, when } from "../format";
import { countsOf, isBad, rateOf } from "../model/rows";
import { MOST_IDS } from "../model/rerun";
import { linesOf, type Line } from "../model/tree";
import type { Row } from "../model/types";
import { go, isLeaving, link, route } from "../router";
import type { Feed } from "../source";
import { filter, follow, source, statusFilter, version } from "../state";
import { type Action, useActions } from "../ui/keys";
import { Badge, Mark, Trouble } from "../ui/parts";
import { VirtualList } from "../ui/virtual";
import { Criteria } from "./criteria";
import { ExamplePane } from "./example";
import { Rerun, useRerun } from "./rerun";
import { Counts } from "./runs";
import { Timeline } from "./timeline";
import { Topics } from "./topics";

const TABS: [string, string][] = [["example", "Examples"], ["timeline", "Time line"], ["criteria", "Criteria"], ["topics", "Topics"]];

export function RunPage({ feed }: { feed: Feed }) {
  version.value;
  const parts = route.value.parts;
  const at = source.value.kind === "file" ? ["run", feed.id] : ["run", parts[1] ?? feed.id];
  const tab = TABS.some(([name]) => name === parts[2]) ? parts[2]! : "example";
  useActions((action) => {
    const place = ["tab-1", "tab-2", "tab-3", "tab-4"].indexOf(action);
    if (place < 0) return false;
    go(link(place === 0 ? at : [...at, TABS[place]![0]]));
    return true;
  });
  useEffect(() => { document.title = `${isLive(feed.state) ? "▸ " : ""}Run ${shortId(feed.id)} · Proctor`; }, [feed.id, feed.state]);
  return (
    <section class="run">
      <Head feed={feed} />
      <nav class="tabs" aria-label="Parts of the run">
        {TABS.map(([name, text]) => <a href={link(name === "example" ? at : [...at, name])} aria-current={tab === name ? "page" : undefined}>{text}</a>)}
      </nav>
      {tab === "timeline" ? <Timeline feed={feed} at={at} /> : tab === "criteria" ? <Criteria feed={feed} at={at} /> : tab === "topics" ? <Topics feed={feed} at={at} /> : <Examples feed={feed} at={at} />}
    </section>
  );
}

function Head({ feed }: { feed: Feed }) {
  // The feed is one object that grows: whoever shows a part of it has to read this.
  version.value;
  const { header, rows } = feed.run;
  const counts = countsOf(rows);
  const [problem, setProblem] = useState<string | null>(null);
  const done = Object.entries(counts).reduce((sum, [status, count]) => sum + (status === "running" ? 0 : count), 0);
  const total = Math.max(header.planned ?? 0, done + (counts["running"] ?? 0));
  const cost = rows.reduce((sum, row) => sum + row.attempts.reduce((own, attempt) => own + attempt.cost_usd, 0), 0);
  const served = source.value.kind === "server";
  const failures = rows.filter(isBad);
  const rerun = useRerun(() => feed.run.rows.filter(isBad));
  useActions((action) => {
    if (action === "compare-this") go(link(["compare"], { after: feed.id }));
    return action === "compare-this" || (action === "run-failures-again" && rerun.start(null));
  });
  return (
    <header class="run-head">
      <div class="bar">
        <h1><span class="visually-hidden">Run </span><RunBadge feed={feed} /></h1>
        <Counts counts={counts} planned={header.planned} />
        <span class="num" aria-live="off">{isLive(feed.state) ? `${done} of ${total || "?"} examples` : plural(done, "example")}</span>
        {header.duration_ms !== null && <span class="num" title="from its start to its end">took {duration(header.duration_ms)}</span>}
        {cost > 0 && <span class="num" title="model calls">{money(cost)}</span>}
        <span class="gap" />
        {isLive(feed.state) && <label class="check"><input type="checkbox" checked={follow.value} onChange={(event) => { follow.value = event.currentTarget.checked; }} /> follow <kbd>f</kbd></label>}
        {served && isLive(feed.state) && <Stop feed={feed} say={setProblem} />}
        {failures.length > 0 && !isLive(feed.state) && <Rerun rerun={rerun} label={failures.length > MOST_IDS ? `Run the files of ${plural(failures.length, "failure")} again` : `Run ${plural(failures.length, "failure")} again`} shortcut="X" />}
        {served && <a class="button small" href={link(["compare"], { before: "", after: feed.id })}>Compare</a>}
        {served && <a class="button small" href={link(["search"], { run: feed.id })}>Search</a>}
      </div>
      <p class="dim meta">
        <span class="mono" title={feed.id}>{shortId(feed.id)}</span> · {when(header.started_at)}
        {header.seed !== null && <> · seed {header.seed}</>}
        {feed.info?.git && <> · <span class="mono">{feed.info.git.commit.slice(0, 8)}{feed.info.git.dirty ? "*" : ""}</span></>}
        {header.workers.length > 0 && <> · {plural(header.workers.length, "worker")}{header.workers.some((worker) => worker.crashed) ? `, ${header.workers.reduce((sum, worker) => sum + worker.crashed, 0)} crashed` : ""}</>}
        {feed.info?.argv && <> · <span class="mono" title={feed.info.argv.join(" ")}>{commandLine(feed.info.argv)}</span></>}
      </p>
      {[feed.problem, problem, rerun.problem].filter((one) => one !== null).map((one) => <Trouble message={one} />)}
      {header.errors.map((error) => (
        <details class="panel bad" open>
          <summary>Error outside examples{error.phase ? ` (${error.phase})` : ""}{error.place ? `: ${error.place}` : ""}</summary>
          <pre>{error.class ? `${error.class}: ` : ""}{error.message}{error.backtrace.length ? `\n${error.backtrace.join("\n")}` : ""}</pre>
        </details>
      ))}
    </header>
  );
}

/** The first press lets running examples finish within the grace, the second one does not. */
function Stop({ feed, say }: { feed: Feed; say: (problem: string | null) => void }) {
  const [asked, setAsked] = useState(false);
  const stop = async () => {
    try {
      const status = await source.value.cancel(feed.id, asked);
      setAsked(true);
      say(status === "cancelled" ? null : "nobody answers for this run: its process is gone or about to go");
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  return <button type="button" class="small" onClick={stop} title={asked ? "End running examples at once" : "Start no further example"}>{asked ? "Stop at once" : "Stop"}</button>;
}

function RunBadge({ feed }: { feed: Feed }) {
  version.value;
  const { exit_code: code } = feed.run.header;
  const word = runWord(feed.state, code);
  return <Badge status={word} text={phraseOf(word)} title={isLive(feed.state) ? undefined : `exit code ${code ?? "unknown"}`} />;
}

function Examples({ feed, at }: { feed: Feed; at: string[] }) {
  const parts = route.value.parts;
  const selected = parts[2] === "example" ? (parts[3] ?? null) : null;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const input = useRef<HTMLInputElement>(null);
  // Whoever has gone back to the list is not sent to the first failure again.
  const left = useRef(false);
  const lines = useMemo(
    () => linesOf(feed.run.rows, { text: filter.value.trim(), status: statusFilter.value }, closed),
    [version.value, feed, filter.value, statusFilter.value, closed],
  );
  const examples = lines.filter((line) => line.kind === "example");
  useEffect(() => { if (selected) left.current = true; }, [selected]);
  const place = lines.findIndex((line) => line.kind === "example" && line.key === selected);
  const open = (id: string, quietly: boolean) => go(link([...at, "example", id]), quietly);

  // On a phone an open example hides the list: there it is opened by hand, and followed from then on.
  const room = selected !== null || matchMedia("(min-width: 761px)").matches;
  const latest = feed.run.latest;
  const row = feed.run.rows[feed.run.places.get(selected ?? "") ?? -1];
  const goesOn = row?.attempts.some((attempt) => attempt.status === null) ?? false;
  useEffect(() => {
    // Stays with an example until it has ended, else many at once would take turns before one's eyes.
    if (follow.value && room && isLive(feed.state) && latest && latest !== selected && !goesOn && !isLeaving()) open(latest, true);
  }, [latest, goesOn, follow.value]);
  const first = (examples.find((line) => line.kind === "example" && isBad(line.row)) ?? examples[0])?.key ?? null;
  useEffect(() => {
    if (selected === null && parts.length <= 2 && room && !isLive(feed.state) && first && !left.current && !isLeaving()) open(first, true);
  }, [feed.id, first, parts.length]);

  const move = (step: 1 | -1, wanted: (line: Line) => boolean): boolean => {
    follow.value = false;
    left.current = true;
    const start = place < 0 ? (step > 0 ? -1 : lines.length) : place;
    for (let next = start + step; next >= 0 && next < lines.length; next += step) {
      const line = lines[next]!;
      if (line.kind === "example" && wanted(line)) {
        open(line.key, true);
        break;
      }
    }
    return true;
  };
  useActions((action: Action) => {
    switch (action) {
      case "next": return move(1, () => true);
      case "previous": return move(-1, () => true);
      case "next-failure": return move(1, (line) => line.kind === "example" && isBad(line.row));
      case "previous-failure": return move(-1, (line) => line.kind === "example" && isBad(line.row));
      case "filter": input.current?.focus(); return true;
      case "follow": follow.value = !follow.value; return true;
      case "open": document.getElementById("pane")?.focus(); return selected !== null;
      case "back": if (selected) { left.current = true; go(link(at)); } return selected !== null;
      default: return false;
    }
  });

  const toggle = (key: string) => setClosed((now) => {
    const next = new Set(now);
    if (!next.delete(key)) next.add(key);
    return next;
  });
  const chips: [string | null, string][] = [[null, "all"], ["bad", "failures"], ["passed", "passed"], ["pending", "pending"], ...(isLive(feed.state) ? [["running", "running"] as [string, string]] : [])];
  return (
    <div class={`split ${selected ? "has-selection" : ""}`}>
      <div class="left">
        <div class="filters">
          <input ref={input} type="search" placeholder="filter  /" aria-label="Filter examples" value={filter.value} onInput={(event) => { filter.value = event.currentTarget.value; }} />
          <div class="chips" role="group" aria-label="Filter by result">
            {chips.map(([status, text]) => <button type="button" aria-pressed={statusFilter.value === status} onClick={() => { statusFilter.value = status; }}>{text}</button>)}
          </div>
        </div>
        {lines.length === 0 && <p class="empty">{feed.run.rows.length === 0 ? (isLive(feed.state) ? "Waiting for the first example…" : "This run has no examples.") : "No example matches."}</p>}
        <VirtualList items={lines} height={30} focus={place} label={`${examples.length} examples`} role="tree" keyOf={(line) => line.key}
          render={(line) => line.kind === "group"
            ? <button type="button" class={`line group ${line.file ? "file" : ""}`} style={{ paddingLeft: `${8 + line.depth * 14}px` }} aria-expanded={line.open} role="treeitem" onClick={() => toggle(line.key)}>
                <span class="fold" aria-hidden="true">{line.open ? "▾" : "▸"}</span><span class="text" title={line.text}>{line.text}</span>
                <span class="num">{line.bad > 0 && <b class="s-failed">{line.bad} ✗</b>} {line.total}</span>
              </button>
            : <ExampleLine line={line} selected={line.key === selected} to={link([...at, "example", line.key])} />} />
      </div>
      <div class="right" id="pane" tabIndex={-1} aria-label="Example">
        {selected ? <ExamplePane key={selected} feed={feed} id={selected} at={at} /> : <p class="empty wide">Choose an example: <kbd>j</kbd> <kbd>k</kbd> to move, <kbd>n</kbd> for the next failure.</p>}
      </div>
    </div>
  );
}

/** An example that need not always pass says how often it did. */
function Wanted({ row }: { row: Row }) {
  const { passed, valid } = rateOf(row);
  return <span class="tag" title={`${percent(row.pass_rate)} of the repetitions must pass`}>{passed}/{valid}</span>;
}

function ExampleLine({ line, selected, to }: { line: Extract<Line, { kind: "example" }>; selected: boolean; to: string }) {
  const { row, status } = line;
  const last = row.attempts.at(-1);
  const repeats = new Set(row.attempts.map((attempt) => attempt.repeat)).size;
  const flaky = row.attempts.some((attempt) => attempt.flaky);
  return (
    <a class={`line example ${selected ? "now" : ""}`} href={to} role="treeitem" aria-selected={selected} style={{ paddingLeft: `${10 + line.depth * 14}px` }} onClick={() => { follow.value = false; }}>
      <Mark status={status} />
      <span class="text" title={last?.message ?? row.path.join(" › ")}>{row.path.at(-1) ?? row.description ?? row.id}</span>
      {flaky && <span class="tag" title="passed only after failing">flaky</span>}
      {row.unchecked && <span class="tag" title="passed without checking anything">unchecked</span>}
      {repeats > 1 && row.pass_rate === null && <span class="tag">×{repeats}</span>}
      {row.pass_rate !== null && <Wanted row={row} />}
      <span class="num dim">{last?.status ? duration(last.duration_ms) : ""}</span>
    </a>
  );
}
