//! A run that goes on while it is looked at: progress on the wire, and a wait that ends when its caller gives up.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use proctor_mcp::CallContext;
use proctor_record::control::{ControlServer, ControlledRun, State, Status};
use proctor_record::{RunInfo, RunStore};
use serde_json::json;

use crate::protocol::{Client, HANDSHAKE, STATELESS};
use crate::test_project::TestProject;

/// A run that reports `running`.
struct LiveRun;

impl ControlledRun for LiveRun {
    fn status(&self) -> Status {
        Status {
            v: 1,
            run_id: String::new(),
            pid: 1,
            state: State::Running,
            completed: 0,
            total: 5,
            failures: 0,
        }
    }

    fn cancel(&self) {}

    fn kill(&self) {}
}

/// A live run with nothing recorded but its start. It ends when the server is dropped.
fn live_run(project: &TestProject) -> (ControlServer, std::path::PathBuf) {
    let store = RunStore::new(project.folder.path());
    let info =
        RunInfo::new("0190-live".into(), "2026-01-22T10:30:00Z".parse().unwrap(), Vec::new());
    let (folder, _) = store.create(&info).unwrap();
    let path = folder.events_path();
    std::fs::write(&path, "").unwrap();
    append(&path, r#"{"v":1,"seq":1,"event_type":"SuiteStarted","example_count":5}"#);
    (ControlServer::start(folder.path(), LiveRun).unwrap(), path)
}

fn append(path: &Path, line: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

fn finish(path: &Path, number: u32) {
    let seq = number * 2;
    append(
        path,
        &format!(
            r#"{{"v":1,"seq":{seq},"event_type":"ExampleStarted","example_id":"e{number}","path":["E"]}}"#
        ),
    );
    let seq = seq + 1;
    append(
        path,
        &format!(
            r#"{{"v":1,"seq":{seq},"event_type":"ExampleFinished","example_id":"e{number}","status":"passed"}}"#
        ),
    );
}

#[tokio::test]
async fn a_wait_ends_when_its_caller_gives_up() {
    let project = TestProject::new();
    let (_live, _) = live_run(&project);
    let context = CallContext::for_model();
    let cancel = context.cancel.clone();
    let began = Instant::now();
    let waiting = project.tools.call("run_wait", json!({ "wait_seconds": 5 }), context);
    let gives_up = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(waiting, gives_up);
    assert_eq!(answer.unwrap()["run"]["state"], "running");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_wait_is_never_longer_than_a_few_seconds() {
    let project = TestProject::new();
    let (_live, _) = live_run(&project);
    let began = Instant::now();
    project.call("run_wait", json!({ "wait_seconds": 3600 })).await.unwrap();
    let took = began.elapsed();
    assert!((4..30).contains(&took.as_secs()), "{took:?}");
}

/// What an example was doing when its run died is a failure that was never told: it is listed and counted. While the run lives, it is neither.
#[tokio::test]
async fn what_a_dead_run_left_open_is_unfinished() {
    let project = TestProject::new();
    let (live, path) = live_run(&project);
    finish(&path, 1);
    append(
        &path,
        r#"{"v":1,"seq":4,"event_type":"ExampleStarted","example_id":"e2","path":["E","two"]}"#,
    );
    let told = project.call("run_results", json!({})).await.unwrap();
    assert_eq!((&told["run"]["counts"], &told["total"]), (&json!({ "passed": 1 }), &json!(0)));
    drop(live);
    for asked in [json!({}), json!({ "statuses": ["unfinished"] })] {
        let told = project.call("run_results", asked).await.unwrap();
        assert_eq!(told["run"]["state"], "died");
        assert_eq!(told["run"]["counts"], json!({ "passed": 1, "unfinished": 1 }));
        let row = &told["results"][0];
        let said = [&row["id"], &row["status"], &row["verdict"], &told["total"]];
        assert_eq!(said, [&json!("e2"), &json!("unfinished"), &json!("unfinished"), &json!(1)]);
    }
}

/// Progress comes in order, with the token, and before the answer.
#[tokio::test]
async fn progress_is_told_to_those_who_ask() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let project = TestProject::new();
        let (live, path) = live_run(&project);
        let mut client = Client::connect(&project, version).await;
        let ask = json!({ "name": "run_wait", "arguments": { "include": "none" }, "_meta": { "progressToken": "tok" } });
        let mut id = client.start("tools/call", ask.clone()).await;
        for number in 1..=5 {
            finish(&path, number);
            // The next one is written when this one was told.
            loop {
                let told = client.next().await;
                if told["id"] == id {
                    // A busy machine: the wait was over first.
                    id = client.start("tools/call", ask.clone()).await;
                    continue;
                }
                assert_eq!(told["method"], "notifications/progress", "{version}: {told}");
                let params = &told["params"];
                assert_eq!(
                    (&params["progressToken"], &params["total"]),
                    (&json!("tok"), &json!(5.0))
                );
                let done = params["progress"].as_f64().unwrap();
                if (done - f64::from(number)).abs() < 0.1 {
                    break;
                }
                assert!(done < f64::from(number), "{version}: {told}");
            }
        }
        append(
            &path,
            r#"{"v":1,"seq":99,"event_type":"SuiteFinished","example_count":5,"failure_count":0,"exit_code":0}"#,
        );
        let answer = loop {
            let message = client.next().await;
            if message["id"] != id {
                continue;
            }
            if message["result"]["structuredContent"]["run"]["state"] == "finished" {
                break message;
            }
            id = client.start("tools/call", ask.clone()).await;
        };
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        drop(live);
        // Without a token nothing is told.
        client.call("run_wait", json!({})).await;
        assert!(client.notified.is_empty(), "{:?}", client.notified);
        client.close().await;
    }
}

/// A cancelled request gets no answer, and the server goes on at once.
#[tokio::test]
async fn a_cancelled_wait_leaves_the_server_free() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let project = TestProject::new();
        let (_live, _) = live_run(&project);
        let mut client = Client::connect(&project, version).await;
        let params = json!({ "name": "run_wait", "arguments": { "wait_seconds": 5 } });
        let id = client.start("tools/call", params).await;
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": id, "reason": "enough" } }))
            .await;
        let answer =
            client.request("tools/call", json!({ "name": "run_status", "arguments": {} })).await;
        assert_eq!(answer["result"]["isError"], false, "{version}: {answer}");
        let answered = client.notified.iter().any(|message| message["id"] == id);
        assert!(!answered, "{version}: a cancelled request is not answered");
        client.close().await;
    }
}
