// A run that is going on: started from the page, followed event by event, stopped, and seen from another process.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { once } from "node:events";

import { folder, launch, newPage, PROCTOR, serve } from "./stage.mjs";

let browser, server, root;

before(async () => {
  root = folder();
  mkdirSync(join(root, "spec"));
  writeFileSync(join(root, "proctor.toml"), "");
  const examples = Array.from({ length: 8 }, (_, n) => `  it("waits ${n}") { puts "line of ${n}"; sleep 0.4; expect(${n}).not_to eq 3 }`).join("\n");
  writeFileSync(join(root, "spec/slow_spec.rb"), `RSpec.describe "Slow" do\n${examples}\nend\n`);
  writeFileSync(join(root, "spec/endless_spec.rb"), `RSpec.describe("Endless") { it("never ends") { sleep 600 } }\n`);
  server = await serve(root);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const post = (page, path, body) => page.evaluate(async ([to, text]) => (await fetch(to, { method: "POST", body: text })).json(), [path, body]);

test("a run is followed from its start to its end without a reload", async () => {
  const page = await newPage(browser);
  await page.goto(server.url);
  await page.waitForSelector("h1");
  const { status, run_id } = await post(page, "/specs/run", JSON.stringify({ paths: ["spec/slow_spec.rb"], workers: 2 }));
  assert.equal(status, "started");
  await page.goto(`${server.base}/#/run/${run_id}`);
  await page.waitForSelector(".run-head .badge.s-running");
  await page.waitForSelector(".line.example");
  await page.waitForSelector(".talk", { timeout: 30_000 });
  const seen = new Set();
  const deadline = Date.now() + 60_000;
  while (await page.locator(".run-head .badge.s-running").count()) {
    assert.ok(Date.now() < deadline, "the page learns that the run is over");
    seen.add(await page.locator(".line.example .mark.s-passed").count());
    await page.waitForTimeout(50);
  }
  assert.ok(seen.size >= 3, `it grew before our eyes: ${[...seen]}`);
  await page.waitForSelector(".run-head .badge.s-failed");
  assert.equal(await page.locator(".line.example").count(), 8);
  assert.match(await page.locator(".run-head").innerText(), /✓ 7[\s\S]*✗ 1/);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("a run of another process is followed, and can be stopped from the page that started it", async () => {
  const page = await newPage(browser);
  await page.goto(server.url);
  const other = spawn(PROCTOR, ["run", "spec/slow_spec.rb", "--ui", "quiet", "-w", "1"], { cwd: root, stdio: "ignore" });
  const ended = once(other, "exit");
  await page.locator(".runs .badge.s-running").waitFor();
  await page.locator(".runs tbody tr").first().click();
  await page.waitForSelector(".line.example");
  await ended;
  await page.waitForSelector(".run-head .badge.s-failed");
  const { run_id } = await post(page, "/specs/run", JSON.stringify({ paths: ["spec/endless_spec.rb"] }));
  await page.goto(`${server.base}/#/run/${run_id}`);
  await page.waitForSelector(".line.example");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.waitForSelector(".run-head .badge.s-stopped");
  assert.match(await page.locator(".left").innerText(), /never ends/);
  await page.context().close();
});

test("run --live shows the run it makes", async () => {
  const child = spawn(PROCTOR, ["run", "spec/slow_spec.rb", "--ui", "quiet", "--live"], { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  let text = "";
  for await (const chunk of child.stderr) {
    text += chunk;
    if (/live at \S+\n/.test(text)) break;
  }
  const page = await newPage(browser);
  await page.goto(text.match(/live at (\S+)/)[1]);
  await page.waitForSelector(".line.example");
  await ended;
  await page.waitForSelector(".run-head .badge.s-failed");
  assert.match(await page.locator(".run-head").innerText(), /✓ 7[\s\S]*✗ 1/, "the page got the last events before the server went");
  await page.context().close();
});
