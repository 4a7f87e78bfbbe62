//! A run in rows, folded from its recording as far as that has been read, and kept between calls.
//!
//! A recording may be large and is looked at often. So each look reads only what has been written since the one before, and only
//! what the answers need is kept: a row per example, a small row per result, a few hundred characters per failure.
//! What was said in conversations is never kept; `show_example` reads it from the file for the one example that it shows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use proctor_events::{Body, Event, ExampleFinished, ExampleId, ExampleStarted, Fault, Status};
use proctor_record::{Follower, Grown, Judged, WorkspaceFold};

use super::view::{ERRORS, Ended, Failure, error_text};
use crate::error::ToolError;
use crate::paging::brief;

/// How much of a title is kept.
pub(super) const TITLE: usize = 600;

/// One example.
#[derive(Debug, Default)]
pub(super) struct ExampleRow {
    pub(super) id: String,
    pub(super) title: String,
    /// Whether it got its name while it ran.
    named_late: bool,
    pub(super) location: Option<String>,
    pub(super) file: Option<String>,
    pub(super) suite: Option<String>,
}

/// One final result, with its place in the stream.
#[derive(Debug)]
pub(super) struct ResultRow {
    /// The number of its event.
    pub(super) seq: u64,
    /// Its example, as a place among the rows.
    pub(super) example: u32,
    pub(super) repeat: u32,
    pub(super) attempt: u32,
    pub(super) status: Status,
    pub(super) fault: Option<Fault>,
    pub(super) duration_ms: Option<f64>,
    /// What went wrong and what there is to see; most results have nothing.
    pub(super) failure: Option<Box<Failure>>,
}

/// What is known of an attempt that has not ended.
#[derive(Debug, Default)]
struct Open {
    broken: Vec<String>,
    conversed: bool,
    printed: bool,
}

/// Which attempt: example, repeat, attempt.
type Key = (u32, u32, u32);

/// What is known of a run besides its examples.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) planned: Option<u64>,
    pub(super) finished: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) duration_ms: Option<f64>,
    pub(super) last_seq: u64,
    /// The first few errors outside examples, in words.
    pub(super) errors: Vec<String>,
    pub(super) error_count: u64,
    pub(super) flaky: u64,
    pub(super) counts: BTreeMap<String, u64>,
}

/// The fold.
#[derive(Debug, Default)]
struct Rows {
    head: Head,
    examples: Vec<ExampleRow>,
    places: HashMap<ExampleId, u32>,
    results: Vec<ResultRow>,
    open: HashMap<Key, Open>,
    /// Repetitions with an attempt that did not pass.
    failed: HashSet<(u32, u32)>,
    workspaces: WorkspaceFold,
}

/// A run in rows.
#[derive(Debug)]
pub(super) struct Index {
    file: Follower,
    lines: u64,
    rows: Rows,
}

impl Index {
    pub(super) fn new(path: &Path) -> Self {
        Self { file: Follower::new(path), lines: 0, rows: Rows::default() }
    }

    /// Reads what has been written since the last call.
    pub(super) fn refresh(&mut self) -> Result<(), ToolError> {
        loop {
            let grown = self.file.read().map_err(|error| {
                ToolError::io(format_args!("the recording cannot be read: {error}"))
            })?;
            match grown {
                Grown::Nothing => return Ok(()),
                Grown::Restarted => (self.lines, self.rows) = (0, Rows::default()),
                Grown::Lines(lines) => lines.iter().for_each(|line| self.take(line)),
            }
        }
    }

    fn take(&mut self, line: &str) {
        self.lines += 1;
        // A line that cannot be read is `proctor validate`'s concern; the rest still counts.
        let Ok(mut event) = Event::from_json(line) else { return };
        let seq = *event.seq.get_or_insert(self.lines);
        self.rows.head.last_seq = self.rows.head.last_seq.max(seq);
        self.rows.apply(&event, seq);
    }

    pub(super) fn head(&self) -> &Head {
        &self.rows.head
    }

    pub(super) fn examples(&self) -> &[ExampleRow] {
        &self.rows.examples
    }

    /// Final results in the order in which they came.
    pub(super) fn results(&self) -> &[ResultRow] {
        &self.rows.results
    }

    /// The results after a place in the stream.
    pub(super) fn results_since(&self, seq: u64) -> &[ResultRow] {
        let start = self.rows.results.partition_point(|result| result.seq <= seq);
        &self.rows.results[start..]
    }

    pub(super) fn example(&self, result: &ResultRow) -> Option<&ExampleRow> {
        self.rows.examples.get(usize::try_from(result.example).ok()?)
    }

    pub(super) fn workspaces(&self) -> &WorkspaceFold {
        &self.rows.workspaces
    }
}

impl Rows {
    fn apply(&mut self, event: &Event, seq: u64) {
        match &event.body {
            Body::SuiteStarted(suite) => self.head.planned = suite.example_count,
            Body::SuiteFinished(suite) => {
                self.head.finished = true;
                self.head.planned = Some(suite.example_count);
                self.head.exit_code = suite.exit_code;
                self.head.duration_ms = suite.duration_ms.map(proctor_events::Millis::get);
            }
            Body::ErrorOutsideExample(error) => {
                self.head.error_count += 1;
                if self.head.errors.len() < ERRORS {
                    self.head.errors.push(error_text(error));
                }
            }
            _ => {
                if let Some(id) = &event.example_id {
                    let place = self.place(id);
                    self.in_example(place, event, seq);
                }
            }
        }
    }

    fn place(&mut self, id: &ExampleId) -> u32 {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let place = u32::try_from(self.examples.len()).unwrap_or(u32::MAX);
        let title = id.to_string();
        self.examples.push(ExampleRow { id: title.clone(), title, ..ExampleRow::default() });
        self.places.insert(id.clone(), place);
        place
    }

    fn in_example(&mut self, place: u32, event: &Event, seq: u64) {
        let key = (place, event.repeat.unwrap_or(1), event.attempt.unwrap_or(1));
        match &event.body {
            Body::ExampleStarted(it) => self.row(place).describe(it),
            Body::ExampleFinished(it) => self.finished(key, it, seq),
            Body::EvaluationRecorded(it) => {
                let row = &self.examples[place as usize];
                self.workspaces.take(&Judged {
                    example_id: &row.id,
                    suite: row.suite.as_deref(),
                    mode: &it.mode,
                    kind: it.evaluation_type.as_deref(),
                    description: it.description.as_deref(),
                    passed: it.passed,
                    metadata: it.metadata.as_ref(),
                });
                let name = it.name.as_ref().or(it.description.as_ref());
                self.judged(key, name, it.passed);
            }
            Body::InvariantEvaluated(it) => {
                self.judged(key, it.description.as_ref(), Some(it.passed));
            }
            Body::WorkerLog(_) => self.open.entry(key).or_default().printed = true,
            Body::SimulationStarted(_)
            | Body::SimulationEnded(_)
            | Body::UserMessage(_)
            | Body::AgentResponse(_)
            | Body::TopicChanged(_)
            | Body::ToolCallStarted(_)
            | Body::ToolCallCompleted(_) => self.open.entry(key).or_default().conversed = true,
            _ => {}
        }
    }

    fn row(&mut self, place: u32) -> &mut ExampleRow {
        &mut self.examples[place as usize]
    }

    fn judged(&mut self, key: Key, name: Option<&String>, passed: Option<bool>) {
        if let (Some(name), Some(false)) = (name, passed) {
            let broken = &mut self.open.entry(key).or_default().broken;
            if broken.len() < Failure::BROKEN {
                broken.push(brief(name, Failure::NAME));
            }
        }
    }

    fn finished(&mut self, key: Key, it: &ExampleFinished, seq: u64) {
        let (place, repeat, attempt) = key;
        let open = self.open.remove(&key).unwrap_or_default();
        let failed_before = self.failed.contains(&(place, repeat));
        if !it.status.is_success() {
            self.failed.insert((place, repeat));
        }
        let row = &mut self.examples[place as usize];
        if row.location.is_none() {
            row.location.clone_from(&it.location);
        }
        row.name_late(it);
        if !it.r#final.unwrap_or(true) {
            return;
        }
        self.failed.remove(&(place, repeat));
        let passed_late = it.status == Status::Passed && failed_before;
        self.head.flaky += u64::from(it.flaky.unwrap_or(passed_late));
        *self.head.counts.entry(it.status.to_string()).or_default() += 1;
        let failure = Failure::of(&Ended {
            suite: row.suite.as_deref(),
            conversed: open.conversed,
            printed: open.printed || !it.output_tail.is_empty(),
            status: Some(&it.status),
            fault: it.fault.as_ref(),
            exception: it.exception.as_ref(),
            message: it.message.as_deref(),
            broken: open.broken,
        });
        self.results.push(ResultRow {
            seq,
            example: place,
            repeat,
            attempt,
            status: it.status.clone(),
            fault: it.fault.clone(),
            duration_ms: it.duration_ms.map(proctor_events::Millis::get),
            failure: failure.map(Box::new),
        });
    }
}

impl ExampleRow {
    fn describe(&mut self, it: &ExampleStarted) {
        let title = match (&*it.path, &it.description) {
            ([_, ..], _) => it.path.join(" > "),
            ([], Some(description)) => description.clone(),
            ([], None) => self.id.clone(),
        };
        if !self.named_late {
            self.title = brief(&title, TITLE);
        }
        self.location.clone_from(&it.location);
        self.file.clone_from(&it.file);
        self.suite.clone_from(&it.suite);
    }

    /// Takes the name that an example without one got while it ran.
    fn name_late(&mut self, it: &ExampleFinished) {
        // An example of which only the end is known is called by its id.
        if self.named_late || self.title == self.id {
            return;
        }
        if let Some(title) = it.late_title(&self.title) {
            self.title = brief(&title, TITLE);
            self.named_late = true;
        }
    }
}

#[cfg(test)]
mod tests;
