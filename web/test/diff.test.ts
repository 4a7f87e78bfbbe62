import { expect, test } from "vitest";

import { diffWords } from "../src/model/diff";
import { duration, percent, points, quoted } from "../src/format";

const text = (pieces: { text: string }[]) => pieces.map((piece) => piece.text).join("");

test("both sides come out as they went in, whatever the texts", () => {
  let seed = 7;
  const random = (below: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % below; };
  const words = ["a", "bb", " ", "\n", "ü", "☂", "c."];
  for (let round = 0; round < 300; round += 1) {
    const make = () => Array.from({ length: random(30) }, () => words[random(words.length)]).join("");
    const [before, after] = [make(), make()];
    const pieces = diffWords(before, after);
    expect(text(pieces.before)).toBe(before);
    expect(text(pieces.after)).toBe(after);
    const same = (side: { kind: string; text: string }[]) => text(side.filter((piece) => piece.kind === "same"));
    expect(same(pieces.before)).toBe(same(pieces.after));
  }
});

test("only what differs is marked", () => {
  const { before, after } = diffWords("the price is 100 €", "the price is 900 €");
  expect(before.filter((piece) => piece.kind === "gone").map((piece) => piece.text)).toEqual(["100"]);
  expect(after.filter((piece) => piece.kind === "new").map((piece) => piece.text)).toEqual(["900"]);
});

test("very long texts are not aligned word by word", () => {
  const { before } = diffWords("x ".repeat(5000), "y ".repeat(5000));
  expect(before.length).toBeLessThan(3);
});

test("numbers for people", () => {
  expect([duration(0.2), duration(999), duration(1500), duration(61_000)]).toEqual(["<1 ms", "999 ms", "1.50 s", "1 min 1 s"]);
  expect([percent(0.5), percent(null), points(-0.333), points(0)]).toEqual(["50 %", "–", "−33.3 pp", "±0 pp"]);
  expect([quoted("spec/a.rb:3"), quoted("it's")]).toEqual(["spec/a.rb:3", `'it'\\''s'`]);
});
