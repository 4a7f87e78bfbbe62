// What models were asked: how often, for how many tokens and how much money, and the prompts where they were seen.

import { duration, money, plural, pretty } from "../format";
import type { ModelCall } from "../model/talk";

interface Sum { tokens: number; cost: number; priced: boolean; took: number }

function sumOf(calls: ModelCall[]): Sum {
  return {
    tokens: calls.reduce((sum, call) => sum + (call.input_tokens ?? 0) + (call.output_tokens ?? 0), 0),
    cost: calls.reduce((sum, call) => sum + (call.cost_usd ?? 0), 0),
    priced: calls.some((call) => call.cost_usd !== null),
    took: calls.reduce((sum, call) => sum + (call.duration_ms ?? 0), 0),
  };
}

export function CallSummary({ calls }: { calls: ModelCall[] }) {
  const { tokens, cost, priced, took } = sumOf(calls);
  const parts = [plural(calls.length, "model call"), tokens > 0 ? plural(tokens, "token") : "", priced && cost > 0 ? money(cost) : "", took > 0 ? `models took ${duration(took)}` : ""];
  return <span class="num">{parts.filter(Boolean).join(" · ")}</span>;
}

export function ModelCalls({ calls, of }: { calls: ModelCall[]; of: string }) {
  return (
    <details class="calls">
      <summary>Model calls {of}: {calls.length}</summary>
      <ul>{calls.map((call) => <Call key={call.seq} call={call} />)}</ul>
    </details>
  );
}

function Call({ call }: { call: ModelCall }) {
  const numbers = [
    call.input_tokens === null ? "" : `${call.input_tokens.toLocaleString("en")} in`, call.output_tokens === null ? "" : `${call.output_tokens.toLocaleString("en")} out`,
    call.cost_usd === null ? "" : money(call.cost_usd), duration(call.duration_ms),
  ];
  const seen = call.prompt !== null || call.text !== null || call.tool_calls.length > 0;
  return (
    <li>
      <div class="call-head">
        <b>{call.purpose ?? "model"}</b> <span>{[call.backend, call.model].filter(Boolean).join(" · ")}</span>
        <span class="num dim">{numbers.filter(Boolean).join(" · ")}</span>
        {call.cached && <span class="tag">cached</span>}
        {(call.tries ?? 1) > 1 && <span class="tag">{call.tries} tries</span>}
        {call.error && <span class="s-failed">{call.error}</span>}
      </div>
      {seen && (
        <div class="raw">
          {call.prompt !== null && <details><summary>Prompt <span class="dim">{plural(call.prompt.length, "character")}</span></summary><pre>{call.prompt}</pre></details>}
          {call.text !== null && <details><summary>Answer <span class="dim">{plural(call.text.length, "character")}</span></summary><pre>{call.text}</pre></details>}
          {call.tool_calls.length > 0 && <details><summary>{plural(call.tool_calls.length, "tool call")} asked for</summary><pre>{pretty(call.tool_calls)}</pre></details>}
        </div>
      )}
    </li>
  );
}
