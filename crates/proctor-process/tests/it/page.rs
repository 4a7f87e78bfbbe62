//! The protocol page is true: its ten-line worker, taken from the page itself, works.

use crate::support::*;
use proctor_process::protocol::HostInfo;
use proctor_process::{ChildEnvironment, ProcessSpec, RequestError, RpcMode};
use serde_json::json;

const PAGE: &str = include_str!("../../../../docs/protocol.md");

fn ruby_of_the_page() -> &'static str {
    let (_, rest) = PAGE.split_once("```ruby\n").expect("the page has a Ruby example");
    rest.split_once("```").unwrap().0
}

#[tokio::test]
async fn the_ruby_worker_of_the_page_says_hello_refuses_and_shuts_down() {
    if std::process::Command::new("ruby").arg("-v").output().is_err() {
        // Nothing to prove without the language; every place that matters has it.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("worker.rb");
    std::fs::write(&script, ruby_of_the_page()).unwrap();
    for mode in [RpcMode::Stdio, RpcMode::Socket] {
        let argv = ["ruby", "--disable-gems", script.to_str().unwrap()];
        let (process, channel) =
            start_rpc(ProcessSpec::new(argv, ChildEnvironment::inherited(), guard()).rpc(mode))
                .await;
        let host = HostInfo { name: "proctor".to_owned(), version: "0".to_owned() };
        let hello = channel.hello(host, TEST_TIMEOUT).await.unwrap();
        assert_eq!((hello.protocol, &*hello.name, hello.pid), (1, "mine", process.pid()));
        match channel.request("no such thing", &json!({}), Some(TEST_TIMEOUT)).await {
            Err(RequestError::Failed { error, .. }) => assert_eq!(error.code, "unknown_action"),
            other => panic!("{other:?}"),
        }
        let reply = channel.shutdown(TEST_TIMEOUT).await.unwrap();
        assert_eq!(reply.body.value()["status"], "shutting_down");
        assert!(within_timeout(process.wait()).await.status.success());
    }
}

#[test]
fn every_name_of_the_protocol_is_on_the_page() {
    use proctor_process::protocol::{action, code, kind, var};
    let names = [
        action::HELLO,
        action::SHUTDOWN,
        kind::CONNECT,
        kind::CANCEL_REQUEST,
        kind::EVENT,
        kind::LOG,
        code::UNKNOWN_ACTION,
        code::BAD_REQUEST,
        code::FAILED,
        code::CANCELLED,
        code::TOO_LARGE,
        code::UNSUPPORTED_PROTOCOL,
        code::BUSY,
        var::RPC_SOCKET_FD,
        var::RPC_SOCKET_PATH,
        var::RPC_TOKEN,
        var::WORKER_INDEX,
    ];
    for name in names {
        assert!(PAGE.contains(name), "the page does not mention {name}");
    }
}
