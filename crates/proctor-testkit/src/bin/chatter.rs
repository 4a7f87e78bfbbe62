//! A worker that talks as fast as it can: `chatter EXAMPLES MESSAGES` has so many examples, each of which says so
//! many messages and passes. `bench/rspec/limits` measures with it how many events a run takes in.

use std::io;
use std::sync::mpsc;

use proctor_process::protocol::ReplyError;
use proctor_process::worker::{Host, Worker, WorkerEnv};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Run {
    units: Vec<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    key: String,
    repeat: u32,
    attempt: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let mut number = || {
        numbers
            .next()
            .unwrap_or(Ok(1))
            .map_err(|error| io::Error::other(format!("usage: chatter EXAMPLES MESSAGES: {error}")))
    };
    let (examples, messages) = (number()?, number()?);
    let (queue, items) = mpsc::channel::<Item>();
    let worker = Worker::new("chatter", "1")
        .on("list", move |_, host| {
            let all: Vec<Value> = (1..=examples).map(listed).collect();
            for batch in all.chunks(250) {
                host.notify("examples", &json!({"examples": batch})).map_err(failed)?;
            }
            Ok(json!({"count": examples}))
        })
        .on("run", move |request, _| {
            let run: Run = request.body.parse().map_err(failed)?;
            let items: Vec<Item> = run.units.into_iter().flatten().collect();
            let accepted = items.len();
            items.into_iter().try_for_each(|item| queue.send(item)).map_err(failed)?;
            Ok(json!({"accepted": accepted}))
        })
        .on("unrun", |_, _| Ok(json!({"returned": []})))
        .on("cancel", |_, _| Ok(json!({"status": "cancelling"})));
    let connected = worker.connect(&WorkerEnv::from_vars(std::env::vars())?)?;
    let host = connected.host();
    std::thread::spawn(move || {
        items.iter().try_for_each(|item| run_example(&item, messages, &host))
    });
    connected.serve();
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> ReplyError {
    ReplyError::failed(error.to_string())
}

fn listed(number: u32) -> Value {
    let name = format!("talks {number}");
    json!({"key": name, "file": "chatter.rs", "path": ["Chatter", name]})
}

fn run_example(
    item: &Item,
    messages: u32,
    host: &Host,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let about = json!({"key": item.key, "repeat": item.repeat, "attempt": item.attempt});
    let with = |extra: Value| {
        let mut payload = about.clone();
        if let (Value::Object(payload), Value::Object(extra)) = (&mut payload, extra) {
            payload.extend(extra);
        }
        payload
    };
    host.event("ExampleStarted", &about)?;
    for turn in 1..=messages {
        let message = json!({"turn_number": turn, "text": "And then?", "source": "script"});
        host.event("UserMessage", &with(message))?;
    }
    host.event("ExampleFinished", &with(json!({"status": "passed"})))?;
    Ok(())
}
