// Criteria over a run: how often each held, and where it held least.

import { isBad } from "./rows";
import { wilson } from "./wilson";
import type { Attempt, Check, Range, Row } from "./types";

/** One conversation as a criterion sees it. */
export interface Judged { row: Row; attempt: Attempt; check: Check }
export interface Criterion {
  name: string;
  judged: boolean;
  soft: boolean;
  held: number;
  checked: number;
  /** Checks without a verdict. */
  unclear: number;
  mean: number | null;
  range: Range;
  /** Where it did not hold, was not decided, or has the lowest scores; worst first. */
  worst: Judged[];
}

const KEPT = 200;

export function criteriaOf(rows: readonly Row[]): Criterion[] {
  const found = new Map<string, Judged[]>();
  for (const row of rows) {
    for (const attempt of row.attempts) {
      for (const check of attempt.checks) {
        const own = found.get(check.name);
        if (own) own.push({ row, attempt, check });
        else found.set(check.name, [{ row, attempt, check }]);
      }
    }
  }
  const all = [...found].map(([name, judged]) => criterion(name, judged));
  // What nobody could decide comes behind what failed, and before what always held.
  const share = (one: Criterion) => (one.checked ? one.held / one.checked : 0.99999);
  return all.sort((a, b) => share(a) - share(b) || (a.mean ?? 2) - (b.mean ?? 2) || a.name.localeCompare(b.name));
}

function criterion(name: string, all: Judged[]): Criterion {
  const decided = all.filter(({ check }) => check.passed !== null);
  const held = decided.filter(({ check }) => check.passed).length;
  const scores = all.flatMap(({ check }) => (check.score === null ? [] : [check.score]));
  const worst = all.filter(({ check }) => check.passed !== true || (check.score !== null && check.score < 1));
  worst.sort((a, b) => rank(a) - rank(b) || (a.check.score ?? 0) - (b.check.score ?? 0) || Number(isBad(b.row)) - Number(isBad(a.row)));
  return {
    name, held, checked: decided.length, unclear: all.length - decided.length,
    judged: all.some(({ check }) => check.judged), soft: all.every(({ check }) => check.soft),
    mean: scores.length > 0 ? scores.reduce((a, b) => a + b, 0) / scores.length : null,
    range: wilson(held, decided.length), worst: worst.slice(0, KEPT),
  };
}

function rank({ check }: Judged): number {
  return check.passed === false ? 0 : check.passed === null ? 1 : 2;
}
