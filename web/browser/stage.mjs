// Starts the real binary on a project of its own, and Debian's Chromium.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

export const PROCTOR = process.env.PROCTOR ?? fileURLToPath(new URL("../../target/debug/proctor", import.meta.url));
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export async function launch() {
  if (!CHROMIUM) throw new Error("no Chromium: apt-get install chromium");
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS });
}

export function folder() {
  const path = mkdtempSync(join(tmpdir(), "proctor-web-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** `proctor serve` on a project; resolves once it listens. */
export async function serve(project, ...more) {
  const child = spawn(PROCTOR, ["serve", "--format", "json", "--root", project, ...more], { stdio: ["ignore", "pipe", "inherit"], cwd: project });
  process.on("exit", () => child.kill("SIGKILL"));
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  const told = JSON.parse(text);
  return { ...told, base: told.url.split("/?")[0], stop: async () => { child.kill("SIGTERM"); if (child.exitCode === null) await once(child, "exit"); } };
}

/** A browser, and a server over a project that is filled first. */
export async function stage(fill) {
  const root = folder();
  fill(root);
  const server = await serve(root);
  const browser = await launch();
  const close = async () => {
    await browser.close();
    await server.stop();
  };
  return { root, server, browser, close };
}

/** A page that notes what goes wrong in it. */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.troubles = [];
  page.requests = [];
  page.on("pageerror", (error) => page.troubles.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") page.troubles.push(message.text()); });
  page.on("request", (request) => page.requests.push(request.url()));
  page.setDefaultTimeout(30_000);
  // An address that differs only behind the `#` would leave the old view in place until the new one has loaded, and what is
  // waited for might be the old one's. So every address is loaded anew.
  const goto = page.goto.bind(page);
  page.goto = async (address, how) => {
    if (page.url().startsWith("http")) await goto("about:blank");
    return goto(address, how);
  };
  if (process.env.FRESH) {
    // While working on the viewer: the files just built instead of those in the binary, under the server's own headers.
    await page.route("**/assets/app.*", async (route) => {
      const name = new URL(route.request().url()).pathname.split("/").at(-1);
      const path = fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
      await route.fulfill({ response: await route.fetch(), body: readFileSync(path, "utf8") });
    });
  }
  return page;
}
