// Every place and command by name: type some of it, choose with the arrows, go with Enter.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { ago, mark, shortId } from "../format";
import { isBad, statusOf, titleOf } from "../model/rows";
import { isLive, phraseOf, runWord } from "../model/verdict";
import type { RunListing } from "../model/types";
import { go, link, route } from "../router";
import { abilities, feed, helpOpen, nextTheme, paletteOpen, source } from "../state";
import { act, type Action } from "./keys";

interface Choice { text: string; hint: string; run: () => void }

const SHOWN = 60;

export function Palette() {
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const [runs, setRuns] = useState<RunListing[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // As soon as it is drawn: the next key may come at once.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    input.current?.focus();
    return () => before?.focus();
  }, []);
  useEffect(() => {
    if (source.value.kind === "server") source.value.runs().then((answer) => setRuns(answer.runs), () => {});
  }, []);
  const choices = useMemo(() => [...commands(), ...examples(), ...runs.map(ofRun)], [runs]);
  const shown = fitting(choices, text);
  const now = Math.min(place, shown.length - 1);
  useEffect(() => { list.current?.children[now]?.scrollIntoView({ block: "nearest" }); }, [now]);
  const close = () => { paletteOpen.value = false; };
  const choose = (choice: Choice | undefined) => {
    close();
    // What a command acts on gets the keyboard back first.
    if (choice) queueMicrotask(choice.run);
  };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" || (event.ctrlKey && event.key === "n") ? 1 : event.key === "ArrowUp" || (event.ctrlKey && event.key === "p") ? -1 : 0;
    if (step !== 0) setPlace(Math.max(0, Math.min(shown.length - 1, now + step)));
    else if (event.key === "Enter") {
      // Whoever types fast is ahead of what is drawn: what stands in the field counts.
      const typed = input.current!.value;
      choose(typed === text ? shown[now] : fitting(choices, typed)[0]);
    }
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="veil top-veil" onClick={close}>
      <div class="palette" role="dialog" aria-modal="true" aria-label="Palette" onClick={(event) => event.stopPropagation()} onKeyDown={pressed}>
        <input ref={input} type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={shown[now] ? `choice-${now}` : undefined} aria-label="Places and commands" placeholder="a place, a command, an example, a run"
          value={text} onInput={(event) => { setText(event.currentTarget.value); setPlace(0); }} />
        <div class="choices" id="palette-list" role="listbox" aria-label="Choices" ref={list}>
          {shown.map((choice, at) => (
            <div key={at} id={`choice-${at}`} class={`choice ${at === now ? "now" : ""}`} role="option" aria-selected={at === now} onClick={() => choose(choice)}>
              <span class="text">{choice.text}</span> <span class="dim">{choice.hint}</span>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** Choices in which all words stand; last of all, to search for them. */
function fitting(choices: Choice[], text: string): Choice[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = choices.filter((choice) => words.every((word) => `${choice.text} ${choice.hint}`.toLowerCase().includes(word))).slice(0, SHOWN);
  if (words.length > 0) found.push({ text: `Search for ${text.trim()}`, hint: "in all transcripts", run: () => go(link(["search"], { q: text.trim() })) });
  return found;
}

function commands(): Choice[] {
  const served = source.value.kind === "server";
  const to = (text: string, hint: string, parts: string[]): Choice => ({ text, hint, run: () => go(link(parts)) });
  const by = (text: string, hint: string, action: Action): Choice => ({ text, hint, run: () => { act(action); } });
  const places = served
    ? [to("Runs", "g", []), to("Compare", "c", ["compare"]), to("History", "h", ["history"]), to("Journal", "b", ["journal"])]
    : [];
  const inRun = route.value.parts[0] === "run" || (!served && route.value.parts.length === 0)
    ? [
      by("Examples of this run", "1", "tab-1"), by("Time line", "2", "tab-2"), by("Criteria", "3", "tab-3"), by("Topics", "4", "tab-4"),
      by("Next failure", "n", "next-failure"), by("Previous failure", "p", "previous-failure"), by("Turn that failed", ".", "failing-turn"),
      by("Differences between attempts", "d", "difference"), by("Raw events", "e", "events"), by("Filter examples", "/", "filter"),
      ...(abilities.value.can_run ? [by("Run this example again", "x", "run-again"), by("Run the failures again", "X", "run-failures-again")] : []),
      ...(feed.value && isLive(feed.value.state) ? [by("Follow the run", "f", "follow")] : []),
    ]
    : [];
  return [
    ...inRun, ...places, to("Search", "s", ["search"]),
    { text: "Dark or light", hint: "t", run: nextTheme }, { text: "Keys", hint: "?", run: () => { helpOpen.value = true; } },
  ];
}

/** The examples of the open run, failures first. */
function examples(): Choice[] {
  const open = feed.value;
  if (!open || route.value.parts[0] === "compare") return [];
  const at = source.value.kind === "file" ? open.id : (route.value.parts[0] === "run" ? route.value.parts[1] ?? open.id : open.id);
  const rows = [...open.run.rows].sort((a, b) => Number(isBad(b)) - Number(isBad(a)));
  return rows.map((row) => ({ text: `${mark(statusOf(row))} ${titleOf(row)}`, hint: row.file ?? "", run: () => go(link(["run", at, "example", row.id])) }));
}

function ofRun(run: RunListing): Choice {
  return { text: `Run ${ago(run.started_at) || shortId(run.id)}`, hint: [phraseOf(runWord(run.state, run.exit_code)), ...run.tags, shortId(run.id)].join(" · "), run: () => go(link(["run", run.id])) };
}
