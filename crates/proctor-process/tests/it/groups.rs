//! Groups that fail together, and supervised slots.

use crate::support::*;
use proctor_process::{
    ExitStatus, GroupSpec, RpcMode, Supervisor, WorkerEventKind, WorkerFailure, WorkerGroup,
};
use serde_json::json;
use std::time::{Duration, Instant};

async fn group(size: u32) -> WorkerGroup {
    let process = serving(RpcMode::Socket);
    WorkerGroup::start(GroupSpec { process, size }).await.unwrap()
}

#[tokio::test]
async fn every_worker_knows_its_index_and_has_its_own_channel() {
    let group = group(3).await;
    assert_eq!((group.len(), group.is_empty(), group.is_alive()), (3, false, true));
    for (index, worker) in group.workers().iter().enumerate() {
        let request = json!({"index": 99});
        let reply = soon(worker.rpc().unwrap().request("fail_if_index", &request, None)).await;
        assert_eq!(reply.unwrap().body.value()["index"], index);
    }
    assert!(group.get(2).is_some() && group.get(3).is_none());
    let reports = group.stop(PATIENCE).await.unwrap();
    assert!(reports.iter().all(|report| report.status.success()));
    assert_eq!(group.failure(), None);
    assert_eq!(soon(group.wait_for_failure()).await, None);
    assert!(!group.is_alive());
}

#[tokio::test]
async fn the_first_failure_is_named_and_ends_the_others() {
    let group = group(4).await;
    for worker in group.workers() {
        let request = json!({"index": 2});
        drop(soon(worker.rpc().unwrap().request("fail_if_index", &request, None)).await);
    }
    let failure = soon(group.wait_for_failure()).await.unwrap();
    assert_eq!(failure, WorkerFailure { index: 2, status: ExitStatus::Code(7) });
    assert!(failure.to_string().contains("worker 2 failed: exit code 7"), "{failure}");
    let reports = soon(group.wait()).await;
    for index in [0, 1, 3] {
        assert_eq!(reports[index].status, ExitStatus::Signal(libc::SIGKILL));
    }
    assert_eq!(group.failure(), Some(failure), "the others' end is no further failure");
}

#[tokio::test]
async fn a_zero_exit_is_no_failure() {
    let group = group(2).await;
    let first = group.get(0).unwrap();
    drop(soon(first.rpc().unwrap().request("exit", &json!({"code": 0}), None)).await);
    assert!(soon(first.wait()).await.status.success());
    assert_eq!(group.failure(), None);
    assert!(group.get(1).unwrap().is_alive() && !group.is_alive());
    assert!(group.wait_timeout(Duration::from_millis(20)).await.is_err());
    group.kill().await.unwrap();
    assert_eq!(group.failure(), None, "killed on purpose");
}

#[tokio::test]
async fn workers_are_stopped_in_parallel() {
    let process = deaf_to_sigterm(&["deaf"]);
    let group = WorkerGroup::start(GroupSpec { process, size: 4 }).await.unwrap();
    for worker in group.workers() {
        soon(worker.stdout().lines().next()).await.unwrap();
    }
    let begun = Instant::now();
    let timeout = Duration::from_secs(4);
    let reports = group.stop(timeout).await.unwrap();
    assert!(begun.elapsed() <= timeout, "{:?}", begun.elapsed());
    assert!(reports.iter().all(|report| report.status.signal() == Some(libc::SIGKILL)));
}

#[tokio::test]
async fn a_group_that_cannot_be_started_leaves_nothing() {
    let process = proctor_process::ProcessSpec::new(["/no/such/program"], guard());
    assert!(WorkerGroup::start(GroupSpec { process, size: 3 }).await.is_err());
    eventually("nothing is left", || own_children().is_empty()).await;
}

#[tokio::test]
async fn dropping_a_group_ends_it() {
    let group = group(2).await;
    let pids: Vec<_> = group.workers().iter().map(|worker| worker.pid().unwrap()).collect();
    drop(group);
    eventually("all are gone", || pids.iter().all(|pid| !exists(*pid))).await;
}

#[tokio::test]
async fn supervised_exits_are_events_and_slots_are_filled_again() {
    let (supervisor, mut events) = Supervisor::new();
    let spec = serving(RpcMode::Socket);
    let (generation, first) = supervisor.start(3, spec.clone()).await.unwrap();
    assert_eq!(generation, 0);
    let started = soon(events.recv()).await.unwrap();
    let pid = first.pid().unwrap();
    assert_eq!(
        (started.slot, started.generation, started.kind),
        (3, 0, WorkerEventKind::Started { pid })
    );
    let channel = first.rpc().unwrap();
    let reply = soon(channel.request("fail_if_index", &json!({"index": 9}), None)).await.unwrap();
    assert_eq!(reply.body.value()["index"], 3);

    drop(soon(channel.request("exit", &json!({"code": 42}), None)).await);
    let exited = soon(events.recv()).await.unwrap();
    assert_eq!((exited.slot, exited.kind.status()), (3, Some(ExitStatus::Code(42))));
    assert!(exited.kind.is_failure());

    let (generation, second) = supervisor.start(3, spec.clone()).await.unwrap();
    assert_eq!((generation, supervisor.get(3).unwrap().pid()), (1, second.pid()));
    assert_eq!(soon(events.recv()).await.unwrap().generation, 1);
    supervisor.stop(3, PATIENCE).await.unwrap();
    let exited = soon(events.recv()).await.unwrap();
    assert!(matches!(exited.kind, WorkerEventKind::Exited { expected: true, .. }));
    assert!(!exited.kind.is_failure());
    supervisor.stop(77, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn starting_in_a_taken_slot_replaces_the_process() {
    let (supervisor, mut events) = Supervisor::new();
    for slot in 0..3 {
        supervisor.start(slot, worker(&["sleep"])).await.unwrap();
    }
    let old = supervisor.get(1).unwrap();
    supervisor.start(1, worker(&["sleep"])).await.unwrap();
    assert_eq!(soon(old.wait()).await.status.signal(), Some(libc::SIGKILL));
    supervisor.stop_all(PATIENCE).await.unwrap();
    let (mut started, mut exited) = (0, 0);
    while exited < 4 {
        match soon(events.recv()).await.unwrap().kind {
            WorkerEventKind::Started { .. } => started += 1,
            kind @ WorkerEventKind::Exited { .. } => {
                assert!(!kind.is_failure());
                exited += 1;
            }
        }
    }
    assert_eq!(started, 4);
    supervisor.kill_all().await.unwrap();
}
