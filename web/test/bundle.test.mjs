import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const size = (name) => gzipSync(readFileSync(new URL(`../dist/${name}`, import.meta.url))).length;

test("the bundle stays below 200 kB, gzipped", () => {
  expect(size("app.js") + size("app.css")).toBeLessThan(200_000);
});
