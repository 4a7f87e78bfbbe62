// The topics that conversations went through, as a graph.

import type { Attempt, Row } from "./types";

export interface Node { name: string; visits: number; talks: number; failed: number; layer: number; row: number }
export interface Edge { from: string; to: string; count: number; failed: number }
export interface Graph { nodes: Node[]; edges: Edge[]; layers: number; talks: number }

export const START = "\u0000start";

export function graphOf(rows: Row[]): Graph {
  const nodes = new Map<string, Node>();
  const edges = new Map<string, Edge>();
  let talks = 0;
  const node = (name: string) => {
    let found = nodes.get(name);
    if (!found) nodes.set(name, (found = { name, visits: 0, talks: 0, failed: 0, layer: -1, row: 0 }));
    return found;
  };
  for (const attempt of rows.flatMap((row) => row.attempts)) {
    if (attempt.topics.length === 0) continue;
    talks += 1;
    const bad = isFailed(attempt) ? 1 : 0;
    let before = START;
    node(START).visits += 1;
    for (const topic of attempt.topics) {
      node(topic).visits += 1;
      const key = `${before}\u0000>${topic}`;
      let edge = edges.get(key);
      if (!edge) edges.set(key, (edge = { from: before, to: topic, count: 0, failed: 0 }));
      edge.count += 1;
      edge.failed += bad;
      before = topic;
    }
    for (const topic of new Set(attempt.topics)) {
      node(topic).talks += 1;
      node(topic).failed += bad;
    }
  }
  const layers = place([...nodes.values()], [...edges.values()]);
  return { nodes: [...nodes.values()].sort((a, b) => a.layer - b.layer || a.row - b.row), edges: [...edges.values()].sort((a, b) => b.count - a.count), layers, talks };
}

/** Layers by distance from the start; within a layer the busiest first. */
function place(nodes: Node[], edges: Edge[]): number {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  let layer = 0;
  let now = nodes.filter((node) => node.name === START);
  while (now.length > 0) {
    now.sort((a, b) => b.visits - a.visits);
    now.forEach((node, row) => { node.layer = layer; node.row = row; });
    const next = new Set<Node>();
    for (const edge of edges) {
      const to = byName.get(edge.to)!;
      if (now.some((node) => node.name === edge.from) && to.layer < 0) next.add(to);
    }
    now = [...next];
    layer += 1;
  }
  return layer;
}

/** One conversation that took a way, and how often. */
export interface Taken { row: Row; attempt: Attempt; times: number; failed: boolean }

function isFailed(attempt: Attempt): boolean {
  return attempt.status !== null && attempt.status !== "passed" && attempt.status !== "pending";
}

/** The conversations that went from one topic to another; those that failed first. */
export function takenBy(rows: readonly Row[], from: string, to: string): Taken[] {
  const found: Taken[] = [];
  for (const row of rows) {
    for (const attempt of row.attempts) {
      const way = [START, ...attempt.topics];
      const times = way.filter((topic, place) => topic === from && way[place + 1] === to).length;
      if (times > 0) found.push({ row, attempt, times, failed: isFailed(attempt) });
    }
  }
  return found.sort((a, b) => Number(b.failed) - Number(a.failed));
}
