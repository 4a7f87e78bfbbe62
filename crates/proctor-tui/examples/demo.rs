//! A run that never was: several workers, conversations, plain specs and failures, on the real bus.
//!
//! `cargo run -p proctor-tui --example demo -- [--workers N] [--pace MS] [--no-color] [--panic]`, or
//! `… --file EVENTS.jsonl` to look at a recording.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use proctor_events::{
    AgentResponse, Bus, BusConfig, EvaluationMode, EvaluationRecorded, Event, ExampleFinished,
    ExampleId, ExampleStarted, Exception, Filter, Millis, OutputStream, Status, StatusCounts,
    SuiteFinished, SuiteStarted, Timestamp, ToolCallCompleted, ToolCallStarted, TopicChanged,
    UserMessage, WorkerExited, WorkerLog, WorkerStarted,
};
use proctor_report::Style;
use proctor_tui::{Command, FollowedFile, ScreenOptions, run};

struct Arguments {
    workers: u32,
    pace: Duration,
    color: bool,
    /// Whether the callback of the screen panics, to show that the terminal survives it.
    panic: bool,
    file: Option<PathBuf>,
}

fn arguments() -> Arguments {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let place = given.iter().position(|argument| argument == name)?;
        given.get(place + 1)
    };
    let number = |name: &str| value(name)?.parse::<u32>().ok();
    Arguments {
        workers: number("--workers").unwrap_or(5),
        pace: Duration::from_millis(number("--pace").unwrap_or(250).into()),
        color: !given.iter().any(|argument| argument == "--no-color"),
        panic: given.iter().any(|argument| argument == "--panic"),
        file: value("--file").map(PathBuf::from),
    }
}

fn main() -> ExitCode {
    let arguments = arguments();
    if let Some(path) = &arguments.file {
        return show_file(path, arguments.color);
    }
    let room = Arc::new(Room::new(arguments.pace));
    let source = room.bus.subscribe("demo", Filter::All, 8192);
    let options = ScreenOptions {
        style: Style { color: arguments.color },
        controls_run: true,
        exit_when_done: false,
        stop: Arc::default(),
    };
    let runner = {
        let room = Arc::clone(&room);
        thread::spawn(move || room.run(arguments.workers))
    };
    let outcome = run(source, &options, |command| match command {
        _ if arguments.panic => panic!("the demo panics as it was told"),
        Command::StopRun => room.stop.store(true, Ordering::Relaxed),
        Command::KillRun | Command::Quit => {
            room.stop.store(true, Ordering::Relaxed);
            room.kill.store(true, Ordering::Relaxed);
        }
        Command::CopyText(_) | Command::RunAgain(_) | Command::Redraw => {}
    });
    let joined = runner.join();
    match outcome {
        Ok(outcome) => {
            let passed = room.lock().passed.unwrap_or_default();
            println!("demo: finished {}, {passed} passed", outcome.finished);
            if joined.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show_file(path: &Path, color: bool) -> ExitCode {
    let options = ScreenOptions {
        style: Style { color },
        controls_run: false,
        exit_when_done: false,
        stop: Arc::default(),
    };
    let outcome = run(FollowedFile::new(path, false), &options, |_| {});
    println!("demo: {}", outcome.map_or_else(|e| e.to_string(), |it| format!("{it:?}")));
    ExitCode::SUCCESS
}

/// What one example of the demo does.
#[derive(Clone, Copy)]
enum Play {
    Books,
    Refuses,
    Passes,
    Fails,
    Crashes,
    Pends,
}

const EXAMPLES: &[(Play, &[&str], &str)] = &[
    (Play::Books, &["Booking agent", "books a venue"], "./spec/booking.scenario.yaml:3"),
    (Play::Passes, &["Cart", "#add", "adds an item"], "./spec/cart_spec.rb:7"),
    (Play::Fails, &["Cart", "#remove", "removes the last item"], "./spec/cart_spec.rb:21"),
    (
        Play::Refuses,
        &["Booking agent", "stays polite when refused"],
        "./spec/booking.scenario.yaml:31",
    ),
    (Play::Passes, &["Invoice", "sums up positions"], "./spec/invoice_spec.rb:4"),
    (Play::Pends, &["Invoice", "knows reverse charge"], "./spec/invoice_spec.rb:19"),
    (
        Play::Books,
        &["Booking agent", "予約する", "日本語で会場を予約する"],
        "./spec/booking.scenario.yaml:52",
    ),
    (Play::Crashes, &["Native extension", "survives bad input"], "./spec/native_spec.rb:9"),
    (Play::Passes, &["Mailer", "sends one mail"], "./spec/mailer_spec.rb:5"),
    (Play::Books, &["Booking agent", "changes a booking"], "./spec/booking.scenario.yaml:70"),
    (Play::Passes, &["Mailer", "retries"], "./spec/mailer_spec.rb:15"),
    (Play::Passes, &["Search", "finds by name"], "./spec/search_spec.rb:3"),
];

/// The run: what its workers share.
struct Room {
    bus: Bus,
    pace: Duration,
    began: Instant,
    next: AtomicUsize,
    stop: AtomicBool,
    kill: AtomicBool,
    counts: Mutex<StatusCounts>,
}

impl Room {
    fn new(pace: Duration) -> Self {
        let config = BusConfig {
            run_id: "01993c7e-demo".into(),
            clock: Box::new(Timestamp::now),
            on_warning: Box::new(|_| {}),
        };
        Self {
            bus: Bus::new(config),
            pace,
            began: Instant::now(),
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            kill: AtomicBool::new(false),
            counts: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, StatusCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, workers: u32) {
        self.bus.publish(
            SuiteStarted {
                example_count: Some(EXAMPLES.len() as u64),
                workers: Some(workers),
                seed: Some(12_345),
                ..SuiteStarted::default()
            }
            .into(),
        );
        thread::scope(|scope| {
            for number in 0..workers {
                scope.spawn(move || Worker { room: self, number }.work());
            }
        });
        let counts = self.lock().clone();
        let failures = counts.failed.unwrap_or_default() + counts.crashed.unwrap_or_default();
        self.bus.publish(
            SuiteFinished {
                example_count: EXAMPLES.len() as u64,
                failure_count: failures,
                counts: Some(counts),
                duration_ms: Some(Millis::from(self.began.elapsed())),
                exit_code: Some(i32::from(failures > 0)),
                ..SuiteFinished::default()
            }
            .into(),
        );
        self.bus.close(Duration::ZERO);
    }

    /// Waits for a number of steps, unless the run is killed.
    fn pause(&self, steps: u32) {
        let deadline = Instant::now() + self.pace * steps;
        while Instant::now() < deadline && !self.kill.load(Ordering::Relaxed) {
            thread::sleep(self.pace.min(Duration::from_millis(10)));
        }
    }
}

struct Worker<'a> {
    room: &'a Room,
    number: u32,
}

impl Worker<'_> {
    fn publish(&self, event: Event) {
        self.room.bus.publish(event.from_worker(self.number));
    }

    fn work(&self) {
        let pid = Some(4200 + self.number);
        self.publish(WorkerStarted { pid, generation: Some(1) }.into());
        loop {
            let place = self.room.next.fetch_add(1, Ordering::Relaxed);
            let Some((play, path, location)) = EXAMPLES.get(place) else { return };
            let id = ExampleId::new(format!("{place:012x}"));
            let example = Example { worker: self, id };
            if self.room.stop.load(Ordering::Relaxed) {
                example.finish(Status::NotRun, None);
            } else {
                example.run(*play, path, location);
            }
        }
    }
}

struct Example<'a> {
    worker: &'a Worker<'a>,
    id: ExampleId,
}

impl Example<'_> {
    fn publish(&self, event: impl Into<Event>) {
        self.worker.publish(event.into().about(&self.id));
    }

    fn run(&self, play: Play, path: &[&str], location: &str) {
        self.publish(ExampleStarted {
            path: path.iter().map(|&part| part.to_owned()).collect(),
            location: Some(location.to_owned()),
            file: location.split(':').next().map(str::to_owned),
            ..ExampleStarted::default()
        });
        match play {
            Play::Books => {
                self.book();
                self.finish(Status::Passed, None);
            }
            Play::Refuses => self.refuse(location),
            Play::Passes => {
                self.print(3);
                self.finish(Status::Passed, None);
            }
            Play::Fails => {
                self.print(2);
                self.fail("expected: 0 items\n     got: 1 item", location);
            }
            Play::Crashes => self.crash(),
            Play::Pends => self.finish(Status::Pending, None),
        }
    }

    fn say(&self, turn_number: u32, user: &str, agent: &str) {
        self.publish(UserMessage { turn_number, text: user.to_owned(), ..UserMessage::default() });
        self.worker.room.pause(3);
        self.publish(AgentResponse {
            turn_number,
            text: agent.to_owned(),
            ..AgentResponse::default()
        });
        self.worker.room.pause(2);
    }

    fn book(&self) {
        self.publish(TopicChanged { to_topic: "greeting".to_owned(), ..TopicChanged::default() });
        self.say(1, "Hello, I need a venue for 50 people.", "Gladly. When shall it be?");
        self.call("search_venues", r#"{"people":50,"day":"Friday"}"#, r#"["Town Hall"]"#);
        self.say(
            2,
            "Next Friday evening, with a stage. 50人です。",
            "The Town Hall is free on Friday from six o'clock, it has a stage and seats sixty.\n\
             Shall I book it for you?",
        );
        self.publish(TopicChanged {
            turn_number: 3,
            from_topic: Some("greeting".to_owned()),
            to_topic: "booking".to_owned(),
            ..TopicChanged::default()
        });
        self.call("book", r#"{"venue":"Town Hall"}"#, r#"{"number":"B-17"}"#);
        self.say(3, "Yes, please.", "Done: your booking is B-17.");
        self.check("confirms the booking", true);
    }

    fn refuse(&self, location: &str) {
        self.say(1, "I do not like any of these.", "Then look elsewhere.\x1b[2J\x07");
        self.check("stays polite", false);
        self.fail("expected the agent to stay polite", location);
    }

    fn call(&self, name: &str, arguments: &str, result: &str) {
        let json = |text: &str| serde_json::from_str(text).ok();
        let tool_call_id = Some(format!("{name}-1"));
        self.publish(ToolCallStarted {
            turn_number: 2,
            tool_call_id: tool_call_id.clone(),
            tool_name: name.to_owned(),
            arguments: json(arguments),
        });
        self.worker.room.pause(2);
        self.publish(ToolCallCompleted {
            turn_number: 2,
            tool_call_id,
            tool_name: name.to_owned(),
            result: json(result),
            duration_ms: Some(Millis::new(212.0)),
            ..ToolCallCompleted::default()
        });
    }

    fn check(&self, name: &str, passed: bool) {
        self.publish(EvaluationRecorded {
            mode: EvaluationMode::Hard,
            evaluation_type: Some("quality".to_owned()),
            name: Some(name.to_owned()),
            passed: Some(passed),
            reasoning: Some("The last answer leaves no doubt.".to_owned()),
            ..EvaluationRecorded::default()
        });
    }

    fn print(&self, lines: u32) {
        for number in 0..lines {
            let stream = if number == 1 { OutputStream::Stderr } else { OutputStream::Stdout };
            let line =
                format!("\x1b[32mD\x1b[0m, [{number}] SELECT * FROM items WHERE id = {number}");
            self.publish(WorkerLog { line, stream: Some(stream) });
            self.worker.room.pause(2);
        }
    }

    fn fail(&self, message: &str, location: &str) {
        self.finish(
            Status::Failed,
            Some(Exception {
                class: Some("RSpec::Expectations::ExpectationNotMetError".to_owned()),
                message: message.to_owned(),
                backtrace: vec![
                    format!("{location}:in `block (3 levels)'"),
                    "./lib/cart.rb:12".into(),
                ],
                ..Exception::default()
            }),
        );
    }

    fn crash(&self) {
        self.print(1);
        self.worker.publish(
            WorkerExited { signal: Some(11), expected: Some(false), ..WorkerExited::default() }
                .into(),
        );
        self.finish(Status::Crashed, None);
        self.worker.room.pause(2);
        let pid = Some(4300 + self.worker.number);
        self.worker.publish(WorkerStarted { pid, generation: Some(2) }.into());
    }

    fn finish(&self, status: Status, exception: Option<Exception>) {
        let counter = |counts: &mut StatusCounts| {
            let counter = match status {
                Status::Passed => &mut counts.passed,
                Status::Failed => &mut counts.failed,
                Status::Pending => &mut counts.pending,
                Status::Crashed => &mut counts.crashed,
                _ => &mut counts.not_run,
            };
            *counter = Some(counter.unwrap_or_default() + 1);
        };
        counter(&mut self.worker.room.lock());
        self.publish(ExampleFinished {
            status,
            duration_ms: Some(Millis::new(321.0)),
            exception,
            ..ExampleFinished::default()
        });
    }
}
