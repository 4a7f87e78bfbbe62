// The spans of an agent in the order they began, each a bar where and as long as it was.

import { duration, plural } from "../format";
import type { Span } from "../model/talk";
import { Value } from "../ui/parts";

/** So many are shown at once; more are folded. */
const OPEN = 30;

export function Waterfall({ spans }: { spans: Span[] }) {
  const leftOut = spans.reduce((sum, span) => sum + span.left_out, 0);
  const starts = spans.flatMap((span) => (span.started === null ? [] : [span.started]));
  const start = Math.min(...starts);
  const end = Math.max(...spans.map((span) => (span.started ?? start) + (span.duration_ms ?? 0)));
  const whole = Math.max(end - start, 0.001);
  return (
    <details class="waterfall" open={spans.length <= OPEN}>
      <summary>{plural(spans.length, "span")} of the agent{leftOut > 0 && `, ${leftOut.toLocaleString("en")} more were not recorded`} <span class="dim num">{starts.length > 0 && duration(whole)}</span></summary>
      <ul>{spans.map((span) => <Row key={span.seq} span={span} from={span.started === null ? null : (span.started - start) / whole} share={(span.duration_ms ?? 0) / whole} />)}</ul>
    </details>
  );
}

function Row({ span, from, share }: { span: Span; from: number | null; share: number }) {
  const title = [span.name, span.scope, span.error].filter(Boolean).join("\n");
  const line = (
    <>
      <span class="span-name" style={{ paddingLeft: `${Math.min(span.depth, 8) * 12}px` }} title={title}>{span.name}</span>
      <span class="track">{from !== null && <i class={span.error ? "bad" : undefined} style={{ left: `${from * 100}%`, width: `${Math.max(share * 100, 0.6)}%` }} />}</span>
      <span class="num dim">{duration(span.duration_ms)}</span>
    </>
  );
  const more = (span.attributes !== undefined && span.attributes !== null) || span.error || span.scope;
  if (!more) return <li><div class="span-line">{line}</div></li>;
  return (
    <li>
      <details>
        <summary class="span-line">{line}</summary>
        {span.error && <p class="s-failed">{span.error}</p>}
        {span.scope && <p class="dim">told by {span.scope}</p>}
        <Value label="attributes" value={span.attributes} />
      </details>
    </li>
  );
}
