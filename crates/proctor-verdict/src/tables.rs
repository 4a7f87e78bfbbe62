//! Generated from crates/proctor-verdict/tables.json by `cargo run -p proctor-verdict --example generate`; do not edit.

use crate::Evidence;

pub(crate) const EXCUSING_FAULTS: &[&str] = &["simulator", "judge", "tool", "harness"];
pub(crate) const NEVER_MADE: &[&str] = &["cancelled", "not_run"];
pub(crate) const EXIT_FAILED: u8 = 1;
pub(crate) const EXIT_INTERRUPTED: u8 = 130;
pub(crate) const EXIT_PASSED: u8 = 0;
pub(crate) const SIGNAL_BASE: u8 = 128;
pub(crate) const EXIT_UNUSABLE: u8 = 2;

pub(crate) fn evidence_of(status: &str) -> Evidence {
    match status {
        "passed" => Evidence::For,
        "cancelled" | "inconclusive" | "not_run" | "pending" => Evidence::Nothing,
        _ => Evidence::Against,
    }
}

/// How a verdict counts for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Bad,
    BadUnlessTolerated,
    Good,
    GoodUnlessRefused,
    Missing,
    Open,
}

/// What became of an example, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Failed.
    Failed,
    /// Crashed.
    Crashed,
    /// Timed out.
    TimedOut,
    /// Errored.
    Errored,
    /// Inconclusive.
    Inconclusive,
    /// Unfinished.
    Unfinished,
    /// Running.
    Running,
    /// Cancelled.
    Cancelled,
    /// Not run.
    NotRun,
    /// Pending.
    Pending,
    /// Passed within its pass rate.
    WithinRate,
    /// Flaky.
    Flaky,
    /// Passed.
    Passed,
}

impl Outcome {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 13] = [
        Self::Failed,
        Self::Crashed,
        Self::TimedOut,
        Self::Errored,
        Self::Inconclusive,
        Self::Unfinished,
        Self::Running,
        Self::Cancelled,
        Self::NotRun,
        Self::Pending,
        Self::WithinRate,
        Self::Flaky,
        Self::Passed,
    ];

    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed_out",
            Self::Errored => "errored",
            Self::Inconclusive => "inconclusive",
            Self::Unfinished => "unfinished",
            Self::Running => "running",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not_run",
            Self::Pending => "pending",
            Self::WithinRate => "within_rate",
            Self::Flaky => "flaky",
            Self::Passed => "passed",
        }
    }

    /// The words for people.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed out",
            Self::Errored => "errored",
            Self::Inconclusive => "inconclusive",
            Self::Unfinished => "unfinished",
            Self::Running => "running",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not run",
            Self::Pending => "pending",
            Self::WithinRate => "passed within its pass rate",
            Self::Flaky => "flaky",
            Self::Passed => "passed",
        }
    }
}

/// The outcome of a repetition that ended so. A status of the future is treated as an error.
pub(crate) fn outcome_of(status: &str) -> Outcome {
    match status {
        "failed" => Outcome::Failed,
        "crashed" => Outcome::Crashed,
        "timed_out" => Outcome::TimedOut,
        "inconclusive" => Outcome::Inconclusive,
        "cancelled" => Outcome::Cancelled,
        "not_run" => Outcome::NotRun,
        "pending" => Outcome::Pending,
        "passed" => Outcome::Passed,
        _ => Outcome::Errored,
    }
}

impl Outcome {
    /// The place in the table: the lower, the worse.
    pub(crate) fn place(self) -> usize {
        self as usize
    }

    /// The status that it is counted as in a run's numbers.
    pub fn counted_as(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed_out",
            Self::Errored => "errored",
            Self::Inconclusive => "inconclusive",
            Self::Unfinished | Self::Running => "running",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not_run",
            Self::Pending => "pending",
            Self::WithinRate | Self::Flaky | Self::Passed => "passed",
        }
    }

    /// The sign before it in lists.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Failed | Self::Crashed | Self::TimedOut | Self::Errored | Self::Unfinished => "✗",
            Self::Inconclusive => "?",
            Self::Running => "○",
            Self::Cancelled | Self::NotRun => "-",
            Self::Pending => "⏸",
            Self::WithinRate | Self::Flaky | Self::Passed => "✓",
        }
    }

    pub(crate) fn standing(self) -> Standing {
        match self {
            Self::Failed | Self::Crashed | Self::TimedOut | Self::Errored | Self::Unfinished => {
                Standing::Bad
            }
            Self::Inconclusive => Standing::BadUnlessTolerated,
            Self::Pending | Self::WithinRate | Self::Passed => Standing::Good,
            Self::Flaky => Standing::GoodUnlessRefused,
            Self::Cancelled | Self::NotRun => Standing::Missing,
            Self::Running => Standing::Open,
        }
    }
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunState {
    /// Loading.
    Loading,
    /// Running.
    Running,
    /// Finished.
    Finished,
    /// Stopped.
    Stopped,
    /// Died.
    Died,
    /// Did not load.
    DidNotLoad,
    /// Found nothing.
    NothingFound,
}

impl RunState {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Loading,
        Self::Running,
        Self::Finished,
        Self::Stopped,
        Self::Died,
        Self::DidNotLoad,
        Self::NothingFound,
    ];

    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Died => "died",
            Self::DidNotLoad => "did_not_load",
            Self::NothingFound => "nothing_found",
        }
    }

    /// The words for people.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Died => "died",
            Self::DidNotLoad => "did not load",
            Self::NothingFound => "found nothing",
        }
    }
}

impl RunState {
    /// Whether nothing more will come.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Loading | Self::Running)
    }
}
