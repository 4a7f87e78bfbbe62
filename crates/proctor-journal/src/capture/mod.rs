//! Auto-capture: from an expectation and what a command really did to an outcome.
//!
//! Pure. What was expected is said by the author in so many words and never guessed from the
//! prediction's text. `pass` and `fail` are decided by counted tests of a runner that was really
//! started, and by nothing else. Whatever kept the tests from being a test (a signal, a time-out, a
//! compile error, no tests) leaves the question open: such a run is inconclusive, never a falsification.

mod command_line;
mod decision;
mod expectation;
mod json;
mod junit;
mod tally;
mod text;
mod tool;

pub use command_line::{CommandReading, Program, StartedProgram};
pub use expectation::{BadExpectation, Expectation};
pub use tally::{Source, Tally, TallyReading, read_tally};
pub use tool::Tool;

use crate::entry::{Counts, Evidence};
use crate::model::OutcomeStatus;
use crate::record::Extra;
use crate::request::Resolution;
use crate::text::tail;
use crate::time::UtcTime;

/// How much of the end of the output is kept as evidence, in bytes.
pub const TAIL: usize = 4_000;

/// A command that has ended: its arguments, exit status and output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandResult {
    /// The command.
    pub argv: Vec<String>,
    /// Its exit code, where it is known.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was stopped for taking too long.
    pub timed_out: bool,
    /// How long it ran.
    pub duration_ms: Option<u64>,
    /// Standard output and error, or the end of them.
    pub output: String,
    /// Whether `output` is only the end.
    pub output_is_cut: bool,
    /// Reports the command wrote, each a `JUnit` or JSON file's content.
    pub reports: Vec<String>,
    /// What the recordings of Proctor's own runs say; believed before everything else.
    pub recorded: Option<RecordedResult>,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// Whether there were uncommitted changes.
    pub dirty: Option<bool>,
}

/// The result of Proctor's own runs, from their recordings.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResult {
    /// Examples by how they ended.
    pub counts: Counts,
    /// The exit code of the run itself, whatever its command line made of it; the worst of several.
    pub exit: Option<i32>,
    /// Whether it loaded and ran to its end.
    pub finished: bool,
}

/// What a run says about an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedOutcome {
    /// It came as expected.
    Confirmed,
    /// It did not.
    Falsified,
    /// The run does not tell.
    Inconclusive,
}

impl CapturedOutcome {
    /// The word used in evidence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Falsified => "falsified",
            Self::Inconclusive => "inconclusive",
        }
    }

    const fn when(as_expected: bool) -> Self {
        if as_expected { Self::Confirmed } else { Self::Falsified }
    }
}

/// A verdict with its reason and the evidence for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: CapturedOutcome,
    /// Why, in one sentence.
    pub reason: String,
    /// What to store.
    pub evidence: Evidence,
    /// Whether an outcome counts as captured automatically (the gold tier): only if the
    /// expectation was stated before the run.
    pub auto_captured: bool,
}

impl Judgement {
    /// The resolution this amounts to; `None` leaves the entry active.
    pub fn resolution(&self) -> Option<Resolution> {
        let status = match self.verdict {
            CapturedOutcome::Confirmed => OutcomeStatus::Confirmed,
            CapturedOutcome::Falsified => OutcomeStatus::Falsified,
            CapturedOutcome::Inconclusive => return None,
        };
        Some(Resolution {
            auto_captured: self.auto_captured,
            evidence: Some(self.evidence.clone()),
            ..Resolution::new(status, self.reason.clone())
        })
    }
}

/// Judges a run by an expectation.
pub fn judge(
    expectation: &Expectation,
    predates_run: bool,
    run: &CommandResult,
    now: UtcTime,
) -> Judgement {
    let command = CommandReading::of_words(&run.argv);
    let reading = tally::read_tally_of(run, &command);
    let (verdict, reason) = decision::decide_outcome(expectation, run, &command, reading.as_ref());
    let evidence = Evidence {
        expectation: Some(expectation.to_string()),
        predates_run: Some(predates_run),
        verdict: Some(verdict.as_str().to_owned()),
        reason: Some(reason.clone()),
        ..evidence(run, reading.as_ref(), now)
    };
    Judgement { verdict, reason, evidence, auto_captured: predates_run }
}

/// What a run did, without a judgement.
pub fn observe(run: &CommandResult, now: UtcTime) -> Evidence {
    evidence(run, read_tally(run).as_ref(), now)
}

fn evidence(run: &CommandResult, reading: Option<&TallyReading>, now: UtcTime) -> Evidence {
    let kept = tail(&run.output, TAIL);
    Evidence {
        captured_at: now,
        // A command given to a shell can be a whole script.
        argv: run
            .argv
            .iter()
            .map(|word| proctor_text::truncate(word, crate::text::LIMIT))
            .collect(),
        exit: run.exit.map(i64::from),
        signal: run.signal.map(i64::from),
        timed_out: run.timed_out.then_some(true),
        duration_ms: run.duration_ms,
        counts: reading.map(|reading| reading.tally.counts()),
        counts_from: reading.map(|reading| reading.source.to_string()),
        expectation: None,
        predates_run: None,
        verdict: None,
        reason: None,
        output_tail: (!kept.is_empty()).then(|| kept.into_owned()),
        commit: run.commit.clone(),
        dirty: run.dirty,
        extra: Extra::default(),
    }
}
