//! The ring's rules, over in-memory sources.

use super::*;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

fn stream(ring_bytes: usize, overflow: Overflow) -> OutputStream {
    let config = OutputConfig { ring_bytes, max_line: 100, overflow, ..OutputConfig::default() };
    OutputStream::new(config, DiagnosticSink::default())
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| line.text.to_string()).collect()
}

fn numbered(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

#[tokio::test]
async fn a_late_subscriber_gets_everything_the_ring_holds() {
    let stream = stream(10_000, Overflow::DropOldest);
    stream.attach(&b"one\ntwo\npart"[..], b"zero\n".to_vec());
    stream.closed().await;
    for _ in 0..2 {
        let lines = stream.lines();
        assert_eq!(lines.missed(), 0);
        assert_eq!(texts(&lines.collect().await), ["zero", "one", "two", "part"]);
    }
    assert_eq!(texts(&stream.tail(1)), ["part"]);
    assert_eq!(stream.line_count(), 4);
}

#[tokio::test]
async fn nobody_listening_keeps_memory_bounded_and_counts_what_went() {
    let stream = stream(1000, Overflow::DropOldest);
    stream.attach(std::io::Cursor::new(numbered(50_000)), Vec::new());
    stream.closed().await;
    assert!(stream.held_bytes() <= 1000);
    let lines = stream.lines();
    let missed = lines.missed();
    let rest = lines.collect().await;
    assert_eq!(missed + rest.len() as u64, 50_000);
    assert_eq!(&*rest.last().unwrap().text, "49999");
}

#[tokio::test]
async fn with_wait_the_source_is_held_until_somebody_subscribes() {
    let stream = stream(1000, Overflow::Wait);
    let (mut source, sink) = tokio::io::duplex(64);
    stream.attach(sink, Vec::new());
    let writer = tokio::spawn(async move { source.write_all(&numbered(5000)).await });
    while stream.held_bytes() < 900 {
        tokio::task::yield_now().await;
    }
    assert!(!writer.is_finished());
    let lines = stream.lines();
    assert_eq!(lines.missed(), 0);
    assert_eq!(lines.collect().await.len(), 5000);
    writer.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_slow_subscriber_loses_nothing_and_holds_the_source() {
    let stream = stream(1000, Overflow::DropOldest);
    let mut slow = stream.lines();
    let fast = tokio::spawn(stream.lines().collect());
    let (mut source, sink) = tokio::io::duplex(64);
    stream.attach(sink, Vec::new());
    let writer = tokio::spawn(async move { source.write_all(&numbered(2000)).await });
    for expected in 0..2000 {
        tokio::task::yield_now().await;
        assert!(stream.held_bytes() <= 1000);
        assert_eq!(*slow.next().await.unwrap().text, *expected.to_string());
    }
    assert!(slow.next().await.is_none());
    assert_eq!(fast.await.unwrap().len(), 2000);
    writer.await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_the_slow_subscriber_lets_the_source_go_on() {
    let stream = stream(1000, Overflow::DropOldest);
    let stuck = stream.lines();
    stream.attach(std::io::Cursor::new(numbered(2000)), Vec::new());
    while stream.held_bytes() < 900 {
        tokio::task::yield_now().await;
    }
    assert!(tokio::time::timeout(Duration::from_millis(20), stream.closed()).await.is_err());
    drop(stuck);
    stream.closed().await;
    assert_eq!(stream.line_count(), 2000);
}

#[tokio::test]
async fn a_panicking_callback_still_gets_the_next_line() {
    let (seen, mut received) = tokio::sync::mpsc::unbounded_channel();
    let stream = stream(10_000, Overflow::DropOldest);
    stream.attach(&b"boom\nfine\n"[..], Vec::new());
    stream.closed().await;
    stream.on_line(move |line| {
        assert_ne!(&*line.text, "boom", "this panic is part of the test");
        seen.send(line.text.to_string()).unwrap();
    });
    assert_eq!(received.recv().await.as_deref(), Some("fine"));
    assert_eq!(received.recv().await, None);
}

/// A process that was left behind holds the pipe and prints a little all the time; the reader rests between its reads.
#[tokio::test]
async fn who_prints_on_after_the_writer_has_ended_does_not_keep_the_stream_open() {
    use std::io::Write as _;

    let (source, mut left_behind) = std::io::pipe().unwrap();
    let config = OutputConfig { settle: Duration::from_millis(1), ..OutputConfig::default() };
    let stream = OutputStream::new(config, DiagnosticSink::default());
    stream.attach_descriptor(source.into()).unwrap();
    let printing = std::thread::spawn(move || {
        while left_behind.write_all(b"still here\n").is_ok() {
            std::thread::sleep(Duration::from_micros(50));
        }
    });
    while stream.line_count() < 10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stream.writer_ended();
    tokio::time::timeout(Duration::from_mins(1), stream.closed()).await.expect("it ends");
    printing.join().unwrap();
}
