// The request that runs examples again.

import type { Row } from "./types";

/** A request has a limit; beyond so many examples their files are run whole. */
export const MOST_IDS = 3000;

/** Files of rows within the project, without the mark of the current folder. */
function filesOf(rows: readonly Row[]): string[] {
  const files = rows.map((row) => row.file?.replace(/^\.\//, "") ?? "");
  return [...new Set(files)].filter((file) => file !== "" && !file.startsWith("/") && !file.split("/").includes(".."));
}

/** Files are named too: examples need not stand where a run without paths looks. Where one has no file, all of the project is looked at. */
export function rerunRequest(rows: readonly Row[], agent: string | null): Record<string, unknown> {
  const files = filesOf(rows);
  const request: Record<string, unknown> = { paths: rows.every((row) => row.file !== null) ? files : [] };
  if (rows.length <= MOST_IDS) request["example_ids"] = rows.map((row) => row.id);
  if (agent !== null) request["agent"] = agent;
  return request;
}
