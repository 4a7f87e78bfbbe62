//! Load on the streams: `load PROCTOR CLIENTS EVENTS EXAMPLES PER_SECOND` (see `bench/live`). 0 per second means as fast as it can.
//! `load PROCTOR views EVENTS EXAMPLES` asks for lists, rows and words of a large recording instead, and says how long that took.
//!
//! Three processes as in real life: the server (`proctor serve`), a run that records (this program, as `publish`), and the
//! clients (this program). One client never reads. Prints one line of JSON with what was measured.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a measuring program; it fails by panicking"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use proctor_events::{
    Bus, BusConfig, Event, ExampleFinished, ExampleId, ExampleStarted, RunId, SuiteFinished,
    SuiteStarted, UserMessage,
};
use proctor_record::{RunInfo, RunStore};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments[place].parse::<u64>().unwrap();
    if arguments[0] == "publish" {
        publish(&arguments[1], &arguments[2], number(3), number(4), number(5));
    } else if arguments[1] == "views" {
        views(&arguments[0], number(2), number(3));
    } else {
        measure(&arguments[0], number(1), number(2), number(3), number(4));
    }
}

/// A server on a project.
struct Served {
    child: Child,
    address: String,
    token: String,
}

impl Served {
    fn start(proctor: &str, root: &str) -> Self {
        let mut child = Command::new(proctor)
            .args(["serve", "--format", "json", "--root", root])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        let word = |name: &str| told[name].as_str().unwrap().to_owned();
        Self { child, address: word("address"), token: word("token") }
    }

    /// Milliseconds and bytes of an answer.
    fn ask(&self, path: &str) -> (f64, usize) {
        let before = Instant::now();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            self.address, self.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{path}");
        (before.elapsed().as_secs_f64() * 1e3, answer.len())
    }

    /// The first answer, and the middle one of twenty more.
    fn time(&self, path: &str) -> Value {
        let (first, bytes) = self.ask(path);
        let mut times: Vec<f64> = (0..20).map(|_| self.ask(path).0).collect();
        times.sort_by(f64::total_cmp);
        let tenth = |ms: f64| (ms * 10.0).round() / 10.0;
        json!({ "first_ms": tenth(first), "median_ms": tenth(times[10]), "p95_ms": tenth(times[18]), "bytes": bytes })
    }

    fn end(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long people wait for what they ask of a large recording that has not been opened yet.
fn views(proctor: &str, events: u64, examples: u64) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("proctor.toml"), "").unwrap();
    let mut run = Publisher::start(root, "0001-large", events, examples, 0);
    run.go();
    run.finish();
    let size = std::fs::metadata(folder.path().join(".proctor/runs/0001-large/events.jsonl"))
        .unwrap()
        .len();
    let mut told = serde_json::Map::new();
    for (name, path) in [
        ("list_of_runs", "/api/runs"),
        ("search_rare", "/api/search?q=example%209876"),
        ("search_common", "/api/search?q=december"),
        ("search_nothing", "/api/search?q=nobody+said+this"),
        ("open_run", "/api/runs/0001-large"),
        ("rows", "/api/runs/0001-large/examples"),
        ("one_example", "/api/runs/0001-large/examples/000000000100"),
        ("history", "/api/history"),
    ] {
        // Each on a server of its own: the first answer has nothing prepared.
        let server = Served::start(proctor, root);
        told.insert(name.to_owned(), server.time(path));
        server.end();
    }
    println!(
        "{}",
        json!({ "events": events, "examples": examples, "recording_bytes": size, "views": told })
    );
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// A run: records events as `proctor run` does, and says how long publishing took.
fn publish(root: &str, id: &str, events: u64, examples: u64, per_second: u64) {
    let store = RunStore::new(root.as_ref());
    let info = RunInfo::new(RunId::new(id.to_owned()), now(), vec!["load".to_owned()]);
    let (_, recorder) = store.create(&info).unwrap();
    let bus = Bus::new(BusConfig {
        run_id: RunId::new(id.to_owned()),
        clock: Box::new(now),
        on_warning: Box::new(|warning| panic!("{warning}")),
    });
    bus.add_recorder(recorder);
    bus.publish(SuiteStarted { example_count: Some(examples), ..SuiteStarted::default() }.into());
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let each = ((events - 2) / examples).max(2);
    let started = Instant::now();
    let (mut sent, mut worst) = (1, Duration::ZERO);
    for n in 0..events - 2 {
        let example = ExampleId::new(format!("{:012x}", n / each));
        let event: Event = match n % each {
            0 => ExampleStarted {
                path: vec!["Load".to_owned(), format!("example {}", n / each)],
                file: Some(format!("./spec/load_{}_spec.rb", n / each / 50)),
                ..ExampleStarted::default()
            }
            .into(),
            last if last + 1 == each => ExampleFinished { duration_ms: None, ..ExampleFinished::default() }.into(),
            turn => UserMessage {
                turn_number: u32::try_from(turn).unwrap(),
                text: "I would like to book a venue for fifty people on the fourth of December, please.".to_owned(),
                ..UserMessage::default()
            }
            .into(),
        };
        let before = Instant::now();
        bus.publish(event.about(&example));
        worst = worst.max(before.elapsed());
        sent += 1;
        if per_second > 0 {
            let due = Duration::from_secs_f64(n as f64 / per_second as f64);
            if let Some(rest) = due.checked_sub(started.elapsed()) {
                std::thread::sleep(rest);
            }
        }
    }
    bus.publish(SuiteFinished { example_count: examples, ..SuiteFinished::default() }.into());
    let wall = started.elapsed();
    bus.close(Duration::from_secs(10));
    println!(
        "{}",
        json!({ "events": sent + 1, "wall_ms": wall.as_millis(), "worst_publish_ms": worst.as_secs_f64() * 1e3 })
    );
}

struct Publisher {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Publisher {
    fn start(root: &str, id: &str, events: u64, examples: u64, per_second: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "publish",
                root,
                id,
                &events.to_string(),
                &examples.to_string(),
                &per_second.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        Self { child, output }
    }

    fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    fn finish(mut self) -> Value {
        let mut text = String::new();
        self.output.read_line(&mut text).unwrap();
        self.child.wait().unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn measure(proctor: &str, clients: u64, events: u64, examples: u64, per_second: u64) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("proctor.toml"), "").unwrap();
    let mut alone = Publisher::start(root, "0001-alone", events, examples, per_second);
    alone.go();
    let alone = alone.finish();

    let server = Served::start(proctor, root);
    let (address, token) = (server.address.clone(), server.token.clone());
    let mut run = Publisher::start(root, "0002-watched", events, examples, per_second);
    let before = memory(server.child.id());
    let stuck = stuck_client(&address, &token);
    let ended = Arc::new(Mutex::new(None));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (received, result, delays) = runtime.block_on(async {
        let mut readers = Vec::new();
        for _ in 1..clients {
            let url = format!("ws://{address}/ws?run=0002-watched&token={token}");
            let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
            readers.push(tokio::spawn(read(socket, events)));
        }
        run.go();
        let seen = Arc::clone(&ended);
        let publisher = tokio::task::spawn_blocking(move || {
            let result = run.finish();
            *seen.lock().unwrap() = Some(Instant::now());
            result
        });
        let result = publisher.await.unwrap();
        let mut received = Vec::new();
        let mut delays = Vec::new();
        let end = ended.lock().unwrap().unwrap();
        for reader in readers {
            let (count, in_order, last) = reader.await.unwrap();
            assert!(in_order, "events came in order, each once");
            received.push(count);
            delays.push(last.saturating_duration_since(end).as_secs_f64() * 1e3);
        }
        (received, result, delays)
    });
    let peak = memory(server.child.id());
    drop(stuck);
    let lost: u64 = received.iter().map(|count| events - count).sum();
    let slowdown = result["wall_ms"].as_f64().unwrap() / alone["wall_ms"].as_f64().unwrap() - 1.0;
    println!(
        "{}",
        json!({
            "clients": clients, "events": events, "examples": examples, "per_second": per_second,
            "lost": lost, "delivered": received.iter().sum::<u64>(),
            "run_alone": alone, "run_watched": result, "slow_down_percent": (slowdown * 1000.0).round() / 10.0,
            "last_event_after_end_ms": { "most": delays.iter().copied().fold(0.0, f64::max).round() },
            "server_memory_kb": { "before": before, "peak": peak },
        })
    );
    server.end();
    assert_eq!(lost, 0, "no event is lost to a client that reads");
}

/// Counts events until the server closes the stream; also when the last one came.
async fn read(
    mut socket: tokio_tungstenite::WebSocketStream<
        tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>,
    >,
    events: u64,
) -> (u64, bool, Instant) {
    let (mut count, mut in_order, mut last) = (0, true, Instant::now());
    while count < events {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                count += 1;
                in_order &= text.contains(&format!("\"seq\":{count},"));
                last = Instant::now();
            }
            Some(Ok(_)) => {}
            _ => break,
        }
    }
    (count, in_order, last)
}

/// Shakes hands and never reads again.
fn stuck_client(address: &str, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /ws?run=0002-watched&token={token} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .unwrap();
    let mut head = [0; 16];
    stream.read_exact(&mut head).unwrap();
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// The most memory a process has had, in kilobytes.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
