// Where runs come from: a server, or the events that stand in the page itself.

import { isLive } from "./model/verdict";
import { apply, emptyRun, end, runOf, type Run } from "./model/rows";
import type { Choice, EntryRows, JournalStats, WholeEntry } from "./model/journal";
import { parseQuery } from "./model/query";
import { search } from "./model/search";
import type { Comparison, Event, FlakyExample, Header, HistoryPoint, Row, RunInfo, RunListing, RunState, Searched } from "./model/types";

export interface Abilities { can_run: boolean; can_stop: boolean; agents: string[] }

/** An open run: rows that grow, and the events of examples on demand. */
export interface Feed {
  readonly id: string;
  run: Run;
  state: RunState;
  info: RunInfo | null;
  problem: string | null;
  exampleEvents(id: string): Promise<Event[]>;
  close(): void;
}

export interface Source {
  readonly kind: "server" | "file";
  runs(before?: string): Promise<{ runs: RunListing[]; more: string | null; total: number; can_run: boolean; can_stop: boolean; agents: string[] }>;
  /** What can be done here besides looking. */
  abilities(): Promise<Abilities>;
  open(id: string, changed: () => void): Promise<Feed>;
  /** `margin` in percentage points; empty for none. */
  compare(before: string, after: string, margin: string): Promise<Comparison>;
  baselines(): Promise<string[]>;
  history(about: { example?: string; tag?: string }): Promise<{ example: { id: string; title: string } | null; points: HistoryPoint[]; notes: string[] }>;
  flaky(): Promise<FlakyExample[]>;
  search(query: string, run?: string): Promise<Searched>;
  journal(choice: Choice, limit: number): Promise<EntryRows>;
  journalEntry(id: string): Promise<WholeEntry>;
  journalStats(choice: Choice): Promise<JournalStats>;
  start(request: Record<string, unknown>): Promise<string>;
  /** Stops a run, whoever started it; `now` does not wait for running examples. */
  cancel(run: string, now: boolean): Promise<string>;
}

export class Refusal extends Error {}

async function ask<T>(path: string, options?: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Refusal("the server does not answer; is `proctor serve` still running?");
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refusal(body?.error ?? `the server answered ${answer.status}`);
  return body as T;
}

const name = encodeURIComponent;

export function serverSource(): Source {
  return {
    kind: "server",
    runs: (before) => ask(`/api/runs?limit=100${before ? `&before=${name(before)}` : ""}`),
    abilities: () => ask("/api/runs?limit=1"),
    open: openOnServer,
    compare: (before, after, margin) => ask(`/api/compare?before=${name(before)}&after=${name(after)}${margin ? `&margin=${name(margin)}` : ""}`),
    baselines: async () => (await ask<{ baselines: string[] }>("/api/baselines")).baselines,
    history: ({ example, tag }) => ask(`/api/history${example ? `?example=${name(example)}` : tag ? `?tag=${name(tag)}` : ""}`),
    flaky: async () => (await ask<{ flaky: FlakyExample[] }>("/api/flaky")).flaky,
    search: (query, run) => ask(`/api/search?limit=300&q=${name(query)}${run ? `&run=${name(run)}` : ""}`),
    start: async (request) => (await ask<{ run_id: string }>("/specs/run", { method: "POST", body: JSON.stringify(request) })).run_id,
    cancel: async (run, now) => (await ask<{ status: string }>(`/api/runs/${name(run)}/cancel${now ? "?now=true" : ""}`, { method: "POST" })).status,
    journal: (choice, limit) => ask(`/api/journal/entries?${new URLSearchParams({ ...choice, limit: String(limit) })}`),
    journalEntry: (id) => ask(`/api/journal/entries/${name(id)}`),
    journalStats: (choice) => ask(`/api/journal/stats?${new URLSearchParams(choice)}`),
  };
}

interface RunAnswer extends Header { id: string; state: RunState; info: RunInfo | null; problems: number }

async function openOnServer(id: string, changed: () => void): Promise<Feed> {
  const header = await ask<RunAnswer>(`/api/runs/${name(id)}`);
  const shown = await ask<{ state: RunState; last_seq: number; rows: Row[] }>(`/api/runs/${name(header.id)}/examples`);
  const feed = new LiveFeed(header.id, runOf({ ...header, last_seq: shown.last_seq }, shown.rows), shown.state, changed);
  feed.info = header.info;
  feed.follow();
  return feed;
}

/** Follows a run by WebSocket: rows first, then every event after them, each once. */
class LiveFeed implements Feed {
  info: RunInfo | null = null;
  problem: string | null = null;
  private socket: WebSocket | null = null;
  private waiting: Event[] = [];
  private scheduled = false;
  private closed = false;
  private retry = 250;
  /** Events of examples that somebody looks at. */
  private kept = new Map<string, { events: Event[]; upTo: number }>();

  constructor(readonly id: string, public run: Run, public state: RunState, private changed: () => void) {}

  follow(): void {
    if (this.closed || !isLive(this.state)) return;
    const url = new URL(`/ws?run=${name(this.id)}&since=${this.run.header.last_seq}`, location.href);
    url.protocol = "ws:";
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.onmessage = (message) => this.take(JSON.parse(message.data as string) as Event);
    socket.onopen = () => { this.problem = null; this.retry = 250; };
    socket.onclose = (closing) => {
      if (this.closed || this.socket !== socket) return;
      this.flush();
      if (closing.code === 1000) {
        if (!this.run.ending) end(this.run, "died");
        this.state = this.run.ending ?? "died";
      } else {
        this.problem = "the connection was lost; trying again";
        setTimeout(() => this.follow(), this.retry);
        this.retry = Math.min(this.retry * 2, 5000);
      }
      this.changed();
    };
  }

  private take(event: Event): void {
    this.waiting.push(event);
    if (this.scheduled) return;
    this.scheduled = true;
    // One repaint for however many events a frame brings; hidden pages have no frames.
    const soon = document.hidden ? (work: () => void) => setTimeout(work, 100) : requestAnimationFrame;
    soon(() => this.flush());
  }

  private flush(): void {
    this.scheduled = false;
    if (this.waiting.length === 0) return;
    const fresh = this.waiting;
    this.waiting = [];
    for (const event of fresh) {
      if (event.seq <= this.run.header.last_seq) continue;
      apply(this.run, event);
      const kept = event.example_id ? this.kept.get(event.example_id) : undefined;
      if (kept && event.seq > kept.upTo) kept.events.push(event);
    }
    if (this.run.ending) this.state = this.run.ending;
    else if (this.state === "loading") this.state = "running";
    this.changed();
  }

  async exampleEvents(id: string): Promise<Event[]> {
    const kept = this.kept.get(id);
    if (kept) return kept.events;
    const events: Event[] = [];
    let since = 0;
    for (;;) {
      const page = await ask<{ events: Event[]; next_since: number; more: boolean }>(
        `/api/runs/${name(this.id)}/events?example=${name(id)}&since=${since}&limit=5000`,
      );
      events.push(...page.events);
      since = page.next_since;
      if (!page.more) break;
    }
    // What came by the stream meanwhile and is not in the answer yet follows by the stream.
    if (this.kept.size > 50) this.kept.clear();
    const entry = { events, upTo: since };
    this.kept.set(id, entry);
    if (isLive(this.state) && this.run.header.last_seq > since) this.kept.delete(id);
    return events;
  }

  close(): void {
    this.closed = true;
    this.socket?.close();
  }
}

/** A report: the events stand in the page. */
export function fileSource(text: string): Source {
  const events: Event[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    try {
      events.push(JSON.parse(line) as Event);
    } catch {
      // A torn line says nothing.
    }
  }
  const run = emptyRun();
  const byExample = new Map<string, Event[]>();
  for (const event of events) {
    apply(run, event);
    if (!event.example_id) continue;
    const own = byExample.get(event.example_id);
    if (own) own.push(event);
    else byExample.set(event.example_id, [event]);
  }
  if (!run.ending) end(run, "died");
  const id = run.header.run_id ?? "report";
  const state: RunState = run.ending ?? "died";
  const alone = () => Promise.reject(new Refusal("a report holds one run; `proctor serve` shows them all"));
  const feed: Feed = {
    id, run, state, info: null, problem: null,
    exampleEvents: async (example) => byExample.get(example) ?? [],
    close: () => {},
  };
  return {
    kind: "file",
    runs: async () => ({ runs: [], more: null, total: 1, can_run: false, can_stop: false, agents: [] }),
    abilities: async () => ({ can_run: false, can_stop: false, agents: [] }),
    open: async () => feed,
    compare: alone, history: alone, flaky: alone, start: alone, cancel: alone, journal: alone, journalEntry: alone, journalStats: alone,
    baselines: async () => [],
    search: async (query) => {
      try {
        return search(id, events, run, parseQuery(query));
      } catch (error) {
        throw new Refusal(error instanceof Error ? error.message : String(error));
      }
    },
  };
}
