// Recordings for the browser tests: written as `proctor run` writes them, event by event.

import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

export const EVIL = `<img src=x onerror="window.__hacked=1"><script>window.__hacked=1</script>`;

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
  let [failures, pending] = [0, 0];
  for (let n = 0; n < count; n += 1) {
    const file = `./spec/models/file_${String(Math.floor(n / 50)).padStart(3, "0")}_spec.rb`;
    const path = [`Model${Math.floor(n / 50)}`, `when case ${Math.floor((n % 50) / 10)}`, `does thing number ${n}`];
    const own = { example_id: stableId(file, path), repeat: 1, attempt: 1, worker: n % 8 };
    const bad = n % 997 === 500;
    failures += bad ? 1 : 0;
    pending += !bad && n % 301 === 0 ? 1 : 0;
    run.add("ExampleStarted", { ...own, file, path, location: `${file}:${n % 50}`, description: path[2], suite: "rspec" }, n % 8 === 0 ? 3 : 0);
    run.add("ExampleFinished", { ...own, status: bad ? "failed" : n % 301 === 0 ? "pending" : "passed", final: true, duration_ms: 2 + (n % 17), ...(bad ? { exception: { class: "RSpec::Expectations::ExpectationNotMetError", message: "expected 4, got 5", backtrace: [`${file}:3`] } } : {}) }, 0);
  }
  run.add("SuiteFinished", { example_count: count, failure_count: failures, pending_count: pending, counts: { passed: count - failures - pending, failed: failures, pending }, duration_ms: run.time - start, exit_code: failures ? 1 : 0 });
  run.write();
  return run;
}

const isoOf = (time) => new Date(time).toISOString();

/** A turn with model calls whose prompts were seen, a tool, and the spans of the agent. */
function tracedTurn(run, own, turn, { said, answers, topic, before }) {
  run.add("TopicChanged", { ...own, turn_number: turn, from_topic: before ?? null, to_topic: topic, trigger: turn === 1 ? "initial" : "judge_classification" });
  run.add("ModelCall", { ...own, backend: "openai", model: "user-1", purpose: "simulator", input_tokens: 210, output_tokens: 18, cost_usd: 0.0004, duration_ms: 380, cached: false, tries: 1 }, 380);
  run.add("UserMessage", { ...own, turn_number: turn, source: "simulator", text: said });
  const start = run.time;
  run.add("ToolCallStarted", { ...own, turn_number: turn, tool_call_id: `c${turn}`, tool_name: "search_venues", arguments: { city: "Berlin", guests: 50 } }, 420);
  run.add("ToolCallCompleted", { ...own, turn_number: turn, tool_call_id: `c${turn}`, tool_name: "search_venues", arguments: { city: "Berlin", guests: 50 }, duration_ms: 90, result: [{ name: "Spreespeicher", price: 900, seats: 60 }] }, 90);
  run.add("ModelCall", { ...own, backend: "openai", model: "agent-1", purpose: "agent", input_tokens: 640, output_tokens: 72, cost_usd: 0.0031, duration_ms: 810, tries: 1, interface: "chat_completions", prompt: `system: You book venues.\nuser: ${said}`, text: answers, tool_calls: [{ id: `c${turn}`, name: "search_venues", arguments: { city: "Berlin", guests: 50 } }] }, 400);
  const span = (id, name, from, duration_ms, more = {}) => run.add("AgentSpan", { ...own, turn_number: turn, span_id: `${turn}${id}`, name, started_at: isoOf(start + from), duration_ms, ...more }, 0);
  span("a", "agent run", 2, 930, { scope: "my-framework" });
  span("b", "plan", 5, 400, { parent_span_id: `${turn}a`, scope: "my-framework" });
  span("c", "GET /venues", 425, 80, { parent_span_id: `${turn}a`, scope: "http", attributes: { "http.response.status_code": 200 } });
  if (turn === 2) span("d", "GET /prices", 510, 120, { parent_span_id: `${turn}a`, scope: "http", error: "503 Service Unavailable" });
  run.add("AgentResponse", { ...own, turn_number: turn, duration_ms: 935, first_token_ms: 310, text: answers });
}

/** Conversations at the same time, without workers, repeated: spans, prompts, votes, judged and mechanical checks. */
export function traced(project, id, { start, repeats = 5, bad = [2, 4], commit } = {}) {
  const run = new Recording(project, id, { start, commit, argv: ["/usr/local/bin/proctor", "run", "--ui", "quiet", "--color=never", "venue.scenario.yaml"] });
  const file = "./venue.scenario.yaml";
  const names = ["books a venue", "takes up a change of mind"];
  run.add("SuiteStarted", { seed: 7, example_count: names.length, repetition_count: names.length * repeats });
  let failures = 0;
  for (const [place, name] of names.entries()) {
    const path = ["Venue booking", name];
    const example_id = stableId(file, path);
    const begins = run.time;
    for (let repeat = 1; repeat <= repeats; repeat += 1) {
      // All repeats of an example begin together.
      run.time = begins + repeat * 3;
      const own = { example_id, repeat, attempt: 1 };
      const fails = place === 1 && bad.includes(repeat);
      run.add("ExampleStarted", { ...own, file, path, location: `${file}:${12 + place * 9}`, description: name, suite: "scenario", tags: ["venue"] });
      run.add("SimulationStarted", { ...own, goal: "Book a venue for 50 people in Berlin", max_turns: 6 });
      tracedTurn(run, own, 1, { said: "Berlin for 50 people on 4 December", answers: "I suggest Spreespeicher, 60 seats, €900. Shall I book it?", topic: "offering" });
      run.add("EvaluationRecorded", { ...own, turn_number: 1, mode: "hard", evaluation_type: "pattern", description: "match /Shall I book it/", passed: true });
      tracedTurn(run, own, 2, { said: "Sorry, make it the 11th instead", answers: fails ? "Booked: Spreespeicher on the 4th." : "The 11th it is. Spreespeicher is free then; shall I book it?", topic: fails ? "booked" : "offering", before: "offering" });
      run.add("ModelCall", { ...own, backend: "openai", model: "judge-1", purpose: "judge", input_tokens: 900, output_tokens: 60, cost_usd: 0.002, duration_ms: 700 }, 700);
      run.add("EvaluationRecorded", { ...own, turn_number: 2, mode: "hard", evaluation_type: "quality", name: "follows changes", description: "The agent takes up changes the user makes", passed: !fails, score: fails ? 0.1 : 0.92, reasoning: fails ? "The user moved the event to the 11th; the agent booked the 4th." : "It confirms the new day.", ...(fails ? { failure_message: "turn 2: expected to satisfy follows changes, but the judge says: The user moved the event to the 11th; the agent booked the 4th." } : {}), metadata: { votes: fails ? { passed: 1, failed: 2 } : { passed: 1, failed: 0 }, agreement: fails ? 0.67 : 1 } });
      run.add("EvaluationRecorded", { ...own, mode: "soft", evaluation_type: "quality", name: "polite", passed: repeat !== 3, score: repeat === 3 ? 0.45 : 0.9, reasoning: "Friendly, a little dry." });
      run.add("EvaluationRecorded", { ...own, mode: "hard", evaluation_type: "turn_count", description: "take at most 4 turns", passed: true });
      run.add("SimulationEnded", { ...own, turn_count: 2, termination_reason: fails ? "max_turns" : "goal_reached" });
      failures += fails ? 1 : 0;
      run.add("ExampleFinished", { ...own, status: fails ? "failed" : "passed", final: true, duration_ms: run.time - begins - repeat * 3, ...(fails ? { fault: "agent", exception: { class: "ExpectationFailed", message: "turn 2: expected to satisfy follows changes, but the judge says: The user moved the event to the 11th; the agent booked the 4th.", backtrace: [`${file}:23`] } } : {}) });
    }
  }
  run.add("SuiteFinished", { example_count: names.length, repetition_count: names.length * repeats, failure_count: failures ? 1 : 0, pending_count: 0, counts: { passed: names.length - (failures ? 1 : 0), failed: failures ? 1 : 0 }, duration_ms: run.time - start, exit_code: failures ? 1 : 0 });
  run.write();
  return run;
}

/** Two runs of conversations, the newer one worse, and runs that came to other ends. */
export function conversations(folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "proctor.toml"), "");
  const base = Date.parse("2026-11-08T09:00:00Z");
  const day = 86_400_000;
  const ended = (id, start, more) => new Recording(folder, id, { start, commit: null }).add("SuiteStarted", { example_count: 0 }).add("SuiteFinished", { example_count: 0, failure_count: 0, duration_ms: 12, ...more }).write();
  traced(folder, "019e0000-0001", { start: base, bad: [], repeats: 12, commit: "aaaaaaaa11112222" });
  ended("019e0000-0002", base + day, { state: "did_not_load", exit_code: 2, error_count: 1 });
  ended("019e0000-0003", base + 2 * day, { state: "stopped", exit_code: 130 });
  booking(folder, "019e0000-0004", { start: base + 3 * day, unfinished: true });
  traced(folder, "019e0000-0005", { start: base + 4 * day, bad: [2, 4, 5, 7, 8, 9, 10, 11], repeats: 12, commit: "bbbbbbbb11112222" });
  journal(folder);
}

const SCHEMA = JSON.parse(readFileSync(new URL("../../schema/events.schema.json", import.meta.url), "utf8"));

/** A value of this shape with the hostile text in every place that text can stand in; `open` puts it into enumerations too. */
function hostile(schema, open) {
  if (schema === true || schema === undefined) return { [EVIL]: [EVIL] };
  if (schema.$ref) return hostile(SCHEMA.$defs[schema.$ref.split("/").at(-1)], open);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return hostile(choices.find((one) => one.type !== "null"), open);
  if (schema.enum) return open ? EVIL : schema.enum[0];
  const type = [schema.type].flat().find((one) => one !== "null");
  switch (type) {
    case "string": return EVIL;
    case "integer": return 1;
    case "number": return 1.5;
    case "boolean": return false;
    case "array": return [hostile(schema.items, open), hostile(schema.items, open)];
    case "object": return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, hostile(inner, open)]));
    default: return { [EVIL]: [EVIL] };
  }
}

/** A run in which every text of every type of event is hostile; new fields take part as soon as the schema has them. */
export function evilRun(project, id) {
  const run = new Recording(project, id, { argv: ["proctor", EVIL], commit: EVIL, tags: [EVIL] });
  const kinds = Object.keys(SCHEMA.$defs).filter((name) => SCHEMA.$defs[name].type === "object" && !["Envelope", "Exception", "StatusCounts", "LeakedProcess"].includes(name));
  const outside = ["SuiteStarted", "WorkerStarted", "WorkerExited", "ErrorOutsideExample", "Progress", "GroupStarted", "GroupFinished", "SuiteFinished"];
  const inside = kinds.filter((name) => !outside.includes(name) && !["ExampleStarted", "ExampleFinished"].includes(name));
  const fill = (name, open) => hostile(SCHEMA.$defs[name], open);
  run.add("SuiteStarted", { ...fill("SuiteStarted", false), example_count: 2 });
  for (const name of ["WorkerStarted", "GroupStarted", "ErrorOutsideExample", "Progress"]) run.add(name, { ...fill(name, false), worker: 0 });
  for (const [place, open] of [false, true].entries()) {
    const own = { example_id: `e${place}`, repeat: 1, attempt: 1, worker: 0 };
    run.add("ExampleStarted", { ...fill("ExampleStarted", open), ...own });
    for (const name of inside) run.add(name, { ...fill(name, open), ...own });
    run.add("UserMessage", { ...fill("UserMessage", open), ...own });
    run.add("AgentResponse", { ...fill("AgentResponse", open), ...own });
    run.add("ExampleFinished", { ...fill("ExampleFinished", open), ...own, final: true, ...(open ? {} : { status: "failed" }) });
  }
  for (const name of ["GroupFinished", "WorkerExited"]) run.add(name, { ...fill(name, false), worker: 0 });
  run.add("SuiteFinished", { ...fill("SuiteFinished", false), example_count: 2, failure_count: 2, exit_code: 1 });
  run.write();
  return run;
}

const DOMAINS = ["debugging", "testing", "performance", "feature"];
const STRATEGIES = ["systematic-elimination", "check-assumptions", "read-the-error"];

/** A journal of some weeks with every kind of entry; `evil` makes every text in it hostile. */
export function journal(project, { evil = false, entries = 26 } = {}) {
  const folder = join(project, ".claude", "journal");
  mkdirSync(join(folder, "archive"), { recursive: true });
  const text = (plain) => (evil ? EVIL : plain);
  const time = (n, minutes = 0) => new Date(Date.parse("2026-10-20T09:00:00Z") + n * 19 * 3_600_000 + minutes * 60_000).toISOString().replace(".000", "");
  const goals = ["fix the flaky cache test", "make the search answer within 100 ms", "let the page follow a run of another process", "find why the worker leaks descriptors", "stop the judge from straying"];
  const piece = (n, verdict) => ({
    captured_at: time(n, 30), argv: ["rspec", text("spec/cache_spec.rb"), "--order", "random"], exit: verdict === "confirmed" ? 0 : 1, duration_ms: 3210 + n * 40,
    counts: { passed: 41 + n, failed: verdict === "confirmed" ? 0 : 2, errors: 0, skipped: 1 }, counts_from: text("text: rspec"), expectation: "pass", predates_run: true, verdict,
    reason: text(verdict === "confirmed" ? "42 examples passed, as expected" : verdict === "falsified" ? "2 of 43 examples failed; expected pass" : "the files could not be loaded: no test ran"),
    output_tail: text(`Randomized with seed 4711\n..F..F....\n\nFinished in 3.2 seconds\n${41 + n} examples, 2 failures`), commit: text("4f2a9c1d0011223344556677"), dirty: n % 2 === 0,
  });
  const lines = [];
  for (let n = 0; n < entries; n += 1) {
    const status = n % 7 === 6 ? "abandoned" : n % 3 === 1 ? "falsified" : "confirmed";
    const auto = n % 4 !== 3 && status !== "abandoned";
    const history = n % 5 === 2 ? [{ timestamp: time(n), superseded_at: time(n, 15), hypothesis: text("the clock is read before it is set"), action: text("freeze the clock"), prediction: text("the test passes a hundred times"), confidence: 0.6 }] : [];
    lines.push({
      id: `ghap_202610${String(20 + (n % 10)).padStart(2, "0")}_090000_${n.toString(16).padStart(6, "0")}`, session_id: text(`session_20261020_09000${n % 3}_abcdef`), created_at: time(n), domain: DOMAINS[n % 4], strategy: STRATEGIES[n % 3],
      goal: text(goals[n % goals.length]), hypothesis: text("an earlier test leaves its cache behind, so the second one sees what the first one stored"), action: text("clear the cache after every test"), prediction: text("test_cache passes ten times in random order"),
      history, iteration_count: history.length + 1, notes: n % 6 === 0 ? [text("the log of the second run is worth keeping")] : [], confidence: [0.5, 0.7, 0.8, 0.95][n % 4], iteration_started_at: time(n, 15),
      outcome: { status, result: text(status === "abandoned" ? "session ended" : status === "confirmed" ? "ten of ten runs passed" : "two of ten runs failed"), captured_at: time(n, 40), auto_captured: auto },
      confidence_tier: status === "abandoned" ? "abandoned" : auto ? "gold" : n % 8 === 3 ? "bronze" : "silver",
      ...(status === "falsified" && n % 2 ? { surprise: text("the cache is per process; it was the clock"), root_cause: { category: text("wrong-assumption"), description: text("nobody had looked where the time comes from") } } : {}),
      ...(n % 5 === 0 ? { lesson: { what_worked: text("printing both times side by side"), takeaway: text("look at the clock before blaming a cache") } } : {}),
      ...(auto ? { evidence: [...(n % 5 === 2 ? [piece(n, "inconclusive")] : []), piece(n, status)] } : {}),
    });
  }
  const sessions = Map.groupBy ? Map.groupBy(lines, (line) => line.session_id) : new Map([["all", lines]]);
  for (const [place, [, own]] of [...sessions].entries()) writeFileSync(join(folder, "archive", `20261020_s${place}.jsonl`), `${own.map((line) => JSON.stringify(line)).join("\n")}\n`);
  const active = { ...lines[0], id: "ghap_20261110_120000_00beef", created_at: time(entries), goal: text("see the journal in the page"), outcome: undefined, confidence_tier: undefined, evidence: [piece(entries, "inconclusive")], lesson: undefined };
  writeFileSync(join(folder, "current_ghap.json"), JSON.stringify(active, null, 2));
  writeFileSync(join(folder, ".session_id"), `${active.session_id}\n`);
  mkdirSync(join(folder, "lanes", "reviewer", "archive"), { recursive: true });
  writeFileSync(join(folder, "lanes", "reviewer", "archive", "20261021_s.jsonl"), `${JSON.stringify({ ...lines[1], id: "ghap_20261021_110000_0a0a0a", session_id: "s", goal: text("review the change to the cache") })}\n`);
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
  journal(folder);
}

/** A small project, for those who ask everything many times. */
export function smallProject(folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "proctor.toml"), "");
  booking(folder, "019a0000-0001", { quality: 1, start: Date.parse("2026-11-08T09:00:00Z") });
  booking(folder, "019a0000-0002", { quality: 0.6, start: Date.parse("2026-11-09T09:00:00Z"), tags: ["main"] });
  journal(folder);
}

if (process.argv[1]?.endsWith("fixture.mjs") && process.argv[2]) (process.argv[3] === "small" ? smallProject : project)(process.argv[2]);
