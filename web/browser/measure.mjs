// Measures how soon the page shows something: `node measure.mjs ROUNDS`, with PROCTOR naming the binary.

import { folder, launch, newPage, serve } from "./stage.mjs";
import { project } from "./fixture.mjs";

/** Milliseconds from the request to the first paint, and to the list of runs. */
export async function firstPaint(page, url) {
  await page.goto(url);
  await page.waitForSelector(".runs tbody tr");
  return page.evaluate(async () => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0] ?? await new Promise((found) => {
      new PerformanceObserver((list) => {
        const entry = list.getEntriesByName("first-contentful-paint")[0];
        if (entry) found(entry);
      }).observe({ type: "paint", buffered: true });
    });
    const asked = performance.getEntriesByType("resource").find((entry) => entry.name.includes("/api/runs"));
    return { paint: Math.round(paint.startTime), list: Math.round(asked.responseEnd), answer: Math.round(asked.duration) };
  });
}

if (process.argv[1]?.endsWith("measure.mjs")) {
  const rounds = Number(process.argv[2] ?? 20);
  const browser = await launch();
  const results = [];
  for (let round = 0; round < rounds; round += 1) {
    // A project that no server has seen: nothing is indexed yet.
    const root = folder();
    project(root);
    const server = await serve(root);
    const page = await newPage(browser);
    results.push(await firstPaint(page, server.url));
    await page.context().close();
    await server.stop();
  }
  await browser.close();
  const middle = (name) => results.map((one) => one[name]).sort((a, b) => a - b)[Math.floor(results.length / 2)];
  const most = (name) => Math.max(...results.map((one) => one[name]));
  console.log(JSON.stringify({ rounds, first_paint_ms: { median: middle("paint"), most: most("paint") }, list_ms: { median: middle("list"), most: most("list") }, answer_of_runs_ms: { median: middle("answer"), most: most("answer") } }));
}
