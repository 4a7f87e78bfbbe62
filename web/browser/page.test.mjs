// What a person does most with conversations: why it failed, what differs, since when, what else, run it again.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { conversations } from "./fixture.mjs";
import { newPage, stage } from "./stage.mjs";

let browser, server, close, page;
const RUN = "019e0000-0005";

before(async () => {
  ({ browser, server, close } = await stage(conversations));
  page = await newPage(browser, { viewport: { width: 1400, height: 900 } });
  await page.goto(server.url);
  await page.waitForSelector(".runs tbody tr");
});

after(() => close?.());

const open = async (hash, wait) => {
  await page.goto(`${server.base}/${hash}`);
  await page.waitForSelector(wait);
};
const inSight = (selector) => page.waitForFunction((what) => {
  const box = document.querySelector(what)?.getBoundingClientRect();
  return box !== undefined && box.top >= 0 && box.top < innerHeight;
}, selector);

test("runs: ends are told apart, commands are as typed, two that are ticked can be compared", async () => {
  await open("#/", ".runs tbody tr");
  const rows = await page.locator(".runs tbody tr").allInnerTexts();
  for (const [place, word] of ["failed", "died", "stopped", "did not load", "passed"].entries()) assert.match(rows[place], new RegExp(word));
  assert.match(rows[0], /proctor run venue\.scenario\.yaml/);
  assert.doesNotMatch(rows[0], /--ui|--color|\/usr\/local/);
  assert.equal(await page.getByRole("link", { name: "Compare 2" }).count(), 0);
  for (const key of ["j", "m", "j", "j", "j", "j", "m"]) await page.keyboard.press(key);
  await page.getByRole("link", { name: "Compare 2" }).waitFor();
  await page.keyboard.press("d");
  await page.waitForSelector(".v-regression");
  assert.match(page.url(), /before=019e0000-0001&after=019e0000-0005/);
});

test("a run opens at its first failure; its box leads to the turn that failed", async () => {
  await open(`#/run/${RUN}`, ".turn");
  assert.match(await page.locator(".pane h2").innerText(), /takes up a change of mind/);
  await page.getByRole("link", { name: "Go to turn 2" }).click();
  await page.waitForSelector(".turn.here");
  assert.equal(await page.locator(".turn.here").getAttribute("id"), "turn-2");
  await inSight("#turn-2");
  await page.keyboard.press("Escape");
  await page.getByText("Choose an example").waitFor();
  await page.keyboard.press("n");
  await page.waitForSelector(".turn");
  await page.keyboard.press(".");
  await page.waitForSelector("#turn-2.here");
  assert.equal(await page.locator(".panel.bad .message a").first().innerText(), "turn 2");
});

test("a turn: user and agent apart, results of tools in short, calls with tokens, cost and time, raw prompts", async () => {
  await open(`#/run/${RUN}`, ".turn");
  const box = (selector) => page.locator(selector).first().boundingBox();
  const [user, agent, turn] = [await box("#turn-1 .said.user"), await box("#turn-1 .said.agent"), await box("#turn-1")];
  assert.ok(user.x > agent.x && Math.abs(user.x + user.width - turn.x - turn.width) < 3, "the user is on the right");
  assert.match(await page.locator("#turn-1 .tool .result").innerText(), /→ \[\{"name":"Spreespeicher"/);
  assert.match(await page.locator("#turn-2 .turn-head").innerText(), /Turn 2[\s\S]*3 model calls · 1,900 tokens · \$0\.0055 · models took 1\.89 s/);
  await page.locator("#turn-2 .calls > summary").click();
  const calls = await page.locator("#turn-2 .calls li").allInnerTexts();
  assert.deepEqual(calls.map((call) => call.split(/\s/)[0]), ["simulator", "agent", "judge"]);
  await page.locator("#turn-2 .raw summary", { hasText: "Prompt" }).click();
  assert.match(await page.locator("#turn-2 .raw pre").first().innerText(), /system: You book venues\.\nuser: Sorry, make it the 11th instead/);
});

test("a judgement stands once, with its votes", async () => {
  await open(`#/run/${RUN}`, ".turn");
  const check = page.locator("#turn-2 .check-item", { hasText: "follows changes" });
  assert.match(await check.innerText(), /0\.10[\s\S]*2 of 3 votes/);
  const said = await check.innerText();
  assert.equal(said.split("the agent booked the 4th").length - 1, 1, said);
});

test("spans stand under their turn, each where and as long as it was", async () => {
  await open(`#/run/${RUN}`, ".turn");
  const rows = page.locator("#turn-2 .span-line");
  assert.deepEqual((await rows.allInnerTexts()).map((text) => text.split("\n")[0]), ["agent run", "plan", "GET /venues", "GET /prices"]);
  const bars = await page.locator("#turn-2 .track i").evaluateAll((all) => all.map((one) => { const own = one.getBoundingClientRect(); const whole = one.parentElement.getBoundingClientRect(); return [(own.left - whole.left) / whole.width, own.width / whole.width, one.className]; }));
  const near = (found, expected) => assert.ok(Math.abs(found - expected) < 0.02, `${found} is not ${expected}`);
  for (const [place, [from, share]] of [[0, 1], [3 / 930, 400 / 930], [423 / 930, 80 / 930], [508 / 930, 120 / 930]].entries()) {
    near(bars[place][0], from);
    near(bars[place][1], share);
  }
  assert.equal(bars[3][2], "bad");
});

test("repeats: the example's verdict, attempts as pills, and what differs between two of them", async () => {
  await open(`#/run/${RUN}`, ".pill");
  const head = await page.locator(".pane > header").innerText();
  assert.match(head, /failed\s+4 of 12 repetitions passed/);
  assert.equal(await page.locator(".pill").count(), 12);
  assert.match(await page.locator(".pill[aria-current]").getAttribute("aria-label"), /repeat 2: failed/);
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => /repeat 1: passed/.test(document.querySelector(".pill[aria-current]")?.ariaLabel));
  assert.match(await page.locator(".pane > header .badge").innerText(), /failed/, "the verdict stays that of the example");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => /repeat 2: failed/.test(document.querySelector(".pill[aria-current]")?.ariaLabel));
  await page.keyboard.press("d");
  await page.waitForSelector(".diff");
  assert.match(await page.locator(".pane .talk").innerText(), /left repeat 1 \(passed\), right repeat 2 \(failed\)[\s\S]*First difference: turn 2/);
  assert.ok((await page.locator(".diff ins").count()) > 0);
  assert.equal(await page.locator(".diff-turn").first().getAttribute("open"), null, "what is the same is folded");
  await page.getByLabel("compare with").selectOption("3.1");
  await page.getByText("left repeat 3 (passed)").waitFor();
  await page.keyboard.press("d");
  await page.waitForSelector(".turn");
});

test("the time line packs conversations, failures on top; the wheel zooms, a click opens the turn", async () => {
  await open(`#/run/${RUN}/timeline`, "canvas");
  assert.match(await page.locator("canvas").getAttribute("aria-label"), /24 attempts up to 12 at once/);
  const box = await page.locator("canvas").boundingBox();
  const at = (x, lane) => [box.x + 110 + x * (box.width - 118), box.y + 24 + lane * 26 + 13];
  await page.mouse.move(...at(0.75, 0));
  assert.match(await page.locator(".tip").innerText(), /takes up a change of mind\s+failed/);
  await page.mouse.move(...at(0.75, 10));
  assert.match(await page.locator(".tip").innerText(), /passed/);
  await page.mouse.wheel(0, -200);
  await page.getByRole("slider", { name: "place" }).waitFor();
  await page.mouse.wheel(0, 2000);
  await page.getByRole("slider", { name: "place" }).waitFor({ state: "detached" });
  await page.mouse.click(...at(0.97, 0));
  await page.waitForSelector("#turn-2.here");
  assert.match(page.url(), /repeat=2&attempt=1&turn=2/);
});

test("criteria: judged ones open, mechanical ones folded, the worst conversation leads to its turn", async () => {
  await open(`#/run/${RUN}/criteria`, ".criterion");
  assert.deepEqual(await page.locator("[aria-label='Judged criteria'] .criterion .name").evaluateAll((all) => all.map((one) => one.firstChild.textContent)), ["follows changes", "polite"]);
  assert.equal(await page.locator(".mechanical").getAttribute("open"), null);
  assert.match(await page.locator(".mechanical > summary").innerText(), /Mechanical checks: 2, all held/);
  await page.keyboard.press("j");
  assert.match(await page.locator("ol.worst li").first().innerText(), /✗[\s\S]*takes up a change of mind[\s\S]*turn 2, repeat 2[\s\S]*0\.10/);
  await page.locator("ol.worst a").first().click();
  await page.waitForSelector("#turn-2.here");
});

test("comparison: what broke first, the rest folded, the suite drawn, worse in red", async () => {
  await open("#/compare?before=last~4&after=last", "button.cmp-row");
  const choices = await page.locator(".side select").evaluateAll((all) => all.map((one) => one.selectedOptions[0].textContent));
  assert.match(choices[0], /8 Nov( \d{4})? \d\d:00 · ✓ · aaaaaaa/);
  assert.match(choices[1], /12 Nov( \d{4})? \d\d:00 · ✗ · bbbbbbb/);
  const first = page.locator("button.cmp-row").first();
  assert.match(await first.innerText(), /regression[\s\S]*−66\.7 pp/);
  assert.equal(await first.locator("b.s-failed").count(), 1);
  assert.equal(await page.locator("details.folded:has(> summary:text('No change seen'))").getAttribute("open"), null);
  assert.match(await page.locator(".suite-chart").getAttribute("aria-label"), /was 100 % and is 66\.7 %, with 95 % certainty between [\d.]+ % and [\d.]+ %/);
  const order = await page.evaluate(() => [".broke", "section[aria-label=Criteria]"].map((one) => document.querySelector(one).getBoundingClientRect().top));
  assert.ok(order[0] < order[1], "examples before criteria");
  await page.keyboard.press("n");
  await page.waitForSelector(".both .diff");
});

test("topics: a way leads to its conversations", async () => {
  await open(`#/run/${RUN}/topics`, ".edge");
  await page.locator(".edge", { hasText: "offering → booked" }).dispatchEvent("click");
  await page.waitForSelector(".takers");
  assert.equal(await page.locator(".takers li").count(), 8);
  await page.locator(".takers a").first().click();
  await page.waitForSelector(".pill[aria-current]");
  assert.match(page.url(), /repeat=2/);
});

test("history: axes with units, commits below, what is under the pointer", async () => {
  await open("#/history", ".charts .chart");
  const rate = page.locator(".charts .chart").first();
  assert.deepEqual(await rate.locator(".y-label").allTextContents(), ["0 %", "25 %", "50 %", "75 %", "100 %"]);
  assert.ok((await rate.locator(".x-label").allTextContents()).includes("aaaaaaa"));
  const box = await rate.locator("svg").boundingBox();
  await page.mouse.move(box.x + box.width - 15, box.y + 60);
  assert.match(await rate.locator(".tip").innerText(), /66\.7 %[\s\S]*16 of 24 passed[\s\S]*12 Nov[\s\S]*bbbbbbbb/);
});

test("search: phrases, expressions, who said it, in all runs; what cannot be read is said", async () => {
  const count = async (query, more = "") => {
    await open(`#/search?q=${encodeURIComponent(query)}${more}`, ".page p.dim");
    await page.waitForFunction(() => !/…/.test(document.querySelector(".page p.dim")?.textContent ?? "…"));
    return page.locator(".page p.dim").first().innerText();
  };
  assert.match(await count('"shall I book it" 11th'), /^40 places in 5 runs/);
  assert.match(await count('"book I shall it"'), /Nothing found in 5 runs/);
  assert.match(await count("/Booked: \\w+ on the \\d+th/", "&by=agent"), /^8 places/);
  assert.equal(await page.locator(".hit mark").first().innerText(), "Booked: Spreespeicher on the 4th");
  assert.match(await count("/Booked: \\w+ on the \\d+th/", "&by=user"), /Nothing found/);
  await page.getByLabel("Said by").selectOption("agent");
  await page.waitForSelector(".hit");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".turn.here");
  await open("#/search?q=%2F(%2F", "[role=alert]");
  assert.match(await page.locator("[role=alert]").innerText(), /not a regular expression/);
  // The browser notes the refusal.
  assert.deepEqual(page.troubles.splice(0).filter((one) => !/400/.test(one)), []);
});

test("the palette: places, commands, examples and runs by name, by keyboard alone", async () => {
  await open(`#/run/${RUN}`, ".turn");
  const choose = async (text) => {
    await page.keyboard.press("Control+k");
    await page.waitForSelector(".palette");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".palette", { state: "detached" });
  };
  await choose("time line");
  await page.waitForSelector("canvas");
  await choose("books a venue");
  await page.waitForFunction(() => document.querySelector(".pane h2")?.textContent === "books a venue");
  await page.keyboard.press(":");
  await page.waitForSelector(".choice");
  await page.keyboard.type("did not load");
  // Before the runs are there, the words can only be searched for.
  await page.waitForFunction(() => /^Run .*did not load/.test(document.querySelector(".choice.now")?.textContent ?? ""));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("019e0000-0002"));
  await choose("spreespeicher nowhere");
  await page.waitForFunction(() => location.hash.startsWith("#/search?q=spreespeicher"));
  assert.deepEqual(page.troubles, []);
});

test("topics on a phone go downwards", async () => {
  const phone = await newPage(browser, { viewport: { width: 390, height: 844 } });
  await phone.goto(server.url);
  await phone.goto(`${server.base}/#/run/${RUN}/topics`);
  await phone.waitForSelector(".graph svg.vertical");
  const places = await phone.locator(".node:not(.start)").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  assert.ok(places[0].bottom < places[1].top && places.every((place) => place.left >= 0 && place.right <= 390), JSON.stringify(places));
  await phone.context().close();
});

test("five tasks by keyboard: the failing turn, why, since when, what changed, run it again", async () => {
  await open("#/", ".runs tbody tr");
  let count = 0;
  const keys = async (...pressed) => {
    for (const key of pressed) await page.keyboard.press(key);
    count += pressed.length;
  };
  const counts = {};
  const done = (task) => { counts[task] = count; count = 0; };
  await keys("j", "Enter");
  await page.waitForSelector(".turn");
  await keys(".");
  await page.waitForSelector("#turn-2.here");
  await inSight("#turn-2");
  done("failing turn");
  assert.match(await page.locator("#turn-2 .check-item.s-failed").innerText(), /the agent booked the 4th/);
  await inSight("#turn-2 .check-item.s-failed");
  done("why");
  await keys("h");
  await page.waitForFunction(() => document.querySelector("h2.title")?.textContent.includes("takes up a change of mind"));
  done("since when");
  await page.goBack();
  await page.waitForSelector(".turn");
  await keys("c");
  // The runs between say nothing; the one before them passed.
  await page.waitForSelector(".verdict, .trouble");
  await page.getByLabel("before").selectOption("019e0000-0001");
  await page.waitForSelector("button.cmp-row");
  await keys("n");
  await page.waitForSelector(".both .diff");
  done("what changed");
  await open(`#/run/${RUN}`, ".turn");
  const asked = page.waitForRequest((request) => request.url().endsWith("/specs/run"));
  await keys("x");
  assert.match((await asked).postData(), /"paths":\["venue\.scenario\.yaml"\],"example_ids":\["[0-9a-f]{12}"\]/);
  done("run again");
  assert.deepEqual(counts, { "failing turn": 3, why: 0, "since when": 1, "what changed": 2, "run again": 1 });
});
