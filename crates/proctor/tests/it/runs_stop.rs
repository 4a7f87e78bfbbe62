//! `proctor runs stop`: real runs, real workers, and nobody left of them.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::env::{TestEnv, signal};
use crate::past::record;

/// Every example sleeps for so long, and holds on when it is asked to end.
fn sleepers(seconds: f64) -> TestEnv {
    TestEnv::with_spec(&format!(
        "RSpec.describe('sleepers') {{ 12.times {{ |n| it(\"example #{{n}}\") {{ sleep({seconds}) }} }} }}\n"
    ))
}

fn under_way(env: &TestEnv, options: &[&str]) -> Child {
    let child = env.spawn(&[&["run", "-w", "2"], options].concat());
    env.wait_for("two starts", |run| run.count("ExampleStarted") >= 2);
    child
}

/// The processes of the run's workers that are still there.
fn workers(env: &TestEnv) -> Vec<u64> {
    let recorded = env.recorded();
    let pids = recorded.of("WorkerStarted").filter_map(|event| event["pid"].as_u64());
    pids.filter(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists()).collect()
}

#[test]
fn a_run_of_another_terminal_is_ended_with_its_workers() {
    let env = sleepers(60.0);
    let child = under_way(&env, &["--grace", "60s"]);
    assert_eq!(workers(&env).len(), 2);
    let asked = Instant::now();
    let ran = env.run(&["runs", "stop", "last", "--now"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(workers(&env).is_empty(), "gone when the command returns");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    assert!(
        ran.stdout.ends_with(" has stopped; 12 examples: 2 cancelled, 10 not run\n"),
        "{}",
        ran.stdout
    );
    let told = env.ran(&child.wait_with_output().unwrap());
    assert_eq!(told.code, Some(130), "{}", told.terminal());
    env.assert_complete();
    env.assert_no_process_left();
    let again = env.run(&["runs", "stop", "last"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("is not going on: it has finished"), "{}", again.stderr);
    assert!(again.stderr.contains("hint: `proctor show "), "{}", again.stderr);
}

#[test]
fn running_examples_may_finish_and_the_only_run_needs_no_name() {
    let env = sleepers(1.0);
    let child = under_way(&env, &["--grace", "30s"]);
    let ran = env.run(&["runs", "stop", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let recorded = env.recorded();
    let started = recorded.count("ExampleStarted");
    assert_eq!(told["outcome"], "stopped", "{told}");
    assert_eq!(told["summary"]["passed"], started, "{told}");
    assert_eq!(told["summary"]["not_run"], 12 - started, "{told}");
    assert_eq!(told["run_id"], recorded.events[0]["run_id"]);
    child.wait_with_output().unwrap();
    env.assert_no_process_left();
}

#[test]
fn a_run_that_takes_its_time_is_named_and_ended_by_now() {
    let env = sleepers(60.0);
    let child = under_way(&env, &["--grace", "60s"]);
    let late = env.run(&["runs", "stop", "--wait", "100ms"]);
    assert_eq!(late.code, Some(1), "{}", late.terminal());
    let pid = format!("the run is made by process {}", child.id());
    assert!(late.stderr.contains(&pid) && late.stderr.contains("--now"), "{}", late.stderr);
    assert_eq!(env.run(&["runs", "stop", "--now"]).code, Some(0));
    child.wait_with_output().unwrap();
    env.assert_no_process_left();
}

#[test]
fn what_cannot_be_stopped_says_why() {
    let env = sleepers(60.0);
    let nothing = env.run(&["runs", "stop"]);
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.stderr.contains("no run of this project is going on"), "{}", nothing.stderr);
    let mut child = under_way(&env, &[]);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let dead = env.run(&["runs", "stop", "last"]);
    assert_eq!(dead.code, Some(2));
    assert!(dead.stderr.contains("died: its process is gone"), "{}", dead.stderr);
    record(&env, "0001-old", "./a.rb", &[("adds", false, &["passed"])]);
    for (name, why) in [
        ("0001", "0001-old is not going on: it has finished"),
        ("nobody", "no recording `nobody`"),
        ("spec/a_spec.rb", "is a file of events, not the folder of a run"),
    ] {
        let ran = env.run(&["runs", "stop", name]);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    env.assert_no_process_left();
}

#[test]
fn with_several_runs_one_must_be_named_and_the_others_go_on() {
    let env = sleepers(60.0);
    let first = under_way(&env, &["--grace", "100ms"]);
    let name = env.recorded().events[0]["run_id"].as_str().unwrap().to_owned();
    let second = env.spawn(&["run", "-w", "2", "--grace", "100ms"]);
    env.wait_for("the second run", |run| {
        run.count("ExampleStarted") >= 2 && run.events[0]["run_id"] != name.as_str()
    });
    let which = env.run(&["runs", "stop"]);
    assert_eq!(which.code, Some(2));
    assert!(which.stderr.contains("2 runs are going on; say which: "), "{}", which.stderr);
    assert!(which.stderr.contains(&name), "{}", which.stderr);
    let ran = env.run(&["runs", "stop", &name]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    first.wait_with_output().unwrap();
    let folder = env.events_path().unwrap().parent().unwrap().to_owned();
    assert!(proctor_control_is_live(&folder), "the other one goes on");
    // Its folder names it too, as for a run of another project.
    assert_eq!(env.run(&["runs", "stop", folder.to_str().unwrap()]).code, Some(0));
    second.wait_with_output().unwrap();
    env.assert_no_process_left();
}

fn proctor_control_is_live(folder: &std::path::Path) -> bool {
    std::os::unix::net::UnixStream::connect(folder.join("control.sock")).is_ok()
}
