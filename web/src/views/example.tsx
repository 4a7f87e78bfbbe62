// One example: its attempts, what was said, and the raw events.

import { isLive } from "../model/verdict";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { duration, money, percent, quoted, turnName, word } from "../format";
import { rateOf, titleOf } from "../model/rows";
import { talksOf, type Evaluation, type ModelCall, type Span, type Step, type Talk, type Turn } from "../model/talk";
import type { Event } from "../model/types";
import { go, link, route } from "../router";
import type { Feed } from "../source";
import { follow, source, version } from "../state";
import { useActions } from "../ui/keys";
import { Badge, Copy, Trouble, Value } from "../ui/parts";
import { EventList } from "./events";

export function ExamplePane({ feed, id, at }: { feed: Feed; id: string; at: string[] }) {
  const query = route.value.query;
  const [events, setEvents] = useState<Event[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let current = true;
    feed.exampleEvents(id).then(
      (found) => { if (current) { setEvents(found); setProblem(null); } },
      (error: Error) => current && setProblem(error.message),
    );
    return () => { current = false; };
    // While a run goes on the list may grow under us; finished ones are asked for once.
  }, [feed, id, isLive(feed.state) ? version.value : 0]);
  const talks = useMemo(() => talksOf(events ?? []), [events, events?.length, version.value]);
  const place = feed.run.places.get(id);
  const row = place === undefined ? undefined : feed.run.rows[place];
  const raw = query.get("view") === "events";
  const wanted = [Number(query.get("repeat")), Number(query.get("attempt"))];
  const chosen = talks.find((talk) => talk.repeat === wanted[0] && talk.attempt === wanted[1]) ?? talks.findLast((talk) => talk.status !== "passed" && talk.status !== null) ?? talks.at(-1);
  const here = [...at, "example", id];
  const address = (more: Record<string, string | number | null>) => link(here, {
    repeat: query.get("repeat"), attempt: query.get("attempt"), view: query.get("view"), ...more,
  });
  useActions((action) => {
    if (action !== "events") return false;
    go(address({ view: raw ? null : "events" }), true);
    return true;
  });
  if (problem) return <Trouble message={problem} />;
  if (!row) return <p class="empty">This run has no example <code>{id}</code>.</p>;
  const rerun = `proctor run --stable-id ${quoted(row.id)}`;
  const byPlace = row.location ? `proctor run ${quoted(row.location)}` : rerun;
  return (
    <article class="pane">
      <header>
        <a class="back" href={link(at)} aria-label="Back to the list">‹ list</a>
        <p class="dim crumbs">{row.file}{row.path.length > 1 && <> › {row.path.slice(0, -1).join(" › ")}</>}</p>
        <h2>{row.path.at(-1) ?? titleOf(row)}</h2>
        <div class="bar">
          {chosen && <Badge status={chosen.status ?? "running"} />}
          {chosen?.fault && <span class="tag" title="whose failure it was">fault: {chosen.fault}</span>}
          {chosen?.duration_ms !== null && chosen && <span class="num">{duration(chosen.duration_ms)}</span>}
          {row.pass_rate !== null && <span class="tag">must pass in {percent(row.pass_rate)} of the repetitions: {rateOf(row).passed} of {rateOf(row).valid} did</span>}
          {row.tags.map((tag) => <span class="tag">{tag}</span>)}
          <span class="gap" />
          <Copy text={byPlace} label="Copy re-run command" />
          {source.value.kind === "server" && <a class="button small" href={link(["history"], { example: row.id })}>History</a>}
        </div>
        {talks.length > 1 && (
          <div class="chips attempts" role="group" aria-label="Attempts">
            {talks.map((talk) => (
              <a class={`s-${talk.status ?? "running"}`} aria-current={talk === chosen ? "true" : undefined} href={link(here, { repeat: talk.repeat, attempt: talk.attempt, view: query.get("view") })}>
                {attemptName(talk, talks)} · {word(talk.status ?? "running")}
              </a>
            ))}
          </div>
        )}
        <nav class="tabs" aria-label="Ways to look">
          <a href={address({ view: null })} aria-current={raw ? undefined : "page"}>Conversation</a>
          <a href={address({ view: "events" })} aria-current={raw ? "page" : undefined}>Events {events ? `(${chosen?.events.length ?? 0})` : ""} <kbd>e</kbd></a>
        </nav>
      </header>
      {raw ? <EventList events={chosen?.events ?? []} /> : chosen ? <Conversation talk={chosen} turnAt={Number(query.get("turn")) || null} live={isLive(feed.state)} linkTo={(turn) => link(here, { repeat: chosen.repeat, attempt: chosen.attempt, turn })} /> : <p class="empty">{events ? "Nothing has happened yet." : "Reading…"}</p>}
    </article>
  );
}

function attemptName(talk: Talk, talks: Talk[]): string {
  const repeated = new Set(talks.map((one) => one.repeat)).size > 1;
  const retried = talks.some((one) => one.attempt > 1);
  return [repeated ? `repeat ${talk.repeat}` : "", retried || !repeated ? `attempt ${talk.attempt}` : ""].filter(Boolean).join(", ");
}

function Conversation({ talk, turnAt, live, linkTo }: { talk: Talk; turnAt: number | null; live: boolean; linkTo: (turn: number) => string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (turnAt !== null) document.getElementById(`turn-${turnAt}`)?.scrollIntoView({ block: "center" });
  }, [turnAt, talk.turns.length > 0]);
  useEffect(() => {
    if (live && follow.value) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [talk.events.length, live]);
  return (
    <div class="talk" ref={box}>
      {talk.exception && (
        <section class="panel bad" aria-label="Failure">
          <h3>{talk.exception.class ?? "Failure"}</h3>
          <pre class="message">{talk.exception.message}</pre>
          {talk.exception.backtrace.length > 0 && <details><summary>Backtrace, {talk.exception.backtrace.length} {talk.exception.backtrace.length === 1 ? "line" : "lines"}</summary><pre>{talk.exception.backtrace.join("\n")}</pre></details>}
        </section>
      )}
      {!talk.exception && talk.message && <section class={`panel ${talk.status === "pending" ? "" : "bad"}`}><pre class="message">{talk.message}</pre></section>}
      {(talk.signal !== null || talk.exit_status !== null) && <p class="dim">Its worker ended with {talk.signal !== null ? `signal ${talk.signal}` : `exit status ${talk.exit_status}`}.</p>}
      {talk.output_tail.length > 0 && <details class="panel" open><summary>Last lines of output</summary><pre>{talk.output_tail.join("\n")}</pre></details>}
      {talk.goal && <p class="goal"><b>Goal</b> {talk.goal}{talk.max_turns !== null && <span class="dim"> · at most {talk.max_turns} turns</span>}</p>}
      {talk.turns.map((turn) => <TurnView key={turn.number} turn={turn} here={turn.number === turnAt} to={linkTo(turn.number)} />)}
      {talk.ended && <p class="dim ended">The simulation ended: {word(talk.ended)}.</p>}
      {talk.evaluations.length > 0 && <section aria-label="Checks of the whole"><h3>Checks of the whole conversation</h3><Checks evaluations={talk.evaluations} /></section>}
      {talk.models.length > 0 && <Models calls={talk.models} />}
      {talk.spans.length > 0 && <Spans spans={talk.spans} />}
      {talk.output.length > 0 && (
        <details class="panel" open={talk.turns.length === 0}>
          <summary>Output, {talk.output.length} {talk.output.length === 1 ? "line" : "lines"}</summary>
          <pre>{talk.output.slice(-2000).map((line) => <span class={line.stream === "stderr" ? "err" : undefined}>{line.line}{"\n"}</span>)}</pre>
        </details>
      )}
      {talk.leaked.length > 0 && <section class="panel"><h3>Processes it left behind</h3><pre>{talk.leaked.map((one) => `${one.pid} ${one.command ?? ""}`).join("\n")}</pre></section>}
      {talk.turns.length === 0 && !talk.exception && talk.output.length === 0 && <p class="empty">{talk.status === null ? "Running…" : "Nothing was said and nothing was printed."}</p>}
    </div>
  );
}

function TurnView({ turn, here, to }: { turn: Turn; here: boolean; to: string }) {
  return (
    <section class={`turn ${here ? "here" : ""}`} id={`turn-${turn.number}`} aria-label={turnName(turn.number)}>
      <div class="turn-head"><a href={to} title="Link to this turn">{turnName(turn.number)}</a>{turn.topic && <span class="topic">{turn.topic}</span>}</div>
      {turn.steps.map((step, place) => <StepView key={place} step={step} />)}
      {turn.evaluations.length > 0 && <Checks evaluations={turn.evaluations} />}
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
      return (
        <details class={`tool ${step.call.error ? "bad" : ""}`}>
          <summary><span class="tool-name">{step.call.name}</span> <code class="brief">{brief(step.call.arguments)}</code>
            <span class="gap" />
            {step.call.error ? <span class="s-failed">error</span> : !step.call.done && <span class="s-running">running</span>}
            {step.call.duration_ms !== null && <span class="num dim">{duration(step.call.duration_ms)}</span>}
          </summary>
          <Value label="arguments" value={step.call.arguments} open />
          <Value label="result" value={step.call.result} open />
          <Value label="error" value={step.call.error} open />
        </details>
      );
    case "topic":
      return <p class="moved">{step.from ? <>{step.from} → </> : null}<b>{step.to}</b>{step.trigger && <span class="dim"> · {word(step.trigger)}</span>}</p>;
    case "trouble":
      return <div class="panel bad"><h4>{step.trouble.whose} error{step.trouble.operation && ` · ${step.trouble.operation}`}{step.trouble.class && ` · ${step.trouble.class}`}</h4><pre class="message">{step.trouble.message}</pre></div>;
  }
}

function brief(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 90 ? `${text.slice(0, 90)}…` : text;
}

function Checks({ evaluations }: { evaluations: Evaluation[] }) {
  return (
    <ul class="checks">
      {evaluations.map((check) => {
        const state = check.passed === null ? "inconclusive" : check.passed ? "passed" : check.soft ? "pending" : "failed";
        const more = check.reasoning ?? check.message ?? (check.description !== check.name ? check.description : null);
        return (
          <li key={check.seq} class={`check-item s-${state}`}>
            <details open={check.passed === false}>
              <summary><span class="mark" aria-label={check.passed === null ? "no verdict" : check.passed ? "holds" : "does not hold"}>{check.passed === null ? "?" : check.passed ? "✓" : "✗"}</span> <span class="name">{check.name}</span>
                {check.score !== null && <span class="num">{check.score.toFixed(2)}</span>}
                {check.soft && <span class="tag" title="recorded as quality; does not decide the verdict">soft</span>}
                {check.kind && <span class="dim">{word(check.kind)}</span>}
                {check.topic && <span class="topic">{check.topic}</span>}
              </summary>
              {check.description && check.description !== check.name && <p>{check.description}</p>}
              {check.message && <pre class="message">{check.message}</pre>}
              {check.reasoning && <blockquote>{check.reasoning}</blockquote>}
              <Value label="details" value={check.metadata} />
              {!more && <p class="dim">No reasoning was recorded.</p>}
            </details>
          </li>
        );
      })}
    </ul>
  );
}

function Models({ calls }: { calls: ModelCall[] }) {
  const cost = calls.reduce((sum, call) => sum + (call.cost_usd ?? 0), 0);
  const tokens = calls.reduce((sum, call) => sum + (call.input_tokens ?? 0) + (call.output_tokens ?? 0), 0);
  return (
    <details class="panel">
      <summary>Model calls: {calls.length}{tokens > 0 && `, ${tokens.toLocaleString("en")} tokens`}{cost > 0 && `, ${money(cost)}`}</summary>
      <div class="table-box"><table>
        <thead><tr><th>For</th><th>Model</th><th class="r">In</th><th class="r">Out</th><th class="r">Cost</th><th class="r">Took</th><th></th></tr></thead>
        <tbody>{calls.map((call) => (
          <tr key={call.seq}>
            <td>{call.purpose}</td><td>{[call.backend, call.model].filter(Boolean).join(" · ")}</td>
            <td class="r num">{call.input_tokens}</td><td class="r num">{call.output_tokens}</td><td class="r num">{call.cost_usd === null ? "" : money(call.cost_usd)}</td>
            <td class="r num">{duration(call.duration_ms)}</td><td>{call.cached && <span class="tag">cached</span>}{call.error && <span class="s-failed">{call.error}</span>}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </details>
  );
}

/** What the agent's instrumentation told, in the order it began. */
function Spans({ spans }: { spans: Span[] }) {
  const leftOut = spans.reduce((sum, span) => sum + span.left_out, 0);
  return (
    <details class="panel">
      <summary>Spans: {spans.length}{leftOut > 0 && `, ${leftOut} more were not recorded`}</summary>
      <div class="table-box"><table>
        <thead><tr><th>Turn</th><th>Span</th><th>From</th><th class="r">Took</th><th></th></tr></thead>
        <tbody>{spans.map((span) => (
          <tr key={span.seq}>
            <td>{span.turn}</td><td><span aria-hidden="true">{"· ".repeat(span.depth)}</span>{span.name}<Value label="attributes" value={span.attributes} /></td>
            <td class="dim">{span.scope}</td><td class="r num">{duration(span.duration_ms)}</td><td>{span.error && <span class="s-failed">{span.error}</span>}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </details>
  );
}
