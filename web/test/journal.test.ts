import { expect, test } from "vitest";

import { byDay, choiceOf, signOf } from "../src/model/journal";

test("entries by day, in the order they come in", () => {
  const rows = ["2026-03-02T12:00:00Z", "2026-03-02T11:00:00Z", "2026-02-27T12:00:00Z", "rubbish"].map((created_at) => ({ created_at }));
  expect(byDay(rows).map(({ day, rows: own }) => [day, own.length])).toEqual([["2026-03-02", 2], ["2026-02-27", 1], ["?", 1]]);
});

test("a choice is what stands in the address and means something", () => {
  expect(choiceOf(new URLSearchParams("q=flaky+test&status=falsified&token=x&domain="))).toEqual({ q: "flaky test", status: "falsified" });
});

test("every outcome has a sign; an unknown one too", () => {
  expect(["active", "confirmed", "falsified", "abandoned", "?"].map((status) => signOf(status).sign).join("")).toBe("▸✓✗⊘•");
});
