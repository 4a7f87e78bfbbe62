//! Reads one recording in one way, and prints how long that took and how much memory the process needed at most.
//!
//! `read_recording make FOLDER EVENTS` writes the recording of a mixed run (conversations, checks, printed lines, four workers);
//! `read_recording WAY RECORDING` reads it. `bench/readers/run` calls it; docs/figures.md shows what it prints.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_events::{
    AgentResponse, Body, EvaluationMode, EvaluationRecorded, Event, ExampleFinished,
    ExampleStarted, Exception, Json, Millis, ModelCall, Published, Recorder as _, Status,
    StatusCounts, SuiteFinished, SuiteStarted, ToolCallCompleted, ToolCallStarted, UserMessage,
    WorkerLog,
};
use proctor_record::{
    Aggregator, Entry, EventBatch, EventFilter, ExampleSource as _, Growth, JsonlRecorder, Reader,
    RecordingReader, RunChoice, RunInfo, RunOnDisk, RunStore,
};
use proctor_report::{
    Detail, JunitDialect, RunJson, Style, markdown_of, transcript, write_html, write_json,
    write_junit, write_transcript,
};

/// Events of one example.
const EVENTS_OF_EXAMPLE: u64 = 10;
/// Examples whose events are mixed: one for each worker.
const WORKERS: u64 = 4;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["make", folder, events] => make(Path::new(folder), events.parse().unwrap()),
        [way, recording] => measure(way, Path::new(recording)),
        _ => println!("usage: read_recording make FOLDER EVENTS | read_recording WAY RECORDING"),
    }
}

fn measure(way: &str, path: &Path) {
    let begun = Instant::now();
    let found = read(way, path);
    let elapsed = begun.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a file is shorter than 2^52 bytes")]
    let rate = std::fs::metadata(path).unwrap().len() as f64 / 1e6 / elapsed;
    println!("{way}: {:.0} ms, {rate:.0} MB/s, {} MB, {found}", elapsed * 1000.0, peak_memory());
}

/// The most memory that this process has had, in megabytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() / 1024
}

fn read(way: &str, path: &Path) -> usize {
    let load = || proctor_record::load(path, &RunChoice::Last).unwrap().run;
    match way {
        "lines" => line_feeds(path),
        "ignore" => ignored(path),
        "events" => {
            Reader::open(path).unwrap().filter(|it| matches!(it, Entry::Event { .. })).count()
        }
        "validate" => {
            let found = proctor_record::validate_file(path).unwrap();
            assert_eq!(found.findings, [], "the recording is whole");
            usize::try_from(found.events).unwrap()
        }
        "load" => load().examples.len(),
        "transcript" => transcript(&load(), Detail::Brief, Style { color: false }).len(),
        "show" | "json" | "junit" | "markdown" | "html" => reported(way, path),
        "outline" => {
            let mut fold = Aggregator::outline();
            for entry in Reader::open(path).unwrap() {
                if let Entry::Event { event, .. } = entry {
                    fold.apply(&event);
                }
            }
            fold.run().examples.len()
        }
        "open" => {
            let mut reader = RecordingReader::new(path);
            while reader.read().unwrap() != Growth::Nothing {}
            reader.event_count()
        }
        "page" => pages(path),
        other => panic!("unknown way {other}"),
    }
}

/// A hundred events from each of a hundred places, as a page asks for them; prints how long the slowest took.
fn pages(path: &Path) -> usize {
    let mut reader = RecordingReader::new(path);
    while reader.read().unwrap() != Growth::Nothing {}
    let (count, filter) = (reader.event_count(), EventFilter::default());
    let mut slowest = Duration::ZERO;
    let mut bytes = 0;
    for place in 0..100 {
        let begun = Instant::now();
        let events = match reader.batch(count / 101 * place, &filter, 100) {
            EventBatch::InMemory(events, _) => events,
            EventBatch::OnDisk(spans, _) => spans.read().unwrap(),
        };
        bytes += events.iter().map(|event| event.text.len()).sum::<usize>();
        slowest = slowest.max(begun.elapsed());
    }
    println!("slowest page: {:.2} ms", slowest.as_secs_f64() * 1000.0);
    bytes
}

/// The length of a report of the run on disk.
fn reported(way: &str, path: &Path) -> usize {
    let mut length = 0;
    let mut write = |piece: &str| {
        length += piece.len();
        Ok(())
    };
    if way == "html" {
        let events = proctor_record::run_events(path, &RunChoice::Last).unwrap();
        write_html("", events.map(|it| it.map(|event| event.to_json())), &mut write).unwrap();
        return length;
    }
    let run = &RunOnDisk::open(path, &RunChoice::Last).unwrap().run;
    let totals = run.totals().unwrap();
    match way {
        "show" => {
            let style = Style { color: false };
            write_transcript(run, &totals.counts, Detail::Brief, style, &mut write)
        }
        "json" => write_json(&RunJson::of(run, totals), &mut write),
        "junit" => write_junit(run, &totals.counts, "s", JunitDialect::Default, &mut write),
        _ => markdown_of(run, &totals.counts).and_then(|text| write(&text)),
    }
    .unwrap();
    length
}

/// The least that any reader does: read the bytes, find the lines.
#[expect(clippy::naive_bytecount, reason = "the compiler makes it as fast as memory is read")]
fn line_feeds(path: &Path) -> usize {
    let mut file = std::fs::File::open(path).unwrap();
    let (mut buffer, mut count) = (vec![0; 1 << 18], 0);
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return count,
            length => count += buffer[..length].iter().filter(|byte| **byte == b'\n').count(),
        }
    }
}

/// A reader of JSON that keeps nothing.
fn ignored(path: &Path) -> usize {
    let text = std::fs::read(path).unwrap();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()).count()
}

fn make(folder: &Path, events: u64) {
    let time = "2026-01-22T10:30:00Z".parse().unwrap();
    let id = uuid_like(events);
    let info = RunInfo::new(id.as_str().into(), time, Vec::new());
    let (made, mut recorder) = RunStore::new(folder).create(&info).unwrap();
    let mut writer = Writer { recorder: &mut recorder, batch: Vec::new(), seq: 0, run: id };
    let examples = (events.saturating_sub(2) / EVENTS_OF_EXAMPLE).max(1);
    let planned = Some(examples);
    writer.write(Event::from(SuiteStarted {
        seed: Some(7),
        example_count: planned,
        repetition_count: planned,
        workers: Some(4),
        ..SuiteStarted::default()
    }));
    for first in (0..examples).step_by(usize::try_from(WORKERS).unwrap()) {
        let together = first..(first + WORKERS).min(examples);
        for part in 0..EVENTS_OF_EXAMPLE {
            for example in together.clone() {
                writer.write(event(example, part));
            }
        }
    }
    let failures = (0..examples).filter(|example| fails(*example)).count() as u64;
    let counts = StatusCounts {
        passed: Some(examples - failures),
        failed: Some(failures),
        ..StatusCounts::default()
    };
    writer.write(Event::from(SuiteFinished {
        example_count: examples,
        failure_count: failures,
        pending_count: Some(0),
        counts: Some(counts),
        error_count: Some(0),
        duration_ms: Some(Millis::new(185_300.0)),
        exit_code: Some(i32::from(failures > 0)),
        state: Some(proctor_events::RunEnding::Finished),
        verdict: Some(if failures > 0 { "failed" } else { "passed" }.to_owned()),
        repetition_count: planned,
        ..SuiteFinished::default()
    }));
    writer.flush();
    println!("{}", made.events_path().display());
}

fn uuid_like(number: u64) -> String {
    format!("{number:08x}-0000-7000-8000-{number:012x}")
}

fn fails(example: u64) -> bool {
    example % 50 == 3
}

/// One event of an example: it starts, a conversation with one tool call is held, checked and ended.
fn event(example: u64, part: u64) -> Event {
    let turn_number = 1;
    let body: Body = match part {
        0 => ExampleStarted {
            file: Some(format!("./spec/shop/part_{}_spec.rb", example / 50)),
            path: vec![format!("Part {}", example / 50), format!("answers question {example}")],
            location: Some(format!("./spec/shop/part_{}_spec.rb:{}", example / 50, example % 50)),
            description: Some(format!("answers question {example}")),
            tags: vec!["slow".to_owned()],
            suite: Some("rspec".to_owned()),
            ..ExampleStarted::default()
        }
        .into(),
        1 => UserMessage {
            turn_number,
            text: format!("Can I move my booking {example} to Friday, “please”?"),
            ..UserMessage::default()
        }
        .into(),
        2 => ModelCall {
            backend: Some("anthropic".to_owned()),
            model: Some("m".to_owned()),
            purpose: Some("agent".to_owned()),
            input_tokens: Some(900 + example % 100),
            output_tokens: Some(120),
            cost_usd: Some(0.0042),
            duration_ms: Some(Millis::new(812.5)),
            ..ModelCall::default()
        }
        .into(),
        3 => ToolCallStarted {
            turn_number,
            tool_call_id: Some(format!("call_{example}")),
            tool_name: "move_booking".to_owned(),
            arguments: Json::new(&serde_json::json!({"id": example, "day": "Friday"})).ok(),
        }
        .into(),
        4 => ToolCallCompleted {
            turn_number,
            tool_call_id: Some(format!("call_{example}")),
            tool_name: "move_booking".to_owned(),
            result: Json::new(&serde_json::json!({"moved": true, "fee": [0, 12.5]})).ok(),
            duration_ms: Some(Millis::new(3.25)),
            ..ToolCallCompleted::default()
        }
        .into(),
        5 => AgentResponse {
            turn_number,
            text: "Of course.\nYour booking is on \"Friday\" now.".to_owned(),
            duration_ms: Some(Millis::new(912.25)),
            ..AgentResponse::default()
        }
        .into(),
        6 => EvaluationRecorded {
            turn_number: Some(turn_number),
            mode: EvaluationMode::Hard,
            evaluation_type: Some("judge".to_owned()),
            name: Some("polite".to_owned()),
            passed: Some(!fails(example)),
            score: Some(0.9),
            reasoning: Some("The answer is short and friendly.".to_owned()),
            ..EvaluationRecorded::default()
        }
        .into(),
        7 | 8 => WorkerLog {
            line: format!("step {part} of example {example} took 12 ms"),
            stream: Some(proctor_events::OutputStream::Stdout),
        }
        .into(),
        _ => finished(example).into(),
    };
    Event::new(body)
        .about(&format!("{example:012x}").as_str().into())
        .in_attempt(1, 1)
        .from_worker(u32::try_from(example % WORKERS).unwrap_or_default())
}

fn finished(example: u64) -> ExampleFinished {
    let exception = fails(example).then(|| Exception {
        class: Some("RSpec::Expectations::ExpectationNotMetError".to_owned()),
        message: "expected: \"Friday\"\n     got: \"Monday\"".to_owned(),
        backtrace: vec![format!("./spec/shop/part_{}_spec.rb:12", example / 50)],
        ..Exception::default()
    });
    ExampleFinished {
        status: if exception.is_some() { Status::Failed } else { Status::Passed },
        exception,
        duration_ms: Some(Millis::new(12.345)),
        r#final: Some(true),
        checks: Some(1),
        ..ExampleFinished::default()
    }
}

struct Writer<'a> {
    recorder: &'a mut JsonlRecorder,
    batch: Vec<Arc<Published>>,
    seq: u64,
    run: String,
}

impl Writer<'_> {
    fn write(&mut self, mut event: Event) {
        self.seq += 1;
        event.v = Some(1);
        event.seq = Some(self.seq);
        event.run_id = Some(self.run.as_str().into());
        let micros = 1_769_077_800_000_000 + i64::try_from(self.seq).unwrap() * 137;
        event.time = jiff::Timestamp::from_microsecond(micros).ok();
        self.batch.push(Arc::new(Published::new(event)));
        if self.batch.len() == 1000 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.recorder.record(&self.batch).unwrap();
        self.batch.clear();
    }
}
