// The rules of a verdict for events that arrive in the browser. The tables are generated; `test/verdict.test.ts` holds this file to the
// vectors that the Rust crate `proctor-verdict` gives.

import { EVIDENCE, EVIDENCE_OF_UNKNOWN_STATUS, EXCUSING_FAULTS, NEVER_MADE, OUTCOMES, STATES } from "./verdict_tables";
import type { Evidence, Outcome, OutcomeRow, RunState } from "./verdict_tables";

export type { Outcome, RunState } from "./verdict_tables";

export interface Made {
  repeat: number;
  attempt: number;
  status: string | null;
  fault: string | null;
  final: boolean;
  flaky: boolean;
  /** How many checks could have failed it; null where that is not recorded. */
  check_count: number | null;
}

export interface Policy { flaky_fails: boolean; inconclusive_fails: boolean; unchecked_fails: boolean }

export const DEFAULT_POLICY: Policy = { flaky_fails: false, inconclusive_fails: true, unchecked_fails: false };

export function evidence(status: string, fault: string | null): Evidence {
  if (fault !== null && EXCUSING_FAULTS.includes(fault)) return "nothing";
  return EVIDENCE[status] ?? EVIDENCE_OF_UNKNOWN_STATUS;
}

const BY_WORD = new Map<string, OutcomeRow>(OUTCOMES.map((row) => [row.word, row]));
const BY_STATUS = new Map<string, OutcomeRow>(OUTCOMES.filter((row) => row.status !== null).map((row) => [row.status!, row]));

/** The attempt that decides each repetition: the last one made, in the order of repetitions. */
export function deciding<T extends Made>(attempts: readonly T[]): T[] {
  const last = new Map<number, T>();
  for (const one of attempts) {
    const known = last.get(one.repeat);
    if (!known || one.attempt >= known.attempt) last.set(one.repeat, one);
  }
  return [...last.values()].sort((a, b) => a.repeat - b.repeat);
}

export interface Rate { passed: number; valid: number }
/** `unchecked`: it passed, and would not have without repetitions that checked nothing. */
export interface Verdict extends Rate { word: Outcome; unchecked: boolean }

/** Whether so many passes of so many reach a share, exactly as it was written: 7 of 125 reach 0.056. */
export function reaches(share: number, passed: number, valid: number): boolean {
  const [digits = "0", exponent = "0"] = String(share).split("e");
  const [whole = "0", part = ""] = digits.split(".");
  const decimals = part.length - Number(exponent);
  return BigInt(passed) * 10n ** BigInt(Math.max(decimals, 0)) >= BigInt(whole + part) * BigInt(valid);
}

export function verdictOf(attempts: readonly Made[], passRate: number | null, over: boolean): Verdict {
  const counts = new Map<Outcome, number>();
  const occurs = (word: Outcome) => (counts.get(word) ?? 0) > 0;
  let passed = 0, valid = 0, open = 0, unchecked = 0, flaky = false;
  for (const last of deciding(attempts)) {
    let word: Outcome;
    if (last.status === null || !(last.final || over)) {
      word = over ? "unfinished" : "running";
      open += 1;
    } else {
      const says = evidence(last.status, last.fault);
      word = BY_STATUS.get(last.status)?.word ?? "errored";
      if (word === "passed" && says !== "for") word = "inconclusive";
      if (NEVER_MADE.includes(last.status)) open += 1;
      else {
        valid += says === "nothing" ? 0 : 1;
        passed += says === "for" ? 1 : 0;
        unchecked += says === "for" && last.check_count === 0 ? 1 : 0;
      }
      const before = attempts.some((one) => one.repeat === last.repeat && one.attempt < last.attempt
        && one.status !== null && one.status !== "passed" && one.status !== "pending");
      flaky ||= last.status === "passed" && (last.flaky || before);
    }
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const worst = OUTCOMES.find((row) => occurs(row.word))?.word ?? "not_run";
  const rated = passRate !== null && passRate >= 0 && passRate <= 1;
  let word = rated ? ofRate(passRate, passed, valid, open, occurs, worst) : worst;
  if (word === "passed" && flaky) word = "flaky";
  const rests = unchecked > 0 && !(rated && isReached(passRate, passed - unchecked, valid - unchecked, open));
  return { word, passed, valid, unchecked: rests && countedAs(word) === "passed" };
}

/** Whether no outcome of the open repetitions can take the rate away. */
function isReached(share: number, passed: number, valid: number, open: number): boolean {
  return valid > 0 && reaches(share, passed, valid + open);
}

function ofRate(share: number, passed: number, valid: number, open: number, occurs: (word: Outcome) => boolean, worst: Outcome): Outcome {
  const most = valid + open;
  if (isReached(share, passed, valid, open)) return passed === valid ? "passed" : "within_rate";
  if (most > 0 && !reaches(share, passed + open, most)) return "failed";
  const waiting: Outcome[] = ["unfinished", "running", "cancelled", "not_run"];
  const found = waiting.find(occurs);
  if (found) return found;
  return worst === "pending" || worst === "errored" ? worst : "inconclusive";
}

/** Whether an example with this verdict fails the run. */
export function fails(word: string, unchecked: boolean, policy: Policy = DEFAULT_POLICY): boolean {
  if (unchecked && policy.unchecked_fails) return true;
  switch (BY_WORD.get(word)?.standing) {
    case "bad": return true;
    case "bad_unless_tolerated": return policy.inconclusive_fails;
    case "good_unless_refused": return policy.flaky_fails;
    case undefined: return true;
    default: return false;
  }
}

/** Whether a run that says it passed is not believed because of this example. Inconclusive ones may have been tolerated. */
export function contradicts(example: { verdict: string; unchecked: boolean }, policy: Policy): boolean {
  const { verdict, unchecked } = example;
  return (policy.flaky_fails && verdict === "flaky") || (policy.unchecked_fails && unchecked)
    || !["passed", "pending", "inconclusive"].includes(countedAs(verdict));
}

/** The status that a verdict is counted as. */
export function countedAs(word: string): string {
  return BY_WORD.get(word)?.counted_as ?? word;
}

export function isLive(state: RunState): boolean {
  return !(STATES.find((row) => row.word === state)?.over ?? true);
}

/** How a run came to its end, from its last event. Streams of version 0.1 say it by the exit code alone. */
// eslint-disable-next-line
export function endOf(event: { [field: string]: any }): RunState {
  const known = STATES.find((row) => row.word === event.state);
  if (known) return known.word;
  if (event.state !== undefined && event.state !== null) return "did_not_load";
  if ((event.exit_code ?? 0) > 128) return "stopped";
  if (event.exit_code !== 2) return "finished";
  return event.example_count === 0 && (event.error_count ?? 0) === 0 ? "nothing_found" : "did_not_load";
}

/** One word for a run: `passed` or `failed` if it finished, else where it is. */
export function runWord(state: RunState, exitCode: number | null): string {
  if (state !== "finished") return state;
  return exitCode === 0 ? "passed" : "failed";
}

export function phraseOf(word: string): string {
  return BY_WORD.get(word)?.phrase ?? STATES.find((row) => row.word === word)?.phrase ?? word;
}
