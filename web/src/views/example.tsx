// One example: its verdict, its attempts, what was said, and the raw events.

import { isLive, phraseOf } from "../model/verdict";
import { useEffect, useMemo, useState } from "preact/hooks";

import { duration, percent, quoted } from "../format";
import { rateOf, statusOf, titleOf } from "../model/rows";
import { chosenTalk, failingTurn, otherTalk, talksOf, type Talk } from "../model/talk";
import type { Event, Row } from "../model/types";
import { go, link, route } from "../router";
import type { Feed } from "../source";
import { source, version } from "../state";
import { useActions } from "../ui/keys";
import { Badge, Copy, Trouble } from "../ui/parts";
import { Attempts, Differences, placeOf } from "./attempts";
import { Conversation } from "./conversation";
import { EventList } from "./events";
import { Rerun, useRerun } from "./rerun";

export function ExamplePane({ feed, id, at }: { feed: Feed; id: string; at: string[] }) {
  const query = route.value.query;
  const { events, problem } = useEvents(feed, id);
  const talks = useMemo(() => talksOf(events ?? []), [events, events?.length, version.value]);
  const place = feed.run.places.get(id);
  const row = place === undefined ? undefined : feed.run.rows[place];
  const raw = query.get("view") === "events";
  const chosen = chosenTalk(talks, query);
  const against = chosen && query.get("against") ? otherTalk(talks, chosen, query.get("against")!) : undefined;
  const here = [...at, "example", id];
  const address = (more: Record<string, string | number | null>) => link(here, { ...placeOf(chosen), view: query.get("view"), against: query.get("against"), ...more });
  const rerun = useRerun(() => (row ? [row] : []), row?.id);
  useActions((action) => {
    switch (action) {
      case "events": go(address({ view: raw ? null : "events" }), true); return true;
      case "history-of-this": go(link(["history"], { example: id })); return true;
      case "run-again": return rerun.start(null);
      case "next-attempt":
      case "previous-attempt": return step(talks, chosen, action === "next-attempt" ? 1 : -1, (talk) => go(address({ ...placeOf(talk), turn: null }), true));
      case "difference": return talks.length > 1 && chosen !== undefined && (go(address({ against: against ? null : "1", view: null }), true), true);
      case "failing-turn": return turnOf(chosen) !== null && (go(address({ turn: turnOf(chosen), view: null }), true), true);
      default: return false;
    }
  });
  if (problem) return <Trouble message={problem} />;
  if (!row) return <p class="empty">This run has no example <code>{id}</code>.</p>;
  const linkTo = (turn: number) => address({ turn, view: null, against: null });
  return (
    <article class="pane">
      <header>
        <a class="back" href={link(at)} aria-label="Back to the list">‹ list</a>
        <p class="dim crumbs">{row.file}{row.path.length > 1 && <> › {row.path.slice(0, -1).join(" › ")}</>}</p>
        <h2>{row.path.at(-1) ?? titleOf(row)}</h2>
        <div class="bar">
          <Verdict row={row} />
          {talks.length < 2 && <AttemptFacts talk={chosen} />}
          {row.tags.map((tag) => <span class="tag">{tag}</span>)}
          <span class="gap" />
          <Rerun rerun={rerun} label="Run again" shortcut="x" />
          <Copy text={commandOf(row)} label="Copy re-run command" />
          {source.value.kind === "server" && <a class="button small" href={link(["history"], { example: row.id })}>History</a>}
        </div>
        {rerun.problem && <Trouble message={rerun.problem} />}
        {talks.length > 1 && <Attempts talks={talks} chosen={chosen} against={against} address={address}><AttemptFacts talk={chosen} /></Attempts>}
        <nav class="tabs" aria-label="Ways to look">
          <a href={address({ view: null })} aria-current={raw ? undefined : "page"}>{against ? "Differences" : "Conversation"}</a>
          <a href={address({ view: "events" })} aria-current={raw ? "page" : undefined}>Events {events ? `(${chosen?.events.length ?? 0})` : ""} <kbd>e</kbd></a>
        </nav>
      </header>
      {raw ? <EventList events={chosen?.events ?? []} />
        : chosen && against ? <Differences a={against} b={chosen} talks={talks} />
        : chosen ? <Conversation key={`${chosen.repeat} ${chosen.attempt}`} talk={chosen} turnAt={Number(query.get("turn")) || null} live={isLive(feed.state)} linkTo={linkTo} />
        : <p class="empty">{events ? "Nothing has happened yet." : "Reading…"}</p>}
    </article>
  );
}

function useEvents(feed: Feed, id: string): { events: Event[] | null; problem: string | null } {
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
  return { events, problem };
}

/** The verdict of the example, and what it rests on where it was made more than once. */
function Verdict({ row }: { row: Row }) {
  const status = statusOf(row);
  const { passed, valid } = rateOf(row);
  const repeats = new Set(row.attempts.map((attempt) => attempt.repeat)).size;
  return (
    <>
      <Badge status={status} text={phraseOf(status)} title="the verdict of the example, over all its attempts" />
      {repeats > 1 && <span class="num">{passed} of {valid} repetitions passed</span>}
      {row.pass_rate !== null && <span class="tag">must pass in {percent(row.pass_rate)}</span>}
      {row.unchecked && <span class="tag" title="passed without checking anything">unchecked</span>}
    </>
  );
}

/** What is known of the attempt that is shown. */
function AttemptFacts({ talk }: { talk: Talk | undefined }) {
  if (!talk) return null;
  return (
    <>
      {talk.fault && <span class="tag" title="whose failure it was">fault: {talk.fault}</span>}
      {talk.duration_ms !== null && <span class="num">{duration(talk.duration_ms)}</span>}
    </>
  );
}

function commandOf(row: Row): string {
  return row.location ? `proctor run ${quoted(row.location)}` : `proctor run --stable-id ${quoted(row.id)}`;
}

function turnOf(talk: Talk | undefined): number | null {
  return talk ? failingTurn(talk) : null;
}

function step(talks: Talk[], chosen: Talk | undefined, by: 1 | -1, show: (talk: Talk) => void): boolean {
  const next = chosen && talks[talks.indexOf(chosen) + by];
  if (next) show(next);
  return talks.length > 1;
}
