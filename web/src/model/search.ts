// Looking for words in the events of a report, by the rules of `proctor-history`.

import { titleOf, type Run } from "./rows";
import { find, looksAt, type Query } from "./query";
import type { Event, Hit, Searched } from "./types";

const LIMIT = 300;
const AROUND = 60;

export function search(runId: string, events: Event[], run: Run, query: Query): Searched {
  const hits: Hit[] = [];
  if (query.terms.length === 0) return { hits, runs: 1, truncated: false, unreadable: [] };
  for (const event of events) {
    const found = textOf(event);
    if (!found || !looksAt(query, found.kind)) continue;
    const place = find(query, found.text);
    if (!place) continue;
    if (hits.length === LIMIT) return { hits, runs: 1, truncated: true, unreadable: [] };
    const row = run.rows[run.places.get(event.example_id ?? "") ?? -1];
    hits.push({
      run: runId, example_id: event.example_id ?? null, title: row ? titleOf(row) : null, repeat: event.repeat ?? null,
      attempt: event.attempt ?? null, turn: event.turn_number ?? null, seq: event.seq, found: found.kind,
      excerpt: excerpt(found.text, place.at, place.length),
    });
  }
  return { hits, runs: 1, truncated: false, unreadable: [] };
}

function excerpt(text: string, at: number, length: number): string {
  const from = Math.max(0, at - AROUND);
  const to = Math.min(text.length, at + length + AROUND);
  const cut = text.slice(from, to).replace(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${cut}${to < text.length ? "…" : ""}`;
}

function textOf(event: Event): { kind: string; text: string } | null {
  const joined = (...parts: unknown[]) =>
    parts.filter((part) => part !== undefined && part !== null)
      .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
      .join(" ");
  switch (event.event_type) {
    case "ExampleStarted": return { kind: "title", text: (event.path ?? []).join(" > ") };
    case "UserMessage": return { kind: "user", text: joined(event.text) };
    case "AgentResponse": return { kind: "agent", text: joined(event.text) };
    case "ToolCallStarted":
    case "ToolCallCompleted": return { kind: "tool", text: joined(event.tool_name, event.arguments, event.result, event.error) };
    case "EvaluationRecorded":
    case "InvariantEvaluated": return { kind: "evaluation", text: joined(event.name, event.description, event.reasoning, event.failure_message, event.message) };
    case "ExampleFinished": return { kind: "failure", text: joined(event.exception?.message, event.message) };
    case "AgentError":
    case "JudgeError": return { kind: "failure", text: joined(event.message) };
    case "WorkerLog": return { kind: "output", text: joined(event.line) };
    default: return null;
  }
}
