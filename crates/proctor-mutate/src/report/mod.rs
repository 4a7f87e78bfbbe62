//! What a mutation run came to, as plain data; the views beside it render it.

mod html;
mod junit;
mod text;

use serde::{Deserialize, Serialize};

pub use html::in_html;
pub use junit::in_junit;
pub use text::{in_words, list_in_words};

use crate::campaign::{KilledBy, Mode};
use crate::plan::{PlannedFile, PlannedMutant};

/// A whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MutationReport {
    /// The version of this format.
    pub version: u32,
    /// How many examples of the suite took part.
    pub examples: usize,
    /// Whether the run was stopped before every mutant was decided.
    pub stopped: bool,
    /// How many mutants had which verdict.
    pub counts: Counts,
    /// Killed mutants in percent of those that count: killed, alive and not covered. Absent if there are none.
    pub score: Option<f64>,
    /// The same if all that is unknown were alive; this is what `--fail-below` judges.
    pub lowest_score: Option<f64>,
    /// Whether the run passed, as its exit code says. Absent where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// How many verdicts were taken from an earlier run.
    pub reused: usize,
    /// How many mutants were left out by `--limit` or `--sample`.
    pub left_out: usize,
    /// Examples that failed without a mutant and were left out because the user said so.
    pub excluded: Vec<String>,
    /// Examples that passed in the clean runs and failed later with the code unchanged; what they noticed does not count.
    pub distrusted: Vec<String>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// By file and line.
    pub mutants: Vec<MutantReport>,
}

/// Whether a run passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// As asked for by `--fail-below`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_below: Option<f64>,
    /// Why it failed; absent if it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Failure {
    /// It was stopped before the end.
    #[error("the run was stopped")]
    Stopped,
    /// Everything that was tried is unknown.
    #[error("no mutant could be decided")]
    NothingDecided,
    /// A statement about all files was asked for, and this one is no valid Ruby.
    #[error("{file} is no valid Ruby, so nothing can be said of it")]
    Unreadable {
        /// As seen from the root.
        file: String,
    },
    /// The score is too low.
    #[error("{score} % is below {fail_below} %")]
    TooLow {
        /// What is unknown counts as alive.
        score: String,
        /// As asked for.
        fail_below: String,
    },
}

/// How many mutants had which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the count of the state of that name")]
pub struct Counts {
    pub killed: usize,
    pub alive: usize,
    pub not_covered: usize,
    pub equivalent: usize,
    pub unknown: usize,
    pub not_run: usize,
}

/// The verdict of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MutantState {
    /// Noticed.
    Killed,
    /// In force, and every example that looks at it passed.
    Alive,
    /// No example reaches the code.
    NotCovered,
    /// Marked in the code.
    Equivalent,
    /// Nothing can be said.
    Unknown,
    /// The run was stopped before.
    NotRun,
}

impl MutantState {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Alive => "alive",
            Self::NotCovered => "not covered",
            Self::Equivalent => "marked as equivalent",
            Self::Unknown => "unknown",
            Self::NotRun => "not run",
        }
    }
}

/// One mutant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MutantReport {
    /// The same for the same change of the same line.
    pub id: String,
    /// As seen from the root.
    pub file: String,
    /// Where it starts.
    pub line: u32,
    /// The operator's name.
    pub operator: String,
    /// The change as a unified diff.
    pub diff: String,
    /// The verdict.
    pub state: MutantState,
    /// In which way it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<KilledBy>,
    /// The example that noticed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<LookingExample>,
    /// What the example said, or why nothing is known, or why it is equivalent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The examples that looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looked: Vec<LookingExample>,
    /// How it was put into force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// An example that looks at a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookingExample {
    /// The whole chain of descriptions.
    pub description: String,
    /// `file:line`.
    pub location: String,
}

impl MutationReport {
    /// Counts and scores from the mutants.
    pub fn summarize(&mut self) {
        let count = |state| self.mutants.iter().filter(|it| it.state == state).count();
        self.counts = Counts {
            killed: count(MutantState::Killed),
            alive: count(MutantState::Alive),
            not_covered: count(MutantState::NotCovered),
            equivalent: count(MutantState::Equivalent),
            unknown: count(MutantState::Unknown),
            not_run: count(MutantState::NotRun),
        };
        let Counts { killed, alive, not_covered, unknown, .. } = self.counts;
        self.score = percent(killed, killed + alive + not_covered);
        self.lowest_score = percent(killed, killed + alive + not_covered + unknown);
    }

    /// Decides whether the run passed. What is alive fails it only where a score was asked for.
    pub fn judge(&mut self, fail_below: Option<f64>, unreadable: &[String]) -> &Judgement {
        let failure = if self.stopped {
            Some(Failure::Stopped)
        } else if self.score.is_none() && self.counts.unknown > 0 {
            Some(Failure::NothingDecided)
        } else {
            fail_below.and_then(|least| self.failure_below(least, unreadable))
        };
        self.judgement.insert(Judgement { fail_below, failure })
    }

    fn failure_below(&self, least: f64, unreadable: &[String]) -> Option<Failure> {
        if let Some(file) = unreadable.first() {
            return Some(Failure::Unreadable { file: file.clone() });
        }
        let score = self.lowest_score.filter(|score| *score < least)?;
        Some(Failure::TooLow { score: format!("{score:.1}"), fail_below: least.to_string() })
    }

    /// Why the run failed; `None` if it passed, or if nobody asked.
    pub fn failure(&self) -> Option<&Failure> {
        self.judgement.as_ref()?.failure.as_ref()
    }

    /// The mutants with this verdict.
    pub fn with_state(&self, state: MutantState) -> impl Iterator<Item = &MutantReport> {
        self.mutants.iter().filter(move |it| it.state == state)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of mutants are far below 2^52")]
fn percent(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| (part as f64 * 1000.0 / whole as f64).floor() / 10.0)
}

impl MutantReport {
    /// A mutant without a verdict.
    pub(crate) fn of(mutant: &PlannedMutant, file: &PlannedFile) -> Self {
        Self {
            id: mutant.id.clone(),
            file: file.name.clone(),
            line: mutant.change.line,
            operator: mutant.change.operator.clone(),
            diff: diff(mutant, file),
            state: MutantState::NotRun,
            killed_by: None,
            example: None,
            message: String::new(),
            looked: Vec::new(),
            mode: None,
        }
    }
}

/// The mutants of a plan, none of which was run.
#[must_use]
pub fn planned(plan: &crate::plan::MutationPlan) -> Vec<MutantReport> {
    let report = |mutant: &PlannedMutant| {
        let mut report = MutantReport::of(mutant, &plan.files[mutant.file]);
        if let Some(reason) = &mutant.change.equivalent {
            (report.state, report.message) = (MutantState::Equivalent, reason.clone());
        }
        report
    };
    plan.mutants.iter().map(report).collect()
}

/// The change as a unified diff without context.
#[must_use]
pub fn diff(mutant: &PlannedMutant, file: &PlannedFile) -> String {
    let change = &mutant.change;
    let source = &file.source;
    let start = source[..change.start as usize].iter().rposition(|it| *it == b'\n');
    let start = start.map_or(0, |at| at + 1);
    let end = source[change.end as usize..].iter().position(|it| *it == b'\n');
    let end = end.map_or(source.len(), |at| change.end as usize + at);
    let old = &source[start..end];
    let new = [
        &source[start..change.start as usize],
        &change.replacement,
        &source[change.end as usize..end],
    ]
    .concat();
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(&new));
    let (before, after) = (old.split('\n').count(), new.split('\n').count());
    let (line, name) = (change.line, &file.name);
    let mut text = format!("--- {name}\n+++ {name}\n@@ -{line},{before} +{line},{after} @@\n");
    for (sign, part) in [('-', old), ('+', new)] {
        for line in part.split('\n') {
            text += &format!("{sign}{line}\n");
        }
    }
    text
}
