//! A run as tools read it, kept between calls.
//!
//! A recording may be large and is looked at often. So each look reads only what has been written since the one before, and the first look at a
//! large finished recording begins with its index on disk ([`RecordingReader`]). Kept is the run in outline; what was said and
//! checked in an attempt is read from the recording for the attempts that are shown.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use proctor_events::{Body, Event, ExampleId};
use proctor_record::{
    Attempt, EventBatch, EventFilter, Example, Growth, RecordingReader, RunData,
    WorkspaceEvaluation, WorkspaceFold,
};

use super::view::WORKSPACE;
use crate::error::ToolError;

/// How many evaluations are read at a time.
const EVALUATIONS_AT_ONCE: usize = 1000;

/// One final result.
#[derive(Debug, Clone, Copy)]
pub(super) struct FinalResult<'a> {
    /// The number of its event.
    pub(super) seq: u64,
    pub(super) example: &'a Example,
    /// Without what an outline leaves out: see [`ResultIndex::whole_attempt`].
    pub(super) attempt: &'a Attempt,
}

/// A run as far as its recording was read.
#[derive(Debug)]
pub(super) struct ResultIndex {
    reader: RecordingReader,
    workspaces: Workspaces,
}

/// What the workspace examples reached, up to an event.
#[derive(Debug, Default)]
struct Workspaces {
    fold: WorkspaceFold,
    /// The place of the first event that is not folded yet.
    next: usize,
}

impl ResultIndex {
    pub(super) fn new(path: &Path) -> Self {
        Self { reader: RecordingReader::without_texts(path), workspaces: Workspaces::default() }
    }

    /// Reads what has been written since the last call.
    pub(super) fn refresh(&mut self) -> Result<(), ToolError> {
        // A line that cannot be read is `proctor validate`'s concern; the rest still counts.
        loop {
            match self.reader.read().map_err(unreadable)? {
                Growth::Nothing => break,
                Growth::Restarted => self.workspaces = Workspaces::default(),
                Growth::More => {}
            }
        }
        self.workspaces.fold_new_evaluations(&self.reader)
    }

    /// The run in outline.
    pub(super) fn run(&self) -> &RunData {
        self.reader.run()
    }

    /// Whether it says that it is over.
    pub(super) fn is_finished(&self) -> bool {
        self.run().ending.is_some()
    }

    /// The number of the last event.
    pub(super) fn last_seq(&self) -> u64 {
        self.reader.last_seq()
    }

    pub(super) fn examples(&self) -> impl Iterator<Item = &Example> {
        self.run().examples.iter().filter(|example| example.id.is_some())
    }

    /// Final results in the order in which they came.
    pub(super) fn results(&self) -> Vec<FinalResult<'_>> {
        self.results_since(0)
    }

    /// The results after a place in the stream.
    pub(super) fn results_since(&self, seq: u64) -> Vec<FinalResult<'_>> {
        let attempts = self
            .examples()
            .flat_map(|example| example.attempts.iter().map(move |attempt| (example, attempt)));
        let mut results: Vec<FinalResult<'_>> = attempts
            .filter(|(_, attempt)| attempt.is_final)
            .filter_map(|(example, attempt)| {
                let seq = self.reader.seq_at(usize::try_from(attempt.end_event?).ok()?)?;
                Some(FinalResult { seq, example, attempt })
            })
            .filter(|result| result.seq > seq)
            .collect();
        results.sort_by_key(|result| result.seq);
        results
    }

    /// Of every example the last attempt, if it has no final result. They come after all results.
    pub(super) fn open_attempts(&self) -> impl Iterator<Item = FinalResult<'_>> {
        self.examples().enumerate().filter_map(|(place, example)| {
            let attempt = example.attempts.last()?;
            let open = attempt.status.is_none() || !attempt.is_final;
            let seq = self.last_seq() + 1 + place as u64;
            open.then_some(FinalResult { seq, example, attempt })
        })
    }

    /// The attempt of a result with everything that was recorded of it up to its end. One without an end still has what it was made of.
    pub(super) fn whole_attempt<'a>(
        &self,
        result: &FinalResult<'a>,
    ) -> Result<Cow<'a, Attempt>, ToolError> {
        let FinalResult { example, attempt, .. } = *result;
        let (Some(end), Some(id)) = (attempt.end_event, &example.id) else {
            return Ok(Cow::Borrowed(attempt));
        };
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let places = place(attempt.first_event)..place(end).saturating_add(1);
        let whole = self.reader.example(id.as_str(), places).map_err(unreadable)?;
        let mut attempts = whole.attempts.into_iter();
        let own = attempts.find(|one| one.number() == attempt.number());
        own.map(Cow::Owned).ok_or_else(|| unreadable("a result is not where it was found before"))
    }

    /// One example with everything that is recorded of it.
    pub(super) fn whole_example(&self, id: &str) -> Result<Example, ToolError> {
        self.reader.example(id, 0..self.reader.event_count()).map_err(unreadable)
    }

    pub(super) fn workspaces(&self) -> &WorkspaceFold {
        &self.workspaces.fold
    }
}

impl Workspaces {
    /// Folds the evaluations that were recorded since the last call. A run without workspace examples has none to fold.
    fn fold_new_evaluations(&mut self, reader: &RecordingReader) -> Result<(), ToolError> {
        let is_workspace = |example: &Example| example.suite.as_deref() == Some(WORKSPACE);
        if !reader.run().examples.iter().any(is_workspace) {
            return Ok(());
        }
        let types = vec!["EvaluationRecorded".to_owned()];
        let filter = EventFilter { examples: Vec::new(), types };
        let suites: HashMap<&ExampleId, Option<&str>> = reader
            .run()
            .examples
            .iter()
            .filter_map(|example| Some((example.id.as_ref()?, example.suite.as_deref())))
            .collect();
        while self.next < reader.event_count() {
            let (events, next) = match reader.batch(self.next, &filter, EVALUATIONS_AT_ONCE) {
                EventBatch::InMemory(events, next) => (events, next),
                EventBatch::OnDisk(spans, next) => (spans.read().map_err(unreadable)?, next),
            };
            for event in events {
                self.fold_event(&Event::from_json(&event.text).map_err(unreadable)?, &suites);
            }
            self.next = next;
        }
        Ok(())
    }

    fn fold_event(&mut self, event: &Event, suites: &HashMap<&ExampleId, Option<&str>>) {
        let (Body::EvaluationRecorded(it), Some(id)) = (&event.body, &event.example_id) else {
            return;
        };
        self.fold.take(&WorkspaceEvaluation {
            example_id: id.as_str(),
            suite: suites.get(id).copied().flatten(),
            mode: &it.mode,
            kind: it.evaluation_type.as_deref(),
            description: it.description.as_deref(),
            passed: it.passed,
            metadata: it.metadata.as_ref(),
        });
    }
}

fn unreadable(error: impl Display) -> ToolError {
    ToolError::io(format_args!("the recording cannot be read: {error}"))
}

#[cfg(test)]
mod tests;
