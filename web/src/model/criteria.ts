// Criteria over examples: how often each held where.

import type { Row } from "./types";

export interface Cell { held: number; checked: number; unclear: number; scores: number[] }
export interface Criteria { names: string[]; totals: Map<string, Cell>; rows: { row: Row; cells: Map<string, Cell> }[] }

const empty = (): Cell => ({ held: 0, checked: 0, unclear: 0, scores: [] });

export function criteriaOf(rows: Row[]): Criteria {
  const totals = new Map<string, Cell>();
  const found: Criteria["rows"] = [];
  for (const row of rows) {
    const cells = new Map<string, Cell>();
    for (const check of row.attempts.flatMap((attempt) => attempt.checks)) {
      for (const map of [cells, totals]) {
        let cell = map.get(check.name);
        if (!cell) map.set(check.name, (cell = empty()));
        if (check.passed === null) cell.unclear += 1;
        else {
          cell.checked += 1;
          cell.held += check.passed ? 1 : 0;
        }
        if (check.score !== null) cell.scores.push(check.score);
      }
    }
    if (cells.size > 0) found.push({ row, cells });
  }
  const share = (name: string) => { const cell = totals.get(name)!; return cell.checked ? cell.held / cell.checked : 2; };
  const names = [...totals.keys()].sort((a, b) => share(a) - share(b) || a.localeCompare(b));
  return { names, totals, rows: found };
}
