//! The five defects found in the system that this library replaces, each as a test of its own.

use crate::support::*;
use proctor_process::{ChannelConfig, ExitStatus, ManagedProcess, RpcMode};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[tokio::test]
async fn defect_1_reply_just_before_eof_is_delivered() {
    let steps = ["read", r#"write:{"reply_to":"ID","made_it":true}\n"#, "exit:0"];
    for round in 0..200 {
        let (process, channel) = start_rpc(scripted(&steps, ChannelConfig::default())).await;
        let reply = within_timeout(channel.request("x", &(), None)).await;
        let reply = reply.unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(reply.body.value()["made_it"], true);
        assert_eq!(within_timeout(process.wait()).await.status, ExitStatus::Code(0));
    }
}

#[tokio::test]
async fn defect_1_the_answer_to_a_shutdown_is_delivered_too() {
    for round in 0..50 {
        let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
        let reply = channel.shutdown(TEST_TIMEOUT).await;
        let reply = reply.unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(reply.body.value()["status"], "shutting_down");
        assert_eq!(within_timeout(process.wait()).await.status, ExitStatus::Code(0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn defect_2_exit_status_and_callbacks_survive_a_stop_that_races_the_exit() {
    for round in 0..60 {
        let calls = Arc::new(AtomicUsize::new(0));
        let process = ManagedProcess::new(worker(&["exit", "9"]));
        let counted = Arc::clone(&calls);
        process.on_exit(move |report| {
            assert!(report.status != ExitStatus::Lost);
            counted.fetch_add(1, Ordering::SeqCst);
        });
        process.start().await.unwrap();
        tokio::time::sleep(Duration::from_micros(round * 50)).await;
        let (stopped, waited) =
            within_timeout(async { tokio::join!(process.stop(TEST_TIMEOUT), process.wait()) })
                .await;
        assert_eq!(stopped.unwrap(), waited);
        assert_eq!(process.exit_report(), Some(&waited));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        // The signal may have come before the exit.
        assert!(
            [ExitStatus::Code(9), ExitStatus::Signal(15)].contains(&waited.status),
            "{waited:?}"
        );
    }
}

/// The old tests swallowed failures inside an async block. Ours return them to the runner: this one
/// shows that a failed assertion in a task of the test is seen.
#[tokio::test]
async fn defect_3_a_failed_assertion_in_a_task_is_not_swallowed() {
    let task = tokio::spawn(async {
        let process = start(worker(&["exit", "1"])).await;
        assert_eq!(process.wait().await.status, ExitStatus::Code(0), "wrong on purpose");
    });
    assert!(within_timeout(task).await.unwrap_err().is_panic());
}

#[tokio::test]
async fn defect_4_neither_workers_nor_their_children_are_orphaned() {
    let token = token();
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let kinds = json!({"token": token, "kinds": ["plain", "session", "daemon"]});
    within_timeout(channel.request("spawn", &kinds, None)).await.unwrap();
    wait_for_processes(&token, 3).await;
    drop((process, channel));
    eventually("all are gone", || alive_with(&token).is_empty()).await;
    eventually("the guard is reaped", || own_children().is_empty()).await;
}

#[tokio::test]
async fn defect_5_callbacks_attached_after_start_miss_nothing() {
    for _ in 0..20 {
        let process = start(worker(&["print", "20"])).await;
        within_timeout(process.stdout().closed()).await;
        let (seen, mut received) = tokio::sync::mpsc::unbounded_channel();
        process.stdout().on_line(move |line| seen.send(line.text).unwrap());
        for number in 0..20 {
            assert_eq!(*within_timeout(received.recv()).await.unwrap(), *format!("out {number}"));
        }
        assert!(within_timeout(received.recv()).await.is_none());
    }
}
