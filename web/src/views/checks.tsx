// What was checked: each judgement once, with its votes.

import { word } from "../format";
import type { Evaluation, Votes } from "../model/talk";
import { Value } from "../ui/parts";

export function Checks({ evaluations }: { evaluations: Evaluation[] }) {
  return <ul class="checks">{evaluations.map((check) => <Check key={check.seq} check={check} />)}</ul>;
}

function Check({ check }: { check: Evaluation }) {
  const state = check.passed === null ? "inconclusive" : check.passed ? "passed" : check.soft ? "pending" : "failed";
  const sign = check.passed === null ? "?" : check.passed ? "✓" : check.soft ? "~" : "✗";
  const says = check.passed === null ? "no verdict" : check.passed ? "holds" : "does not hold";
  const description = check.description === check.name ? null : check.description;
  // The message of a judged check quotes the reasoning.
  const message = check.message && !(check.reasoning && check.message.includes(check.reasoning)) ? check.message : null;
  const details = rest(check.metadata);
  const head = (
    <>
      <span class="mark" role="img" aria-label={says}>{sign}</span> <span class="name">{check.name}</span>
      {check.score !== null && <span class="num" title="score from 0 to 1">{check.score.toFixed(2)}</span>}
      {check.votes && <span class="tag" title={`${check.votes.passed} for it, ${check.votes.failed} against it`}>{votesOf(check.votes, check.passed)}</span>}
      {check.soft && <span class="tag" title="recorded as quality; does not decide the verdict">soft</span>}
      {check.kind && <span class="dim">{word(check.kind)}</span>}
      {check.topic && <span class="topic">{check.topic}</span>}
    </>
  );
  if (!description && !message && !check.reasoning && details === undefined) return <li class={`check-item s-${state}`}><div class="check-line">{head}</div></li>;
  return (
    <li class={`check-item s-${state}`}>
      <details open={check.passed === false}>
        <summary>{head}</summary>
        {description && <p>{description}</p>}
        {message && <pre class="message">{message}</pre>}
        {check.reasoning && <blockquote>{check.reasoning}</blockquote>}
        <Value label="details" value={details} />
      </details>
    </li>
  );
}

/** How many of the votes were for what was decided. */
function votesOf({ passed, failed }: Votes, decided: boolean | null): string {
  return `${decided === false ? failed : passed} of ${passed + failed} ${passed + failed === 1 ? "vote" : "votes"}`;
}

/** What is in the metadata besides the votes. */
function rest(metadata: unknown): unknown {
  if (metadata === null || typeof metadata !== "object" || Array.isArray(metadata)) return metadata ?? undefined;
  const others = Object.entries(metadata).filter(([key]) => key !== "votes" && key !== "agreement");
  return others.length > 0 ? Object.fromEntries(others) : undefined;
}
