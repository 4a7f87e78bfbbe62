// Every view on recorded runs: what it shows, how it is used, and that nothing an agent said is taken for HTML.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { booking, project } from "./fixture.mjs";
import { folder, launch, newPage, serve } from "./stage.mjs";

let browser, server, page;

before(async () => {
  const root = folder();
  project(root);
  server = await serve(root);
  browser = await launch();
  page = await newPage(browser);
  await page.goto(server.url);
  await page.waitForSelector(".runs tbody tr");
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const open = async (hash, wait) => {
  await page.goto(`${server.base}/${hash}`);
  await page.waitForSelector(wait).catch(async (error) => {
    throw new Error(`${hash}: ${error.message}\n${page.url()}\n${(await page.locator("main").innerText()).slice(0, 600)}`);
  });
};
const unharmed = async (on = page) => {
  assert.equal(await on.evaluate(() => window.__hacked), undefined, "no script of an agent ran");
  assert.deepEqual(on.troubles, []);
};

test("the token leaves the address, and nobody gets in without", async () => {
  assert.ok(!page.url().includes("token"), page.url());
  const stranger = await newPage(browser);
  const answer = await stranger.goto(`${server.base}/`);
  assert.equal(answer.status(), 401);
  await stranger.context().close();
});

test("the list of runs", async () => {
  await open("#/", ".runs tbody tr");
  const rows = await page.locator(".runs tbody tr").allInnerTexts();
  assert.equal(rows.length, 5);
  assert.match(rows[1], /9,956/);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".line.example");
  assert.match(page.url(), /#\/run\/019a0000-0004/);
  await unharmed();
});

test("examples by file and context, failures first, filtered, by keyboard", async () => {
  await open("#/run/019a0000-0002", ".line.example");
  const marks = await page.locator(".line.example .mark").allInnerTexts();
  assert.equal(marks[0], "✗");
  await page.keyboard.press("n");
  await page.waitForSelector(".turn");
  const first = page.url();
  assert.match(first, /example\/[0-9a-f]{12}/);
  await page.keyboard.press("j");
  await page.waitForFunction((before) => location.href !== before, first);
  await page.keyboard.press("/");
  await page.keyboard.type("insulted");
  await page.waitForFunction(() => document.querySelectorAll(".line.example").length === 2);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelectorAll(".line.example").length === 12, undefined, { timeout: 5000 });
  await page.keyboard.press("?");
  await page.waitForSelector('[role="dialog"]');
  await page.keyboard.press("Escape");
  await page.waitForSelector('[role="dialog"]', { state: "detached" });
  await unharmed();
});

test("a conversation: messages, tools, topics, judge, models, output, failure, events", async () => {
  await open("#/run/019a0000-0003", ".line.example");
  await page.keyboard.press("n");
  await page.waitForSelector(".turn");
  const text = await page.locator(".talk").textContent();
  for (const part of ["ExpectationFailed", "Goal", "I need a venue", "search_venues", "requirements", "no invented prices", "appears in no tool result", "Model calls", "booked in"]) {
    assert.ok(text.includes(part), part);
  }
  await page.locator("details.tool summary").first().click();
  assert.ok((await page.locator("details.tool").first().innerText()).includes("Kulturbrauerei"));
  await page.keyboard.press("e");
  await page.waitForSelector(".event");
  await page.locator(".event", { hasText: "ToolCallStarted" }).first().click();
  assert.ok((await page.locator(".event-json").innerText()).includes('"tool_call_id"'));
  await unharmed();
});

test("the command that runs an example again is copied", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open("#/run/019a0000-0003", ".line.example");
  await page.keyboard.press("n");
  await page.waitForSelector(".turn");
  await page.getByRole("button", { name: "Copy re-run command" }).click();
  await page.getByRole("button", { name: "copied" }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^proctor run '?\.\/examples\/\w+\.scenario\.yaml:\d+'?$/);
});

test("a link leads to a turn of an attempt", async () => {
  await open("#/run/019a0000-0003", ".line.example");
  await page.locator(".line.example").first().click();
  await page.waitForSelector(".turn");
  const address = await page.locator(".turn-head a").nth(2).getAttribute("href");
  await open(address, ".turn.here");
  assert.equal(await page.locator(".turn.here").getAttribute("id"), "turn-3");
  await page.waitForFunction(() => {
    const box = document.querySelector(".turn.here").getBoundingClientRect();
    return box.top >= 0 && box.top < innerHeight;
  });
});

test("the time line: every attempt on its worker, what is under the pointer, zoom, the slowest", async () => {
  await open("#/run/019a0000-0003/timeline", "canvas");
  assert.match(await page.locator("canvas").getAttribute("aria-label"), /60 attempts on 4 workers/);
  const drawn = await page.locator("canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colors = new Set();
    for (let place = 0; place < data.length; place += 4) if (data[place + 3] === 255) colors.add(`${data[place]},${data[place + 1]},${data[place + 2]}`);
    return colors.size;
  });
  assert.ok(drawn >= 4, `${drawn} colours are drawn`);
  // The first bar of the first worker.
  const box = await page.locator("canvas").boundingBox();
  for (let x = 75; x < box.width && !(await page.locator(".tip").count()); x += 15) await page.mouse.move(box.x + x, box.y + 37);
  assert.match(await page.locator(".tip").innerText(), /(passed|failed) · \d/);
  await page.mouse.down();
  await page.mouse.up();
  await page.waitForSelector(".turn");
  await open("#/run/019a0000-0003/timeline", "canvas");
  await page.getByLabel("zoom").fill("3");
  await page.getByLabel("place").waitFor();
  assert.equal(await page.locator(".slow li").count(), 10);
  await unharmed();
});

test("criteria: judged ones with shares, scores and their worst conversations, mechanical ones folded", async () => {
  await open("#/run/019a0000-0003", ".line.example");
  await page.keyboard.press("3");
  await page.waitForSelector(".criterion");
  const lines = await page.locator(".criterion").allInnerTexts();
  assert.match(lines.find((line) => line.includes("no invented prices")), /held \d+ of 60[\s\S]*mean 0\.\d\d/);
  assert.match(lines.find((line) => line.includes("friendly")), /soft[\s\S]*held \d+ of \d+/);
  const shares = lines.map((line) => { const [, held, of] = line.match(/held (\d+) of (\d+)/); return held / of; });
  assert.deepEqual(shares, [...shares].sort((a, b) => a - b), "worst first");
  await page.locator(".criterion", { hasText: "no invented prices" }).click();
  const worst = await page.locator("ol.worst li").allInnerTexts();
  assert.equal(worst.length, 10);
  assert.ok(worst.every((line) => line.startsWith("✗") && line.endsWith("0.10")), worst.join("; "));
  await page.locator("ol.worst a").first().click();
  await page.waitForSelector(".turn");
  assert.match(await page.locator(".pane .pill[aria-current]").innerText(), /✗/, "the attempt that is meant");
  await unharmed();
});

test("topics: how often each way was taken, and how many of those failed", async () => {
  await open("#/run/019a0000-0003", ".line.example");
  await page.keyboard.press("4");
  await page.waitForSelector(".graph .node");
  const nodes = await page.locator(".graph .node").allTextContents();
  assert.ok(["greeting", "requirements", "search", "offer", "booking"].every((name) => nodes.some((node) => node.includes(name))), nodes.join());
  // Every conversation begins with a greeting: 60 of them.
  const rows = await page.locator(".page table tbody tr").allInnerTexts();
  assert.match(rows[0], /\(start\)\s+greeting\s+60/);
  const failed = rows.map((row) => Number(row.match(/([\d.]+) %$/)[1]));
  assert.ok(failed.every((share) => share > 0 && share < 100), failed.join());
  assert.equal(await page.locator(".edge").count(), rows.length);
  assert.ok((await page.locator(".node .share").count()) >= 5);
  await unharmed();
});

test("a comparison with its verdict, intervals, gaps and both conversations", async () => {
  await open("#/compare?before=019a0000-0002&after=019a0000-0003", "button.cmp-row");
  const verdict = await page.locator(".verdict").innerText();
  assert.match(verdict, /regression/);
  assert.match(verdict, /exact stratified test: worse p < 0\.001, better p = 1\.000/);
  assert.match(verdict, /Gate:\s+✗\s+stop\s+\(exit code 1\)[\s\S]*the suite as a whole got worse/);
  assert.match(await page.locator("table").first().innerText(), /no invented prices[\s\S]*regression/);
  await page.locator("button.cmp-row").first().click();
  await page.waitForSelector(".diff");
  assert.ok((await page.locator(".diff ins").count()) > 0 && (await page.locator(".diff del").count()) > 0, "differences are marked");
  assert.match(await page.locator(".diff").innerText(), /First difference: turn \d/);
  await open("#/compare?before=019a0000-0001&after=019a0000-0004", ".verdict");
  assert.match(await page.locator(".verdict").innerText(), /not comparable[\s\S]*no example with a result in common[\s\S]*12 without a result after, 10000 without a result before/);
  await unharmed();
});

test("the page and the terminal give the same comparison", async () => {
  const answer = await page.evaluate(async () => (await fetch("/api/compare?before=019a0000-0002&after=019a0000-0003")).json());
  await open("#/compare?before=019a0000-0002&after=019a0000-0003", ".verdict");
  const shown = await page.locator(".verdict").innerText();
  assert.ok(shown.includes(`${answer.counts.paired} examples on both sides: ${answer.counts.regressions} regressions, ${answer.counts.improvements} improvements, ${answer.counts.cannot_tell} cannot be told`), shown);
});

test("history: pass rate, duration and cost over the runs, of all, of a tag, of one example", async () => {
  await open("#/history", ".chart");
  const charts = await page.locator(".chart").allInnerTexts();
  assert.deepEqual(charts.map((chart) => chart.split(/\s/)[0]), ["Pass", "Duration", "Cost"]);
  assert.equal(await page.locator(".chart").first().locator("circle").count(), 5, "a point a run");
  assert.equal(await page.locator(".table-box").first().locator("tbody tr").count(), 5);
  await open("#/history?tag=fast", ".chart");
  // The charts of the view before stand there until its own are loaded. The run of specs has no such tag.
  await page.waitForFunction(() => /tagged fast/.test(document.querySelector("h2.title")?.textContent) && document.querySelectorAll(".chart:first-child circle").length === 4);
  await open("#/history", ".chart");
  await page.waitForFunction(() => /All examples/.test(document.querySelector("h2.title")?.textContent));
  await page.getByLabel("Example or tag").fill("books a venue");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("h2.title")?.textContent.includes("books a venue"));
  await page.waitForSelector(".table-box .badge");
  await page.locator(".table-box a").first().click();
  await page.waitForSelector(".turn");
  await unharmed();
});

test("flaky examples: rate with interval, runs and commits with both outcomes, outcome changes, the way to their history", async () => {
  await open("#/history", ".chart");
  const table = page.locator("h2", { hasText: "Flaky" }).locator("xpath=following-sibling::div");
  await table.getByText("asks for the number of guests").first().waitFor();
  const row = await table.locator("tbody tr").first().innerText();
  assert.match(row, /\d+\/\d+\s+[\d.]+ % – [\d.]+ %\s+\d+\s+\d+\s+\d+\s/);
  const [first] = await page.evaluate(async () => (await (await fetch("/api/flaky")).json()).flaky);
  assert.deepEqual(row.split("\t").slice(3, 6), [first.mixed_runs, first.torn_commits, first.changes].map(String));
  await table.locator("a").first().click();
  await page.waitForFunction(() => /example=/.test(location.hash));
  await page.waitForSelector(".chart");
  await unharmed();
});

test("search: in all runs, in one, to the turn", async () => {
  await open("#/search?q=kulturbrauerei%20100", ".hit");
  assert.match(await page.locator("p.dim").first().innerText(), /places in 5 runs/);
  assert.ok((await page.locator(".hit mark").count()) > 0);
  await page.locator(".hit").first().click();
  await page.waitForSelector(".turn.here");
  await open("#/search?q=venue&run=019a0000-0001", ".hit");
  assert.match(await page.locator("p.dim").first().innerText(), /in 1 run/);
  await page.goto(`${server.base}/#/search?q=nobody+said+this`);
  await page.getByText("Nothing found in 5 runs").waitFor();
  await unharmed();
});

test("ten thousand examples are a few dozen elements, to the last", async () => {
  await open("#/run/019a0000-0004", ".line.example");
  await page.getByText("10,000 examples").waitFor();
  const list = page.locator(".left .v-list");
  const height = await list.evaluate((element) => element.scrollHeight);
  assert.ok(height > 10_000 * 30, `${height}`);
  await list.evaluate((element) => { element.scrollTop = element.scrollHeight; });
  await page.getByText("does thing number 9999").first().waitFor();
  assert.ok((await page.locator(".v-item").count()) < 80);
  const worst = await list.evaluate(async (element) => {
    let longest = 0;
    for (let step = 0; step < 60; step += 1) {
      const from = performance.now();
      element.scrollTop = (element.scrollHeight * step) / 60;
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      longest = Math.max(longest, performance.now() - from);
    }
    return longest;
  });
  assert.ok(worst < 1000, `a jump took ${worst} ms`);
  await unharmed();
});

test("nothing an agent said is HTML, in any view", async () => {
  const evil = "019a0000-0005";
  await open(`#/run/${evil}`, ".line.example");
  for (const line of await page.locator(".line.example").all()) {
    await line.click();
    await page.waitForSelector(".talk");
  }
  await page.keyboard.press("e");
  await page.waitForSelector(".event");
  await open(`#/run/${evil}/criteria`, ".criterion");
  await open(`#/search?q=onerror`, ".hit");
  await open(`#/compare?before=019a0000-0001&after=${evil}`, "button.cmp-row");
  await page.locator("button.cmp-row").first().click();
  await page.waitForSelector(".diff");
  assert.equal(await page.locator("img[src='x']").count(), 0);
  await unharmed();
});

test("dark and light", async () => {
  await open("#/run/019a0000-0003", ".line.example");
  const color = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const was = await color();
  await page.keyboard.press("t");
  assert.notEqual(await color(), was);
  await page.reload();
  await page.waitForSelector(".line.example");
  assert.notEqual(await color(), was, "it is remembered");
  await page.keyboard.press("t");
});

test("a phone: one column, a way back, nothing beyond the edge", async () => {
  const phone = await newPage(browser, { viewport: { width: 390, height: 780 }, hasTouch: true });
  await phone.goto(server.url);
  for (const [hash, wait] of [["#/", ".runs"], ["#/run/019a0000-0003", ".line.example"], ["#/compare?before=019a0000-0002&after=019a0000-0003", "button.cmp-row"], ["#/run/019a0000-0003/timeline", "canvas"], ["#/run/019a0000-0003/criteria", ".criterion"], ["#/run/019a0000-0003/topics", ".node"], ["#/history", ".chart"], ["#/search?q=venue", ".hit"]]) {
    await phone.goto(`${server.base}/${hash}`);
    await phone.waitForSelector(wait);
    assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} fits`);
    const sideways = await phone.evaluate(() => [...document.querySelectorAll("main, main *")].filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(one).overflowX)).map((one) => one.className));
    assert.deepEqual(sideways, [], `${hash}: nothing scrolls sideways`);
  }
  await phone.goto(`${server.base}/#/compare?before=019a0000-0002&after=019a0000-0003`);
  await phone.locator("button.cmp-row").first().click();
  await phone.waitForSelector(".diff");
  for (const part of [".two-head > div", ".two-head select", ".diff .said"]) {
    for (const box of await phone.locator(part).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()))) assert.ok(box.left >= 0 && box.right <= 390, `${part} ${JSON.stringify(box)}`);
  }
  await phone.goto(`${server.base}/#/run/019a0000-0003`);
  await phone.locator(".line.example").first().click();
  await phone.waitForSelector(".turn");
  assert.equal(await phone.locator(".left").isVisible(), false);
  await phone.locator("a.back").click();
  await phone.locator(".line.example").first().waitFor();
  await unharmed(phone);
  await phone.context().close();
});

test("a run that begins elsewhere appears, and one cut off is said to be so", async () => {
  const root = folder();
  const other = await serve(root);
  const watching = await newPage(browser);
  await watching.goto(other.url);
  await watching.waitForSelector(".empty");
  // Whoever writes a recording holds it.
  const run = join(root, ".proctor/runs/019b0000-0001");
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, "events.jsonl"), "");
  const writer = spawn("flock", ["--shared", join(run, "events.jsonl"), "sleep", "600"], { detached: true });
  try {
    booking(root, "019b0000-0001", { start: Date.now(), unfinished: true });
    await watching.waitForSelector(".runs .s-running");
  } finally {
    process.kill(-writer.pid, "SIGKILL");
  }
  await watching.reload();
  await watching.locator(".runs", { hasText: "died" }).waitFor();
  await other.stop();
  await watching.context().close();
});
