//! The stored records: an entry and its parts, exactly as the files name their fields.
//!
//! Fields beyond the specification are optional and left out when unused, so that a file written
//! here and never annotated has the specification's key set and nothing else, but for
//! `iteration_started_at`.

use crate::model::{ConfidenceTier, Domain, OutcomeStatus, Strategy};
use crate::record::{Extra, record};
use crate::time::UtcTime;

record! {
    /// Why a prediction failed.
    pub struct RootCause {
        /// A word such as `wrong-assumption`; free text.
        need category: String,
        /// What the cause was.
        need description: String,
    }
}

record! {
    /// What to keep from it.
    pub struct Lesson {
        /// What worked in the end.
        need what_worked: String,
        /// The general rule.
        some takeaway: String,
    }
}

record! {
    /// An iteration that was replaced by a new one.
    pub struct HistoryEntry {
        /// When this iteration began.
        need timestamp: UtcTime,
        /// Its hypothesis.
        need hypothesis: String,
        /// Its action.
        need action: String,
        /// Its prediction.
        need prediction: String,
        /// When it was replaced.
        some superseded_at: UtcTime,
        /// The probability stated for it.
        some confidence: f64,
    }
}

record! {
    /// How an entry ended.
    pub struct Outcome {
        /// Confirmed, falsified or abandoned.
        need status: OutcomeStatus,
        /// What happened.
        need result: String,
        /// When that became known.
        need captured_at: UtcTime,
        /// Whether a command's real outcome decided, not the author.
        keep(false) auto_captured: bool,
    }
}

record! {
    /// Numbers of tests in a run.
    pub struct Counts {
        /// Tests that passed.
        keep(0) passed: u64,
        /// Tests that failed.
        keep(0) failed: u64,
        /// Tests or files that could not run.
        keep(0) errors: u64,
        /// Tests left out.
        keep(0) skipped: u64,
    }
}

record! {
    /// What a command really did, attached to the entry whose prediction it tests.
    pub struct Evidence {
        /// When the command ended.
        need captured_at: UtcTime,
        /// The command.
        list argv: String,
        /// Its exit code.
        some exit: i64,
        /// The signal that ended it.
        some signal: i64,
        /// Set when it was stopped for taking too long.
        some timed_out: bool,
        /// How long it ran.
        some duration_ms: u64,
        /// Numbers of tests, where they could be read.
        some counts: Counts,
        /// Where the numbers were read: `junit`, `json` or `text`, and the tool.
        some counts_from: String,
        /// What was expected.
        some expectation: String,
        /// Whether that was said before the command started.
        some predates_run: bool,
        /// `confirmed`, `falsified` or `inconclusive`.
        some verdict: String,
        /// Why.
        some reason: String,
        /// The end of the output.
        some output_tail: String,
        /// The commit that was checked out.
        some commit: String,
        /// Whether there were uncommitted changes.
        some dirty: bool,
    }
}

record! {
    /// Evidence that an entry had no room for.
    pub struct MovedEvidence {
        /// How many pieces.
        need count: u64,
        /// The file they are in, one per line, oldest first; beside the journal's other files.
        need file: String,
    }
}

record! {
    /// What a run is expected to do, in the words of the command line, and since when.
    pub struct StatedExpectation {
        /// `pass`, `fail`, `exit:N` or `match:RE`.
        need expect: String,
        /// When it was said.
        need stated_at: UtcTime,
    }
}

record! {
    /// One goal with its hypothesis, action and prediction, and what became of it.
    pub struct Entry {
        /// `ghap_{YYYYMMDD}_{HHMMSS}_{random6}`
        need id: String,
        /// The session it belongs to.
        need session_id: String,
        /// When the goal was set.
        need created_at: UtcTime,
        /// The kind of work.
        need domain: Domain,
        /// The approach.
        need strategy: Strategy,
        /// What is to be reached; never changes.
        need goal: String,
        /// What is believed.
        need hypothesis: String,
        /// What is done about it.
        need action: String,
        /// What will be seen if the belief is right.
        need prediction: String,
        /// Earlier iterations, oldest first.
        keep(Vec::new()) history: Vec<HistoryEntry>,
        /// How many iterations there were, this one included.
        keep(1) iteration_count: u64,
        /// How it ended.
        some outcome: Outcome,
        /// What was unexpected.
        some surprise: String,
        /// Why the prediction failed.
        some root_cause: RootCause,
        /// What to keep from it.
        some lesson: Lesson,
        /// How far the outcome can be trusted.
        some confidence_tier: ConfidenceTier,
        /// Remarks on the way.
        keep(Vec::new()) notes: Vec<String>,
        /// When the present iteration began.
        some iteration_started_at: UtcTime,
        /// The stated probability that the prediction comes true.
        some confidence: f64,
        /// What a run is expected to do.
        some expectation: StatedExpectation,
        /// What commands really did: the first few pieces and the newest.
        list evidence: Evidence,
        /// Where the pieces between those are.
        some evidence_moved: MovedEvidence,
    }
}

record! {
    /// One line of `annotations.jsonl`.
    pub struct AnnotationLine {
        /// The entry it is about.
        need entry_id: String,
        /// When it was said.
        need annotated_at: UtcTime,
        /// What was unexpected.
        some surprise: String,
        /// Why the prediction failed.
        some root_cause: RootCause,
        /// What to keep from it.
        some lesson: Lesson,
        /// A remark.
        some note: String,
    }
}

impl Entry {
    /// When the present iteration began: stored, or derived for files that do not say.
    ///
    /// The original collector stamps a superseded iteration with the time it was superseded, the
    /// specification's example with its start. Either way no iteration began before that time.
    pub fn iteration_start(&self) -> UtcTime {
        self.iteration_started_at
            .or_else(|| {
                self.history.last().map(|last| last.superseded_at.unwrap_or(last.timestamp))
            })
            .unwrap_or(self.created_at)
    }

    /// The status it ended with.
    pub fn status(&self) -> Option<OutcomeStatus> {
        self.outcome.as_ref().map(|outcome| outcome.status)
    }

    /// Whether the entry is falsified and has no explanation yet.
    pub fn needs_annotation(&self) -> bool {
        self.status() == Some(OutcomeStatus::Falsified)
            && (self.surprise.is_none() || self.root_cause.is_none())
    }

    /// Whether the outcome was captured automatically.
    pub fn is_auto_captured(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.auto_captured)
    }
}

impl RootCause {
    /// A cause from its two texts.
    pub fn new(category: impl Into<String>, description: impl Into<String>) -> Self {
        Self { category: category.into(), description: description.into(), extra: Extra::default() }
    }
}

impl Lesson {
    /// A lesson from its two texts.
    pub fn new(what_worked: impl Into<String>, takeaway: Option<String>) -> Self {
        Self { what_worked: what_worked.into(), takeaway, extra: Extra::default() }
    }
}

impl Counts {
    /// Numbers with nothing unknown beside them.
    pub fn new(passed: u64, failed: u64, errors: u64, skipped: u64) -> Self {
        Self { passed, failed, errors, skipped, extra: Extra::default() }
    }

    /// Tests that ran to a result.
    pub fn ran(&self) -> u64 {
        self.passed + self.failed + self.errors
    }
}
