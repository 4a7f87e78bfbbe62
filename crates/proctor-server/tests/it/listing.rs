//! The list of runs costs the same however long they are.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test_server::{TestServer, line, small_run};

fn first(fixture: &TestServer) -> Value {
    fixture.get("/api/runs").json()["runs"][0].clone()
}

/// Everything between the first and the last line is unreadable, so whoever reads it notices.
#[test]
fn a_finished_run_is_listed_from_its_end_alone() {
    let fixture = TestServer::new();
    let run = small_run();
    let rubbish = "\u{0}rubbish".repeat(200_000);
    let end =
        run[7].replace(r#""exit_code""#, r#""counts":{"passed":9000,"crashed":2},"exit_code""#);
    fixture.record("0190-a", &[run[0].clone(), rubbish, end]);
    let listed = first(&fixture);
    assert_eq!((&listed["state"], &listed["exit_code"]), (&json!("finished"), &json!(1)));
    assert_eq!(listed["counts"], json!({"passed": 9000, "crashed": 2}));
    assert_eq!((&listed["duration_ms"], &listed["argv"][1]), (&json!(20.0), &json!("run")));
    assert_eq!(listed["started_at"], "2026-01-22T10:30:00Z");
}

/// What only the index knows comes as soon as it is brought up to date, beside us.
#[test]
fn costs_follow_from_the_index() {
    let fixture = TestServer::new();
    let mut run = small_run();
    run.insert(4, line(4, "ModelCall", Some("aaa"), r#""backend":"x","cost_usd":0.25"#));
    fixture.record("0190-a", &run);
    assert_eq!(first(&fixture)["counts"], json!({"failed": 1, "passed": 1}), "at once");
    let deadline = Instant::now() + Duration::from_secs(30);
    while first(&fixture)["cost_usd"] != json!(0.25) {
        assert!(Instant::now() < deadline, "{}", first(&fixture));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(
        first(&fixture)["counts"],
        json!({"failed": 1, "passed": 1}),
        "the same from the index"
    );
}

#[test]
fn a_run_that_was_cut_off_is_said_to_be_so() {
    let fixture = TestServer::new();
    fixture.record("0190-a", &small_run()[..5]);
    assert_eq!(first(&fixture)["state"], "running", "somebody writes it");
    fixture.kill_writers();
    assert_eq!(first(&fixture)["state"], "died");
    let deadline = Instant::now() + Duration::from_secs(30);
    while first(&fixture)["counts"] != json!({"passed": 1}) {
        assert!(Instant::now() < deadline, "{}", first(&fixture));
        std::thread::sleep(Duration::from_millis(10));
    }
}
