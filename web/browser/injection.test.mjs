// Nothing that a test, an agent or a journal says is ever taken for markup: every text of every event and entry is hostile here.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { booking, evilRun, journal } from "./fixture.mjs";
import { folder, launch, newPage, PROCTOR, serve } from "./stage.mjs";

let browser, server, page, root;
const RUN = "019d0000-0001";

before(async () => {
  root = folder();
  evilRun(root, RUN);
  evilRun(root, "019d0000-0002");
  booking(root, "019d0000-0003", { start: Date.parse("2026-11-01T10:00:00Z") });
  journal(root, { evil: true });
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

const unharmed = async (where, on = page) => {
  const found = await on.evaluate(() => ({
    hacked: window.__hacked,
    elements: [...document.querySelectorAll("img, iframe, object, embed, form[action], base, meta[http-equiv=refresh]")].map((element) => element.outerHTML),
    scripts: [...document.querySelectorAll("script")].filter((script) => script.type === "module" ? false : script.id !== "proctor-events").map((script) => script.outerHTML),
    handlers: [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes].filter(({ name }) => name.startsWith("on")).map(({ name }) => name)),
    links: [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")).filter((href) => !href.startsWith("#") && !href.startsWith("/")),
    shown: document.body.innerText.includes("onerror"),
  }));
  assert.deepEqual({ ...found, shown: undefined }, { hacked: undefined, elements: [], scripts: [], handlers: [], links: [], shown: undefined }, where);
  return found.shown;
};

const everyView = async (on, base, visit) => {
  for (const [hash, wait] of visit) {
    await on.goto(`${base}${hash}`);
    await on.waitForSelector(wait);
    assert.ok(await unharmed(hash, on), `${hash} shows what was said, as text`);
  }
};

/** Opens every raw event in turn. The list draws only the rows in view, so they are known by their number, and it is scrolled when all in view are seen. */
const eachEvent = async (on, look) => {
  const seen = [];
  for (;;) {
    const pressed = await on.evaluate((known) => {
      const number = (row) => row.querySelector(".num").textContent;
      const row = [...document.querySelectorAll(".event")].find((one) => !known.includes(number(one)));
      row?.click();
      return row ? number(row) : undefined;
    }, seen);
    if (pressed === undefined) {
      const moved = await on.evaluate(() => {
        const list = document.querySelector("[aria-label=Events]");
        const before = list.scrollTop;
        list.scrollTop += list.clientHeight;
        return list.scrollTop > before;
      });
      if (!moved) break;
      await on.waitForTimeout(50);
      continue;
    }
    seen.push(pressed);
    await on.waitForFunction((wanted) => {
      const shown = document.querySelector(".event-json pre")?.textContent;
      return shown && JSON.parse(shown).seq === Number(wanted);
    }, pressed);
    await look();
  }
  assert.ok(seen.length > 10, `${seen.length} events were opened`);
};

/** Looks at both examples: what was said with everything unfolded, then every raw event. */
const readAll = async (on, base) => {
  for (const example of ["e0", "e1"]) {
    await on.goto(`${base}#/run/${RUN}/example/${example}`);
    await on.waitForSelector(".talk");
    await on.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    const text = await on.locator(".talk").textContent();
    assert.ok(text.split("onerror").length > 30, `${example} shows ${text.split("onerror").length - 1} hostile texts`);
    assert.ok(await unharmed(`conversation of ${example}`, on));
    await on.goto(`${base}#/run/${RUN}/example/${example}?view=events`);
    await on.waitForSelector(".event");
    await eachEvent(on, async () => assert.ok(await unharmed(`events of ${example}`, on)));
  }
};

test("runs, examples, events, tables, graphs, comparison, history and search", async () => {
  await everyView(page, `${server.base}/`, [
    ["#/", ".runs tbody tr"],
    [`#/run/${RUN}`, ".line.example"],
    [`#/run/${RUN}/criteria`, ".criterion"],
    [`#/run/${RUN}/topics`, ".graph .node"],
    [`#/run/${RUN}/timeline`, ".slow li"],
    [`#/compare?before=${RUN}&after=019d0000-0002`, "button.cmp-row"],
    ["#/history?example=e0", ".chart"],
    ["#/search?q=onerror", ".hit"],
  ]);
  await readAll(page, `${server.base}/`);
  await page.goto(`${server.base}/#/compare?before=${RUN}&after=019d0000-0002`);
  await page.locator("button.cmp-row").first().click();
  await page.waitForSelector(".diff");
  await unharmed("two conversations side by side");
  await page.goto(`${server.base}/#/compare?before=019d0000-0003&after=${RUN}`);
  await page.waitForSelector(".verdict");
  await unharmed("coverage gaps");
  await page.goto(`${server.base}/#/run/${RUN}/timeline`);
  await page.waitForSelector("canvas");
  await page.locator("canvas").hover({ position: { x: 400, y: 36 } });
  await unharmed("the tip of a bar");
});

test("the journal", async () => {
  await everyView(page, `${server.base}/`, [
    ["#/journal", ".entry-line"],
    ["#/journal/timeline", ".day"],
    ["#/journal/entry/ghap_20261022_090000_000002", ".pane"],
    ["#/journal/entry/ghap_20261025_090000_000005", ".pane"],
  ]);
  await page.goto(`${server.base}/#/journal/stats`);
  await page.waitForSelector(".cards");
  await unharmed("numbers of the journal");
});

test("what is in the address is no markup either", async () => {
  const evil = encodeURIComponent(`<img src=x onerror="window.__hacked=1">`);
  for (const hash of [`#/run/${evil}`, `#/run/${RUN}/example/${evil}`, `#/search?q=${evil}`, `#/history?example=${evil}`, `#/history?tag=${evil}`, `#/compare?before=${evil}&after=${evil}`, `#/compare?before=${RUN}&after=${RUN}&margin=${evil}`, `#/journal?q=${evil}&lane=${evil}`, `#/journal/entry/${evil}`, `#/${evil}`]) {
    await page.goto(`${server.base}/${hash}`);
    await page.waitForSelector("main > *");
    await page.waitForTimeout(100);
    await unharmed(hash);
  }
});

test("the report in a file", async () => {
  const path = join(root, "evil.html");
  execFileSync(PROCTOR, ["show", RUN, "--root", root, "--html", path], { cwd: root });
  const file = await newPage(browser, { offline: true });
  const address = pathToFileURL(path).href;
  await file.goto(address);
  await file.waitForSelector(".line.example");
  await readAll(file, address);
  await everyView(file, address, [[`#/run/${RUN}/criteria`, ".criterion"], [`#/run/${RUN}/topics`, ".graph .node"], ["#/search?q=onerror", ".hit"]]);
  assert.deepEqual(file.troubles, []);
  await file.context().close();
});
