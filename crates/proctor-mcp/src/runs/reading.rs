//! A run as its recording and its socket have it.

use std::collections::HashMap;

use proctor_control::{AskError, State as Live};
use proctor_events::{Body, ExampleId};
use proctor_record::{Aggregator, Attempt, Entry, Example, Reader, RunData, RunFolder};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ToolError;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It looks for its examples.
    Loading,
    /// It runs them.
    Running,
    /// It was asked to stop and is about to.
    Stopping,
    /// It is over; its results are complete.
    Finished,
    /// Its process ended before it was over; what is recorded is all there is.
    Interrupted,
    /// Its process is there but does not answer.
    Silent,
}

impl State {
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Interrupted)
    }
}

/// A final result, with its place in the stream.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    /// The number of the event.
    pub(super) seq: u64,
    pub(super) example: ExampleId,
    pub(super) repeat: u32,
    pub(super) attempt: u32,
}

/// A run as it is now.
pub(super) struct Reading {
    pub(super) id: String,
    pub(super) state: State,
    pub(super) run: RunData,
    /// Final results in the order in which they came.
    pub(super) finished: Vec<Finished>,
    /// Examples by id, as places in the run.
    places: HashMap<ExampleId, usize>,
}

impl Reading {
    pub(super) fn of(folder: &RunFolder) -> Result<Self, ToolError> {
        // Asked before reading: a run that ends in between is then read to its end.
        let live = proctor_control::ask(folder.path());
        let path = folder.events_path();
        let reader = Reader::open(&path).map_err(|error| {
            ToolError::io(format_args!("cannot read {}: {error}", path.display()))
        })?;
        let mut fold = Aggregator::default();
        let mut finished = Vec::new();
        for entry in reader {
            // A line that cannot be read is `proctor validate`'s concern; the rest still counts.
            let Entry::Event { event, .. } = entry else { continue };
            if let (Body::ExampleFinished(payload), Some(example)) =
                (&event.body, &event.example_id)
                && payload.r#final.unwrap_or(true)
            {
                finished.push(Finished {
                    seq: event.seq.unwrap_or_default(),
                    example: example.clone(),
                    repeat: event.repeat.unwrap_or(1),
                    attempt: event.attempt.unwrap_or(1),
                });
            }
            fold.apply(&event);
        }
        let run = fold.into_run();
        let state = state(&run, live.as_ref().map(|status| status.state));
        let examples = run.examples.iter().enumerate();
        let places =
            examples.filter_map(|(place, example)| Some((example.id.clone()?, place))).collect();
        Ok(Self { id: folder.name(), state, run, finished, places })
    }

    /// The example and the attempt of a result.
    pub(super) fn result(&self, finished: &Finished) -> Option<(&Example, &Attempt)> {
        let example = self.run.examples.get(*self.places.get(&finished.example)?)?;
        let attempt = example.attempts.iter().find(|attempt| {
            attempt.repeat == finished.repeat && attempt.attempt == finished.attempt
        })?;
        Some((example, attempt))
    }
}

fn state(run: &RunData, live: Result<Live, &AskError>) -> State {
    if run.finished_at.is_some() {
        return State::Finished;
    }
    match live {
        Ok(Live::Loading) => State::Loading,
        Ok(Live::Running) => State::Running,
        Ok(Live::Stopping | Live::Ended) => State::Stopping,
        Err(AskError::NotLive) => State::Interrupted,
        Err(AskError::Silent(_) | AskError::Refused(_)) => State::Silent,
    }
}
