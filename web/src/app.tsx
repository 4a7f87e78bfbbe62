import { useEffect } from "preact/hooks";

import { link, route } from "./router";
import { feed, helpOpen, loadAbilities, nextTheme, openedAs, opening, openRun, paletteOpen, source } from "./state";
import { Help } from "./ui/help";
import { Palette } from "./ui/palette";
import { Trouble } from "./ui/parts";
import { useKeys } from "./ui/keys";
import { ComparePage } from "./views/compare";
import { HistoryPage } from "./views/history";
import { JournalPage } from "./views/journal";
import { RunPage } from "./views/run";
import { RunsPage } from "./views/runs";
import { SearchPage } from "./views/search";

export function App() {
  useKeys();
  useEffect(() => { void loadAbilities(); }, []);
  const { parts } = route.value;
  const alone = source.value.kind === "file";
  const page = parts[0] ?? (alone ? "run" : "runs");
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <header class="top">
        <a class="brand" href={alone ? "#/" : link([])} aria-label="Proctor, list of runs">
          <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true"><rect width="16" height="16" rx="4" /><path d="M4 8.5 7 11.5 12 5" /></svg>
          Proctor
        </a>
        <nav aria-label="Views">
          {!alone && <Item to={[]} now={page === "runs"} text="Runs" />}
          {alone && <Item to={["run"]} now={page === "run"} text="Run" />}
          {!alone && <Item to={["compare"]} now={page === "compare"} text="Compare" />}
          {!alone && <Item to={["history"]} now={page === "history"} text="History" />}
          {!alone && <Item to={["journal"]} now={page === "journal"} text="Journal" />}
          <Item to={["search"]} now={page === "search"} text="Search" />
        </nav>
        <span class="gap" />
        <button type="button" class="ghost" onClick={() => { paletteOpen.value = true; }} title="Palette (Ctrl+K)" aria-label="Palette">⌘</button>
        <button type="button" class="ghost keys" onClick={() => { helpOpen.value = true; }} title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts">?</button>
        <button type="button" class="ghost" onClick={nextTheme} title="Dark or light (t)" aria-label="Dark or light">◐</button>
      </header>
      <main id="main">
        {page === "run" ? <WithRun id={parts[1] ?? "last"} /> : page === "compare" ? <ComparePage /> : page === "history" ? <HistoryPage /> : page === "journal" && !alone ? <JournalPage /> : page === "search" ? <SearchPage /> : <RunsPage />}
      </main>
      {helpOpen.value && <Help />}
      {paletteOpen.value && <Palette />}
    </>
  );
}

function Item({ to, now, text }: { to: string[]; now: boolean; text: string }) {
  return <a href={link(to)} aria-current={now ? "page" : undefined}>{text}</a>;
}

function WithRun({ id }: { id: string }) {
  useEffect(() => { void openRun(id); }, [id]);
  // Until the run that the address names is there, no other one stands in its place.
  if (openedAs.value === id && opening.value?.problem) return <Trouble message={opening.value.problem} />;
  if (!feed.value || openedAs.value !== id) return <p class="empty" aria-busy="true">Opening the run…</p>;
  return <RunPage feed={feed.value} />;
}
