// One attempt at an example as a reader wants it: turn by turn, with what was checked, asked and printed.

import type { Event } from "./types";

export interface ToolCall { id: string | null; name: string; arguments: unknown; result: unknown; error: string | null; done: boolean; duration_ms: number | null; seq: number }
export interface Said { text: string; source: string | null; duration_ms: number | null; first_token_ms: number | null; seq: number; metadata: unknown; pending: unknown[] }
/** How often the judge was asked about one check, and what it said. */
export interface Votes { passed: number; failed: number }
export interface Evaluation { seq: number; turn: number | null; name: string; description: string | null; soft: boolean; kind: string | null; passed: boolean | null; score: number | null; reasoning: string | null; message: string | null; topic: string | null; votes: Votes | null; metadata: unknown }
export interface ModelCall { seq: number; backend: string | null; model: string | null; purpose: string | null; input_tokens: number | null; output_tokens: number | null; cost_usd: number | null; duration_ms: number | null; cached: boolean; tries: number | null; error: string | null; prompt: string | null; text: string | null; tool_calls: unknown[]; turn: number | null }
/** Work of the agent as its instrumentation told it; `depth` is how many spans it is in. */
export interface Span { seq: number; turn: number; id: string; parent: string | null; name: string; started: number | null; duration_ms: number | null; scope: string | null; error: string | null; attributes: unknown; left_out: number; depth: number }
export interface Trouble { seq: number; whose: string; turn: number | null; class: string | null; message: string; operation: string | null }

/** What happened within a turn, in order. */
export type Step =
  | { kind: "user"; said: Said }
  | { kind: "agent"; said: Said }
  | { kind: "tool"; call: ToolCall }
  | { kind: "topic"; to: string; from: string | null; trigger: string | null; seq: number }
  | { kind: "trouble"; trouble: Trouble };

export interface Turn {
  number: number;
  topic: string | null;
  steps: Step[];
  evaluations: Evaluation[];
  /** Those that the turn led to: of the agent, of the simulated user before it, of the judge after it. */
  models: ModelCall[];
  spans: Span[];
  /** When its first and its last event happened, in milliseconds. */
  from: number | null;
  to: number | null;
}

export interface Talk {
  repeat: number;
  attempt: number;
  status: string | null;
  fault: string | null;
  duration_ms: number | null;
  exception: { class?: string; message: string; backtrace: string[] } | null;
  message: string | null;
  output_tail: string[];
  leaked: { pid: number; command?: string }[];
  signal: number | null;
  exit_status: number | null;
  goal: string | null;
  max_turns: number | null;
  ended: string | null;
  turns: Turn[];
  evaluations: Evaluation[];
  /** Calls of no turn: those of judgements on the whole. */
  models: ModelCall[];
  /** Calls of which is not known yet what they were for. */
  waiting: ModelCall[];
  spans: Span[];
  output: { stream: string; line: string; seq: number }[];
  events: Event[];
}

export function talksOf(events: Event[]): Talk[] {
  const talks: Talk[] = [];
  for (const event of events) {
    const repeat = event.repeat ?? 1;
    const attempt = event.attempt ?? 1;
    let talk = talks.findLast((one) => one.repeat === repeat && one.attempt === attempt);
    if (!talk) {
      talk = emptyTalk(repeat, attempt);
      talks.push(talk);
    }
    talk.events.push(event);
    take(talk, event);
  }
  for (const talk of talks) assign(talk, null);
  return talks;
}

/** The talk of a whole attempt as one: what models were asked, and what spans there were, in all turns. */
export function callsOf(talk: Talk): ModelCall[] {
  return [...talk.turns.flatMap((turn) => turn.models), ...talk.models].sort((a, b) => a.seq - b.seq);
}

/** The turn in which an attempt failed first; null where it did not, where it failed as a whole, or nobody says where. */
export function failingTurn(talk: Talk): number | null {
  if (talk.status === "passed" || talk.status === "pending") return null;
  for (const turn of talk.turns) {
    const failed = turn.evaluations.some((check) => !check.soft && check.passed === false);
    if (failed || turn.steps.some((step) => step.kind === "trouble")) return turn.number;
  }
  const told = /^turn (\d+)\b/m.exec(talk.exception?.message ?? talk.message ?? "");
  const named = told ? Number(told[1]) : null;
  return talk.turns.some((turn) => turn.number === named) ? named : null;
}

/** The turn during which something happened at a time; null where no turn says when it was. */
export function turnAt(talk: Talk, time: number): number | null {
  return talk.turns.findLast((turn) => turn.from !== null && turn.from <= time)?.number ?? talk.turns.find((turn) => turn.from !== null)?.number ?? null;
}

function emptyTalk(repeat: number, attempt: number): Talk {
  return {
    repeat, attempt, status: null, fault: null, duration_ms: null, exception: null, message: null, output_tail: [],
    leaked: [], signal: null, exit_status: null, goal: null, max_turns: null, ended: null, turns: [], evaluations: [],
    models: [], waiting: [], spans: [], output: [], events: [],
  };
}

function turnOf(talk: Talk, number: number): Turn {
  let turn = talk.turns.find((one) => one.number === number);
  if (!turn) {
    const before = talk.turns.findLast((one) => one.number < number);
    turn = { number, topic: before?.topic ?? null, steps: [], evaluations: [], models: [], spans: [], from: null, to: null };
    talk.turns.push(turn);
    talk.turns.sort((a, b) => a.number - b.number);
  }
  return turn;
}

/** Gives the waiting calls to a turn, or to the conversation as a whole. */
function assign(talk: Talk, turn: Turn | null, wanted: (call: ModelCall) => boolean = () => true): void {
  if (talk.waiting.length === 0) return;
  const given = talk.waiting.filter(wanted);
  talk.waiting = talk.waiting.filter((call) => !wanted(call));
  for (const call of given) {
    call.turn = turn?.number ?? null;
    (turn ?? talk).models.push(call);
  }
}

const ofUser = (call: ModelCall) => call.purpose === "simulator" || call.purpose === "user";

/** Calls are recorded before what they led to, and do not say what that was. */
function assignCalls(talk: Talk, event: Event): void {
  if (talk.waiting.length === 0) return;
  const last = talk.turns.at(-1) ?? null;
  switch (event.event_type) {
    case "UserMessage":
      assign(talk, last, (call) => !ofUser(call));
      assign(talk, turnOf(talk, event.turn_number ?? 0));
      return;
    case "EvaluationRecorded":
      assign(talk, event.turn_number === undefined || event.turn_number === null ? null : turnOf(talk, event.turn_number));
      return;
    case "AgentResponse":
    case "ToolCallStarted":
    case "ToolCallCompleted":
    case "TopicChanged":
    case "InvariantEvaluated":
    case "AgentError":
      assign(talk, event.turn_number === undefined || event.turn_number === null ? last : turnOf(talk, event.turn_number), (call) => !ofUser(call));
      return;
    case "SimulationEnded":
      assign(talk, last);
  }
}

function take(talk: Talk, event: Event): void {
  const number = event.turn_number ?? talk.turns.at(-1)?.number ?? 0;
  assignCalls(talk, event);
  takeOne(talk, event, number);
  const time = Date.parse(event.time ?? "");
  const turn = event.turn_number ? talk.turns.find((one) => one.number === event.turn_number) : undefined;
  if (!turn || Number.isNaN(time)) return;
  turn.from ??= time;
  turn.to = Math.max(turn.to ?? time, time);
}

function takeOne(talk: Talk, event: Event, number: number): void {
  switch (event.event_type) {
    case "ExampleFinished":
      talk.status = event.status;
      talk.fault = event.fault ?? null;
      talk.duration_ms = event.duration_ms ?? null;
      talk.exception = event.exception ? { backtrace: [], ...event.exception } : null;
      talk.message = event.message ?? null;
      talk.output_tail = event.output_tail ?? [];
      talk.leaked = event.leaked ?? [];
      talk.signal = event.signal ?? null;
      talk.exit_status = event.exit_status ?? null;
      break;
    case "SimulationStarted":
      talk.goal = event.goal ?? null;
      talk.max_turns = event.max_turns ?? null;
      break;
    case "SimulationEnded":
      talk.ended = event.termination_reason ?? null;
      break;
    case "UserMessage":
      turnOf(talk, number).steps.push({ kind: "user", said: said(event) });
      break;
    case "AgentResponse": {
      const turn = turnOf(talk, number);
      for (const reported of event.tool_calls ?? []) {
        const call = ownCall(reported, event.seq);
        // It may have had events of its own.
        const told = turn.steps.some((step) => step.kind === "tool" && isSame(step.call, call));
        if (!told) turn.steps.push({ kind: "tool", call });
      }
      turn.steps.push({ kind: "agent", said: said(event) });
      break;
    }
    case "TopicChanged": {
      const turn = turnOf(talk, number);
      turn.topic = event.to_topic;
      turn.steps.push({ kind: "topic", to: event.to_topic, from: event.from_topic ?? null, trigger: event.trigger ?? null, seq: event.seq });
      break;
    }
    case "ToolCallStarted":
      turnOf(talk, number).steps.push({
        kind: "tool",
        call: { id: event.tool_call_id ?? null, name: event.tool_name, arguments: event.arguments, result: undefined, error: null, done: false, duration_ms: null, seq: event.seq },
      });
      break;
    case "ToolCallCompleted":
      completed(turnOf(talk, number), event);
      break;
    case "EvaluationRecorded":
    case "InvariantEvaluated":
      evaluated(talk, event);
      break;
    case "AgentError":
    case "JudgeError":
      turnOf(talk, number).steps.push({
        kind: "trouble",
        trouble: {
          seq: event.seq, whose: event.event_type === "AgentError" ? "agent" : "judge", turn: event.turn_number ?? null,
          class: event.error_class ?? null, message: event.message, operation: event.operation ?? null,
        },
      });
      break;
    case "ModelCall":
      talk.waiting.push({
        seq: event.seq, backend: event.backend ?? null, model: event.model ?? null, purpose: event.purpose ?? null,
        input_tokens: event.input_tokens ?? null, output_tokens: event.output_tokens ?? null, cost_usd: event.cost_usd ?? null,
        duration_ms: event.duration_ms ?? null, cached: event.cached === true, tries: event.tries ?? null, error: event.error ?? null,
        prompt: event.prompt ?? null, text: event.text ?? null, tool_calls: event.tool_calls ?? [], turn: null,
      });
      break;
    case "AgentSpan": {
      const span = spanOf(talk, event);
      talk.spans.push(span);
      talk.turns.find((turn) => turn.number === span.turn)?.spans.push(span);
      break;
    }
    case "WorkerLog":
      talk.output.push({ stream: event.stream ?? "stdout", line: event.line, seq: event.seq });
      break;
  }
}

function spanOf(talk: Talk, event: Event): Span {
  const parent = event.parent_span_id ?? null;
  // Spans further out come first.
  const outer = talk.spans.findLast((span) => span.id === parent);
  return {
    seq: event.seq, turn: event.turn_number ?? 0, id: event.span_id, parent, name: String(event.name ?? ""), started: timeOf(event.started_at), duration_ms: event.duration_ms ?? null,
    scope: event.scope ?? null, error: event.error ?? null, attributes: event.attributes, left_out: event.spans_left_out ?? 0,
    depth: outer ? outer.depth + 1 : 0,
  };
}

function timeOf(text: unknown): number | null {
  const time = Date.parse(String(text ?? ""));
  return Number.isNaN(time) ? null : time;
}

function said(event: Event): Said {
  return {
    text: String(event.text ?? ""), source: event.source ?? null, duration_ms: event.duration_ms ?? null,
    first_token_ms: event.first_token_ms ?? null, seq: event.seq, metadata: event.metadata, pending: event.pending_tool_calls ?? [],
  };
}

/** A call that the agent made itself and reported with its answer. */
// eslint-disable-next-line
function ownCall(call: any, seq: number): ToolCall {
  return {
    id: call?.id ?? call?.tool_call_id ?? null, name: String(call?.name ?? call?.tool_name ?? "tool"), arguments: call?.arguments,
    result: call?.result, error: call?.error ?? null, done: true, duration_ms: call?.duration_ms ?? null, seq,
  };
}

function isSame(one: ToolCall, other: ToolCall): boolean {
  if (one.id !== null && other.id !== null) return one.id === other.id;
  return one.name === other.name && JSON.stringify(one.arguments) === JSON.stringify(other.arguments);
}

function completed(turn: Turn, event: Event): void {
  const open = turn.steps.find(
    (step) => step.kind === "tool" && !step.call.done && (event.tool_call_id ? step.call.id === event.tool_call_id : step.call.name === event.tool_name),
  );
  const call: ToolCall = open?.kind === "tool" ? open.call : {
    id: event.tool_call_id ?? null, name: event.tool_name, arguments: event.arguments, result: undefined, error: null, done: true, duration_ms: null, seq: event.seq,
  };
  call.arguments ??= event.arguments;
  call.result = event.result;
  call.error = event.error ?? null;
  call.duration_ms = event.duration_ms ?? null;
  call.done = true;
  if (!open) turn.steps.push({ kind: "tool", call });
}

function evaluated(talk: Talk, event: Event): void {
  const evaluation: Evaluation = {
    seq: event.seq, turn: event.turn_number ?? null, name: event.name ?? event.description ?? event.evaluation_type ?? event.topic ?? "check",
    description: event.description ?? null, soft: event.mode === "soft", kind: event.evaluation_type ?? event.invariant_type ?? null,
    passed: event.passed ?? null, score: event.score ?? null, reasoning: event.reasoning ?? null,
    message: event.failure_message ?? event.message ?? null, topic: event.topic ?? null, votes: votesOf(event.metadata), metadata: event.metadata,
  };
  if (evaluation.turn === null) talk.evaluations.push(evaluation);
  else turnOf(talk, evaluation.turn).evaluations.push(evaluation);
}

// eslint-disable-next-line
function votesOf(metadata: any): Votes | null {
  const votes = metadata?.votes;
  return Number.isInteger(votes?.passed) && Number.isInteger(votes?.failed) ? { passed: votes.passed, failed: votes.failed } : null;
}

const isPassed = (talk: Talk) => talk.status === "passed";
const isOver = (talk: Talk) => talk.status !== null;

/** The attempt that the address names; else the first one that did not pass; else the last. */
export function chosenTalk(talks: Talk[], query: URLSearchParams): Talk | undefined {
  const [repeat, attempt] = [Number(query.get("repeat")), Number(query.get("attempt"))];
  return talks.find((talk) => talk.repeat === repeat && talk.attempt === attempt)
    ?? talks.find((talk) => isOver(talk) && !isPassed(talk)) ?? talks.at(-1);
}

/** The attempt to set beside one: the named one, else one with another outcome. */
export function otherTalk(talks: Talk[], chosen: Talk, named: string): Talk | undefined {
  const found = talks.find((talk) => talk !== chosen && `${talk.repeat}.${talk.attempt}` === named);
  return found ?? talks.find((talk) => isOver(talk) && isPassed(talk) !== isPassed(chosen)) ?? talks.find((talk) => talk !== chosen);
}
