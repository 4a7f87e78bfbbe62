//! Round trips: a bare echo loop over pipes against the channel, on the same messages.
//!
//! Run: `cargo run --release -p proctor-process --bin proctor-test-worker -- bench 50000 GUARD`.

use proctor_process::{
    Channel, ChildEnvironment, Guard, GuardCommand, ManagedProcess, ProcessSpec, RpcMode,
};
use serde::Serialize;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Serialize, serde::Deserialize)]
pub(crate) struct Numbers {
    pub(crate) a: u32,
    pub(crate) b: u32,
}

pub(crate) fn run(count: u32, guard: &str) {
    for _ in 0..3 {
        println!("bare echo loop          {:>8} round trips/s", bare(count));
        for mode in [RpcMode::Stdio, RpcMode::Socket] {
            println!("channel {mode:<15?} {:>8} round trips/s", channel(count, guard, mode));
        }
    }
    let runtime = runtime();
    println!("50 requests at a time   {:>8} round trips/s", runtime.block_on(many(count, guard)));
    println!("notifications in        {:>8} per s", runtime.block_on(flood(count * 10, guard)));
    println!("start under guard       {:>8?}", runtime.block_on(start(guard, true)));
    println!("start without           {:>8?}", runtime.block_on(start(guard, false)));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn rate(count: u32, took: Duration) -> u64 {
    let nanos = u64::try_from(took.as_nanos()).unwrap();
    u64::from(count) * 1_000_000_000 / nanos
}

fn bare(count: u32) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("bench-echo").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let begun = Instant::now();
    for number in 0..count {
        let message = format!("{{\"id\":\"r{number}\",\"action\":\"sum\",\"a\":1,\"b\":2}}\n");
        input.write_all(message.as_bytes()).unwrap();
        line.clear();
        output.read_line(&mut line).unwrap();
    }
    let took = begun.elapsed();
    drop(input);
    child.wait().unwrap();
    rate(count, took)
}

async fn started(guard: &str, mode: RpcMode) -> (ManagedProcess, Channel) {
    let program = std::env::current_exe().unwrap().into_os_string();
    let guard = Guard::Program(GuardCommand::new(guard, Vec::<String>::new()));
    let spec = ProcessSpec::new(
        [program, "serve".into(), "1".into()],
        ChildEnvironment::inherited(),
        guard,
    )
    .rpc(mode);
    let process = ManagedProcess::spawn(spec).await.unwrap();
    let channel = process.rpc().unwrap();
    (process, channel)
}

fn channel(count: u32, guard: &str, mode: RpcMode) -> u64 {
    runtime().block_on(async {
        let (process, channel) = started(guard, mode).await;
        let begun = Instant::now();
        for _ in 0..count {
            channel.request("sum", &Numbers { a: 1, b: 2 }, None).await.unwrap();
        }
        let took = begun.elapsed();
        process.kill().await.unwrap();
        rate(count, took)
    })
}

async fn many(count: u32, guard: &str) -> u64 {
    let (process, channel) = started(guard, RpcMode::Socket).await;
    let begun = Instant::now();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let channel = channel.clone();
            tokio::spawn(async move {
                for _ in 0..count / 50 {
                    channel.request("sum", &Numbers { a: 1, b: 2 }, None).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let took = begun.elapsed();
    process.kill().await.unwrap();
    rate(count, took)
}

async fn flood(count: u32, guard: &str) -> u64 {
    let (process, channel) = started(guard, RpcMode::Socket).await;
    let mut notifications = channel.notifications().unwrap();
    let begun = Instant::now();
    let request = tokio::spawn({
        let channel = channel.clone();
        async move { channel.request("flood", &serde_json::json!({ "count": count }), None).await }
    });
    for _ in 0..count {
        notifications.next().await.unwrap();
    }
    request.await.unwrap().unwrap();
    let took = begun.elapsed();
    process.kill().await.unwrap();
    rate(count, took)
}

async fn start(guard: &str, guarded: bool) -> Duration {
    let program = std::env::current_exe().unwrap().into_os_string();
    let mut took = Duration::ZERO;
    for _ in 0..20 {
        let guard = if guarded {
            Guard::Program(GuardCommand::new(guard, Vec::<String>::new()))
        } else {
            Guard::None
        };
        let spec = ProcessSpec::new(
            [program.clone(), "sleep".into()],
            ChildEnvironment::inherited(),
            guard,
        );
        let begun = Instant::now();
        let process = ManagedProcess::spawn(spec).await.unwrap();
        took += begun.elapsed();
        process.kill().await.unwrap();
    }
    took / 20
}
