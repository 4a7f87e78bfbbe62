//! The state, verdict and exit code of a run.

use proctor_events::{RunEnding, RunPolicy, StopReason, SuiteFinished};
use serde::Serialize;

use crate::tables::SIGNAL_BASE;
use crate::tables::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED, EXIT_UNUSABLE, RunState};
use crate::{Counts, StopCause};

/// What a run tolerates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// An example that passes only after failing fails the run (`--flaky fail`).
    pub flaky_fails: bool,
    /// An inconclusive example fails the run; `--inconclusive ok` relaxes it.
    pub inconclusive_fails: bool,
    /// An example that passes without having checked anything fails the run (`--unchecked fail`).
    pub unchecked_fails: bool,
    /// Finding nothing to run is all right (`--allow-empty`).
    pub allow_empty: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            flaky_fails: false,
            inconclusive_fails: true,
            unchecked_fails: false,
            allow_empty: false,
        }
    }
}

impl Policy {
    /// The policy as the stream carries it.
    pub fn to_event(self) -> RunPolicy {
        RunPolicy {
            flaky_fails: Some(self.flaky_fails),
            inconclusive_fails: Some(self.inconclusive_fails),
            unchecked_fails: Some(self.unchecked_fails),
            allow_empty: Some(self.allow_empty),
            ..RunPolicy::default()
        }
    }

    /// The policy of a recorded run. What a stream does not say was as it is by default.
    pub fn of_event(recorded: Option<&RunPolicy>) -> Self {
        let default = Self::default();
        let Some(recorded) = recorded else { return default };
        Self {
            flaky_fails: recorded.flaky_fails.unwrap_or(default.flaky_fails),
            inconclusive_fails: recorded.inconclusive_fails.unwrap_or(default.inconclusive_fails),
            unchecked_fails: recorded.unchecked_fails.unwrap_or(default.unchecked_fails),
            allow_empty: recorded.allow_empty.unwrap_or(default.allow_empty),
        }
    }
}

/// What the end of a run depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// Whether every suite could be loaded.
    pub loaded: bool,
    /// The verdicts of its examples, counted; with `errors` outside examples.
    pub counts: Counts,
    /// Whether every planned repetition has exactly one result.
    pub accounted: bool,
    /// What stopped it before its end.
    pub stopped: Option<StopCause>,
}

/// Whether the process that makes a run is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It is.
    Alive,
    /// It is gone, or this is a recording.
    Gone,
}

/// The state of a run and what it came to. Only this crate makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunVerdict {
    state: RunState,
    passed: bool,
    exit_code: Option<u8>,
    stopped_by: Option<StopReason>,
}

impl RunVerdict {
    /// The verdict at the end of a run, by the one who makes it.
    pub fn conclude(facts: &Facts, policy: Policy) -> Self {
        let counts = &facts.counts;
        if let Some(cause) = facts.stopped {
            let code = cause.signal().map_or(EXIT_INTERRUPTED, |signal| SIGNAL_BASE + signal);
            let stopped_by = Some(cause.word());
            return Self { stopped_by, ..Self::ended(RunState::Stopped, false, code) };
        }
        if !facts.loaded || (counts.examples == 0 && counts.errors > 0) {
            return Self::ended(RunState::DidNotLoad, false, EXIT_UNUSABLE);
        }
        if counts.examples == 0 && !policy.allow_empty {
            return Self::ended(RunState::NothingFound, false, EXIT_UNUSABLE);
        }
        let clean = counts.failures == 0 && counts.missing() == 0 && counts.running == 0;
        let passed = clean && counts.errors == 0 && facts.accounted;
        Self::ended(RunState::Finished, passed, if passed { EXIT_PASSED } else { EXIT_FAILED })
    }

    /// The verdict of a run from its stream: whether it has begun, how it says it ended, whether its process is there, and whether its
    /// folder says that it was interrupted (as runs of version 0.1 did, whose stream does not).
    pub fn recorded(
        begun: bool,
        finished: Option<&SuiteFinished>,
        liveness: Liveness,
        interrupted: bool,
    ) -> Self {
        let Some(finished) = finished else {
            return match liveness {
                Liveness::Alive if begun => Self::open(RunState::Running),
                Liveness::Alive => Self::open(RunState::Loading),
                Liveness::Gone => Self::open(RunState::Died),
            };
        };
        let code = finished.exit_code.and_then(|code| u8::try_from(code).ok());
        match &finished.state {
            Some(RunEnding::Finished)
                if code == Some(EXIT_PASSED) && contradicts_itself(finished) =>
            {
                Self::ended(RunState::Finished, false, EXIT_FAILED)
            }
            Some(RunEnding::Finished) => {
                let passed = code == Some(EXIT_PASSED);
                Self { exit_code: code, ..Self::ended(RunState::Finished, passed, EXIT_FAILED) }
            }
            Some(RunEnding::Stopped) => Self {
                stopped_by: finished.stopped_by.clone(),
                ..Self::ended(RunState::Stopped, false, code.unwrap_or(EXIT_INTERRUPTED))
            },
            Some(RunEnding::NothingFound) => {
                Self::ended(RunState::NothingFound, false, code.unwrap_or(EXIT_UNUSABLE))
            }
            // A word of the future is no success.
            Some(RunEnding::DidNotLoad | RunEnding::Other(_)) => {
                Self::ended(RunState::DidNotLoad, false, code.unwrap_or(EXIT_UNUSABLE))
            }
            None => Self::of_older_stream(finished, code, interrupted),
        }
    }

    /// A stream whose end does not name its state.
    fn of_older_stream(finished: &SuiteFinished, code: Option<u8>, interrupted: bool) -> Self {
        let counts = finished.counts.clone().unwrap_or_default();
        let left_out = counts.not_run.unwrap_or_default() + counts.cancelled.unwrap_or_default();
        let errors = finished.error_count.unwrap_or_default();
        let stopped_by_signal = code.is_some_and(|code| code > SIGNAL_BASE);
        if stopped_by_signal || (interrupted && (left_out > 0 || code == Some(EXIT_UNUSABLE))) {
            let code = code.filter(|_| stopped_by_signal).unwrap_or(EXIT_INTERRUPTED);
            return Self::ended(RunState::Stopped, false, code);
        }
        match code {
            Some(EXIT_UNUSABLE) if finished.example_count == 0 && errors == 0 => {
                Self::ended(RunState::NothingFound, false, EXIT_UNUSABLE)
            }
            Some(EXIT_UNUSABLE) => Self::ended(RunState::DidNotLoad, false, EXIT_UNUSABLE),
            Some(code) => Self::ended(RunState::Finished, code == EXIT_PASSED, code),
            None => {
                let passed = finished.failure_count == 0 && errors == 0 && left_out == 0;
                let code = if passed { EXIT_PASSED } else { EXIT_FAILED };
                Self::ended(RunState::Finished, passed, code)
            }
        }
    }

    /// The same, held to what the stream itself shows: an end that says `passed` over examples that did not, or that its own policy
    /// refuses, is not believed. Streams of other writers may say anything; inconclusive examples may have been tolerated.
    #[must_use]
    pub fn checked_against_counts(self, counts: &Counts, policy: Policy) -> Self {
        let bad = counts.failed + counts.errored + counts.crashed + counts.timed_out;
        let refused = (policy.flaky_fails && counts.flaky > 0)
            || (policy.unchecked_fails && counts.unchecked > 0);
        let contradicted = refused || bad + counts.missing() + counts.running + counts.errors > 0;
        if self.passed && contradicted {
            return Self::ended(RunState::Finished, false, EXIT_FAILED);
        }
        self
    }

    /// The same, held to what was announced: an end that says `passed` is not believed where fewer repetitions are recorded than were to
    /// come. Streams of version 0.1 do not announce them.
    #[must_use]
    pub fn checked_against_plan(self, recorded: u64, announced: Option<u64>) -> Self {
        if self.passed && announced.is_some_and(|announced| recorded < announced) {
            return Self::ended(RunState::Finished, false, EXIT_FAILED);
        }
        self
    }

    fn ended(state: RunState, passed: bool, code: u8) -> Self {
        Self { state, passed, exit_code: Some(code), stopped_by: None }
    }

    fn open(state: RunState) -> Self {
        Self { state, passed: false, exit_code: None, stopped_by: None }
    }

    /// Where the run is.
    pub fn state(&self) -> RunState {
        self.state
    }

    /// Whether it is over, however it ended.
    pub fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Whether it finished, and everything in it counts as passed.
    pub fn is_passed(&self) -> bool {
        self.passed
    }

    /// The exit code; `None` while it runs, and where it died without one.
    pub fn exit_code(&self) -> Option<u8> {
        self.exit_code
    }

    /// What stopped it.
    pub fn stopped_by(&self) -> Option<&StopReason> {
        self.stopped_by.as_ref()
    }

    /// One word: `passed` or `failed` for a run that finished, else its state.
    pub fn word(&self) -> &'static str {
        match (self.state, self.passed) {
            (RunState::Finished, true) => "passed",
            (RunState::Finished, false) => "failed",
            (state, _) => state.word(),
        }
    }

    /// `passed` or `failed` for a run that finished, else nothing.
    pub fn final_word(&self) -> Option<&'static str> {
        (self.state == RunState::Finished).then(|| self.word())
    }

    /// The same for people: `did not load`.
    pub fn phrase(&self) -> &'static str {
        match (self.state, self.passed) {
            (RunState::Finished, true) => "passed",
            (RunState::Finished, false) => "failed",
            (state, _) => state.phrase(),
        }
    }

    /// The end as the stream carries it; `None` while the run is not over, and for one that died.
    pub fn ending(&self) -> Option<RunEnding> {
        match self.state {
            RunState::Finished => Some(RunEnding::Finished),
            RunState::Stopped => Some(RunEnding::Stopped),
            RunState::DidNotLoad => Some(RunEnding::DidNotLoad),
            RunState::NothingFound => Some(RunEnding::NothingFound),
            RunState::Loading | RunState::Running | RunState::Died => None,
        }
    }
}

/// Whether an end counts examples that did not pass. Streams of version 0.1 count repetitions, which a pass rate may excuse.
fn contradicts_itself(finished: &SuiteFinished) -> bool {
    if finished.repetition_count.is_none() {
        return false;
    }
    let counts = finished.counts.clone().unwrap_or_default();
    let bad = [
        counts.failed,
        counts.errored,
        counts.crashed,
        counts.timed_out,
        counts.cancelled,
        counts.not_run,
        finished.error_count,
        Some(finished.failure_count),
    ];
    bad.into_iter().flatten().any(|count| count > 0)
}

impl Serialize for RunState {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests;
