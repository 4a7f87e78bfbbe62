//! Attempts to read, write or delete outside the workspace: all refused.

use std::fs;

use serde_json::{Value, json};

use crate::support::*;

fn bad_paths() -> Vec<String> {
    let mut paths: Vec<String> = [
        "../escape",
        "a/../../escape",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/..",
        "./../x",
        "a\0b",
        "a\nb",
        "\u{ff0e}\u{ff0e}/x",
        "a\u{ff0f}b",
        "a\u{2215}b",
        "a\u{202e}txt",
        "\u{200b}",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push("x".repeat(300));
    paths.push("x/".repeat(1000));
    paths
}

#[tokio::test]
async fn paths_that_lead_out_are_refused_everywhere() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    for path in bad_paths() {
        let mut fixtures = serde_json::Map::new();
        fixtures.insert(path.clone(), json!("x"));
        let setup = json!({"workspace_id": "bad", "fixtures": fixtures});
        assert!(bed.try_call("test_setup", setup).await.is_err(), "fixture {path:?}");
        for kind in
            ["file_exists", "file_contains", "file_not_contains", "file_unchanged", "json_path"]
        {
            let mut assertion = json!({"type": kind, "path": path});
            if kind.ends_with("contains") {
                assertion["pattern"] = json!("x");
            }
            if kind == "json_path" {
                (assertion["query"], assertion["expected"]) = (json!("$"), json!(1));
            }
            let parameters = json!({"workspace_id": "w", "assertions": [assertion]});
            let error = bed.try_call("test_assert", parameters).await.unwrap_err();
            assert!(error.message.contains("not allowed"), "{kind} {path:?}: {error}");
        }
        let mut files = serde_json::Map::new();
        files.insert(path.clone(), json!("x"));
        let mock = json!({"workspace_id": "w", "responses": [{"output": "", "files": files}]});
        assert!(bed.try_call("test_mock_backend", mock).await.is_err(), "mock file {path:?}");
    }
    assert_eq!(bed.tools.workspaces().await.unwrap(), ["w"]);
    assert_eq!(fs::read_dir(bed.folder.path().join("temp")).unwrap().count(), 1);
}

#[tokio::test]
async fn ids_and_snapshot_names_are_checked() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    for id in ["../w", "a/b", ".", "", "a\0", "w/../w", "ｗ", &"x".repeat(65)] {
        for tool in ["test_setup", "test_cleanup", "test_snapshot", "test_inspect"] {
            let error = bed.try_call(tool, json!({"workspace_id": id})).await.unwrap_err();
            assert!(error.message.contains("not allowed"), "{tool} {id:?}: {error}");
        }
    }
    for baseline in ["../../etc/passwd", "", "a/b", "snap\0"] {
        let parameters = json!({"workspace_id": "w", "baseline": baseline});
        let error = bed.try_call("test_diff", parameters).await.unwrap_err();
        assert!(error.message.contains("no snapshot"), "{error}");
    }
}

#[tokio::test]
async fn links_planted_by_the_program_under_test_lead_nowhere() {
    let bed = TestWorkspaces::new();
    let outside = bed.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "the secret").unwrap();
    let plant = format!(
        "#!/bin/sh\nln -s '{0}' out; ln -s '{0}/secret' peek; rm -rf .agent; ln -s '{0}' .agent\n\
         ln -s '{0}/session' session.jsonl; ln -s /etc deep; mkdir d; ln -s ../../.. d/up\n",
        outside.display()
    );
    let orchestrator = json!({"kind": "generic", "command": ["./plant.sh"]});
    let path = bed
        .setup("w", json!({"orchestrator": orchestrator, "fixtures": {"plant.sh": plant}}))
        .await;
    bed.call("test_run", json!({"workspace_id": "w", "task": "t"})).await;
    // Our own session replaced the link instead of following it.
    assert!(fs::symlink_metadata(path.join("session.jsonl")).unwrap().is_file());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    let assertions: Vec<Value> = ["out/secret", "peek", "deep/passwd", "d/up/x", ".agent/secret"]
        .iter()
        .map(|path| json!({"type": "file_contains", "path": path, "pattern": "."}))
        .collect();
    let judged =
        bed.call("test_assert", json!({"workspace_id": "w", "assertions": assertions})).await;
    assert_eq!(judged["failed_count"], 5, "{judged:#}");
    assert!(!judged.to_string().contains("the secret"));
    let shot = bed.call("test_snapshot", json!({"workspace_id": "w"})).await;
    assert!(!shot.to_string().contains("the secret"), "{shot:#}");
    assert_eq!(shot["other_files"]["peek"]["kind"], "symlink");
    bed.call("test_cleanup", json!({"workspace_id": "w"})).await;
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "the secret");
}

#[tokio::test]
async fn a_workspace_that_was_replaced_is_neither_used_nor_deleted() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({})).await;
    fs::rename(&path, bed.folder.path().join("moved")).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("precious"), "p").unwrap();
    let error = bed.try_call("test_snapshot", json!({"workspace_id": "w"})).await.unwrap_err();
    assert!(error.message.contains("not the folder that was set up"), "{error}");
    bed.call("test_cleanup", json!({"workspace_id": "w"})).await;
    assert!(path.join("precious").exists());
}

#[tokio::test]
async fn every_other_way_to_name_a_path_is_refused_or_stays_inside() {
    let bed = TestWorkspaces::new();
    let outside = bed.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "the secret").unwrap();
    bed.setup("w", json!({"fixtures": {"a": "1"}})).await;
    for path in bad_paths() {
        // A cassette brings files of its own.
        let mut files = serde_json::Map::new();
        files.insert(path.clone(), json!("x"));
        let cassette = json!({"version": 1, "task": "t", "topics": [], "hats": [], "termination_reason": "x",
            "calls": [{"hat": null, "prompt_sha256": "", "response": {"output": "", "files": files}}]});
        let replay = json!({"workspace_id": "w", "task": "t", "cassette": cassette});
        assert!(bed.try_call("test_run", replay).await.is_err(), "cassette {path:?}");
        let orchestrator = json!({"kind": "generic", "command": ["true"], "events_file": path});
        let setup =
            json!({"workspace_id": "events", "replace": true, "orchestrator": orchestrator});
        let refused = match bed.try_call("test_setup", setup).await {
            Err(_) => true,
            Ok(_) => bed
                .try_call("test_run", json!({"workspace_id": "events", "task": "t"}))
                .await
                .is_err(),
        };
        assert!(refused, "events file {path:?}");
    }
    // Patterns choose among the files of the workspace; they cannot name others.
    for pattern in ["../**", "**/../../*", "../outside/secret"] {
        let shot = json!({"workspace_id": "w", "include_patterns": [pattern]});
        assert!(bed.try_call("test_snapshot", shot).await.is_err(), "{pattern}");
    }
    for pattern in ["/**", "/etc/passwd"] {
        let shot = bed
            .call("test_snapshot", json!({"workspace_id": "w", "include_patterns": [pattern]}))
            .await;
        assert!(!shot.to_string().contains("the secret"), "{pattern}: {shot:#}");
        assert!(!shot.to_string().contains("root:"), "{pattern}");
    }
    for snapshot in ["../../outside/secret", "/etc/passwd", "", "a\0b"] {
        let assertions = json!([
            {"type": "snapshot_matches", "snapshot": snapshot},
            {"type": "file_unchanged", "path": "a", "since": snapshot},
        ]);
        assert_eq!(bed.holds("w", assertions).await, [false, false], "{snapshot:?}");
    }
}

#[tokio::test]
async fn a_scratchpad_that_the_configuration_puts_elsewhere_is_not_written_there() {
    for (number, path) in
        ["../escaped.md", "/tmp/escaped-by-proctor-test.md"].into_iter().enumerate()
    {
        let bed = TestWorkspaces::new();
        let id = format!("w{number}");
        let setup = json!({"workspace_id": id, "scratchpad": "mine", "config": {"core": {"scratchpad": path}}});
        if bed.try_call("test_setup", setup).await.is_ok() {
            let run = json!({"workspace_id": id, "task": "t", "mock_responses": [{"output": "LOOP_COMPLETE"}]});
            let _ = bed.try_call("test_run", run).await;
        }
        assert!(!bed.folder.path().join("temp/escaped.md").exists(), "{path}");
        assert!(!std::path::Path::new("/tmp/escaped-by-proctor-test.md").exists(), "{path}");
    }
}

#[tokio::test]
async fn a_link_in_the_place_of_the_events_file_does_not_lead_the_mock_out() {
    let bed = TestWorkspaces::new();
    let target = bed.folder.path().join("precious");
    fs::write(&target, "p").unwrap();
    let script = format!(
        "#!/bin/sh\nrm -f .agent/events.jsonl; ln -s '{}' .agent/events.jsonl\necho ask | proctor-mock-model\n",
        target.display()
    );
    let orchestrator = json!({"kind": "generic", "command": ["./plant.sh"]});
    bed.setup("w", json!({"orchestrator": orchestrator, "fixtures": {"plant.sh": script}})).await;
    bed.run("w", json!([emits("a.b", "x")]), json!({})).await;
    assert_eq!(fs::read_to_string(&target).unwrap(), "p");
}
