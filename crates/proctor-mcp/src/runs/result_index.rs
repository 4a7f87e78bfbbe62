//! A run in outline, folded from its recording as far as that has been read, and kept between calls.
//!
//! A recording may be large and is looked at often. So each look reads only what has been written since the one before. The fold is that of
//! every other view ([`Aggregator::outline`]); what was said in conversations is not in it, and `show_example` reads it from the file for
//! the one example that it shows. Kept besides are the final results in the order in which they came, each with its place in the
//! stream, which is what cursors are, and a few words about each that an outline lets go.

use std::path::Path;

use proctor_events::{Body, EvaluationRecorded, Event, ExampleFinished};
use proctor_record::{
    Aggregator, Attempt, Example, Growth, RecordingFollower, RunData, WorkspaceEvaluation,
    WorkspaceFold,
};

use proctor_verdict::AttemptNumber;

use super::view::ResultNotes;
use crate::error::ToolError;

/// One final result, with its place in the stream.
#[derive(Debug)]
struct Row {
    /// The number of its event.
    seq: u64,
    /// Its example, as a place in the outline.
    example: u32,
    /// Its attempt, as a place in the example.
    attempt: u32,
    /// Most results have nothing to say.
    notes: Option<Box<ResultNotes>>,
}

/// One final result.
#[derive(Debug, Clone, Copy)]
pub(super) struct FinalResult<'a> {
    /// The number of its event.
    pub(super) seq: u64,
    pub(super) example: &'a Example,
    pub(super) attempt: &'a Attempt,
    pub(super) notes: Option<&'a ResultNotes>,
}

/// The fold.
#[derive(Debug)]
struct FoldedRun {
    outline: Aggregator,
    rows: Vec<Row>,
    finished: bool,
    workspaces: WorkspaceFold,
}

/// A run in outline.
#[derive(Debug)]
pub(super) struct ResultIndex {
    follower: RecordingFollower,
    folded: FoldedRun,
}

impl ResultIndex {
    pub(super) fn new(path: &Path) -> Self {
        Self { follower: RecordingFollower::new(path), folded: FoldedRun::new() }
    }

    /// Reads what has been written since the last call.
    pub(super) fn refresh(&mut self) -> Result<(), ToolError> {
        let Self { follower, folded } = self;
        loop {
            let growth = follower.read_including_torn_line(|line| {
                // A line that cannot be read is `proctor validate`'s concern; the rest still counts.
                if let Ok(event) = &line.event {
                    folded.apply(event, event.seq.unwrap_or(line.number));
                }
            });
            match growth.map_err(|error| {
                ToolError::io(format_args!("the recording cannot be read: {error}"))
            })? {
                Growth::Nothing => return Ok(()),
                Growth::Restarted => *folded = FoldedRun::new(),
                Growth::More => {}
            }
        }
    }

    /// The run as every view has it.
    pub(super) fn run(&self) -> &RunData {
        self.folded.outline.run()
    }

    /// Whether it says that it is over.
    pub(super) fn is_finished(&self) -> bool {
        self.folded.finished
    }

    /// The number of the last event.
    pub(super) fn last_seq(&self) -> u64 {
        self.run().last_seq.unwrap_or_default()
    }

    pub(super) fn examples(&self) -> impl Iterator<Item = &Example> {
        self.run().examples.iter().filter(|example| example.id.is_some())
    }

    /// Final results in the order in which they came.
    pub(super) fn results(&self) -> impl Iterator<Item = FinalResult<'_>> {
        self.results_since(0)
    }

    /// The results after a place in the stream.
    pub(super) fn results_since(&self, seq: u64) -> impl Iterator<Item = FinalResult<'_>> {
        let rows = &self.folded.rows;
        let start = rows.partition_point(|row| row.seq <= seq);
        rows[start..].iter().filter_map(|row| {
            let example = self.run().examples.get(row.example as usize)?;
            let attempt = example.attempts.get(row.attempt as usize)?;
            Some(FinalResult { seq: row.seq, example, attempt, notes: row.notes.as_deref() })
        })
    }

    /// Of every example the last attempt, if it has no final result. They come after all results.
    pub(super) fn open_attempts(&self) -> impl Iterator<Item = FinalResult<'_>> {
        self.examples().enumerate().filter_map(|(place, example)| {
            let attempt = example.attempts.last()?;
            let open = attempt.status.is_none() || !attempt.is_final;
            let seq = self.last_seq() + 1 + place as u64;
            open.then_some(FinalResult { seq, example, attempt, notes: None })
        })
    }

    pub(super) fn workspaces(&self) -> &WorkspaceFold {
        &self.folded.workspaces
    }
}

impl FoldedRun {
    fn new() -> Self {
        Self {
            outline: Aggregator::outline(),
            rows: Vec::new(),
            finished: false,
            workspaces: WorkspaceFold::default(),
        }
    }

    fn apply(&mut self, event: &Event, seq: u64) {
        match &event.body {
            // Before the fold reduces the ended attempt to its tally.
            Body::ExampleFinished(it) => {
                let notes = self.notes(event, it);
                self.outline.apply(event);
                self.ended(event, seq, notes);
            }
            body => {
                self.outline.apply(event);
                match body {
                    Body::SuiteFinished(_) => self.finished = true,
                    Body::EvaluationRecorded(it) => self.judged(event, it),
                    _ => {}
                }
            }
        }
    }

    /// Where the attempt that an event is about stands: its example and itself.
    fn place(&self, event: &Event) -> Option<(usize, usize)> {
        let example = self.outline.place_of(event.example_id.as_ref()?)?;
        let number = AttemptNumber::of(event);
        let attempts = &self.outline.run().examples.get(example)?.attempts;
        let own = |one: &Attempt| one.number() == number;
        Some((example, attempts.iter().rposition(own)?))
    }

    fn notes(&self, event: &Event, it: &ExampleFinished) -> ResultNotes {
        let open = self.place(event);
        let open = open.map(|(example, own)| &self.outline.run().examples[example].attempts[own]);
        open.map(ResultNotes::of).unwrap_or_default().with_end(it)
    }

    fn ended(&mut self, event: &Event, seq: u64, notes: ResultNotes) {
        let Some((example, own)) = self.place(event) else { return };
        let attempt = &self.outline.run().examples[example].attempts[own];
        if !attempt.is_final {
            return;
        }
        let place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let notes = (notes != ResultNotes::default()).then(|| Box::new(notes));
        self.rows.push(Row { seq, example: place(example), attempt: place(own), notes });
    }

    fn judged(&mut self, event: &Event, it: &EvaluationRecorded) {
        let place = event.example_id.as_ref().and_then(|id| self.outline.place_of(id));
        let Some(example) = place.map(|place| &self.outline.run().examples[place]) else { return };
        self.workspaces.take(&WorkspaceEvaluation {
            example_id: event.example_id.as_ref().map_or("", |id| id.as_str()),
            suite: example.suite.as_deref(),
            mode: &it.mode,
            kind: it.evaluation_type.as_deref(),
            description: it.description.as_deref(),
            passed: it.passed,
            metadata: it.metadata.as_ref(),
        });
    }
}

#[cfg(test)]
mod tests;
