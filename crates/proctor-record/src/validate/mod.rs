//! Checking a recording: is every line readable, is nothing missing, does every start have its end?

use std::collections::HashMap;

use proctor_events::{Body, Event, ExampleId};
use serde::Serialize;

use crate::reader::{Entry, ProblemKind, RunSplitter};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Something is missing or cannot be trusted.
    Error,
}

/// Something a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line, from 1; absent for findings about a whole run.
    pub line: Option<u64>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub message: String,
}

/// What a check found in all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Validation {
    /// How many events were read.
    pub events: u64,
    /// The runs, in order.
    pub runs: Vec<String>,
    /// Everything found, in order.
    pub findings: Vec<Finding>,
}

impl Validation {
    /// Whether nothing is missing.
    pub fn is_valid(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

/// Checks a whole file.
pub fn validate(entries: impl IntoIterator<Item = Entry>) -> Validation {
    let mut check = Check::default();
    for entry in entries {
        match entry {
            Entry::Problem(problem) if problem.kind == ProblemKind::Torn => {
                check.find(
                    Some(problem.line),
                    Severity::Note,
                    format!("{}; it is ignored", problem.kind),
                );
            }
            Entry::Problem(problem) => {
                check.find(Some(problem.line), Severity::Error, problem.kind.to_string());
            }
            Entry::Event { line, event } => check.event(line, &event),
        }
    }
    check.end_run();
    check.result
}

#[derive(Default)]
struct Check {
    result: Validation,
    splitter: RunSplitter,
    run: Run,
}

/// What must hold within one run.
#[derive(Default)]
struct Run {
    begun: bool,
    last_seq: Option<u64>,
    numbered: bool,
    suite_started: u32,
    suite_finished: u32,
    open: HashMap<(Option<ExampleId>, u32, u32), u64>,
}

impl Check {
    fn find(&mut self, line: Option<u64>, severity: Severity, message: String) {
        self.result.findings.push(Finding { line, severity, message });
    }

    fn event(&mut self, line: u64, event: &Event) {
        self.result.events += 1;
        if let Some(name) = self.splitter.begins(event) {
            self.end_run();
            self.run = Run { begun: true, numbered: event.v.is_some(), ..Run::default() };
            self.result.runs.push(name);
        }
        self.sequence(line, event);
        self.lifecycle(line, event);
    }

    /// Numbers must go up by one. Lines without envelope are numbered by their line, which says nothing.
    fn sequence(&mut self, line: u64, event: &Event) {
        if !self.run.numbered {
            return;
        }
        let Some(seq) = event.seq else { return };
        let expected = self.run.last_seq.map_or(1, |last| last + 1);
        if seq != expected {
            let message = format!(
                "event {seq} follows {}: {}",
                expected - 1,
                if seq > expected {
                    "events are missing"
                } else {
                    "events are repeated or out of order"
                }
            );
            self.find(Some(line), Severity::Error, message);
        }
        self.run.last_seq = Some(seq);
    }

    fn lifecycle(&mut self, line: u64, event: &Event) {
        let key =
            || (event.example_id.clone(), event.repeat.unwrap_or(1), event.attempt.unwrap_or(1));
        match &event.body {
            Body::SuiteStarted(_) => {
                self.run.suite_started += 1;
                if self.run.suite_started > 1 {
                    self.find(
                        Some(line),
                        Severity::Error,
                        "a second SuiteStarted in one run".into(),
                    );
                }
            }
            Body::SuiteFinished(_) => {
                self.run.suite_finished += 1;
                if self.run.suite_finished > 1 {
                    self.find(
                        Some(line),
                        Severity::Error,
                        "a second SuiteFinished in one run".into(),
                    );
                }
            }
            Body::ExampleStarted(_) => {
                if let Some(earlier) = self.run.open.insert(key(), line) {
                    let message =
                        format!("starts again, without an end, what line {earlier} started");
                    self.find(Some(line), Severity::Error, message);
                }
            }
            Body::ExampleFinished(_) => {
                self.run.open.remove(&key());
            }
            _ => {}
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if !run.begun {
            return;
        }
        let mut open: Vec<_> = run.open.into_iter().collect();
        open.sort_by_key(|(_, line)| *line);
        // A run without its end was cut off; examples that were running then are part of that one finding.
        if run.suite_finished == 0 {
            let running = match open.len() {
                0 => String::new(),
                1 => ", with 1 example running".to_owned(),
                several => format!(", with {several} examples running"),
            };
            self.find(
                None,
                Severity::Error,
                format!("the run has no SuiteFinished: it was cut off{running}"),
            );
            return;
        }
        for ((id, _, attempt), line) in open {
            let id = id.map_or_else(|| "without id".to_owned(), |id| id.to_string());
            let message = format!("example {id}, attempt {attempt}, never finished");
            self.find(Some(line), Severity::Error, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reader;

    fn found(text: &str) -> Vec<String> {
        let validation = validate(Reader::new(text.as_bytes()));
        let shown = |finding: &Finding| {
            let line = finding.line.map_or_else(|| "run".to_owned(), |line| line.to_string());
            format!("{line}: {}", finding.message)
        };
        validation.findings.iter().map(shown).collect()
    }

    #[test]
    fn a_whole_run_is_valid() {
        let validation = validate(Reader::new(include_str!("../tests/seed_flow.jsonl").as_bytes()));
        assert_eq!((validation.is_valid(), validation.events), (true, 12));
    }

    #[test]
    fn gaps_repeats_and_open_ends_are_found() {
        let text = r#"{"v":1,"seq":1,"run_id":"a","event_type":"SuiteStarted"}
{"v":1,"seq":3,"run_id":"a","event_type":"ExampleStarted","example_id":"x"}
garbage
{"v":1,"seq":3,"run_id":"a","event_type":"ExampleStarted","example_id":"y"}
{"v":1,"seq":4,"run_id":"a","event_type":"ExampleFinished","example_id":"y","status":"passed"}
{"v":1,"seq":5,"run_id":"a","event_type":"SuiteFinished","example_count":2,"failure_count":0}
{"v":1,"seq":1,"run_id":"b","event_type":"SuiteStarted"}
{"v":1,"seq":2,"run_id":"b","ev"#;
        assert_eq!(
            found(text),
            [
                "2: event 3 follows 1: events are missing",
                "3: not a JSON object: expected value at line 1 column 1",
                "4: event 3 follows 3: events are repeated or out of order",
                "2: example x, attempt 1, never finished",
                "8: incomplete: the writer ended in the middle of it; it is ignored",
                "run: the run has no SuiteFinished: it was cut off",
            ]
        );
    }
}
