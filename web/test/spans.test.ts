import { expect, test } from "vitest";
import { talksOf } from "../src/model/talk";
import type { Event } from "../src/model/types";

const span = (seq: number, id: string, parent: string | null, more: object = {}) =>
  ({ event_type: "AgentSpan", seq, example_id: "a", turn_number: 1, span_id: id, parent_span_id: parent, name: id, ...more }) as unknown as Event;

test("spans stand below the spans they are in", () => {
  const [talk] = talksOf([span(1, "run", "turn"), span(2, "chat", "run", { duration_ms: 3 }), span(3, "GET", "chat", { error: "no", spans_left_out: 2 }), span(4, "tool", "run")]);
  expect(talk!.spans.map((one) => [one.name, one.depth, one.left_out])).toEqual([["run", 0, 0], ["chat", 1, 0], ["GET", 2, 2], ["tool", 1, 0]]);
  expect(talk!.spans[2]!.error).toBe("no");
  expect(talk!.turns).toEqual([]);
});
