//! The benchmark behind `bench/events/run`: publishing, recording, fan-out, round trips, memory.
//!
//! Every figure that is compared is measured in the same run as what it is compared with, taking turns;
//! medians are printed, and ratios where there is a peer.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use proctor_events::{Bus, Event, Filter, Observer, Published, Recorder as _};
use proctor_process::worker::{Worker, WorkerEnv};
use proctor_process::{ChildEnvironment, Guard, ManagedProcess, ProcessSpec, RpcMode};
use proctor_record::JsonlRecorder;
use proctor_record::destinations::WebSocketAddress;
use proctor_stream::{Feed, WebSocketObserver};
use proctor_testkit::{bus, sample_event};
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 7;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Children of this benchmark.
        ["echo"] => echo(),
        ["worker"] => worker()?,
        // For callgrind: nothing but publishing.
        ["publish", subscribers, events] => {
            publish_many(subscribers.parse()?, events.parse()?);
        }
        ["record", file, events] => record_many(Path::new(file), events.parse()?)?,
        [folder] => all(Path::new(folder))?,
        _ => return Err("usage: bench_events FOLDER".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn all(folder: &Path) -> Outcome {
    publishing();
    recording(folder)?;
    fan_out(folder)?;
    round_trips()?;
    memory(folder)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Events per second, from a count and a time.
fn rate(count: u32, taken: Duration) -> f64 {
    f64::from(count) / taken.as_secs_f64()
}

#[expect(clippy::print_stdout, reason = "a benchmark is a program that prints")]
fn say(text: &str) {
    println!("{text}");
}

struct Count(Arc<AtomicU64>);

impl Observer for Count {
    fn on_event(&mut self, _: &Event) -> Result<(), proctor_events::BoxedError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// A bus whose subscribers are emptied as it goes, so that queues neither grow nor drop.
fn publish_many(subscribers: usize, events: u32) -> Duration {
    let bus = bus("bench");
    let queues: Vec<_> =
        (0..subscribers).map(|n| bus.subscribe(&n.to_string(), Filter::All, 2048)).collect();
    let prepared: Vec<Event> = (0..1000).map(sample_event).collect();
    let mut taken = Duration::ZERO;
    for _ in 0..events.div_ceil(1000) {
        let batch = prepared.clone();
        let started = Instant::now();
        for event in batch {
            bus.publish(event);
        }
        taken += started.elapsed();
        for queue in &queues {
            while queue.try_recv().is_some() {}
        }
    }
    taken
}

/// For callgrind: nothing but publishing to a recording.
fn record_many(path: &Path, events: u32) -> Outcome {
    let bus = bus("bench");
    bus.add_recorder(JsonlRecorder::append(path)?);
    for number in 0..events {
        bus.publish(sample_event(number));
    }
    Ok(())
}

fn publishing() {
    const EVENTS: u32 = 200_000;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (place, subscribers) in [0, 1, 8].into_iter().enumerate() {
            let taken = publish_many(subscribers, EVENTS);
            times[place].push(taken.as_secs_f64() * 1e9 / f64::from(EVENTS));
        }
    }
    for (subscribers, times) in [0, 1, 8].iter().zip(times) {
        say(&format!("publish, {subscribers} subscribers: {:.0} ns per event", median(times)));
    }
}

fn recording(folder: &Path) -> Outcome {
    const EVENTS: u32 = 100_000;
    let events: Vec<Event> = (0..EVENTS).map(sample_event).collect();
    let (mut ours, mut direct, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let path = folder.join("events.jsonl");
    for _ in 0..ROUNDS {
        let bus = bus("bench");
        bus.add_recorder(JsonlRecorder::append(&path)?);
        let batch = events.clone();
        let started = Instant::now();
        for event in batch {
            bus.publish(event);
        }
        ours.push(rate(EVENTS, started.elapsed()));
        std::fs::remove_file(&path)?;

        // The recorder alone, with the text already made: what writing itself costs us.
        let prepared: Vec<_> =
            events.iter().map(|event| Arc::new(Published::new(event.clone()))).collect();
        let bytes: Vec<Vec<u8>> =
            prepared.iter().map(|event| format!("{}\n", event.json()).into_bytes()).collect();
        let mut recorder = JsonlRecorder::append(&path)?;
        let started = Instant::now();
        for event in &prepared {
            recorder.record(std::slice::from_ref(event)).map_err(|error| error.to_string())?;
        }
        direct.push(rate(EVENTS, started.elapsed()));
        std::fs::remove_file(&path)?;

        let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
        let started = Instant::now();
        for line in &bytes {
            file.write_all(line)?;
        }
        bare.push(rate(EVENTS, started.elapsed()));
        std::fs::remove_file(&path)?;
    }
    let (ours, direct, bare) = (median(ours), median(direct), median(bare));
    say(&format!(
        "record, one publisher: {ours:.0} events/s through the bus, {bare:.0} bare writes/s of the same bytes: ratio {:.2} (aim 0.50); recorder alone {:.2}",
        ours / bare,
        direct / bare
    ));
    Ok(())
}

fn fan_out(folder: &Path) -> Outcome {
    const CLIENTS: usize = 200;
    const EVENTS: u32 = 2_000;
    let path = folder.join("fan-out.jsonl");
    let bus = bus("bench");
    bus.add_recorder(JsonlRecorder::append(&path)?);
    let feed = Feed::new(&path);
    bus.add_recorder(feed.recorder());
    let address = WebSocketAddress { host: "127.0.0.1".into(), port: 0, token: None };
    let observer = WebSocketObserver::start(&address, feed)?;
    let url = format!("ws://{}/", observer.address());
    let (connected, signals) = std::sync::mpsc::channel();
    let clients = std::thread::spawn(move || read_all(&url, CLIENTS, &connected));
    for _ in 0..CLIENTS {
        signals.recv()?;
    }
    let started = Instant::now();
    for number in 0..EVENTS {
        bus.publish(sample_event(number));
    }
    let published = started.elapsed();
    bus.close(Duration::from_secs(5));
    let delivered = clients.join().map_err(|_| "a client failed")?;
    let taken = started.elapsed();
    observer.finish();
    let expected = CLIENTS as u64 * u64::from(EVENTS);
    say(&format!(
        "fan-out to {CLIENTS} WebSocket clients: {delivered} of {expected} messages, {:.0} messages/s; publisher done after {} ms of {} ms",
        rate(u32::try_from(delivered)?, taken),
        published.as_millis(),
        taken.as_millis()
    ));
    std::fs::remove_file(&path)?;
    Ok(())
}

/// Connects many clients on one thread and reads until all are closed; returns the number of messages.
fn read_all(url: &str, clients: usize, connected: &std::sync::mpsc::Sender<()>) -> u64 {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return 0;
    };
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut tasks = Vec::new();
        for _ in 0..clients {
            let Ok((mut socket, _)) = tokio_tungstenite::connect_async(url).await else { return 0 };
            let _ = connected.send(());
            tasks.push(tokio::task::spawn_local(async move {
                let mut count = 0;
                while let Some(Ok(message)) = socket.next().await {
                    count += u64::from(message.is_text());
                }
                count
            }));
        }
        let mut total = 0;
        for task in tasks {
            total += task.await.unwrap_or(0);
        }
        total
    })
}

/// The bare peer: reads a line, writes it back.
fn echo() {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
        line.clear();
    }
}

fn worker() -> Outcome {
    let env = WorkerEnv::from_vars(std::env::vars())?;
    let echo = Worker::new("echo", "1").on("echo", |request, _| {
        let value: serde_json::Value = request.body.value();
        Ok(json!({"text": value["text"]}))
    });
    echo.connect(&env)?.serve();
    Ok(())
}

fn round_trips() -> Outcome {
    const TRIPS: u32 = 20_000;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(bare_trips(TRIPS)?);
        ours.push(rpc_trips(TRIPS)?);
    }
    let (ours, bare) = (median(ours), median(bare));
    say(&format!(
        "round trips through a pipe: {ours:.0}/s by RPC, {bare:.0}/s by a bare echo loop: {:.2} times as long (aim at most 2)",
        bare / ours
    ));
    Ok(())
}

fn bare_trips(count: u32) -> Outcome<f64> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("echo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().ok_or("no pipe")?;
    let mut from = BufReader::new(child.stdout.take().ok_or("no pipe")?);
    let message = b"{\"id\":\"17\",\"action\":\"echo\",\"text\":\"the quick brown fox\"}\n";
    let mut line = Vec::new();
    let started = Instant::now();
    for _ in 0..count {
        to.write_all(message)?;
        line.clear();
        from.read_until(b'\n', &mut line)?;
    }
    let taken = started.elapsed();
    drop(to);
    child.wait()?;
    Ok(rate(count, taken))
}

fn rpc_trips(count: u32) -> Outcome<f64> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let argv = [std::env::current_exe()?.into_os_string(), "worker".into()];
        let spec =
            ProcessSpec::new(argv, ChildEnvironment::inherited(), Guard::None).rpc(RpcMode::Stdio);
        let process = ManagedProcess::spawn(spec).await?;
        let rpc = process.rpc().ok_or("no channel")?;
        let payload = json!({"text": "the quick brown fox"});
        rpc.request("echo", &payload, None).await?;
        let started = Instant::now();
        for _ in 0..count {
            rpc.request("echo", &payload, None).await?;
        }
        let taken = started.elapsed();
        process.stop(Duration::from_secs(5)).await?;
        Ok(rate(count, taken))
    })
}

fn resident_kib() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().next().ok_or("no number")?.parse()?)
}

fn memory(folder: &Path) -> Outcome {
    let path = folder.join("memory.jsonl");
    let bus: Bus = bus("bench");
    bus.add_recorder(JsonlRecorder::append(&path)?);
    let seen = Arc::new(AtomicU64::new(0));
    bus.observe("count", Filter::All, Count(Arc::clone(&seen)));
    let mut after_first = 0;
    let started = Instant::now();
    for number in 0..1_000_000 {
        bus.publish(sample_event(number));
        if number == 100_000 {
            after_first = resident_kib()?;
        }
    }
    let taken = started.elapsed();
    let at_end = resident_kib()?;
    let report = bus.close(Duration::from_secs(10));
    say(&format!(
        "memory over 1,000,000 recorded events: {after_first} KiB after 100,000, {at_end} KiB at the end ({:.0} events/s; observer got {}, dropped {})",
        rate(1_000_000, taken),
        report.observers[0].delivered,
        report.observers[0].dropped
    ));
    std::fs::remove_file(&path)?;
    Ok(())
}
