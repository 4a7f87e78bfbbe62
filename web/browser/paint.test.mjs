// How soon something is to be seen. Bounds are ten times what is promised: the machine may be busy and the build a debug one.
// `bench/live/paint` measures the promise itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { project } from "./fixture.mjs";
import { folder, launch, newPage, serve } from "./stage.mjs";
import { firstPaint } from "./measure.mjs";

let browser, server;

before(async () => {
  const root = folder();
  project(root);
  server = await serve(root);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test("the page paints at once, and lists a run of ten thousand examples that nobody has read yet", async () => {
  const page = await newPage(browser);
  const first = await firstPaint(page, server.url);
  assert.ok(first.paint < 2000, `first paint after ${first.paint} ms`);
  assert.ok(first.list < 5000, `the list after ${first.list} ms`);
  assert.match(await page.locator(".runs tbody tr").nth(1).innerText(), /9,956/);
  await page.context().close();
});
