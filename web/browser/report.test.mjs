// The report: the same viewer from a file, with no server and no network.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { booking, large } from "./fixture.mjs";
import { folder, launch, newPage, PROCTOR } from "./stage.mjs";

let browser, root;
const report = (run) => {
  const path = join(root, `${run}.html`);
  execFileSync(PROCTOR, ["show", run, "--root", root, "--html", path], { cwd: root });
  return path;
};

before(async () => {
  root = folder();
  booking(root, "019c0000-0001", { quality: 0.6, start: Date.parse("2026-11-01T10:00:00Z"), evil: true, repeats: 2 });
  large(root, "019c0000-0002", 10_000);
  browser = await launch();
});

after(() => browser?.close());

test("a report opens from a file and asks nobody for anything", async () => {
  const page = await newPage(browser, { offline: true });
  const address = pathToFileURL(report("019c0000-0001")).href;
  await page.goto(address);
  await page.waitForSelector(".line.example");
  await page.keyboard.press("n");
  await page.waitForSelector(".turn");
  assert.ok((await page.locator(".talk").innerText()).includes("onerror"), "what the agent said is shown as text");
  for (const key of ["2", "3", "4"]) await page.keyboard.press(key);
  await page.waitForSelector(".graph");
  await page.keyboard.press("s");
  await page.keyboard.type("kulturbrauerei 100");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".hit");
  await page.locator(".hit").first().click();
  await page.waitForSelector(".talk");
  assert.equal(await page.evaluate(() => window.__hacked), undefined);
  assert.deepEqual(page.troubles, []);
  assert.deepEqual(page.requests.filter((url) => !url.startsWith(address)), []);
  await page.context().close();
});

test("ten thousand examples in a report", async () => {
  const path = report("019c0000-0002");
  const page = await newPage(browser);
  await page.goto(pathToFileURL(path).href);
  await page.waitForSelector(".line.example");
  assert.match(await page.locator(".run-head").innerText(), /9,956/);
  assert.ok(statSync(path).size < 12 << 20);
  await page.context().close();
});
