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
  - it: has no judge
    steps: [{user: Hello, expect: [{satisfy: Is polite}]}]
  - {it: comes later, pending: not built yet, steps: []}
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
    assert_eq!(result("has no judge"), told("inconclusive", "judge"));
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
    let relaxed = env.run(&["run", "-e", "has no judge", "--inconclusive", "ok"]);
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
    env.run(&["run"]);
    let again = env.run(&["run", "--only-failures"]);
    assert_eq!(env.recorded().started().len(), 3, "{}", again.terminal());
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
fn moody(good: u32, more: &str) -> TestEnv {
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
    let env = moody(3, "");
    let ran = env.run(&["run", "--repeat", "4"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(
        ran.stdout.contains("75% (95%: 30–95%)  passed 3/4 valid attempts, pass@4 100%, pass^4 0%"),
        "{}",
        ran.terminal()
    );
}

#[test]
fn a_pass_rate_is_a_gate_that_settles_early() {
    let env = moody(3, "repeat: 10\npass_rate: 0.2");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    assert!(recorded.count("ExampleStarted") < 10, "two passes of ten are enough");
    assert!(
        ran.stdout.contains("✓ needs 20%") || ran.stdout.contains("not run"),
        "{}",
        ran.terminal()
    );
    let skipped =
        recorded.of("ExampleFinished").find(|event| event["status"] == "not_run").unwrap();
    assert!(
        skipped["message"].as_str().unwrap().contains("pass rate of 20% is reached"),
        "{skipped}"
    );
    // Some fail, and that is allowed.
    let env = moody(3, "repeat: 4\npass_rate: 0.75");
    std::fs::write(env.project.join("n"), "1\n").unwrap();
    env.write("count.sh", "n=$(cat n); n=$((n+1)); echo $n > n; [ $n -ne 3 ]\n");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("✓ needs 75%"), "{}", ran.terminal());
    let env = moody(1, "repeat: 10\npass_rate: 0.8");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(env.recorded().count("ExampleStarted") < 10, "it cannot be reached any more");
    assert!(ran.stdout.contains("✗ needs 80%"), "{}", ran.terminal());
}

#[test]
fn retries_and_time_limits_hold() {
    let env = moody(0, "");
    env.write(
        "count.sh",
        "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; [ $n -ge 2 ]\n",
    );
    let ran = env.run(&["run", "--retries", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("1 flaky"), "{}", ran.terminal());
    let env = project(
        "describe: A\nagent: {script: [{say: {text: Hi, delay: 60s}, then: repeat}]}\nmodels: {simulator: {script: [Hello]}}\nexamples:\n  - {it: waits, steps: [{simulate: {goal: g}}]}\n  - {it: waits too, steps: [{user: Hello}]}\n",
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
    for shown in [
        "A passed 12/12 valid attempts",
        "B passed 0/12 valid attempts",
        "B − A: -100.0 points (95%:",
    ] {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.terminal());
    }
    env.write("other.toml", &config("Hello"));
    let same = env.run(&["run", "--ui", "terse", "--ab", "other.toml"]);
    assert_eq!(same.code, Some(0), "{}", same.terminal());
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
    assert!(ran.stdout.contains("2 passed, 1 pending"), "{}", ran.terminal());
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
