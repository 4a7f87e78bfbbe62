//! The helper for writing workers, from the host's side.

use crate::support::*;
use proctor_process::{ChannelConfig, Payload, RpcMode};
use serde_json::json;

#[tokio::test]
async fn a_worker_whose_host_goes_away_exits_with_zero() {
    for mode in [RpcMode::Stdio, RpcMode::Socket] {
        let (process, channel) = start_rpc(serving(mode)).await;
        channel.close();
        assert!(within_timeout(process.wait()).await.status.success());
    }
}

#[tokio::test]
async fn a_worker_with_several_threads_shuts_down_while_one_reads() {
    let (process, channel) = start_rpc(worker(&["serve", "4"]).rpc(RpcMode::Socket)).await;
    within_timeout(channel.request("add", &json!({"a": 1, "b": 1}), None)).await.unwrap();
    let reply = channel.shutdown(TEST_TIMEOUT).await.unwrap();
    assert_eq!(reply.body.value()["status"], "shutting_down");
    assert!(within_timeout(process.wait()).await.status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_threads_of_a_worker_ask_the_host_at_once() {
    let config = ChannelConfig::default().handler(
        |request: proctor_process::protocol::IncomingRequest| async move {
            tokio::task::yield_now().await;
            Payload::new(&json!({"back": request.body.value()["q"]}))
        },
    );
    let spec = worker(&["serve", "4"]).rpc(RpcMode::Socket).channel(config);
    let (process, channel) = start_rpc(spec).await;
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let channel = channel.clone();
            tokio::spawn(async move {
                let ask = json!({"ask": "mirror", "with": {"q": number}});
                let reply = channel.request("ask", &ask, Some(TEST_TIMEOUT)).await.unwrap();
                assert_eq!(reply.body.value()["answer"]["back"], number);
            })
        })
        .collect();
    for task in tasks {
        within_timeout(task).await.unwrap();
    }
    process.stop(TEST_TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn a_reply_above_the_limit_is_an_error_not_silence() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let error = within_timeout(channel.request("big", &json!({"bytes": 9_000_000}), None))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("too_large"), "{error}");
    process.stop(TEST_TIMEOUT).await.unwrap();
}
