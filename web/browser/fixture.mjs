// Recordings for the browser tests: written as `proctor run` writes them, event by event.

import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const stableId = (file, path) => createHash("sha256").update(`${file}::${path.join(" > ")}`).digest("hex").slice(0, 12);

/** Writes one run, event by event. */
export class Recording {
  constructor(project, id, { start = Date.parse("2026-11-01T10:00:00Z"), argv = ["proctor", "run"], commit = "4f2a9c1d00112233", tags = [] } = {}) {
    this.id = id;
    this.folder = join(project, ".proctor", "runs", id);
    this.path = join(this.folder, "events.jsonl");
    this.time = start;
    this.seq = 0;
    this.lines = [];
    mkdirSync(this.folder, { recursive: true });
    const info = { v: 1, run_id: id, started_at: new Date(start).toISOString(), argv, git: { commit, dirty: false }, versions: { proctor: "0.1.0" }, tags };
    writeFileSync(join(this.folder, "run.json"), JSON.stringify(info));
    writeFileSync(this.path, "");
  }

  add(event_type, fields = {}, after = 1) {
    this.time += after;
    this.seq += 1;
    this.lines.push(JSON.stringify({ v: 1, seq: this.seq, run_id: this.id, time: new Date(this.time).toISOString(), event_type, ...fields }));
    return this;
  }

  write() {
    if (this.lines.length) appendFileSync(this.path, `${this.lines.join("\n")}\n`);
    this.lines = [];
    return this;
  }
}

const EVIL = `<img src=x onerror="window.__hacked=1"><script>window.__hacked=1</script>`;

/** A suite of a booking agent. `quality` between 0 and 1 decides how much goes wrong. */
export function booking(project, id, { quality = 1, start, repeats = 1, evil = false, unfinished = false, tags = [], commit } = {}) {
  const run = new Recording(project, id, { start, tags, commit, argv: ["proctor", "run", "examples"] });
  const topics = ["greeting", "requirements", "search", "offer", "booking"];
  const names = ["books a venue", "asks for the number of guests", "offers an alternative", "handles a full calendar", "refuses to invent prices", "stays polite when insulted"];
  const files = ["./examples/venue.scenario.yaml", "./examples/support.scenario.yaml"];
  run.add("SuiteStarted", { seed: 4242, example_count: files.length * names.length * repeats, workers: 4, repeats });
  for (let worker = 0; worker < 4; worker += 1) run.add("WorkerStarted", { worker, pid: 4000 + worker, generation: 1 });
  let failures = 0;
  let counter = 0;
  for (const [f, file] of files.entries()) {
    for (const [n, name] of names.entries()) {
      const path = [f === 0 ? "VenueAgent" : "SupportAgent", n < 3 ? "when the user is clear" : "when things get hard", name];
      const example_id = stableId(file, path);
      for (let repeat = 1; repeat <= repeats; repeat += 1) {
        counter += 1;
        const worker = counter % 4;
        const bad = ((counter * 37) % 100) / 100 > quality;
        const own = { example_id, repeat, attempt: 1, worker };
        run.add("ExampleStarted", { ...own, file, path, location: `${file}:${10 + n * 12}`, description: name, suite: "scenario", tags: n < 3 ? ["fast"] : ["slow"] });
        run.add("SimulationStarted", { ...own, goal: `Book a venue for ${30 + n * 10} people in Berlin`, max_turns: 12 });
        const depth = 3 + (n % 3);
        for (let turn = 1; turn <= depth; turn += 1) {
          const topic = topics[Math.min(turn - 1, topics.length - 1)];
          run.add("TopicChanged", { ...own, turn_number: turn, from_topic: turn > 1 ? topics[turn - 2] : null, to_topic: topic, trigger: turn === 1 ? "initial" : "judge_classification" });
          run.add("UserMessage", { ...own, turn_number: turn, source: "simulator", text: turn === 1 ? `Hi, I need a venue for ${30 + n * 10} people.` : `That sounds good. What about parking${turn > 2 ? " and catering" : ""}?` }, 40);
          if (turn === 2 || turn === 3) {
            run.add("ToolCallStarted", { ...own, turn_number: turn, tool_call_id: `tc_${turn}`, tool_name: "search_venues", arguments: { city: "Berlin", guests: 30 + n * 10, date: "2026-12-04" } }, 15);
            run.add("ToolCallCompleted", { ...own, turn_number: turn, tool_call_id: `tc_${turn}`, tool_name: "search_venues", arguments: { city: "Berlin" }, duration_ms: 84, ...(bad && turn === 3 ? { error: "upstream timed out after 80 ms" } : { result: [{ name: "Kulturbrauerei", seats: 120, price: 900 }, { name: "Festsaal", seats: 80, price: 640 }] }) }, 84);
          }
          run.add("ModelCall", { ...own, backend: "scripted", model: "agent-1", purpose: "agent", input_tokens: 420 + turn * 60, output_tokens: 80, cost_usd: 0.0012, duration_ms: 210 }, 2);
          run.add("AgentResponse", { ...own, turn_number: turn, duration_ms: 230, text: evil && n === 0 ? EVIL : bad && turn === depth ? "I have booked the Kulturbrauerei for you at a price of 100 €." : "I found two venues: the Kulturbrauerei seats 120, the Festsaal 80. Shall I book one of them?" }, 230);
          run.add("EvaluationRecorded", { ...own, turn_number: turn, mode: "soft", evaluation_type: "quality", name: "friendly", description: "The answer is friendly", passed: true, score: 0.8 + turn * 0.03, reasoning: "The agent greets the user and offers a choice." });
        }
        run.add("EvaluationRecorded", { ...own, mode: "hard", evaluation_type: "grounding", name: "no invented prices", description: "Every price comes from a tool result", passed: !bad, score: bad ? 0.1 : 0.95, reasoning: bad ? `The price of 100 € appears in no tool result.${evil ? EVIL : ""}` : "Both prices come from search_venues." });
        run.add("EvaluationRecorded", { ...own, mode: "soft", evaluation_type: "quality", name: "concise", passed: n % 4 !== 1, score: n % 4 === 1 ? 0.4 : 0.9, reasoning: "Three sentences." });
        run.add("SimulationEnded", { ...own, turn_count: depth, termination_reason: bad ? "max_turns" : "goal_reached" });
        run.add("WorkerLog", { ...own, line: `booked in ${depth} turns`, stream: "stdout" });
        if (bad) failures += 1;
        run.add("ExampleFinished", { ...own, status: bad ? "failed" : "passed", final: true, duration_ms: 640 + n * 130 + depth * 90, ...(bad ? { fault: "agent", exception: { class: "Proctor::ExpectationFailed", message: `expected: no invented prices\n     got: "I have booked the Kulturbrauerei for you at a price of 100 €."${evil ? EVIL : ""}`, backtrace: [`${file}:${14 + n * 12}`] } } : {}) }, 20);
      }
    }
  }
  if (!unfinished) {
    const total = files.length * names.length * repeats;
    run.add("SuiteFinished", { example_count: total, failure_count: failures, pending_count: 0, counts: { passed: total - failures, failed: failures }, duration_ms: run.time - start, exit_code: failures ? 1 : 0 });
  }
  run.write();
  return run;
}

/** A run of many small examples, for the long lists. */
export function large(project, id, count, start = Date.parse("2026-11-02T10:00:00Z")) {
  const run = new Recording(project, id, { start, argv: ["proctor", "run", "spec"] });
  run.add("SuiteStarted", { seed: 1, example_count: count, workers: 8 });
  let failures = 0;
  for (let n = 0; n < count; n += 1) {
    const file = `./spec/models/file_${String(Math.floor(n / 50)).padStart(3, "0")}_spec.rb`;
    const path = [`Model${Math.floor(n / 50)}`, `when case ${Math.floor((n % 50) / 10)}`, `does thing number ${n}`];
    const own = { example_id: stableId(file, path), repeat: 1, attempt: 1, worker: n % 8 };
    const bad = n % 997 === 500;
    failures += bad ? 1 : 0;
    run.add("ExampleStarted", { ...own, file, path, location: `${file}:${n % 50}`, description: path[2], suite: "rspec" }, n % 8 === 0 ? 3 : 0);
    run.add("ExampleFinished", { ...own, status: bad ? "failed" : n % 301 === 0 ? "pending" : "passed", final: true, duration_ms: 2 + (n % 17), ...(bad ? { exception: { class: "RSpec::Expectations::ExpectationNotMetError", message: "expected 4, got 5", backtrace: [`${file}:3`] } } : {}) }, 0);
  }
  run.add("SuiteFinished", { example_count: count, failure_count: failures, duration_ms: run.time - start, exit_code: failures ? 1 : 0 });
  run.write();
  return run;
}

/** A project with a history. */
export function project(folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "proctor.toml"), "");
  const day = 86_400_000;
  const base = Date.parse("2026-11-08T09:00:00Z");
  booking(folder, "019a0000-0001", { quality: 1, start: base, commit: "aaaaaaaa11112222" });
  booking(folder, "019a0000-0002", { quality: 0.9, start: base + day, repeats: 5, commit: "bbbbbbbb11112222", tags: ["main"] });
  booking(folder, "019a0000-0003", { quality: 0.55, start: base + 2 * day, repeats: 5, commit: "cccccccc11112222" });
  large(folder, "019a0000-0004", 10_000, base + 3 * day);
  booking(folder, "019a0000-0005", { quality: 0.6, start: base + 4 * day, evil: true, commit: "dddddddd11112222" });
}

if (process.argv[1]?.endsWith("fixture.mjs") && process.argv[2]) project(process.argv[2]);
