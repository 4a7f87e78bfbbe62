//! The current state of a run, from its recording and its control socket.
//!
//! [`RunCache`] keeps the indexes of the most recently used runs, so that a call reads only new events.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_record::control::{ControlError, State as Live};
use proctor_record::{Example, RunData, RunFolder};
use proctor_verdict::{ExampleVerdict, Liveness, RunState, RunVerdict};
use schemars::JsonSchema;
use serde::Serialize;

use super::result_index::{FinalResult, ResultIndex};
use super::view::ResultView;
use crate::error::ToolError;

/// The number of cached runs.
const MAX_CACHED_RUNS: usize = 8;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum StateView {
    /// It looks for its examples.
    Loading,
    /// It runs them.
    Running,
    /// It was asked to stop and is about to.
    Stopping,
    /// It is over; everything that was to run has a result: see `verdict`.
    Finished,
    /// It was stopped before its end.
    Stopped,
    /// Its process ended before it was over; what is recorded is all there is.
    Died,
    /// A suite could not be loaded, so nothing ran.
    DidNotLoad,
    /// There was nothing to run.
    NothingFound,
    /// Its process is there but does not answer.
    Silent,
}

impl StateView {
    pub(super) fn is_over(self) -> bool {
        !matches!(self, Self::Loading | Self::Running | Self::Stopping | Self::Silent)
    }
}

/// A run as it is now.
pub(super) struct CurrentRun<'a> {
    pub(super) id: String,
    pub(super) state: StateView,
    pub(super) verdict: RunVerdict,
    pub(super) index: &'a ResultIndex,
}

impl CurrentRun<'_> {
    /// The verdict of an example as far as the run has come.
    pub(super) fn verdict_of(&self, example: &Example) -> ExampleVerdict {
        example.verdict(self.state.is_over())
    }

    /// A result as tools answer it.
    pub(super) fn view(&self, result: &FinalResult<'_>) -> Result<ResultView, ToolError> {
        let attempt = self.index.whole_attempt(result)?;
        Ok(ResultView::new(result.example, &attempt, self.verdict_of(result.example)))
    }

    /// Whether an example fails the run, or was planned and did not run.
    pub(super) fn fails_run(&self, example: &Example) -> bool {
        let verdict = self.verdict_of(example);
        verdict.is_failure(self.index.run().policy) || verdict.is_missing()
    }
}

/// The indexes of the most recently used runs. Clones of an engine share them.
#[derive(Debug, Default)]
pub(crate) struct RunCache(Mutex<VecDeque<(PathBuf, Arc<Mutex<ResultIndex>>)>>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunCache {
    /// Calls `look` with the current state of a run. Calls for the same run are serialized; calls for different runs are not.
    pub(super) fn with_current_run<T>(
        &self,
        folder: &RunFolder,
        look: impl FnOnce(&CurrentRun<'_>) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        // Asked before reading: a run that ends in between is then read to its end.
        let live = proctor_record::control::query_status(folder.path());
        let rows = self.of(&folder.events_path());
        let mut index = locked(&rows);
        index.refresh()?;
        let verdict = verdict(index.run(), folder);
        let state = state(&verdict, live.as_ref().map(|status| status.state));
        look(&CurrentRun { id: folder.name(), state, verdict, index: &index })
    }

    fn of(&self, path: &Path) -> Arc<Mutex<ResultIndex>> {
        let mut all = locked(&self.0);
        let found = all.iter().position(|(known, _)| known == path);
        let entry = found
            .and_then(|place| all.remove(place))
            .unwrap_or_else(|| (path.to_owned(), Arc::new(Mutex::new(ResultIndex::new(path)))));
        let rows = Arc::clone(&entry.1);
        all.push_back(entry);
        if all.len() > MAX_CACHED_RUNS {
            all.pop_front();
        }
        rows
    }
}

/// The verdict of a run from its recording.
fn verdict(run: &RunData, folder: &RunFolder) -> RunVerdict {
    let interrupted = run.ending.is_some() && folder.info().is_ok_and(|info| info.interrupted);
    RunVerdict::recorded(run.begun, run.ending.as_deref(), Liveness::Gone, interrupted)
        .checked_against_counts(&run.summary(), run.policy)
        .checked_against_plan(run.summary().repetitions, run.planned_repetitions)
}

fn state(verdict: &RunVerdict, live: Result<Live, &ControlError>) -> StateView {
    if verdict.ending().is_some() {
        state_of_recording(verdict.state())
    } else {
        state_of_process(live)
    }
}

/// The state of a run whose recording has a `SuiteFinished`.
fn state_of_recording(state: RunState) -> StateView {
    match state {
        RunState::Loading => StateView::Loading,
        RunState::Running => StateView::Running,
        RunState::Finished => StateView::Finished,
        RunState::Stopped => StateView::Stopped,
        RunState::Died => StateView::Died,
        RunState::DidNotLoad => StateView::DidNotLoad,
        RunState::NothingFound => StateView::NothingFound,
    }
}

/// The state of a run without `SuiteFinished`, from the reply of its process.
fn state_of_process(live: Result<Live, &ControlError>) -> StateView {
    match live {
        Ok(Live::Loading) => StateView::Loading,
        Ok(Live::Running) => StateView::Running,
        Ok(Live::Stopping | Live::Ended) => StateView::Stopping,
        Err(ControlError::NotLive) => StateView::Died,
        Err(ControlError::NoReply(_) | ControlError::Refused(_)) => StateView::Silent,
    }
}
