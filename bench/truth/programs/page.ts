// What the web viewer makes of a run's events, by its own code. One request and one answer per line of JSON on standard input and output:
// {"events": "…"} → the words and numbers that the page shows. `page.py` bundles it with the sources of `web/`.

import { createInterface } from "node:readline";

import { countsOf, isBad, statusOf } from "../../../web/src/model/rows";
import { linesOf } from "../../../web/src/model/tree";
import { runWord } from "../../../web/src/model/verdict";
import { fileSource } from "../../../web/src/source";

async function shown(events: string) {
  const feed = await fileSource(events).open("", () => {});
  const { header, rows } = feed.run;
  return {
    state: feed.state,
    verdict: runWord(feed.state, header.exit_code),
    exit_code: header.exit_code,
    counts: countsOf(rows),
    errors: header.errors.length,
    // As the list draws them: every line once, and those that its filter `failures` keeps.
    examples: linesOf(rows, { text: "", status: null }, new Set()).flatMap((line) => line.kind === "example"
      ? [{ id: line.key, verdict: statusOf(line.row), bad: isBad(line.row), fault: line.row.attempts.at(-1)?.fault ?? null, pass_rate: line.row.pass_rate }] : []),
    failures: linesOf(rows, { text: "", status: "bad" }, new Set()).flatMap((line) => line.kind === "example" ? [line.key] : []),
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer: unknown;
  try {
    answer = await shown((JSON.parse(line) as { events: string }).events);
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
