//! What goes wrong, and what the tools say then: the table of errors, one by one.

use std::fs;

use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn an_unknown_workspace_is_answered_with_the_known_ones() {
    let bed = TestWorkspaces::new();
    bed.setup("alpha", json!({})).await;
    bed.setup("beta", json!({})).await;
    let error = bed.try_call("test_snapshot", json!({"workspace_id": "alpa"})).await.unwrap_err();
    assert_eq!(error.kind, "unknown_workspace");
    assert_eq!(error.details["available_workspaces"], json!(["alpha", "beta"]));
    assert!(message_and_hints(&error).contains("did you mean \"alpha\"?"), "{error}");
}

#[tokio::test]
async fn an_id_is_unique_unless_it_is_replaced() {
    let bed = TestWorkspaces::new();
    let first = bed.setup("w", json!({"fixtures": {"a": "1"}})).await;
    let error = bed.try_call("test_setup", json!({"workspace_id": "w"})).await.unwrap_err();
    assert_eq!(error.kind, "already_exists");
    let second = bed.setup("w", json!({"replace": true})).await;
    assert!(!first.exists() && second.exists());
}

#[tokio::test]
async fn a_failed_setup_leaves_nothing() {
    let bed = TestWorkspaces::new();
    for bad in [
        json!({"workspace_id": "w", "config": ["no"]}),
        json!({"workspace_id": "w", "fixtures": {"ralph.yml": "a: [1"}}),
        json!({"workspace_id": "w", "fixtures": {"a": "file", "a/b": "below a file"}}),
    ] {
        assert!(bed.try_call("test_setup", bad.clone()).await.is_err(), "{bad}");
    }
    assert!(bed.tools.workspaces().await.unwrap().is_empty());
    assert_eq!(fs::read_dir(bed.folder.path().join("temp")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_corrupt_session_is_an_error_with_its_line() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({})).await;
    bed.run("w", whole_run(), json!({})).await;
    let session = path.join("session.jsonl");
    let text = fs::read_to_string(&session).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4] = "{\"ts\": 12, \"event\": ";
    fs::write(&session, lines.join("\n")).unwrap();
    let ask = json!({"workspace_id": "w", "assertions": [{"type": "no_event", "topic": "x"}]});
    for answer in [
        bed.try_call("test_assert", ask).await,
        bed.try_call("test_inspect", json!({"workspace_id": "w"})).await,
    ] {
        let error = answer.unwrap_err();
        assert_eq!(error.kind, "corrupt_session");
        assert_eq!(error.details["line"], 5, "{error}");
    }
}

#[tokio::test]
async fn a_missing_file_fails_its_assertion_with_a_clear_message() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"fixtures": {"src/main.rs": "x"}})).await;
    let assertions = json!([
        {"type": "file_exists", "path": "src/mian.rs"},
        {"type": "file_contains", "path": "nothing", "pattern": "x"},
        {"type": "exit_code", "expected": 0},
        {"type": "file_exists", "path": "src/main.rs"},
    ]);
    let judged =
        bed.call("test_assert", json!({"workspace_id": "w", "assertions": assertions})).await;
    let message =
        |index: usize| judged["results"][index]["message"].as_str().unwrap_or("").to_owned();
    assert_eq!(judged["failed_count"], 3);
    assert!(message(0).contains("does not exist; there is src/main.rs"), "{}", message(0));
    assert!(message(1).contains("nothing does not exist"), "{}", message(1));
    assert!(message(2).contains("call test_run first"), "{}", message(2));
    assert_eq!(judged["results"][3]["passed"], true);
}

#[tokio::test]
async fn bad_patterns_are_found_before_anything_is_judged_or_run() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let bad = [
        json!({"type": "file_contains", "path": "a", "pattern": "("}),
        json!({"type": "event_occurred", "topic": "a", "payload_pattern": "["}),
        json!({"type": "iterations"}),
        json!({"type": "event_count", "topic": "a", "min": 3, "max": 1}),
        json!({"type": "event_sequence", "topics": []}),
        json!({"type": "json_path", "path": "a", "query": "a.b", "expected": 1}),
        json!({"type": "snapshot_matches", "snapshot": "initial", "include_patterns": ["{a"]}),
    ];
    for assertion in bad {
        let list = json!([{"type": "exit_code", "expected": 0}, assertion]);
        let parameters = json!({"workspace_id": "w", "assertions": list});
        let error = bed.try_call("test_assert", parameters).await.unwrap_err();
        assert!(error.message.starts_with("assertions[1]"), "{error}");
        let run =
            json!({"workspace_id": "w", "task": "t", "mock_responses": [], "assertions": list});
        assert_eq!(bed.try_call("test_run", run).await.unwrap_err().kind, "invalid_argument");
    }
}

#[tokio::test]
async fn extra_assertions_look_at_output_files_and_snapshots() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"fixtures": {"keep.txt": "k", "data.json": "{}"}})).await;
    let responses = json!([{"output": "hello from the model\nLOOP_COMPLETE",
        "files": {"data.json": "{\"items\": [{\"id\": 7, \"name\": \"seven\"}]}"}}]);
    bed.run("w", responses, json!({})).await;
    bed.assert("w", json!([
        {"type": "stdout_contains", "pattern": "hello from the model"},
        {"type": "file_unchanged", "path": "keep.txt"},
        {"type": "json_path", "path": "data.json", "query": "$.items[0].id", "expected": 7},
        {"type": "json_path", "path": "data.json", "query": "$..name", "pattern": "^sev"},
        {"type": "snapshot_matches", "snapshot": "initial", "exclude_patterns": ["data.json", ".agent/**"]},
        {"type": "duration", "max_secs": 60},
        {"type": "file_not_contains", "path": "keep.txt", "pattern": "x"},
    ])).await;
    let red = json!([
        {"type": "file_unchanged", "path": "data.json"},
        {"type": "snapshot_matches", "snapshot": "initial"},
        {"type": "stderr_contains", "pattern": "no such words"},
        {"type": "json_path", "path": "data.json", "query": "$.none", "expected": 1},
        {"type": "duration", "max_secs": 0},
        {"type": "hat_sequence", "hats": ["builder"]},
        {"type": "file_unchanged", "path": "keep.txt", "since": "snap_w_404"},
    ]);
    assert_eq!(bed.holds("w", red).await, [false; 7]);
}

#[tokio::test]
async fn no_responses_at_all_is_an_error_before_the_run() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let error =
        bed.try_call("test_run", json!({"workspace_id": "w", "task": "t"})).await.unwrap_err();
    assert!(message_and_hints(&error).contains("test_mock_backend"), "{error}");
}
