// A quantity over runs: axes with units, commits below, and what is under the pointer.

import { useEffect, useRef, useState } from "preact/hooks";

import { day, shortId } from "../format";
import { ticksOf } from "../model/ticks";
import type { HistoryPoint } from "../model/types";
import { go, link } from "../router";

interface Props {
  name: string;
  unit: string;
  points: HistoryPoint[];
  of: (point: HistoryPoint) => number | null;
  show: (value: number) => string;
  /** The highest value of the axis; that of the points if it is left out. */
  top?: number;
}

const HEIGHT = 200;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 12, 12, 40];

export function Chart({ name, unit, points, of, show, top }: Props) {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(420);
  const [over, setOver] = useState<number | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(220, entry!.contentRect.width)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const values = points.map(of);
  const known = values.filter((value): value is number => value !== null);
  const ticks = ticksOf(top ?? (Math.max(0, ...known) || 1));
  const high = ticks.at(-1)!;
  const x = (place: number) => (points.length === 1 ? (LEFT + width - RIGHT) / 2 : LEFT + 8 + (place * (width - LEFT - RIGHT - 16)) / (points.length - 1));
  const y = (value: number) => HEIGHT - BOTTOM - (value / high) * (HEIGHT - TOP - BOTTOM);
  const line = values.map((value, place) => (value === null ? null : `${x(place).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean).join(" ");
  const nearest = (event: MouseEvent) => {
    const place = event.clientX - box.current!.querySelector("svg")!.getBoundingClientRect().left;
    return values.reduce<number | null>((best, value, at) => (value === null || (best !== null && Math.abs(x(best) - place) <= Math.abs(x(at) - place)) ? best : at), null);
  };
  const last = known.at(-1) ?? 0;
  const shown = over === null ? null : points[over]!;
  return (
    <figure class="chart" ref={box}>
      <figcaption><b>{name}</b> <span class="dim">{unit}</span> <span class="gap" /> <span class="num">{show(last)}</span> <span class="dim">last</span></figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT} role="img" aria-label={`${name} over ${points.length} runs: last ${show(last)}, least ${show(Math.min(...known))}, most ${show(Math.max(...known))}`}
        onMouseMove={(event) => setOver(nearest(event))} onMouseLeave={() => setOver(null)} onClick={(event) => { const place = nearest(event); if (place !== null) go(link(["run", points[place]!.run])); }}>
        {ticks.map((tick) => <g key={tick}><line class="axis" x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} /><text class="y-label" x={LEFT - 8} y={y(tick) + 4} text-anchor="end">{tick === 0 ? show(0).replace("<1 ms", "0") : show(tick)}</text></g>)}
        <Commits points={points} x={x} width={width} />
        <polyline points={line} />
        {values.map((value, place) => value !== null && <circle key={points[place]!.run} class={place === over ? "now" : undefined} cx={x(place)} cy={y(value)} r={place === over ? 5 : points.length > 60 ? 1.5 : 3} />)}
        {over !== null && <line class="cursor" x1={x(over)} x2={x(over)} y1={TOP} y2={HEIGHT - BOTTOM} />}
      </svg>
      {shown && (
        <div class="tip" style={{ left: `${Math.max(0, Math.min(x(over!) + 10, width - 190))}px`, top: "34px" }}>
          <b>{show(values[over!]!)}</b> <span class="dim">{shown.passed} of {shown.attempts} passed</span><br />{day(shown.started_at) || shortId(shown.run)}{shown.commit && <> · <span class="mono">{shown.commit.slice(0, 8)}{shown.dirty ? "*" : ""}</span></>}
        </div>
      )}
    </figure>
  );
}

/** The commits of the runs below the axis, as many as have room; a mark where the commit changes. */
function Commits({ points, x, width }: { points: HistoryPoint[]; x: (place: number) => number; width: number }) {
  const changes = points.map((point, place) => ({ place, commit: point.commit, changed: place === 0 || point.commit !== points[place - 1]!.commit }));
  let free = LEFT - 20;
  return (
    <>
      {changes.filter(({ changed }) => changed).map(({ place, commit }) => {
        const middle = Math.min(x(place), width - RIGHT - 26);
        const room = middle - 26 >= free && commit !== null;
        if (room) free = middle + 30;
        return <g key={place}><line class="commit" x1={x(place)} x2={x(place)} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM + 5} />{room && <text class="x-label" x={middle} y={HEIGHT - BOTTOM + 18} text-anchor="middle">{commit.slice(0, 7)}</text>}</g>;
      })}
      <text class="x-label" x={LEFT} y={HEIGHT - 6}>{day(points[0]!.started_at)}</text>
      <text class="x-label" x={width - RIGHT} y={HEIGHT - 6} text-anchor="end">{points.length > 1 ? day(points.at(-1)!.started_at) : ""}</text>
    </>
  );
}
