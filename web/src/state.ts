// What the page knows. Everything shown is computed from here; the only other state is the address.

import { isLive } from "./model/verdict";
import { signal } from "@preact/signals";

import type { Abilities, Feed, Source } from "./source";

export const source = signal<Source>(null as unknown as Source);
export const feed = signal<Feed | null>(null);
/** Changes with every batch of events, so that views that read it are drawn again. */
export const version = signal(0);
export const opening = signal<{ id: string; problem: string | null } | null>(null);
export const filter = signal("");
export const statusFilter = signal<string | null>(null);
export const follow = signal(false);
export const helpOpen = signal(false);
export const paletteOpen = signal(false);

/** What can be done here besides looking. */
export const abilities = signal<Abilities>({ can_run: false, can_stop: false, agents: [] });

/** Asks once; a page whose server does not answer says so elsewhere. */
export async function loadAbilities(): Promise<void> {
  try {
    const { can_run, can_stop, agents = [] } = await source.value.abilities();
    abilities.value = { can_run, can_stop, agents };
  } catch { /* the view that asks next shows why */ }
}

/** The name that the open run was asked for by: an id, the start of one, `last`. */
export const openedAs = signal<string | null>(null);
let asked = 0;

export async function openRun(name: string): Promise<void> {
  const same = openedAs.value === name || feed.value?.id === name || source.value.kind === "file";
  if (feed.value && same) {
    openedAs.value = name;
    return;
  }
  asked += 1;
  const question = asked;
  feed.value?.close();
  feed.value = null;
  openedAs.value = name;
  opening.value = { id: name, problem: null };
  try {
    const opened = await source.value.open(name, () => { version.value += 1; });
    // Somebody has asked for another run meanwhile.
    if (question !== asked) return opened.close();
    feed.value = opened;
    follow.value = isLive(opened.state);
    opening.value = null;
  } catch (error) {
    if (question === asked) opening.value = { id: name, problem: error instanceof Error ? error.message : String(error) };
  }
}

export type Theme = "auto" | "light" | "dark";

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem("proctor-theme");
    return stored === "light" || stored === "dark" ? stored : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>(storedTheme());

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

export function nextTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const shown = theme.value === "auto" ? (dark ? "dark" : "light") : theme.value;
  theme.value = shown === "dark" ? "light" : "dark";
  try { localStorage.setItem("proctor-theme", theme.value); } catch { /* a report from a file may have no storage */ }
  applyTheme();
}
