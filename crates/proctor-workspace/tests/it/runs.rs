//! Runs beyond the first: again, at once, repeated, replayed, detached, cancelled, generic.

use std::fs;
use std::sync::{Arc, Mutex};

use proctor_workspace::CallContext;
use serde_json::{Value, json};

use crate::support::*;

#[tokio::test]
async fn a_second_run_warns_and_keeps_the_first_session() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({})).await;
    bed.run("w", whole_run(), json!({})).await;
    let second = bed.run("w", json!([{"output": "LOOP_COMPLETE"}]), json!({})).await;
    assert_eq!((&second["run"], &second["iterations"]), (&json!(2), &json!(1)), "{second:#}");
    assert!(second["warnings"].to_string().contains("has been run in before"));
    assert!(path.join("session.1.jsonl").exists());
    let ask = |run: u32, n: u32| {
        json!({"workspace_id": "w", "run": run,
        "assertions": [{"type": "iterations", "exact": n}]})
    };
    for (run, n) in [(1, 3), (2, 1)] {
        assert_eq!(bed.call("test_assert", ask(run, n)).await["passed"], true, "run {run}");
    }
    assert!(bed.try_call("test_assert", ask(3, 1)).await.unwrap_err().message.contains("no run 3"));
}

#[tokio::test]
async fn a_workspace_is_run_in_by_one_at_a_time() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let slow = json!({"workspace_id": "w", "task": "t",
        "mock_responses": [{"output": "LOOP_COMPLETE", "delay_ms": 1500}]});
    let (first, second) =
        tokio::join!(bed.try_call("test_run", slow.clone()), bed.try_call("test_run", slow));
    let errors: Vec<_> = [first, second].into_iter().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.contains("in use"), "{}", errors[0]);
}

#[tokio::test]
async fn a_cancelled_call_kills_the_run_and_keeps_what_it_did() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let context = CallContext::default();
    let news = Arc::new(Mutex::new(Vec::new()));
    let (heard, cancel) = (Arc::clone(&news), context.cancel.clone());
    let context = CallContext {
        progress: Some(Arc::new(move |progress| {
            heard.lock().unwrap().push(progress);
            cancel.cancel();
        })),
        ..context
    };
    let parameters =
        json!({"workspace_id": "w", "task": "t", "mock_responses": [{"output": "", "hang": true}]});
    let result = call(&bed.tools, "test_run", parameters, context).await.unwrap();
    assert_eq!(result["termination_reason"], "HarnessCancelled");
    assert_eq!(news.lock().unwrap()[0].message, "iteration 1: planner");
    bed.assert("w", json!([{"type": "event_occurred", "topic": "task.start"}])).await;
}

#[tokio::test]
async fn repeats_start_from_the_same_state_and_count_every_assertion() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({"fixtures": {"n": "0"}})).await;
    let responses = json!([{"output": "LOOP_COMPLETE", "files": {"made": "x"}}]);
    let assertions = json!([
        {"type": "exit_code", "expected": 0}, {"type": "file_exists", "path": "missing"},
    ]);
    let result = bed.run("w", responses, json!({"repeat": 3, "assertions": assertions})).await;
    let flakiness = &result["flakiness"];
    assert_eq!(
        (&flakiness["repeats"], &flakiness["flaky"]),
        (&json!(3), &json!(false)),
        "{result:#}"
    );
    let counts: Vec<_> = flakiness["assertions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rate| (rate["passed"].as_u64().unwrap(), rate["failed"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [(3, 0), (0, 3)]);
    assert!(path.join("made").exists() && result["run"] == 3);
    assert!(!result["warnings"].to_string().contains("has been run in before"), "{result:#}");
}

#[tokio::test]
async fn a_run_becomes_a_cassette_and_drift_is_reported() {
    let bed = TestWorkspaces::new();
    bed.setup("a", json!({})).await;
    bed.run("a", whole_run(), json!({})).await;
    let cassette =
        bed.call("test_inspect", json!({"workspace_id": "a", "format": "cassette"})).await;
    let cassette = &cassette["cassette"];
    assert_eq!(cassette["hats"], json!(["planner", "builder", "planner"]));
    bed.setup("same", json!({})).await;
    let replay =
        |id: &str, task: &str| json!({"workspace_id": id, "task": task, "cassette": cassette});
    let result = bed.call("test_run", replay("same", "Do the thing")).await;
    assert_eq!(result["drift"], json!({"drifted": false, "differences": []}), "{result:#}");
    // Another task changes the prompts; another topology changes the hats.
    bed.setup("task", json!({})).await;
    let result = bed.call("test_run", replay("task", "Do another thing")).await;
    assert_eq!(result["drift"]["differences"][0]["what"], "prompt", "{result:#}");
    let hats = json!({"hats": {"solo": {"triggers": ["*"], "publishes": ["build.task"]}}});
    bed.setup("hats", json!({"config": hats})).await;
    let mut parameters = replay("hats", "Do the thing");
    parameters["allow_exhausted"] = json!(true);
    let result = bed.call("test_run", parameters).await;
    let whats: Vec<_> = result["drift"]["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| difference["what"].as_str().unwrap())
        .collect();
    assert!(whats.contains(&"hat") && whats.contains(&"hats"), "{result:#}");
}

#[tokio::test]
async fn coverage_names_what_was_never_reached() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    bed.run("w", json!([emits("build.task", "x")]), json!({"max_iterations": 1})).await;
    let first = bed.call("test_inspect", json!({"workspace_id": "w", "format": "coverage"})).await;
    assert_eq!(first["coverage"]["hats"]["missing"], json!(["builder"]), "{first:#}");
    bed.run("w", whole_run(), json!({})).await;
    let both = bed.call("test_inspect", json!({"workspace_id": "w", "format": "coverage"})).await;
    let coverage = &both["coverage"];
    assert_eq!(coverage["hats"]["ratio"], 1.0);
    assert_eq!(coverage["topics"]["missing"], json!(["build.blocked"]));
    assert_eq!(coverage["terminations"]["covered"], json!(["CompletionPromise", "MaxIterations"]));
    assert_eq!(coverage["runs"], json!([1, 2]));
}

#[tokio::test]
async fn a_detached_run_goes_on_by_itself_and_can_be_ended() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let parameters =
        json!({"workspace_id": "w", "task": "t", "detach": true, "mock_responses": whole_run()});
    let started = bed.call("test_run", parameters).await;
    assert_eq!((&started["detached"], &started["run"]), (&json!(true), &json!(1)), "{started:#}");
    let summary = finished(&bed, "w").await;
    assert_eq!(summary["result"]["termination_reason"], "CompletionPromise", "{summary:#}");
    let hanging = json!({"workspace_id": "w", "task": "t", "detach": true,
        "mock_responses": [{"output": "", "hang": true}]});
    bed.call("test_run", hanging).await;
    let busy = bed.try_call("test_cleanup", json!({"workspace_id": "w"})).await.unwrap_err();
    assert!(busy.message.contains("in use"), "{busy}");
    let gone = bed.call("test_cleanup", json!({"workspace_id": "w", "force": true})).await;
    assert_eq!(gone["deleted"], true);
    let state = bed.folder.path().join("state/w").display().to_string();
    eventually("nothing of the run is left", || alive_with(&state).is_empty()).await;
}

async fn finished(bed: &TestWorkspaces, id: &str) -> Value {
    loop {
        let summary =
            bed.call("test_inspect", json!({"workspace_id": id, "format": "summary"})).await;
        if summary["running"] == false {
            return summary;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn any_command_can_be_the_orchestrator_and_call_the_mock() {
    let bed = TestWorkspaces::new();
    let script = "#!/bin/sh\nset -e\n\
        for n in 1 2; do echo \"ask $n: $PROCTOR_TASK\" | proctor-mock-model >> answers.txt; done\n\
        echo '{\"topic\":\"all.done\",\"payload\":\"two\"}' >> \"$PROCTOR_EVENTS_FILE\"\nexit 4\n";
    let orchestrator = json!({"kind": "generic", "command": ["./loop.sh"]});
    let path = bed
        .setup("w", json!({"orchestrator": orchestrator, "fixtures": {"loop.sh": script}}))
        .await;
    let responses = json!([
        {"trigger_pattern": "ask 2", "output": "second"},
        {"trigger_pattern": "ask 1: Do the thing", "output": "first <event topic=\"said.one\">x</event>"},
    ]);
    let result = bed.run("w", responses, json!({})).await;
    assert_eq!(
        (&result["exit_code"], &result["termination_reason"]),
        (&json!(4), &json!("Exited")),
        "{result:#}"
    );
    assert_eq!(fs::read_to_string(path.join("answers.txt")).unwrap(), "first \nsecond\n");
    bed.assert(
        "w",
        json!([
            {"type": "exit_code", "expected": 4},
            {"type": "event_sequence", "topics": ["said.one", "all.done"]},
            {"type": "iterations", "exact": 2},
            {"type": "file_contains", "path": "answers.txt", "pattern": "first"},
        ]),
    )
    .await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let bed = TestWorkspaces::with(|config| config.ralph = Some("/no/such/ralph".into()));
    bed.setup("w", json!({})).await;
    let parameters = json!({"workspace_id": "w", "task": "t", "mock_responses": []});
    let error = bed.try_call("test_run", parameters).await.unwrap_err();
    assert_eq!(error.kind, "missing_program");
    assert!(
        message_and_hints(&error).contains("/no/such/ralph")
            && message_and_hints(&error).contains("PROCTOR_RALPH")
    );
    let orchestrator = json!({"kind": "generic", "command": ["/no/such/thing"]});
    bed.setup("g", json!({"orchestrator": orchestrator})).await;
    let error =
        bed.try_call("test_run", json!({"workspace_id": "g", "task": "t"})).await.unwrap_err();
    assert_eq!(error.kind, "missing_program", "{error}");
}
