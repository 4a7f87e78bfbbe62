//! Many workspaces, killed servers, stale ones: nothing leaks, nothing is lost.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::*;

/// A server process that makes calls and can be killed.
fn server(bed: &TestWorkspaces, calls: &Value, number: usize) -> Child {
    let order = bed.folder.path().join(format!("calls-{number}.json"));
    fs::write(&order, calls.to_string()).unwrap();
    Command::new(PROGRAM)
        .arg("calls")
        .args([bed.folder.path().join("state"), bed.folder.path().join("temp"), ralph(), order])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_workspaces_survive_random_kills_of_their_servers() {
    let bed = TestWorkspaces::new();
    let mut children = Vec::new();
    for number in 0..50 {
        let id = format!("w{number}");
        let mut responses = whole_run();
        responses[1]["delay_ms"] = json!(200);
        let calls = json!([
            ["test_setup", {"workspace_id": id, "fixtures": {"a": "1"}}],
            ["test_run", {"workspace_id": id, "task": "t", "mock_responses": responses}],
            ["test_snapshot", {"workspace_id": id}],
        ]);
        children.push(server(&bed, &calls, number));
    }
    // Every third one is killed at a moment of its own.
    for (number, child) in children.iter_mut().enumerate().filter(|(number, _)| number % 3 == 0) {
        let moment = Duration::from_millis((number as u64 * 7919) % 150);
        tokio::time::sleep(moment).await;
        let _ = child.kill();
    }
    for child in &mut children {
        child.wait().unwrap();
    }
    let state = bed.folder.path().join("state").display().to_string();
    eventually("no process of any run is left", || alive_with(&state).is_empty()).await;
    let known = bed.tools.workspaces().await.unwrap();
    for number in (0..50).filter(|number| number % 3 != 0) {
        let id = format!("w{number}");
        assert!(known.contains(&id), "{id} is lost");
        bed.assert(
            &id,
            json!([{"type": "exit_code", "expected": 0}, {"type": "iterations", "exact": 3}]),
        )
        .await;
    }
    // Of the killed ones, each is unknown, never run, or has a readable session.
    for id in &known {
        let looked =
            bed.try_call("test_inspect", json!({"workspace_id": id, "format": "summary"})).await;
        match looked {
            Ok(summary) => assert_eq!(summary["running"], false, "{id}: {summary:#}"),
            Err(error) => {
                assert_eq!(error.kind, "no_run", "{id}: {error}");
            }
        }
        bed.call("test_cleanup", json!({"workspace_id": id})).await;
    }
    // What was killed half-made is taken over by the next set-up of that id.
    for number in 0..50 {
        let id = format!("w{number}");
        bed.setup(&id, json!({})).await;
        bed.call("test_cleanup", json!({"workspace_id": id})).await;
    }
    assert_eq!(fs::read_dir(bed.folder.path().join("temp")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_run_whose_server_was_killed_is_concluded_by_the_next() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let calls = json!([["test_run", {"workspace_id": "w", "task": "t",
        "mock_responses": [emits("build.task", "x"), {"output": "", "hang": true}]}]]);
    let mut child = server(&bed, &calls, 0);
    let log = bed.folder.path().join("state/w/runs/1/notes/calls.jsonl");
    eventually("the second call hangs", || {
        fs::read_to_string(&log).is_ok_and(|text| text.matches("\"begin\"").count() == 2)
    })
    .await;
    child.kill().unwrap();
    child.wait().unwrap();
    let state = bed.folder.path().join("state/w").display().to_string();
    eventually("its processes are gone", || alive_with(&state).is_empty()).await;
    let summary = bed.call("test_inspect", json!({"workspace_id": "w", "format": "summary"})).await;
    assert_eq!(summary["result"]["termination_reason"], "HarnessLost", "{summary:#}");
    bed.assert("w", json!([{"type": "event_sequence", "topics": ["task.start", "build.task"]}]))
        .await;
    // And the workspace is free for another.
    let result = bed.run("w", whole_run(), json!({})).await;
    assert_eq!((&result["run"], &result["exit_code"]), (&json!(2), &json!(0)));
}

fn age(folder: &std::path::Path, hours: u64) {
    let then = SystemTime::now() - Duration::from_secs(hours * 3600);
    for entry in
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).chain([folder.to_owned()])
    {
        fs::File::open(&entry).unwrap().set_modified(then).unwrap();
    }
}

#[tokio::test]
async fn only_old_and_free_workspaces_are_stale() {
    let bed = TestWorkspaces::new();
    let state = bed.folder.path().join("state");
    for id in ["old", "held", "young"] {
        bed.setup(id, json!({})).await;
    }
    let old = bed.folder.path().join("temp");
    let before = fs::read_dir(&old).unwrap().count();
    let held = fs::File::options().read(true).write(true).open(state.join("held/lock")).unwrap();
    held.lock().unwrap();
    age(&state.join("old"), 25);
    age(&state.join("held"), 25);
    age(&state.join("young"), 23);
    assert_eq!(bed.tools.clean_stale().await.unwrap(), ["old"]);
    assert_eq!(bed.tools.workspaces().await.unwrap(), ["held", "young"]);
    assert_eq!(fs::read_dir(&old).unwrap().count(), before - 1);
}
