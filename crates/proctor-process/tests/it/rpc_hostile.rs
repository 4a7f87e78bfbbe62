//! The channel with peers that misbehave: malformed, huge, silent, slow, gone.

use crate::support::*;
use proctor_process::{
    ChannelConfig, CloseReason, Diagnostic, NotificationMode, RequestError, RpcMode,
};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Seen = Arc<Mutex<Vec<Diagnostic>>>;

fn watched() -> (ChannelConfig, Seen) {
    let seen = Seen::default();
    let sink = Arc::clone(&seen);
    let config = ChannelConfig::default()
        .diagnostics(move |diagnostic| sink.lock().unwrap().push(diagnostic));
    (config, seen)
}

const OK: &str = r#"write:{"reply_to":"ID","ok":true}\n"#;

#[tokio::test]
async fn malformed_lines_are_reported_and_skipped() {
    let (config, seen) = watched();
    let steps = [
        "read",
        r"write:not json\n",
        r"write:\n  \n",
        r"write:[1,2]\n",
        r#"write:{"id":1,"action":"x"}\n"#,
        r"write:\xff\xfe\n",
        OK,
        "wait-eof",
    ];
    let (process, channel) = start_rpc(scripted(&steps, config)).await;
    let reply = within_timeout(channel.request("x", &(), None)).await.unwrap();
    assert_eq!(reply.body.value()["ok"], true);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert!(matches!(&seen[0], Diagnostic::MalformedLine { excerpt, .. } if excerpt == "not json"));
    assert!(matches!(&seen[3], Diagnostic::NotUtf8 { .. }));
    assert!(seen[0].to_string().contains("proctor-test-worker"), "{}", seen[0]);
    process.kill().await.unwrap();
}

#[tokio::test]
async fn a_line_above_the_limit_is_dropped_without_growing_memory() {
    let (mut config, seen) = watched();
    config.max_line = 100_000;
    let steps = ["read", "fill:50000000", r"write:\n", OK, "wait-eof"];
    let (process, channel) = start_rpc(scripted(&steps, config)).await;
    let before = peak_memory();
    let reply = within_timeout(channel.request("x", &(), None)).await.unwrap();
    assert_eq!(reply.body.value()["ok"], true);
    let grown = peak_memory().saturating_sub(before);
    assert!(grown < 10_000, "{grown} KiB more");
    let seen = seen.lock().unwrap().clone();
    assert!(
        matches!(&seen[..], [Diagnostic::LineTooLong { len: 50_000_000, limit: 100_000, .. }]),
        "{seen:?}"
    );
    process.kill().await.unwrap();
}

/// Highest resident size of this process so far, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_request_above_the_limit_is_refused_before_it_is_sent() {
    let (mut config, _) = watched();
    config.max_line = 1000;
    let (process, channel) = start_rpc(serving(RpcMode::Socket).channel(config)).await;
    let big = json!({"text": "x".repeat(2000)});
    let error = channel.request("echo", &big, None).await.unwrap_err();
    assert!(matches!(error, RequestError::Encode { .. }) && error.to_string().contains("1000"));
    assert_eq!(channel.pending(), 0);
    let fine = within_timeout(channel.request("add", &json!({"a": 1, "b": 1}), None)).await;
    assert!(fine.is_ok());
    process.kill().await.unwrap();
}

#[tokio::test]
async fn a_complete_last_line_without_line_feed_counts() {
    let steps = ["read", r#"write:{"reply_to":"ID","last":true}"#, "exit:0"];
    let (_process, channel) = start_rpc(scripted(&steps, ChannelConfig::default())).await;
    let reply = within_timeout(channel.request("x", &(), None)).await.unwrap();
    assert_eq!(reply.body.value()["last"], true);
}

#[tokio::test]
async fn a_torn_last_line_is_reported_and_the_request_ends() {
    let (config, seen) = watched();
    let steps = ["read", r#"write:{"reply_to":"ID","la"#, "exit:0"];
    let (_process, channel) = start_rpc(scripted(&steps, config)).await;
    let error = within_timeout(channel.request("x", &(), None)).await.unwrap_err();
    assert!(matches!(error, RequestError::Closed { .. }));
    let seen = seen.lock().unwrap().clone();
    assert!(matches!(&seen[..], [Diagnostic::MalformedLine { .. }]), "{seen:?}");
}

#[tokio::test]
async fn a_peer_that_closes_early_but_lives_on_ends_the_channel_only() {
    let steps = ["read", "close", "wait-eof", "sleep:60000"];
    let (process, channel) = start_rpc(scripted(&steps, ChannelConfig::default())).await;
    let error = within_timeout(channel.request("x", &(), None)).await.unwrap_err();
    assert!(matches!(error, RequestError::Closed { .. }));
    assert_eq!(within_timeout(channel.closed()).await, CloseReason::EndOfFile);
    assert!(process.is_alive());
    // Nobody to ask, so stop begins with SIGTERM.
    let report = process.stop(Duration::from_mins(1)).await.unwrap();
    assert_eq!(report.status.signal(), Some(libc::SIGTERM));
}

#[tokio::test]
async fn replies_to_nothing_are_ignored() {
    let steps =
        ["read", r#"write:{"reply_to":"r99"}\n{"reply_to":"?"}\n"#, OK, OK, "read", OK, "wait-eof"];
    let (process, channel) = start_rpc(scripted(&steps, ChannelConfig::default())).await;
    within_timeout(channel.request("x", &(), None)).await.unwrap();
    within_timeout(channel.request("y", &(), None)).await.unwrap();
    process.kill().await.unwrap();
}

#[tokio::test]
async fn a_request_without_action_is_answered_bad_request() {
    let steps = [r#"write:{"id":"w1"}\n"#, "read", r#"write:{"type":"answered"}\n"#, "wait-eof"];
    let (process, channel) = start_rpc(scripted(&steps, ChannelConfig::default())).await;
    let mut notifications = channel.notifications().unwrap();
    assert_eq!(&*within_timeout(notifications.next()).await.unwrap().kind, "answered");
    process.kill().await.unwrap();
}

#[tokio::test]
async fn a_slow_consumer_makes_the_child_wait_and_loses_nothing() {
    let (config, seen) = watched();
    let config = config.notifications(NotificationMode::Queue { count: 16, bytes: 1 << 20 });
    let (process, channel) = start_rpc(serving(RpcMode::Socket).channel(config)).await;
    let mut notifications = channel.notifications().unwrap();
    let request = json!({"count": 20_000});
    let flood = tokio::spawn({
        let channel = channel.clone();
        async move { channel.request("flood", &request, None).await }
    });
    let paused =
        || seen.lock().unwrap().iter().any(|d| matches!(d, Diagnostic::ReadingPaused { .. }));
    eventually("reading pauses", paused).await;
    // The reply sits behind what nobody takes; the error says so.
    let stuck =
        channel.request("add", &json!({"a": 1, "b": 1}), Some(Duration::from_millis(50))).await;
    match stuck {
        Err(RequestError::Timeout { reading_paused: true, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert!(!flood.is_finished());
    for number in 0..20_000 {
        let notification = within_timeout(notifications.next()).await.unwrap();
        assert_eq!(notification.body.value()["payload"]["number"], number);
    }
    within_timeout(flood).await.unwrap().unwrap();
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn the_queue_is_bounded_by_bytes_too() {
    let (config, seen) = watched();
    let config = config.notifications(NotificationMode::Queue { count: 1000, bytes: 1000 });
    let big = format!(r#"write:{{"type":"big","text":"{}"}}\n"#, "x".repeat(3000));
    let steps = [&*big, &big, &big, "wait-eof"];
    let (process, channel) = start_rpc(scripted(&steps, config)).await;
    eventually("reading pauses", || !seen.lock().unwrap().is_empty()).await;
    let mut notifications = channel.notifications().unwrap();
    for _ in 0..3 {
        assert_eq!(&*within_timeout(notifications.next()).await.unwrap().kind, "big");
    }
    process.kill().await.unwrap();
}

#[tokio::test]
async fn pending_requests_end_although_nobody_takes_notifications() {
    let (config, _) = watched();
    let config = config.notifications(NotificationMode::Queue { count: 4, bytes: 1 << 20 });
    let (process, channel) = start_rpc(serving(RpcMode::Socket).channel(config)).await;
    let mut notifications = channel.notifications().unwrap();
    let request = json!({"count": 100_000});
    let flood = tokio::spawn({
        let channel = channel.clone();
        async move { channel.request("flood", &request, None).await }
    });
    eventually("a request is open", || channel.pending() == 1).await;
    process.kill().await.unwrap();
    assert!(within_timeout(flood).await.unwrap().is_err());
    // What the kernel still held is there, in order, and then the end.
    let mut expected = 0;
    while let Some(notification) = within_timeout(notifications.next()).await {
        assert_eq!(notification.body.value()["payload"]["number"], expected);
        expected += 1;
    }
    assert!(channel.is_closed());
}

#[tokio::test]
async fn dropping_the_queue_discards_and_the_channel_goes_on() {
    let config = ChannelConfig::default()
        .notifications(NotificationMode::Queue { count: 4, bytes: 1 << 20 });
    let (process, channel) = start_rpc(serving(RpcMode::Socket).channel(config)).await;
    drop(channel.notifications());
    within_timeout(channel.request("flood", &json!({"count": 10_000}), None)).await.unwrap();
    process.stop(TEST_TIMEOUT).await.unwrap();
    let config = ChannelConfig::default().notifications(NotificationMode::Discard);
    let (process, channel) = start_rpc(serving(RpcMode::Stdio).channel(config)).await;
    assert!(channel.notifications().is_none());
    within_timeout(channel.request("flood", &json!({"count": 10_000}), None)).await.unwrap();
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn senders_wait_for_a_child_that_does_not_read() {
    let process = start(worker(&["deaf"]).rpc(RpcMode::Socket)).await;
    let channel = process.rpc().unwrap();
    let payload = json!({"text": "x".repeat(50_000)});
    let mut sent = 0;
    loop {
        let send = channel.notify("note", &payload);
        match tokio::time::timeout(Duration::from_millis(200), send).await {
            Ok(outcome) => outcome.unwrap(),
            Err(_) => break,
        }
        sent += 1;
        assert!(sent < 1000, "50 MB were swallowed: no back-pressure");
    }
    assert!(sent > 3, "{sent}");
    // The end of the child wakes whoever waits.
    let waiting = tokio::spawn({
        let channel = channel.clone();
        let payload = payload.clone();
        async move { channel.notify("note", &payload).await }
    });
    process.kill().await.unwrap();
    assert!(within_timeout(waiting).await.unwrap().is_err());
}

#[tokio::test]
async fn a_sender_that_gives_up_leaves_no_half_line() {
    let (process, channel) = start_rpc(serving(RpcMode::Stdio)).await;
    let text = "z".repeat(300_000);
    let mut given_up = 0;
    for number in 0..60 {
        let payload = json!({"text": text});
        let timeout = Some(Duration::from_micros(number * 50));
        given_up += usize::from(channel.request("echo", &payload, timeout).await.is_err());
    }
    assert!(given_up > 0);
    let reply =
        within_timeout(channel.request("add", &json!({"a": 20, "b": 3}), None)).await.unwrap();
    assert_eq!(reply.body.value()["sum"], 23);
    process.stop(TEST_TIMEOUT).await.unwrap();
}
