//! The scripted model against the real orchestrator: hats, patterns, faults, exhaustion.

use std::fs;

use serde_json::{Value, json};

use crate::support::*;

async fn topics(bed: &TestWorkspaces, id: &str, kind: &str) -> Vec<String> {
    let parameters = json!({"workspace_id": id, "filter": {"event_types": [kind]}});
    let answer = bed.call("test_inspect", parameters).await;
    let records = answer["records"].as_array().unwrap();
    records.iter().map(|record| record["data"]["topic"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn hats_and_patterns_choose_the_response() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    // Written in the wrong order on purpose.
    let responses = json!([
        {"hat": "builder", "output": format!("<event topic=\"build.done\">{EVIDENCE}</event>")},
        {"trigger_pattern": "build\\.done", "output": "LOOP_COMPLETE"},
        {"hat": "planner", "trigger_pattern": "task\\.start", "output": "<event topic=\"build.task\">x</event>"},
    ]);
    let result = bed.run("w", responses, json!({})).await;
    assert_eq!(result["termination_reason"], "CompletionPromise", "{result:#}");
    let calls = bed.call("test_inspect", json!({"workspace_id": "w", "format": "calls"})).await;
    let order: Vec<_> =
        calls["calls"].as_array().unwrap().iter().map(|call| &call["response"]).collect();
    assert_eq!(order, [2, 0, 1]);
}

#[tokio::test]
async fn an_exhausted_mock_is_an_error_with_counts_and_stops_the_loop_at_once() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let parameters = json!({"workspace_id": "w", "task": "t", "max_iterations": 50,
        "mock_responses": [emits("build.task", "x")]});
    let error = bed.try_call("test_run", parameters.clone()).await.unwrap_err();
    assert_eq!(error.kind, "mock_exhausted");
    assert!(error.message.contains("1 of 1 responses consumed"), "{error}");
    let details = &error.details;
    assert_eq!(
        (&details["consumed"], &details["total"], &details["refused"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(details["result"]["termination_reason"], "Stopped");
    let mut allowed = parameters;
    allowed["allow_exhausted"] = json!(true);
    let result = bed.call("test_run", allowed).await;
    assert_eq!((&result["exit_code"], &result["run"]), (&json!(1), &json!(2)));
}

#[tokio::test]
async fn responses_that_were_not_needed_are_told() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let responses = json!([{"output": "LOOP_COMPLETE"}, {"hat": "builder", "output": "never"}]);
    let result = bed.run("w", responses, json!({})).await;
    assert_eq!(result["mock"]["unconsumed"], json!([1]));
    assert!(result["warnings"].to_string().contains("mock responses were not consumed: ["));
}

#[tokio::test]
async fn a_hat_that_is_not_configured_is_refused_with_the_known_ones() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let responses = json!([{"hat": "painter", "output": "x"}]);
    let parameters = json!({"workspace_id": "w", "responses": responses});
    let error = bed.try_call("test_mock_backend", parameters).await.unwrap_err();
    assert!(
        message_and_hints(&error).contains("painter")
            && message_and_hints(&error).contains("planner"),
        "{error}"
    );
    let bad = json!({"workspace_id": "w", "responses": [{"output": "x", "trigger_pattern": "("}]});
    assert!(
        bed.try_call("test_mock_backend", bad)
            .await
            .unwrap_err()
            .message
            .contains("trigger_pattern")
    );
}

#[tokio::test]
async fn removing_a_trigger_turns_event_and_hat_assertions_red() {
    let hats = |trigger: &str| {
        json!({"hats": {
            "planner": {"triggers": ["task.*", "build.done"], "publishes": ["build.task"]},
            "builder": {"triggers": [trigger], "publishes": ["build.done"]},
        }})
    };
    let assertions = json!([
        {"type": "event_occurred", "topic": "build.done"},
        {"type": "hat_sequence", "hats": ["planner", "builder"]},
        {"type": "event_sequence", "topics": ["build.task", "build.done"]},
    ]);
    let bed = TestWorkspaces::new();
    let responses = json!([
        {"hat": "planner", "output": "<event topic=\"build.task\">x</event>"},
        {"hat": "builder", "output": format!("<event topic=\"build.done\">{EVIDENCE}</event>")},
        {"hat": "planner", "output": "LOOP_COMPLETE"},
    ]);
    for (id, trigger, expected) in [("wired", "build.task", true), ("cut", "other.task", false)] {
        bed.setup(id, json!({"config": hats(trigger)})).await;
        bed.run(id, responses.clone(), json!({"allow_exhausted": true})).await;
        assert_eq!(bed.holds(id, assertions.clone()).await, [expected; 3], "{id}");
    }
}

#[tokio::test]
async fn full_payloads_and_rewritten_topics_are_kept_apart() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let long = "x".repeat(5000);
    let responses = json!([emits("build.task", &long), emits("build.done", "no evidence"), {"output": "LOOP_COMPLETE"}]);
    bed.run("w", responses, json!({})).await;
    bed.assert(
        "w",
        json!([
            {"type": "event_occurred", "topic": "build.task", "payload_pattern": "^x{5000}$", "published_only": true},
            {"type": "event_occurred", "topic": "build.done"},
            {"type": "no_event", "topic": "build.done", "published_only": true},
            {"type": "event_count", "topic": "build.blocked", "exact": 1, "published_only": true},
            {"type": "event_count", "topic": "build.*", "min": 3, "max": 3},
        ]),
    )
    .await;
    assert_eq!(topics(&bed, "w", "bus.emit").await, ["build.done", "LOOP_COMPLETE"][..1].to_vec());
    let parameters = json!({"workspace_id": "w", "filter": {"topics": ["build.task"]}});
    let record = &bed.call("test_inspect", parameters).await["records"][0];
    assert_eq!(
        (&record["data"]["source"], &record["data"]["target"]),
        (&json!("planner"), &json!("builder"))
    );
    assert_eq!(record["data"]["derived"], json!(["source", "target"]));
    assert_eq!(record["origin"], "recording+events");
}

#[tokio::test]
async fn failing_calls_end_the_loop_and_file_effects_happen() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({"fixtures": {"old": "x"}})).await;
    let responses = json!([{"output": "boom", "exit_code": 7, "times": 10, "stderr": "it broke\n",
        "files": {"new/deep.txt": "made", "old": null}}]);
    let result = bed.run("w", responses, json!({"max_iterations": 20})).await;
    assert_eq!(result["termination_reason"], "ConsecutiveFailures", "{result:#}");
    assert_eq!(result["exit_code"], 1);
    assert_eq!(fs::read_to_string(path.join("new/deep.txt")).unwrap(), "made");
    assert!(!path.join("old").exists());
}

#[tokio::test]
async fn a_hanging_call_is_killed_after_the_grace_and_leaves_a_session() {
    let bed =
        TestWorkspaces::with(|config| config.limits.grace = std::time::Duration::from_secs(1));
    bed.setup("w", json!({})).await;
    let responses = json!([emits("build.task", "x"), {"output": "", "hang": true}]);
    let result = bed.run("w", responses, json!({"max_runtime_secs": 1})).await;
    assert_eq!(result["termination_reason"], "HarnessTimeout", "{result:#}");
    assert_eq!((&result["exit_code"], &result["signal"]), (&Value::Null, &json!(9)));
    bed.assert(
        "w",
        json!([
            {"type": "termination_reason", "expected": "HarnessTimeout"},
            {"type": "event_sequence", "topics": ["task.start", "build.task"]},
            {"type": "hat_sequence", "hats": ["planner", "builder"]},
        ]),
    )
    .await;
}

#[tokio::test]
async fn malformed_events_and_raw_tags_reach_the_orchestrator_as_they_are() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let responses = json!([
        {"output": "oops", "malformed_events": ["{not json"]},
        {"output": "<event topic=\"build.task\">raw</event>", "raw_tags": true},
        {"output": "LOOP_COMPLETE"},
    ]);
    let result = bed.run("w", responses, json!({"allow_exhausted": true})).await;
    let summary = bed.call("test_inspect", json!({"workspace_id": "w", "format": "summary"})).await;
    assert_eq!(summary["by_type"]["_meta.malformed_event"], 1, "{summary:#} {result:#}");
    assert!(summary["by_topic"]["build.task"].as_u64() >= Some(1), "{summary:#}");
}

#[tokio::test]
async fn the_scratchpad_reaches_the_first_prompt() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"scratchpad": "remember the milk"})).await;
    let responses = json!([{"trigger_pattern": "remember the milk", "output": "LOOP_COMPLETE"}]);
    let result = bed.run("w", responses, json!({})).await;
    assert_eq!(result["termination_reason"], "CompletionPromise", "{result:#}");
    bed.assert("w", json!([{"type": "scratchpad_contains", "pattern": "milk"}])).await;
}
