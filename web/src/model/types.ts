// What the server and the recordings say. Field names are those of the wire.

import type { Policy, RunState } from "./verdict";

export interface Event {
  seq: number;
  event_type: string;
  run_id?: string;
  time?: string;
  example_id?: string;
  repeat?: number;
  attempt?: number;
  worker?: number;
  turn_number?: number;
  // The rest depends on the type; see schema/events.schema.json.
  // eslint-disable-next-line
  [field: string]: any;
}

export interface Check {
  name: string;
  soft: boolean;
  passed: boolean | null;
  score: number | null;
  /** Whether a judge decided it, not a rule. */
  judged: boolean;
  /** The turn that it looked at; null where it looked at the whole conversation. */
  turn: number | null;
}

export interface Attempt {
  repeat: number;
  attempt: number;
  worker: number | null;
  status: string | null;
  fault: string | null;
  /** Whether no further attempt at this repetition follows. */
  final: boolean;
  flaky: boolean;
  /** How many checks could have failed it; null where that is not recorded. */
  check_count: number | null;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  message: string | null;
  turns: number;
  tool_calls: number;
  model_calls: number;
  tokens: number;
  cost_usd: number;
  topics: string[];
  checks: Check[];
}

export interface Row {
  id: string;
  suite: string | null;
  file: string | null;
  path: string[];
  location: string | null;
  description: string | null;
  /** The description that an example without one got while it ran; the last of `path`. */
  late_name?: string;
  tags: string[];
  /** The share of repetitions that must pass. */
  pass_rate: number | null;
  /** One word: passed, flaky, within_rate, failed, … */
  verdict: string;
  /** Whether it passed without checking anything. */
  unchecked: boolean;
  /** Whether it fails the run, by what the run tolerates. */
  failure: boolean;
  attempts: Attempt[];
}

export interface OutsideError {
  phase: string | null;
  place: string | null;
  message: string | null;
  class: string | null;
  backtrace: string[];
}

export interface WorkerRow {
  number: number;
  pid: number | null;
  started: number;
  crashed: number;
}

export interface Header {
  run_id: string | null;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  seed: number | null;
  planned: number | null;
  planned_repetitions: number | null;
  policy: Policy;
  exit_code: number | null;
  last_seq: number;
  event_count: number;
  errors: OutsideError[];
  workers: WorkerRow[];
}

export type { RunState } from "./verdict";

export interface RunInfo {
  argv?: string[];
  git?: { commit: string; dirty: boolean };
  tags?: string[];
  versions?: Record<string, string>;
}

export interface RunListing {
  id: string;
  state: RunState;
  started_at: string | null;
  duration_ms: number | null;
  exit_code: number | null;
  planned: number | null;
  counts: Record<string, number>;
  cost_usd: number | null;
  argv: string[];
  commit: string | null;
  dirty: boolean | null;
  tags: string[];
}

export type Verdict = "not_comparable" | "regression" | "cannot_tell" | "improvement" | "no_change_seen" | "unchanged";
/** Which way the observed pass rate went, whether or not that is beyond chance. */
export type Direction = "worse" | "same" | "better";
export interface Range { low: number; high: number }
export interface Tally { passed: number; attempts: number; rate: number | null; range: Range }
/** After minus before, as a share; the interval is absent where the difference is exact. */
export interface Change { estimate: number; range: Range | null }

export interface ExampleChange {
  id: string;
  id_before?: string;
  title: string;
  file: string | null;
  moved_from?: string;
  verdict: Verdict;
  direction: Direction;
  basis: "deterministic" | "fisher" | "record" | "pairs";
  why: string;
  before: Tally;
  after: Tally;
  status_before: string;
  status_after: string;
  change: Change;
  p: number | null;
  p_adjusted: number | null;
  repeats_to_tell: number | null;
  duration_before_ms: number | null;
  duration_after_ms: number | null;
  cost_before_usd: number | null;
  cost_after_usd: number | null;
}

export interface CriterionChange {
  name: string;
  verdict: Verdict;
  examples: number;
  before: Tally;
  after: Tally;
  /** Absent where the criterion only gives scores. */
  change: Change | null;
  score_before: number | null;
  score_after: number | null;
  score_change: Change | null;
  p_worse: number;
  p_better: number;
  p_worse_adjusted: number;
  p_better_adjusted: number;
}

export interface SideInfo {
  label: string;
  run_id: string | null;
  started_at: string | null;
  commit: string | null;
  complete: boolean;
  errors: number;
  examples: number;
}

export interface UsageChange {
  examples: number;
  /** Examples with more than nothing on both sides, which alone have a factor. */
  rated: number;
  before: number;
  after: number;
  ratio: number | null;
  /** Absent with fewer than three earlier runs, as is `clear`. */
  ratio_range: Range | null;
  /** Whether the factor is more than runs vary by. */
  clear: boolean | null;
}

export type Decision = "pass" | "stop" | "not_comparable" | "cannot_tell";
export interface Gate { decision: Decision; exit_code: number; reasons: string[] }

export interface SuiteChange {
  verdict: Verdict;
  test: "stratified" | "pairs";
  paired: number;
  deterministic: number;
  worse: number;
  better: number;
  p_worse: number;
  p_better: number;
  rate_before: number | null;
  rate_after: number | null;
  change: Change | null;
  /** Absent with fewer than three. */
  earlier_runs: number | null;
  runs_vary: boolean;
  repeats_to_tell: number | null;
  k: number;
  pass_hat_k_before: number | null;
  pass_hat_k_after: number | null;
}

export interface ComparisonCounts {
  paired: number;
  regressions: number;
  improvements: number;
  no_change_seen: number;
  cannot_tell: number;
  /** Those of `cannot_tell` that pass less often. */
  perhaps_worse: number;
  missing_after: number;
  missing_before: number;
  moved: number;
}

/** Version 2 of the comparison. */
export interface Comparison {
  v: number;
  before: SideInfo;
  after: SideInfo;
  config_changed: boolean | null;
  /** `margin` is a share, not points. */
  rules: { level_suite: number; level_examples: number; level_better: number; level_criteria: number; margin: number | null };
  verdict: Verdict;
  not_comparable?: string;
  gate: Gate;
  suite: SuiteChange;
  counts: ComparisonCounts;
  examples: ExampleChange[];
  gaps: { id: string; title: string; file: string | null; missing_after: boolean; reason: string }[];
  criteria: CriterionChange[];
  duration: UsageChange | null;
  cost: UsageChange | null;
}

export interface Hit {
  run: string;
  example_id: string | null;
  title: string | null;
  repeat: number | null;
  attempt: number | null;
  turn: number | null;
  seq: number | null;
  found: string;
  excerpt: string;
}

export interface Searched { hits: Hit[]; runs: number; truncated: boolean; unreadable: string[] }

export interface HistoryPoint {
  run: string;
  started_at: string | null;
  commit: string | null;
  dirty: boolean | null;
  examples: number;
  passed: number;
  attempts: number;
  status: string | null;
  duration_ms: number | null;
  cost_usd: number | null;
}

export interface FlakyExample {
  id: string; title: string; file: string | null; runs: number; passed: number; attempts: number;
  rate_low: number; rate_high: number; mixed_runs: number; torn_commits: number; changes: number; last_seen: string;
}
