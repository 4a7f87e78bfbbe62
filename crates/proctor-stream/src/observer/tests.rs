use std::net::TcpStream as StdTcpStream;
use std::sync::mpsc;

use futures_util::StreamExt as _;
use proctor_events::{
    Bus, BusConfig, Event, ExampleFinished, ExampleStarted, Status, SuiteStarted, WorkerLog,
};
use proctor_record::JsonlRecorder;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::*;

struct TestObserver {
    bus: Bus,
    observer: WebSocketObserver,
    _folder: tempfile::TempDir,
}

fn fixture(token: Option<&str>, stall_after: Duration) -> TestObserver {
    fixture_with_pace(token, stall_after, END_PACE)
}

fn fixture_with_pace(
    token: Option<&str>,
    stall_after: Duration,
    end_pace: EndPace,
) -> TestObserver {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let bus = Bus::new(BusConfig {
        run_id: "run".into(),
        clock: Box::new(|| "2026-01-22T10:30:00Z".parse().unwrap()),
        on_warning: Box::new(|warning| panic!("{warning}")),
    });
    bus.add_recorder(JsonlRecorder::append(&path).unwrap());
    let feed = Feed::new(&path);
    bus.add_recorder(feed.recorder());
    let address =
        WebSocketAddress { host: "127.0.0.1".into(), port: 0, token: token.map(Into::into) };
    let observer = WebSocketObserver::start_with(&address, feed, stall_after, end_pace).unwrap();
    TestObserver { bus, observer, _folder: folder }
}

impl TestObserver {
    fn url(&self, query: &str) -> String {
        format!("ws://{}/{query}", self.observer.address())
    }

    fn publish(&self, count: usize) {
        for n in 0..count {
            self.bus.publish(WorkerLog { line: format!("line {n}"), stream: None }.into());
        }
    }

    fn finish(self) {
        self.bus.close(Duration::from_secs(10));
        self.observer.finish();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Connects, says so, and reads until the server closes; returns the numbers of the events.
async fn all_seqs(url: String, connected: mpsc::Sender<()>) -> Vec<u64> {
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    connected.send(()).unwrap();
    let mut seqs = Vec::new();
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Text(text) = message {
            let event = Event::from_json(&text).unwrap();
            if event.type_name() != "StreamLag" {
                seqs.push(event.seq.unwrap());
            }
        }
    }
    seqs
}

/// Starts a client per address and returns once all are connected.
fn start_readers(urls: Vec<String>) -> Vec<JoinHandle<Vec<u64>>> {
    let (connected, signals) = mpsc::channel();
    let count = urls.len();
    let readers = urls
        .into_iter()
        .map(|url| {
            let connected = connected.clone();
            std::thread::spawn(move || block_on(all_seqs(url, connected)))
        })
        .collect();
    drop(connected);
    assert_eq!(signals.iter().take(count).count(), count);
    readers
}

#[test]
fn early_late_and_resuming_clients_each_get_everything_once() {
    let fixture = fixture(None, STALL_TIMEOUT);
    // More than memory holds, so that the late ones must go through the recording.
    let (before, after) = (6000, 3000);
    let urls: Vec<String> =
        ["", "?since=0", "?since=5990", "?since=8999"].iter().map(|q| fixture.url(q)).collect();
    fixture.publish(before);
    let readers = start_readers(urls);
    fixture.publish(after);
    fixture.finish();
    let results: Vec<Vec<u64>> = readers.into_iter().map(|r| r.join().unwrap()).collect();
    let expected = |from: u64| (from..=9000).collect::<Vec<_>>();
    assert_eq!(results, [expected(1), expected(1), expected(5991), expected(9000)]);
}

#[test]
fn the_older_form_is_served_on_request() {
    let fixture = fixture(None, STALL_TIMEOUT);
    fixture.publish(1);
    let url = fixture.url("?format=envelope");
    let text = block_on(async {
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        socket.next().await.unwrap().unwrap().into_text().unwrap()
    });
    assert_eq!(&*text, r#"{"data":{"line":"line 0"},"event":"WorkerLog","run_id":"run","seq":1}"#);
    fixture.finish();
}

/// Audit R8: a client that knows the last `seq` misses nothing, and what it gets does not depend on where it began.
#[test]
fn r8_the_older_form_is_resumed_with_descriptions_and_counts() {
    let fixture = fixture(None, STALL_TIMEOUT);
    let (a, b) = ("a".into(), "b".into());
    let result = |status| ExampleFinished { status, r#final: Some(true), ..Default::default() };
    fixture.bus.publish(SuiteStarted { example_count: Some(2), ..Default::default() }.into());
    for id in [&a, &b] {
        let started =
            ExampleStarted { path: vec!["Agent".into(), "works".into()], ..Default::default() };
        fixture.bus.publish(Event::new(started).about(id));
    }
    fixture.bus.publish(Event::new(result(Status::Failed)).about(&a));
    fixture.bus.publish(Event::new(result(Status::Passed)).about(&b));
    let messages = |since: u64| {
        let url = fixture.url(&format!("?format=envelope&progress=each&since={since}"));
        block_on(async {
            let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
            let mut messages = Vec::new();
            while messages.last().is_none_or(|last: &Value| last["data"]["completed"] != 2) {
                let text = socket.next().await.unwrap().unwrap().into_text().unwrap();
                messages.push(serde_json::from_str(&text).unwrap());
            }
            messages
        })
    };
    let all = messages(0);
    let seqs: Vec<&Value> = all.iter().map(|message| &message["seq"]).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 4, 5, 5]);
    assert!(all.iter().all(|message| message["run_id"] == "run"));
    assert_eq!(all[3]["data"]["full_description"], "Agent works");
    assert_eq!(all[6]["data"], json!({"completed": 2, "total": 2, "failures": 1}));
    for since in 1..5 {
        let after = all.iter().filter(|message| message["seq"].as_u64() > Some(since));
        assert_eq!(messages(since), after.cloned().collect::<Vec<_>>(), "since {since}");
    }
    fixture.finish();
}

#[test]
fn strangers_are_turned_away() {
    let fixture = fixture(Some("s3cret"), STALL_TIMEOUT);
    let status = |query: &str, origin: Option<&str>| {
        let mut request = fixture.url(query).into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("Origin", origin.parse().unwrap());
        }
        match block_on(tokio_tungstenite::connect_async(request)) {
            Ok(_) => 101,
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                response.status().as_u16()
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(status("", None), 401);
    assert_eq!(status("?token=wrong", None), 401);
    assert_eq!(status("?token=s3cret", Some("https://evil.example")), 403);
    assert_eq!(status("?token=s3cret", None), 101);
}

/// A client that never reads holds up neither the publisher nor the other clients, and is dropped.
///
/// On a busy machine the other client's thread may not run for a while: silence must be longer than that, and the time in which it
/// reads says nothing. What would tell is the patience of `finish`, which a stuck client that is not dropped uses up.
#[test]
fn a_stuck_client_is_dropped_and_waited_for_by_nobody() {
    let time_limit = Duration::from_mins(3);
    let fixture = fixture(None, Duration::from_secs(3));
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut stuck = StdTcpStream::connect(fixture.observer.address()).unwrap();
    std::io::Write::write_all(&mut stuck, request.as_bytes()).unwrap();
    let readers = start_readers(vec![fixture.url("")]);
    let text = "x".repeat(2000);
    for _ in 0..20_000 {
        fixture.bus.publish(WorkerLog { line: text.clone(), stream: None }.into());
    }
    let started = std::time::Instant::now();
    fixture.bus.close(time_limit);
    fixture.observer.finish();
    assert!(started.elapsed() < time_limit, "nobody waits for the stuck client");
    let lengths: Vec<usize> = readers.into_iter().map(|r| r.join().unwrap().len()).collect();
    assert_eq!(lengths, [20_000]);
    drop(stuck);
}

/// Audit R7: the end of the run is not held up by a client that is too slow, and the client knows where to go on.
#[test]
fn r7_a_client_that_is_behind_at_the_end_is_told_where_to_resume() {
    let impatient = EndPace { window: Duration::from_millis(1), windows: 1 };
    let fixture = fixture_with_pace(None, STALL_TIMEOUT, impatient);
    let url = fixture.url("");
    let (connected, signals) = mpsc::channel();
    let (go, may_read) = mpsc::channel::<()>();
    let client = std::thread::spawn(move || {
        block_on(async {
            let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
            connected.send(()).unwrap();
            may_read.recv().unwrap();
            let (mut texts, mut close) = (Vec::new(), None);
            while let Some(Ok(message)) = socket.next().await {
                match message {
                    Message::Text(text) => {
                        texts.push(serde_json::from_str::<serde_json::Value>(&text).unwrap());
                    }
                    Message::Close(frame) => close = frame,
                    _ => {}
                }
            }
            (texts, close)
        })
    });
    signals.recv().unwrap();
    let text = "x".repeat(2000);
    for _ in 0..20_000 {
        fixture.bus.publish(WorkerLog { line: text.clone(), stream: None }.into());
    }
    fixture.bus.close(Duration::from_secs(10));
    go.send(()).unwrap();
    fixture.observer.finish();
    let (mut texts, close) = client.join().unwrap();
    let last = texts.pop().unwrap();
    texts.retain(|event| event["event_type"] == "WorkerLog");
    let sent = texts.len() as u64;
    assert!(sent < 20_000, "cut off");
    assert_eq!(texts.last().map(|event| event["seq"].clone()), Some(sent.into()));
    assert_eq!(last["event_type"], "StreamClosing");
    assert_eq!((&last["seq"], &last["behind"]), (&sent.into(), &(20_000 - sent).into()));
    assert!(last["recording"].as_str().unwrap().ends_with("events.jsonl"), "{last}");
    assert_eq!(u16::from(close.unwrap().code), 1001);
}

#[test]
fn a_taken_port_is_refused_with_its_address() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let address = WebSocketAddress { host: "localhost".into(), port, token: None };
    // `localhost` may mean both families; taking 127.0.0.1 leaves ::1 free on some machines.
    let address = WebSocketAddress { host: "127.0.0.1".into(), ..address };
    let error = WebSocketObserver::start(&address, Feed::new("/nowhere".as_ref())).unwrap_err();
    assert!(
        error.to_string().contains("cannot listen on this address: Address already in use"),
        "{error}"
    );
}
