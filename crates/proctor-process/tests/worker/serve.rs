//! The well-behaved mode: a worker made with the crate's helper.
#![expect(clippy::unnecessary_wraps, reason = "handlers have one shape")]

use proctor_process::protocol::{IncomingRequest, ReplyError};
use proctor_process::worker::{Ended, Host, Worker, WorkerEnv};
use serde_json::{Value, json};
use std::time::Duration;

type Outcome = Result<Value, ReplyError>;

pub(crate) fn run(threads: usize) {
    let env = WorkerEnv::from_vars(std::env::vars()).unwrap();
    let index = env.index;
    let worker = Worker::new("test", "1.0")
        .capability("echo")
        .threads(threads)
        .on("echo", |request, _| Ok(json!({ "text": request.body.value()["text"] })))
        .on("add", add)
        .on("sum", sum)
        .on("sleep", sleep)
        .on("fail", |_, _| -> Outcome { Err(ReplyError::new("bad_request", "as you wished")) })
        .on("panic", |_, _| -> Outcome { panic!("as you wished") })
        .on("exit", |request, _| -> Outcome { std::process::exit(int(request, "code")) })
        .on("abort", |_, _| -> Outcome { std::process::abort() })
        .on("fail_if_index", move |request, _| -> Outcome {
            if request.body.value()["index"].as_u64() == index.map(u64::from) {
                std::process::exit(7);
            }
            Ok(json!({ "index": index }))
        })
        .on("log", log)
        .on("flood", flood)
        .on("heartbeat", heartbeat)
        .on("big", |request, _| Ok(json!({ "text": "x".repeat(size(request)) })))
        .on("ask", ask)
        .on("env", |_, _| Ok(json!({ "env": std::env::vars().collect::<Vec<_>>() })))
        .on("cwd", |_, _| Ok(json!({ "cwd": std::env::current_dir().unwrap() })))
        .on("fds", |_, _| Ok(json!({ "fds": open_descriptors() })))
        .on("spawn", spawn);
    let ended = worker.connect(&env).unwrap().serve();
    std::process::exit(if ended == Ended::UnsupportedProtocol { 3 } else { 0 });
}

fn int(request: &IncomingRequest, key: &str) -> i32 {
    i32::try_from(request.body.value()[key].as_i64().unwrap()).unwrap()
}

fn size(request: &IncomingRequest) -> usize {
    usize::try_from(request.body.value()["bytes"].as_u64().unwrap()).unwrap()
}

fn add(request: &IncomingRequest, _: &Host) -> Outcome {
    let numbers = request.body.value();
    match (numbers["a"].as_i64(), numbers["b"].as_i64()) {
        (Some(a), Some(b)) => Ok(json!({ "sum": a + b })),
        _ => Err(ReplyError::new("bad_request", "a and b must be whole numbers")),
    }
}

/// What `add` does, with types: for measuring.
fn sum(request: &IncomingRequest, _: &Host) -> Result<Sum, ReplyError> {
    let numbers: crate::bench::Numbers =
        request.body.parse().map_err(|error| ReplyError::failed(error.to_string()))?;
    Ok(Sum { sum: numbers.a + numbers.b })
}

#[derive(serde::Serialize)]
struct Sum {
    sum: u32,
}

fn sleep(request: &IncomingRequest, host: &Host) -> Outcome {
    let pause = request.body.value()["ms"].as_u64().unwrap();
    if request.body.value()["announce"] == true {
        host.notify("sleeping", &json!({})).unwrap();
    }
    std::thread::sleep(Duration::from_millis(pause));
    Ok(json!({ "slept": pause }))
}

fn log(request: &IncomingRequest, _: &Host) -> Outcome {
    let body = request.body.value();
    for line in body["stdout"].as_array().into_iter().flatten() {
        println!("{}", line.as_str().unwrap());
    }
    for line in body["stderr"].as_array().into_iter().flatten() {
        eprintln!("{}", line.as_str().unwrap());
    }
    Ok(json!({}))
}

fn flood(request: &IncomingRequest, host: &Host) -> Outcome {
    let count = request.body.value()["count"].as_u64().unwrap();
    for number in 0..count {
        let payload = json!({ "number": number });
        host.event("Flood", &payload).map_err(|error| ReplyError::failed(error.to_string()))?;
    }
    Ok(json!({ "sent": count }))
}

fn heartbeat(request: &IncomingRequest, host: &Host) -> Outcome {
    let count = request.body.value()["count"].as_u64().unwrap();
    let host = host.clone();
    std::thread::spawn(move || {
        for number in 0..count {
            host.notify("heartbeat", &json!({ "number": number })).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    Ok(json!({}))
}

/// Asks the host and passes its answer on, error or not.
fn ask(request: &IncomingRequest, host: &Host) -> Outcome {
    let body = request.body.value();
    let timeout = body["timeout_ms"].as_u64().map(Duration::from_millis);
    match host.request(body["ask"].as_str().unwrap(), &body["with"], timeout) {
        Ok(reply) => Ok(json!({ "answer": reply.body.value() })),
        Err(error) => Ok(json!({ "failure": error.to_string() })),
    }
}

fn open_descriptors() -> Vec<i32> {
    let listing = std::fs::read_dir("/proc/self/fd").unwrap();
    let mut listed: Vec<i32> = listing
        .map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap())
        .collect();
    // The listing itself had one, which is gone by now.
    listed.retain(|fd| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok());
    listed.sort_unstable();
    listed
}

/// Starts processes that outlive the request; see `raw::descend`.
fn spawn(request: &IncomingRequest, _: &Host) -> Outcome {
    let body = request.body.value();
    let token = body["token"].as_str().unwrap();
    for kind in body["kinds"].as_array().unwrap() {
        crate::raw::spawn_self(&["descend", kind.as_str().unwrap(), token]);
    }
    Ok(json!({}))
}
