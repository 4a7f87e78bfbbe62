// One entry of the journal, whole: what was thought, what was seen, and the evidence for it.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { duration, percent, when } from "../format";
import type { Entry, Evidence, WholeEntry } from "../model/journal";
import { source } from "../state";
import { Outcome, Tier } from "../ui/ended";
import { Copy, Trouble } from "../ui/parts";

/** `changed` is whatever tells that the entry is another one now. */
export function EntryPane({ id, back, changed }: { id: string; back: string; changed: string | null }) {
  const [whole, setWhole] = useState<WholeEntry | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let current = true;
    let timer = 0;
    const load = () => source.value.journalEntry(id).then(
      (found) => {
        if (!current) return;
        setWhole(found);
        setProblem(null);
        // One that is active may get evidence at any time.
        if (!found.entry.outcome) timer = window.setTimeout(load, 3000);
      },
      (error: Error) => current && setProblem(error.message),
    );
    setWhole((before) => (before?.entry.id === id ? before : null));
    void load();
    return () => { current = false; clearTimeout(timer); };
  }, [id, changed]);
  if (problem) return <Trouble message={problem} />;
  if (!whole) return <p class="empty" aria-busy="true">Reading…</p>;
  const { entry, lane } = whole;
  return (
    <article class="pane">
      <header>
        <a class="back" href={back} aria-label="Back to the list">‹ list</a>
        <p class="dim crumbs">{entry.domain} › {entry.strategy}{lane && <> › lane {lane}</>}</p>
        <h2>{entry.goal}</h2>
        <div class="bar">
          <Outcome status={entry.outcome?.status ?? "active"} />
          {entry.confidence_tier && entry.confidence_tier !== "abandoned" && <Tier tier={entry.confidence_tier} />}
          {entry.iteration_count > 1 && <span class="num">{entry.iteration_count} iterations</span>}
          {entry.confidence !== undefined && <span class="num" title="the probability that the author gave it">stated {percent(entry.confidence)}</span>}
          <span class="gap" />
          <Copy text={`proctor journal show ${entry.id}`} label="Copy command" />
          <a class="button small" href={`#/journal/entry/${encodeURIComponent(entry.id)}`} title="The address of this entry alone">Link</a>
        </div>
      </header>
      <div class="talk">
        {whole.warnings.map((warning) => <Trouble message={warning} />)}
        <dl class="thought">
          <Line name="Hypothesis">{entry.hypothesis}</Line>
          <Line name="Action">{entry.action}</Line>
          <Line name="Prediction">{entry.prediction}</Line>
          {entry.expectation && <Line name="Expected of a command"><code>{entry.expectation.expect}</code> <span class="dim">said {when(entry.expectation.stated_at)}</span></Line>}
        </dl>
        {entry.outcome && <Seen entry={entry} />}
        {entry.history.length > 0 && (
          <details class="panel" open={entry.history.length < 4}>
            <summary>Earlier iterations: {entry.history.length}</summary>
            <ol class="earlier">{entry.history.map((one) => (
              <li key={one.timestamp}>
                <p>{one.hypothesis}</p>
                <p class="dim">did: {one.action}</p>
                <p class="dim">predicted: {one.prediction}{one.confidence !== undefined && ` (${percent(one.confidence)})`} · {when(one.timestamp)}</p>
              </li>
            ))}</ol>
          </details>
        )}
        {entry.notes.length > 0 && <section class="panel"><h3>Notes</h3><ul class="notes">{entry.notes.map((note) => <li>{note}</li>)}</ul></section>}
        {!!entry.evidence?.length && (
          <section aria-label="Evidence">
            <h3>Evidence: {entry.evidence.length} {entry.evidence.length === 1 ? "command" : "commands"}</h3>
            {entry.evidence.toReversed().map((piece, place) => <Piece key={entry.evidence!.length - place} piece={piece} open={place === 0} />)}
          </section>
        )}
        <p class="dim facts mono">{entry.id} · {entry.session_id} · created {when(entry.created_at)}{entry.outcome && ` · ended ${when(entry.outcome.captured_at)}`}</p>
      </div>
    </article>
  );
}

function Line({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

function Seen({ entry }: { entry: Entry }) {
  const outcome = entry.outcome!;
  const unexplained = outcome.status === "falsified" && (!entry.surprise || !entry.root_cause);
  return (
    <section class={`panel ${outcome.status === "falsified" ? "bad" : ""}`} aria-label="What happened">
      <h3>{outcome.status === "confirmed" ? "It came as predicted" : outcome.status === "falsified" ? "It did not come as predicted" : "Given up"}{outcome.auto_captured && <span class="dim"> · decided by a command</span>}</h3>
      <dl class="thought">
        <Line name="Seen">{outcome.result}</Line>
        {entry.surprise && <Line name="Surprise">{entry.surprise}</Line>}
        {entry.root_cause && <Line name="Root cause"><b>{entry.root_cause.category}</b> {entry.root_cause.description}</Line>}
        {entry.lesson && <Line name="What worked">{entry.lesson.what_worked}</Line>}
        {entry.lesson?.takeaway && <Line name="Takeaway">{entry.lesson.takeaway}</Line>}
      </dl>
      {unexplained && <p class="dim">Nobody has explained this yet: <code>proctor journal annotate {entry.id} --surprise … --root-cause …</code></p>}
    </section>
  );
}

const LOOK: Record<string, string> = { confirmed: "passed", falsified: "failed", inconclusive: "inconclusive" };

function Piece({ piece, open }: { piece: Evidence; open: boolean }) {
  const ended = piece.timed_out ? "timed out" : piece.signal !== undefined ? `signal ${piece.signal}` : piece.exit !== undefined ? `exit ${piece.exit}` : "";
  const counts = piece.counts;
  return (
    <details class="tool" open={open}>
      <summary>
        <span class={`badge s-${LOOK[piece.verdict ?? ""] ?? "not_run"}`}>{piece.verdict ?? "seen"}</span>
        <code class="brief">{(piece.argv ?? []).join(" ")}</code>
        <span class="gap" />
        <span class="num dim">{[ended, duration(piece.duration_ms)].filter(Boolean).join(" · ")}</span>
      </summary>
      {piece.reason && <p>{piece.reason}</p>}
      <p class="dim">
        {when(piece.captured_at)}
        {piece.expectation && <> · expected <code>{piece.expectation}</code>{piece.predates_run === false && ", said only afterwards"}</>}
        {counts && <> · {counts.passed} passed, {counts.failed} failed{counts.errors > 0 && `, ${counts.errors} errors`}{counts.skipped > 0 && `, ${counts.skipped} skipped`}{piece.counts_from && ` (from ${piece.counts_from})`}</>}
        {piece.commit && <> · <span class="mono">{piece.commit.slice(0, 10)}</span>{piece.dirty && " with uncommitted changes"}</>}
      </p>
      {piece.output_tail && <pre>{piece.output_tail}</pre>}
    </details>
  );
}
