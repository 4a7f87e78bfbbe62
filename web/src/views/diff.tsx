// Two conversations side by side, with what differs marked word by word.

import { useMemo } from "preact/hooks";

import { turnName } from "../format";
import { diffWords, type Piece } from "../model/diff";
import type { Talk, Turn } from "../model/talk";

interface Text { kind: string; text: string }

/** A turn as texts that can be set side by side. */
function textsOf(turn: Turn | undefined): Text[] {
  if (!turn) return [];
  const steps = turn.steps.map((step): Text => {
    switch (step.kind) {
      case "user": return { kind: "user", text: step.said.text };
      case "agent": return { kind: "agent", text: step.said.text };
      case "tool": return { kind: "tool", text: `${step.call.name} ${JSON.stringify(step.call.arguments ?? {})}${step.call.error ? ` ✗ ${step.call.error}` : step.call.result === undefined ? "" : ` → ${typeof step.call.result === "string" ? step.call.result : JSON.stringify(step.call.result)}`}` };
      case "topic": return { kind: "topic", text: step.to };
      case "trouble": return { kind: "trouble", text: `${step.trouble.whose}: ${step.trouble.message}` };
    }
  });
  const checks = turn.evaluations.map((check): Text => ({ kind: "check", text: `${check.passed === null ? "?" : check.passed ? "✓" : "✗"} ${check.name}${check.reasoning ? ` — ${check.reasoning}` : ""}` }));
  return [...steps, ...checks];
}

/** What was said in two attempts, turn beside turn, with the words that differ. */
export function Diff({ a, b }: { a: Talk; b: Talk }) {
  const rows = useMemo(() => {
    const whole = (talk: Talk): Turn => ({ number: Infinity, topic: null, models: [], spans: [], from: null, to: null, steps: talk.exception ? [{ kind: "trouble", trouble: { seq: 0, whose: talk.exception.class ?? "failure", turn: null, class: null, message: talk.exception.message, operation: null } }] : [], evaluations: talk.evaluations });
    const numbers = [...new Set([...a.turns, ...b.turns].map((turn) => turn.number))].sort((x, y) => x - y);
    const turns = numbers.map((number) => [number, a.turns.find((turn) => turn.number === number), b.turns.find((turn) => turn.number === number)] as const);
    return [...turns, [Infinity, whole(a), whole(b)] as const].map(([number, left, right]) => ({ number, pairs: pairUp(textsOf(left), textsOf(right)) }));
  }, [a, b]);
  const first = rows.find((row) => differs(row.pairs));
  return (
    <div class="diff">
      <p class="dim">{first ? (first.number === Infinity ? "What was said is the same; the verdict differs." : `First difference: turn ${first.number}.`) : "Word for word the same."}</p>
      {rows.filter((row) => row.pairs.length > 0).map((row) => (
        <details key={row.number} class="diff-turn" open={!first || differs(row.pairs)}>
          <summary class="turn-head">{row.number === Infinity ? "At the end" : turnName(row.number)}{first && !differs(row.pairs) && ": the same"}</summary>
          {row.pairs.map(([left, right]) => {
            const pieces = diffWords(left?.text ?? "", right?.text ?? "");
            return <div class="two"><DiffCell text={left} pieces={pieces.before} /><DiffCell text={right} pieces={pieces.after} /></div>;
          })}
        </details>
      ))}
    </div>
  );
}

type Pair = [Text | null, Text | null];

function differs(pairs: Pair[]): boolean {
  return pairs.some(([left, right]) => left?.text !== right?.text);
}

/** Sets texts of the same kind beside each other, in order. */
function pairUp(left: Text[], right: Text[]): Pair[] {
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [l, r] = [left[i], right[j]];
    if (l && r && l.kind === r.kind) { pairs.push([l, r]); i += 1; j += 1; }
    else if (l && (!r || !right.slice(j).some((one) => one.kind === l.kind))) { pairs.push([l, null]); i += 1; }
    else if (r && (!l || !left.slice(i).some((one) => one.kind === r.kind))) { pairs.push([null, r]); j += 1; }
    else { pairs.push([l ?? null, null]); i += 1; }
  }
  return pairs;
}

function DiffCell({ text, pieces }: { text: Text | null; pieces: Piece[] }) {
  if (!text) return <div class="said none" />;
  return (
    <div class={`said of-${text.kind} ${text.kind === "check" ? "" : text.kind}`}>
      <div class="who">{text.kind[0]!.toUpperCase() + text.kind.slice(1)}</div>
      <div class="text">{pieces.map((piece) => piece.kind === "same" ? piece.text : piece.kind === "gone" ? <del>{piece.text}</del> : <ins>{piece.text}</ins>)}</div>
    </div>
  );
}
