// Addresses are fragments, so that a saved report has them too.

import { signal } from "@preact/signals";

export interface Route { parts: string[]; query: URLSearchParams }

let read = location.hash;

function parse(): Route {
  read = location.hash;
  const raw = location.hash.replace(/^#\/?/, "");
  const [path = "", query = ""] = raw.split("?", 2);
  const decode = (part: string) => {
    try { return decodeURIComponent(part); } catch { return part; }
  };
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

export const route = signal<Route>(parse());
addEventListener("hashchange", () => { route.value = parse(); });

export function link(parts: string[], query: Record<string, string | number | null | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Goes somewhere; `quietly` leaves no trace in the history. */
export function go(address: string, quietly = false): void {
  if (quietly) {
    history.replaceState(null, "", address);
    route.value = parse();
  } else {
    location.hash = address;
    // The event comes later; what is done until then must be about the new place.
    route.value = parse();
  }
}

/** Whether the address is another one already, and the route follows in a moment: nothing may be done about the old place. */
export function isLeaving(): boolean {
  return location.hash !== read;
}
