// The journal: what was believed, what was done about it, and what came of it.

import { useEffect, useRef, useState } from "preact/hooks";

import { ago, when } from "../format";
import { choiceOf, TIERS, type Choice, type EntryRow, type EntryRows } from "../model/journal";
import { go, link, route } from "../router";
import { source } from "../state";
import { type Action, useActions } from "../ui/keys";
import { Sign, Tier } from "../ui/ended";
import { Empty, Trouble } from "../ui/parts";
import { VirtualList } from "../ui/virtual";
import { Days } from "./days";
import { EntryPane } from "./entry";
import { Scores } from "./scores";

const TABS: [string, string][] = [["entry", "Entries"], ["stats", "Statistics"], ["timeline", "Time line"]];
const AGAIN = 3000;
const PAGE = 200;

export function JournalPage() {
  const { parts, query } = route.value;
  const choice = choiceOf(query);
  const tab = TABS.some(([name]) => name === parts[1]) ? parts[1]! : "entry";
  const { rows, problem, more } = useRows(choice);
  useActions((action) => {
    const place = ["tab-1", "tab-2", "tab-3"].indexOf(action);
    if (place < 0) return false;
    go(link(place === 0 ? ["journal"] : ["journal", TABS[place]![0]], choice));
    return true;
  });
  useEffect(() => { document.title = "Journal · Proctor"; }, []);
  return (
    <section class={`run journal ${tab === "entry" && parts[2] ? "selected" : ""}`}>
      <header class="run-head"><div class="bar"><h1>Journal</h1><Chosen choice={choice} rows={rows} at={tab === "entry" ? ["journal"] : ["journal", tab]} /></div></header>
      <nav class="tabs" aria-label="Parts of the journal">
        {TABS.map(([name, text]) => <a href={link(name === "entry" ? ["journal"] : ["journal", name], choice)} aria-current={tab === name ? "page" : undefined}>{text}</a>)}
      </nav>
      {problem && <Trouble message={problem} />}
      {rows?.warnings.map((warning) => <Trouble message={warning} />)}
      {tab === "stats" ? <Scores choice={choice} seen={rows} /> : tab === "timeline" ? <Days rows={rows} more={more} /> : <Entries rows={rows} more={more} choice={choice} selected={parts[2] ?? null} />}
    </section>
  );
}

/** The rows of a choice, looked at again now and then: others write while one reads. */
function useRows(choice: Choice): { rows: EntryRows | null; problem: string | null; more: (() => void) | null } {
  const key = JSON.stringify(choice);
  const [state, setState] = useState<{ key: string; rows: EntryRows | null; problem: string | null }>({ key, rows: null, problem: null });
  const [limit, setLimit] = useState(PAGE);
  useEffect(() => {
    let current = true;
    let timer = 0;
    const load = async () => {
      if (!document.hidden) {
        try {
          const rows = await source.value.journal(choice, limit);
          if (current) setState((before) => (before.key === key && JSON.stringify(before.rows) === JSON.stringify(rows) && !before.problem ? before : { key, rows, problem: null }));
        } catch (error) {
          if (current) setState((before) => ({ key, rows: before.key === key ? before.rows : null, problem: error instanceof Error ? error.message : String(error) }));
        }
      }
      if (current) timer = window.setTimeout(load, AGAIN);
    };
    void load();
    return () => { current = false; clearTimeout(timer); };
  }, [key, limit]);
  useEffect(() => { setLimit(PAGE); }, [key]);
  const rows = state.key === key ? state.rows : null;
  const more = rows?.more && limit < 1000 ? () => setLimit((now) => Math.min(1000, now * 2)) : null;
  return { rows, problem: state.key === key ? state.problem : null, more };
}

function Chosen({ choice, rows, at }: { choice: Choice; rows: EntryRows | null; at: string[] }) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(choice.q ?? "");
  useEffect(() => { setText(choice.q ?? ""); }, [choice.q]);
  const set = (more: Choice) => go(link(at, { ...choice, ...more }), true);
  useActions((action) => {
    if (action !== "filter") return false;
    input.current?.focus();
    return true;
  });
  const pick = (name: "domain" | "tier" | "lane", label: string, options: string[]) => (
    <select aria-label={label} value={choice[name] ?? ""} onChange={(event) => set({ [name]: event.currentTarget.value })}>
      <option value="">{label}</option>
      {options.map((option) => <option value={option}>{option}</option>)}
    </select>
  );
  const chips: [Choice, string][] = [
    [{}, "all"], [{ status: "active" }, "active"], [{ status: "confirmed" }, "confirmed"], [{ status: "falsified" }, "falsified"],
    [{ status: "abandoned" }, "abandoned"], [{ unexplained: "true" }, "unexplained"],
  ];
  return (
    <>
      <form role="search" class="words" onSubmit={(event) => { event.preventDefault(); set({ q: text.trim() }); }}>
        <input ref={input} type="search" placeholder="words  /" aria-label="Words in goal, hypothesis, surprise or lesson" value={text}
          onInput={(event) => { setText(event.currentTarget.value); if (event.currentTarget.value === "") set({ q: "" }); }} />
      </form>
      <div class="chips" role="group" aria-label="Filter by outcome">
        {chips.map(([more, name]) => {
          const pressed = (choice.status ?? "") === (more.status ?? "") && (choice.unexplained ?? "") === (more.unexplained ?? "");
          return <button type="button" aria-pressed={pressed} onClick={() => set({ status: "", unexplained: "", ...more })}>{name}</button>;
        })}
      </div>
      {pick("domain", "any domain", rows?.domains ?? (choice.domain ? [choice.domain] : []))}
      {pick("tier", "any tier", Object.keys(TIERS))}
      {!!rows?.lanes.length && pick("lane", "any lane", rows.lanes)}
      <span class="gap" />
      {rows && <span class="dim num" aria-live="polite">{count(rows)}</span>}
    </>
  );
}

function count(rows: EntryRows): string {
  const many = rows.total === 1 ? "1 entry" : `${rows.total.toLocaleString("en")} entries`;
  return rows.more ? `${rows.entries.length.toLocaleString("en")} of ${many}` : many;
}

function Entries({ rows, more, choice, selected }: { rows: EntryRows | null; more: (() => void) | null; choice: Choice; selected: string | null }) {
  const entries = rows?.entries ?? [];
  const place = entries.findIndex((row) => row.id === selected);
  const to = (id: string) => link(["journal", "entry", id], choice);
  const move = (step: 1 | -1, wanted: (row: EntryRow) => boolean): boolean => {
    for (let next = place < 0 && step < 0 ? entries.length - 1 : place + step; next >= 0 && next < entries.length; next += step) {
      if (wanted(entries[next]!)) {
        go(to(entries[next]!.id), true);
        break;
      }
    }
    return true;
  };
  useActions((action: Action) => {
    switch (action) {
      case "next": return move(1, () => true);
      case "previous": return move(-1, () => true);
      case "next-failure": return move(1, (row) => row.status === "falsified");
      case "previous-failure": return move(-1, (row) => row.status === "falsified");
      case "open": document.getElementById("pane")?.focus(); return selected !== null;
      case "back": if (selected) go(link(["journal"], choice)); return selected !== null;
      default: return false;
    }
  });
  const narrowed = Object.keys(choice).length > 0;
  return (
    <div class={`split ${selected ? "has-selection" : ""}`}>
      <div class="left">
        {rows && entries.length === 0 && (narrowed ? <Empty>No entry fits.</Empty> : <Empty>No entries yet. <code>proctor journal create --help</code> shows how to make one; it will appear here.</Empty>)}
        <VirtualList items={entries} height={54} focus={place} label={`${entries.length} entries`} keyOf={(row) => `${row.lane ?? ""}/${row.id}`}
          render={(row) => (
            <a class={`entry-line ${row.id === selected ? "now" : ""}`} href={to(row.id)} aria-current={row.id === selected ? "true" : undefined}>
              <span class="entry-goal"><Sign status={row.status} /> <span class="text">{row.goal}</span></span>
              <span class="entry-facts dim">{row.tier && row.tier !== "abandoned" && <Tier tier={row.tier} />} <span>{row.domain}</span>{row.lane && <span>lane {row.lane}</span>}{row.iterations > 1 && <span>{row.iterations} iterations</span>}{row.needs_annotation && <span class="s-pending">unexplained</span>}<span class="gap" /><time dateTime={row.created_at} title={when(row.created_at)}>{ago(row.created_at)}</time></span>
            </a>
          )} />
        {more && <p class="more"><button type="button" onClick={more}>Older entries</button></p>}
      </div>
      <div class="right" id="pane" tabIndex={-1}>
        {selected ? <EntryPane id={selected} back={link(["journal"], choice)} changed={entries[place]?.ended_at ?? null} /> : <Empty>{entries.length > 0 ? "Choose an entry to read it." : ""}</Empty>}
      </div>
    </div>
  );
}
