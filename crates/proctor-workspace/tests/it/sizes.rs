//! Answers about large data: bounded, whatever a test does, and what was left out is said.

use std::fs;

use serde_json::{Value, json};

use crate::support::*;

/// What an answer may have: the limit of 1 MiB, and what stands around the texts.
const MOST: usize = 1_300_000;

/// A command that tells many events and prints much.
async fn loud(bed: &TestWorkspaces, id: &str, events: usize) {
    let script = format!(
        "#!/usr/bin/env python3\nimport json, os\n\
         with open(os.environ['PROCTOR_EVENTS_FILE'], 'a') as out:\n\
         \x20   for n in range({events}):\n\
         \x20       out.write(json.dumps({{'topic': 'step.n%d' % n, 'payload': 'y' * 300}}) + '\\n')\n\
         print('z' * 2000000)\n"
    );
    let orchestrator = json!({"kind": "generic", "command": ["./loud.py"]});
    bed.setup(id, json!({"orchestrator": orchestrator, "fixtures": {"loud.py": script}})).await;
    let result = bed.call("test_run", json!({"workspace_id": id, "task": "t"})).await;
    assert_eq!(result["exit_code"], 0, "{result:#}");
    assert!(result["events_count"].as_u64().unwrap() >= events as u64);
}

fn size(answer: &Value) -> usize {
    answer.to_string().len()
}

#[tokio::test]
async fn a_session_of_twenty_thousand_events_is_told_in_parts() {
    let bed = TestWorkspaces::new();
    loud(&bed, "w", 20_000).await;
    for (arguments, most) in [
        (json!({}), 100_000),
        (json!({"limit": 1_000_000}), MOST),
        (json!({"format": "summary"}), 100_000),
        (json!({"format": "timeline"}), 100_000),
        (json!({"format": "output"}), 300_000),
        (json!({"format": "calls"}), 10_000),
        (json!({"format": "coverage"}), 1_000_000),
    ] {
        let mut parameters = arguments.clone();
        parameters["workspace_id"] = json!("w");
        let answer = bed.call("test_inspect", parameters).await;
        assert!(size(&answer) < most, "{arguments}: {}", size(&answer));
        if most == MOST || arguments["format"] == "output" {
            assert_eq!(answer["truncated"], true, "{arguments}");
        }
    }
    // What is judged is the whole; what is shown is not.
    let topics: Vec<String> = ["step.n1", "step.n19999"].map(str::to_owned).to_vec();
    let assertions = json!([
        {"type": "event_sequence", "topics": topics},
        {"type": "event_count", "topic": "step.*", "exact": 20_000},
        {"type": "stdout_contains", "pattern": "zzz"},
        {"type": "event_occurred", "topic": "never.told"},
        {"type": "file_contains", "path": "loud.py", "pattern": "nothing like it"},
    ]);
    let judged =
        bed.call("test_assert", json!({"workspace_id": "w", "assertions": assertions})).await;
    let held: Vec<bool> = judged["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["passed"].as_bool().unwrap())
        .collect();
    assert_eq!(held, [true, true, true, false, false], "{judged:#}");
    assert!(size(&judged) < 50_000, "{}", size(&judged));
}

#[tokio::test]
async fn a_workspace_of_many_files_is_told_in_parts() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({})).await;
    for number in 0..6000 {
        let folder = path.join(format!("folder-{}", number % 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join(format!("a-file-with-a-rather-long-name-{number}.txt")),
            "text\n".repeat(100),
        )
        .unwrap();
    }
    fs::write(path.join("large.txt"), "a long line of text\n".repeat(50_000)).unwrap();
    fs::write(path.join("data.json"), json!({"items": vec!["x"; 50_000]}).to_string()).unwrap();
    let shot = bed.call("test_snapshot", json!({"workspace_id": "w"})).await;
    assert!(size(&shot) < MOST, "{}", size(&shot));
    assert_eq!((&shot["truncated"], &shot["file_count"]), (&json!(true), &json!(6002)));
    let diff = bed.call("test_diff", json!({"workspace_id": "w", "baseline": "initial"})).await;
    assert!(size(&diff) < MOST, "{}", size(&diff));
    assert_eq!((&diff["truncated"], &diff["counts"]["added"]), (&json!(true), &json!(6002)));
    let names = bed
        .call("test_diff", json!({"workspace_id": "w", "baseline": "initial", "omit_hunks": true}))
        .await;
    assert!(size(&names) < MOST / 2, "{}", size(&names));
    let assertions = json!([
        {"type": "snapshot_matches", "snapshot": "initial"},
        {"type": "json_path", "path": "data.json", "query": "$.items", "expected": 1},
        {"type": "file_exists", "path": "no/such/file"},
    ]);
    let judged =
        bed.call("test_assert", json!({"workspace_id": "w", "assertions": assertions})).await;
    assert_eq!(judged["failed_count"], 3);
    assert!(size(&judged) < 100_000, "{}", size(&judged));
}

#[tokio::test]
async fn a_cassette_comes_whole_or_not_at_all() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let large = "x".repeat(1 << 20);
    let responses = json!([{"output": "LOOP_COMPLETE", "files": {"large.txt": large}}]);
    bed.run("w", responses, json!({})).await;
    let error = bed
        .try_call("test_inspect", json!({"workspace_id": "w", "format": "cassette"}))
        .await
        .unwrap_err();
    assert_eq!(error.kind, "too_large");
    assert!(message_and_hints(&error).contains("replay_run 1"), "{error}");
    // And that way works.
    let replay = bed
        .call("test_run", json!({"workspace_id": "w", "task": "Do the thing", "replay_run": 1}))
        .await;
    assert_eq!(replay["drift"]["drifted"], false, "{replay:#}");
}
