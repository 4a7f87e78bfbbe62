//! Ends before the end: fail-fast, Ctrl-C, SIGTERM, SIGKILL. Nobody may be left behind.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::env::{Ran, TestEnv, signal};

/// What is stuck here would go on for ten times as long.
const A_MINUTE: Duration = Duration::from_mins(1);

/// Every example leaves a daemonised child behind and then sleeps for so long.
fn sleepers(seconds: f64) -> String {
    format!(
        r#"RSpec.describe "sleepers" do
             12.times do |n|
               it("example #{{n}}") do
                 Process.wait(fork {{ Process.daemon; exec("sleep", "3999") }})
                 sleep({seconds})
               end
             end
           end"#
    )
}

fn finish(env: &TestEnv, child: Child) -> Ran {
    env.ran(&child.wait_with_output().unwrap())
}

#[test]
fn fail_fast_returns_promptly_though_others_are_stuck() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "fast" do
             it("fails") { sleep(0.3); raise "no" }
             20.times { |n| it("sleeps #{n}") { begin; sleep(600); ensure; sleep(600); end } }
           end"#,
    );
    for options in [&["--schedule", "listed"][..], &["--schedule", "listed", "--no-preload"]] {
        let mut all = vec!["run", "-w", "3", "--fail-fast", "--grace", "300ms"];
        all.extend(options);
        let started = Instant::now();
        let ran = env.run(&all);
        assert!(started.elapsed() < A_MINUTE, "{:?}", started.elapsed());
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(21);
        let statuses = recorded.statuses();
        assert_eq!(statuses["failed"], 1, "{}", ran.terminal());
        assert!(statuses["not_run"] >= 18, "{statuses:?}");
        assert!(ran.stdout.contains("not run"), "{}", ran.terminal());
        env.assert_complete();
        env.assert_no_process_left();
    }
}

#[test]
fn fail_fast_may_allow_some_failures() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe("many") { 20.times { |n| it("fails #{n}") { sleep(0.02); raise "no" } } }"#,
    );
    assert_eq!(env.run(&["run", "-w", "1", "--fail-fast=3"]).code, Some(1));
    let statuses = env.recorded().statuses();
    assert_eq!((statuses["failed"], statuses["not_run"]), (3, 17));
    assert_eq!(env.run(&["run", "-w", "2", "--fail-fast=100"]).code, Some(1));
    assert_eq!(env.recorded().statuses()["failed"], 20);
}

#[test]
fn the_first_ctrl_c_lets_running_examples_finish() {
    for (options, sent, code) in [
        (&["run", "-w", "2", "--grace", "20s"][..], Signal::INT, 130),
        (&["run", "-w", "2", "--grace", "20s"], Signal::TERM, 143),
        (&["run", "-w", "2", "--grace", "20s", "--no-preload"], Signal::INT, 130),
    ] {
        let env = TestEnv::with_spec(&sleepers(0.8));
        let child = env.spawn(options);
        env.wait_for("two starts", |run| run.count("ExampleStarted") >= 2);
        signal(&child, sent);
        let ran = finish(&env, child);
        assert_eq!(ran.code, Some(code), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(12);
        let statuses = recorded.statuses();
        let started = recorded.count("ExampleStarted");
        assert_eq!(statuses["passed"], started, "what ran has finished: {}", ran.terminal());
        assert_eq!(statuses["not_run"], 12 - started);
        assert!(started < 6, "{started}");
        assert!(ran.stdout.contains("12 examples"), "{}", ran.terminal());
        assert!(ran.stdout.contains("not run"), "{}", ran.terminal());
        let listed = env.run(&["runs"]).stdout;
        let told = format!("stopped  {started} passed, {} not run", 12 - started);
        assert!(listed.contains(&told), "{listed}");
        env.assert_complete();
        env.assert_no_process_left();
    }
}

#[test]
fn what_does_not_finish_within_the_grace_is_cut() {
    let env = TestEnv::with_spec(&sleepers(600.0));
    let child = env.spawn(&["run", "-w", "2", "--grace", "200ms"]);
    env.wait_for("two starts", |run| run.count("ExampleStarted") >= 2);
    signal(&child, Signal::INT);
    let sent = Instant::now();
    let ran = finish(&env, child);
    assert!(sent.elapsed() < A_MINUTE, "{:?}", sent.elapsed());
    assert_eq!(ran.code, Some(130), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(12);
    assert_eq!(recorded.statuses()["cancelled"], 2, "{}", ran.terminal());
    env.assert_complete();
    env.assert_no_process_left();
}

#[test]
fn the_second_ctrl_c_ends_everything_at_once() {
    for options in [
        &["run", "-w", "2", "--grace", "600s"][..],
        &["run", "-w", "2", "--grace", "600s", "--no-preload"],
    ] {
        let env = TestEnv::with_spec(&sleepers(600.0));
        let child = env.spawn(options);
        env.wait_for("two starts", |run| run.count("ExampleStarted") >= 2);
        signal(&child, Signal::INT);
        // The first one has arrived when what waits is given up.
        env.wait_for("the first signal", |run| run.statuses().contains_key("not_run"));
        signal(&child, Signal::INT);
        let sent = Instant::now();
        let ran = finish(&env, child);
        assert!(sent.elapsed() < A_MINUTE, "{:?}", sent.elapsed());
        assert_eq!(ran.code, Some(130), "{}", ran.terminal());
        env.recorded().assert_accounted(12);
        env.assert_complete();
        env.assert_no_process_left();
    }
}

#[test]
fn ctrl_c_while_the_project_loads_ends_the_run() {
    for options in [&["run"][..], &["run", "--no-preload"]] {
        let env = TestEnv::with_spec("File.write('loading', ''); sleep 600");
        let child = env.spawn(options);
        crate::env::wait_until("the load", || env.project.join("loading").exists());
        signal(&child, Signal::INT);
        let sent = Instant::now();
        let ran = finish(&env, child);
        assert!(sent.elapsed() < A_MINUTE, "{:?}", sent.elapsed());
        assert_eq!(ran.code, Some(130), "{}", ran.terminal());
        env.assert_no_process_left();
    }
}

#[test]
fn a_project_that_does_not_end_is_ended() {
    let env = TestEnv::with_spec(
        r#"at_exit { File.write("ending", ""); sleep 600 }
           RSpec.describe("short") { it("passes") { expect(1).to eq(1) } }"#,
    );
    let child = env.spawn(&["run"]);
    crate::env::wait_until("the end", || env.project.join("ending").exists());
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    let sent = Instant::now();
    let ran = finish(&env, child);
    assert!(sent.elapsed() < A_MINUTE, "{:?}", sent.elapsed());
    assert_eq!(env.recorded().statuses()["passed"], 1, "{}", ran.terminal());
    env.assert_complete();
    env.assert_no_process_left();
}

/// V6: whoever stops a run before its end has stopped it, even if all its examples were through.
#[test]
fn v6_a_signal_while_the_project_ends_stops_the_run() {
    let env = TestEnv::with_spec(
        r#"at_exit { File.write("ending", ""); sleep 600 }
           RSpec.describe("A") { it("passes") { } }"#,
    );
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let _ = std::fs::remove_file(env.project.join("ending"));
        let child = env.spawn(&["run", "-w", "1", "--grace", "200ms"]);
        crate::env::wait_until("the at_exit block", || env.project.join("ending").exists());
        signal(&child, sent);
        let ran = finish(&env, child);
        assert_eq!(ran.code, Some(code), "{}", ran.terminal());
        let recorded = env.recorded();
        let ended = recorded.of("SuiteFinished").next().unwrap();
        assert_eq!((&ended["state"], &ended["exit_code"]), (&"stopped".into(), &code.into()));
        assert_eq!(recorded.result("passes").status, "passed");
        env.assert_no_process_left();
    }
}

/// A project that ends badly is not green because its examples were: `rspec` says the same.
#[test]
fn v19_an_end_that_goes_wrong_after_the_last_example_fails_the_run() {
    for (hook, told) in [
        (r#"at_exit { raise "x" }"#, "exit status 1"),
        ("at_exit { exit 3 }", "exit status 3"),
        ("at_exit { Process.kill(:KILL, Process.pid); sleep }", "signal 9"),
        ("RSpec.configure { |c| c.after(:context) { exit!(0) } }", "instead of ending properly"),
    ] {
        let spec = format!("{hook}\nRSpec.describe('A') {{ it('one') {{ }}; it('two') {{ }} }}\n");
        let env = TestEnv::with_spec(&spec);
        let ran = env.run(&["run", "-w", "1"]);
        assert_eq!(ran.code, Some(1), "{hook}: {}", ran.terminal());
        assert!(ran.stdout.contains(told), "{hook}: {}", ran.terminal());
        let recorded = env.recorded();
        assert_eq!(recorded.statuses()["passed"], 2);
        assert_eq!(recorded.count("ErrorOutsideExample"), 1, "{hook}: {}", ran.terminal());
    }
}

#[test]
fn nobody_outlives_a_proctor_that_was_killed() {
    for options in [&["run", "-w", "2"][..], &["run", "-w", "2", "--no-preload"]] {
        let env = TestEnv::with_spec(&sleepers(600.0));
        let mut child = env.spawn(options);
        env.wait_for("two starts", |run| run.count("ExampleStarted") >= 2);
        assert!(env.processes().len() > 3, "{:?}", env.processes());
        signal(&child, Signal::KILL);
        child.wait().unwrap();
        env.assert_no_process_left();
        let shown = env.run(&["show", "last"]);
        assert_eq!(shown.code, Some(0), "{}", shown.terminal());
        assert!(shown.stdout.contains("sleepers > example"), "{}", shown.terminal());
        let checked = env.run(&["validate", "last"]);
        assert_eq!(checked.code, Some(1), "{}", checked.terminal());
        assert!(checked.stdout.contains("cut off"), "{}", checked.terminal());
    }
}
