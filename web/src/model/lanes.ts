// The attempts of a run as bars in lanes: a group for each worker, and one for what no worker did, in which lanes are packed.

import type { Attempt, Row } from "./types";

export interface Bar { row: Row; attempt: Attempt; lane: number; from: number; to: number; bad: boolean }
/** Lanes from `first` on, as many as `lanes`; `worker` is null for what no worker did. */
export interface Group { worker: number | null; first: number; lanes: number; bars: Bar[] }
export interface Lanes { groups: Group[]; bars: Bar[]; lanes: number; start: number; end: number }

const MOST_ZOOM = 4096;
const BAD = new Set(["failed", "crashed", "errored", "timed_out"]);

export function isBadStatus(status: string | null): boolean {
  return BAD.has(status ?? "");
}

export function lanesOf(rows: readonly Row[], now: number): Lanes {
  const byWorker = new Map<number | null, Bar[]>();
  for (const row of rows) {
    for (const attempt of row.attempts) {
      if (!attempt.started_at) continue;
      const from = Date.parse(attempt.started_at);
      const to = attempt.duration_ms !== null ? from + attempt.duration_ms : attempt.finished_at ? Date.parse(attempt.finished_at) : now;
      const bar = { row, attempt, lane: 0, from, to: Math.max(to, from), bad: isBadStatus(attempt.status) };
      const own = byWorker.get(attempt.worker);
      if (own) own.push(bar);
      else byWorker.set(attempt.worker, [bar]);
    }
  }
  const groups: Group[] = [];
  let lanes = 0;
  for (const worker of [...byWorker.keys()].sort((a, b) => (a ?? -1) - (b ?? -1))) {
    const bars = byWorker.get(worker)!;
    const own = pack(bars, worker === null);
    for (const bar of bars) bar.lane += lanes;
    groups.push({ worker, first: lanes, lanes: own, bars });
    lanes += own;
  }
  const bars = groups.flatMap((group) => group.bars);
  return {
    groups, bars, lanes,
    start: bars.reduce((least, bar) => Math.min(least, bar.from), Infinity),
    end: bars.reduce((most, bar) => Math.max(most, bar.to), -Infinity),
  };
}

/** Gives each bar the first lane that is free; returns how many there are. Failures choose first, so they are in the upper lanes. */
function pack(bars: Bar[], failuresFirst: boolean): number {
  const lanes: { from: number; to: number }[][] = [];
  const order = [...bars].sort((a, b) => (failuresFirst ? Number(b.bad) - Number(a.bad) : 0) || a.from - b.from || a.to - b.to);
  for (const bar of order) {
    let lane = lanes.findIndex((taken) => isFree(taken, bar));
    if (lane < 0) lane = lanes.push([]) - 1;
    insert(lanes[lane]!, bar);
    bar.lane = lane;
  }
  return lanes.length;
}

/** The first of the spans, which are in order, that ends behind a time. */
function behind(taken: { from: number; to: number }[], time: number): number {
  let [low, high] = [0, taken.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (taken[middle]!.to <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isFree(taken: { from: number; to: number }[], { from, to }: Bar): boolean {
  const next = taken[behind(taken, from)];
  return next === undefined || next.from >= to;
}

function insert(taken: { from: number; to: number }[], { from, to }: Bar): void {
  taken.splice(behind(taken, from), 0, { from, to });
}

/** What is seen of the whole: from where on, and how many times larger. */
export interface View { zoom: number; from: number }

/** The view with the same time under the same place, so many times larger. */
export function zoomed(view: View, by: number, at: number): View {
  const zoom = Math.min(MOST_ZOOM, Math.max(1, view.zoom * by));
  const from = view.from + at / view.zoom - at / zoom;
  return moved({ zoom, from }, 0);
}

/** The view so much further on, in shares of the whole; never beyond its ends. */
export function moved({ zoom, from }: View, by: number): View {
  return { zoom, from: Math.min(1 - 1 / zoom, Math.max(0, from + by)) };
}
