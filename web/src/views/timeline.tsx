// When each worker did what: a bar an attempt.

import { isLive } from "../model/verdict";
import { useEffect, useRef, useState } from "preact/hooks";

import { duration, word } from "../format";
import { titleOf } from "../model/rows";
import type { Attempt, Row } from "../model/types";
import { go, link } from "../router";
import type { Feed } from "../source";
import { theme, version } from "../state";

interface Bar { row: Row; attempt: Attempt; lane: number; from: number; to: number }

const LANE = 26;
const LEFT = 70;
const TOP = 24;

export function barsOf(rows: Row[], now: number): { bars: Bar[]; lanes: (number | null)[]; start: number; end: number } {
  const lanes = [...new Set(rows.flatMap((row) => row.attempts.map((attempt) => attempt.worker)))].sort((a, b) => (a ?? -1) - (b ?? -1));
  const bars: Bar[] = [];
  for (const row of rows) {
    for (const attempt of row.attempts) {
      if (!attempt.started_at) continue;
      const from = Date.parse(attempt.started_at);
      const to = attempt.duration_ms !== null ? from + attempt.duration_ms : attempt.finished_at ? Date.parse(attempt.finished_at) : now;
      bars.push({ row, attempt, lane: lanes.indexOf(attempt.worker), from, to: Math.max(to, from) });
    }
  }
  const start = bars.reduce((least, bar) => Math.min(least, bar.from), Infinity);
  const end = bars.reduce((most, bar) => Math.max(most, bar.to), -Infinity);
  return { bars, lanes, start, end };
}

export function Timeline({ feed, at }: { feed: Feed; at: string[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [zoom, setZoom] = useState(1);
  const [shift, setShift] = useState(0);
  const [over, setOver] = useState<{ bar: Bar; x: number; y: number } | null>(null);
  const lastEvent = isLive(feed.state) ? Date.now() : 0;
  const { bars, lanes, start, end } = barsOf(feed.run.rows, lastEvent);
  const height = TOP + Math.max(1, lanes.length) * LANE + 8;
  const span = Math.max(1, end - start) / zoom;
  const from = start + shift * (Math.max(1, end - start) - span);
  const x = (time: number) => LEFT + ((time - from) / span) * (width - LEFT - 8);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(280, entry!.contentRect.width)));
    observer.observe(canvas.current!.parentElement!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    const ratio = devicePixelRatio || 1;
    canvas.current!.width = width * ratio;
    canvas.current!.height = height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const tick of ticks(span)) {
      const place = x(from + tick);
      context.fillStyle = color("--line");
      context.fillRect(place, TOP - 4, 1, height);
      context.fillStyle = color("--dim");
      context.fillText((from - start + tick < 1 ? "0" : duration(from - start + tick)), place + 3, 10);
    }
    context.fillStyle = color("--dim");
    lanes.forEach((lane, place) => context.fillText(lane === null ? "–" : `worker ${lane}`, 4, TOP + place * LANE + LANE / 2));
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT, height);
    context.clip();
    for (const bar of bars) {
      const left = x(bar.from);
      const right = Math.max(x(bar.to), left + 1.5);
      if (right < LEFT || left > width) continue;
      context.fillStyle = color(`--${kindOf(bar.attempt.status ?? "running")}`);
      context.fillRect(left, TOP + bar.lane * LANE + 4, right - left - (right - left > 4 ? 1 : 0), LANE - 8);
    }
    context.restore();
  }, [version.value, feed, width, zoom, shift, theme.value, height]);

  const at_ = (event: MouseEvent): Bar | null => {
    const box = canvas.current!.getBoundingClientRect();
    const lane = Math.floor((event.clientY - box.top - TOP) / LANE);
    const place = event.clientX - box.left;
    return bars.findLast((bar) => bar.lane === lane && place >= x(bar.from) - 1 && place <= Math.max(x(bar.to), x(bar.from) + 2) + 1) ?? null;
  };
  if (bars.length === 0) return <p class="empty">{isLive(feed.state) ? "Waiting for the first example…" : "No example of this run says when it started."}</p>;
  return (
    <div class="page tall">
      <div class="bar">
        <span class="dim">{bars.length.toLocaleString("en")} attempts on {lanes.length} workers · busy {busy(bars, lanes.length, start, end)} of the time</span>
        <span class="gap" />
        <label class="check">zoom <input type="range" min="0" max="10" step="0.1" value={Math.log2(zoom)} onInput={(event) => setZoom(2 ** Number(event.currentTarget.value))} /></label>
        {zoom > 1 && <label class="check">place <input type="range" min="0" max="1" step="0.001" value={shift} onInput={(event) => setShift(Number(event.currentTarget.value))} /></label>}
      </div>
      <div class="canvas-box">
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} role="img" aria-label={`Time line of ${bars.length} attempts on ${lanes.length} workers`}
          onMouseMove={(event) => { const bar = at_(event); setOver(bar ? { bar, x: event.offsetX, y: event.offsetY } : null); }}
          onMouseLeave={() => setOver(null)}
          onClick={(event) => { const bar = at_(event); if (bar) go(link([...at, "example", bar.row.id], { repeat: bar.attempt.repeat, attempt: bar.attempt.attempt })); }}
          onWheel={(event) => { if (event.ctrlKey) { event.preventDefault(); setZoom((now) => Math.min(1024, Math.max(1, now * (event.deltaY < 0 ? 1.2 : 1 / 1.2)))); } }} />
        {over && <div class="tip" style={{ left: `${Math.min(over.x + 12, width - 260)}px`, top: `${over.y + 14}px` }}><b>{titleOf(over.bar.row)}</b><br />{word(over.bar.attempt.status ?? "running")} · {duration(over.bar.to - over.bar.from)}{over.bar.attempt.attempt > 1 && ` · attempt ${over.bar.attempt.attempt}`}</div>}
      </div>
      <h2>Slowest</h2>
      <ol class="slow">{[...bars].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 10).map((bar) => <li><a href={link([...at, "example", bar.row.id], { repeat: bar.attempt.repeat, attempt: bar.attempt.attempt })}>{titleOf(bar.row)}</a>{bar.row.attempts.length > 1 && <span class="dim"> · repeat {bar.attempt.repeat}{bar.attempt.attempt > 1 && `, attempt ${bar.attempt.attempt}`}</span>} <span class="num dim">{duration(bar.to - bar.from)}</span></li>)}</ol>
    </div>
  );
}

function busy(bars: Bar[], lanes: number, start: number, end: number): string {
  const worked = bars.reduce((sum, bar) => sum + (bar.to - bar.from), 0);
  return `${Math.min(100, Math.round((100 * worked) / Math.max(1, lanes * (end - start))))} %`;
}

function ticks(span: number): number[] {
  const rough = span / 6;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-3)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? power * 10;
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, place) => place * step);
}

function kindOf(status: string): string {
  if (["failed", "crashed", "errored", "timed_out"].includes(status)) return "bad";
  if (status === "passed") return "good";
  if (status === "running") return "active";
  return "warn";
}
