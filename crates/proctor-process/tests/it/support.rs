//! What the tests share: specifications, deadlines, a look at the process table.

use proctor_process::{
    Channel, ChannelConfig, ChildEnvironment, Guard, GuardCommand, ManagedProcess, ProcessSpec,
    RpcMode,
};
use std::future::Future;
use std::time::{Duration, Instant};

pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_proctor-test-worker");
pub(crate) const GUARD: &str = env!("CARGO_BIN_EXE_proctor-test-guard");
/// Far above what anything here takes, even on a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn guard() -> Guard {
    Guard::Program(GuardCommand::new(GUARD, Vec::<String>::new()))
}

/// Runs the test worker in a mode, under guard.
pub(crate) fn worker(args: &[&str]) -> ProcessSpec {
    worker_in(ChildEnvironment::inherited(), args)
}

/// The same with another environment.
pub(crate) fn worker_in(environment: ChildEnvironment, args: &[&str]) -> ProcessSpec {
    let argv = std::iter::once(WORKER).chain(args.iter().copied());
    ProcessSpec::new(argv, environment, guard())
}

pub(crate) fn serving(mode: RpcMode) -> ProcessSpec {
    worker(&["serve", "1"]).rpc(mode)
}

/// A scripted peer on standard streams; see the worker's `script` mode.
pub(crate) fn scripted(steps: &[&str], config: ChannelConfig) -> ProcessSpec {
    let args: Vec<&str> = std::iter::once("script").chain(steps.iter().copied()).collect();
    worker(&args).rpc(RpcMode::Stdio).channel(config)
}

/// The same worker, deaf to SIGTERM: an ignored signal stays ignored across exec.
pub(crate) fn ignoring_sigterm(args: &[&str]) -> ProcessSpec {
    let line = format!("trap '' TERM; exec {WORKER} {}", args.join(" "));
    ProcessSpec::new(["sh", "-c", &line], ChildEnvironment::inherited(), guard())
}

pub(crate) async fn start(spec: ProcessSpec) -> ManagedProcess {
    ManagedProcess::spawn(spec).await.unwrap()
}

pub(crate) async fn start_rpc(spec: ProcessSpec) -> (ManagedProcess, Channel) {
    let process = start(spec).await;
    let channel = process.rpc().unwrap();
    (process, channel)
}

/// Waits for a future, but not for ever.
pub(crate) async fn within_timeout<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, future).await.expect("this takes too long")
}

/// Waits for a condition that cannot wake us.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "still not true: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub(crate) fn token() -> String {
    format!("token-{}", uuid::Uuid::new_v4().simple())
}

/// Living processes whose command line contains `token`.
pub(crate) fn alive_with(token: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(token) && state_of(*pid) != Some('Z')
    })
    .collect()
}

/// Waits until `count` processes with the token stand. A process that has just been started may
/// not show its command line yet.
pub(crate) async fn wait_for_processes(token: &str, count: usize) -> Vec<u32> {
    eventually("all of them stand", || alive_with(token).len() == count).await;
    alive_with(token)
}

pub(crate) fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// The session a process is in, as `/proc` tells it: 0 for one led from outside this pid namespace,
/// which `getsid` of rustix takes for a mistake of the kernel.
pub(crate) fn session_of(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    fields.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// Children of this process, zombies included.
pub(crate) fn own_children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()
        })
        .collect()
}

pub(crate) fn exists(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}
