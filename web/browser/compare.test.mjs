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

function record(id, side, start) {
  const run = new Recording(root, id, { start, commit: side === 0 ? "aaaaaaaa" : "bbbbbbbb" });
  run.add("SuiteStarted", { seed: 1 });
  for (const [name, ...rest] of EXAMPLES) {
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

test("the same table in terminal, Markdown, JSON, MCP and page", async () => {
  const json = JSON.parse(proctor("compare", ...SIDES, "--format", "json"));
  assert.deepEqual(json.counts, { paired: 6, regressions: 2, improvements: 1, unchanged: 2, too_little_data: 1, missing_after: 2, missing_before: 1, moved: 1 });
  const rows = json.examples.map((one) => [one.verdict, one.title, share(one.before), share(one.after), one.why]);

  const text = proctor("compare", ...SIDES, "--all", "--color", "never");
  const lines = text.split("\n");
  const inText = rows.map(([verdict, title, , , why]) => {
    const place = lines.findIndex((line) => /^ {2}\S /.test(line) && line.includes(`${title} `));
    const [, sign, passed, now] = lines[place].match(/^ {2}(\S) .* (\d+\/\d+)[^→]*→ (\d+\/\d+)/);
    assert.equal(lines[place + 1].trim(), why);
    return [{ "✗": "regression", "▲": "improvement", "?": "too_little_data", "=": "unchanged" }[sign], title, passed, now, why];
  });
  assert.deepEqual(inText, rows);

  const markdown = proctor("compare", ...SIDES, "--all", "--format", "markdown").split("\n");
  const cells = markdown.filter((line) => /^\| \S+ (regression|improvement|unchanged|too little data) \|/.test(line)).map((line) => line.split("|").map((cell) => cell.trim()));
  const plain = (cell) => cell.replaceAll("&gt;", ">").replace(/ \(moved from .*\)$/, "").replaceAll("\\", "");
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
  // And what the page asks for is what the terminal prints as JSON.
  const asked = await page.evaluate(async ([a, b]) => (await fetch(`/api/compare?before=${a}&after=${b}`)).json(), SIDES);
  assert.deepEqual(asked, json);
});

test("a moved file is paired by its description chain, and gaps count for nobody", async () => {
  const json = JSON.parse(proctor("compare", ...SIDES, "--format", "json"));
  const moved = json.examples.find((one) => one.title === "Shop > moves house");
  assert.equal(moved.moved_from, "./spec/old_spec.rb");
  assert.equal(moved.verdict, "unchanged");
  assert.deepEqual(json.gaps.map((gap) => [gap.title, gap.missing_after, gap.reason]).sort(), [["Shop > is gone", true, "not there"], ["Shop > is new", false, "not there"], ["Shop > waits", true, "pending"]]);
  // Both gaps of one side failed there: counted, they would move the rates.
  const rates = (side) => json.examples.map((one) => one[side].passed / one[side].attempts).reduce((a, b) => a + b) / json.examples.length;
  assert.ok(Math.abs(json.suite.rate_before - rates("before")) < 1e-9 && Math.abs(json.suite.rate_after - rates("after")) < 1e-9);
  await page.goto(`${server.base}/#/compare?before=${SIDES[0]}&after=${SIDES[1]}`);
  await page.waitForSelector("button.cmp-row");
  assert.equal(await page.locator("button.cmp-row .tag", { hasText: "moved" }).count(), 1);
  assert.match(await page.locator(".verdict").innerText(), /2 without result after, 1 without result before/);
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
