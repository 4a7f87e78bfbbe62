// The journal in the page: entries, numbers, days; by mouse and keyboard; while others write to it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";

import { journal } from "./fixture.mjs";
import { folder, launch, newPage, PROCTOR, serve } from "./stage.mjs";

let browser, server, page, root;

before(async () => {
  root = folder();
  journal(root);
  server = await serve(root);
  browser = await launch();
  page = await newPage(browser);
  await page.goto(server.url);
  await page.waitForSelector("nav");
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const open = async (hash, wait) => {
  await page.goto(`${server.base}/${hash}`);
  await page.waitForSelector(wait);
};
const proctor = (...words) => execFileSync(PROCTOR, ["journal", ...words], { cwd: root, encoding: "utf8", env: { PATH: process.env.PATH, HOME: root + "/home" } });

test("entries with outcome and tier, newest first; one is read whole", async () => {
  await page.keyboard.press("b");
  await page.waitForSelector(".entry-line");
  assert.match(page.url(), /#\/journal$/);
  const lines = await page.locator(".entry-line").allInnerTexts();
  assert.match(lines[0], /see the journal in the page/);
  assert.ok(lines.some((line) => /gold/.test(line)) && lines.some((line) => /silver/.test(line)) && lines.some((line) => /unexplained/.test(line)), lines.join("\n"));
  assert.match(await page.locator(".run-head").innerText(), /28 entries/);
  await page.keyboard.press("j");
  await page.waitForSelector(".pane");
  assert.match(await page.locator(".pane").innerText(), /active[\s\S]*Prediction[\s\S]*inconclusive/);
  // The next that came otherwise than predicted.
  await page.keyboard.press("n");
  await page.waitForSelector(".pane .badge.s-failed");
  const text = await page.locator(".pane").innerText();
  for (const part of ["falsified", "Hypothesis", "Action", "It did not come as predicted", "two of ten runs failed", "Evidence", "rspec spec/cache_spec.rb", "exit 1", "2 failed"]) assert.ok(text.includes(part), `${part} in ${text}`);
  assert.deepEqual(page.troubles, []);
});

test("a link leads to an entry, with iterations, lesson and all its evidence", async () => {
  await open("#/journal/entry/ghap_20261022_090000_000002", ".pane");
  const text = await page.locator(".pane").innerText();
  for (const part of ["2 iterations", "Earlier iterations: 1", "freeze the clock", "Evidence: 2 commands", "with uncommitted changes"]) assert.ok(text.includes(part), `${part} in ${text}`);
  await open("#/journal/entry/ghap_20261020_090000_000000", ".pane");
  assert.match(await page.locator(".pane").innerText(), /Takeaway\s+look at the clock/);
  await page.goto(`${server.base}/#/journal/entry/nobody`);
  await page.locator(".trouble").waitFor();
  assert.match(await page.locator(".trouble").innerText(), /no entry has that id/);
});

test("entries are narrowed by words, outcome, domain, tier and lane; the address keeps it", async () => {
  await open("#/journal", ".entry-line");
  const count = (wanted) => page.waitForFunction((n) => document.querySelectorAll(".entry-line").length === n, wanted);
  await page.getByRole("button", { name: "abandoned" }).click();
  await count(3);
  await page.getByRole("button", { name: "unexplained" }).click();
  await page.waitForFunction(() => /unexplained=true/.test(location.hash));
  await page.waitForFunction(() => [...document.querySelectorAll(".entry-line")].every((line) => line.textContent.includes("unexplained")));
  await page.getByRole("button", { name: "all", exact: true }).click();
  await page.getByLabel("any lane").selectOption("reviewer");
  await count(1);
  await page.getByLabel("any lane").selectOption("");
  await page.getByLabel("any tier").selectOption("bronze");
  await page.waitForFunction(() => document.querySelectorAll(".entry-line .t-bronze").length > 0 && document.querySelectorAll(".entry-line .t-gold").length === 0);
  await page.getByLabel("any tier").selectOption("");
  await page.keyboard.press("/");
  await page.keyboard.type("leaks descriptors");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".entry-line")?.textContent.includes("leaks descriptors"));
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".entry-line")?.textContent.includes("leaks descriptors"));
  await page.getByLabel("Words in goal").fill("");
  await page.waitForFunction(() => !location.hash.includes("q="));
});

test("numbers with their intervals are those of the terminal", async () => {
  await open("#/journal", ".entry-line");
  await page.keyboard.press("2");
  await page.waitForSelector(".cards");
  const told = JSON.parse(proctor("stats", "--format", "json"));
  const cards = await page.locator(".cards").innerText();
  const rate = told.total.confirmed_rate;
  assert.ok(cards.includes(`${rate.hits}/${rate.n}`) && cards.includes(`${Math.round(rate.low * 100)}–${Math.round(rate.high * 100)} %`), cards);
  const tables = await page.locator(".table-box").allInnerTexts();
  assert.equal(tables.length, 4);
  assert.match(tables[0], /debugging/);
  assert.ok(tables.some((table) => /too few/.test(table)), "too few is said");
  assert.match(tables[2], /gold[\s\S]*silver/);
  assert.match(await page.locator(".calibration").innerText(), new RegExp(`Brier score ${told.calibration.brier.toFixed(3)}`));
  assert.ok((await page.locator(".calibration circle").count()) >= 3);
  assert.deepEqual(page.troubles, page.troubles.filter((text) => text.includes("404")));
});

test("the time line tells day by day what was thought, predicted and seen", async () => {
  await open("#/journal", ".entry-line");
  await page.keyboard.press("3");
  await page.waitForSelector(".day");
  const days = await page.locator(".day h2").allInnerTexts();
  assert.ok(days.length > 10 && days[0] > days[1], days.join());
  assert.match(await page.locator(".day").nth(1).innerText(), /thought[\s\S]*predicted[\s\S]*seen/);
  await page.locator(".day a").first().click();
  await page.waitForSelector(".pane");
});

test("what somebody writes meanwhile appears", async () => {
  await open("#/journal", ".entry-line");
  proctor("resolve", "confirmed", "--result", "there it is");
  await page.locator(".entry-line .mark.s-running").waitFor({ state: "detached" });
  proctor("create", "--domain", "testing", "--strategy", "ask-user", "--goal", "appear by itself", "--hypothesis", "the page looks again", "--action", "wait", "--prediction", "it shows");
  await page.locator(".entry-line", { hasText: "appear by itself" }).waitFor();
});

test("a phone: one column, a way back, nothing beyond the edge", async () => {
  const phone = await newPage(browser, { viewport: { width: 390, height: 780 }, hasTouch: true });
  await phone.goto(server.url);
  for (const [hash, wait] of [["#/journal", ".entry-line"], ["#/journal/stats", ".cards"], ["#/journal/timeline", ".day"], ["#/journal/entry/ghap_20261022_090000_000002", ".pane"]]) {
    await phone.goto(`${server.base}/${hash}`);
    await phone.waitForSelector(wait);
    assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} fits`);
  }
  await phone.locator("a.back").click();
  await phone.locator(".entry-line").first().waitFor();
  await phone.context().close();
});

test("a project without a journal says how to begin one", async () => {
  const empty = folder();
  const other = await serve(empty);
  const alone = await newPage(browser);
  await alone.goto(other.url);
  await alone.goto(`${other.base}/#/journal`);
  await alone.locator(".empty", { hasText: "proctor journal create" }).waitFor();
  assert.deepEqual(alone.troubles, []);
  await other.stop();
  await alone.context().close();
});
