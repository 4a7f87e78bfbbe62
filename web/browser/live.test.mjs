// A run that is going on: started from the page, followed event by event, stopped, and seen from another process.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { once } from "node:events";

import { Recording } from "./fixture.mjs";
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

test("one example, the failures, or all with another agent are run again from the page", async () => {
  const own = folder();
  writeFileSync(join(own, "proctor.toml"), 'agent = "rude"\n[agents.rude]\nscript = ["Go away."]\n[agents.kind]\nscript = ["Good day."]\n');
  const examples = ["greets", "answers", "waits"].map((name) => `  - it: ${name}\n    steps:\n      - user: Hello\n        expect: [{match: ${name === "greets" ? "Good" : "."}}]\n`).join("");
  // Not where a run without paths looks: what is run again is named by its file too.
  mkdirSync(join(own, "more"));
  writeFileSync(join(own, "more/greeting.scenario.yaml"), `describe: Greeting\nexamples:\n${examples}`);
  writeFileSync(join(own, "other.scenario.yaml"), "describe: Other\nexamples:\n  - it: is not asked for\n    steps: [{user: Hi, expect: [{match: .}]}]\n");
  const first = spawn(PROCTOR, ["run", "more/greeting.scenario.yaml", "--ui", "quiet"], { cwd: own, stdio: "ignore" });
  assert.deepEqual(await once(first, "exit"), [1, null]);
  const other = await serve(own);
  const page = await newPage(browser);
  await page.goto(other.url);
  await page.goto(`${other.base}/#/run/last`);
  await page.waitForSelector(".turn");
  const ended = async (name, counts) => {
    await page.waitForFunction((before) => location.hash !== before, name);
    await page.waitForSelector(".run-head .badge.s-failed, .run-head .badge.s-passed");
    await page.waitForFunction((text) => document.querySelector(".run-head .counts")?.textContent.trim() === text, counts);
  };
  const here = () => page.evaluate(() => location.hash);
  let before = await here();
  await page.keyboard.press("x");
  await ended(before, "✗ 1");
  assert.match(await page.locator(".pane h2").innerText(), /greets/, "the same example is open in the new run");
  before = await here();
  await page.getByLabel("Run again with another agent").selectOption("kind");
  await ended(before, "✓ 1");
  assert.match(await page.locator(".said.agent").innerText(), /Good day\./);
  await page.goto(`${other.base}/#/run/last~2`);
  await page.getByRole("button", { name: "Run 1 failure again" }).click();
  await ended("#/run/last~2", "✗ 1");
  assert.deepEqual(page.troubles, []);
  await page.context().close();
  await other.stop();
});

test("following stays with a conversation until it has ended, and with whoever reads further up", async () => {
  const own = folder();
  writeFileSync(join(own, "proctor.toml"), "");
  const id = "019f0000-0001";
  const path = join(own, ".proctor/runs", id, "events.jsonl");
  const recording = new Recording(own, id, { start: Date.now() });
  const holder = spawn("flock", ["--shared", path, "sleep", "600"], { detached: true });
  const page = await newPage(browser);
  const other = await serve(own);
  try {
    const start = (example_id) => recording.add("ExampleStarted", { example_id, repeat: 1, attempt: 1, file: "./a.scenario.yaml", path: ["Talk", example_id] });
    const turn = (example_id, turn_number) => recording.add("UserMessage", { example_id, repeat: 1, attempt: 1, turn_number, text: `question ${turn_number}` })
      .add("AgentResponse", { example_id, repeat: 1, attempt: 1, turn_number, text: `answer ${turn_number} of ${example_id}. `.repeat(12) });
    recording.add("SuiteStarted", { example_count: 2 });
    start("first");
    for (let number = 1; number <= 12; number += 1) turn("first", number);
    recording.write();
    await page.goto(other.url);
    await page.goto(`${other.base}/#/run/${id}`);
    await page.waitForSelector("#turn-12");
    // The second one speaks: nothing jumps there.
    start("second");
    turn("second", 1).write();
    await page.locator(".line.example", { hasText: "second" }).waitFor();
    turn("first", 13).write();
    await page.waitForSelector("#turn-13");
    assert.match(await page.locator(".pane h2").innerText(), /first/);
    const talk = page.locator(".talk");
    const place = () => talk.evaluate((box) => [box.scrollTop, box.scrollHeight - box.clientHeight]);
    await page.waitForFunction(() => { const box = document.querySelector(".talk"); return box.scrollHeight - box.clientHeight - box.scrollTop < 2; });
    // Whoever reads further up stays there.
    await talk.evaluate((box) => { box.scrollTop = 40; });
    await page.waitForFunction(() => document.querySelector(".talk").scrollTop === 40);
    turn("first", 14).write();
    await page.waitForSelector("#turn-14", { state: "attached" });
    assert.equal((await place())[0], 40);
    recording.add("ExampleFinished", { example_id: "first", repeat: 1, attempt: 1, status: "passed", final: true, duration_ms: 9 }).write();
    turn("second", 2).write();
    await page.waitForFunction(() => document.querySelector(".pane h2")?.textContent === "second");
  } finally {
    process.kill(-holder.pid, "SIGKILL");
  }
  await page.context().close();
  await other.stop();
});
