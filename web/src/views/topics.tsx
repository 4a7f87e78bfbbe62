// The graph of topics: how often each way was taken, and how many of those who took it failed.

import { useMemo } from "preact/hooks";

import { percent } from "../format";
import { graphOf, START, type Edge, type Node } from "../model/topics";
import type { Feed } from "../source";
import { version } from "../state";
import { Empty } from "../ui/parts";

const WIDTH = 150;
const HEIGHT = 46;
const ACROSS = 230;
const DOWN = 84;

export function Topics({ feed }: { feed: Feed }) {
  const graph = useMemo(() => graphOf(feed.run.rows), [feed, version.value]);
  if (graph.nodes.length === 0) return <Empty>No conversation of this run has topics. <code>topics</code> in a scenario file define them.</Empty>;
  const rows = Math.max(...graph.nodes.map((node) => node.row)) + 1;
  // The start is a dot and needs no column of its own.
  const left = 10 - (WIDTH - 40);
  const [width, height] = [graph.layers * ACROSS + left + 10, rows * DOWN + 80];
  const most = Math.max(...graph.edges.map((edge) => edge.count));
  const at = new Map(graph.nodes.map((node) => [node.name, { x: left + node.layer * ACROSS, y: 40 + node.row * DOWN }]));
  return (
    <div class="page tall">
      <p class="dim">{graph.talks} conversations. Numbers on arrows: how often the way was taken. Red: the share of conversations through there that did not pass.</p>
      <div class="graph">
        <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`Graph of ${graph.nodes.length - 1} topics`}>
          <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" /></marker></defs>
          {graph.edges.map((edge) => <Arrow edge={edge} from={at.get(edge.from)!} to={at.get(edge.to)!} most={most} />)}
          {graph.nodes.map((node) => <Topic node={node} {...at.get(node.name)!} />)}
        </svg>
      </div>
      <div class="table-box">
        <table>
          <thead><tr><th>From</th><th>To</th><th class="r">Taken</th><th class="r">Did not pass</th></tr></thead>
          <tbody>{graph.edges.map((edge) => <tr><td>{edge.from === START ? "(start)" : edge.from}</td><td>{edge.to}</td><td class="r num">{edge.count}</td><td class="r num">{percent(edge.failed / edge.count)}</td></tr>)}</tbody>
        </table>
      </div>
    </div>
  );
}

function Topic({ node, x, y }: { node: Node; x: number; y: number }) {
  if (node.name === START) return <g class="node start"><circle cx={x + WIDTH - 14} cy={y + HEIGHT / 2} r="9" /><title>{`start of ${node.visits} conversations`}</title></g>;
  const share = node.talks ? node.failed / node.talks : 0;
  const name = node.name.length > 20 ? `${node.name.slice(0, 19)}…` : node.name;
  return (
    <g class="node">
      <title>{`${node.name}: ${node.visits} visits in ${node.talks} conversations, ${percent(share)} of which did not pass`}</title>
      <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="8" />
      <rect class="share" x={x} y={y + HEIGHT - 5} width={WIDTH * share} height="5" rx="2" />
      <text x={x + 10} y={y + 18}>{name}</text>
      <text class="small" x={x + 10} y={y + 34}>{`${node.visits} visits${share ? ` · ${percent(share)} ✗` : ""}`}</text>
    </g>
  );
}

function Arrow({ edge, from, to, most }: { edge: Edge; from: { x: number; y: number }; to: { x: number; y: number }; most: number }) {
  const forward = to.x > from.x;
  const itself = edge.from === edge.to;
  const middle = HEIGHT / 2;
  let path: string;
  let label: { x: number; y: number };
  if (itself) {
    path = `M${from.x + 40} ${from.y} C${from.x + 40} ${from.y - 34} ${from.x + 110} ${from.y - 34} ${from.x + 110} ${from.y}`;
    label = { x: from.x + 75, y: from.y - 28 };
  } else if (forward) {
    const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + middle, to.x, to.y + middle];
    path = `M${x1} ${y1} C${x1 + 40} ${y1} ${x2 - 40} ${y2} ${x2} ${y2}`;
    label = { x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 5 };
  } else {
    const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y + HEIGHT];
    const low = Math.max(y1, y2) + 30;
    path = `M${x1} ${y1} C${x1} ${low} ${x2} ${low} ${x2} ${y2}`;
    label = { x: (x1 + x2) / 2, y: low - 10 };
  }
  return (
    <g class="edge">
      <path d={path} stroke-width={1 + (4 * edge.count) / most} marker-end="url(#tip)" class={edge.failed * 2 > edge.count ? "bad" : undefined} />
      <text x={label.x} y={label.y} text-anchor="middle">{edge.count}</text>
      <title>{`${edge.from === START ? "start" : edge.from} → ${edge.to}: ${edge.count} times, ${edge.failed} in conversations that did not pass`}</title>
    </g>
  );
}
