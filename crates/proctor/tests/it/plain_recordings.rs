//! Recordings of plain `rspec`, and of `proctor run`, that end early: nothing that was announced is missing, or the recording says so.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::env::{Ran, TestEnv, repository};

/// Four examples; the second is given.
fn suite(second: &str) -> TestEnv {
    TestEnv::with_spec(&format!(
        r#"
        require "proctor/rspec"
        RSpec.describe "Cart" do
          it("adds") {{}}
          it("stops") {{ {second} }}
          context "when full" do
            it("refuses") {{}}
            it("says so") {{}}
          end
        end
        "#
    ))
}

/// Plain `rspec`, in a process group of its own as under a terminal. Waits until the host, too, has ended.
fn rspec(env: &TestEnv, arguments: &[&str]) -> Ran {
    let output = Command::new("rspec")
        .arg("-I")
        .arg(repository().join("ruby/lib"))
        .args(arguments)
        .current_dir(&env.project)
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PROCTOR_BIN", env!("CARGO_BIN_EXE_proctor"))
        .env("PROCTOR_EVENTS", "copy.jsonl")
        .process_group(0)
        .output()
        .unwrap();
    env.assert_no_process_left();
    env.ran(&output)
}

fn validated(env: &TestEnv, recording: &str) -> (Option<i32>, Value) {
    let ran = env.run(&["validate", recording, "--format", "json"]);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap())
}

/// The `not_run` results: path and message.
fn left_out(env: &TestEnv) -> Vec<Value> {
    let recorded = env.recorded();
    let ended = recorded.of("ExampleFinished").filter(|event| event["status"] == "not_run");
    ended
        .map(|event| json!([event["file"], event["path"], event["location"], event["message"]]))
        .collect()
}

fn two_left_out(why: &str) -> Vec<Value> {
    let file = "./spec/a_spec.rb";
    let path = |name: &str| json!(["Cart", "when full", name]);
    vec![
        json!([file, path("refuses"), "./spec/a_spec.rb:7", why]),
        json!([file, path("says so"), "./spec/a_spec.rb:8", why]),
    ]
}

#[test]
fn v8_plain_rspec_that_is_interrupted_says_so() {
    // The whole group gets the signal, as from a terminal.
    let env = suite("Process.kill(:INT, -Process.getpgrp)");
    let ran = rspec(&env, &[]);
    assert!(ran.stderr.contains("RSpec is shutting down"), "{}", ran.terminal());
    assert_eq!(left_out(&env), two_left_out("the run was interrupted"));
    for recording in ["last", "copy.jsonl"] {
        let (code, found) = validated(&env, recording);
        assert_eq!((code, &found["state"]), (Some(0), &json!("interrupted")), "{found}");
        let run = &found["runs"][0];
        let numbers = json!([run["announced"], run["finished"], run["not_run"], run["digest"]]);
        assert_eq!(numbers, json!([4, 4, 2, "matches"]));
    }
    let end = env.recorded().of("SuiteFinished").next().cloned().unwrap();
    assert_eq!(
        (&end["exit_code"], &end["counts"]),
        (&json!(130), &json!({"passed": 2, "not_run": 2}))
    );
}

#[test]
fn v8_plain_rspec_with_fail_fast_leaves_nothing_out() {
    let env = suite("raise");
    let _ = rspec(&env, &["--fail-fast"]);
    assert_eq!(left_out(&env), two_left_out("the run was stopped by --fail-fast"));
    let (code, found) = validated(&env, "last");
    assert_eq!((code, &found["state"]), (Some(0), &json!("complete")), "{found}");
}

#[test]
fn v8_plain_rspec_that_dies_is_cut_off() {
    for (second, status) in [
        ("Process.kill(:KILL, $$)", "crashed"),
        ("Process.kill(:TERM, $$); sleep", "crashed"),
        ("exit!(0)", "crashed"),
        ("exit(0)", "crashed"),
    ] {
        let env = suite(second);
        let _ = rspec(&env, &[]);
        let (code, found) = validated(&env, "last");
        assert_eq!((code, &found["state"]), (Some(1), &json!("cut_off")), "{second}: {found}");
        let message = found["findings"][0]["message"].as_str().unwrap();
        assert!(message.ends_with("; 2 of 4 announced results are there"), "{message}");
        assert_eq!(env.recorded().result("stops").status, status, "{second}");
        assert_eq!(env.recorded().count("SuiteFinished"), 0, "{second}");
    }
}

#[test]
fn v8_plain_rspec_that_dies_between_examples_is_cut_off() {
    let env = TestEnv::with_spec(
        r#"
        require "proctor/rspec"
        RSpec.describe("One") { it("passes") {}; after(:context) { Process.kill(:KILL, $$) } }
        RSpec.describe("Two") { it("passes") {} }
        "#,
    );
    let _ = rspec(&env, &["--order", "defined"]);
    let (code, found) = validated(&env, "last");
    assert_eq!((code, &found["state"]), (Some(1), &json!("cut_off")), "{found}");
    let error = env.recorded().of("ErrorOutsideExample").next().cloned().unwrap();
    assert_eq!(error["message"], "rspec ended before it was through");
    assert_eq!(env.recorded().statuses(), [("passed".to_owned(), 1)].into(), "what ended is kept");
}

/// V7 under plain `rspec`: an example that is defined while the suite runs is not recorded, and that fails the run.
#[test]
fn v7_an_example_that_plain_rspec_defines_late_fails_the_recording() {
    let env = suite(
        r#"RSpec.describe("late") { it("fails") { raise } }.run(RSpec.configuration.reporter)"#,
    );
    let _ = rspec(&env, &[]);
    let recorded = env.recorded();
    let error = recorded.of("ErrorOutsideExample").next().cloned().unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("ran, but it was not listed"), "{message}");
    let end = recorded.of("SuiteFinished").next().cloned().unwrap();
    assert_eq!((&end["error_count"], &end["exit_code"]), (&json!(1), &json!(1)));
}

#[test]
fn a_suite_hook_that_fails_leaves_every_example_out() {
    let env = TestEnv::with_spec(
        r#"
        require "proctor/rspec"
        RSpec.configure { |config| config.before(:suite) { raise "hook" } }
        RSpec.describe("One") { it("passes") {} }
        "#,
    );
    let _ = rspec(&env, &[]);
    let (_, found) = validated(&env, "last");
    assert_eq!(found["state"], "complete", "{found}");
    assert_eq!(left_out(&env)[0][3], "RSpec ended the run before it");
    let end = env.recorded().of("SuiteFinished").next().cloned().unwrap();
    assert_eq!((&end["error_count"], &end["exit_code"]), (&json!(1), &json!(1)));
}

/// A host that dies takes nothing along but the recording, which says so.
#[test]
fn a_host_that_dies_leaves_the_results_of_rspec_alone() {
    // It is killed when it has written that this example runs.
    let env = suite(
        r#"sleep 0.01 until Dir[".proctor/runs/*/events.jsonl"].any? { |path| File.read(path).scan("ExampleStarted").size == 2 }
           Process.kill(:KILL, Proctor::Host.program.pid)"#,
    );
    let ran = rspec(&env, &[]);
    assert!(
        ran.code == Some(0) && ran.stdout.contains("4 examples, 0 failures"),
        "{}",
        ran.terminal()
    );
    let (code, found) = validated(&env, "last");
    assert_eq!((code, &found["state"]), (Some(1), &json!("cut_off")), "{found}");
}

/// B7: two runs at once into one file were "8 runs: not complete".
#[test]
fn b7_two_runs_into_one_file_are_two_complete_runs() {
    let env =
        TestEnv::with_spec("RSpec.describe('A') { 40.times { |n| it(n.to_s) { sleep 0.005 } } }");
    let run = ["run", "-w", "1", "--ui", "terse", "--events", "both.jsonl"];
    let both = [env.spawn(&run), env.spawn(&run)];
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", env.ran(&output).terminal());
    }
    let (code, found) = validated(&env, "both.jsonl");
    assert_eq!(
        (code, &found["state"], &found["findings"]),
        (Some(0), &json!("complete"), &json!([]))
    );
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run["finished"] == 40 && run["digest"] == "matches"), "{found}");
    // Of both, the one that began last is shown, and whole.
    let shown = env.run(&["show", "both.jsonl", "--format", "json"]).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["run"]["examples"].as_array().unwrap().len(), 40);
}

/// R10: what `proctor run` leaves out is recorded with its place, and shown with its whole title.
#[test]
fn r10_what_was_not_run_has_its_path() {
    let env = suite("raise");
    let _ = env.run(&["run", "--fail-fast", "-w", "1", "--seed", "1", "--", "--order", "defined"]);
    let paths: Vec<Value> =
        left_out(&env).iter().map(|event| json!([event[0], event[1], event[2]])).collect();
    let expected = two_left_out("");
    let expected: Vec<Value> =
        expected.iter().map(|event| json!([event[0], event[1], event[2]])).collect();
    assert_eq!(paths, expected);
    let shown = env.run(&["show", "last"]).stdout;
    assert!(shown.contains("Cart > when full > says so"), "{shown}");
    env.assert_complete();
}
