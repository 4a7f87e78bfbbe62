//! Descriptors: none leak, a child sees only its own.

use crate::support::*;
use proctor_process::{Guard, RpcMode};
use serde_json::json;

#[tokio::test]
async fn fifty_cycles_leak_no_descriptor_and_no_zombie() {
    let process = start(worker(&["cycles", GUARD])).await;
    let line = within_timeout(process.stdout().lines().next()).await.unwrap();
    let numbers: Vec<usize> = line.text.split(' ').map(|word| word.parse().unwrap()).collect();
    assert_eq!(numbers[0], numbers[1], "descriptors before and after: {}", line.text);
    assert_eq!(numbers[2], 0, "children left: {}", line.text);
    assert!(within_timeout(process.wait()).await.status.success());
}

#[tokio::test]
async fn a_child_sees_only_its_standard_streams_and_the_rpc_socket() {
    // A descriptor of ours that would be inherited if nobody took care.
    let foreign = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&foreign, rustix::io::FdFlags::empty()).unwrap();
    for guard in [guard(), Guard::None] {
        let mut spec = serving(RpcMode::Socket);
        if guard == Guard::None {
            spec = proctor_process::ProcessSpec::new(
                [WORKER, "serve", "1"],
                proctor_process::ChildEnvironment::inherited(),
                Guard::None,
            )
            .rpc(RpcMode::Socket);
        }
        let (process, channel) = start_rpc(spec).await;
        let reply = within_timeout(channel.request("fds", &(), None)).await.unwrap();
        let fds = reply.body.value()["fds"].as_array().unwrap().len();
        // 0, 1, 2, the socket, and the worker's own second handle on it.
        assert_eq!(fds, 5, "{:?} with {guard:?}", reply.body);
        process.kill().await.unwrap();
    }
    drop(foreign);
}

#[tokio::test]
async fn the_guard_holds_nothing_of_the_child() {
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    within_timeout(channel.request("add", &json!({"a": 1, "b": 1}), None)).await.unwrap();
    let guard = own_children()[0];
    eventually("the guard has let go", || {
        // Its socket, /dev/null twice, its own copy of the socket, the signal descriptor.
        std::fs::read_dir(format!("/proc/{guard}/fd")).unwrap().count() <= 5
    })
    .await;
    process.kill().await.unwrap();
}
