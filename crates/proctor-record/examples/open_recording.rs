//! Measures how long a reader takes to open a finished run, with and without the index beside its recording.
//!
//! `cargo run --release -p proctor-record --example open_recording -- [EVENTS]` (default 1,000,000)

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_events::{
    Event, ExampleFinished, ExampleStarted, Published, Recorder as _, Status, WorkerLog,
};
use proctor_record::{Growth, JsonlRecorder, RecordingReader, RunInfo, RunStore};

/// Events of one example: it starts, prints a few lines and ends.
const EVENTS_OF_EXAMPLE: u64 = 10;
/// How often each way of opening is measured; the fastest counts.
const ROUNDS: usize = 3;

fn main() {
    let count = std::env::args().nth(1).map_or(1_000_000, |count| count.parse().unwrap());
    let project = tempfile::tempdir().unwrap();
    let time = "2026-01-22T10:30:00Z".parse().unwrap();
    let info = RunInfo::new("large".into(), time, Vec::new());
    let (folder, mut recorder) = RunStore::new(project.path()).create(&info).unwrap();
    let (recording, index) = (folder.events_path(), folder.path().join("events.index"));
    write_events(&mut recorder, count);
    drop(recorder);

    // The recording has just been written, so no reader writes an index yet.
    let without = (0..ROUNDS).map(|_| open(&recording, count)).min().unwrap();
    assert!(!index.exists());
    std::thread::sleep(Duration::from_millis(2100));
    let writing = open(&recording, count);
    assert!(index.exists());
    let with = (0..ROUNDS).map(|_| open(&recording, count)).min().unwrap();

    let size = |path: &Path| std::fs::metadata(path).unwrap().len() >> 10;
    println!("{count} events, recording {} KiB, index {} KiB", size(&recording), size(&index));
    println!("without index {without:.1?}, writing it {writing:.1?}, with index {with:.1?}");
    println!("ratio {:.1}", without.as_secs_f64() / with.as_secs_f64());
}

/// How long it takes until everything is read.
fn open(recording: &Path, count: u64) -> Duration {
    let begun = Instant::now();
    let mut reader = RecordingReader::new(recording);
    while reader.read().unwrap() != Growth::Nothing {}
    let elapsed = begun.elapsed();
    assert_eq!(reader.event_count() as u64, count);
    elapsed
}

fn write_events(recorder: &mut JsonlRecorder, count: u64) {
    let mut batch = Vec::new();
    for seq in 1..=count {
        let (example, part) = (seq / EVENTS_OF_EXAMPLE, seq % EVENTS_OF_EXAMPLE);
        let mut event: Event = match part {
            0 => ExampleStarted {
                path: vec!["Shop".into(), "Cart".into(), format!("keeps item {example}")],
                file: Some("./spec/shop/cart_spec.rb".into()),
                ..ExampleStarted::default()
            }
            .into(),
            9 => ExampleFinished { status: Status::Passed, ..ExampleFinished::default() }.into(),
            _ => {
                WorkerLog { line: format!("step {part} of example {example}"), stream: None }.into()
            }
        };
        event.v = Some(1);
        event.seq = Some(seq);
        event.time = "2026-01-22T10:30:00Z".parse().ok();
        batch.push(Arc::new(Published::new(
            event.about(&format!("{example:012x}").as_str().into()),
        )));
        if batch.len() == 1000 || seq == count {
            recorder.record(&batch).unwrap();
            batch.clear();
        }
    }
}
