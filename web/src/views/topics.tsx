// The graph of topics: how often each way was taken, how many of those who took it failed, and who they are.

import { useEffect, useMemo, useState } from "preact/hooks";

import { percent, plural } from "../format";
import { titleOf } from "../model/rows";
import { graphOf, START, takenBy, type Edge, type Graph, type Node, type Taken } from "../model/topics";
import { go, link, route } from "../router";
import type { Feed } from "../source";
import { version } from "../state";
import { useActions } from "../ui/keys";
import { Empty, Mark } from "../ui/parts";

const WIDTH = 150;
const HEIGHT = 46;
const NARROW = "(max-width: 760px)";

interface Place { x: number; y: number }
/** Where everything is: layers from left to right, or from top to bottom where there is no room for that. */
interface Layout { places: Map<string, Place>; width: number; height: number; vertical: boolean }

const nameOf = (topic: string) => (topic === START ? "(start)" : topic);

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const changed = () => setNarrow(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return narrow;
}

function layoutOf(graph: Graph, vertical: boolean): Layout {
  const rows = Math.max(...graph.nodes.map((node) => node.row)) + 1;
  if (vertical) {
    // Two beside each other fit on a phone; what is beside them scrolls with the graph.
    const places = new Map(graph.nodes.map((node) => [node.name, { x: 26 + node.row * (WIDTH + 20), y: node.layer === 0 ? -HEIGHT + 26 : 60 + (node.layer - 1) * 96 }]));
    return { places, width: 40 + rows * (WIDTH + 20), height: 60 + Math.max(0, graph.layers - 1) * 96 + 30, vertical };
  }
  // The start is a dot and needs no column of its own.
  const left = 10 - (WIDTH - 40);
  const places = new Map(graph.nodes.map((node) => [node.name, { x: left + node.layer * 230, y: 40 + node.row * 84 }]));
  return { places, width: graph.layers * 230 + left + 10, height: rows * 84 + 80, vertical };
}

export function Topics({ feed, at }: { feed: Feed; at: string[] }) {
  const graph = useMemo(() => graphOf(feed.run.rows), [feed, version.value]);
  const vertical = useNarrow();
  const layout = useMemo(() => (graph.nodes.length > 0 ? layoutOf(graph, vertical) : null), [graph, vertical]);
  const query = route.value.query;
  const place = graph.edges.findIndex((edge) => edge.to === query.get("to") && nameOf(edge.from) === query.get("from"));
  const choose = (edge: Edge | undefined) => go(link([...at, "topics"], edge ? { from: nameOf(edge.from), to: edge.to } : {}), true);
  useActions((action) => {
    if (action === "next" && graph.edges[place + 1]) choose(graph.edges[place + 1]);
    else if (action === "previous" && graph.edges[place - 1]) choose(graph.edges[place - 1]);
    else if (action === "back" && place >= 0) choose(undefined);
    else return false;
    return true;
  });
  if (!layout) return <Empty>No conversation of this run has topics. <code>topics</code> in a scenario file define them.</Empty>;
  const most = Math.max(...graph.edges.map((edge) => edge.count));
  const chosen = graph.edges[place];
  return (
    <div class="page tall">
      <p class="dim">{plural(graph.talks, "conversation")}. Numbers on arrows: how often the way was taken. Red: the share of conversations through there that did not pass. A click on an arrow lists its conversations.</p>
      <div class="graph">
        <svg viewBox={`0 0 ${layout.width} ${layout.height}`} width={layout.width} height={layout.height} class={vertical ? "vertical" : undefined} role="img" aria-label={`Graph of ${plural(graph.nodes.length - 1, "topic")}; the table below has its ways`}>
          <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" /></marker></defs>
          {graph.edges.map((edge) => <Arrow edge={edge} layout={layout} most={most} chosen={edge === chosen} choose={() => choose(edge === chosen ? undefined : edge)} />)}
          {graph.nodes.map((node) => <Topic node={node} {...layout.places.get(node.name)!} />)}
        </svg>
      </div>
      <div class="table-box">
        <table class="ways">
          <thead><tr><th>From</th><th>To</th><th class="r">Taken</th><th class="r">Did not pass</th></tr></thead>
          <tbody>{graph.edges.map((edge) => (
            <>
              <tr class={edge === chosen ? "now" : undefined} onClick={() => choose(edge === chosen ? undefined : edge)}>
                <td>{nameOf(edge.from)}</td><td><button type="button" class="plain" aria-expanded={edge === chosen}>{edge.to}</button></td><td class="r num">{edge.count}</td><td class="r num">{percent(edge.failed / edge.count)}</td>
              </tr>
              {edge === chosen && <tr class="takers"><td colSpan={4}><Takers taken={takenBy(feed.run.rows, edge.from, edge.to)} at={at} /></td></tr>}
            </>
          ))}</tbody>
        </table>
      </div>
    </div>
  );
}

function Takers({ taken, at }: { taken: Taken[]; at: string[] }) {
  const box = (element: HTMLElement | null) => element?.scrollIntoView({ block: "nearest" });
  return (
    <ol class="worst" ref={box} aria-label="Conversations that took this way">
      {taken.slice(0, 100).map(({ row, attempt, times }) => (
        <li>
          <Mark status={attempt.status ?? "running"} />
          <a href={link([...at, "example", row.id], { repeat: attempt.repeat, attempt: attempt.attempt })}>{titleOf(row)}</a>
          <span class="dim">{[row.attempts.length > 1 ? `repeat ${attempt.repeat}` : "", times > 1 ? `${times} times` : ""].filter(Boolean).join(", ")}</span>
        </li>
      ))}
      {taken.length > 100 && <li class="dim">and {taken.length - 100} more</li>}
    </ol>
  );
}

function Topic({ node, x, y }: { node: Node; x: number; y: number }) {
  if (node.name === START) return <g class="node start"><circle cx={x + WIDTH - 14} cy={y + HEIGHT / 2} r="9" /><title>{`start of ${plural(node.visits, "conversation")}`}</title></g>;
  const share = node.talks ? node.failed / node.talks : 0;
  const name = node.name.length > 20 ? `${node.name.slice(0, 19)}…` : node.name;
  return (
    <g class="node">
      <title>{`${node.name}: ${plural(node.visits, "visit")} in ${plural(node.talks, "conversation")}, ${percent(share)} of which did not pass`}</title>
      <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="8" />
      <rect class="share" x={x} y={y + HEIGHT - 5} width={WIDTH * share} height="5" rx="2" />
      <text x={x + 10} y={y + 18}>{name}</text>
      <text class="small" x={x + 10} y={y + 34}>{`${plural(node.visits, "visit")}${share ? ` · ${Math.round(share * 100)} % ✗` : ""}`}</text>
    </g>
  );
}

interface Curve { path: string; label: Place }

function curveOf(from: Place, to: Place, itself: boolean, vertical: boolean): Curve {
  const middle = HEIGHT / 2;
  if (itself) return { path: `M${from.x + 40} ${from.y} C${from.x + 40} ${from.y - 34} ${from.x + 110} ${from.y - 34} ${from.x + 110} ${from.y}`, label: { x: from.x + 75, y: from.y - 28 } };
  if (vertical) {
    if (to.y > from.y) {
      const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y];
      // Round whatever stands between.
      if (to.y - from.y > 140) return { path: `M${from.x} ${from.y + middle} C${from.x - 26} ${y1 + 20} ${to.x - 26} ${y2 - 20} ${to.x} ${to.y + middle}`, label: { x: Math.min(from.x, to.x) - 12, y: (y1 + y2) / 2 } };
      return { path: `M${x1} ${y1} C${x1} ${y1 + 26} ${x2} ${y2 - 26} ${x2} ${y2}`, label: { x: (x1 + x2) / 2 + 12, y: (y1 + y2) / 2 + 4 } };
    }
    const right = Math.max(from.x, to.x) + WIDTH;
    return { path: `M${from.x + WIDTH} ${from.y + middle} C${right + 30} ${from.y + middle} ${right + 30} ${to.y + middle} ${to.x + WIDTH} ${to.y + middle}`, label: { x: right + 14, y: (from.y + to.y) / 2 + middle } };
  }
  if (to.x > from.x) {
    const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + middle, to.x, to.y + middle];
    return { path: `M${x1} ${y1} C${x1 + 40} ${y1} ${x2 - 40} ${y2} ${x2} ${y2}`, label: { x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 5 } };
  }
  const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y + HEIGHT];
  const low = Math.max(y1, y2) + 30;
  return { path: `M${x1} ${y1} C${x1} ${low} ${x2} ${low} ${x2} ${y2}`, label: { x: (x1 + x2) / 2, y: low - 10 } };
}

function Arrow({ edge, layout, most, chosen, choose }: { edge: Edge; layout: Layout; most: number; chosen: boolean; choose: () => void }) {
  const { path, label } = curveOf(layout.places.get(edge.from)!, layout.places.get(edge.to)!, edge.from === edge.to, layout.vertical);
  return (
    <g class={`edge ${chosen ? "chosen" : ""}`} onClick={choose}>
      <path class="wide" d={path} />
      <path d={path} stroke-width={1 + (4 * edge.count) / most} marker-end="url(#tip)" class={edge.failed * 2 > edge.count ? "way bad" : "way"} />
      <text x={label.x} y={label.y} text-anchor="middle">{edge.count}</text>
      <title>{`${nameOf(edge.from)} → ${edge.to}: ${plural(edge.count, "time")}, ${edge.failed} in conversations that did not pass`}</title>
    </g>
  );
}
