// Examples by file and context, failures first, as the lines of a list.

import { isBad, statusOf, titleOf } from "./rows";
import type { Row } from "./types";
import { countedAs } from "./verdict";

export type Line =
  | { kind: "group"; key: string; text: string; depth: number; bad: number; total: number; open: boolean; file: boolean }
  | { kind: "example"; key: string; row: Row; status: string; depth: number };

export interface Choice { text: string; status: string | null }

export function matches(row: Row, status: string, choice: Choice): boolean {
  if (choice.status === "bad" ? !isBad(row) : choice.status !== null && status !== choice.status && countedAs(status) !== choice.status) return false;
  if (choice.text === "") return true;
  const text = `${titleOf(row)} ${row.file ?? ""} ${row.id} ${row.tags.join(" ")}`.toLowerCase();
  return choice.text.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

interface Group { key: string; text: string; groups: Map<string, Group>; rows: { row: Row; status: string }[]; bad: number; total: number; file: boolean }

function group(key: string, text: string, file: boolean): Group {
  return { key, text, groups: new Map(), rows: [], bad: 0, total: 0, file };
}

export function linesOf(rows: Row[], choice: Choice, closed: ReadonlySet<string>): Line[] {
  const root = group("", "", false);
  for (const row of rows) {
    const status = statusOf(row);
    if (!matches(row, status, choice)) continue;
    const names = [row.file ?? row.suite ?? "examples", ...row.path.slice(0, -1)];
    let at = root;
    const bad = isBad(row) ? 1 : 0;
    for (const [depth, name] of names.entries()) {
      let next = at.groups.get(name);
      if (!next) {
        next = group(`${at.key}\u0000${name}`, name, depth === 0);
        at.groups.set(name, next);
      }
      next.bad += bad;
      next.total += 1;
      at = next;
    }
    at.rows.push({ row, status });
  }
  const lines: Line[] = [];
  const worstFirst = <T>(items: T[], isBadOne: (item: T) => boolean) => [...items.filter(isBadOne), ...items.filter((item) => !isBadOne(item))];
  const walk = (at: Group, depth: number): void => {
    for (const { row, status } of worstFirst(at.rows, (one) => isBad(one.row))) {
      lines.push({ kind: "example", key: row.id, row, status, depth });
    }
    for (const next of worstFirst([...at.groups.values()], (one) => one.bad > 0)) {
      const open = !closed.has(next.key);
      lines.push({ kind: "group", key: next.key, text: next.text, depth, bad: next.bad, total: next.total, open, file: next.file });
      if (open) walk(next, depth + 1);
    }
  };
  walk(root, 0);
  return lines;
}
