// Running examples again from the page, with their own agent or another one.

import { useState } from "preact/hooks";

import { rerunRequest } from "../model/rerun";
import type { Row } from "../model/types";
import { go, link } from "../router";
import { abilities, source } from "../state";

export interface Started { start(agent: string | null): boolean; problem: string | null; busy: boolean; possible: boolean }

/** `rows` gives what to run when it is asked for; `show` is the example to open in the new run. */
export function useRerun(rows: () => Row[], show?: string): Started {
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const possible = abilities.value.can_run;
  const start = (agent: string | null): boolean => {
    const wanted = rows();
    if (!possible || busy || wanted.length === 0) return false;
    setBusy(true);
    setProblem(null);
    source.value.start(rerunRequest(wanted, agent)).then(
      (run) => go(link(show ? ["run", run, "example", show] : ["run", run])),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    ).finally(() => setBusy(false));
    return true;
  };
  return { start, problem, busy, possible };
}

export function Rerun({ rerun, label, shortcut }: { rerun: Started; label: string; shortcut: string }) {
  if (!rerun.possible) return null;
  const { agents } = abilities.value;
  return (
    <span class="rerun">
      <button type="button" class="small" disabled={rerun.busy} onClick={() => rerun.start(null)} title={`${label} (${shortcut})`}>{rerun.busy ? "Starting…" : label}</button>
      {agents.length > 0 && (
        <select class="small" aria-label={`${label} with another agent`} value="" disabled={rerun.busy} onChange={(event) => { const { value } = event.currentTarget; event.currentTarget.value = ""; if (value) rerun.start(value); }}>
          <option value="">with…</option>
          {agents.map((agent) => <option value={agent}>{agent}</option>)}
        </select>
      )}
    </span>
  );
}
