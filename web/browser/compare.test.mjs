// One comparison in five places: terminal, Markdown, JSON, the tool of agents, and the page. Row by row the same.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Recording, stableId } from "./fixture.mjs";
import { folder, launch, newPage, PROCTOR, serve } from "./stage.mjs";

let browser, server, page, root;

/** Examples of every kind of verdict: name, file before and after, outcomes before and after, whether an agent talks. */
const EXAMPLES = [
  ["adds", "./spec/cart_spec.rb", "./spec/cart_spec.rb", "p", "f", false],
  ["removes", "./spec/cart_spec.rb", "./spec/cart_spec.rb", "f", "p", false],
  ["moves house", "./spec/old_spec.rb", "./spec/new_spec.rb", "p", "p", false],
  ["talks", "./t.scenario.yaml", "./t.scenario.yaml", "pppppppp", "ffffffff", true],
  ["guesses", "./t.scenario.yaml", "./t.scenario.yaml", "pf", "fp", true],
  ["wavers", "./t.scenario.yaml", "./t.scenario.yaml", "p", "f", true],
  ["is new", null, "./spec/cart_spec.rb", "", "f", false],
  ["is gone", "./spec/cart_spec.rb", null, "f", "", false],
  ["waits", "./spec/cart_spec.rb", "./spec/cart_spec.rb", "p", "w", false],
];
const STATUS = { p: "passed", f: "failed", w: "pending" };

/** Conversations that differ by one outcome of eight, or by none. */
const CLOSE = (outcomes) => ["greets", "offers", "books"].map((name, place) => [name, "./close.scenario.yaml", "./close.scenario.yaml", "pppppppp", place === 0 ? outcomes : "pppppppp", true]);

function record(id, side, start, examples = EXAMPLES) {
  const run = new Recording(root, id, { start, commit: side === 0 ? "aaaaaaaa" : "bbbbbbbb" });
  run.add("SuiteStarted", { seed: 1 });
  for (const [name, ...rest] of examples) {
    const [file, outcomes, talks] = [rest[side], rest[2 + side], rest[4]];
    if (file === null) continue;
    const path = ["Shop", name];
    for (const [n, outcome] of [...outcomes].entries()) {
      const own = { example_id: stableId(file, path), repeat: n + 1, attempt: 1, worker: 0 };
      run.add("ExampleStarted", { ...own, file, path, suite: talks ? "scenario" : "rspec" });
      if (talks) {
        run.add("UserMessage", { ...own, turn_number: 1, text: "hello", source: "script" });
        run.add("AgentResponse", { ...own, turn_number: 1, text: outcome === "p" ? "Good day." : "Go away.", duration_ms: 3 });
        run.add("EvaluationRecorded", { ...own, turn_number: 1, mode: "hard", evaluation_type: "quality", name: "polite", passed: outcome === "p", score: outcome === "p" ? 0.9 : 0.1 });
      }
      run.add("ExampleFinished", { ...own, status: STATUS[outcome], final: true, duration_ms: 20 + side * 5 });
    }
  }
  run.add("SuiteFinished", { example_count: 9, failure_count: 1, duration_ms: 1000, exit_code: 1 });
  run.write();
}

before(async () => {
  root = folder();
  writeFileSync(join(root, "proctor.toml"), "");
  record("019d0000-0001", 0, Date.parse("2026-11-01T10:00:00Z"));
  record("019d0000-0002", 1, Date.parse("2026-11-02T10:00:00Z"));
  record("019c0000-0003", 0, Date.parse("2026-10-01T10:00:00Z"), CLOSE("pppppppp"));
  record("019c0000-0004", 1, Date.parse("2026-10-02T10:00:00Z"), CLOSE("pppppppf"));
  record("019c0000-0005", 1, Date.parse("2026-10-03T10:00:00Z"), CLOSE("pppppppp"));
  server = await serve(root);
  browser = await launch();
  page = await newPage(browser, { viewport: { width: 1700, height: 1000 } });
  await page.goto(server.url);
  await page.waitForSelector(".runs tbody tr");
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const proctor = (...words) => execFileSync(PROCTOR, ["--root", root, ...words], { cwd: root, encoding: "utf8" });
const SIDES = ["019d0000-0001", "019d0000-0002"];
const share = (tally) => `${tally.passed}/${tally.attempts}`;
const WORDS = /^\| \S+ (regression|cannot tell|improvement|no change seen) \|/;

/** The gate's decision and reasons from lines of text: on one line if there is one reason, else a line each. */
function gateOf(lines) {
  const place = lines.findIndex((line) => line.startsWith("Gate: "));
  const [, decision, code, rest] = lines[place].match(/^Gate: ([a-z ]+) \(exit code (\d)\):?\s*(.*)$/);
  const more = lines.slice(place + 1).map((line) => line.trim()).filter(Boolean);
  return { decision: decision.replaceAll(" ", "_"), exit_code: Number(code), reasons: rest ? [rest] : more };
}

/** What the page shows of the gate. */
async function gateOnPage() {
  const decision = (await page.locator(".gate .badge").innerText()).replace(/^\S+\s+/, "").replaceAll(" ", "_");
  const code = Number((await page.locator(".gate").innerText()).match(/exit code (\d)/)[1]);
  return { decision, exit_code: code, reasons: await page.locator(".gate li").allInnerTexts() };
}

/** Code is set in a font of its own on the page. */
const withoutMarks = (gate) => ({ ...gate, reasons: gate.reasons.map((reason) => reason.replaceAll("`", "")) });

test("the same table in terminal, Markdown, JSON, MCP and page", async () => {
  const json = JSON.parse(proctor("compare", ...SIDES, "--format", "json"));
  assert.deepEqual(json.counts, { paired: 6, regressions: 2, improvements: 1, no_change_seen: 2, cannot_tell: 1, perhaps_worse: 1, missing_after: 2, missing_before: 1, moved: 1 });
  const rows = json.examples.map((one) => [one.verdict, one.title, share(one.before), share(one.after), one.why]);

  const text = proctor("compare", ...SIDES, "--all", "--color", "never");
  const lines = text.split("\n");
  const inText = rows.map(([verdict, title, , , why]) => {
    const place = lines.findIndex((line) => /^ {2}\S /.test(line) && line.includes(`${title} `));
    const [, sign, passed, now] = lines[place].match(/^ {2}(\S) .* (\d+\/\d+)[^→]*→ (\d+\/\d+)/);
    assert.equal(lines[place + 1].trim(), why);
    return [{ "✗": "regression", "▲": "improvement", "?": "cannot_tell", "=": "no_change_seen" }[sign], title, passed, now, why];
  });
  assert.deepEqual(inText, rows);

  const markdown = proctor("compare", ...SIDES, "--all", "--format", "markdown").split("\n");
  const cells = markdown.filter((line) => WORDS.test(line)).map((line) => line.split("|").map((cell) => cell.trim()));
  const plain = (cell) => cell.replaceAll("&gt;", ">").replaceAll("&lt;", "<").replace(/ \(moved from .*\)$/, "").replaceAll("\\", "");
  assert.deepEqual(cells.map((cell) => [cell[1].replace(/^\S+ /, "").replaceAll(" ", "_"), plain(cell[2]), cell[3].split(",")[0], cell[4].split(",")[0], plain(cell[5])]), rows);

  const tool = JSON.parse(proctor("tool", "run_compare", JSON.stringify({ before: SIDES[0], after: SIDES[1], all: true, limit: 100 })));
  assert.deepEqual(tool.examples.map((one) => [one.verdict, one.title, one.passed_before, one.passed_after, one.why]), rows);
  assert.deepEqual([tool.verdict, tool.suite, tool.gaps], [json.verdict, json.suite.verdict, json.gaps.length]);
  assert.deepEqual(tool.criteria.map((one) => [one.name, one.verdict, one.passed_before, one.passed_after]), json.criteria.map((one) => [one.name, one.verdict, share(one.before), share(one.after)]));
  assert.deepEqual(tool.gap_examples.map((one) => [one.title, one.missing, one.reason]), json.gaps.map((one) => [one.title, one.missing_after ? "after" : "before", one.reason]));

  await page.goto(`${server.base}/#/compare?before=${SIDES[0]}&after=${SIDES[1]}`);
  await page.waitForSelector("button.cmp-row");
  const shown = await page.locator("button.cmp-row").evaluateAll((all) => all.map((row) => {
    const cell = (place) => row.children[place].textContent;
    return [cell(0).replace(/^\S+ /, ""), row.children[1].title.split("\n")[0], cell(2).match(/\d+\/\d+/)[0], cell(3).match(/\d+\/\d+/)[0], row.children[5].title];
  }));
  assert.deepEqual(shown.map(([verdict, ...rest]) => [verdict.replaceAll(" ", "_"), ...rest]), rows);
  // Gate: stop, with all its reasons in all five.
  assert.deepEqual([json.gate.decision, json.gate.exit_code], ["stop", 1]);
  assert.ok(json.gate.reasons.length > 1, json.gate.reasons.join("; "));
  assert.deepEqual(gateOf(lines), json.gate);
  assert.deepEqual(withoutMarks(gateOf(markdown.map(plain))), withoutMarks(json.gate));
  assert.deepEqual([tool.gate, tool.gate_reasons], [json.gate.decision, json.gate.reasons]);
  assert.deepEqual(await gateOnPage(), withoutMarks(json.gate));
  // And what the page asks for is what the terminal prints as JSON.
  const asked = await page.evaluate(async ([a, b]) => (await fetch(`/api/compare?before=${a}&after=${b}`)).json(), SIDES);
  assert.deepEqual(asked, json);
});

test("a moved file is paired by its description chain, and gaps move no rate but stop a gate", async () => {
  const json = JSON.parse(proctor("compare", ...SIDES, "--format", "json"));
  const moved = json.examples.find((one) => one.title === "Shop > moves house");
  assert.equal(moved.moved_from, "./spec/old_spec.rb");
  assert.equal(moved.verdict, "no_change_seen");
  assert.deepEqual(json.gaps.map((gap) => [gap.title, gap.missing_after, gap.reason]).sort(), [["Shop > is gone", true, "not there"], ["Shop > is new", false, "not there"], ["Shop > waits", true, "pending"]]);
  // Both gaps of one side failed there: counted, they would move the rates.
  const rates = (side) => json.examples.map((one) => one[side].passed / one[side].attempts).reduce((a, b) => a + b) / json.examples.length;
  assert.ok(Math.abs(json.suite.rate_before - rates("before")) < 1e-9 && Math.abs(json.suite.rate_after - rates("after")) < 1e-9);
  await page.goto(`${server.base}/#/compare?before=${SIDES[0]}&after=${SIDES[1]}`);
  await page.waitForSelector("button.cmp-row");
  assert.equal(await page.locator("button.cmp-row .tag", { hasText: "moved" }).count(), 1);
  assert.match(await page.locator(".verdict").innerText(), /2 without a result after, 1 without a result before; they stop a gate/);
  assert.ok(["2 examples without a result now", "1 example without a result before"].every((reason) => json.gate.reasons.includes(reason)), json.gate.reasons.join("; "));
});

test("what chance may explain is not called a change, and what would tell is said", async () => {
  const sides = ["019c0000-0003", "019c0000-0004"];
  const json = JSON.parse(proctor("compare", ...sides, "--format", "json"));
  assert.deepEqual([json.verdict, json.gate.decision, json.gate.exit_code], ["cannot_tell", "cannot_tell", 3]);
  assert.match(json.gate.reasons[0], /about \d+ repeats a side would tell/);
  assert.deepEqual(gateOf(proctor("compare", ...sides, "--color", "never").split("\n")), json.gate);
  await page.goto(`${server.base}/#/compare?before=${sides[0]}&after=${sides[1]}`);
  await page.waitForSelector(".v-cannot_tell");
  assert.deepEqual(await gateOnPage(), withoutMarks(json.gate));
  const box = await page.locator(".verdict").innerText();
  assert.match(box, /It may have got worse, or it is chance\./);
  assert.match(box, /Fewer than three earlier runs; a bad day of the model would look like a regression\./);
  assert.match(box, /not known how much runs vary/);
});

test("the same results are not unchanged unless a margin is shown", async () => {
  const sides = ["019c0000-0003", "019c0000-0005"];
  await page.goto(`${server.base}/#/compare?before=${sides[0]}&after=${sides[1]}`);
  await page.waitForSelector(".v-no_change_seen");
  const seen = JSON.parse(proctor("compare", ...sides, "--format", "json"));
  assert.deepEqual(await gateOnPage(), seen.gate);
  assert.match(seen.gate.reasons.join(), /a drop of up to [\d.]+ points is possible/);
  assert.doesNotMatch(await page.locator("main").innerText(), /unchanged/);
  for (const [margin, verdict] of [["5", "cannot_tell"], ["90", "unchanged"]]) {
    await page.getByLabel("Margin in points").fill(margin);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`.v-${verdict}`);
    assert.match(page.url(), new RegExp(`margin=${margin}`));
    const asked = JSON.parse(proctor("compare", ...sides, "--margin", margin, "--format", "json"));
    assert.equal(asked.verdict, verdict);
    assert.deepEqual(await gateOnPage(), withoutMarks(asked.gate));
  }
  await page.getByLabel("Margin in points").fill("");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".v-no_change_seen");
  await page.goto(`${server.base}/#/compare?before=${sides[0]}&after=${sides[1]}&margin=0`);
  await page.waitForSelector("[role=alert]");
  assert.match(await page.locator("[role=alert]").innerText(), /above 0 and below 100/);
});

test("nothing in common is not comparable, and says why", async () => {
  const sides = ["019d0000-0001", "019c0000-0003"];
  const json = JSON.parse(proctor("compare", ...sides, "--format", "json"));
  await page.goto(`${server.base}/#/compare?before=${sides[0]}&after=${sides[1]}`);
  await page.waitForSelector(".v-not_comparable");
  assert.deepEqual([json.gate.decision, json.gate.exit_code], ["not_comparable", 2]);
  assert.deepEqual(await gateOnPage(), json.gate);
  assert.deepEqual(json.gate.reasons, [json.not_comparable]);
  assert.equal(await page.locator("button.cmp-row").count(), 0);
});

test("both conversations of an example side by side, by keyboard, with what differs marked", async () => {
  await page.goto(`${server.base}/#/compare?before=${SIDES[0]}&after=${SIDES[1]}`);
  await page.waitForSelector("button.cmp-row");
  const place = (await page.locator("button.cmp-row").allInnerTexts()).findIndex((text) => text.includes("talks"));
  for (let n = 0; n <= place; n += 1) await page.keyboard.press("j");
  await page.waitForSelector(".diff");
  assert.match(await page.locator(".both h2").innerText(), /talks/);
  assert.deepEqual(await page.locator(".diff .agent del").allInnerTexts(), ["Good", "day"]);
  assert.deepEqual(await page.locator(".diff .agent ins").allInnerTexts(), ["Go", "away"]);
});

test("names of runs work in addresses", async () => {
  proctor("runs", "tag", SIDES[0], "good");
  for (const [before, after] of [["last~1", "last"], ["good", "last"], ["019d0000-0001", "019d0000-0002"], [SIDES[0].slice(0, 13), "last"]]) {
    await page.goto(`${server.base}/#/compare?before=${before}&after=${after}`);
    await page.waitForFunction(() => document.querySelectorAll("button.cmp-row").length === 6);
  }
  for (const name of ["last", "last~1", "good"]) {
    await page.goto(`${server.base}/#/run/${name}`);
    await page.waitForSelector(".line.example");
    assert.match(await page.locator(".run-head").innerText(), name === "last" ? /019d0000-0002|0002/ : /019d0000-0001|0001/);
  }
});
