// Small pieces that many views use.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { mark, percent, pretty, word } from "../format";
import type { Tally } from "../model/types";

export function Badge({ status, title, text }: { status: string; title?: string | undefined; text?: string }) {
  return <span class={`badge s-${status}`} title={title}><span aria-hidden="true">{mark(status)}</span> {text ?? word(status)}</span>;
}

export function Mark({ status }: { status: string }) {
  return <span class={`mark s-${status}`} role="img" aria-label={word(status)} title={word(status)}>{mark(status)}</span>;
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // No clipboard outside secure pages: the old way.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <button type="button" class="small" onClick={copy} title={text}>{done ? "copied" : label}</button>;
}

export function Trouble({ message }: { message: string }) {
  return <p class="trouble" role="alert">{message}</p>;
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Long text folds away; what is short stands there. */
export function Value({ label, value, open = false }: { label: string; value: unknown; open?: boolean }) {
  if (value === undefined || value === null) return null;
  const text = pretty(value);
  if (text.length <= 80 && !text.includes("\n")) {
    return <div class="value"><span class="label">{label}</span> <code>{text}</code></div>;
  }
  return (
    <details class="value" open={open || text.length < 400}>
      <summary><span class="label">{label}</span> <span class="dim">{text.length.toLocaleString("en")} characters</span></summary>
      <pre>{text}</pre>
    </details>
  );
}

/** A share with its interval, drawn. */
export function Rate({ tally, bare = false }: { tally: Tally; bare?: boolean }) {
  const x = (share: number) => 1 + share * 98;
  return (
    <span class="rate" title={`${tally.passed} of ${tally.attempts} · 95 % interval ${percent(tally.range.low)} to ${percent(tally.range.high)}`}>
      <svg viewBox="0 0 100 10" width="80" height="10" aria-hidden="true" preserveAspectRatio="none">
        <line class="axis" x1="1" x2="99" y1="5" y2="5" />
        <rect class="interval" x={x(tally.range.low)} width={Math.max(1, x(tally.range.high) - x(tally.range.low))} y="2" height="6" rx="2" />
        {tally.rate !== null && <rect class="point" x={x(tally.rate) - 1.5} width="3" y="0" height="10" />}
      </svg>
      {!bare && <span class="num">{tally.passed}/{tally.attempts}</span>}
    </span>
  );
}

/** Something that has to be fetched: waits, shows trouble, or shows it. */
export function useLoaded<T>(load: () => Promise<T>, keys: unknown[]): { value: T | null; problem: string | null; loading: boolean } {
  const [state, setState] = useState<{ value: T | null; problem: string | null; loading: boolean }>({ value: null, problem: null, loading: true });
  useEffect(() => {
    let current = true;
    // What was loaded for something else must not stand under the new name.
    setState({ value: null, problem: null, loading: true });
    load().then(
      (value) => current && setState({ value, problem: null, loading: false }),
      (error: unknown) => current && setState({ value: null, problem: error instanceof Error ? error.message : String(error), loading: false }),
    );
    return () => { current = false; };
  }, keys);
  return state;
}
