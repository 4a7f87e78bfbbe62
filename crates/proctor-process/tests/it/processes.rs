//! One managed process: states, start, stop, kill, signal, wait, callbacks.

use crate::support::*;
use proctor_process::{
    ChildEnvironment, ExitStatus, Guard, ManagedProcess, ProcessSpec, RpcMode, StartError, State,
    StopError,
};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[tokio::test]
async fn the_states_are_walked_in_order() {
    let process = ManagedProcess::new(serving(RpcMode::Stdio));
    assert_eq!((process.state(), process.pid()), (State::Pending, None));
    assert!(process.rpc().is_none() && !process.is_alive());
    process.start().await.unwrap();
    assert_eq!(process.state(), State::Running);
    assert!(process.is_alive() && process.pid().is_some());
    // A worker busy with a request has agreed to nothing yet.
    let channel = process.rpc().unwrap();
    let busy =
        tokio::spawn(async move { channel.request("sleep", &json!({"ms": 300}), None).await });
    let stopping = tokio::spawn({
        let process = process.clone();
        async move { process.stop(TEST_TIMEOUT).await }
    });
    eventually("stopping", || process.state() == State::Stopping).await;
    assert_eq!(stopping.await.unwrap().unwrap().status, ExitStatus::Code(0));
    assert_eq!(process.state(), State::Exited);
    drop(busy.await.unwrap());
}

#[tokio::test]
async fn starting_twice_is_an_error_that_names_the_command() {
    let process = start(worker(&["sleep"])).await;
    let error = process.start().await.unwrap_err();
    assert!(matches!(error, StartError::AlreadyStarted { .. }));
    assert!(error.to_string().contains("proctor-test-worker sleep"), "{error}");
    process.kill().await.unwrap();
    assert!(process.start().await.is_err());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_and_counts_as_exited() {
    for guard in [guard(), Guard::None] {
        let process = ManagedProcess::new(ProcessSpec::new(
            ["/no/such/program"],
            ChildEnvironment::inherited(),
            guard,
        ));
        let error = process.start().await.unwrap_err();
        assert!(matches!(error, StartError::Spawn { .. }), "{error}");
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        assert_eq!(process.state(), State::Exited);
        assert_eq!(within_timeout(process.wait()).await.status, ExitStatus::NotStarted);
        assert!(process.stdout().is_closed() && process.stderr().is_closed());
        process.stop(TEST_TIMEOUT).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let empty = ManagedProcess::spawn(ProcessSpec::new(
        Vec::<String>::new(),
        ChildEnvironment::inherited(),
        guard(),
    ))
    .await;
    assert!(matches!(empty, Err(StartError::EmptyCommand)));
    let folder = ManagedProcess::spawn(worker(&["sleep"]).cwd("/no/such/folder")).await;
    assert!(folder.unwrap_err().to_string().contains("/no/such/folder"));
    let no_guard = Guard::Program(proctor_process::GuardCommand::new("/no/guard", [""; 0]));
    let error =
        ManagedProcess::spawn(ProcessSpec::new(["true"], ChildEnvironment::inherited(), no_guard))
            .await
            .unwrap_err();
    assert!(matches!(error, StartError::Guard { .. }) && error.to_string().contains("/no/guard"));
    // A program that is no guard ends without a word.
    let not_a_guard = Guard::Program(proctor_process::GuardCommand::new("true", [""; 0]));
    let error = ManagedProcess::spawn(ProcessSpec::new(
        ["true"],
        ChildEnvironment::inherited(),
        not_a_guard,
    ))
    .await
    .unwrap_err();
    assert!(matches!(error, StartError::Guard { .. }), "{error}");
}

#[tokio::test]
async fn codes_and_signals_are_exact() {
    for guard in [guard(), Guard::None] {
        for code in [0, 1, 42, 255] {
            let spec = ProcessSpec::new(
                [WORKER, "exit", &code.to_string()],
                ChildEnvironment::inherited(),
                guard.clone(),
            );
            assert_eq!(
                within_timeout(start(spec).await.wait()).await.status,
                ExitStatus::Code(code)
            );
        }
        let spec =
            ProcessSpec::new([WORKER, "serve", "1"], ChildEnvironment::inherited(), guard.clone())
                .rpc(RpcMode::Socket);
        let (process, channel) = start_rpc(spec).await;
        assert!(within_timeout(channel.request("abort", &(), None)).await.is_err());
        assert_eq!(within_timeout(process.wait()).await.status, ExitStatus::Signal(libc::SIGABRT));
    }
}

#[tokio::test]
async fn environment_and_folder_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let environment = ChildEnvironment::inherited().set("PROCTOR_TEST", "grün").remove("PATH");
    let spec = worker_in(environment, &["serve", "1"]).cwd(folder.path()).rpc(RpcMode::Socket);
    let (process, channel) = start_rpc(spec).await;
    let env = within_timeout(channel.request("env", &(), None)).await.unwrap().body.value();
    let env = env["env"].as_array().unwrap();
    assert!(env.contains(&json!(["PROCTOR_TEST", "grün"])));
    assert!(!env.iter().any(|pair| pair[0] == "PATH"));
    assert!(env.iter().any(|pair| pair[0] == "HOME" || pair[0] == "CARGO"), "inherited: {env:?}");
    let cwd = within_timeout(channel.request("cwd", &(), None)).await.unwrap().body.value();
    assert_eq!(cwd["cwd"], json!(folder.path().canonicalize().unwrap()));
    process.kill().await.unwrap();

    let environment = ChildEnvironment::empty().set("ONLY", "this");
    let spec = worker_in(environment, &["serve", "1"]).rpc(RpcMode::Socket);
    let (process, channel) = start_rpc(spec).await;
    let env = within_timeout(channel.request("env", &(), None)).await.unwrap().body.value();
    let names: Vec<_> = env["env"].as_array().unwrap().iter().map(|pair| pair[0].clone()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&json!("ONLY")) && names.contains(&json!("RPC_SOCKET_FD")));
    process.kill().await.unwrap();
}

#[tokio::test]
async fn stop_asks_first_and_a_polite_worker_exits_with_zero() {
    for mode in [RpcMode::Stdio, RpcMode::Socket] {
        let (process, channel) = start_rpc(serving(mode)).await;
        within_timeout(channel.request("add", &json!({"a": 1, "b": 2}), None)).await.unwrap();
        let report = process.stop(TEST_TIMEOUT).await.unwrap();
        assert_eq!(report.status, ExitStatus::Code(0));
    }
}

#[tokio::test]
async fn without_a_channel_stop_begins_with_sigterm() {
    for guard in [guard(), Guard::None] {
        let process =
            start(ProcessSpec::new([WORKER, "sleep"], ChildEnvironment::inherited(), guard)).await;
        let report = process.stop(TEST_TIMEOUT).await.unwrap();
        assert_eq!(report.status, ExitStatus::Signal(libc::SIGTERM));
    }
}

#[tokio::test]
async fn a_worker_that_refuses_to_shut_down_gets_sigterm_at_once() {
    let refusal = r#"write:{"reply_to":"ID","error":{"code":"unknown_action","message":"no"}}\n"#;
    let process = start(scripted(
        &["read", refusal, "sleep:600000"],
        proctor_process::ChannelConfig::default(),
    ))
    .await;
    let begun = Instant::now();
    let report = process.stop(Duration::from_mins(10)).await.unwrap();
    assert_eq!(report.status, ExitStatus::Signal(libc::SIGTERM));
    // Half of the time passes before a worker that says nothing gets it.
    assert!(begun.elapsed() < Duration::from_mins(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn stop_is_bounded_by_its_timeout_even_if_nothing_is_honoured() {
    let spec = ignoring_sigterm(&["deaf"]).rpc(RpcMode::Socket);
    let process = start(spec).await;
    // Only then is the signal surely ignored.
    within_timeout(process.stdout().lines().next()).await.unwrap();
    let timeout = Duration::from_secs(4);
    let begun = Instant::now();
    let report = process.stop(timeout).await.unwrap();
    assert_eq!(report.status, ExitStatus::Signal(libc::SIGKILL));
    assert!(begun.elapsed() <= timeout, "{:?}", begun.elapsed());
    assert!(begun.elapsed() >= Duration::from_secs(1), "it had its time");
}

#[tokio::test]
async fn stop_with_no_time_kills_at_once() {
    let process = start(ignoring_sigterm(&["deaf"])).await;
    let report = process.stop(Duration::ZERO).await.unwrap();
    assert_eq!(report.status, ExitStatus::Signal(libc::SIGKILL));
}

#[tokio::test]
async fn stop_kill_and_signal_on_an_exited_process_do_nothing() {
    let process = start(worker(&["exit", "3"])).await;
    within_timeout(process.wait()).await;
    assert_eq!(process.stop(TEST_TIMEOUT).await.unwrap().status, ExitStatus::Code(3));
    assert_eq!(process.kill().await.unwrap().status, ExitStatus::Code(3));
    process.signal(libc::SIGUSR1).await.unwrap();
}

#[tokio::test]
async fn a_pending_process_cannot_be_ended() {
    let process = ManagedProcess::new(worker(&["sleep"]));
    assert!(matches!(process.stop(TEST_TIMEOUT).await, Err(StopError::NotStarted { .. })));
    assert!(matches!(process.kill().await, Err(StopError::NotStarted { .. })));
    assert!(matches!(process.signal(15).await, Err(StopError::NotStarted { .. })));
    process.start().await.unwrap();
    process.kill().await.unwrap();
}

#[tokio::test]
async fn a_signal_reaches_the_process() {
    for guard in [guard(), Guard::None] {
        let process =
            start(ProcessSpec::new([WORKER, "sleep"], ChildEnvironment::inherited(), guard)).await;
        process.signal(libc::SIGUSR1).await.unwrap();
        assert_eq!(within_timeout(process.wait()).await.status, ExitStatus::Signal(libc::SIGUSR1));
    }
}

/// The classic signals of a line of `/proc/self/status`; 32 and 33 are the C library's own.
fn signal_set(line: &str) -> u64 {
    u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap() & 0x7fff_ffff
}

#[tokio::test]
async fn a_child_starts_with_no_signal_blocked_and_none_ignored_by_us() {
    for guard in [guard(), Guard::None] {
        let argv = ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"];
        let process = start(ProcessSpec::new(argv, ChildEnvironment::inherited(), guard)).await;
        let lines = within_timeout(process.stdout().lines().collect()).await;
        assert_eq!(signal_set(&lines[0].text), 0, "{}", lines[0].text);
        // What we were told to ignore stays ignored, but for SIGPIPE, which is Rust's own doing.
        let own = std::fs::read_to_string("/proc/self/status").unwrap();
        let own = signal_set(own.lines().find(|line| line.starts_with("SigIgn")).unwrap());
        assert_eq!(signal_set(&lines[1].text), own & !(1 << (libc::SIGPIPE - 1)));
    }
}

#[tokio::test]
async fn wait_times_out_and_can_be_repeated() {
    let process = start(worker(&["sleep"])).await;
    let error = process.wait_timeout(Duration::from_millis(20)).await.unwrap_err();
    assert!(error.to_string().contains("still running"), "{error}");
    assert_eq!(process.state(), State::Running);
    process.kill().await.unwrap();
    assert!(process.wait_timeout(Duration::ZERO).await.is_ok());
}

#[tokio::test]
async fn callbacks_run_once_panics_do_not_spread_and_late_ones_run_at_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let process = ManagedProcess::new(worker(&["exit", "5"]));
    for number in 0..5 {
        let calls = Arc::clone(&calls);
        process.on_exit(move |report| {
            assert_eq!(report.status, ExitStatus::Code(5));
            calls.fetch_add(1, Ordering::SeqCst);
            assert_ne!(number, 1, "this panic is part of the test");
        });
    }
    process.start().await.unwrap();
    within_timeout(process.wait()).await;
    // Whoever was registered before the exit has been called when `wait` returns.
    assert_eq!(calls.load(Ordering::SeqCst), 5);
    let late = Arc::clone(&calls);
    process.on_exit(move |_| {
        late.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(calls.load(Ordering::SeqCst), 6);
    process.stop(TEST_TIMEOUT).await.unwrap();
    process.kill().await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_may_stop_kill_and_wait_at_once() {
    for round in 0..5 {
        let calls = Arc::new(AtomicUsize::new(0));
        let process = start(serving(RpcMode::Socket)).await;
        let counted = Arc::clone(&calls);
        process.on_exit(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let tasks: Vec<_> = (0..30)
            .map(|number| {
                let process = process.clone();
                tokio::spawn(async move {
                    match (number + round) % 3 {
                        0 => {
                            process.stop(Duration::from_millis(number * 100)).await.unwrap().status
                        }
                        1 if number > 20 => process.kill().await.unwrap().status,
                        _ => process.wait().await.status,
                    }
                })
            })
            .collect();
        let mut statuses = Vec::new();
        for task in tasks {
            statuses.push(within_timeout(task).await.unwrap());
        }
        statuses.dedup();
        assert_eq!(statuses.len(), 1, "everybody sees the same end: {statuses:?}");
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_process() {
    let process = start(worker(&["sleep"])).await;
    let pid = process.pid().unwrap();
    let weak = process.downgrade();
    drop(process.clone());
    assert!(exists(pid) && weak.upgrade().is_some());
    drop(process);
    eventually("the process is gone", || !exists(pid)).await;
    eventually("no zombie is left", || own_children().is_empty()).await;
    assert!(weak.upgrade().is_none());
}

#[test]
fn the_end_of_the_runtime_ends_the_tree() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let token = token();
    let process = runtime.block_on(async {
        let process = start(worker(&["tree", &token])).await;
        within_timeout(process.stdout().lines().next()).await.unwrap();
        wait_for_processes(&token, 4).await;
        process
    });
    drop(runtime);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !alive_with(&token).is_empty() {
        assert!(Instant::now() < deadline, "still there: {:?}", alive_with(&token));
        std::thread::yield_now();
    }
    drop(process);
}
