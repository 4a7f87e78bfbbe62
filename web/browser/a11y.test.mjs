// WCAG AA on every view, by axe in a real browser: wide and on a phone, light and dark.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { conversations } from "./fixture.mjs";
import { newPage, stage } from "./stage.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const RULES = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] };
const RUN = "#/run/019e0000-0005";

/** Name, address, what is waited for, and what is done then. */
const VIEWS = [
  ["list of runs", "#/", ".runs tbody tr", async (page) => { for (const box of (await page.locator(".runs input").all()).slice(0, 2)) await box.check(); }],
  ["conversation", RUN, ".line.example", async (page) => { await page.locator(".talk details").evaluateAll((all) => all.forEach((one) => { one.open = true; })); }],
  ["differences between attempts", RUN, ".line.example", async (page) => { await page.keyboard.press("d"); await page.waitForSelector(".diff"); }],
  ["events", RUN, ".line.example", async (page) => { await page.keyboard.press("e"); await page.locator(".event").first().click(); }],
  ["time line", `${RUN}/timeline`, "canvas"],
  ["criteria", `${RUN}/criteria`, ".criterion", async (page) => { await page.keyboard.press("j"); await page.locator(".mechanical").evaluate((one) => { one.open = true; }); await page.waitForSelector("ol.worst"); }],
  ["topics", `${RUN}/topics`, ".graph .node", async (page) => { await page.keyboard.press("j"); await page.waitForSelector(".takers"); }],
  ["comparison", "#/compare?before=019e0000-0001&after=019e0000-0005", "button.cmp-row", async (page) => { await page.keyboard.press("j"); await page.waitForSelector(".diff"); }],
  ["history", "#/history", ".charts .chart"],
  ["history of an example", "#/history?example=takes+up", ".charts .chart"],
  ["search", "#/search?q=%22the+11th%22", ".hit"],
  ["search without a question", "#/search", ".hints"],
  ["journal", "#/journal", ".entry-line", async (page) => { await page.locator(".entry-line").first().click(); await page.waitForSelector(".thought"); }],
  ["journal in numbers", "#/journal/stats", ".cards"],
  ["journal by day", "#/journal/timeline", ".day"],
  ["palette", "#/", ".runs tbody tr", async (page) => { await page.keyboard.press("Control+k"); await page.waitForSelector(".choice"); }],
  ["keys", "#/", ".runs tbody tr", async (page) => { await page.keyboard.press("?"); await page.waitForSelector(".help"); }],
];

let browser, server, close;

before(async () => {
  ({ browser, server, close } = await stage(conversations));
});

after(() => close?.());

/** What is wrong, in words one can look for. */
async function violations(page) {
  // Evaluated, not loaded: the page's policy lets no other script in.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate((rules) => window.axe.run(document, rules), RULES);
  return violations.flatMap(({ id, impact, nodes }) => nodes.slice(0, 4).map((node) => `${impact} ${id}: ${node.target.join(" ")} · ${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ""} · ${node.html.slice(0, 160)}`));
}

for (const [size, viewport] of [["wide", { width: 1400, height: 900 }], ["phone", { width: 390, height: 844 }]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`every view, ${size} and ${colorScheme}`, async () => {
      const page = await newPage(browser, { viewport, colorScheme, reducedMotion: "reduce" });
      await page.goto(server.url);
      const found = [];
      for (const [name, hash, wait, act] of VIEWS) {
        await page.goto(`${server.base}/${hash}`);
        await page.waitForSelector(wait);
        // A phone shows the list first; elsewhere the first failure is open.
        if (size === "phone" && hash === RUN) await page.locator(".line.example").first().click();
        if (hash === RUN) await page.waitForSelector(".turn");
        await act?.(page);
        found.push(...(await violations(page)).map((one) => `${name}: ${one}`));
      }
      assert.deepEqual(found, []);
      assert.deepEqual(page.troubles, []);
      await page.context().close();
    });
  }
}

test("axe finds what is wrong", async () => {
  const page = await newPage(browser);
  await page.goto(server.url);
  await page.waitForSelector(".runs tbody tr");
  await page.evaluate(() => {
    const text = document.createElement("p");
    text.textContent = "hardly to be read";
    // Not in an attribute: the page's policy takes no styles from there.
    Object.assign(text.style, { color: "#eee", background: "#fff" });
    document.body.prepend(document.createElement("img"), text);
  });
  const found = (await violations(page)).join("\n");
  assert.match(found, /image-alt/);
  assert.match(found, /color-contrast/);
  await page.context().close();
});
