//! Output of real children as lines.

use crate::support::*;
use proctor_process::{Line, OutputConfig, Overflow, RpcMode};
use serde_json::json;
use std::time::Duration;

fn texts(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| &*line.text).collect()
}

#[tokio::test]
async fn a_subscriber_that_comes_after_the_exit_gets_everything_in_order() {
    let process = start(worker(&["print", "1000"])).await;
    within_timeout(process.wait()).await;
    let out = within_timeout(process.stdout().lines().collect()).await;
    let err = within_timeout(process.stderr().lines().collect()).await;
    assert_eq!((out.len(), err.len()), (1000, 1000));
    assert_eq!((&*out[0].text, &*out[999].text), ("out 0", "out 999"));
    assert_eq!((&*err[0].text, &*err[999].text), ("err 0", "err 999"));
}

#[tokio::test]
async fn several_subscribers_and_callbacks_all_get_everything() {
    let (seen, mut received) = tokio::sync::mpsc::unbounded_channel();
    let process = proctor_process::ManagedProcess::new(worker(&["print", "200"]));
    process.stdout().on_line(move |line| seen.send(line.text).unwrap());
    let first = tokio::spawn(process.stdout().lines().collect());
    process.start().await.unwrap();
    let second = within_timeout(process.stdout().lines().collect()).await;
    assert_eq!(second.len(), 200);
    assert_eq!(within_timeout(first).await.unwrap(), second);
    let mut called = Vec::new();
    while let Some(text) = within_timeout(received.recv()).await {
        called.push(text);
    }
    assert_eq!(called.len(), 200);
}

#[tokio::test]
async fn a_partial_last_line_and_invalid_utf8_are_not_lost() {
    let process = start(worker(&["print-raw", r"one\ntwo\xff\x41\nlast \xe2\x82"])).await;
    let lines = within_timeout(process.stdout().lines().collect()).await;
    assert_eq!(texts(&lines), ["one", "two\u{fffd}A", "last \u{fffd}"]);
    assert!(!lines[2].ended);
}

#[tokio::test]
async fn a_long_line_comes_in_pieces() {
    let output = OutputConfig { max_line: 1000, ..OutputConfig::default() };
    let process = start(worker(&["script", "fill:3500", r"write:\nend\n"]).output(output)).await;
    let lines = within_timeout(process.stdout().lines().collect()).await;
    assert_eq!(
        lines.iter().map(|line| line.text.len()).collect::<Vec<_>>(),
        [1000, 1000, 1000, 500, 3]
    );
    assert!(lines[1].continues && !lines[1].ended && lines[3].ended && !lines[4].continues);
}

#[tokio::test]
async fn a_chatty_child_is_not_held_up_when_nobody_listens() {
    let output = OutputConfig { ring_bytes: 10_000, ..OutputConfig::default() };
    let process = start(worker(&["print", "50000"]).output(output)).await;
    assert!(within_timeout(process.wait()).await.status.success());
    within_timeout(process.stdout().closed()).await;
    assert!(process.stdout().held_bytes() <= 10_000);
    let lines = process.stdout().lines();
    assert!(lines.missed() > 0);
    assert_eq!(lines.missed() + within_timeout(lines.collect()).await.len() as u64, 50_000);
}

#[tokio::test]
async fn with_wait_nothing_is_lost_and_the_child_waits() {
    let output =
        OutputConfig { ring_bytes: 10_000, overflow: Overflow::Wait, ..OutputConfig::default() };
    let process = start(worker(&["print", "50000"]).output(output)).await;
    eventually("the ring is full", || process.stdout().held_bytes() > 9_900).await;
    assert!(process.wait_timeout(Duration::from_millis(50)).await.is_err(), "it has to wait");
    let err = tokio::spawn(process.stderr().lines().collect());
    assert_eq!(within_timeout(process.stdout().lines().collect()).await.len(), 50_000);
    assert_eq!(within_timeout(err).await.unwrap().len(), 50_000);
    assert!(within_timeout(process.wait()).await.status.success());
}

#[tokio::test]
async fn each_mode_captures_what_it_should() {
    for (mode, expected_out) in [(RpcMode::Stdio, 0), (RpcMode::Socket, 2)] {
        let (process, channel) = start_rpc(serving(mode)).await;
        // On stdio a print would disturb the protocol, so only the other mode prints.
        let out = if mode == RpcMode::Socket { json!(["a", "b"]) } else { json!([]) };
        let log = json!({"stdout": out, "stderr": ["c", "d"]});
        within_timeout(channel.request("log", &log, None)).await.unwrap();
        process.stop(TEST_TIMEOUT).await.unwrap();
        assert_eq!(within_timeout(process.stdout().lines().collect()).await.len(), expected_out);
        let err = within_timeout(process.stderr().lines().collect()).await;
        assert_eq!(texts(&err), ["c", "d"]);
    }
}

#[tokio::test]
async fn standard_input_is_empty_unless_it_carries_the_protocol() {
    for mode in [RpcMode::None, RpcMode::Socket] {
        let process = start(worker(&["stdin"]).rpc(mode)).await;
        assert_eq!(
            texts(&within_timeout(process.stdout().lines().collect()).await),
            ["stdin: \"\""]
        );
    }
}

#[tokio::test]
async fn the_tail_is_there_after_a_crash() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let log = json!({"stderr": ["one", "two", "three"]});
    within_timeout(channel.request("log", &log, None)).await.unwrap();
    within_timeout(channel.request("abort", &(), None)).await.unwrap_err();
    within_timeout(process.wait()).await;
    within_timeout(process.stderr().closed()).await;
    assert_eq!(texts(&process.stderr().tail(2)), ["two", "three"]);
}
