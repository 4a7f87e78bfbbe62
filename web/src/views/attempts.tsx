// The attempts at an example as pills, and what differs between two of them.

import type { ComponentChildren } from "preact";

import { mark, plural, word } from "../format";
import type { Talk } from "../model/talk";
import { Diff } from "./diff";

type Address = (more: Record<string, string | number | null>) => string;

export function placeOf(talk: Talk | undefined): { repeat: number | null; attempt: number | null } {
  return { repeat: talk?.repeat ?? null, attempt: talk?.attempt ?? null };
}

/** How an attempt is called among the others. */
function nameOf(talk: Talk, talks: Talk[]): string {
  const repeated = new Set(talks.map((one) => one.repeat)).size > 1;
  const retried = talks.some((one) => one.attempt > 1);
  return [repeated ? `repeat ${talk.repeat}` : "", retried || !repeated ? `attempt ${talk.attempt}` : ""].filter(Boolean).join(", ");
}

export function Attempts({ talks, chosen, against, address, children }: { talks: Talk[]; chosen: Talk | undefined; against: Talk | undefined; address: Address; children: ComponentChildren }) {
  const retried = talks.some((talk) => talk.attempt > 1);
  return (
    <div class="bar attempts">
      <nav class="pills" aria-label="Attempts">
        {talks.map((talk) => {
          const status = talk.status ?? "running";
          const text = `${nameOf(talk, talks)}: ${word(status)}`;
          return (
            <a class={`pill s-${status}`} aria-current={talk === chosen ? "true" : undefined} aria-label={text} title={text} href={address({ ...placeOf(talk), turn: null, against: null })}>
              <span aria-hidden="true">{mark(status)} {talk.repeat}{retried && talk.attempt > 1 ? `.${talk.attempt}` : ""}</span>
            </a>
          );
        })}
      </nav>
      {children}
      {chosen && (
        <label class="check">compare with
          <select value={against ? `${against.repeat}.${against.attempt}` : ""} onChange={(event) => { location.hash = address({ against: event.currentTarget.value || null, view: null }); }}>
            <option value="">–</option>
            {talks.filter((talk) => talk !== chosen).map((talk) => <option value={`${talk.repeat}.${talk.attempt}`}>{nameOf(talk, talks)}: {word(talk.status ?? "running")}</option>)}
          </select>
        </label>
      )}
    </div>
  );
}

export function Differences({ a, b, talks }: { a: Talk; b: Talk; talks: Talk[] }) {
  return (
    <div class="talk" tabIndex={0} role="region" aria-label="Differences">
      <p class="dim">{plural(talks.length, "attempt")}; left {nameOf(a, talks)} ({word(a.status ?? "running")}), right {nameOf(b, talks)} ({word(b.status ?? "running")}).</p>
      <Diff a={a} b={b} />
    </div>
  );
}
