// Makes docs/images/viewer.png anew: the real examples, really run, in the real viewer, with the failing one open.
// `cargo build -p proctor -p proctor-examples && npm run picture`; another path and size: `node browser/picture.mjs FILE 1400 900 dark`.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { decode, encode } from "./png.mjs";
import { folder, launch, newPage, PROCTOR, serve } from "./stage.mjs";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const [path = join(repository, "docs/images/viewer.png"), width = "1400", height = "900", colorScheme = "light"] = process.argv.slice(2);

const root = folder();
cpSync(join(repository, "examples"), join(root, "examples"), { recursive: true });
writeFileSync(join(root, "proctor.toml"), "");
const ran = spawnSync(PROCTOR, ["run", "--ui", "quiet", "examples/venue.scenario.yaml", "examples/failing.scenario.yaml", "examples/adversary.scenario.yaml"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
if (ran.status !== 1) throw new Error(`the examples ended with ${ran.status}; three of them are meant not to pass`);

const server = await serve(root);
const browser = await launch();
const page = await newPage(browser, { viewport: { width: Number(width), height: Number(height) }, colorScheme });
await page.goto(server.url);
await page.goto(`${server.base}/#/run/last`);
await page.locator(".line.example", { hasText: "takes up a change of mind" }).click();
await page.waitForSelector(".turn");
await page.mouse.move(Number(width) - 2, Number(height) - 2);
await page.waitForTimeout(300);
mkdirSync(dirname(path), { recursive: true });
writeFileSync(path, encode(decode(await page.screenshot())));
await browser.close();
await server.stop();
console.log(`${path}: ${statSync(path).size} bytes`);
