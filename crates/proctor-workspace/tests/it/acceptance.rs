//! The acceptance criteria of the test tools (seed 004), one by one, against the real orchestrator.
//!
//! | criterion | test |
//! |---|---|
//! | set-up: an isolated folder, registered | [`setup_makes_an_isolated_folder_and_registers_it`], [`setup_creates_fixtures_and_scratchpad`] |
//! | clean-up: all files gone, id forgotten | [`cleanup_removes_everything_and_the_id`] |
//! | clean-up with `preserve_session`: only the session is left | [`cleanup_can_preserve_the_session_alone`] |
//! | three responses, three iterations, all events | [`three_responses_are_consumed_in_order_and_the_session_has_all_events`] |
//! | a delay beyond `max_runtime_secs`: `MaxRuntime`, partial session | [`a_delay_beyond_the_limit_ends_with_max_runtime_and_a_partial_session`] |
//! | a real backend is recorded and can be inspected | [`a_real_backend_is_recorded_and_can_be_inspected_and_replayed`] (a stand-in of that name that speaks its command line) |
//! | `exit_code` 0; sequence as a subsequence; scratchpad; file exists | [`assertions_on_a_completed_run_pass`] |
//! | a sequence in the wrong order fails | [`assertions_on_a_completed_run_pass`] |
//! | 50 events, `limit: 10`: the first ten, `truncated` | [`of_fifty_events_the_first_ten_come`] |
//! | `topics: ["build.*"]`: task, done, blocked and nothing else | [`a_glob_finds_build_task_done_and_blocked`] |
//! | the timeline groups by iteration, with durations | [`inspection_limits_filters_and_groups`] |
//! | snapshot, change, diff with lines | [`a_snapshot_and_a_diff_show_changed_lines`] |
//! | the example scenario | [`the_example_scenario_works_as_written`]; with an MCP client in `crates/proctor/tests/it/agents.rs` and `mcp_http.rs` |
//! | error table: unknown id, corrupt session, missing file | `defects.rs` |
//! | error table: dirty workspace warns and proceeds | `runs.rs`, `a_second_run_warns_and_keeps_the_first_session` |
//! | error table: mock exhausted, with the consumed count | `mocks.rs`, `an_exhausted_mock_is_an_error_with_counts_and_stops_the_loop_at_once` |
//! | error table: time out kills and keeps a partial session | `mocks.rs`, `a_hanging_call_is_killed_after_the_grace_and_leaves_a_session` |
//! | security: isolation, no network, credentials | `hazards.rs` |
//! | security: stale workspaces | `storms.rs`, `only_old_and_free_workspaces_are_stale` |
//! | security: paths | `escapes.rs` |
//! | future: in parallel, replay, coverage, flakiness | `storms.rs`; `runs.rs` |

use std::fs;

use serde_json::{Value, json};

use crate::support::*;

#[tokio::test]
async fn setup_makes_an_isolated_folder_and_registers_it() {
    let bed = TestWorkspaces::new();
    let result = bed.call("test_setup", json!({"workspace_id": "test_001"})).await;
    let path = result["workspace_path"].as_str().unwrap();
    assert!(fs::metadata(path).unwrap().is_dir());
    assert!(fs::metadata(format!("{path}/.agent")).unwrap().is_dir());
    assert_eq!(result["workspace_id"], "test_001");
    assert_eq!(bed.tools.workspaces().await.unwrap(), ["test_001"]);
    let shot = bed.call("test_snapshot", json!({"workspace_id": "test_001"})).await;
    assert_eq!(shot["file_count"], 0);
}

#[tokio::test]
async fn setup_creates_fixtures_and_scratchpad() {
    let bed = TestWorkspaces::new();
    let result = bed
        .call(
            "test_setup",
            json!({"workspace_id": "w", "scratchpad": "## Plan\n", "fixtures": {"src/main.rs": "fn main() {}"}}),
        )
        .await;
    assert_eq!(result["created_files"], json!(["src/main.rs", ".agent/scratchpad.md"]));
    let path = result["workspace_path"].as_str().unwrap();
    assert_eq!(fs::read_to_string(format!("{path}/src/main.rs")).unwrap(), "fn main() {}");
}

#[tokio::test]
async fn cleanup_removes_everything_and_the_id() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({"fixtures": {"a/b/c": "x"}})).await;
    bed.run("w", whole_run(), json!({})).await;
    let result = bed.call("test_cleanup", json!({"workspace_id": "w"})).await;
    assert_eq!(result, json!({"deleted": true, "preserved_files": []}));
    assert!(!path.exists());
    let error = bed.try_call("test_inspect", json!({"workspace_id": "w"})).await.unwrap_err();
    assert_eq!(error.kind, "unknown_workspace");
    assert_eq!(fs::read_dir(bed.folder.path().join("temp")).unwrap().count(), 0);
}

#[tokio::test]
async fn cleanup_can_preserve_the_session_alone() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({"fixtures": {"a/b/c": "x"}})).await;
    bed.run("w", whole_run(), json!({})).await;
    let result =
        bed.call("test_cleanup", json!({"workspace_id": "w", "preserve_session": true})).await;
    let left: Vec<_> =
        fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["session.jsonl"]);
    assert_eq!(result["preserved_files"], json!([path.join("session.jsonl")]));
    assert!(bed.tools.workspaces().await.unwrap().is_empty());
}

#[tokio::test]
async fn three_responses_are_consumed_in_order_and_the_session_has_all_events() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let configured =
        bed.call("test_mock_backend", json!({"workspace_id": "w", "responses": whole_run()})).await;
    assert_eq!(configured, json!({"configured": true, "response_count": 3}));
    let result = bed.call("test_run", json!({"workspace_id": "w", "task": "Build it"})).await;
    assert_eq!(result["exit_code"], 0, "{result:#}");
    assert_eq!(result["termination_reason"], "CompletionPromise");
    assert_eq!(result["iterations"], 3);
    assert_eq!(result["mock"], json!({"consumed": 3, "total": 3, "refused": 0}));
    let calls = bed.call("test_inspect", json!({"workspace_id": "w", "format": "calls"})).await;
    let order: Vec<_> =
        calls["calls"].as_array().unwrap().iter().map(|call| &call["response"]).collect();
    assert_eq!(order, [0, 1, 2]);
    let text = fs::read_to_string(result["session_file"].as_str().unwrap()).unwrap();
    assert_eq!(
        text.lines().count(),
        usize::try_from(result["events_count"].as_u64().unwrap()).unwrap()
    );
    for wanted in ["task.start", "build.task", "build.done", "LOOP_COMPLETE", "loop.terminate"] {
        assert!(text.contains(&format!("\"topic\":\"{wanted}\"")), "{wanted} in {text}");
    }
    for kind in ["_meta.loop_start", "_meta.iteration", "_meta.termination", "bus.publish"] {
        assert!(text.contains(kind), "{kind}");
    }
}

#[tokio::test]
async fn a_delay_beyond_the_limit_ends_with_max_runtime_and_a_partial_session() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let responses = json!([{"output": "slow", "delay_ms": 50_000}]);
    let result = bed.run("w", responses, json!({"max_runtime_secs": 1})).await;
    assert_eq!(result["termination_reason"], "MaxRuntime", "{result:#}");
    assert!(result["elapsed_secs"].as_f64().unwrap() < 40.0, "{result:#}");
    let summary = bed.call("test_inspect", json!({"workspace_id": "w", "format": "summary"})).await;
    assert_eq!(summary["iterations"], 1);
    assert_eq!(summary["by_topic"]["task.start"], 1);
}

/// A program of the name `claude` that speaks its command line: the prompt after `-p`, answers as JSON lines.
fn stand_in(folder: &std::path::Path) -> std::path::PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let script = "#!/bin/sh\n\
        [ -n \"$ANTHROPIC_API_KEY\" ] || { echo 'no credentials' >&2; exit 1; }\n\
        echo written > made-by-model.txt\n\
        \"$RALPH_BIN\" emit LOOP_COMPLETE 'all done' >/dev/null 2>&1\n\
        printf '%s\\n' '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"stand-in\",\"tools\":[]}'\n\
        printf '%s\\n' '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I did it.\"}]}}'\n\
        printf '%s\\n' '{\"type\":\"result\",\"duration_ms\":5,\"total_cost_usd\":0.01,\"num_turns\":1,\"is_error\":false}'\n";
    let path = bin.join("claude");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bin
}

#[tokio::test]
async fn a_real_backend_is_recorded_and_can_be_inspected_and_replayed() {
    let bed = TestWorkspaces::with(|config| {
        let bin = stand_in(config.temp.parent().unwrap());
        let folders = std::iter::once(bin).chain(std::env::split_paths(&config.path));
        config.path = std::env::join_paths(folders.collect::<Vec<_>>()).unwrap();
    });
    let path = bed.setup("w", json!({})).await;
    let parameters = json!({"workspace_id": "w", "task": "Do it", "backend": "claude"});
    let error = bed.try_call("test_run", parameters.clone()).await.unwrap_err();
    assert_eq!(error.kind, "missing_credentials", "{error}");
    let mut with_key = parameters;
    with_key["env"] = json!({"ANTHROPIC_API_KEY": "test-key"});
    let result = bed.call("test_run", with_key).await;
    assert_eq!(result["termination_reason"], "CompletionPromise", "{result:#}");
    assert!(path.join("made-by-model.txt").exists());
    let calls = bed.call("test_inspect", json!({"workspace_id": "w", "format": "calls"})).await;
    let call = &calls["calls"][0];
    assert_eq!(call["program"], "claude", "{calls:#}");
    assert!(call["output"].as_str().unwrap().contains("I did it."));
    assert!(call["prompt"].as_str().unwrap().contains("Do it"), "{call:#}");
    let cassette =
        bed.call("test_inspect", json!({"workspace_id": "w", "format": "cassette"})).await;
    let response = &cassette["cassette"]["calls"][0]["response"];
    assert_eq!(response["files"]["made-by-model.txt"], "written\n", "{cassette:#}");
    assert_eq!(response["events"][0]["topic"], "LOOP_COMPLETE");
    // The recorded run works without the model.
    fs::remove_file(path.join("made-by-model.txt")).unwrap();
    let replay =
        bed.call("test_run", json!({"workspace_id": "w", "task": "Do it", "replay_run": 1})).await;
    assert_eq!(replay["termination_reason"], "CompletionPromise", "{replay:#}");
    assert!(path.join("made-by-model.txt").exists());
}

#[tokio::test]
async fn assertions_on_a_completed_run_pass() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"scratchpad": "## Plan\n(empty)"})).await;
    let responses = json!([
        {"output": "<event topic=\"build.task\">make main</event>"},
        {"output": format!("<event topic=\"build.done\">{EVIDENCE}</event>"),
         "files": {"src/main.rs": "fn main() {}", ".agent/scratchpad.md": "## Plan\n## Completed\n"}},
        {"output": "LOOP_COMPLETE"},
    ]);
    bed.run("w", responses, json!({})).await;
    bed.assert(
        "w",
        json!([
            {"type": "exit_code", "expected": 0},
            {"type": "event_sequence", "topics": ["task.start", "build.done"]},
            {"type": "scratchpad_contains", "pattern": "Completed"},
            {"type": "file_exists", "path": "src/main.rs"},
            {"type": "file_contains", "path": "src/main.rs", "pattern": "fn\\s+main"},
            {"type": "hat_sequence", "hats": ["planner", "builder", "planner"], "exact": true},
        ]),
    )
    .await;
    let wrong = json!([{"type": "event_sequence", "topics": ["build.done", "task.start"]}]);
    let judged = bed.call("test_assert", json!({"workspace_id": "w", "assertions": wrong})).await;
    assert_eq!((&judged["passed"], &judged["failed_count"]), (&json!(false), &json!(1)));
    assert!(judged["results"][0]["message"].as_str().unwrap().contains("task.start did not occur"));
}

#[tokio::test]
async fn inspection_limits_filters_and_groups() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let result = bed.run("w", whole_run(), json!({})).await;
    let all = result["events_count"].as_u64().unwrap();
    let first = bed.call("test_inspect", json!({"workspace_id": "w", "limit": 10})).await;
    assert_eq!(first["records"].as_array().unwrap().len(), 10);
    assert_eq!((&first["truncated"], &first["total_matched"]), (&json!(true), &json!(all)));
    let rest = bed.call("test_inspect", json!({"workspace_id": "w", "offset": 10})).await;
    assert_eq!(rest["records"].as_array().unwrap().len() as u64, all - 10);
    let build = bed
        .call("test_inspect", json!({"workspace_id": "w", "filter": {"topics": ["build.*"]}}))
        .await;
    let topics: Vec<&Value> = build["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| &record["data"]["topic"])
        .collect();
    assert_eq!(topics, ["build.task", "build.done"]);
    assert_eq!(build["truncated"], false);
    let timeline =
        bed.call("test_inspect", json!({"workspace_id": "w", "format": "timeline"})).await;
    let entries = timeline["timeline"].as_array().unwrap();
    let shown: Vec<_> = entries.iter().map(|entry| (&entry["hat"], &entry["events"][0])).collect();
    assert_eq!(shown[0], (&json!("planner"), &json!("task.start → build.task")));
    assert_eq!(shown[1], (&json!("builder"), &json!("build.task → build.done")));
    assert_eq!(shown[2], (&json!("planner"), &json!("build.done → LOOP_COMPLETE")));
    assert!(entries.iter().all(|entry| entry["duration_ms"].as_u64().is_some()));
}

#[tokio::test]
async fn a_snapshot_and_a_diff_show_changed_lines() {
    let bed = TestWorkspaces::new();
    let path =
        bed.setup("w", json!({"fixtures": {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"}})).await;
    let shot = bed.call("test_snapshot", json!({"workspace_id": "w"})).await;
    assert_eq!(shot["files"]["b.txt"], "b\n");
    fs::write(path.join("a.txt"), "one\n2\nthree\n").unwrap();
    fs::write(path.join("c.txt"), "new\n").unwrap();
    fs::remove_file(path.join("b.txt")).unwrap();
    for baseline in [shot["snapshot_id"].as_str().unwrap(), "initial"] {
        let diff = bed.call("test_diff", json!({"workspace_id": "w", "baseline": baseline})).await;
        assert_eq!(diff["changed_files"], json!(["a.txt"]));
        assert_eq!(diff["added_files"], json!(["c.txt"]));
        assert_eq!(diff["deleted_files"], json!(["b.txt"]));
        let changed = &diff["diffs"]["a.txt"];
        assert_eq!((&changed["additions"], &changed["deletions"]), (&json!(1), &json!(1)));
        assert_eq!(changed["hunks"][0]["content"], " one\n-two\n+2\n three\n");
        assert_eq!(
            (&changed["hunks"][0]["start"], &changed["hunks"][0]["end"]),
            (&json!(1), &json!(3))
        );
    }
}

#[tokio::test]
async fn the_example_scenario_works_as_written() {
    let bed = TestWorkspaces::new();
    bed.setup("planner_test_001", json!({"scratchpad": "## Plan\n(empty)"})).await;
    let responses =
        json!([{"hat": "planner", "output": "<event topic=\"build.task\">...</event>"}]);
    bed.call(
        "test_mock_backend",
        json!({"workspace_id": "planner_test_001", "responses": responses}),
    )
    .await;
    let result = bed
        .call(
            "test_run",
            json!({"workspace_id": "planner_test_001", "task": "Implement user authentication",
                "backend": "mock", "max_iterations": 1}),
        )
        .await;
    assert_eq!(result["exit_code"], 2);
    bed.assert(
        "planner_test_001",
        json!([
            {"type": "exit_code", "expected": 2},
            {"type": "termination_reason", "expected": "MaxIterations"},
            {"type": "event_occurred", "topic": "build.task"},
            {"type": "event_sequence", "topics": ["task.start", "build.task"]},
        ]),
    )
    .await;
    // Emitted in the last allowed iteration, hence never published: the difference can be asked for.
    let published =
        json!([{"type": "event_occurred", "topic": "build.task", "published_only": true}]);
    assert_eq!(bed.holds("planner_test_001", published).await, [false]);
    let timeline = bed
        .call("test_inspect", json!({"workspace_id": "planner_test_001", "format": "timeline"}))
        .await;
    assert_eq!(timeline["timeline"][0]["events"], json!(["task.start → build.task"]));
    bed.call("test_cleanup", json!({"workspace_id": "planner_test_001"})).await;
}

/// A command that tells these topics, one after the other.
async fn telling(bed: &TestWorkspaces, id: &str, topics: &[String]) {
    let lines: Vec<String> =
        topics.iter().map(|topic| json!({"topic": topic, "payload": "p"}).to_string()).collect();
    let script = "#!/bin/sh\ncat told.jsonl >> \"$PROCTOR_EVENTS_FILE\"\n";
    let orchestrator = json!({"kind": "generic", "command": ["./tell.sh"]});
    let fixtures = json!({"tell.sh": script, "told.jsonl": lines.join("\n") + "\n"});
    bed.setup(id, json!({"orchestrator": orchestrator, "fixtures": fixtures})).await;
    bed.call("test_run", json!({"workspace_id": id, "task": "t"})).await;
}

#[tokio::test]
async fn of_fifty_events_the_first_ten_come() {
    let bed = TestWorkspaces::new();
    let topics: Vec<String> = (0..50).map(|number| format!("step.n{number}")).collect();
    telling(&bed, "w", &topics).await;
    let events = json!({"topics": ["step.*"]});
    let parameters = json!({"workspace_id": "w", "limit": 10, "filter": events});
    let answer = bed.call("test_inspect", parameters).await;
    let seen: Vec<&str> = answer["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["data"]["topic"].as_str().unwrap())
        .collect();
    assert_eq!(seen, topics[..10]);
    assert_eq!((&answer["total_matched"], &answer["truncated"]), (&json!(50), &json!(true)));
    let parameters = json!({"workspace_id": "w", "offset": 40, "filter": events});
    let rest = bed.call("test_inspect", parameters).await;
    assert_eq!(rest["records"].as_array().unwrap().len(), 10);
    assert_eq!(rest["truncated"], false);
}

#[tokio::test]
async fn a_glob_finds_build_task_done_and_blocked() {
    let bed = TestWorkspaces::new();
    let all = ["task.start", "build.task", "build.done", "build.blocked", "build.a.b", "rebuild.x"];
    telling(&bed, "w", &all.map(str::to_owned)).await;
    let parameters = json!({"workspace_id": "w", "filter": {"topics": ["build.*"]}});
    let answer = bed.call("test_inspect", parameters).await;
    let seen: Vec<&Value> =
        answer["records"].as_array().unwrap().iter().map(|r| &r["data"]["topic"]).collect();
    assert_eq!(seen, ["build.task", "build.done", "build.blocked"]);
}
