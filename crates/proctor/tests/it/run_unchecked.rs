//! Examples that pass without checking anything: what is said of them, and what `--unchecked fail` makes of them, on every surface.

use serde_json::Value;

use crate::env::TestEnv;

const TALKS: &str = r"describe: Booking
agent: {script: [{say: Hello, then: repeat}]}
examples:
  - it: checks something
    steps: [{user: Hi, expect: [{match: Hello}]}]
  - it: only talks
    steps: [{user: Hi}]
  - it: only rates
    steps: [{user: Hi, evaluate: [{match: Hello}]}]
  - {it: comes later, pending: not built yet, steps: []}
";

fn project(scenario: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("talks/a.scenario.yaml", scenario);
    env
}

fn json(env: &TestEnv, words: &[&str]) -> Value {
    let ran = env.run(words);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.terminal()))
}

/// What every surface says of the newest run: whether it failed, and how many examples fail it.
fn assert_on_every_surface(env: &TestEnv, fails: bool) {
    let (word, code, failures) = if fails { ("failed", 1, 2) } else { ("passed", 0, 0) };
    let recorded = env.recorded();
    let started = recorded.of("SuiteStarted").next().unwrap();
    assert_eq!(started["policy"]["unchecked_fails"], fails, "{started}");
    let ended = recorded.of("SuiteFinished").next().unwrap();
    assert_eq!((&ended["exit_code"], &ended["verdict"]), (&code.into(), &word.into()), "{ended}");
    assert_eq!(ended["failure_count"], failures, "{ended}");
    assert_eq!((&ended["counts"]["passed"], &ended["counts"]["unchecked"]), (&3.into(), &2.into()));
    env.assert_complete();

    let shown = json(env, &["show", "last", "--format", "json"]);
    assert_eq!((&shown["verdict"], &shown["exit_code"]), (&word.into(), &code.into()));
    assert_eq!(shown["summary"]["unchecked"], 2);
    assert_eq!(shown["summary"]["failures"], failures);
    let marked = |field: &str| {
        let all = shown["verdicts"].as_array().unwrap().iter();
        all.filter(|one| one[field] == true).map(|one| one["title"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(marked("unchecked"), ["Booking > only talks", "Booking > only rates"]);
    assert_eq!(marked("failure").len(), failures);
    let text = env.run(&["show", "last"]);
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert!(lines[0].contains(&format!(" {word} ")), "{}", text.terminal());
    assert!(lines[1].contains("(2 checked nothing)"), "{}", text.terminal());
    let marked = lines.iter().filter(|line| line.contains("  checked nothing ·")).count();
    assert_eq!(marked, 2, "{}", text.terminal());
    let runs = json(env, &["runs", "--format", "json"]);
    assert_eq!(runs[0]["verdict"], word, "{runs}");
    let runs = env.run(&["runs"]);
    assert!(runs.stdout.contains(" passed (2 checked nothing)"), "{}", runs.terminal());
    let tool = json(env, &["tool", "run_results", r#"{"statuses":["passed"]}"#]);
    assert_eq!((&tool["run"]["verdict"], &tool["run"]["unchecked"]), (&word.into(), &2.into()));
    let rows = tool["results"].as_array().unwrap().iter();
    assert_eq!(rows.filter(|row| row["unchecked"] == true).count(), 2, "{tool}");

    let junit = env.read("out.xml");
    let expected = if fails { r#"failures="2""# } else { r#"failures="0""# };
    assert!(junit.contains(expected), "{junit}");
    let refused = r#"<failure message="passed without checking anything" type="unchecked">"#;
    assert_eq!(junit.matches(refused).count(), failures, "{junit}");
    assert_eq!(junit.matches(r#"name="unchecked" value="true""#).count(), 2, "{junit}");
}

#[test]
fn they_are_named_and_do_not_fail_the_run() {
    let env = project(TALKS);
    let ran = env.run(&["run", "--junit", "out.xml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let told = ran.stdout.split("2 examples passed without checking anything:").nth(1);
    let told = told.unwrap_or_else(|| panic!("{}", ran.terminal()));
    for named in ["only talks", "only rates", "with `--unchecked fail`, such examples fail the run"]
    {
        assert!(told.contains(named), "{named}: {}", ran.terminal());
    }
    assert!(!told.contains("checks something") && !told.contains("comes later"), "{told}");
    let recorded = env.recorded();
    let checks = |ending: &str| recorded.result(ending).event["checks"].clone();
    assert_eq!((checks("checks something"), checks("only talks")), (1.into(), 0.into()));
    assert_eq!(checks("only rates"), 0, "soft checks decide nothing");
    assert_on_every_surface(&env, false);
}

#[test]
fn they_fail_the_run_where_it_says_so() {
    let env = project(TALKS);
    let ran = env.run(&["run", "--unchecked", "fail", "--junit", "out.xml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert_eq!(ran.stdout.matches("passed without checking anything").count(), 2, "{}", ran.stdout);
    assert_on_every_surface(&env, true);
    // Judged again with nothing changed, it comes to the same: the policy is that of the recorded run.
    let again = env.run(&["rejudge", "last"]);
    assert_eq!(again.code, Some(1), "{}", again.terminal());
    let ended = env.recorded().of("SuiteFinished").next().unwrap()["counts"].clone();
    assert_eq!(ended["unchecked"], 2, "{ended}");
    let checked = env.run(&["run", "--unchecked", "fail", "-e", "checks something"]);
    assert_eq!(checked.code, Some(0), "{}", checked.terminal());
}

/// The first answer ends the conversation in a topic whose invariant is looked at, the others do not.
#[test]
fn every_repetition_must_check_something() {
    let scenario = r"describe: Booking
agent: {script: [{when: '1', say: Booked a table, then: repeat}, {say: Well, then: repeat}]}
models: {judge: {verdicts: [{topic: start, because: it begins}]}}
topics:
  start: {characteristic: begins, next: [booking]}
  booking: {characteristic: books, triggers: [{response: '^Booked'}], expect: [{match: table}]}
examples:
  - {it: enters, steps: [{user: '1'}]}
  - {it: does not, steps: [{user: '2'}]}
";
    let env = project(scenario);
    let ran = env.run(&["run", "--unchecked", "fail", "--repeat", "2", "--retries", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let counts = env.recorded().of("SuiteFinished").next().unwrap()["counts"].clone();
    assert_eq!((&counts["passed"], &counts["unchecked"]), (&2.into(), &1.into()), "{counts}");
    let alone = env.run(&["run", "--unchecked", "fail", "--repeat", "2", "-e", "enters"]);
    assert_eq!(alone.code, Some(0), "{}", alone.terminal());
}

#[test]
fn what_does_not_report_its_checks_is_not_taken_for_unchecked() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('is empty') { } }\n");
    let ran = env.run(&["run", "--unchecked", "fail"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    assert_eq!(recorded.result("is empty").event.get("checks"), None);
    assert!(!ran.stdout.contains("checked nothing"), "{}", ran.terminal());
}

#[test]
fn an_end_that_contradicts_its_own_policy_is_not_believed() {
    let env = project(TALKS);
    let _ = env.run(&["run", "--unchecked", "fail"]);
    let path = env.events_path().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let forged = text.replace(r#""exit_code":1"#, r#""exit_code":0"#);
    assert_ne!(text, forged);
    env.write("forged.jsonl", &forged);
    let shown = json(&env, &["show", "forged.jsonl", "--format", "json"]);
    assert_eq!((&shown["verdict"], &shown["exit_code"]), (&"failed".into(), &1.into()));
}

/// What fails the run ends it under `--fail-fast`, and nothing else does.
#[test]
fn b6_fail_fast_counts_what_fails_the_run() {
    let env = TestEnv::new();
    env.write(
        "a.scenario.yaml",
        "describe: A\nagent: {script: [{say: Hi, then: repeat}]}\nmodels: {judge: {command: \"false\"}}\nexamples:\n  \
         - {it: a, steps: [{user: a}]}\n  \
         - {it: b, steps: [{user: b, expect: [{satisfy: Is kind}]}]}\n  \
         - {it: c, steps: [{user: c, expect: [{match: Hi}]}]}\n",
    );
    for (options, ran) in [
        (&["--unchecked", "fail"][..], 1),
        (&[], 2),
        (&["--inconclusive", "ok"], 3),
        (&["--inconclusive", "ok", "--unchecked", "fail"], 1),
    ] {
        let all = [&["run", "--fail-fast", "--concurrency", "1", "--schedule", "listed"], options];
        let shown = env.run(&all.concat());
        let recorded = env.recorded();
        assert_eq!(recorded.count("ExampleStarted"), ran, "{options:?}: {}", shown.terminal());
        recorded.assert_accounted(3);
        assert_eq!(shown.code, Some(i32::from(ran != 3)), "{options:?}: {}", shown.terminal());
    }
}
