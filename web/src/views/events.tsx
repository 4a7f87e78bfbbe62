// The raw events, one by one.

import { useState } from "preact/hooks";

import type { Event } from "../model/types";
import { Copy } from "../ui/parts";
import { VirtualList } from "../ui/virtual";

const ENVELOPE = new Set(["v", "seq", "run_id", "time", "event_type", "example_id", "repeat", "attempt", "worker"]);

export function EventList({ events }: { events: Event[] }) {
  const [chosen, setChosen] = useState<number | null>(null);
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const shown = wanted ? events.filter((event) => JSON.stringify(event).toLowerCase().includes(wanted)) : events;
  const event = shown.find((one) => one.seq === chosen);
  return (
    <div class="events">
      <div class="filters"><input type="search" aria-label="Filter events" placeholder="filter events" value={text} onInput={(input) => setText(input.currentTarget.value)} /></div>
      <VirtualList items={shown} height={26} label="Events" keyOf={(one) => String(one.seq)}
        render={(one) => (
          <button type="button" class={`event ${one.seq === chosen ? "now" : ""}`} onClick={() => setChosen(one.seq === chosen ? null : one.seq)}>
            <span class="num dim">{one.seq}</span> <b>{one.event_type}</b> <span class="dim brief">{summary(one)}</span>
          </button>
        )} />
      {event && <div class="event-json"><div class="bar"><b>{event.event_type}</b><span class="gap" /><Copy text={JSON.stringify(event)} label="Copy JSON" /></div><pre>{JSON.stringify(event, null, 2)}</pre></div>}
    </div>
  );
}

function summary(event: Event): string {
  const own = Object.entries(event).filter(([key]) => !ENVELOPE.has(key));
  return own.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`).join("  ").slice(0, 200);
}
