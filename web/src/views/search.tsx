// Where words stand, in a run or in all of them.

import { useEffect, useRef, useState } from "preact/hooks";

import { shortId } from "../format";
import type { Hit } from "../model/types";
import { go, link, route } from "../router";
import { source } from "../state";
import { useActions } from "../ui/keys";
import { Empty, Trouble, useLoaded } from "../ui/parts";
import { VirtualList } from "../ui/virtual";

export function SearchPage() {
  const query = route.value.query.get("q") ?? "";
  const run = route.value.query.get("run") ?? "";
  const [text, setText] = useState(query);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { setText(query); }, [query]);
  useEffect(() => { if (!query) input.current?.focus(); }, []);
  useActions((action) => {
    if (action !== "filter") return false;
    input.current?.focus();
    return true;
  });
  const { value, problem, loading } = useLoaded(
    () => (query.trim() ? source.value.search(query, run || undefined) : Promise.resolve(null)),
    [query, run],
  );
  return (
    <section class="page tall">
      <form class="bar" role="search" onSubmit={(event) => { event.preventDefault(); go(link(["search"], { q: text, run })); }}>
        <h1>Search</h1>
        <input ref={input} type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="words that were said, called, judged or printed" aria-label="Words" />
        <button type="submit" class="primary">Search</button>
        {run && <span>in run <code>{shortId(run)}</code> <a href={link(["search"], { q: text })}>search all runs</a></span>}
      </form>
      {problem && <Trouble message={problem} />}
      {value && (
        <p class="dim" aria-live="polite">
          {value.hits.length === 0 ? "Nothing found" : `${value.hits.length}${value.truncated ? " or more" : ""} places`} in {value.runs} {value.runs === 1 ? "run" : "runs"}
          {loading && " …"}
          {value.unreadable.length > 0 && ` · unreadable: ${value.unreadable.join("; ")}`}
        </p>
      )}
      {!query && <Empty>All words must stand in the same message, call, check or line. Case does not matter.</Empty>}
      {!!value?.hits.length && (
        <VirtualList items={value.hits} height={52} label="Places" keyOf={(_, place) => String(place)} class="hits"
          render={(hit) => <Place hit={hit} query={query} />} />
      )}
    </section>
  );
}

function Place({ hit, query }: { hit: Hit; query: string }) {
  const to = hit.example_id
    ? link(["run", hit.run, "example", hit.example_id], { repeat: hit.repeat, attempt: hit.attempt, turn: hit.turn })
    : link(["run", hit.run]);
  return (
    <a class="hit" href={to}>
      <span class="hit-head"><span class={`kind k-${hit.found}`}>{hit.found}</span> {hit.title ?? "outside examples"}{hit.turn ? ` · turn ${hit.turn}` : ""} <span class="dim">{shortId(hit.run)}</span></span>
      <span class="hit-text"><Marked text={hit.excerpt} query={query} /></span>
    </a>
  );
}

function Marked({ text, query }: { text: string; query: string }) {
  const words = query.split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (words.length === 0) return <>{text}</>;
  const parts = text.split(new RegExp(`(${words.join("|")})`, "giu"));
  return <>{parts.map((part, place) => (place % 2 === 1 ? <mark>{part}</mark> : part))}</>;
}
