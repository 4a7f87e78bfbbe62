// Views against pictures of them. Fonts differ between machines, so pictures are kept as squares of averaged colour, and some of them may
// differ: what is held is where things are and which colour they have, not the letters. `npm run references` takes them anew.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { conversations } from "./fixture.mjs";
import { decode, encodeColours } from "./png.mjs";
import { newPage, stage } from "./stage.mjs";

/** Edge of a square in pixels; a channel that is further off differs; the share of squares that may. Another font changes up to 28 % of them,
 * everything 40 pixels further down at least 39 %. */
const [EDGE, FAR, MOST] = [26, 16, 0.32];
const RUN = "#/run/019e0000-0005";
const REFERENCES = new URL("references/", import.meta.url);

const VIEWS = [
  ["runs", "wide", "light", "#/", ".runs td[data-label=cost]"],
  ["conversation", "wide", "light", RUN, ".turn"],
  ["time-line", "wide", "light", `${RUN}/timeline`, "canvas"],
  ["criteria", "wide", "dark", `${RUN}/criteria`, ".criterion"],
  ["topics", "wide", "light", `${RUN}/topics`, ".node"],
  ["comparison", "wide", "light", "#/compare?before=019e0000-0001&after=019e0000-0005", "button.cmp-row"],
  ["history", "wide", "dark", "#/history", ".charts .chart circle"],
  ["runs", "phone", "dark", "#/", ".runs td[data-label=cost]"],
  ["comparison", "phone", "light", "#/compare?before=019e0000-0001&after=019e0000-0005", "button.cmp-row"],
];
const SIZES = { wide: { width: 1400, height: 900 }, phone: { width: 390, height: 844 } };

let browser, server, close;

before(async () => {
  ({ browser, server, close } = await stage(conversations));
});

after(() => close?.());

/** The mean colour of each square. */
function squares({ width, height, pixels }) {
  const [across, down] = [Math.floor(width / EDGE), Math.floor(height / EDGE)];
  const means = Buffer.alloc(across * down * 3);
  for (let square = 0; square < across * down; square += 1) {
    const [left, top] = [(square % across) * EDGE, Math.floor(square / across) * EDGE];
    for (let channel = 0; channel < 3; channel += 1) {
      let sum = 0;
      for (let y = top; y < top + EDGE; y += 1) for (let x = left; x < left + EDGE; x += 1) sum += pixels[(y * width + x) * 3 + channel];
      means[square * 3 + channel] = Math.round(sum / (EDGE * EDGE));
    }
  }
  return { width: across, height: down, pixels: means };
}

/** The share of squares that differ, of those that are not background in both; all of them where the sizes do. */
function difference(one, other) {
  if (one.width !== other.width || one.height !== other.height) return 1;
  const [ground, otherGround] = [background(one), background(other)];
  let [drawn, far] = [0, 0];
  for (let square = 0; square < one.width * one.height; square += 1) {
    const differs = apart(one, square, other, square);
    if (differs || apart(one, square, one, ground) || apart(other, square, other, otherGround)) drawn += 1;
    far += differs ? 1 : 0;
  }
  return far / Math.max(1, drawn);
}

function apart(one, square, other, otherSquare) {
  return [0, 1, 2].some((channel) => Math.abs(one.pixels[square * 3 + channel] - other.pixels[otherSquare * 3 + channel]) > FAR);
}

/** A square of the most frequent colour. */
function background({ width, height, pixels }) {
  const counts = new Map();
  for (let square = 0; square < width * height; square += 1) {
    const colour = pixels.toString("hex", square * 3, square * 3 + 3);
    const known = counts.get(colour) ?? { square, count: 0 };
    counts.set(colour, { ...known, count: known.count + 1 });
  }
  return [...counts.values()].reduce((most, one) => (one.count > most.count ? one : most)).square;
}

async function open(size, colorScheme, hash, wait) {
  const page = await newPage(browser, { viewport: SIZES[size], colorScheme, reducedMotion: "reduce", timezoneId: "UTC", locale: "en-GB" });
  await page.clock.setFixedTime(new Date("2026-11-20T12:00:00Z"));
  await page.goto(server.url);
  await page.goto(`${server.base}/${hash}`);
  await page.waitForSelector(wait);
  await page.waitForSelector("[aria-busy=true]", { state: "detached" });
  // Two frames: what is measured after the first one is drawn in the second.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page;
}

for (const [name, size, colorScheme, hash, wait] of VIEWS) {
  const file = new URL(`${name}-${size}-${colorScheme}.png`, REFERENCES);
  test(`${name}, ${size} and ${colorScheme}, looks as it did`, async () => {
    const page = await open(size, colorScheme, hash, wait);
    const taken = squares(decode(await page.screenshot({ animations: "disabled", caret: "hide" })));
    await page.context().close();
    if (process.env.RENEW) {
      mkdirSync(REFERENCES, { recursive: true });
      writeFileSync(file, encodeColours(taken));
      return;
    }
    const share = difference(taken, decode(readFileSync(file)));
    assert.ok(share <= MOST, `${(share * 100).toFixed(1)} % of the squares differ from ${file.pathname}; look at the page, then: npm run references`);
  });
}

test("a view without its list, in other colours, or of another size does not look as it did", async () => {
  const reference = decode(readFileSync(new URL("conversation-wide-light.png", REFERENCES)));
  const page = await open("wide", "light", RUN, ".turn");
  await page.evaluate(() => { document.querySelector(".right").style.visibility = "hidden"; });
  assert.ok(difference(squares(decode(await page.screenshot())), reference) > MOST);
  await page.context().close();
  const dark = await open("wide", "dark", RUN, ".turn");
  assert.ok(difference(squares(decode(await dark.screenshot())), reference) > 0.9);
  await dark.setViewportSize(SIZES.phone);
  assert.equal(difference(squares(decode(await dark.screenshot())), reference), 1);
  await dark.context().close();
});
