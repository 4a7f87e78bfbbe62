//! The parts of `bench/dialogue/run` that are not proctor: the floor, and an agent for worker processes.
//!
//! `floor FILE COUNT AT_ONCE LATENCY_MS` is a bare tokio loop: it has the same conversations and writes the same events to one
//! file, and does nothing else. `agent` is a program that speaks the worker protocol and answers at once.

use std::fs::File;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proctor_process::worker::{Worker, WorkerEnv};
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["floor", file, count, at_once, latency] => {
            let latency = Duration::from_millis(latency.parse()?);
            floor(File::create(file)?, count.parse()?, at_once.parse()?, latency)?;
        }
        ["agent"] => agent()?,
        _ => return Err("usage: bench_dialogue floor FILE COUNT AT_ONCE LATENCY_MS | agent".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn agent() -> Outcome {
    let worker = Worker::new("bench-agent", "1")
        .on("agent.chat", |_, _| Ok(json!({"text": "Booked for you."})))
        .on("agent.reset", |_, _| Ok(json!({})));
    worker.connect(&WorkerEnv::from_vars(std::env::vars())?)?.serve();
    Ok(())
}

struct Book {
    file: Mutex<File>,
    seq: AtomicU64,
    next: AtomicU32,
}

impl Book {
    /// Writes what a conversation has said since it last waited, in one piece.
    fn write(&self, lines: &mut String) -> Outcome {
        let mut file = self.file.lock().map_err(|_| "the file is broken")?;
        file.write_all(lines.as_bytes())?;
        lines.clear();
        Ok(())
    }

    fn line(&self, lines: &mut String, number: u32, kind: &str, rest: &str) {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed);
        let time = jiff::Timestamp::now();
        lines.push_str(&format!(
            "{{\"v\":1,\"seq\":{seq},\"run_id\":\"01a1e204-1b3a-70b8-8c4f-a295b5a2bebd\",\"time\":\"{time}\",\"event_type\":\"{kind}\",\"example_id\":\"{number:012x}\",\"repeat\":1,\"attempt\":1{rest}}}\n"
        ));
    }

    async fn conversation(&self, number: u32, latency: Duration) -> Outcome {
        let mut lines = String::with_capacity(2048);
        let about = format!(
            ",\"file\":\"./bench.scenario.yaml\",\"location\":\"./bench.scenario.yaml:7\",\"path\":[\"Bench\",\"books\",\"row {number}\"],\"description\":\"row {number}\",\"full_description\":\"Bench books row {number}\",\"tags\":[],\"suite\":\"scenario\",\"scenario\":{{\"n\":{number}}}"
        );
        self.line(&mut lines, number, "ExampleStarted", &about);
        for turn in 1..=2 {
            let payload = format!(
                ",\"turn_number\":{turn},\"text\":\"book number {number}\",\"source\":\"script\""
            );
            self.line(&mut lines, number, "UserMessage", &payload);
            if !latency.is_zero() {
                self.write(&mut lines)?;
                tokio::time::sleep(latency).await;
            }
            let payload = format!(
                ",\"turn_number\":{turn},\"text\":\"Booked for you.\",\"tool_calls\":[],\"pending_tool_calls\":[],\"duration_ms\":0.004"
            );
            self.line(&mut lines, number, "AgentResponse", &payload);
        }
        let check = ",\"turn_number\":2,\"mode\":\"hard\",\"evaluation_type\":\"pattern\",\"description\":\"match /Booked/\",\"passed\":true";
        self.line(&mut lines, number, "EvaluationRecorded", check);
        let end = ",\"status\":\"passed\",\"duration_ms\":0.041,\"final\":true";
        self.line(&mut lines, number, "ExampleFinished", end);
        self.write(&mut lines)
    }
}

#[tokio::main]
async fn floor(file: File, count: u32, at_once: u32, latency: Duration) -> Outcome {
    let book =
        Arc::new(Book { file: Mutex::new(file), seq: AtomicU64::new(1), next: AtomicU32::new(0) });
    let began = Instant::now();
    let mut slots = tokio::task::JoinSet::new();
    for _ in 0..at_once {
        let book = Arc::clone(&book);
        slots.spawn(async move {
            loop {
                let number = book.next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<(), Box<dyn std::error::Error + Send + Sync>>(());
                }
                book.conversation(number, latency).await?;
            }
        });
    }
    while let Some(slot) = slots.join_next().await {
        slot??;
    }
    say(&format!("{:.6}", began.elapsed().as_secs_f64()));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark is a program that prints")]
fn say(text: &str) {
    println!("{text}");
}
