import { expect, test } from "vitest";

import { find, marker, parseQuery } from "../src/model/query";
import examples from "./queries.json";

test("queries say what they say in Rust", () => {
  for (const [query, text, expected] of examples.found as [string, string, boolean][]) {
    expect([query, text, find(parseQuery(query), text) !== null]).toEqual([query, text, expected]);
  }
  for (const [query, part] of examples.refused as [string, string][]) {
    expect(() => parseQuery(query)).toThrow(part);
  }
});

test("what is found can be marked, with groups and without", () => {
  const marked = (query: string, text: string) => [...text.matchAll(marker(query)!)].map((found) => found[0]);
  expect(marked('by:agent "a refund" today', "A  refund today, today")).toEqual(["A  refund", "today", "today"]);
  expect(marked("/re(fund|pay)s?/", "refunds and repay")).toEqual(["refunds", "repay"]);
  expect([marker("/(/"), marker("by:user"), marker(" ")]).toEqual([null, null, null]);
});
