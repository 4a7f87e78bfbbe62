//! Conversations from outside: scenario files as a suite like any other.

use crate::env::{TestEnv, signal};

const BOOKING: &str = r#"describe: Booking
tags: [venue]
agent:
  script:
    - {when: Hello, say: How can I help?}
    - {when: Grand, say: I found the Grand Hall.}
    - {when: hall, say: {text: "", call: {tool: search, arguments: {guests: 50}}}}
    - {when: break, say: {fail: the agent fell over}}
tools: {search: {result: {hall: Grand}}}
examples:
  - it: greets
    steps: [{user: Hello, expect: [{match: help}]}]
  - it: finds a hall
    tags: [search]
    steps: [{user: A hall please, expect: [{call_tool: search}, {match: Grand}]}]
  - it: is wrong
    steps: [{user: Hello, expect: [{match: goodbye}]}]
  - it: breaks
    steps: [{user: break}]
  - it: has a broken judge
    steps: [{user: Hello, expect: [{satisfy: Is polite}]}]
  - {it: comes later, pending: not built yet, steps: []}
models: {judge: {command: "false"}}
"#;

fn project(scenario: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("talks/booking.scenario.yaml", scenario);
    env
}

#[test]
fn they_are_run_like_any_other_suite_and_every_status_is_shown_with_its_fault() {
    let env = project(BOOKING);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(6);
    let result = |ending: &str| {
        let event = recorded.result(ending).event;
        (
            event["status"].as_str().unwrap().to_owned(),
            event["fault"].as_str().unwrap_or("").to_owned(),
        )
    };
    let told = |status: &str, fault: &str| (status.to_owned(), fault.to_owned());
    assert_eq!(result("greets"), told("passed", ""));
    assert_eq!(result("finds a hall"), told("passed", ""));
    assert_eq!(result("is wrong"), told("failed", "agent"));
    assert_eq!(result("breaks"), told("errored", "agent"));
    assert_eq!(result("has a broken judge"), told("inconclusive", "judge"));
    assert_eq!(result("comes later"), told("pending", ""));
    assert!(recorded.of("ExampleStarted").all(|event| event["suite"] == "scenario"));
    assert_eq!(recorded.count("WorkerStarted"), 0, "nobody else is needed");
    for shown in [
        "2 passed, 1 failed, 1 errored, 1 inconclusive, 1 pending",
        "(fault: judge)",
        "the agent fell over",
        "talks/booking.scenario.yaml",
    ] {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.terminal());
    }
    env.assert_complete();
    let relaxed = env.run(&["run", "-e", "has a broken judge", "--inconclusive", "ok"]);
    assert_eq!(relaxed.code, Some(0), "{}", relaxed.terminal());
}

#[test]
fn they_are_listed_and_selected_by_path_line_tag_words_and_id() {
    let env = project(BOOKING);
    let listed = env.run(&["list"]);
    assert_eq!(listed.stdout.lines().count(), 6, "{}", listed.terminal());
    let line = listed.stdout.lines().find(|line| line.contains("finds a hall")).unwrap();
    assert!(line.contains("./talks/booking.scenario.yaml:13  Booking > finds a hall"), "{line}");
    let id = line.split_whitespace().next().unwrap().to_owned();
    for selection in [
        vec!["talks/booking.scenario.yaml:13"],
        vec!["talks", "-t", "search"],
        vec!["-e", "finds a"],
        vec!["-e", "/a h.ll$/"],
        vec!["--stable-id", &id],
        vec!["--suite", "scenario", "-t", "search"],
    ] {
        let words: Vec<&str> = ["list"].into_iter().chain(selection).collect();
        let listed = env.run(&words);
        assert_eq!(listed.stdout.lines().count(), 1, "{words:?}: {}", listed.terminal());
        assert!(listed.stdout.starts_with(&id), "{words:?}: {}", listed.terminal());
    }
    assert_eq!(env.run(&["list", "-t", "~search"]).stdout.lines().count(), 5);
    let _ = env.run(&["run"]);
    let again = env.run(&["run", "--only-failures"]);
    assert_eq!(env.recorded().started().len(), 3, "{}", again.terminal());
}

#[test]
fn a_line_means_the_example_the_set_or_the_group_that_begins_at_or_above_it() {
    let env = project(
        "describe: Top\nagent: {script: [Hi]}\nexamples:\n  - it: a\n    steps: [{user: x}]\nsets:\n  - name: rows\n    rows: [{name: r1}, {name: r2}]\n    examples:\n      - it: b\n        steps: [{user: x}]\n      - it: c\n        steps: [{user: x}]\ncontexts:\n  - describe: Inner\n    tags: [t]\n    examples:\n      - it: d\n        steps: [{user: x}]\n      - it: e\n        steps: [{user: x}]\n",
    );
    let listed = |line: &str| -> Vec<String> {
        let ran = env.run(&["list", &format!("talks/booking.scenario.yaml{line}")]);
        let name = |line: &str| line.split("  ").last().unwrap_or_default().to_owned();
        ran.stdout.lines().map(name).collect()
    };
    let all = [
        "Top > a",
        "Top > rows > b > r1",
        "Top > rows > b > r2",
        "Top > rows > c > r1",
        "Top > rows > c > r2",
        "Top > Inner > d",
        "Top > Inner > e",
    ];
    assert_eq!(listed(""), all);
    assert_eq!(listed(":1"), all, "the file's own line");
    assert_eq!(listed(":2"), all, "what the file says about all of them");
    assert_eq!(listed(":5"), all[..1]);
    assert_eq!(listed(":7"), all[1..5], "the set");
    assert_eq!(listed(":8"), all[1..5], "its rows");
    assert_eq!(listed(":11"), all[1..3], "one example of it, with all rows");
    assert_eq!(listed(":15"), all[5..], "the context");
    assert_eq!(listed(":16"), all[5..], "what it says");
    assert_eq!(listed(":20:4"), [all[0], all[6]], "several lines");
}

#[test]
fn mistakes_are_shown_with_place_and_way_out_and_nothing_is_run() {
    let env = project("describe: A\nexampels:\n  - it: x\n");
    env.write("talks/other.scenario.yaml", "describe: B\nagent: nobody\nmodels: {judge: missing}\nexamples: [{it: y, steps: [{user: Hi}]}]\n");
    for command in ["run", "list"] {
        let ran = env.run(&[command, "talks/booking.scenario.yaml"]);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        for shown in ["./talks/booking.scenario.yaml:2:1", "exampels:", "did you mean `examples`?"]
        {
            assert!(ran.terminal().contains(shown), "{shown}: {}", ran.terminal());
        }
    }
    let ran = env.run(&["run", "talks/other.scenario.yaml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.terminal());
    for shown in [
        "./talks/other.scenario.yaml:2:8",
        "there is no agent `nobody`",
        "there is no model `missing`",
    ] {
        assert!(ran.terminal().contains(shown), "{shown}: {}", ran.terminal());
    }
    let gone = env.run(&["run", "talks/gone.scenario.yaml"]);
    assert_eq!(gone.code, Some(2), "{}", gone.terminal());
    assert!(gone.terminal().contains("talks/gone.scenario.yaml"), "{}", gone.terminal());
}

#[test]
fn agents_and_models_of_the_configuration_are_used_by_name() {
    let env = project(
        "describe: A\nexamples: [{it: x, steps: [{user: Hi, expect: [{satisfy: Is kind}, {match: Hello}]}]}]\n",
    );
    env.write(
        "proctor.toml",
        "agent = \"one\"\n[agents.one]\nscript = [\"Hello\"]\n[agents.two]\nscript = [\"Go away\"]\n[models.judge]\nverdicts = [{because = \"fine\"}]\n",
    );
    assert_eq!(env.run(&["run"]).code, Some(0), "{}", env.run(&["run"]).terminal());
    let other = env.run(&["run", "--agent", "two"]);
    assert_eq!(other.code, Some(1), "{}", other.terminal());
    assert!(other.stdout.contains("Go away"), "{}", other.terminal());
    let unknown = env.run(&["run", "--agent", "three"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.terminal());
    assert!(unknown.stderr.contains("there are: one, two"), "{}", unknown.terminal());
}

/// Passes in the first `good` conversations, then fails.
fn flaky_agent(good: u32, more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "count.sh",
        "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; [ $n -le $1 ]\n",
    );
    env.write(
        "m.scenario.yaml",
        &format!("describe: Moody\n{more}\nagent: {{script: [{{say: Hi, then: repeat}}]}}\nexamples: [{{it: is moody, steps: [{{user: Hello, expect: [{{command: [sh, count.sh, \"{good}\"]}}]}}]}}]\n"),
    );
    env.write("proctor.toml", "[conversations]\nconcurrency = 1\n");
    env
}

#[test]
fn repeats_have_a_rate_with_its_interval_and_the_attempts_it_rests_on() {
    let env = flaky_agent(3, "");
    let ran = env.run(&["run", "--repeat", "4"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(
        ran.stdout.contains(
            "75% (95%: 30–95%)  passed 3 of 4 valid repetitions, pass@1 75%, pass@4 100%, pass^4 0% (n=4)"
        ),
        "{}",
        ran.terminal()
    );
}

#[test]
fn a_pass_rate_is_a_gate_that_settles_early() {
    let env = flaky_agent(100, "repeat: 10\npass_rate: 0.3");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    assert_eq!(recorded.count("ExampleStarted"), 3, "three passes are enough");
    assert!(ran.stdout.contains("✓ needs 30%"), "{}", ran.terminal());
    let skipped =
        recorded.of("ExampleFinished").find(|event| event["status"] == "not_run").unwrap();
    assert!(
        skipped["message"].as_str().unwrap().contains("pass rate of 30% is reached"),
        "{skipped}"
    );
    // Some fail, and that is allowed.
    let env = flaky_agent(3, "repeat: 4\npass_rate: 0.75");
    std::fs::write(env.project.join("n"), "1\n").unwrap();
    env.write("count.sh", "n=$(cat n); n=$((n+1)); echo $n > n; [ $n -ne 3 ]\n");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("✓ needs 75%"), "{}", ran.terminal());
    let env = flaky_agent(1, "repeat: 10\npass_rate: 0.9");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let started = env.recorded().count("ExampleStarted");
    assert_eq!(started, 3, "after one pass and two failures it cannot be reached any more");
    assert!(ran.stdout.contains("✗ needs 90%"), "{}", ran.terminal());
}

/// A failure that a pass rate allows is none; an example that misses its rate is one.
#[test]
fn fail_fast_counts_what_no_pass_rate_excuses() {
    let env = flaky_agent(0, "repeat: 4\npass_rate: 0.5");
    env.write(
        "count.sh",
        "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; [ $n -ge 3 ]\n",
    );
    env.write("z.scenario.yaml", "describe: Z\nagent: {script: [Hi]}\nexamples: [{it: is run too, steps: [{user: Hello}]}]\n");
    let ran = env.run(&["run", "--fail-fast", "--schedule", "listed"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(env.recorded().started().contains(&"Z is run too".to_owned()), "{}", ran.terminal());
    let env = flaky_agent(0, "repeat: 4\npass_rate: 0.9");
    env.write("z.scenario.yaml", "describe: Z\nagent: {script: [Hi]}\nexamples: [{it: is not run, steps: [{user: Hello}]}]\n");
    let ran = env.run(&[
        "run",
        "--fail-fast",
        "--schedule",
        "listed",
        "m.scenario.yaml",
        "z.scenario.yaml",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("not run"), "{}", ran.terminal());
}

/// The report for a pull request is of the same mind as the exit code.
#[test]
fn a_report_calls_a_run_good_whose_failures_are_allowed() {
    let env = flaky_agent(0, "repeat: 4\npass_rate: 0.5");
    env.write(
        "count.sh",
        "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; [ $n -ne 2 ]\n",
    );
    let ran = env.run(&["run", "--markdown", "report.md"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let report = env.read("report.md");
    assert!(report.starts_with("## ✅ "), "{report}");
    assert!(report.contains("1 passed (1 within its pass rate)"), "{report}");
    let env = flaky_agent(0, "repeat: 2\npass_rate: 0.5");
    let _ = env.run(&["run", "--markdown", "report.md"]);
    assert!(env.read("report.md").starts_with("## ❌ "), "{}", env.read("report.md"));
}

#[test]
fn retries_and_time_limits_hold() {
    let env = flaky_agent(0, "");
    env.write(
        "count.sh",
        "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; [ $n -ge 2 ]\n",
    );
    let ran = env.run(&["run", "--retries", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("1 flaky"), "{}", ran.terminal());
    let env = project(
        "describe: A\nagent: {script: [{say: {text: Hi, delay: 60s}, then: repeat}]}\nmodels: {judge: {verdicts: [{because: so}]}, simulator: {script: [Hello]}}\nexamples:\n  - {it: waits, steps: [{simulate: {goal: g}}]}\n  - {it: waits too, steps: [{user: Hello}]}\n",
    );
    let ran = env.run(&["run", "--timeout", "300ms"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(2);
    assert_eq!(recorded.statuses().get("timed_out"), Some(&2), "{}", ran.terminal());
    let ended = recorded.of("SimulationEnded").next().unwrap();
    assert_eq!(ended["termination_reason"], "timeout");
}

#[test]
fn an_interrupted_run_says_what_was_given_up() {
    let env = project(
        "describe: A\nagent: {script: [{say: {text: Hi, delay: 60s}, then: repeat}]}\nexamples:\n  - {it: a, steps: [{user: Hello}]}\n  - {it: b, steps: [{user: Hello}]}\n",
    );
    let mut child = env.spawn(&["run", "--grace", "100ms"]);
    env.wait_for("two conversations", |recorded| recorded.count("UserMessage") == 2);
    signal(&child, rustix::process::Signal::INT);
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130));
    let recorded = env.recorded();
    recorded.assert_accounted(2);
    assert_eq!(recorded.statuses().get("cancelled"), Some(&2), "{:?}", recorded.statuses());
}

#[test]
fn a_run_is_recorded_to_a_cassette_and_replayed_from_it() {
    let env = project(BOOKING);
    let selection = ["-e", "greets", "-e", "finds"];
    let words = |more: &[&'static str]| -> Vec<&'static str> {
        ["run"].into_iter().chain(selection).chain(more.iter().copied()).collect()
    };
    assert_eq!(env.run(&words(&["--record", "tape.jsonl"])).code, Some(0));
    let again = env.run(&words(&["--record", "tape.jsonl"]));
    assert_eq!(again.code, Some(2), "{}", again.terminal());
    assert!(again.terminal().contains("delete it to record again"), "{}", again.terminal());
    // Whoever answers now is the cassette: the agent would say something else.
    let changed =
        BOOKING.replace("How can I help?", "Go away").replace("user: Hello,", "user: Hello there,");
    env.write("talks/booking.scenario.yaml", &changed);
    let replayed = env.run(&words(&["--replay", "tape.jsonl"]));
    assert_eq!(replayed.code, Some(0), "{}", replayed.terminal());
    assert!(replayed.stderr.contains("drift"), "{}", replayed.terminal());
    let keyed = env.run(&words(&["--replay", "tape.jsonl", "--replay-by", "request"]));
    assert_eq!(keyed.code, Some(1), "{}", keyed.terminal());
    assert!(keyed.stdout.contains("has no answer to this request"), "{}", keyed.terminal());
}

#[test]
fn saved_conversations_are_judged_again_without_their_agent() {
    let scenario = |agent: &str, verdict: &str| {
        format!(
            "describe: A\nagent: {{script: [{agent}]}}\ntools: {{look: {{result: 1}}}}\nmodels:\n  judge: {{verdicts: [{{satisfied: {verdict}, because: as I see it}}]}}\n  simulator: {{script: [Hello]}}\nexamples: [{{it: x, steps: [{{user: Hi}}, {{simulate: {{goal: g, max_turns: 1, on_max_turns: fine, stop_when: []}}, expect: [{{satisfy: Is kind}}, {{called_tool: look}}]}}]}}]\n"
        )
    };
    let agent = "{say: [{text: \"\", call: {tool: look}}, Welcome, Bye]}";
    let env = project(&scenario(agent, "true"));
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.write("talks/booking.scenario.yaml", &scenario("{say: {fail: nobody asks me}}", "false"));
    let judged = env.run(&["rejudge", "last"]);
    assert_eq!(judged.code, Some(1), "{}", judged.terminal());
    assert!(
        judged.stdout.contains("as I see it") && judged.stdout.contains("Welcome"),
        "{}",
        judged.terminal()
    );
    assert!(!judged.stdout.contains("nobody asks me"), "{}", judged.terminal());
    assert_eq!(env.recorded().count("AgentResponse"), 3);
}

#[test]
fn two_configurations_are_run_and_compared() {
    let rows: String = (0..12).map(|row| format!("{{name: r{row}}}, ")).collect();
    let env = project(&format!(
        "describe: A\nsets: [{{name: all, rows: [{rows}], examples: [{{it: talks, steps: [{{user: Hi, expect: [{{match: Hello}}]}}]}}]}}]\n"
    ));
    let config = |says: &str| format!("agent = \"mine\"\n[agents.mine]\nscript = [{says:?}]\n");
    env.write("proctor.toml", &config("Hello"));
    env.write("other.toml", &config("Go away"));
    let ran = env.run(&["run", "--ui", "terse", "--ab", "other.toml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    for shown in ["Suite: 100.0 % → 0.0 %, −100 points", "Gate: stop (exit code 1)"] {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.terminal());
    }
    env.write("other.toml", &config("Hello again"));
    let alike = env.run(&["run", "--ui", "terse", "--ab", "other.toml"]);
    assert_eq!(alike.code, Some(0), "{}", alike.terminal());
    let tape = env.run(&["run", "--ab", "other.toml", "--record", "tape.jsonl"]);
    assert_eq!(tape.code, Some(2), "{}", tape.terminal());
    assert!(tape.stderr.contains("one side only"), "{}", tape.terminal());
}

/// Both sides are under way at the same time, so that what changes meanwhile meets both.
#[test]
fn two_configurations_are_run_side_by_side() {
    let env = project(
        "describe: A\nexamples:\n  - {it: a, steps: [{user: Hi}]}\n  - {it: b, steps: [{user: Hi}]}\n  - {it: c, steps: [{user: Hi}]}\n",
    );
    let config = "agent = \"mine\"\n[agents.mine]\nscript = [{say = {text = \"Hello\", delay = \"300ms\"}}]\n[conversations]\nconcurrency = 2\n";
    env.write("proctor.toml", config);
    env.write("other.toml", &config.replace("Hello", "Hello again"));
    let ran = env.run(&["run", "--ui", "terse", "--ab", "other.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let runs = std::fs::read_dir(env.project.join(".proctor/runs")).unwrap();
    let spans: Vec<(String, String)> = runs
        .flatten()
        .map(|run| {
            let text = std::fs::read_to_string(run.path().join("events.jsonl")).unwrap();
            let time = |line: Option<&str>| {
                let event: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
                event["time"].as_str().unwrap().to_owned()
            };
            (time(text.lines().next()), time(text.lines().last()))
        })
        .collect();
    assert_eq!(spans.len(), 2);
    assert!(spans[0].0 < spans[1].1 && spans[1].0 < spans[0].1, "{spans:?}");
}

#[test]
fn a_first_scenario_is_written_and_runs() {
    let env = TestEnv::new();
    std::fs::remove_file(env.project.join("proctor.toml")).unwrap();
    let made = env.run(&["init"]);
    assert_eq!(made.code, Some(0), "{}", made.terminal());
    assert!(made.stdout.contains("scenarios/first.scenario.yaml"), "{}", made.terminal());
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("3 examples: 3 passed"), "{}", ran.terminal());
    let listed = env.run(&["list", "-t", "booking"]);
    assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.terminal());
    // What the file says to do next: a failure that explains itself.
    let text = env.read("scenarios/first.scenario.yaml").replacen(
        "(?i)vegan\"\n          - not",
        "pizza\"\n          - not",
        1,
    );
    env.write("scenarios/first.scenario.yaml", &text);
    let failed = env.run(&["run"]);
    assert_eq!(failed.code, Some(1), "{}", failed.terminal());
    let said =
        "turn 1: expected to match /pizza/, but the agent said \"Yes, we have four vegan dishes.\"";
    assert!(failed.stdout.contains(said), "{}", failed.terminal());
    env.write("proctor.toml", "# mine\n");
    assert!(env.run(&["init"]).stdout.contains("kept"));
    assert_eq!(env.read("proctor.toml"), "# mine\n");
    assert!(env.run(&["schema", "scenario"]).stdout.contains("\"examples\""));
}

#[test]
fn thousands_are_conducted_by_one_process() {
    let rows: String = (0..2000).map(|row| format!("      - {{name: r{row}}}\n")).collect();
    let env = project(&format!(
        "describe: A\nagent: {{script: [{{say: {{text: Hi, delay: 200ms}}}}]}}\nsets:\n  - name: all\n    rows:\n{rows}    examples:\n      - it: waits\n        steps: [{{user: Hello, expect: [{{match: Hi}}]}}]\n"
    ));
    let began = std::time::Instant::now();
    let ran = env.run(&["run", "--ui", "terse", "--concurrency", "1000"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(2000);
    assert!(began.elapsed() < std::time::Duration::from_mins(1), "{:?}", began.elapsed());
}

#[test]
fn specs_and_conversations_run_side_by_side() {
    let env = project(
        "describe: talk\nagent: {script: [Hi]}\nexamples: [{it: passes, steps: [{user: Hello}]}]\n",
    );
    env.write("spec/a_spec.rb", "RSpec.describe('ruby') { it('passes') { expect(1).to eq(1) } }");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let mut started = env.recorded().started();
    started.sort();
    assert_eq!(started, ["ruby passes", "talk passes"]);
}

/// What a program of an agent prints is output of the example it served, in the recording and in the report.
#[test]
fn what_an_agent_prints_is_recorded_with_its_example() {
    let env = TestEnv::new();
    env.write("agent.py", AGENT);
    env.write(
        "a.scenario.yaml",
        "describe: A\nagent: {command: [python3, agent.py]}\nexamples:\n  - {it: a, steps: [{user: first, expect: [{match: nothing}]}]}\n  - {it: b, steps: [{user: second}]}\n",
    );
    let ran = env.run(&["run", "--concurrency", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    let ids: std::collections::BTreeMap<String, String> = recorded
        .of("ExampleStarted")
        .map(|event| {
            (
                event["example_id"].as_str().unwrap().to_owned(),
                event["description"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let mut printed: Vec<(String, String, String)> = recorded
        .of("WorkerLog")
        .map(|event| {
            let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            (
                ids.get(&text("example_id")).cloned().unwrap_or_default(),
                text("stream"),
                text("line"),
            )
        })
        .collect();
    printed.sort();
    let line = |example: &str, stream: &str, text: &str| {
        (example.to_owned(), stream.to_owned(), text.to_owned())
    };
    assert_eq!(
        printed,
        [line("a", "stderr", "I heard first"), line("b", "stderr", "I heard second")]
    );
    env.assert_complete();
}

const AGENT: &str = r#"
import json, os, socket, sys
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
for line in incoming:
    m = json.loads(line)
    reply = {"reply_to": m.get("id")}
    if m.get("action") == "hello":
        reply |= {"protocol": 1, "name": "mine", "version": "1", "pid": os.getpid(), "capabilities": []}
    elif m.get("action") == "agent.chat":
        print("I heard " + m["messages"][-1]["content"], file=sys.stderr, flush=True)
        reply |= {"text": "You said: " + m["messages"][-1]["content"]}
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
    if m.get("action") == "__shutdown__":
        break
"#;

/// A model server on this machine that says yes to everything, and what it costs.
pub(crate) fn costly_judge() -> std::net::SocketAddr {
    use std::io::{BufRead as _, Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                loop {
                    let mut length = 0;
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) == 0 {
                            return;
                        }
                        if let Some(value) =
                            line.to_ascii_lowercase().strip_prefix("content-length:")
                        {
                            length = value.trim().parse().unwrap_or(0);
                        }
                        if line.trim().is_empty() {
                            break;
                        }
                    }
                    let mut body = vec![0; length];
                    if reader.read_exact(&mut body).is_err() {
                        return;
                    }
                    let body = String::from_utf8_lossy(&body);
                    let mark = body.split(r#"{\"mark\": \""#).nth(1).unwrap_or_default();
                    let mark = mark.split('\\').next().unwrap_or_default();
                    let said = format!(
                        r#"{{"mark": "{mark}", "answers": [{{"id": "q1", "satisfied": true, "reasoning": "fine"}}]}}"#
                    );
                    let answer = serde_json::json!({
                        "model": "m", "usage": {"prompt_tokens": 1000, "completion_tokens": 1000},
                        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
                    })
                    .to_string();
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        answer.len()
                    );
                    if stream.write_all((head + &answer).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// The budget ends a run cleanly: what was judged stands, what could not be is inconclusive, the rest is not run.
#[test]
fn a_budget_that_is_spent_stops_the_run() {
    let rows: String = (0..20).map(|row| format!("{{name: r{row}}}, ")).collect();
    let env = project(&format!(
        "describe: A\nagent: {{script: [Hi]}}\nmodels: {{judge: {{openai: m, url: \"http://{}/v1\", price: {{input: 1.0, output: 9.0}}}}}}\nsets: [{{name: s, rows: [{rows}], examples: [{{it: x, steps: [{{user: Hello, expect: [{{satisfy: Is kind}}]}}]}}]}}]\n",
        costly_judge()
    ));
    // Each call is said to cost a cent; before it is made, its most is reserved.
    let ran = env.run(&["run", "--budget", "0.05", "--concurrency", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(20);
    let statuses = recorded.statuses();
    let count = |status: &str| statuses.get(status).copied().unwrap_or_default();
    assert!(count("passed") >= 2, "{statuses:?}");
    assert_eq!(count("failed") + count("errored"), 0, "{statuses:?}");
    assert!(count("inconclusive") >= 1 && count("not_run") >= 10, "{statuses:?}");
    assert!(ran.stderr.contains("the budget is used up"), "{}", ran.terminal());
    let skipped =
        recorded.of("ExampleFinished").find(|event| event["status"] == "not_run").unwrap();
    assert_eq!(skipped["message"], "the budget of the run is used up");
}

/// Scenarios and conversations in RSpec are one run: one cassette holds both.
#[test]
fn all_suites_of_a_run_share_a_cassette() {
    let env = project(
        "describe: talk\nagent: {script: [Hi]}\nexamples: [{it: passes, steps: [{user: Hello, expect: [{match: Hi}]}]}]\n",
    );
    let spec = |says: &str| {
        format!(
            "require 'proctor/rspec'\nRSpec.describe('ruby', type: :agent) {{ agent {{ ->(_) {{ '{says}' }} }}\n2.times {{ |n| it('talks') {{ user.says \"Hello #{{n}}\"; expect(agent).to match(/Servus/) }} }} }}\n"
        )
    };
    env.write("spec/a_spec.rb", &spec("Servus"));
    let ran = env.run(&["run", "--record", "tape.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.write("spec/a_spec.rb", &spec("Go away"));
    let text = env.read("talks/booking.scenario.yaml").replace("script: [Hi]", "script: [Go away]");
    env.write("talks/booking.scenario.yaml", &text);
    let ran = env.run(&["run", "--replay", "tape.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(!ran.stderr.contains("not asked for"), "{}", ran.terminal());
}

/// The part of a page from this text to the end of its code block.
fn code_block<'a>(page: &'a str, start: &str) -> &'a str {
    let from = page.find(start).unwrap_or_else(|| panic!("{start} is not in the page"));
    let text = &page[from..];
    &text[..text.find("```").unwrap()]
}

/// The first five minutes of the README, as it is printed there.
#[test]
fn the_first_five_minutes_of_the_readme_work() {
    let readme = std::fs::read_to_string(crate::env::repository().join("README.md")).unwrap();
    let env = TestEnv::new();
    env.write("agent.py", code_block(&readme, "# agent.py"));
    let scenario = code_block(&readme, "# mine.scenario.yaml");
    env.write("mine.scenario.yaml", scenario);
    let ran = env.run(&["run", "mine.scenario.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("1 example: 1 passed"), "{}", ran.terminal());
    let shown = env.run(&["show", "--full"]);
    assert!(shown.stdout.contains("You said: hello"), "{}", shown.terminal());

    assert!(scenario.contains("match: hello"));
    env.write("mine.scenario.yaml", &scenario.replace("match: hello", "match: goodbye"));
    let ran = env.run(&["run", "mine.scenario.yaml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("/goodbye/"), "{}", ran.terminal());
    assert!(ran.stdout.contains("You said: hello"), "{}", ran.terminal());
}

/// The agent that the protocol page prints answers.
#[test]
fn the_agent_of_the_protocol_page_works() {
    let page = std::fs::read_to_string(crate::env::repository().join("docs/protocol.md")).unwrap();
    let env = TestEnv::new();
    env.write("socket_agent.py", code_block(&page, "# socket_agent.py"));
    env.write(
        "socket.scenario.yaml",
        "describe: a\nagent: {command: [python3, socket_agent.py]}\nexamples: [{it: b, steps: [{user: Hello, expect: [{match: 'said: hello'}]}]}]\n",
    );
    let ran = env.run(&["run", "socket.scenario.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
}
