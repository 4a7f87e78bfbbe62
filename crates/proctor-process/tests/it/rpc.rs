//! The channel with well-behaved workers: requests, notifications, requests of the child.

use crate::support::*;
use proctor_process::protocol::{HostInfo, IncomingRequest, ReplyError, code};
use proctor_process::{
    ChannelConfig, CloseReason, Diagnostic, NotificationMode, Payload, RequestError, RpcMode,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn host() -> HostInfo {
    HostInfo { name: "proctor".to_owned(), version: "0".to_owned() }
}

#[tokio::test]
async fn hello_requests_errors_and_unknown_actions_over_both_transports() {
    for mode in [RpcMode::Stdio, RpcMode::Socket] {
        let (process, channel) = start_rpc(serving(mode)).await;
        let hello = channel.hello(host(), TEST_TIMEOUT).await.unwrap();
        assert_eq!((hello.protocol, hello.pid), (1, process.pid()));
        assert_eq!((&*hello.name, hello.capabilities), ("test", vec!["echo".to_owned()]));
        let sum =
            channel.request("add", &json!({"a": 2, "b": 40}), Some(TEST_TIMEOUT)).await.unwrap();
        assert_eq!(sum.body.value()["sum"], 42);
        let text = "ünï \n\t\"{}\u{1F600}";
        let echo =
            channel.request("echo", &json!({"text": text}), Some(TEST_TIMEOUT)).await.unwrap();
        assert_eq!(echo.body.value()["text"], text);
        for (action, expected) in
            [("fail", "bad_request"), ("panic", "failed"), ("nonsense", "unknown_action")]
        {
            match channel.request(action, &(), Some(TEST_TIMEOUT)).await {
                Err(RequestError::Failed { error, .. }) => assert_eq!(error.code, expected),
                other => panic!("{other:?}"),
            }
        }
        process.stop(TEST_TIMEOUT).await.unwrap();
    }
}

#[tokio::test]
async fn an_unsupported_protocol_is_refused_and_the_worker_exits() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let hello = json!({"protocol": 99, "host": {"name": "x", "version": "1"}});
    match within_timeout(channel.request("hello", &hello, None)).await {
        Err(RequestError::Failed { error, .. }) => {
            assert_eq!(error.code, code::UNSUPPORTED_PROTOCOL);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(within_timeout(process.wait()).await.status.code(), Some(3));
}

#[tokio::test]
async fn replies_come_in_any_order() {
    let (process, channel) = start_rpc(worker(&["serve", "4"]).rpc(RpcMode::Socket)).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = [400, 200, 0]
        .into_iter()
        .map(|ms| {
            let (channel, order) = (channel.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                let reply = channel.request("sleep", &json!({"ms": ms}), Some(TEST_TIMEOUT)).await;
                assert_eq!(reply.unwrap().body.value()["slept"], ms);
                order.lock().unwrap().push(ms);
            })
        })
        .collect();
    for task in tasks {
        within_timeout(task).await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 200, 400]);
    assert_eq!(channel.pending(), 0);
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_concurrent_requests_each_get_their_own_reply() {
    let (process, channel) = start_rpc(worker(&["serve", "3"]).rpc(RpcMode::Stdio)).await;
    let tasks: Vec<_> = (0..1000)
        .map(|number| {
            let channel = channel.clone();
            tokio::spawn(async move {
                let numbers = json!({"a": number, "b": 1});
                loop {
                    match channel.request("add", &numbers, Some(TEST_TIMEOUT)).await {
                        Ok(reply) => break assert_eq!(reply.body.value()["sum"], number + 1),
                        Err(RequestError::Failed { error, .. }) if error.code == code::BUSY => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        within_timeout(task).await.unwrap();
    }
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn messages_of_100_kb_and_1_mb_pass_in_both_directions() {
    for mode in [RpcMode::Stdio, RpcMode::Socket] {
        let (process, channel) = start_rpc(serving(mode)).await;
        for size in [100_000, 1_000_000] {
            let text = "y".repeat(size);
            let reply = within_timeout(channel.request("echo", &json!({"text": text}), None))
                .await
                .unwrap();
            assert_eq!(reply.body.value()["text"].as_str().unwrap().len(), size);
            let reply = within_timeout(channel.request("big", &json!({"bytes": size}), None))
                .await
                .unwrap();
            assert_eq!(reply.body.value()["text"].as_str().unwrap().len(), size);
        }
        process.stop(TEST_TIMEOUT).await.unwrap();
    }
}

#[tokio::test]
async fn a_timeout_forgets_the_request_and_a_late_reply_is_ignored() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let error =
        channel.request("sleep", &json!({"ms": 300}), Some(Duration::from_millis(30))).await;
    assert!(matches!(error, Err(RequestError::Timeout { .. })), "{error:?}");
    assert_eq!(channel.pending(), 0);
    let reply =
        within_timeout(channel.request("add", &json!({"a": 1, "b": 2}), None)).await.unwrap();
    assert_eq!(reply.body.value()["sum"], 3);
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn dropping_a_request_sends_cancel_request() {
    // The peer reads the request and then the cancel, and repeats that as a notification.
    let steps = ["read", "read", r#"write:{"type":"got","what":"ID"}\n"#, "wait-eof"];
    let (process, channel) = start_rpc(scripted(&steps, ChannelConfig::default())).await;
    let mut notifications = channel.notifications().unwrap();
    let request = channel.request("anything", &(), Some(Duration::from_millis(50)));
    assert!(matches!(request.await, Err(RequestError::Timeout { .. })));
    let got = within_timeout(notifications.next()).await.unwrap();
    assert_eq!((&*got.kind, &got.body.value()["what"]), ("got", &json!("r1")));
    process.kill().await.unwrap();
}

#[tokio::test]
async fn a_cancelled_request_that_has_not_begun_is_not_run() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let mut notifications = channel.notifications().unwrap();
    let busy = tokio::spawn({
        let channel = channel.clone();
        let nap = json!({"ms": 1500, "announce": true});
        async move { channel.request("sleep", &nap, None).await }
    });
    assert_eq!(&*within_timeout(notifications.next()).await.unwrap().kind, "sleeping");
    // Both the request and its cancel wait in the socket while the worker sleeps.
    let flood = json!({"count": 1});
    let dropped = channel.request("flood", &flood, Some(Duration::from_millis(5))).await;
    assert!(dropped.is_err());
    within_timeout(busy).await.unwrap().unwrap();
    within_timeout(channel.request("add", &json!({"a": 1, "b": 1}), None)).await.unwrap();
    assert!(notifications.try_next().is_none(), "the flood never happened");
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn notifications_arrive_in_order_by_queue_and_by_callback() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let called = Arc::clone(&seen);
    let call = NotificationMode::Call(Arc::new(move |notification| {
        let number = notification.body.value()["payload"]["number"].as_u64().unwrap();
        called.lock().unwrap().push(number);
    }));
    for mode in [NotificationMode::default(), call] {
        let config = ChannelConfig::default().notifications(mode);
        let (process, channel) = start_rpc(serving(RpcMode::Socket).channel(config)).await;
        let queue = channel.notifications();
        let taken = queue.map(|mut queue| {
            tokio::spawn(async move {
                let mut numbers = Vec::new();
                while let Some(notification) = queue.next().await {
                    let body = notification.body.value();
                    assert_eq!(
                        (&*notification.kind, &body["event_type"]),
                        ("event", &json!("Flood"))
                    );
                    numbers.push(body["payload"]["number"].as_u64().unwrap());
                }
                numbers
            })
        });
        within_timeout(channel.request("flood", &json!({"count": 5000}), None)).await.unwrap();
        process.stop(TEST_TIMEOUT).await.unwrap();
        let numbers = match taken {
            Some(taken) => within_timeout(taken).await.unwrap(),
            None => std::mem::take(&mut *seen.lock().unwrap()),
        };
        assert_eq!(numbers, (0..5000).collect::<Vec<_>>());
        assert!(channel.notifications().is_none(), "it can be taken once");
    }
}

#[tokio::test]
async fn heartbeats_of_another_thread_mix_with_replies() {
    let (process, channel) = start_rpc(serving(RpcMode::Stdio)).await;
    let mut notifications = channel.notifications().unwrap();
    channel.request("heartbeat", &json!({"count": 100}), Some(TEST_TIMEOUT)).await.unwrap();
    for number in 0..50 {
        let reply = within_timeout(channel.request("add", &json!({"a": number, "b": 0}), None))
            .await
            .unwrap();
        assert_eq!(reply.body.value()["sum"], number);
    }
    for number in 0..100 {
        let beat = within_timeout(notifications.next()).await.unwrap();
        assert_eq!((&*beat.kind, &beat.body.value()["number"]), ("heartbeat", &json!(number)));
    }
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn notifications_to_the_child_have_no_id_and_batches_arrive_whole() {
    let steps = [
        "read",
        r#"write:{"type":"got","id_seen":"[ID]"}\n"#,
        "read",
        "read",
        r#"write:{"type":"got","id_seen":"[ID]"}\n"#,
        "wait-eof",
    ];
    let (process, channel) = start_rpc(scripted(&steps, ChannelConfig::default())).await;
    let mut notifications = channel.notifications().unwrap();
    channel.notify("note", &json!({"text": "x"})).await.unwrap();
    assert_eq!(within_timeout(notifications.next()).await.unwrap().body.value()["id_seen"], "[]");
    assert!(channel.notify("note", &json!({"id": "x"})).await.is_err(), "reserved");
    let mut batch = channel.batch();
    assert!(batch.is_empty());
    batch.push("note", &json!({"n": 1})).unwrap();
    batch.push("note", &json!({"n": 2})).unwrap();
    assert!(batch.len() > 20);
    batch.send().await.unwrap();
    assert_eq!(within_timeout(notifications.next()).await.unwrap().body.value()["id_seen"], "[]");
    process.kill().await.unwrap();
}

async fn judge(request: IncomingRequest) -> proctor_process::HandlerResult {
    match &*request.action {
        "judge" => Payload::new(&json!({"satisfied": true, "asked": request.body.value()["q"]})),
        "slow" => {
            tokio::time::sleep(Duration::from_mins(1)).await;
            Ok(Payload::empty())
        }
        "panic" => panic!("this panic is part of the test"),
        "list" => Payload::new(&[1, 2]),
        other => Err(ReplyError::unknown_action(other)),
    }
}

#[tokio::test]
async fn the_child_asks_the_host_while_the_host_asks_the_child() {
    let config = ChannelConfig::default().handler(judge);
    let (process, channel) = start_rpc(serving(RpcMode::Socket).channel(config)).await;
    let ask = async |what: Value| {
        channel.request("ask", &what, Some(TEST_TIMEOUT)).await.unwrap().body.value()
    };
    let answer = ask(json!({"ask": "judge", "with": {"q": "polite?"}})).await;
    assert_eq!(answer["answer"]["satisfied"], true);
    assert_eq!(answer["answer"]["asked"], "polite?");
    let table = [("nonsense", "unknown_action"), ("panic", "failed"), ("list", "failed")];
    for (action, code) in table {
        let answer = ask(json!({"ask": action, "with": {}})).await;
        assert!(answer["failure"].as_str().unwrap().contains(code), "{action}: {answer}");
    }
    // The worker gives up, says so, and the host drops the handler and goes on.
    let answer = ask(json!({"ask": "slow", "with": {}, "timeout_ms": 30})).await;
    assert!(answer["failure"].as_str().unwrap().contains("did not reply"), "{answer}");
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn a_host_without_handler_answers_unknown_action() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let ask = json!({"ask": "judge", "with": {}});
    let answer = within_timeout(channel.request("ask", &ask, None)).await.unwrap().body.value();
    assert!(answer["failure"].as_str().unwrap().contains("unknown_action"), "{answer}");
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn too_many_requests_of_the_child_are_answered_busy() {
    let mut config = ChannelConfig::default().handler(judge);
    config.max_handlers = 2;
    let ask = |id: &str| format!(r#"write:{{"id":"{id}","action":"slow"}}\n"#);
    let (a, b, c) = (ask("a"), ask("b"), ask("c"));
    // The third gets a reply, whose sight makes the peer report and cancel the first.
    let steps = [
        &*a,
        &b,
        &c,
        "read",
        r#"write:{"type":"refused"}\n"#,
        r#"write:{"type":"cancel_request","id":"a"}\n"#,
        "read",
        r#"write:{"type":"cancelled"}\n"#,
        "wait-eof",
    ];
    let (process, channel) = start_rpc(scripted(&steps, config)).await;
    let mut notifications = channel.notifications().unwrap();
    assert_eq!(&*within_timeout(notifications.next()).await.unwrap().kind, "refused");
    assert_eq!(&*within_timeout(notifications.next()).await.unwrap().kind, "cancelled");
    process.kill().await.unwrap();
}

#[tokio::test]
async fn handler_panics_are_reported() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let config = ChannelConfig::default()
        .handler(judge)
        .diagnostics(move |diagnostic| sink.lock().unwrap().push(diagnostic));
    let (process, channel) = start_rpc(serving(RpcMode::Socket).channel(config)).await;
    within_timeout(channel.request("ask", &json!({"ask": "panic", "with": {}}), None))
        .await
        .unwrap();
    let seen = seen.lock().unwrap().clone();
    assert!(matches!(&seen[..], [Diagnostic::HandlerPanicked { action, .. }] if action == "panic"));
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn closing_the_channel_ends_pending_requests_and_the_worker() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let pending = tokio::spawn({
        let channel = channel.clone();
        async move { channel.request("sleep", &json!({"ms": 100}), None).await }
    });
    eventually("one request is open", || channel.pending() == 1).await;
    channel.close();
    match within_timeout(pending).await.unwrap() {
        Err(RequestError::Closed { closed, .. }) => {
            assert_eq!(closed.reason, CloseReason::ClosedHere);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(within_timeout(channel.closed()).await, CloseReason::ClosedHere);
    assert!(channel.is_closed());
    let error = channel.request("add", &(), None).await.unwrap_err();
    assert!(error.to_string().contains("closed on this side"), "{error}");
    assert!(channel.notify("x", &()).await.is_err());
    // End of file means that the host is gone.
    assert!(within_timeout(process.wait()).await.status.success());
}

#[tokio::test]
async fn a_crash_ends_pending_requests_with_a_clear_error() {
    for mode in [RpcMode::Stdio, RpcMode::Socket] {
        let (process, channel) = start_rpc(worker(&["serve", "2"]).rpc(mode)).await;
        let pending: Vec<_> = (0..5)
            .map(|_| {
                let channel = channel.clone();
                tokio::spawn(
                    async move { channel.request("sleep", &json!({"ms": 50_000}), None).await },
                )
            })
            .collect();
        eventually("all are open", || channel.pending() == 5).await;
        process.signal(libc::SIGABRT).await.unwrap();
        for task in pending {
            match within_timeout(task).await.unwrap() {
                Err(error @ RequestError::Closed { .. }) => {
                    assert!(error.to_string().contains("other side closed it"), "{error}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(within_timeout(process.wait()).await.status.signal(), Some(libc::SIGABRT));
    }
}
