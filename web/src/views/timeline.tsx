// When everything was done: a bar an attempt, in lanes by worker, and packed where there is none.

import { isLive } from "../model/verdict";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { duration, plural, word } from "../format";
import { isBadStatus, lanesOf, moved, zoomed, type Bar, type Group, type Lanes, type View } from "../model/lanes";
import { titleOf } from "../model/rows";
import { talksOf, turnAt } from "../model/talk";
import { timeStep } from "../model/ticks";
import { go, link } from "../router";
import type { Feed } from "../source";
import { theme, version } from "../state";

const LEFT = 110;
const TOP = 24;

export function Timeline({ feed, at }: { feed: Feed; at: string[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(800);
  const [view, setView] = useState<View>({ zoom: 1, from: 0 });
  const [over, setOver] = useState<{ bar: Bar; x: number; y: number } | null>(null);
  const lanes = useMemo(() => lanesOf(feed.run.rows, isLive(feed.state) ? Date.now() : 0), [feed, version.value]);
  const tall = lanes.lanes > 24 ? 14 : 26;
  const whole = Math.max(1, lanes.end - lanes.start);
  const span = whole / view.zoom;
  const from = lanes.start + view.from * whole;
  const left = width < 500 ? 26 : LEFT;
  const scale: Scale = { left, tall, width, from, span, x: (time) => left + ((time - from) / span) * (width - left - 8) };
  const height = TOP + Math.max(1, lanes.lanes) * tall + 8;

  useEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, entry!.contentRect.width)));
    observer.observe(box);
    return () => observer.disconnect();
  }, [lanes.bars.length === 0]);
  useEffect(() => {
    if (canvas.current) draw(canvas.current, lanes, scale, height);
  }, [version.value, feed, width, view, theme.value, height, lanes]);

  if (lanes.bars.length === 0) return <p class="empty">{isLive(feed.state) ? "Waiting for the first example…" : "No example of this run says when it started."}</p>;
  const placeOf = (event: MouseEvent) => event.clientX - canvas.current!.getBoundingClientRect().left;
  const share = (event: MouseEvent) => Math.min(1, Math.max(0, (placeOf(event) - left) / (width - left - 8)));
  const barAt = (event: MouseEvent): Bar | null => {
    const lane = Math.floor((event.clientY - canvas.current!.getBoundingClientRect().top - TOP) / tall);
    const place = placeOf(event);
    return lanes.bars.findLast((bar) => bar.lane === lane && place >= scale.x(bar.from) - 1 && place <= Math.max(scale.x(bar.to), scale.x(bar.from) + 2) + 1) ?? null;
  };
  const turnOver = (event: WheelEvent) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) setView((now) => moved(now, ((event.deltaX || event.deltaY) / 600) / now.zoom));
    else setView((now) => zoomed(now, event.deltaY < 0 ? 1.25 : 0.8, share(event)));
  };
  const failures = lanes.bars.filter((bar) => bar.bad);
  const slowest = [...lanes.bars].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 10);
  return (
    <div class="page tall">
      <div class="bar">
        <span class="dim">{summary(lanes)}</span>
        <span class="gap" />
        <span class="legend">{[["good", "passed"], ["bad", "failed"], ["warn", "undecided"], ["active", "running"]].map(([color, text]) => <span><i class={`of-${color}`} aria-hidden="true" /> {text}</span>)}</span>
        <label class="check">zoom <input type="range" min="0" max="12" step="0.1" value={Math.log2(view.zoom)} onInput={(event) => { const zoom = 2 ** Number(event.currentTarget.value); setView((now) => zoomed(now, zoom / now.zoom, 0.5)); }} /></label>
        {view.zoom > 1 && <label class="check">place <input type="range" min="0" max="1" step="0.001" value={view.from / (1 - 1 / view.zoom)} onInput={(event) => { const place = Number(event.currentTarget.value); setView((now) => ({ ...now, from: place * (1 - 1 / now.zoom) })); }} /></label>}
      </div>
      <div class="canvas-box">
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} role="img" aria-label={`Time line of ${plural(lanes.bars.length, "attempt")} ${where(lanes.groups)}`}
          onMouseMove={(event) => { const bar = barAt(event); setOver(bar ? { bar, x: event.offsetX, y: event.offsetY } : null); }}
          onMouseLeave={() => setOver(null)}
          onClick={(event) => { const bar = barAt(event); if (bar) void openTurn(feed, at, bar, from + share(event) * span); }}
          onWheel={turnOver} />
        {over && <Tip over={over} width={width} />}
      </div>
      <p class="dim hint">Wheel zooms, with Shift it moves along; a click opens the turn of that moment.</p>
      {failures.length > 0 && <List name="Failures" kind="fails" bars={failures.slice(0, 50)} at={at} />}
      <List name="Slowest" kind="slow" bars={slowest} at={at} />
    </div>
  );
}

function Tip({ over, width }: { over: { bar: Bar; x: number; y: number }; width: number }) {
  const { bar, x, y } = over;
  return (
    <div class="tip" style={{ left: `${Math.max(0, Math.min(x + 12, width - 260))}px`, top: `${y + 14}px` }}>
      <b>{titleOf(bar.row)}</b><br />{word(bar.attempt.status ?? "running")} · {duration(bar.to - bar.from)}{bar.attempt.attempt > 1 && ` · attempt ${bar.attempt.attempt}`}{bar.attempt.turns > 0 && ` · ${plural(bar.attempt.turns, "turn")}`}
    </div>
  );
}

function List({ name, kind, bars, at }: { name: string; kind: string; bars: Bar[]; at: string[] }) {
  return (
    <>
      <h2>{name}</h2>
      <ol class={kind}>{bars.map((bar) => <li><a href={link([...at, "example", bar.row.id], { repeat: bar.attempt.repeat, attempt: bar.attempt.attempt })}>{titleOf(bar.row)}</a>{bar.row.attempts.length > 1 && <span class="dim"> · repeat {bar.attempt.repeat}{bar.attempt.attempt > 1 && `, attempt ${bar.attempt.attempt}`}</span>} <span class="num dim">{duration(bar.to - bar.from)}</span></li>)}</ol>
    </>
  );
}

/** Opens the attempt at the turn of that moment. */
async function openTurn(feed: Feed, at: string[], bar: Bar, time: number): Promise<void> {
  const { repeat, attempt } = bar.attempt;
  const events = await feed.exampleEvents(bar.row.id).catch(() => []);
  const talk = talksOf(events).find((one) => one.repeat === repeat && one.attempt === attempt);
  go(link([...at, "example", bar.row.id], { repeat, attempt, turn: talk ? turnAt(talk, time) : null }));
}

function where(groups: Group[]): string {
  const workers = groups.filter((group) => group.worker !== null).length;
  const lanes = groups.find((group) => group.worker === null)?.lanes ?? 0;
  return [workers > 0 ? `on ${plural(workers, "worker")}` : "", lanes > 0 ? `up to ${lanes.toLocaleString("en")} at once` : ""].filter(Boolean).join(", ");
}

function summary({ bars, groups, lanes, start, end }: Lanes): string {
  const worked = bars.reduce((sum, bar) => sum + (bar.to - bar.from), 0);
  const busy = Math.min(100, Math.round((100 * worked) / Math.max(1, lanes * (end - start))));
  return `${plural(bars.length, "attempt")} ${where(groups)} · ${duration(end - start)} · lanes busy ${busy} % of the time`;
}

interface Scale { left: number; tall: number; width: number; from: number; span: number; x: (time: number) => number }

function draw(canvas: HTMLCanvasElement, { groups, bars, start }: Lanes, { left, tall, width, from, span, x }: Scale, height: number): void {
  const context = canvas.getContext("2d")!;
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(name).trim();
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const [place, group] of groups.entries()) {
    const top = TOP + group.first * tall;
    if (place % 2 === 1) {
      context.fillStyle = color("--raised");
      context.fillRect(0, top, width, group.lanes * tall);
    }
    context.fillStyle = color("--dim");
    context.fillText(nameOf(group, left), 6, top + Math.min(tall, group.lanes * tall) / 2);
  }
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, height);
  context.clip();
  const offset = from - start;
  const step = timeStep(span / (width < 500 ? 3 : 6));
  for (let tick = Math.ceil(offset / step) * step; tick <= offset + span; tick += step) {
    const place = x(start + tick);
    context.fillStyle = color("--line");
    context.fillRect(place, TOP - 4, 1, height);
    context.fillStyle = color("--dim");
    context.fillText(tick < 1 ? "0" : duration(tick), place + 3, 10);
  }
  const gap = tall > 20 ? 4 : 2;
  const colors = new Map(["bad", "good", "warn", "active"].map((kind) => [kind, color(`--${kind}`)]));
  for (const bar of bars) {
    const begin = x(bar.from);
    const stop = Math.max(x(bar.to), begin + 1.5);
    if (stop < left || begin > width) continue;
    context.fillStyle = colors.get(kindOf(bar.attempt.status))!;
    context.fillRect(begin, TOP + bar.lane * tall + gap, stop - begin - (stop - begin > 4 ? 1 : 0), tall - 2 * gap);
  }
  context.restore();
}

function nameOf(group: Group, left: number): string {
  if (left < LEFT) return group.worker === null ? "" : `${group.worker}`;
  return group.worker === null ? "conversations" : `worker ${group.worker}`;
}

function kindOf(status: string | null): string {
  if (isBadStatus(status)) return "bad";
  if (status === "passed") return "good";
  return status === null ? "active" : "warn";
}
