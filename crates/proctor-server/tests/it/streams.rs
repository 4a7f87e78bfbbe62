//! `/ws`: everything once, in order, from anywhere.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::test_server::{TOKEN, TestServer, line, small_run};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn connect(fixture: &TestServer, query: &str) -> Socket {
    let url = format!("ws://127.0.0.1:{}/ws?token={TOKEN}{query}", fixture.port());
    tokio_tungstenite::connect_async(url).await.unwrap().0
}

/// The next event, or `None` once the server has said goodbye.
async fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        let message = tokio::time::timeout(Duration::from_secs(30), socket.next())
            .await
            .expect("an event in time");
        match message?.ok()? {
            Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

/// The numbers of the events up to the end. A client that is slow is told so, by a message with the number of the last event.
async fn rest(socket: &mut Socket) -> Vec<u64> {
    let mut seqs = Vec::new();
    while let Some(event) = next(socket).await {
        if event["event_type"] != "StreamLag" {
            seqs.push(event["seq"].as_u64().unwrap());
        }
    }
    seqs
}

#[test]
fn a_finished_run_is_sent_whole_and_closed() {
    let fixture = TestServer::new();
    fixture.record("r", &small_run());
    block_on(async {
        assert_eq!(rest(&mut connect(&fixture, "&run=r").await).await, (1..=8).collect::<Vec<_>>());
        assert_eq!(rest(&mut connect(&fixture, "&run=last&since=6").await).await, [7, 8]);
        assert_eq!(rest(&mut connect(&fixture, "&run=r&since=99").await).await, Vec::<u64>::new());
        assert_eq!(rest(&mut connect(&fixture, "&run=r&example=bbb").await).await, [6, 7]);
        assert_eq!(
            rest(&mut connect(&fixture, "&run=r&type=UserMessage,SuiteFinished").await).await,
            [3, 8]
        );
    });
}

/// A run of another process is nothing but a file that grows.
#[test]
fn a_growing_recording_is_followed_and_resumed_without_loss() {
    let fixture = TestServer::new();
    let first = vec![line(1, "SuiteStarted", None, "")];
    fixture.record("r", &first);
    block_on(async {
        let mut early = connect(&fixture, "&run=r").await;
        assert_eq!(next(&mut early).await.unwrap()["seq"], 1);
        let logs: Vec<String> =
            (2..=9000).map(|seq| line(seq, "WorkerLog", None, r#""line":"x""#)).collect();
        // In portions that end in the middle of lines.
        let text = logs.join("\n") + "\n";
        let path = fixture.store.runs_folder().join("r/events.jsonl");
        let writer = std::thread::spawn(move || {
            let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            for part in text.as_bytes().chunks(7777) {
                std::io::Write::write_all(&mut file, part).unwrap();
            }
        });
        let mut seen = Vec::new();
        while seen.len() < 3000 {
            seen.push(next(&mut early).await.unwrap()["seq"].as_u64().unwrap());
        }
        drop(early);
        let last = *seen.last().unwrap();
        let mut again = connect(&fixture, &format!("&run=r&since={last}")).await;
        writer.join().unwrap();
        fixture.append(
            "r",
            &[line(9001, "SuiteFinished", None, r#""example_count":0,"failure_count":0"#)],
        );
        seen.extend(rest(&mut again).await);
        assert_eq!(seen, (2..=9001).collect::<Vec<_>>());
    });
}

#[test]
fn without_a_name_it_is_about_whatever_happens_here() {
    let fixture = TestServer::new();
    fixture.record("0190-old", &small_run());
    block_on(async {
        let mut socket = connect(&fixture, "").await;
        let mut resumed = connect(&fixture, "&since=7").await;
        assert_eq!(next(&mut resumed).await.unwrap()["seq"], 8, "the newest run, from there on");
        fixture.record("0191-new", &small_run()[..2]);
        assert_eq!(next(&mut socket).await.unwrap()["event_type"], "SuiteStarted");
        assert_eq!(next(&mut socket).await.unwrap()["seq"], 2);
        fixture.append("0191-new", &small_run()[7..]);
        assert_eq!(next(&mut socket).await.unwrap()["event_type"], "SuiteFinished");
        fixture.record("0192-next", &small_run());
        assert_eq!(next(&mut socket).await.unwrap()["seq"], 1, "and then the next one");
    });
}

#[test]
fn the_older_form() {
    let fixture = TestServer::new();
    fixture.record("r", &small_run());
    block_on(async {
        let mut socket = connect(&fixture, "&run=r&format=envelope&example=bbb").await;
        assert_eq!(next(&mut socket).await.unwrap()["event"], "ExampleStarted");
        let failed = next(&mut socket).await.unwrap();
        assert_eq!(
            (&failed["event"], &failed["data"]["message"]),
            (&"ExampleFailed".into(), &"broken".into())
        );
        let mut resumed = connect(&fixture, "&run=r&format=envelope&since=6").await;
        let again = next(&mut resumed).await.unwrap();
        assert_eq!(again, failed, "a client that resumes gets the same words");
        let mut counted = connect(&fixture, "&run=r&progress=each&format=envelope&since=6").await;
        assert_eq!(next(&mut counted).await.unwrap(), failed);
        let progress = next(&mut counted).await.unwrap();
        assert_eq!((&progress["event"], &progress["seq"]), (&"progress".into(), &failed["seq"]));
        assert_eq!(progress["data"]["completed"], 2, "with the results before: {progress}");
    });
}

#[test]
fn strange_wishes_are_refused_before_the_handshake() {
    let fixture = TestServer::new();
    fixture.record("r", &small_run());
    block_on(async {
        for (query, status) in [
            ("&run=zzz", 404),
            ("&since=x", 400),
            ("&format=xml", 400),
            ("&sinse=1", 400),
            ("&progress=all", 400),
            ("&run=r&progress=each&example=bbb", 400),
        ] {
            let url = format!("ws://127.0.0.1:{}/ws?token={TOKEN}{query}", fixture.port());
            match tokio_tungstenite::connect_async(url).await {
                Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                    assert_eq!(response.status().as_u16(), status, "{query}");
                }
                other => panic!("{query}: {other:?}"),
            }
        }
    });
}

/// One that never reads holds up nobody.
#[test]
fn a_stuck_client_holds_up_nobody() {
    let fixture = TestServer::new();
    fixture.record("r", &[line(1, "SuiteStarted", None, "")]);
    block_on(async {
        let _stuck = connect(&fixture, "&run=r").await;
        let mut reading = connect(&fixture, "&run=r").await;
        let filling = format!(r#""line":"{}""#, "x".repeat(2000));
        let logs: Vec<String> =
            (2..=10_000).map(|seq| line(seq, "WorkerLog", None, &filling)).collect();
        fixture.append("r", &logs);
        fixture.append(
            "r",
            &[line(10_001, "SuiteFinished", None, r#""example_count":0,"failure_count":0"#)],
        );
        assert_eq!(rest(&mut reading).await, (1..=10_001).collect::<Vec<_>>());
    });
}

/// Whoever says goodbye in the middle of a run is answered, and is gone.
#[test]
fn a_goodbye_is_answered() {
    let fixture = TestServer::new();
    fixture.record("r", &small_run()[..3]);
    block_on(async {
        for query in ["&run=r", ""] {
            let mut socket = connect(&fixture, query).await;
            assert_eq!(next(&mut socket).await.unwrap()["seq"], 1);
            socket.close(None).await.unwrap();
            let mut answered = false;
            while let Some(Ok(message)) = socket.next().await {
                answered |= matches!(message, Message::Close(_));
            }
            assert!(answered, "{query}");
        }
    });
}

/// Whoever watches when the server ends is told so, rather than cut off; whoever does not listen holds up nobody for long.
#[test]
fn the_end_of_the_server_is_told() {
    let fixture = TestServer::new();
    fixture.record("r", &small_run()[..3]);
    block_on(async {
        let mut of_a_run = connect(&fixture, "&run=r").await;
        let mut of_all = connect(&fixture, "").await;
        for seq in 1..=3 {
            assert_eq!(next(&mut of_a_run).await.unwrap()["seq"], seq);
        }
        let silent = connect(&fixture, "&run=r").await;
        let begun = std::time::Instant::now();
        let ending = tokio::task::spawn_blocking(move || fixture.end());
        for socket in [&mut of_a_run, &mut of_all] {
            let frame = goodbye(socket).await;
            assert_eq!(
                (u16::from(frame.code), frame.reason.as_str()),
                (1001, "the server has ended")
            );
        }
        let _recordings = ending.await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        drop(silent);
    });
}

async fn goodbye(socket: &mut Socket) -> CloseFrame {
    loop {
        let message = tokio::time::timeout(Duration::from_secs(30), socket.next()).await;
        if let Message::Close(frame) = message.expect("in time").expect("a goodbye").unwrap() {
            return frame.expect("with a reason");
        }
    }
}
