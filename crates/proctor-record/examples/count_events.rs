//! Hot paths of recordings, for counting instructions: `count_events publish|validate|fold EVENTS [--slower]`.
//!
//! `bench/instructions/run` calls it below callgrind and counts what happens in [`measured_work`] only. `--slower` does a tenth of the
//! work twice, by which the guard is tested.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::path::Path;

use proctor_events::{
    AgentResponse, Body, Bus, BusConfig, Event, ExampleFinished, ExampleStarted, Millis, Status,
    UserMessage, WorkerLog,
};
use proctor_record::{Aggregator, Entry, JsonlRecorder, Reader};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [path, events, more @ ..] = &words[..] else {
        return println!("usage: count_events publish|validate|fold EVENTS [--slower]");
    };
    let events: u64 = events.parse().unwrap();
    let extra = if more.contains(&"--slower") { events / 10 } else { 0 };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.jsonl");
    match *path {
        "publish" => publish(&file, events, extra, true),
        "validate" => {
            publish(&file, events, extra, false);
            measured_work(&mut || {
                let found = proctor_record::validate_file(&file).unwrap();
                assert_eq!(found.events, events + extra);
            });
        }
        "fold" => {
            publish(&file, events, extra, false);
            measured_work(&mut || fold(&file));
        }
        other => panic!("unknown path {other}"),
    }
}

/// Instructions are counted between the beginning and the end of this function.
#[inline(never)]
fn measured_work(work: &mut dyn FnMut()) {
    work();
}

/// Publishes events to a recording, five at a time, through a filter that changes nothing.
fn publish(file: &Path, events: u64, extra: u64, measured: bool) {
    let config = BusConfig {
        run_id: "01a1e204-1b3a-70b8-8c4f-a295b5a2bebd".into(),
        clock: Box::new(|| jiff::Timestamp::from_microsecond(1_769_077_800_123_456).unwrap()),
        on_warning: Box::new(|warning| panic!("{warning}")),
    };
    let bus = Bus::with_text_filter(config, Box::new(|_| None));
    bus.add_recorder(JsonlRecorder::append(file).unwrap());
    let made: Vec<Event> = (0..events + extra).map(event).collect();
    let mut made = made.into_iter();
    let mut work = || {
        while made.len() > 0 {
            bus.publish_all(made.by_ref().take(5));
        }
    };
    if measured {
        measured_work(&mut work);
    } else {
        work();
    }
}

fn fold(file: &Path) {
    let mut fold = Aggregator::outline();
    for entry in Reader::open(file).unwrap() {
        if let Entry::Event { event, .. } = entry {
            fold.apply(&event);
        }
    }
    assert!(!fold.run().examples.is_empty());
}

/// The n-th event: every five make an example with one turn.
fn event(number: u64) -> Event {
    let example = number / 5;
    let body: Body = match number % 5 {
        0 => ExampleStarted {
            file: Some("./shop.scenario.yaml".to_owned()),
            path: vec!["Shop".to_owned(), format!("row {example}")],
            location: Some("./shop.scenario.yaml:7".to_owned()),
            description: Some(format!("row {example}")),
            suite: Some("scenario".to_owned()),
            ..ExampleStarted::default()
        }
        .into(),
        1 => UserMessage {
            turn_number: 1,
            text: format!("Can I move booking {example} to Friday, please?"),
            ..UserMessage::default()
        }
        .into(),
        2 => AgentResponse {
            turn_number: 1,
            text: "Of course.\nYour booking is on \"Friday\" now.".to_owned(),
            duration_ms: Some(Millis::new(912.25)),
            ..AgentResponse::default()
        }
        .into(),
        3 => WorkerLog { line: format!("example {example} took 12 ms"), stream: None }.into(),
        _ => ExampleFinished {
            status: Status::Passed,
            duration_ms: Some(Millis::new(12.345)),
            r#final: Some(true),
            checks: Some(1),
            ..ExampleFinished::default()
        }
        .into(),
    };
    Event::new(body).about(&format!("{example:012x}").as_str().into()).in_attempt(1, 1)
}
