// One place for the keyboard. Views say what they can do; keys are looked up here.

import { useEffect, useLayoutEffect } from "preact/hooks";

import { go, link } from "../router";
import { helpOpen, nextTheme, paletteOpen, source } from "../state";

export type Action =
  | "next" | "previous" | "next-failure" | "previous-failure" | "next-attempt" | "previous-attempt" | "failing-turn" | "difference" | "mark"
  | "history-of-this" | "compare-this" | "filter" | "follow" | "events" | "run-again" | "run-failures-again" | "open" | "back" | "tab-1" | "tab-2" | "tab-3" | "tab-4";

const KEYS: Record<string, Action> = {
  j: "next", ArrowDown: "next", k: "previous", ArrowUp: "previous", n: "next-failure", "]": "next-failure", p: "previous-failure", "[": "previous-failure",
  ArrowRight: "next-attempt", ArrowLeft: "previous-attempt", ".": "failing-turn", d: "difference", m: "mark", "/": "filter", f: "follow", e: "events",
  x: "run-again", X: "run-failures-again", Enter: "open", Escape: "back", 1: "tab-1", 2: "tab-2", 3: "tab-3", 4: "tab-4",
};

export const SHORTCUTS: [string, string][] = [
  ["Ctrl+K :", "palette: every place and command"],
  ["j k ↓ ↑", "next, previous line"],
  ["n p ] [", "next, previous failure"],
  ["Enter", "open; go to the conversation"],
  [".", "the turn that failed"],
  ["→ ←", "next, previous attempt"],
  ["d", "differences between attempts, or the two marked runs"],
  ["x X", "run this again; run the failures again"],
  ["/", "filter, or search"],
  ["f", "follow a run that goes on"],
  ["e", "conversation or raw events"],
  ["1 2 3 4", "examples, time line, criteria, topics"],
  ["m", "mark a run to compare"],
  ["g c h b s", "runs, compare, history, journal, search; c and h of what is open"],
  ["t", "dark or light"],
  ["?", "this help"],
  ["Esc", "close, go back"],
];

const handlers: ((action: Action) => boolean)[] = [];

/**
 * Offers keys to a view; the newest view is asked first. In place as soon as the view is drawn, not a moment later: the next
 * key may come at once and must find what the last one chose.
 */
export function useActions(handle: (action: Action) => boolean): void {
  useLayoutEffect(() => {
    handlers.push(handle);
    return () => { handlers.splice(handlers.indexOf(handle), 1); };
  });
}

/** Does what a key does, for those who choose it by name. */
export function act(action: Action): boolean {
  return handlers.toReversed().some((handle) => handle(action));
}

export function useKeys(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        paletteOpen.value = !paletteOpen.value;
        return;
      }
      // The palette and the help have keys of their own.
      if (paletteOpen.value) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as HTMLElement;
      const typing = target.matches("input, textarea, select");
      if (typing && event.key !== "Escape") return;
      if (typing) {
        // By ourselves: browsers that clear a search field on Escape do not always say so.
        event.preventDefault();
        if (target instanceof HTMLInputElement && target.type === "search" && target.value !== "") {
          target.value = "";
          target.dispatchEvent(new Event("input", { bubbles: true }));
        }
        target.blur();
        return;
      }
      // Enter and space on a button or link belong to it.
      if (event.key === "Enter" && target.matches("a, button, summary")) return;
      // Arrows move within what has them itself.
      if (event.key.startsWith("Arrow") && target.matches(".talk, [role=option]")) return;
      if (everywhere(event.key)) { event.preventDefault(); return; }
      const action = KEYS[event.key];
      if (!action) return;
      if (act(action)) event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function everywhere(key: string): boolean {
  const served = source.value.kind === "server";
  switch (key) {
    case "?": helpOpen.value = !helpOpen.value; return true;
    case "Escape":
      if (!helpOpen.value) return false;
      helpOpen.value = false;
      return true;
    case ":": paletteOpen.value = true; return true;
    case "t": nextTheme(); return true;
    case "g": if (served) go(link([])); return served;
    // Of what is open, where something is.
    case "c": if (served && !act("compare-this")) go(link(["compare"])); return served;
    case "h": if (served && !act("history-of-this")) go(link(["history"])); return served;
    case "b": if (served) go(link(["journal"])); return served;
    case "s": go(link(["search"])); return true;
    default: return false;
  }
}
