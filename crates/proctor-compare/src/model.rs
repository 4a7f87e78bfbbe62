//! What a comparison says: plain data with stable names, for every view.

use proctor_stats::{Difference, Interval, Z95, wilson};
use serde::{Deserialize, Serialize};

use crate::criteria::CriterionChange;
use crate::side::{Sample, Side};

/// The version of a comparison as JSON.
pub(crate) const COMPARISON_VERSION: u32 = 1;

/// The rules of a comparison.
///
/// The two levels add up to 5 %: so often, at most, does a comparison of a thing with itself raise an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The false-discovery rate over examples.
    pub alpha_examples: f64,
    /// The level of the test of the suite as a whole.
    pub alpha_suite: f64,
    /// Rates are unchanged where the interval of their difference lies within this.
    pub margin: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { alpha_examples: 0.03, alpha_suite: 0.02, margin: 0.2 }
    }
}

impl Rules {
    /// Both levels together.
    pub(crate) fn alpha(&self) -> f64 {
        self.alpha_examples + self.alpha_suite
    }
}

/// What earlier runs have shown of an example.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Attempts that counted.
    pub attempts: u64,
    /// How many of them passed.
    pub passed: u64,
    /// How many of the newest had the same outcome as the newest.
    pub streak: u64,
    /// Whether the newest passed.
    pub newest_passed: bool,
    /// Whether both outcomes were seen with nothing changed: within a run, or in two runs of the same clean commit.
    pub flaky: bool,
}

/// What is to be said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It got worse.
    Regression,
    /// It got better.
    Improvement,
    /// It differs, or may differ, and there is too little data to tell.
    TooLittleData,
    /// Nothing changed, as far as the data can show.
    Unchanged,
}

impl Verdict {
    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Improvement => "improvement",
            Self::TooLittleData => "too little data",
            Self::Unchanged => "unchanged",
        }
    }
}

/// What a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The example is deterministic: one outcome each is enough.
    Deterministic,
    /// Fisher's exact test, with false-discovery control over the examples.
    Fisher,
    /// The example's even record in earlier runs, with the same control.
    Record,
}

/// Two runs compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The version of this form.
    pub v: u32,
    /// The side compared with.
    pub before: SideInfo,
    /// The side that is judged.
    pub after: SideInfo,
    /// Whether the two ran with different configurations; absent where that is not known of both. A difference between them may
    /// then come from the configuration as well as from the code.
    pub config_changed: Option<bool>,
    /// The rules that were applied.
    pub rules: Rules,
    /// A regression where any example or the suite regressed; else an improvement where any improved; else what the suite says.
    pub verdict: Verdict,
    /// The suite as a whole.
    pub suite: SuiteChange,
    /// Examples by verdict.
    pub counts: Counts,
    /// Every paired example: regressions first, then improvements, too little data, unchanged.
    pub examples: Vec<ExampleChange>,
    /// Examples that only one side can say something about. They count for nothing.
    pub gaps: Vec<Gap>,
    /// Criteria, worst first.
    pub criteria: Vec<CriterionChange>,
    /// How much longer examples take.
    pub duration: Option<UsageChange>,
    /// How much more examples cost.
    pub cost: Option<UsageChange>,
}

impl Comparison {
    /// Whether a gate has to stop the change.
    pub fn regressed(&self) -> bool {
        self.verdict == Verdict::Regression
    }
}

/// Which run a side was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SideInfo {
    /// What people call it.
    pub label: String,
    /// The run.
    pub run_id: Option<String>,
    /// When it started.
    pub started_at: Option<String>,
    /// The commit it ran on.
    pub commit: Option<String>,
    /// Whether it came to its end.
    pub complete: bool,
    /// Errors outside examples.
    pub errors: u64,
    /// How many examples it has.
    pub examples: u64,
}

impl SideInfo {
    pub(crate) fn of(side: &Side) -> Self {
        Self {
            label: side.label.clone(),
            run_id: side.run_id.clone(),
            started_at: side.started_at.clone(),
            commit: side.commit.clone(),
            complete: side.complete,
            errors: side.errors,
            examples: side.examples.len() as u64,
        }
    }
}

/// Examples by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Paired examples.
    pub paired: u64,
    /// Regressions.
    pub regressions: u64,
    /// Improvements.
    pub improvements: u64,
    /// Unchanged ones.
    pub unchanged: u64,
    /// Those with too little data.
    pub too_little_data: u64,
    /// Coverage gaps: examples without a result after.
    pub missing_after: u64,
    /// Coverage gaps: examples without a result before.
    pub missing_before: u64,
    /// Paired ones whose file moved.
    pub moved: u64,
}

impl Counts {
    pub(crate) fn of(examples: &[ExampleChange], gaps: &[Gap]) -> Self {
        let verdicts =
            |verdict| examples.iter().filter(|change| change.verdict == verdict).count() as u64;
        let missing = |after| gaps.iter().filter(|gap| gap.missing_after == after).count() as u64;
        Self {
            paired: examples.len() as u64,
            regressions: verdicts(Verdict::Regression),
            improvements: verdicts(Verdict::Improvement),
            unchanged: verdicts(Verdict::Unchanged),
            too_little_data: verdicts(Verdict::TooLittleData),
            missing_after: missing(true),
            missing_before: missing(false),
            moved: examples.iter().filter(|change| change.moved_from.is_some()).count() as u64,
        }
    }
}

/// The one verdict over examples and suite.
pub(crate) fn overall(counts: &Counts, suite: &SuiteChange) -> Verdict {
    if counts.regressions > 0 || suite.verdict == Verdict::Regression {
        Verdict::Regression
    } else if counts.improvements > 0 || suite.verdict == Verdict::Improvement {
        Verdict::Improvement
    } else if counts.too_little_data > 0 || counts.paired == 0 {
        Verdict::TooLittleData
    } else {
        Verdict::Unchanged
    }
}

/// A share with its 95 % interval (Wilson).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tally {
    /// Passes.
    pub passed: u64,
    /// Attempts that count.
    pub attempts: u64,
    /// Passes over attempts; absent without attempts.
    pub rate: Option<f64>,
    /// Where the true rate is to be expected.
    pub range: Range,
}

impl Tally {
    pub(crate) fn of((passed, attempts): (u64, u64)) -> Self {
        Self {
            passed,
            attempts,
            rate: proctor_stats::pass_hat_k(attempts, passed, 1),
            range: wilson(passed, attempts, Z95).into(),
        }
    }

    pub(crate) fn of_sample(sample: &Sample) -> Self {
        Self::of(sample.tally())
    }
}

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl From<Interval> for Range {
    fn from(interval: Interval) -> Self {
        Self { low: interval.low, high: interval.high }
    }
}

/// A difference, after minus before, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// After minus before.
    pub estimate: f64,
    /// Where the true difference is to be expected; absent where the data cannot say.
    pub range: Option<Range>,
}

impl From<Difference> for Change {
    fn from(difference: Difference) -> Self {
        Self { estimate: difference.estimate, range: Some(difference.interval.into()) }
    }
}

/// One example on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExampleChange {
    /// Its stable id after.
    pub id: String,
    /// Its stable id before, where its file moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_before: Option<String>,
    /// Its description as one line.
    pub title: String,
    /// The file it stands in.
    pub file: Option<String>,
    /// The file it stood in, where that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// What is to be said.
    pub verdict: Verdict,
    /// What that rests on.
    pub basis: Basis,
    /// The reason as a sentence.
    pub why: String,
    /// Passes before.
    pub before: Tally,
    /// Passes after.
    pub after: Tally,
    /// How it ended before.
    pub status_before: String,
    /// How it ended after.
    pub status_after: String,
    /// The difference of the rates, with Newcombe's interval.
    pub change: Change,
    /// The p-value, where it was tested.
    pub p: Option<f64>,
    /// The same adjusted for the number of examples tested.
    pub p_adjusted: Option<f64>,
    /// How many repeats a side would tell rates like these apart.
    pub repeats_to_tell: Option<u64>,
    /// Mean duration before, in milliseconds.
    pub duration_before_ms: Option<f64>,
    /// Mean duration after, in milliseconds.
    pub duration_after_ms: Option<f64>,
    /// Mean cost before, in US dollars.
    pub cost_before_usd: Option<f64>,
    /// Mean cost after, in US dollars.
    pub cost_after_usd: Option<f64>,
}

/// An example that only one side can say something about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Its stable id.
    pub id: String,
    /// Its description as one line.
    pub title: String,
    /// The file it stands in.
    pub file: Option<String>,
    /// Whether it is the side after that has no result.
    pub missing_after: bool,
    /// Why: `not there`, `pending`, `inconclusive`, ….
    pub reason: String,
}

/// The suite as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuiteChange {
    /// What is to be said.
    pub verdict: Verdict,
    /// Paired examples.
    pub paired: u64,
    /// Examples that pass less often than before.
    pub worse: u64,
    /// Examples that pass more often than before.
    pub better: u64,
    /// McNemar's exact test over those.
    pub p: f64,
    /// The mean pass rate of the paired examples before.
    pub rate_before: Option<f64>,
    /// The mean pass rate of the paired examples after.
    pub rate_after: Option<f64>,
    /// The mean change of the pass rate, with a t interval over examples.
    pub change: Option<Change>,
    /// The k of the next two: the fewest attempts that any paired example has.
    pub k: u64,
    /// pass^k before: the chance that all of k attempts at an example pass.
    pub pass_hat_k_before: Option<f64>,
    /// pass^k after.
    pub pass_hat_k_after: Option<f64>,
}

/// How much more of something the paired examples take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageChange {
    /// Examples that have it on both sides.
    pub examples: u64,
    /// The sum over those examples before, of the mean per attempt.
    pub before: f64,
    /// The sum over those examples after.
    pub after: f64,
    /// The typical factor: the geometric mean over examples.
    pub ratio: f64,
    /// Where the true factor is to be expected; absent with a single example.
    pub ratio_range: Option<Range>,
    /// Whether the interval leaves no room for «the same».
    pub significant: bool,
}
