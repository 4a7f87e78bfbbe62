//! Lines as things happen, each with the worker it came from: for CI and pipes.
//!
//! Two kinds of run must read well: thousands of examples that take a millisecond, and a few
//! conversations that take minutes. So an example gets one line, when it has finished. Its name is
//! shown before that only if there is something to show under it (what was said, what it printed), or if
//! it has been silent for a while. Groups get no line: every name carries its chain.

use std::collections::BTreeMap;

use proctor_events::{Body, Event, ExampleFinished, ExampleStarted, Status, Timestamp};
use proctor_record::RunData;

use super::{Key, Reporter, header};
use crate::style::{Paint, Style, duration};
use crate::summary::{SummaryOptions, summary};
use crate::terminal_lines;

/// An example that shows nothing for this long is mentioned; then after twice that time, and so on.
const SILENCE_MS: i64 = 10_000;

/// Lines as things happen.
#[derive(Debug)]
pub struct Interleaved {
    style: Style,
    options: SummaryOptions,
    verbose: bool,
    running: BTreeMap<Key, Running>,
}

#[derive(Debug)]
struct Running {
    title: String,
    worker: Option<u32>,
    since: Option<Timestamp>,
    /// Whether its name has been shown.
    named: bool,
    /// When something of it was shown last, and how much silence from there is too much.
    shown_at: Option<Timestamp>,
    silence_limit_ms: i64,
}

impl Interleaved {
    /// A view that has seen nothing. With `verbose`, every start is shown too.
    pub fn new(style: Style, options: SummaryOptions, verbose: bool) -> Self {
        Self { style, options, verbose, running: BTreeMap::new() }
    }

    fn show(&mut self, event: &Event) -> String {
        match &event.body {
            Body::SuiteStarted(suite) => header(suite, self.style),
            Body::ExampleStarted(started) => self.started(event, started),
            Body::ExampleFinished(finished) => self.finished(event, finished),
            Body::ErrorOutsideExample(error) => self.prefixed(
                event.worker,
                0,
                vec![terminal_lines::outside_error(error, self.style)],
            ),
            Body::WorkerExited(exit) => {
                let line = terminal_lines::worker_exit_line(exit, self.style);
                self.prefixed(event.worker, 0, line.into_iter().collect())
            }
            body => self.example_lines(event, terminal_lines::within_example(body, self.style)),
        }
    }

    fn started(&mut self, event: &Event, started: &ExampleStarted) -> String {
        let Some(key) = Key::of(event) else { return String::new() };
        let mut running = Running {
            title: terminal_lines::title(started),
            worker: event.worker,
            since: event.time,
            named: false,
            shown_at: event.time,
            silence_limit_ms: SILENCE_MS,
        };
        let text = if self.verbose { self.name(&mut running) } else { String::new() };
        self.running.insert(key, running);
        text
    }

    fn finished(&mut self, event: &Event, finished: &ExampleFinished) -> String {
        let known = Key::of(event).and_then(|key| self.running.remove(&key));
        // After a fail-fast there may be thousands of these; the summary counts them.
        if finished.status == Status::NotRun && known.is_none() {
            return String::new();
        }
        let worker = event.worker.or(known.as_ref().and_then(|running| running.worker));
        let title = known.map_or_else(
            || terminal_lines::title_at_end(event, finished),
            |running| finished.late_title(&running.title).unwrap_or(running.title),
        );
        let line = terminal_lines::finished_title(event, finished, &title, self.style);
        let body = terminal_lines::finished_body(finished, self.style);
        self.prefixed(worker, 0, vec![line]) + &self.prefixed(worker, 4, body)
    }

    /// Something within an example, or output of a worker between examples.
    fn example_lines(&mut self, event: &Event, shown: Vec<String>) -> String {
        if shown.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        let mut worker = event.worker;
        let known = Key::of(event).and_then(|key| self.running.remove_entry(&key));
        if let Some((key, mut running)) = known {
            worker = worker.or(running.worker);
            running.shown_at = event.time.or(running.shown_at);
            running.silence_limit_ms = SILENCE_MS;
            text = self.name(&mut running);
            self.running.insert(key, running);
        }
        text + &self.prefixed(worker, 4, shown)
    }

    /// The name of a running example, once.
    fn name(&self, running: &mut Running) -> String {
        if std::mem::replace(&mut running.named, true) {
            return String::new();
        }
        let line = format!("{} {}", self.style.mark(None), running.title);
        self.prefixed(running.worker, 0, vec![line])
    }

    fn prefixed(&self, worker: Option<u32>, indent: usize, lines: Vec<String>) -> String {
        let prefix = terminal_lines::worker_prefix(worker, self.style);
        lines.into_iter().map(|line| format!("{prefix}{:indent$}{line}\n", "")).collect()
    }
}

impl Reporter for Interleaved {
    fn event(&mut self, event: &Event) -> String {
        self.options.read_event(event);
        let silent = event.time.map(|now| self.tick(now)).unwrap_or_default();
        silent + &self.show(event)
    }

    fn tick(&mut self, now: Timestamp) -> String {
        let mut text = String::new();
        for running in self.running.values_mut() {
            let (Some(since), Some(shown_at)) = (running.since, running.shown_at) else { continue };
            let elapsed = |from: Timestamp| now.as_millisecond() - from.as_millisecond();
            if elapsed(shown_at) < running.silence_limit_ms {
                continue;
            }
            running.shown_at = Some(now);
            running.silence_limit_ms *= 2;
            running.named = true;
            let taken = now.duration_since(since).unsigned_abs().into();
            let note = self.style.paint(Paint::Dim, format!("running for {}", duration(taken)));
            let prefix = terminal_lines::worker_prefix(running.worker, self.style);
            let mark = self.style.mark(None);
            text += &format!("{prefix}{mark} {}  {note}\n", running.title);
        }
        text
    }

    fn finish(&mut self, run: &RunData) -> String {
        format!("\n{}", summary(run, &self.options, self.style))
    }
}
