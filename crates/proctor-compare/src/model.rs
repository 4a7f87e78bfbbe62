//! What a comparison says: plain data with stable names, for every view.

use proctor_stats::{Arm, Difference, Interval, Z95, wilson};
use serde::{Deserialize, Serialize};

use crate::assess::Direction;
use crate::criteria::CriterionChange;
use crate::gate::{Gate, GateRules};
use crate::side::{ExampleResults, Side};

/// The version of a comparison as JSON.
pub(crate) const COMPARISON_VERSION: u32 = 2;

/// The rules of a comparison.
///
/// The levels of «worse» and «better» for examples and suite add up to 5 %: so often, at most, does a comparison of a thing with itself
/// claim any change. «Better» gets the smaller share: a false alarm blocks a change, a false improvement does not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The level at which the suite as a whole is said to be worse.
    pub level_suite: f64,
    /// The false-discovery rate over examples that are said to be worse.
    pub level_examples: f64,
    /// The same two levels for «better», each.
    pub level_better: f64,
    /// The false-discovery rate over criteria, in each direction.
    pub level_criteria: f64,
    /// The suite is unchanged only if «not worse by more than this» is shown; absent where that is not asked for.
    pub margin: Option<f64>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            level_suite: proctor_stats::SUITE_LEVEL,
            level_examples: proctor_stats::EXAMPLES_LEVEL,
            level_better: 0.005,
            level_criteria: 0.01,
            margin: None,
        }
    }
}

impl Rules {
    /// The same with a margin in percentage points. `None` where it is not above 0 and below 100.
    pub fn with_margin(self, points: f64) -> Option<Self> {
        (points > 0.0 && points < 100.0).then_some(Self { margin: Some(points / 100.0), ..self })
    }
}

/// What is to be said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assessment {
    /// A side did not load, or the two have no example in common.
    NotComparable,
    /// It got worse, and that is not chance.
    Regression,
    /// It differs, and that may be chance.
    CannotTell,
    /// It got better, and that is not chance.
    Improvement,
    /// The results are the same. What few attempts can hide is in the interval.
    NoChangeSeen,
    /// It is shown not to be worse by more than the margin.
    Unchanged,
}

impl Assessment {
    /// All of them, worst first.
    pub const ALL: [Self; 6] = [
        Self::NotComparable,
        Self::Regression,
        Self::CannotTell,
        Self::Improvement,
        Self::NoChangeSeen,
        Self::Unchanged,
    ];

    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotComparable => "not comparable",
            Self::Regression => "regression",
            Self::CannotTell => "cannot tell",
            Self::Improvement => "improvement",
            Self::NoChangeSeen => "no change seen",
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
    /// The e-value of pairs of attempts, with the same control: the run decided on its repetitions as it went.
    Pairs,
}

/// How the suite was tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteTest {
    /// The exact stratified test over examples.
    Stratified,
    /// The e-value of pairs of attempts.
    Pairs,
}

impl SuiteTest {
    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Stratified => "exact stratified test",
            Self::Pairs => "e-value of pairs",
        }
    }
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
    /// The worst thing that is to be said of examples, suite and errors outside examples.
    pub verdict: Assessment,
    /// Why the two cannot be compared, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_comparable: Option<String>,
    /// What a gate decides.
    pub gate: Gate,
    /// The suite as a whole.
    pub suite: SuiteChange,
    /// Examples by verdict.
    pub counts: Counts,
    /// Every paired example: regressions first, then what cannot be told, improvements, the rest.
    pub examples: Vec<ExampleChange>,
    /// Examples that only one side can say something about. They stop a gate.
    pub gaps: Vec<Gap>,
    /// Criteria, worst first.
    pub criteria: Vec<CriterionChange>,
    /// How much longer examples take.
    pub duration: Option<UsageChange>,
    /// How much more examples cost.
    pub cost: Option<UsageChange>,
}

impl Comparison {
    /// The same with the decision of a gate that has these rules.
    #[must_use]
    pub fn gated(mut self, rules: &GateRules) -> Self {
        self.gate = Gate::of(&self, rules);
        self
    }

    /// Whether something got worse beyond chance.
    pub fn regressed(&self) -> bool {
        self.verdict == Assessment::Regression
    }

    /// By how much the suite may have got worse all the same, as a share; absent where every example is deterministic.
    pub fn possible_drop(&self) -> Option<f64> {
        let open = self.suite.paired > self.suite.deterministic;
        let range = self.suite.change.and_then(|change| change.range).filter(|_| open)?;
        Some((-range.low).max(0.0))
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
    /// Those that give the same results.
    pub no_change_seen: u64,
    /// Those that differ, perhaps by chance.
    pub cannot_tell: u64,
    /// Those among them that pass less often.
    pub perhaps_worse: u64,
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
            regressions: verdicts(Assessment::Regression),
            improvements: verdicts(Assessment::Improvement),
            no_change_seen: verdicts(Assessment::NoChangeSeen),
            cannot_tell: verdicts(Assessment::CannotTell),
            perhaps_worse: examples
                .iter()
                .filter(|change| {
                    change.verdict == Assessment::CannotTell && change.direction == Direction::Worse
                })
                .count() as u64,
            missing_after: missing(true),
            missing_before: missing(false),
            moved: examples.iter().filter(|change| change.moved_from.is_some()).count() as u64,
        }
    }
}

/// The one verdict over examples, suite and what went wrong outside examples.
///
/// With a margin the suite's claim takes the place of what single examples may hide.
pub(crate) fn overall(counts: &Counts, suite: &SuiteChange, new_errors: bool) -> Assessment {
    let perhaps_worse = match suite.verdict {
        Assessment::CannotTell => true,
        Assessment::Unchanged => false,
        _ => counts.perhaps_worse > 0,
    };
    if counts.regressions > 0 || suite.verdict == Assessment::Regression || new_errors {
        Assessment::Regression
    } else if perhaps_worse {
        Assessment::CannotTell
    } else if counts.improvements > 0 || suite.verdict == Assessment::Improvement {
        Assessment::Improvement
    } else {
        suite.verdict
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
            rate: Arm::fixed((passed, attempts)).rate(),
            range: wilson(passed, attempts, Z95).into(),
        }
    }

    pub(crate) fn of_sample(sample: &ExampleResults) -> Self {
        Self::of(sample.tally())
    }
}

/// A closed interval.
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

impl Change {
    /// The same with an interval that holds «no change» exactly where no change is claimed.
    pub(crate) fn agreeing(mut self, worse: bool, better: bool) -> Self {
        if let Some(range) = self.range.as_mut().filter(|range| range.low < range.high) {
            let claimed_worse = worse && self.estimate < 0.0;
            let claimed_better = better && self.estimate > 0.0;
            range.high = if claimed_worse { range.high.min(0.0) } else { range.high.max(0.0) };
            range.low = if claimed_better { range.low.max(0.0) } else { range.low.min(0.0) };
        }
        self
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
    pub verdict: Assessment,
    /// Which way the observed pass rate went.
    pub direction: Direction,
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
    /// The difference of the rates, with Newcombe's interval, widened where runs vary; it holds 0 where no change is claimed.
    pub change: Change,
    /// The p-value of the direction it went, where it was tested.
    pub p: Option<f64>,
    /// The same adjusted for the number of examples tested.
    pub p_adjusted: Option<f64>,
    /// How many repeats a side would tell rates like these apart, with 80 % power.
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
    pub verdict: Assessment,
    /// How it was tested.
    pub test: SuiteTest,
    /// Paired examples.
    pub paired: u64,
    /// Those of them that are deterministic.
    pub deterministic: u64,
    /// Examples that pass less often than before.
    pub worse: u64,
    /// Examples that pass more often than before.
    pub better: u64,
    /// The p-value of «worse», with the variation between runs allowed for.
    pub p_worse: f64,
    /// The p-value of «better», likewise.
    pub p_better: f64,
    /// The mean pass rate of the paired examples before.
    pub rate_before: Option<f64>,
    /// The mean pass rate of the paired examples after.
    pub rate_after: Option<f64>,
    /// The mean change of the pass rate over examples. Where runs vary its interval is wider.
    pub change: Option<Change>,
    /// How many earlier runs say how much runs vary; absent with fewer than three.
    pub earlier_runs: Option<u64>,
    /// Whether those differ from each other by more than chance: good and bad days.
    pub runs_vary: bool,
    /// How many repeats of every example would tell, with 80 % power.
    pub repeats_to_tell: Option<u64>,
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
    /// Those of them with more than nothing on both sides, which alone have a factor.
    pub rated: u64,
    /// The sum over all of them before, of the mean per attempt.
    pub before: f64,
    /// The sum over all of them after.
    pub after: f64,
    /// The typical factor: the geometric mean over examples; absent where none has one.
    pub ratio: Option<f64>,
    /// Where the factor would lie if nothing but the run had changed; absent with fewer than three earlier runs.
    pub ratio_range: Option<Range>,
    /// Whether that leaves no room for «the same»; absent where it is not known.
    pub clear: Option<bool>,
}
