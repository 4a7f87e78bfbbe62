// Where words stand, in a run or in all of them.

import { useEffect, useRef, useState } from "preact/hooks";

import { plural, shortId } from "../format";
import { marker } from "../model/query";
import type { Hit } from "../model/types";
import { go, link, route } from "../router";
import { source } from "../state";
import { useActions } from "../ui/keys";
import { Trouble, useLoaded } from "../ui/parts";
import { VirtualList } from "../ui/virtual";

const SPOKEN_BY: [string, string][] = [["", "anybody"], ["user", "the user"], ["agent", "the agent"], ["tool", "tools"], ["judge", "judges and checks"], ["failure", "failures"], ["output", "output"], ["title", "titles"]];

export function SearchPage() {
  const query = route.value.query.get("q") ?? "";
  const run = route.value.query.get("run") ?? "";
  const by = route.value.query.get("by") ?? "";
  const [text, setText] = useState(query);
  const input = useRef<HTMLInputElement>(null);
  const [place, setPlace] = useState(-1);
  useEffect(() => { setText(query); }, [query]);
  useEffect(() => { setPlace(-1); }, [query, run, by]);
  useEffect(() => { if (!query) input.current?.focus(); }, []);
  const { value, problem, loading } = useLoaded(
    () => (query.trim() ? source.value.search(`${by ? `by:${by} ` : ""}${query}`, run || undefined) : Promise.resolve(null)),
    [query, run, by],
  );
  const hits = value?.hits ?? [];
  useActions((action) => {
    if (action === "filter") input.current?.focus();
    else if (action === "next" && hits[place + 1]) setPlace(place + 1);
    else if (action === "previous" && hits[place - 1]) setPlace(place - 1);
    else if (action === "open" && hits[place]) go(addressOf(hits[place]));
    else return false;
    return true;
  });
  return (
    <section class="page tall">
      <form class="bar" role="search" onSubmit={(event) => { event.preventDefault(); input.current?.blur(); go(link(["search"], { q: text, run, by })); }}>
        <h1>Search</h1>
        <input ref={input} type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder={'words, "a phrase", /a regular expression/'} aria-label="Words" />
        <label class="check">said by <select value={by} aria-label="Said by" onChange={(event) => go(link(["search"], { q: text, run, by: event.currentTarget.value }))}>{SPOKEN_BY.map(([name, who]) => <option value={name}>{who}</option>)}</select></label>
        <button type="submit" class="primary">Search</button>
        {run && <span>in run <code>{shortId(run)}</code> <a href={link(["search"], { q: text, by })}>search all runs</a></span>}
      </form>
      {problem && <Trouble message={problem} />}
      {value && (
        <p class="dim" aria-live="polite">
          {hits.length === 0 ? "Nothing found" : `${hits.length.toLocaleString("en")}${value.truncated ? " or more" : ""} ${hits.length === 1 ? "place" : "places"}`} in {plural(value.runs, "run")}
          {loading && " …"}
          {value.unreadable.length > 0 && ` · unreadable: ${value.unreadable.join("; ")}`}
        </p>
      )}
      {(!query || value?.hits.length === 0) && <Hints />}
      {hits.length > 0 && (
        <VirtualList items={hits} height={52} label="Places" focus={place} keyOf={(_, at) => String(at)} class="hits"
          render={(hit, at) => <Place hit={hit} query={query} now={at === place} />} />
      )}
    </section>
  );
}

function Hints() {
  return (
    <dl class="hints">
      <dt><code>refund tomorrow</code></dt><dd>both words in the same message, call, check or line; case does not matter</dd>
      <dt><code>"a refund"</code></dt><dd>words of a phrase, in this order (a single word in quotation marks is looked for with them)</dd>
      <dt><code>/refund(s|ed)?/</code></dt><dd>a regular expression</dd>
      <dt><code>by:agent refund</code></dt><dd>only what the agent said; also by:user, by:tool, by:judge, by:failure, by:output, by:title, several with commas</dd>
    </dl>
  );
}

function addressOf(hit: Hit): string {
  return hit.example_id
    ? link(["run", hit.run, "example", hit.example_id], { repeat: hit.repeat, attempt: hit.attempt, turn: hit.turn })
    : link(["run", hit.run]);
}

function Place({ hit, query, now }: { hit: Hit; query: string; now: boolean }) {
  return (
    <a class={`hit ${now ? "now" : ""}`} href={addressOf(hit)} aria-current={now ? "true" : undefined}>
      <span class="hit-head"><span class="kind">{hit.found}</span> {hit.title ?? "outside examples"}{hit.turn ? ` · turn ${hit.turn}` : ""} <span class="dim">{shortId(hit.run)}</span></span>
      <span class="hit-text"><Marked text={hit.excerpt} query={query} /></span>
    </a>
  );
}

function Marked({ text, query }: { text: string; query: string }) {
  const pattern = marker(query);
  if (!pattern) return <>{text}</>;
  const parts: (string | preact.JSX.Element)[] = [];
  let done = 0;
  for (const found of text.matchAll(pattern)) {
    if (found[0] === "") continue;
    parts.push(text.slice(done, found.index), <mark>{found[0]}</mark>);
    done = found.index + found[0].length;
  }
  parts.push(text.slice(done));
  return <>{parts}</>;
}
