// One attempt at an example as a reader wants it: turn by turn, with what was checked, asked and printed.

import type { Event } from "./types";

export interface ToolCall { id: string | null; name: string; arguments: unknown; result: unknown; error: string | null; done: boolean; duration_ms: number | null; seq: number }
export interface Said { text: string; source: string | null; duration_ms: number | null; first_token_ms: number | null; seq: number; metadata: unknown; pending: unknown[] }
export interface Evaluation { seq: number; turn: number | null; name: string; description: string | null; soft: boolean; kind: string | null; passed: boolean | null; score: number | null; reasoning: string | null; message: string | null; topic: string | null; metadata: unknown }
export interface ModelCall { seq: number; backend: string | null; model: string | null; purpose: string | null; input_tokens: number | null; output_tokens: number | null; cost_usd: number | null; duration_ms: number | null; cached: boolean; tries: number | null; error: string | null }
/** Work of the agent as its instrumentation told it; `depth` is how many spans it is in. */
export interface Span { seq: number; turn: number; id: string; parent: string | null; name: string; duration_ms: number | null; scope: string | null; error: string | null; attributes: unknown; left_out: number; depth: number }
export interface Trouble { seq: number; whose: string; turn: number | null; class: string | null; message: string; operation: string | null }

/** What happened within a turn, in order. */
export type Step =
  | { kind: "user"; said: Said }
  | { kind: "agent"; said: Said }
  | { kind: "tool"; call: ToolCall }
  | { kind: "topic"; to: string; from: string | null; trigger: string | null; seq: number }
  | { kind: "trouble"; trouble: Trouble };

export interface Turn { number: number; topic: string | null; steps: Step[]; evaluations: Evaluation[] }

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
  models: ModelCall[];
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
  return talks;
}

function emptyTalk(repeat: number, attempt: number): Talk {
  return {
    repeat, attempt, status: null, fault: null, duration_ms: null, exception: null, message: null, output_tail: [],
    leaked: [], signal: null, exit_status: null, goal: null, max_turns: null, ended: null, turns: [], evaluations: [],
    models: [], spans: [], output: [], events: [],
  };
}

function turnOf(talk: Talk, number: number): Turn {
  let turn = talk.turns.find((one) => one.number === number);
  if (!turn) {
    const before = talk.turns.findLast((one) => one.number < number);
    turn = { number, topic: before?.topic ?? null, steps: [], evaluations: [] };
    talk.turns.push(turn);
    talk.turns.sort((a, b) => a.number - b.number);
  }
  return turn;
}

function take(talk: Talk, event: Event): void {
  const number = event.turn_number ?? talk.turns.at(-1)?.number ?? 0;
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
      talk.models.push({
        seq: event.seq, backend: event.backend ?? null, model: event.model ?? null, purpose: event.purpose ?? null,
        input_tokens: event.input_tokens ?? null, output_tokens: event.output_tokens ?? null, cost_usd: event.cost_usd ?? null,
        duration_ms: event.duration_ms ?? null, cached: event.cached === true, tries: event.tries ?? null, error: event.error ?? null,
      });
      break;
    case "AgentSpan":
      talk.spans.push(spanOf(talk, event));
      break;
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
    seq: event.seq, turn: event.turn_number ?? 0, id: event.span_id, parent, name: String(event.name ?? ""), duration_ms: event.duration_ms ?? null,
    scope: event.scope ?? null, error: event.error ?? null, attributes: event.attributes, left_out: event.spans_left_out ?? 0,
    depth: outer ? outer.depth + 1 : 0,
  };
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
    message: event.failure_message ?? event.message ?? null, topic: event.topic ?? null, metadata: event.metadata,
  };
  if (evaluation.turn === null) talk.evaluations.push(evaluation);
  else turnOf(talk, evaluation.turn).evaluations.push(evaluation);
}
