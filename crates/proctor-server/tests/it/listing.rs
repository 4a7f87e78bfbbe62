//! The list of runs costs the same however long they are.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::{Stage, line, small_run};

fn first(stage: &Stage) -> Value {
    stage.get("/api/runs").json()["runs"][0].clone()
}

/// Everything between the first and the last line is unreadable, so whoever reads it notices.
#[test]
fn a_finished_run_is_listed_from_its_end_alone() {
    let stage = Stage::new();
    let run = small_run();
    let rubbish = "\u{0}rubbish".repeat(200_000);
    let end =
        run[7].replace(r#""exit_code""#, r#""counts":{"passed":9000,"crashed":2},"exit_code""#);
    stage.record("0190-a", &[run[0].clone(), rubbish, end]);
    let listed = first(&stage);
    assert_eq!((&listed["state"], &listed["exit_code"]), (&json!("finished"), &json!(1)));
    assert_eq!(listed["counts"], json!({"passed": 9000, "crashed": 2}));
    assert_eq!((&listed["duration_ms"], &listed["argv"][1]), (&json!(20.0), &json!("run")));
    assert_eq!(listed["started_at"], "2026-01-22T10:30:00Z");
}

/// What only the index knows comes as soon as it is brought up to date, beside us.
#[test]
fn costs_follow_from_the_index() {
    let stage = Stage::new();
    let mut run = small_run();
    run.insert(4, line(4, "ModelCall", Some("aaa"), r#""backend":"x","cost_usd":0.25"#));
    stage.record("0190-a", &run);
    assert_eq!(first(&stage)["counts"], json!({"failed": 1, "passed": 1}), "at once");
    let deadline = Instant::now() + Duration::from_secs(30);
    while first(&stage)["cost_usd"] != json!(0.25) {
        assert!(Instant::now() < deadline, "{}", first(&stage));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(
        first(&stage)["counts"],
        json!({"failed": 1, "passed": 1}),
        "the same from the index"
    );
}

#[test]
fn a_run_that_was_cut_off_is_said_to_be_so() {
    let stage = Stage::new();
    stage.record("0190-a", &small_run()[..5]);
    assert_eq!(first(&stage)["state"], "running", "somebody writes it");
    stage.kill_writers();
    assert_eq!(first(&stage)["state"], "died");
    let deadline = Instant::now() + Duration::from_secs(30);
    while first(&stage)["counts"] != json!({"passed": 1}) {
        assert!(Instant::now() < deadline, "{}", first(&stage));
        std::thread::sleep(Duration::from_millis(10));
    }
}
