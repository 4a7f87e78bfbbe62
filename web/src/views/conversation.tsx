// One attempt: why it failed, what was said turn by turn, and what is said of the whole.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { duration, plural, turnName, word } from "../format";
import { callsOf, failingTurn, type Step, type Talk, type ToolCall, type Turn } from "../model/talk";
import { follow } from "../state";
import { Value } from "../ui/parts";
import { CallSummary, ModelCalls } from "./calls";
import { Checks } from "./checks";
import { Waterfall } from "./waterfall";

/** How near to its end a conversation must be seen for what comes next to be scrolled to. */
const NEAR = 60;

interface Props { talk: Talk; turnAt: number | null; live: boolean; linkTo: (turn: number) => string }

export function Conversation({ talk, turnAt, live, linkTo }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (turnAt !== null) document.getElementById(`turn-${turnAt}`)?.scrollIntoView({ block: "center" });
  }, [turnAt, talk.turns.length > 0]);
  useLayoutEffect(() => {
    const element = box.current;
    // Whoever reads further up is left there.
    if (element && live && follow.value && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [talk.events.length, live]);
  const scrolled = () => {
    const element = box.current;
    if (element) atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
  };
  const failed = failingTurn(talk);
  const spansOfTurns = talk.turns.reduce((sum, turn) => sum + turn.spans.length, 0);
  const loose = talk.spans.length > spansOfTurns ? talk.spans.filter((span) => !talk.turns.some((turn) => turn.spans.includes(span))) : [];
  return (
    <div class="talk" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label="Conversation">
      <Failure talk={talk} linkTo={linkTo} />
      {(talk.signal !== null || talk.exit_status !== null) && <p class="dim">Its worker ended with {talk.signal !== null ? `signal ${talk.signal}` : `exit status ${talk.exit_status}`}.</p>}
      {talk.output_tail.length > 0 && <details class="panel" open><summary>Last lines of output</summary><pre>{talk.output_tail.join("\n")}</pre></details>}
      {talk.goal && <p class="goal"><b>Goal</b> {talk.goal}{talk.max_turns !== null && <span class="dim"> · at most {plural(talk.max_turns, "turn")}</span>}</p>}
      {talk.turns.map((turn) => <TurnView key={turn.number} turn={turn} here={turn.number === turnAt} failed={turn.number === failed} to={linkTo(turn.number)} />)}
      {talk.ended && <p class="dim ended">The simulation ended: {word(talk.ended)}.</p>}
      {talk.evaluations.length > 0 && <section id="whole" aria-label="Checks of the whole"><h3>Checks of the whole conversation</h3><Checks evaluations={talk.evaluations} /></section>}
      {talk.models.length > 0 && <ModelCalls calls={talk.models} of="of no turn" />}
      {loose.length > 0 && <Waterfall spans={loose} />}
      {talk.turns.length > 1 && callsOf(talk).length > 0 && <p class="dim total">In all: <CallSummary calls={callsOf(talk)} /></p>}
      {talk.output.length > 0 && (
        <details class="panel" open={talk.turns.length === 0}>
          <summary>Output, {plural(talk.output.length, "line")}</summary>
          <pre>{talk.output.slice(-2000).map((line) => <span class={line.stream === "stderr" ? "err" : undefined}>{line.line}{"\n"}</span>)}</pre>
        </details>
      )}
      {talk.leaked.length > 0 && <section class="panel"><h3>Processes it left behind</h3><pre>{talk.leaked.map((one) => `${one.pid} ${one.command ?? ""}`).join("\n")}</pre></section>}
      {talk.turns.length === 0 && !talk.exception && talk.output.length === 0 && <p class="empty">{talk.status === null ? "Running…" : "Nothing was said and nothing was printed."}</p>}
    </div>
  );
}

/** What failed, with links to the turns it names. */
function Failure({ talk, linkTo }: { talk: Talk; linkTo: (turn: number) => string }) {
  const message = talk.exception?.message ?? talk.message;
  if (message === null || message === undefined) return null;
  const turn = failingTurn(talk);
  const ofWhole = talk.turns.length > 0 && talk.evaluations.some((check) => !check.soft && check.passed === false);
  const bad = talk.exception !== null || talk.status !== "pending";
  return (
    <section class={`panel ${bad ? "bad" : ""}`} aria-label={bad ? "Failure" : "Message"}>
      <div class="panel-head">
        <h3>{talk.exception?.class ?? (bad ? "Failure" : "Message")}</h3>
        {bad && turn !== null && <a class="button small" href={linkTo(turn)}>Go to {turnName(turn).toLowerCase()}</a>}
        {bad && turn === null && ofWhole && <button type="button" class="small" onClick={() => document.getElementById("whole")?.scrollIntoView()}>Go to the checks of the whole</button>}
      </div>
      <pre class="message">{withTurnLinks(message, talk, linkTo)}</pre>
      {!!talk.exception?.backtrace.length && <details><summary>Backtrace, {plural(talk.exception.backtrace.length, "line")}</summary><pre>{talk.exception.backtrace.join("\n")}</pre></details>}
    </section>
  );
}

/** Lines that begin with the name of a turn begin with a link to it. */
function withTurnLinks(message: string, talk: Talk, linkTo: (turn: number) => string): ComponentChildren[] {
  return message.split(/^(turn \d+)(?=\W)/m).map((part, place) => {
    const number = place % 2 === 1 ? Number(part.slice(5)) : null;
    return talk.turns.some((turn) => turn.number === number) ? <a href={linkTo(number!)}>{part}</a> : part;
  });
}

function TurnView({ turn, here, failed, to }: { turn: Turn; here: boolean; failed: boolean; to: string }) {
  const took = turn.from !== null && turn.to !== null && turn.to > turn.from ? turn.to - turn.from : null;
  return (
    <section class={`turn ${here ? "here" : ""} ${failed ? "failed" : ""}`} id={`turn-${turn.number}`} aria-label={turnName(turn.number)}>
      <div class="turn-head">
        <a href={to} title="Link to this turn">{turnName(turn.number)}</a>{turn.topic && <span class="topic">{turn.topic}</span>}
        <span class="gap" />
        <span class="num" title="from its first event to its last">{duration(took)}</span>
        {turn.models.length > 0 && <CallSummary calls={turn.models} />}
      </div>
      {turn.steps.map((step, place) => <StepView key={place} step={step} />)}
      {turn.evaluations.length > 0 && <Checks evaluations={turn.evaluations} />}
      {turn.models.length > 0 && <ModelCalls calls={turn.models} of={`of ${turnName(turn.number).toLowerCase()}`} />}
      {turn.spans.length > 0 && <Waterfall spans={turn.spans} />}
    </section>
  );
}

function StepView({ step }: { step: Step }) {
  switch (step.kind) {
    case "user":
      return <div class="said user"><div class="who">User{step.said.source && <span class="dim"> · {step.said.source}</span>}</div><div class="text">{step.said.text}</div><Value label="metadata" value={step.said.metadata} /></div>;
    case "agent":
      return (
        <div class="said agent">
          <div class="who">Agent{step.said.duration_ms !== null && <span class="dim"> · {duration(step.said.duration_ms)}{step.said.first_token_ms !== null && `, first token ${duration(step.said.first_token_ms)}`}</span>}</div>
          <div class="text">{step.said.text || <span class="dim">(no text)</span>}</div>
          <Value label="metadata" value={step.said.metadata} />
        </div>
      );
    case "tool":
      return <Tool call={step.call} />;
    case "topic":
      return <p class="moved">{step.from ? <>{step.from} → </> : null}<b>{step.to}</b>{step.trigger && <span class="dim"> · {word(step.trigger)}</span>}</p>;
    case "trouble":
      return <div class="panel bad"><h4>{step.trouble.whose} error{step.trouble.operation && ` · ${step.trouble.operation}`}{step.trouble.class && ` · ${step.trouble.class}`}</h4><pre class="message">{step.trouble.message}</pre></div>;
  }
}

function Tool({ call }: { call: ToolCall }) {
  return (
    <details class={`tool ${call.error ? "bad" : ""}`}>
      <summary>
        <span class="tool-line"><span class="tool-name">{call.name}</span> <code class="brief">{brief(call.arguments)}</code>
          <span class="gap" />
          {!call.done && <span class="s-running">running</span>}
          {call.duration_ms !== null && <span class="num dim">{duration(call.duration_ms)}</span>}
        </span>
        {call.error ? <code class="result s-failed">✗ {brief(call.error)}</code> : call.result !== undefined && call.result !== null && <code class="result">→ {brief(call.result)}</code>}
      </summary>
      <Value label="arguments" value={call.arguments} open />
      <Value label="result" value={call.result} open />
      <Value label="error" value={call.error} open />
    </details>
  );
}

function brief(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
