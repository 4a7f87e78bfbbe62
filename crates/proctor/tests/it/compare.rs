//! `proctor compare` and `proctor baseline` with the real binary.

use serde_json::Value;

use crate::env::TestEnv;
use crate::past::record;

fn two_runs() -> TestEnv {
    let env = TestEnv::new();
    record(
        &env,
        "0190-a",
        "./spec/cart_spec.rb",
        &[
            ("adds", false, &["passed"]),
            ("talks", true, &["passed"; 10]),
            ("guesses", true, &["passed"]),
            ("stays", false, &["passed"]),
            ("goes", false, &["passed"]),
            ("waits", false, &["passed"]),
        ],
    );
    record(
        &env,
        "0190-b",
        "./spec/cart_spec.rb",
        &[
            ("adds", false, &["failed"]),
            (
                "talks",
                true,
                &[
                    "passed", "failed", "failed", "failed", "failed", "failed", "failed", "failed",
                    "failed", "failed",
                ],
            ),
            ("guesses", true, &["failed"]),
            ("stays", false, &["passed"]),
            ("waits", false, &["pending"]),
        ],
    );
    env
}

#[test]
fn a_change_gets_a_verdict() {
    let env = two_runs();
    insta::assert_snapshot!(env.run(&["compare", "last~1", "last"]).terminal());
}

#[test]
fn a_gate_stops_a_regression_and_nothing_else() {
    let env = two_runs();
    assert_eq!(env.run(&["compare", "last~1", "last"]).code, Some(0));
    assert_eq!(env.run(&["compare", "last~1", "last", "--gate"]).code, Some(1));
    let back = env.run(&["compare", "last", "last~1", "--gate"]);
    assert_eq!(back.code, Some(1), "an improvement, and two examples without a result before");
    let back = env.run(&["compare", "last", "last~1", "--gate", "--allow-gaps=new"]);
    assert_eq!(back.code, Some(0), "{}", back.terminal());
    assert_eq!(env.run(&["compare", "last", "last", "--gate"]).code, Some(0));
    let ran = env.run(&["compare", "nothing", "last", "--gate"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no recording `nothing`"), "{}", ran.stderr);
}

#[test]
fn the_same_rows_in_every_format() {
    let env = two_runs();
    let ran = env.run(&["compare", "0190-a", "0190-b", "--format", "json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told["verdict"], "regression");
    assert_eq!(told["counts"]["regressions"], 2);
    assert_eq!(told["counts"]["cannot_tell"], 1);
    assert_eq!((&told["v"], &told["gate"]["exit_code"]), (&2.into(), &1.into()));
    assert_eq!(told["counts"]["missing_after"], 2);
    assert_eq!(told["suite"]["worse"], 3);
    assert_eq!(told["after"]["commit"], "c0ffee");
    let text = env.run(&["compare", "0190-a", "0190-b", "--all"]).stdout;
    let markdown =
        env.run(&["compare", "0190-a", "0190-b", "--all", "--format", "markdown"]).stdout;
    for example in told["examples"].as_array().unwrap() {
        let (title, why) = (example["title"].as_str().unwrap(), example["why"].as_str().unwrap());
        assert!(text.contains(title) && text.contains(why), "{title}\n{text}");
        let row = markdown.lines().find(|line| line.contains(&title.replace('>', "&gt;")));
        let why = why.replace('<', "&lt;");
        assert!(row.is_some_and(|row| row.contains(&why)), "{title}\n{markdown}");
    }
}

#[test]
fn a_moved_file_is_still_the_same_test() {
    let env = TestEnv::new();
    record(&env, "01", "./spec/old_spec.rb", &[("adds", false, &["passed"])]);
    record(&env, "02", "./spec/new_spec.rb", &[("adds", false, &["failed"])]);
    let ran = env.run(&["compare", "01", "02", "--gate"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("Cart > adds (moved from ./spec/old_spec.rb)"), "{}", ran.stdout);
}

#[test]
fn a_baseline_outlives_its_run_and_travels_as_a_file() {
    let env = two_runs();
    let blessed = env.run(&["baseline", "bless", "last~1"]);
    assert_eq!(blessed.code, Some(0), "{}", blessed.terminal());
    assert!(blessed.stdout.starts_with("blessed 0190-a: 6 examples, in "), "{}", blessed.stdout);
    assert_eq!(env.run(&["baseline", "bless", "last~1", "--output", "good.json"]).code, Some(0));
    std::fs::remove_dir_all(env.project.join(".proctor/runs/0190-a")).unwrap();
    for name in ["baseline", "baseline:default", "good.json"] {
        let ran = env.run(&["compare", name, "--gate"]);
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.terminal());
    }
    let shown = env.run(&["baseline", "show"]).stdout;
    assert!(shown.contains("default  run 0190-a") && shown.contains("15 of 15"), "{shown}");
    let ran = env.run(&["compare", "baseline:other", "last"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no baseline `other`; there are: default"), "{}", ran.stderr);
    let kept = env.read("good.json");
    assert!(!kept.contains("refund"), "no text of a conversation is kept");
}

#[test]
fn a_run_that_did_not_finish_is_not_blessed() {
    let env = two_runs();
    let path = env.project.join(".proctor/runs/0190-b/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let cut: Vec<&str> = text.lines().filter(|line| !line.contains("SuiteFinished")).collect();
    std::fs::write(&path, cut.join("\n") + "\n").unwrap();
    let ran = env.run(&["baseline", "bless"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("did not finish") && ran.stderr.contains("--force"),
        "{}",
        ran.stderr
    );
    assert_eq!(env.run(&["baseline", "bless", "--force"]).code, Some(0));
}

#[test]
fn the_record_of_earlier_runs_speaks_for_an_example_with_a_model() {
    let env = TestEnv::new();
    for run in 10..40 {
        record(&env, &format!("{run}"), "./a.rb", &[("talks", true, &["passed"])]);
    }
    record(&env, "50", "./a.rb", &[("talks", true, &["failed"])]);
    let ran = env.run(&["compare", "last~1", "last", "--gate"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(
        ran.stdout.contains("it passed 30 times in a row before, and fails now"),
        "{}",
        ran.stdout
    );
}

/// Runs of a real suite, with a change of the code in between.
#[test]
fn two_real_runs() {
    let spec = |sum: u32| {
        format!(
            "RSpec.describe 'Sum' do\n  it('adds') {{ expect(1 + 1).to eq({sum}) }}\n  it('is') {{ }}\nend\n"
        )
    };
    let env = TestEnv::with_spec(&spec(2));
    assert_eq!(env.run(&["run"]).code, Some(0));
    assert_eq!(env.run(&["runs", "tag", "last", "before"]).code, Some(0));
    env.write("spec/a_spec.rb", &spec(3));
    assert_eq!(env.run(&["run"]).code, Some(1));
    let ran = env.run(&["compare", "before", "last", "--gate"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("✗ Sum > adds  1/1 → 0/1"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 regression, 0 improvements"), "{}", ran.stdout);
}

/// V2: a run that did not load is not «6 coverage gaps», exit 0.
#[test]
fn v2_what_did_not_load_is_not_green() {
    let env = TestEnv::new();
    record(&env, "01", "./spec/cart_spec.rb", &[("adds", false, &["passed"])]);
    let folder = env.project.join(".proctor/runs/02");
    std::fs::create_dir_all(&folder).unwrap();
    let lines = [
        r#"{"event_type":"SuiteStarted","seq":1,"example_count":0}"#,
        r#"{"event_type":"ErrorOutsideExample","seq":2,"phase":"load","message":"unknown key"}"#,
        r#"{"event_type":"SuiteFinished","seq":3,"example_count":0,"failure_count":0,"state":"did_not_load","exit_code":2}"#,
    ];
    std::fs::write(folder.join("events.jsonl"), lines.join("\n") + "\n").unwrap();
    for arguments in
        [&["compare", "01", "02", "--gate"][..], &["compare", "01", "02", "--gate", "--allow-gaps"]]
    {
        let ran = env.run(arguments);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert!(
            ran.stdout
                .contains("Gate: not comparable (exit code 2): the side after (02): did not load"),
            "{}",
            ran.stdout
        );
    }
}

/// V3: «cannot tell» is a result of its own, with how many repeats would tell.
#[test]
fn v3_cannot_tell_is_exit_code_3() {
    let env = TestEnv::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    let all: Vec<_> = names.iter().map(|name| (*name, true, &["passed"][..])).collect();
    let broken: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(place, name)| {
            (*name, true, if place < 4 { &["failed"][..] } else { &["passed"][..] })
        })
        .collect();
    record(&env, "01", "./spec/cart_spec.rb", &all);
    record(&env, "02", "./spec/cart_spec.rb", &broken);
    let ran = env.run(&["compare", "01", "02", "--gate"]);
    assert_eq!(ran.code, Some(3), "{}", ran.terminal());
    assert!(ran.stdout.contains("4 examples pass less often, perhaps by chance"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("repeats a side would tell (`proctor run --repeat "),
        "{}",
        ran.stdout
    );
    assert_eq!(env.run(&["compare", "01", "02", "--gate", "--undecided", "ok"]).code, Some(0));
}

/// V20, T4: intervals lie in what is possible and do not contradict the verdict.
#[test]
fn v20_intervals_are_possible_and_agree() {
    let env = TestEnv::new();
    record(
        &env,
        "01",
        "./spec/cart_spec.rb",
        &[("a", true, &["passed"]), ("b", true, &["passed"])],
    );
    record(
        &env,
        "02",
        "./spec/cart_spec.rb",
        &[("a", true, &["failed"]), ("b", true, &["failed"])],
    );
    let ran = env.run(&["compare", "01", "02", "--format", "json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let range = &told["suite"]["change"]["range"];
    let (low, high) = (range["low"].as_f64().unwrap(), range["high"].as_f64().unwrap());
    assert!((-1.0..=0.0).contains(&low) && (0.0..=1.0).contains(&high), "{range}");
    assert_eq!(told["suite"]["verdict"], "cannot_tell");
}

/// T3: a failure that stays is a regression until the baseline is blessed anew.
#[test]
fn t3_a_lasting_failure_stays_a_regression() {
    let env = TestEnv::new();
    for run in 0..30 {
        record(
            &env,
            &format!("01-{run:02}"),
            "./spec/cart_spec.rb",
            &[("talks", true, &["passed"])],
        );
    }
    assert_eq!(env.run(&["baseline", "bless", "last"]).code, Some(0));
    for run in 0..6 {
        record(
            &env,
            &format!("02-{run:02}"),
            "./spec/cart_spec.rb",
            &[("talks", true, &["failed"])],
        );
        let ran = env.run(&["compare", "baseline", "last", "--gate"]);
        assert_eq!(ran.code, Some(1), "run {run}: {}", ran.terminal());
    }
    assert_eq!(env.run(&["baseline", "bless", "last"]).code, Some(0));
    assert_eq!(env.run(&["compare", "baseline", "last", "--gate"]).code, Some(0));
}
