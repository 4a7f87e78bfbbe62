// Generated from crates/proctor-verdict/tables.json by `cargo run -p proctor-verdict --example generate`; do not edit.

export type Evidence = "for" | "against" | "nothing";
export type Outcome = "failed" | "crashed" | "timed_out" | "errored" | "inconclusive" | "unfinished" | "running" | "cancelled" | "not_run" | "pending" | "within_rate" | "flaky" | "passed";
export type RunState = "loading" | "running" | "finished" | "stopped" | "died" | "did_not_load" | "nothing_found";

export const EVIDENCE: Readonly<Record<string, Evidence>> = {"cancelled": "nothing", "crashed": "against", "errored": "against", "failed": "against", "inconclusive": "nothing", "not_run": "nothing", "passed": "for", "pending": "nothing", "timed_out": "against"};
export const EVIDENCE_OF_UNKNOWN_STATUS: Evidence = "against";
export const EXCUSING_FAULTS: readonly string[] = ["simulator", "judge", "tool", "harness"];
export const NEVER_MADE: readonly string[] = ["cancelled", "not_run"];

/** What can become of an example, worst first. */
export interface OutcomeRow { word: Outcome; status: string | null; counted_as: string; standing: string; phrase: string; sign: string }
export const OUTCOMES: readonly OutcomeRow[] = [
  {"counted_as": "failed", "phrase": "failed", "sign": "✗", "standing": "bad", "status": "failed", "word": "failed"},
  {"counted_as": "crashed", "phrase": "crashed", "sign": "✗", "standing": "bad", "status": "crashed", "word": "crashed"},
  {"counted_as": "timed_out", "phrase": "timed out", "sign": "✗", "standing": "bad", "status": "timed_out", "word": "timed_out"},
  {"counted_as": "errored", "phrase": "errored", "sign": "✗", "standing": "bad", "status": "errored", "word": "errored"},
  {"counted_as": "inconclusive", "phrase": "inconclusive", "sign": "?", "standing": "bad_unless_tolerated", "status": "inconclusive", "word": "inconclusive"},
  {"counted_as": "running", "phrase": "unfinished", "sign": "✗", "standing": "bad", "status": null, "word": "unfinished"},
  {"counted_as": "running", "phrase": "running", "sign": "○", "standing": "open", "status": null, "word": "running"},
  {"counted_as": "cancelled", "phrase": "cancelled", "sign": "-", "standing": "missing", "status": "cancelled", "word": "cancelled"},
  {"counted_as": "not_run", "phrase": "not run", "sign": "-", "standing": "missing", "status": "not_run", "word": "not_run"},
  {"counted_as": "pending", "phrase": "pending", "sign": "⏸", "standing": "good", "status": "pending", "word": "pending"},
  {"counted_as": "passed", "phrase": "passed within its pass rate", "sign": "✓", "standing": "good", "status": null, "word": "within_rate"},
  {"counted_as": "passed", "phrase": "flaky", "sign": "✓", "standing": "good_unless_refused", "status": null, "word": "flaky"},
  {"counted_as": "passed", "phrase": "passed", "sign": "✓", "standing": "good", "status": "passed", "word": "passed"},
];

export interface StateRow { word: RunState; over: boolean; phrase: string }
export const STATES: readonly StateRow[] = [
  {"over": false, "phrase": "loading", "word": "loading"},
  {"over": false, "phrase": "running", "word": "running"},
  {"over": true, "phrase": "finished", "word": "finished"},
  {"over": true, "phrase": "stopped", "word": "stopped"},
  {"over": true, "phrase": "died", "word": "died"},
  {"over": true, "phrase": "did not load", "word": "did_not_load"},
  {"over": true, "phrase": "found nothing", "word": "nothing_found"},
];
