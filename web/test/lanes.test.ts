import { expect, test } from "vitest";

import { lanesOf, moved, zoomed } from "../src/model/lanes";
import { apply, emptyRun } from "../src/model/rows";

const at = (second: number) => new Date(1_700_000_000_000 + second * 1000).toISOString();

/** Attempts from when to when, in seconds. */
function run(attempts: [from: number, to: number, status: string, worker: number | null][]) {
  const made = emptyRun();
  for (const [place, [from, to, status, worker]] of attempts.entries()) {
    const own = { seq: 0, example_id: `e${place}`, ...(worker === null ? {} : { worker }) };
    apply(made, { ...own, event_type: "ExampleStarted", time: at(from) });
    apply(made, { ...own, event_type: "ExampleFinished", time: at(to), duration_ms: (to - from) * 1000, status });
  }
  return made.rows;
}

test("conversations at the same time have lanes of their own, and no more than are needed", () => {
  const { groups, bars, lanes } = lanesOf(run([[0, 4, "passed", null], [1, 3, "passed", null], [4, 6, "passed", null], [3, 5, "passed", null]]), 0);
  expect([groups.length, lanes]).toEqual([1, 2]);
  expect(bars.map((bar) => [bar.row.id, bar.lane])).toEqual([["e0", 0], ["e1", 1], ["e2", 0], ["e3", 1]]);
  for (const one of bars) for (const other of bars) if (one !== other && one.lane === other.lane) expect(one.from >= other.to || other.from >= one.to).toBe(true);
});

test("failures are in the upper lanes, workers are groups", () => {
  const { groups, bars } = lanesOf(run([[0, 9, "passed", null], [1, 8, "failed", null], [2, 7, "timed_out", null], [0, 1, "failed", 3], [0, 1, "passed", 1]]), 0);
  const lane = (id: string) => bars.find((bar) => bar.row.id === id)!.lane;
  expect([lane("e1"), lane("e2"), lane("e0")]).toEqual([0, 1, 2]);
  expect(groups.map((group) => [group.worker, group.first, group.lanes])).toEqual([[null, 0, 3], [1, 3, 1], [3, 4, 1]]);
});

test("what runs lasts until now, what never started is left out", () => {
  const made = emptyRun();
  apply(made, { seq: 0, event_type: "ExampleStarted", example_id: "a", time: at(0) });
  apply(made, { seq: 0, event_type: "ExampleFinished", example_id: "b", status: "not_run" });
  const { bars, end } = lanesOf(made.rows, Date.parse(at(5)));
  expect([bars.length, end]).toEqual([1, Date.parse(at(5))]);
});

test("zooming keeps what is under the pointer, and nothing beyond the ends is seen", () => {
  const view = zoomed({ zoom: 1, from: 0 }, 4, 0.5);
  expect(view).toEqual({ zoom: 4, from: 0.375 });
  expect(view.from + 0.5 / view.zoom).toBe(0.5);
  expect(zoomed(view, 0.01, 0.2)).toEqual({ zoom: 1, from: 0 });
  expect([moved(view, 9).from, moved(view, -9).from]).toEqual([0.75, 0]);
});
