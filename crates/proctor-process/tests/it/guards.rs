//! The guard: whole trees end, daemons included, whoever ends first.

use crate::support::*;
use proctor_process::{ChildEnvironment, ExitStatus, Guard, ProcessSpec, RpcMode, State};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

async fn standing_tree(token: &str) -> proctor_process::ManagedProcess {
    let process = start(worker(&["tree", token])).await;
    within_timeout(process.stdout().lines().next()).await.unwrap();
    wait_for_processes(token, 4).await;
    process
}

#[tokio::test]
async fn kill_ends_the_whole_tree() {
    let token = token();
    let process = standing_tree(&token).await;
    let report = within_timeout(process.kill()).await.unwrap();
    assert_eq!(alive_with(&token), [0; 0]);
    assert_eq!(report.status, ExitStatus::Signal(libc::SIGKILL));
    assert!(report.leaked.is_empty(), "killed on purpose: {:?}", report.leaked);
}

#[tokio::test]
async fn stop_leaves_no_daemon_behind_and_names_it() {
    let token = token();
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let kinds = json!({"token": token, "kinds": ["plain", "session", "daemon"]});
    within_timeout(channel.request("spawn", &kinds, None)).await.unwrap();
    let mut alive = wait_for_processes(&token, 3).await;
    alive.sort_unstable();
    let report = process.stop(TEST_TIMEOUT).await.unwrap();
    assert_eq!(alive_with(&token), [0; 0]);
    assert_eq!(report.status, ExitStatus::Code(0));
    let mut leaked: Vec<u32> = report.leaked.iter().map(|leaked| leaked.pid).collect();
    leaked.sort_unstable();
    assert_eq!(leaked, alive);
    assert!(report.leaked.iter().all(|leaked| leaked.command.contains(&token)));
}

#[tokio::test]
async fn a_crash_leaves_nothing_behind() {
    let token = token();
    let (process, channel) = start_rpc(serving(RpcMode::Stdio)).await;
    let kinds = json!({"token": token, "kinds": ["daemon", "session"]});
    within_timeout(channel.request("spawn", &kinds, None)).await.unwrap();
    within_timeout(channel.request("exit", &json!({"code": 42}), None)).await.unwrap_err();
    let report = within_timeout(process.wait()).await;
    assert_eq!((report.status, report.leaked.len()), (ExitStatus::Code(42), 2));
    assert_eq!(alive_with(&token), [0; 0]);
}

#[tokio::test]
async fn the_guard_has_no_variable_but_the_home() {
    let process = start(worker(&["sleep"])).await;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid().unwrap())).unwrap();
    // Behind the name, which may hold anything: state, then parent.
    let guard = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap();
    let command = std::fs::read_to_string(format!("/proc/{guard}/cmdline")).unwrap();
    assert!(command.contains(GUARD), "{command}");
    let variables = std::fs::read_to_string(format!("/proc/{guard}/environ")).unwrap();
    let home = std::env::var("HOME").map(|home| format!("HOME={home}\0"));
    assert_eq!(variables, home.unwrap_or_default());
    within_timeout(process.kill()).await.unwrap();
}

#[tokio::test]
async fn an_ordinary_exit_leaks_nothing() {
    for _ in 0..10 {
        let report = within_timeout(start(worker(&["exit", "0"])).await.wait()).await;
        assert!(report.leaked.is_empty());
    }
}

#[tokio::test]
async fn a_host_killed_by_sigkill_takes_its_tree_along() {
    let token = token();
    // Its own tree must not be ours, or our guard would do the work.
    let argv = [WORKER, "host", &token, GUARD];
    let host = start(ProcessSpec::new(argv, ChildEnvironment::inherited(), Guard::None)).await;
    assert_eq!(&*within_timeout(host.stdout().lines().next()).await.unwrap().text, "host ready");
    wait_for_processes(&token, 5).await;
    send(host.pid().unwrap(), Signal::KILL);
    within_timeout(host.wait()).await;
    eventually("nothing is left", || alive_with(&token).is_empty()).await;
}

#[tokio::test]
async fn a_storm_of_daemons_is_ended() {
    let token = token();
    let process = start(worker(&["fork-storm", &token])).await;
    eventually("the storm has risen", || alive_with(&token).len() > 5).await;
    within_timeout(process.kill()).await.unwrap();
    assert_eq!(alive_with(&token), [0; 0]);
}

#[tokio::test]
async fn signals_from_the_terminal_do_not_reach_guard_or_child() {
    let process = start(worker(&["sleep"])).await;
    let guard = own_children()[0];
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1] {
        send(guard, signal);
    }
    // The child and the guard are in a session of their own, so a terminal's signal finds neither.
    let own = session_of(std::process::id());
    for pid in [guard, process.pid().unwrap()] {
        assert_ne!(session_of(pid), own);
    }
    process.signal(libc::SIGUSR2).await.unwrap();
    assert_eq!(within_timeout(process.wait()).await.status, ExitStatus::Signal(libc::SIGUSR2));
}

#[tokio::test]
async fn a_killed_guard_takes_the_child_along_and_the_loss_is_said() {
    let process = start(worker(&["sleep"])).await;
    let pid = process.pid().unwrap();
    send(own_children()[0], Signal::KILL);
    let report = within_timeout(process.wait()).await;
    assert_eq!((report.status, process.state()), (ExitStatus::Lost, State::Exited));
    // Its new parent is not ours to hurry, so a zombie will do.
    eventually("the child is dead", || matches!(state_of(pid), None | Some('Z'))).await;
    assert!(own_children().is_empty());
}

#[tokio::test]
async fn a_stopped_guard_does_not_save_the_tree() {
    let process = start(worker(&["sleep"])).await;
    let pid = process.pid().unwrap();
    send(own_children()[0], Signal::STOP);
    let report = within_timeout(process.kill()).await.unwrap();
    assert_eq!(report.status, ExitStatus::Lost);
    // Its new parent is not ours to hurry, so a zombie will do.
    eventually("the child is dead", || matches!(state_of(pid), None | Some('Z'))).await;
}

#[tokio::test]
async fn adopted_orphans_are_reaped_while_the_child_lives() {
    let token = token();
    let (process, channel) = start_rpc(serving(RpcMode::Socket)).await;
    let kinds = json!({"token": token, "kinds": ["daemon"]});
    within_timeout(channel.request("spawn", &kinds, None)).await.unwrap();
    let orphan = wait_for_processes(&token, 1).await[0];
    send(orphan, Signal::KILL);
    eventually("the orphan is reaped, not a zombie", || !exists(orphan)).await;
    assert!(process.is_alive());
    process.kill().await.unwrap();
}

#[tokio::test]
async fn without_a_guard_the_group_is_killed() {
    let token = token();
    let spec = ProcessSpec::new([WORKER, "serve", "1"], ChildEnvironment::inherited(), Guard::None)
        .rpc(RpcMode::Socket);
    let (process, channel) = start_rpc(spec).await;
    let kinds = json!({"token": token, "kinds": ["plain"]});
    within_timeout(channel.request("spawn", &kinds, None)).await.unwrap();
    wait_for_processes(&token, 1).await;
    process.stop(TEST_TIMEOUT).await.unwrap();
    eventually("the group is gone", || alive_with(&token).is_empty()).await;
    assert!(own_children().is_empty(), "no zombie");
}
