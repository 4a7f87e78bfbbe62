// The run in rows: the same fold as `crates/proctor-record/src/aggregate.rs`, for events that arrive in the browser.
// `test/rows.test.ts` holds both to the same recording.

import type { Attempt, Event, Header, Row, WorkerRow } from "./types";
import type { Policy, RunState } from "./verdict";
import { contradicts, countedAs, deciding, DEFAULT_POLICY, endOf, fails, verdictOf } from "./verdict";

const SHORT = 300;

/** The beginning of a long text, with a mark where it was cut; as the server does it. */
function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= SHORT ? text : `${characters.slice(0, SHORT - 1).join("")}…`;
}

export interface Run {
  header: Header;
  rows: Row[];
  places: Map<string, number>;
  /** The example that something happened in last, for those who follow. */
  latest: string | null;
  /** How it came to its end, once that is known. */
  ending: RunState | null;
}

export function emptyHeader(): Header {
  return {
    run_id: null, started_at: null, finished_at: null, duration_ms: null, seed: null, planned: null, planned_repetitions: null,
    policy: { ...DEFAULT_POLICY }, exit_code: null, last_seq: 0, event_count: 0, errors: [], workers: [],
  };
}

export function emptyRun(): Run {
  return { header: emptyHeader(), rows: [], places: new Map(), latest: null, ending: null };
}

export function runOf(header: Header, rows: Row[]): Run {
  for (const row of rows) {
    for (const attempt of row.attempts) if (attempt.status === null) joined.set(attempt, attempt.turns);
  }
  const places = new Map(rows.map((row, place) => [row.id, place]));
  const running = rows.findLast((row) => row.attempts.some((attempt) => attempt.status === null));
  return { header, rows, places, latest: running?.id ?? null, ending: null };
}

export function apply(run: Run, event: Event): void {
  const { header } = run;
  header.event_count += 1;
  header.last_seq = Math.max(header.last_seq, event.seq ?? 0);
  header.run_id ??= event.run_id ?? null;
  header.started_at ??= event.time ?? null;
  switch (event.event_type) {
    case "SuiteStarted":
      header.started_at = event.time ?? header.started_at;
      header.seed = event.seed ?? null;
      header.planned = event.example_count ?? null;
      header.planned_repetitions = event.repetition_count ?? null;
      header.policy = {
        flaky_fails: event.policy?.flaky_fails ?? DEFAULT_POLICY.flaky_fails,
        inconclusive_fails: event.policy?.inconclusive_fails ?? DEFAULT_POLICY.inconclusive_fails,
        unchecked_fails: event.policy?.unchecked_fails ?? DEFAULT_POLICY.unchecked_fails,
      };
      return;
    case "SuiteFinished":
      header.finished_at = event.time ?? null;
      header.duration_ms = event.duration_ms ?? null;
      header.exit_code = event.exit_code ?? null;
      header.planned = event.example_count ?? null;
      header.planned_repetitions = event.repetition_count ?? null;
      end(run, endOf(event));
      return;
    case "WorkerStarted": {
      const worker = workerOf(header, event);
      worker.started += 1;
      worker.pid = event.pid ?? null;
      return;
    }
    case "WorkerExited":
      workerOf(header, event).crashed += event.expected === false ? 1 : 0;
      return;
    case "ErrorOutsideExample":
      header.errors.push({
        phase: event.phase ?? null,
        place: event.place ?? null,
        message: event.exception?.message ?? event.message ?? null,
        class: event.exception?.class ?? null,
        backtrace: event.exception?.backtrace ?? [],
      });
      return;
    default:
      if (event.example_id && OF_ATTEMPTS.has(event.event_type)) inExample(run, event.example_id, event);
  }
}

/** Events that happen in an attempt; of others an example is not known by. */
const OF_ATTEMPTS = new Set([
  "ExampleStarted", "ExampleFinished", "SimulationStarted", "SimulationEnded", "UserMessage", "AgentResponse", "TopicChanged",
  "ToolCallStarted", "ToolCallCompleted", "EvaluationRecorded", "InvariantEvaluated", "ModelCall", "AgentError", "JudgeError", "WorkerLog",
]);

function workerOf(header: Header, event: Event): WorkerRow {
  const number = event.worker ?? 0;
  let worker = header.workers.find((candidate) => candidate.number === number);
  if (!worker) {
    worker = { number, pid: null, started: 0, crashed: 0 };
    header.workers.push(worker);
    header.workers.sort((a, b) => a.number - b.number);
  }
  return worker;
}

function inExample(run: Run, id: string, event: Event): void {
  let place = run.places.get(id);
  if (place === undefined) {
    place = run.rows.length;
    run.places.set(id, place);
    run.rows.push({ id, suite: null, file: null, path: [], location: null, description: null, tags: [], pass_rate: null, verdict: "running", unchecked: false, failure: false, attempts: [] });
  }
  const row = run.rows[place]!;
  run.latest = id;
  if (event.event_type === "ExampleStarted") {
    row.suite = event.suite ?? null;
    row.file = event.file ?? null;
    row.location = event.location ?? null;
    // A further attempt does not know the name that an earlier one has found.
    if (row.late_name === undefined) {
      row.path = event.path ?? [];
      row.description = event.description ?? row.path.at(-1) ?? null;
    }
    row.tags = event.tags ?? [];
    row.pass_rate = event.pass_rate ?? row.pass_rate;
  } else if (event.event_type === "ExampleFinished") {
    row.description ??= event.description ?? null;
    nameLate(row, event);
    row.location ??= event.location ?? null;
    row.pass_rate ??= event.pass_rate ?? null;
  }
  inAttempt(row, attemptOf(row, event), event);
  if (event.event_type === "ExampleStarted" || event.event_type === "ExampleFinished") {
    decide(row, run.header.policy, run.ending !== null);
  }
}

/** No event comes any more, whether or not the run said so: what is still open has no end. */
export function end(run: Run, state: RunState): void {
  const { header, rows } = run;
  run.ending = state;
  for (const row of rows) decide(row, header.policy, true);
  if (state !== "finished" || header.exit_code !== 0) return;
  const recorded = rows.reduce((sum, row) => sum + deciding(row.attempts).length, 0);
  const missing = header.planned_repetitions !== null && recorded < header.planned_repetitions;
  if (missing || header.errors.length > 0 || rows.some((row) => contradicts(row, header.policy))) header.exit_code = 1;
}

function decide(row: Row, policy: Policy, over: boolean): void {
  const { word, unchecked } = verdictOf(row.attempts, row.pass_rate, over);
  row.verdict = word;
  row.unchecked = unchecked;
  row.failure = fails(word, unchecked, policy);
}

/** An example without a description gets one while it runs: it ends the chain. What stands in for one ("example at …") does not. */
function nameLate(row: Row, event: Event): void {
  const name = event.description?.trim() ? event.description : null;
  const whole = event.full_description;
  if (!name || !whole || row.path.length === 0 || !whole.endsWith(name) || whole.length === name.length || row.path.at(-1) === name) return;
  row.path = [...(row.late_name === undefined ? row.path : row.path.slice(0, -1)), name];
  row.late_name = name;
  row.description = name;
}

function attemptOf(row: Row, event: Event): Attempt {
  const repeat = event.repeat ?? 1;
  const number = event.attempt ?? 1;
  const found = row.attempts.findLast((a) => a.repeat === repeat && a.attempt === number);
  if (found) return found;
  const attempt: Attempt = {
    repeat, attempt: number, worker: null, status: null, fault: null, final: false, flaky: false, check_count: null, started_at: null,
    finished_at: null, duration_ms: null, message: null, turns: 0, tool_calls: 0, model_calls: 0, tokens: 0,
    cost_usd: 0, topics: [], checks: [],
  };
  row.attempts.push(attempt);
  return attempt;
}

function inAttempt(row: Row, attempt: Attempt, event: Event): void {
  switch (event.event_type) {
    case "ExampleStarted":
      attempt.worker = event.worker ?? null;
      attempt.started_at = event.time ?? null;
      break;
    case "ExampleFinished": {
      attempt.worker = event.worker ?? attempt.worker;
      attempt.status = event.status;
      attempt.final = event.final ?? true;
      attempt.fault = event.fault ?? null;
      attempt.flaky = event.flaky ?? (event.status === "passed" && failedBefore(row, attempt));
      attempt.check_count = event.checks ?? null;
      calls.delete(attempt);
      attempt.finished_at = event.time ?? null;
      attempt.duration_ms = event.duration_ms ?? null;
      const message: string | undefined = event.exception?.message ?? event.message;
      attempt.message = message === undefined ? null : shortened(message);
      break;
    }
    case "UserMessage":
      attempt.turns = Math.max(attempt.turns, event.turn_number ?? 0);
      break;
    case "AgentResponse":
    case "ToolCallStarted":
    case "ToolCallCompleted":
      attempt.turns = Math.max(attempt.turns, event.turn_number ?? 0);
      attempt.tool_calls += newCalls(attempt, event);
      break;
    case "TopicChanged":
      attempt.topics.push(event.to_topic);
      break;
    case "ModelCall":
      attempt.model_calls += 1;
      attempt.tokens += (event.input_tokens ?? 0) + (event.output_tokens ?? 0);
      attempt.cost_usd += event.cost_usd ?? 0;
      break;
    case "EvaluationRecorded":
      attempt.checks.push({
        name: event.name ?? event.description ?? event.evaluation_type ?? "check",
        soft: event.mode === "soft", passed: event.passed ?? null, score: event.score ?? null,
        judged: isJudged(event.evaluation_type, event.score), turn: event.turn_number ?? null,
      });
      break;
    case "InvariantEvaluated":
      attempt.checks.push({
        name: event.description ?? event.invariant_type ?? "check",
        soft: event.mode === "soft", passed: event.passed ?? null, score: null, judged: isJudged(event.invariant_type, null), turn: null,
      });
      break;
  }
}

const JUDGED = ["quality", "grounding", "forbidden_claims", "intent", "goal_achievement"];
const MECHANICAL = ["pattern", "tool_call", "conversation_tool_call", "tool_order", "topic", "topic_history", "turn_count", "latency", "cost", "prompt", "custom"];

/** Whether a judge decided a check: the rule of `crates/proctor-record/src/tally.rs`. */
export function isJudged(kind: string | null | undefined, score: number | null | undefined): boolean {
  return JUDGED.includes(kind ?? "") || (!MECHANICAL.includes(kind ?? "") && score !== null && score !== undefined);
}

function failedBefore(row: Row, attempt: Attempt): boolean {
  return row.attempts.some((one) => one.repeat === attempt.repeat && one.attempt < attempt.attempt
    && one.status !== null && one.status !== "passed" && one.status !== "pending");
}

interface Call { turn: number; id: string | null; name: string; arguments: string; open: boolean }

/** The calls of attempts under way: one call may be told of by its start, by its end and by the agent's answer. */
const calls = new WeakMap<Attempt, Call[]>();

/** The turn in which an attempt was when this page joined it: which calls of that turn are counted already is not known here. */
const joined = new WeakMap<Attempt, number>();

/** How many calls this event is the first to tell of. */
function newCalls(attempt: Attempt, event: Event): number {
  const known = calls.get(attempt) ?? [];
  calls.set(attempt, known);
  const turn = event.turn_number ?? 0;
  const inTheMiddle = turn > 0 && turn <= (joined.get(attempt) ?? 0);
  const before = known.length;
  // eslint-disable-next-line
  const told = (call: any, open: boolean): Call => ({
    turn, id: call.id ?? call.tool_call_id ?? null, name: call.name ?? call.tool_name ?? "", arguments: JSON.stringify(call.arguments) ?? "", open,
  });
  if (event.event_type === "ToolCallStarted") {
    known.push(told(event, true));
  } else if (event.event_type === "ToolCallCompleted") {
    const call = told(event, false);
    const open = known.find((one) => one.turn === turn && one.open && one.name === call.name && one.id === call.id);
    if (open) open.open = false;
    // Its start was counted before we came.
    else if (!inTheMiddle) known.push(call);
  } else {
    for (const reported of event.tool_calls ?? []) {
      if (typeof (reported?.name ?? reported?.tool_name) !== "string") continue;
      const call = told(reported, false);
      // Calls with an id mostly have had events of their own, which were counted before we came.
      if (inTheMiddle && call.id !== null) continue;
      const same = (one: Call) => one.turn === turn
        && (one.id !== null && call.id !== null ? one.id === call.id : one.name === call.name && one.arguments === call.arguments);
      if (!known.some(same)) known.push(call);
    }
  }
  return known.length - before;
}

/** How many of the repetitions that say something about what was tested have passed. */
export function rateOf(row: Row): { passed: number; valid: number } {
  const { passed, valid } = verdictOf(row.attempts, row.pass_rate, false);
  return { passed, valid };
}

/** The verdict of an example, in one word. */
export function statusOf(row: Row): string {
  return row.verdict;
}

/** Whether it fails the run. */
export function isBad(row: Row): boolean {
  return row.failure;
}

/** The verdicts of the examples, counted. What a run that is over left open does not run any more. */
export function countsOf(rows: Row[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) {
    const status = row.verdict === "unfinished" ? "unfinished" : countedAs(row.verdict);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

export function titleOf(row: Row): string {
  return row.path.length > 0 ? row.path.join(" › ") : (row.description ?? row.id);
}
