//! The runner as a library: controllers in this very process.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proctor_events::{Bus, BusConfig, EventType, RunId, Timestamp};
use proctor_process::GuardCommand;
use proctor_runner::{
    AlreadyStarted, Controller, LoadNotices, RspecSuite, RunOptions, RunSetup, RunStatus, Suite,
    SuiteEnvironment,
};
use proctor_verdict::StopCause;

use crate::env::{TestEnv, wait_until};

fn bus(name: &str) -> Bus {
    Bus::new(BusConfig {
        run_id: RunId::new(name),
        clock: Box::new(Timestamp::now),
        on_warning: Box::new(|_| {}),
    })
}

fn controller(env: &TestEnv, name: &str, workers: u32) -> Controller {
    Controller::new(RunSetup {
        suites: vec![Suite::from(RspecSuite {
            ruby: "ruby".to_owned(),
            args: vec!["spec".to_owned()],
            preload: true,
            conversations: None,
            deterministic: None,
        })],
        environment: SuiteEnvironment {
            root: env.project.clone(),
            guard: GuardCommand::new(env!("CARGO_BIN_EXE_proctor"), ["__guard"]),
            cache: env.home().join("cache"),
            sockets: "/tmp".into(),
            workers,
            first_slot: 0,
            load_notices: LoadNotices::default(),
            final_report: None,
            sandbox: None,
            mutation: None,
        },
        options: RunOptions { workers, grace: 300, ..RunOptions::default() },
        bus: bus(name),
    })
}

const WITHIN: Duration = Duration::from_secs(40);

#[test]
fn a_run_goes_from_idle_over_running_to_completed() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe("ok") { 6.times { |n| it("example #{n}") { sleep(0.05) } } }"#,
    );
    let run = controller(&env, "completed", 2);
    assert_eq!(run.status(), RunStatus::Idle);
    assert_eq!(run.wait_timeout(Duration::from_millis(1)), None);
    let (events, calls) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (seen, told) = (Arc::clone(&events), Arc::clone(&calls));
    run.on_event(move |event| seen.lock().unwrap().push(event.body.event_type()));
    run.on_progress(move |completed, total, failures| {
        told.lock().unwrap().push((completed, total, failures));
    });
    run.start().unwrap();
    assert_eq!(run.status(), RunStatus::Running);
    assert_eq!(run.start(), Err(AlreadyStarted));
    let result = run.wait_timeout(WITHIN).expect("an end");
    assert_eq!((result.status, result.verdict.exit_code()), (RunStatus::Completed, Some(0)));
    assert_eq!((result.counts.examples, result.counts.passed), (6, 6));
    assert_eq!(result.durations.len(), 6);
    assert_eq!(run.status(), RunStatus::Completed);
    let progress = run.progress();
    assert_eq!((progress.completed, progress.total, progress.failures), (6, 6, 0));
    assert_eq!(run.start(), Err(AlreadyStarted), "not after its end either");
    run.bus().close(WITHIN);
    let kinds: Vec<EventType> = events.lock().unwrap().iter().copied().flatten().collect();
    assert_eq!(kinds.first(), Some(&EventType::SuiteStarted));
    assert_eq!(kinds.last(), Some(&EventType::SuiteFinished));
    assert_eq!(kinds.iter().filter(|kind| **kind == EventType::ExampleFinished).count(), 6);
    assert_eq!(calls.lock().unwrap().last(), Some(&(6, 6, 0)));
}

#[test]
fn a_run_with_a_failure_has_failed() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe("mixed") { it("fails") { raise "no" }; it("passes") { expect(1).to eq(1) } }"#,
    );
    let run = controller(&env, "failed", 2);
    run.start().unwrap();
    let result = run.wait_timeout(WITHIN).expect("an end");
    assert_eq!((result.status, result.verdict.exit_code()), (RunStatus::Failed, Some(1)));
    assert_eq!((result.failed.len(), run.progress().failures), (1, 1));
}

#[test]
fn a_suite_that_cannot_be_loaded_has_failed_with_a_problem() {
    let env = TestEnv::with_fixture("load_error");
    let run = controller(&env, "unusable", 2);
    run.start().unwrap();
    let result = run.wait_timeout(WITHIN).expect("an end");
    assert_eq!((result.status, result.verdict.exit_code()), (RunStatus::Failed, Some(2)));
    assert!(result.counts.errors >= 1);
}

const LONG: &str = r#"RSpec.describe("long") { 8.times { |n| it("example #{n}") { sleep(60) } } }"#;

#[test]
fn a_run_can_be_cancelled_and_killed() {
    for kill in [false, true] {
        let env = TestEnv::with_spec(LONG);
        let run = controller(&env, "cancelled", 2);
        let started = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&started);
        run.on_event(move |event| {
            if event.body.event_type() == Some(EventType::ExampleStarted) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        run.start().unwrap();
        wait_until("two starts", || started.load(Ordering::SeqCst) >= 2);
        if kill {
            run.kill(StopCause::Request);
        } else {
            run.cancel(StopCause::Request);
        }
        let result = run.wait_timeout(WITHIN).expect("an end");
        assert_eq!(result.status, RunStatus::Cancelled);
        assert_eq!((result.counts.cancelled, result.counts.not_run), (2, 6));
        assert_eq!(run.status(), RunStatus::Cancelled);
        // Over is over.
        run.cancel(StopCause::Request);
        run.kill(StopCause::Request);
        assert_eq!(run.wait().status, RunStatus::Cancelled);
    }
}

#[test]
fn callbacks_may_call_back() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe("many") { 40.times { |n| it("example #{n}") { sleep(0.05) } } }"#,
    );
    let run = controller(&env, "callbacks", 2);
    let (inside, from_progress) = (run.clone(), run.clone());
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let statuses = Arc::clone(&seen);
    run.on_event(move |event| {
        statuses.lock().unwrap().insert(format!("{:?}", inside.status()));
        if event.body.event_type() == Some(EventType::ExampleFinished) {
            inside.cancel(StopCause::Request);
        }
    });
    run.on_progress(move |_, total, _| assert!(from_progress.progress().total >= total));
    run.start().unwrap();
    let result = run.wait_timeout(WITHIN).expect("an end");
    assert_eq!(result.status, RunStatus::Cancelled);
    assert!(result.counts.not_run > 0, "{:?}", result.counts);
    assert!(seen.lock().unwrap().contains("Running"));
}

#[test]
fn several_controllers_live_in_one_process() {
    let (first, second) = (
        TestEnv::with_spec(LONG),
        TestEnv::with_spec(
            r#"RSpec.describe("short") { 4.times { |n| it("example #{n}") { puts "here"; sleep(0.05) } } }"#,
        ),
    );
    let (long, short) = (controller(&first, "long", 2), controller(&second, "short", 2));
    long.start().unwrap();
    short.start().unwrap();
    let result = short.wait_timeout(WITHIN).expect("an end");
    assert_eq!((result.status, result.counts.passed), (RunStatus::Completed, 4));
    let ended = long.wait_timeout(Duration::from_millis(1));
    assert_eq!(long.status(), RunStatus::Running, "they disturb each other: {ended:?}");
    long.kill(StopCause::Request);
    let result = long.wait_timeout(WITHIN).expect("an end");
    assert_eq!(result.status, RunStatus::Cancelled);
}

/// The example program; cargo builds it with these tests.
fn embed(env: &TestEnv) -> Command {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_proctor"));
    let mut command = Command::new(binary.with_file_name("examples").join("embed"));
    command
        .arg(binary)
        .args([env.project.as_os_str(), "spec".as_ref()])
        .current_dir(env.home())
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

#[test]
fn the_example_program_runs_specs_and_tells_what_happens() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe("A") { it("passes") { expect(1).to eq(1) }; it("fails") { expect(1).to eq(2) } }"#,
    );
    let output = embed(&env).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    for line in
        ["started: A > passes", "finished: passed", "started: A > fails", "finished: failed"]
    {
        assert_eq!(printed.matches(line).count(), 1, "{line}: {printed}");
    }
    assert!(printed.contains("progress: 2/2, 1 failed"), "{printed}");
    assert!(printed.ends_with("Failed: 2 examples, 1 failures\n"), "{printed}");
    env.write("spec/a_spec.rb", r#"RSpec.describe("A") { it("passes") { expect(1).to eq(1) } }"#);
    assert!(embed(&env).stdin(Stdio::null()).output().unwrap().status.success());
    env.write("spec/a_spec.rb", "nonsense(");
    assert_eq!(embed(&env).output().unwrap().status.code(), Some(1));
    env.assert_no_process_left();
}

#[test]
fn the_example_program_stops_on_request() {
    let env = TestEnv::with_spec(LONG);
    let mut child = embed(&env).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("started: ")));
    child.stdin.take().unwrap().write_all(b"stop\n").unwrap();
    assert_eq!(lines.last().as_deref(), Some("Cancelled: 8 examples, 0 failures"));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    env.assert_no_process_left();
}
