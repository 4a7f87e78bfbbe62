// Every view on recorded runs: what it shows, how it is used, and that nothing an agent said is taken for HTML.

import assert from "node:assert/strict";
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

test("time line, criteria and topics", async () => {
  await open("#/run/019a0000-0003/timeline", "canvas");
  assert.match(await page.locator("canvas").getAttribute("aria-label"), /60 attempts on 4 workers/);
  await page.keyboard.press("3");
  await page.waitForSelector(".c-row");
  assert.ok((await page.locator(".c-head").innerText()).includes("no invented prices"));
  await page.keyboard.press("4");
  await page.waitForSelector(".graph .node");
  assert.ok((await page.locator(".graph").textContent()).includes("requirements"));
  await unharmed();
});

test("a comparison with its verdict, intervals, gaps and both conversations", async () => {
  await open("#/compare?before=019a0000-0002&after=019a0000-0003", "button.cmp-row");
  const verdict = await page.locator(".verdict").innerText();
  assert.match(verdict, /regression/);
  assert.match(verdict, /McNemar p < 0\.001/);
  assert.match(await page.locator("table").first().innerText(), /no invented prices[\s\S]*regression/);
  await page.locator("button.cmp-row").first().click();
  await page.waitForSelector(".diff");
  assert.ok((await page.locator(".diff ins").count()) > 0 && (await page.locator(".diff del").count()) > 0, "differences are marked");
  assert.match(await page.locator(".diff").innerText(), /First difference: turn \d/);
  await open("#/compare?before=019a0000-0001&after=019a0000-0004", ".verdict");
  assert.match(await page.locator(".verdict").innerText(), /Coverage gaps, not counted: 12 without result after, 10000 without result before/);
  await unharmed();
});

test("the page and the terminal give the same comparison", async () => {
  const answer = await page.evaluate(async () => (await fetch("/api/compare?before=019a0000-0002&after=019a0000-0003")).json());
  await open("#/compare?before=019a0000-0002&after=019a0000-0003", ".verdict");
  const shown = await page.locator(".verdict").innerText();
  assert.ok(shown.includes(`${answer.counts.paired} examples on both sides: ${answer.counts.regressions} worse, ${answer.counts.improvements} better`), shown);
});

test("history, flaky examples and search", async () => {
  await open("#/history", ".chart");
  await page.locator("h2", { hasText: "Flaky" }).locator("xpath=following-sibling::div").getByText("asks for the number of guests").first().waitFor();
  await open("#/history?tag=fast", ".chart");
  await open("#/search?q=kulturbrauerei%20100", ".hit");
  await page.locator(".hit").first().click();
  await page.waitForSelector(".turn.here");
  await unharmed();
});

test("ten thousand examples are a few dozen elements, to the last", async () => {
  await open("#/run/019a0000-0004", ".line.example");
  await page.getByText("10000 examples").waitFor();
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
  await open(`#/run/${evil}/criteria`, ".c-row");
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
  for (const [hash, wait] of [["#/", ".runs"], ["#/run/019a0000-0003", ".line.example"], ["#/compare?before=019a0000-0002&after=019a0000-0003", "button.cmp-row"], ["#/history", ".chart"], ["#/search?q=venue", ".hit"]]) {
    await phone.goto(`${server.base}/${hash}`);
    await phone.waitForSelector(wait);
    assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} fits`);
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
  booking(root, "019b0000-0001", { start: Date.now(), unfinished: true });
  await watching.waitForSelector(".runs .s-running");
  await other.stop();
  await watching.context().close();
});
