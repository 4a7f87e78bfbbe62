//! The verdict on each example.
//!
//! | example | outcomes | verdict |
//! |---|---|---|
//! | deterministic | pass → fail, fail → pass, same | regression, improvement, no change seen |
//! | otherwise | adjusted p at or below the level of its direction | regression or improvement |
//! | | the same rate | no change seen |
//! | | else | cannot tell |
//!
//! Which examples are deterministic is decided in `determinism.rs`. Otherwise the numbers of attempts decide which test is made, never their outcomes:
//!
//! * Fisher's in one direction, where it could tell all from none. Where earlier runs have had good and bad days, an example must be
//!   worse than the day that the other examples show explains. A table that could not have come out significant given its margins
//!   does not count among those that the adjustment is made for: it can raise no alarm.
//! * Else the record. An example that gave the same outcome in its last H attempts and the other one in all n attempts now
//!   does so by chance with probability at most `H^H n^n / (H+n)^(H+n)`, whatever its true rate. Every example with
//!   such a record counts for the adjustment, whatever it does now.
//! * Where a run decided on its repetitions as it went: the e-value of its pairs of attempts.

use std::collections::HashMap;

use proctor_stats::{
    Arm, Stratum, Tails, Z95, benjamini_hochberg, discordant_e_value, fisher_worse,
    fisher_worse_least, fisher_worse_shifted, newcombe, repeats_to_show, stratified_exact,
};
use serde::Serialize;

use crate::determinism::Determinism;
use crate::earlier_runs::{EarlierRuns, ExampleHistory, RunVariation, Streak};
use crate::model::{Assessment, Basis, Change, ExampleChange, Rules, Tally};
use crate::pair::Pair;
use crate::suite::{discordant_attempts, p_of_e, shrunken_rate};
use crate::usage::mean;

/// Which way the observed pass rate went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It passes less often.
    Worse,
    /// It passes as often.
    Same,
    /// It passes more often.
    Better,
}

impl Direction {
    /// Compares the shares as whole numbers.
    pub(crate) fn of(pair: &Pair<'_>) -> Self {
        let ((old, before), (new, after)) = (pair.before.tally(), pair.after.tally());
        let (old, new) =
            (u128::from(old) * u128::from(after), u128::from(new) * u128::from(before));
        match new.cmp(&old) {
            std::cmp::Ordering::Less => Self::Worse,
            std::cmp::Ordering::Equal => Self::Same,
            std::cmp::Ordering::Greater => Self::Better,
        }
    }
}

/// The pairs, judged, and whether each is deterministic.
pub(crate) struct AssessedExamples {
    pub(crate) examples: Vec<ExampleChange>,
    pub(crate) deterministic: Vec<bool>,
}

pub(crate) fn examples(
    pairs: &[Pair<'_>],
    past: &EarlierRuns,
    run_variation: &RunVariation,
    adaptive: bool,
    rules: &Rules,
) -> AssessedExamples {
    let whole = if run_variation.runs_vary() { day(pairs) } else { (0.0, 0.0) };
    let judge = ExampleTester { past, run_variation, adaptive, whole, rules };
    let tested: Vec<ExampleTestResult> = pairs.iter().map(|pair| judge.test(pair)).collect();
    let worse = adjusted(&tested, |test| test.worse);
    let better = adjusted(&tested, |test| test.better);
    let mut advisor = RepeatAdvisor {
        level: rules.level_examples
            / count(tested.iter().filter(|test| test.is_open()).count().max(1)),
        known: HashMap::new(),
    };
    let deterministic = tested.iter().map(|test| !test.is_open()).collect();
    let examples = pairs
        .iter()
        .zip(tested)
        .zip(worse.into_iter().zip(better))
        .map(|((pair, test), p)| {
            TestedPair { pair, test, p, rules, run_variation }.change(&mut advisor)
        })
        .collect();
    AssessedExamples { examples, deterministic }
}

/// What a test in one direction gave.
#[derive(Clone, Copy)]
struct TailTest {
    p: f64,
    /// Whether it could have come out significant, so that the adjustment counts it.
    in_family: bool,
}

struct ExampleTestResult {
    basis: Basis,
    /// Why it is deterministic, or why not, for people.
    reason: String,
    worse: TailTest,
    better: TailTest,
    /// The variance of its passes by chance.
    variance: f64,
}

impl ExampleTestResult {
    fn is_open(&self) -> bool {
        self.basis != Basis::Deterministic
    }
}

/// The p-values of one direction, adjusted over the examples in which that direction could have shown.
fn adjusted(
    tested: &[ExampleTestResult],
    tail: impl Fn(&ExampleTestResult) -> TailTest,
) -> Vec<f64> {
    let family: Vec<f64> =
        tested.iter().map(&tail).filter(|tail| tail.in_family).map(|tail| tail.p).collect();
    let mut values = benjamini_hochberg(&family).into_iter();
    tested
        .iter()
        .map(|test| if tail(test).in_family { values.next().unwrap_or(1.0) } else { 1.0 })
        .collect()
}

/// Excess and variance of the passes after, over all examples: what the day did to them.
fn day(pairs: &[Pair<'_>]) -> (f64, f64) {
    pairs.iter().fold((0.0, 0.0), |sum, pair| {
        let tails = tails(pair.before.unconditional(), pair.after.unconditional());
        (sum.0 + tails.excess, sum.1 + tails.variance)
    })
}

fn tails(before: (u64, u64), after: (u64, u64)) -> Tails {
    stratified_exact(&[Stratum { before: Arm::fixed(before), after: Arm::fixed(after) }])
}

struct ExampleTester<'a> {
    past: &'a EarlierRuns,
    run_variation: &'a RunVariation,
    adaptive: bool,
    /// Excess and variance over all examples, where runs vary.
    whole: (f64, f64),
    rules: &'a Rules,
}

impl ExampleTester<'_> {
    fn test(&self, pair: &Pair<'_>) -> ExampleTestResult {
        let record = self.past.record(pair);
        let nothing = TailTest { p: 1.0, in_family: false };
        let determinism = Determinism::of(pair, record);
        let reason = determinism.to_string();
        if determinism.is_deterministic() {
            let basis = Basis::Deterministic;
            return ExampleTestResult {
                basis,
                reason,
                worse: nothing,
                better: nothing,
                variance: 0.0,
            };
        }
        if self.adaptive {
            return self.by_pairs(pair, reason);
        }
        let (before, after) = (pair.before.unconditional(), pair.after.unconditional());
        let could_tell =
            fisher_worse((before.1, before.1), (0, after.1)) <= self.rules.level_examples;
        match record.filter(|_| !could_tell) {
            Some(record) => self.by_record(record, pair, after, &reason),
            None => self.by_fisher(before, after, reason),
        }
    }

    fn by_fisher(
        &self,
        before: (u64, u64),
        after: (u64, u64),
        reason: String,
    ) -> ExampleTestResult {
        let Tails { excess, variance, .. } = tails(before, after);
        let others = (self.whole.0 - excess, self.whole.1 - variance);
        let failures = |(passed, attempts): (u64, u64)| (attempts - passed, attempts);
        let (bad_before, bad_after) = (failures(before), failures(after));
        let (worst, best) = (self.rules.level_examples, self.rules.level_better);
        ExampleTestResult {
            basis: Basis::Fisher,
            reason,
            worse: TailTest {
                p: self.run_variation.over_days(
                    others,
                    |shift| shift.min(0.0),
                    |shift| fisher_worse_shifted(before, after, shift),
                ),
                in_family: fisher_worse_least(before, after) <= worst,
            },
            better: TailTest {
                p: self.run_variation.over_days(
                    others,
                    |shift| shift.max(0.0),
                    |shift| fisher_worse_shifted(bad_before, bad_after, -shift),
                ),
                in_family: fisher_worse_least(bad_before, bad_after) <= best,
            },
            variance,
        }
    }

    fn by_record(
        &self,
        record: &ExampleHistory,
        pair: &Pair<'_>,
        after: (u64, u64),
        reason: &str,
    ) -> ExampleTestResult {
        let even = !pair.before.mixed && !pair.after.mixed;
        let tail = |streak: Streak, opposite: bool| {
            let (earlier, now) = if self.run_variation.runs_vary() {
                (streak.runs, 1)
            } else {
                (streak.attempts, after.1)
            };
            let p = if opposite && even { chance(earlier, now) } else { 1.0 };
            TailTest { p, in_family: earlier > 0 }
        };
        let worse = tail(record.passed_in_a_row, after.0 == 0 && pair.before.tally().0 > 0);
        let better = tail(record.failed_in_a_row, after.0 == after.1 && pair.before.tally().0 == 0);
        let (outcome, streak) = if worse.p <= better.p {
            ("passed", record.passed_in_a_row.attempts)
        } else {
            ("failed", record.failed_in_a_row.attempts)
        };
        ExampleTestResult {
            basis: Basis::Record,
            reason: match streak {
                0 | 1 => reason.to_owned(),
                streak => format!("it {outcome} {streak} times in a row before"),
            },
            worse,
            better,
            variance: 0.0,
        }
    }

    fn by_pairs(&self, pair: &Pair<'_>, reason: String) -> ExampleTestResult {
        let (worse, better) = discordant_attempts(pair);
        #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
        let (excess, variance) =
            ((better as f64 - worse as f64) / 2.0, (worse + better) as f64 / 4.0);
        let tail = |against: u64, other: u64| TailTest {
            p: self.run_variation.deflate(
                p_of_e(discordant_e_value(against, other)),
                excess,
                variance,
            ),
            in_family: true,
        };
        ExampleTestResult {
            basis: Basis::Pairs,
            reason,
            worse: tail(worse, better),
            better: tail(better, worse),
            variance,
        }
    }
}

/// The most that `rate^earlier × (1 − rate)^now` can be.
fn chance(earlier: u64, now: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
    let (earlier, now) = (earlier as f64, now as f64);
    if earlier <= 0.0 || now <= 0.0 {
        return 1.0;
    }
    let both = earlier + now;
    (earlier * (earlier / both).ln() + now * (now / both).ln()).exp()
}

#[expect(clippy::cast_precision_loss, reason = "counts of examples are far below 2^53")]
fn count(number: usize) -> f64 {
    number as f64
}

/// How many repeats would tell, computed once for rates that are alike.
struct RepeatAdvisor {
    /// What the adjustment over all examples leaves to one of them at worst.
    level: f64,
    known: HashMap<(u64, u64), Option<u64>>,
}

impl RepeatAdvisor {
    fn repeats(&mut self, worse: (u64, u64), better: (u64, u64)) -> Option<u64> {
        let (high, low) = (shrunken_rate(better), shrunken_rate(worse));
        *self
            .known
            .entry((high.to_bits(), low.to_bits()))
            .or_insert_with(|| repeats_to_show(high, low, self.level))
    }
}

struct TestedPair<'a> {
    pair: &'a Pair<'a>,
    test: ExampleTestResult,
    /// Adjusted p-values: of worse, of better.
    p: (f64, f64),
    rules: &'a Rules,
    run_variation: &'a RunVariation,
}

impl TestedPair<'_> {
    fn change(self, advisor: &mut RepeatAdvisor) -> ExampleChange {
        let Pair { before, after } = self.pair;
        let direction = Direction::of(self.pair);
        let verdict = self.verdict(direction);
        let (old, new) = (Tally::of_sample(before), Tally::of_sample(after));
        let repeats = match (verdict, direction) {
            (Assessment::CannotTell, Direction::Worse) => {
                advisor.repeats(after.tally(), before.tally())
            }
            (Assessment::CannotTell, _) => advisor.repeats(before.tally(), after.tally()),
            _ => None,
        };
        let tail = match direction {
            Direction::Better => (self.test.better.p, self.p.1),
            Direction::Worse | Direction::Same => (self.test.worse.p, self.p.0),
        };
        let tested = self.test.is_open();
        ExampleChange {
            id: after.id.clone(),
            id_before: (before.id != after.id).then(|| before.id.clone()),
            title: after.title.clone(),
            file: after.file.clone(),
            moved_from: self.pair.moved_from(),
            verdict,
            direction,
            basis: self.test.basis,
            why: self.why(verdict, direction, (&old, &new), repeats, tail),
            before: old,
            after: new,
            status_before: before.status.clone(),
            status_after: after.status.clone(),
            change: self.difference(verdict),
            p: tested.then_some(tail.0),
            p_adjusted: tested.then_some(tail.1),
            repeats_to_tell: repeats,
            duration_before_ms: mean(before, |trial| trial.duration_ms),
            duration_after_ms: mean(after, |trial| trial.duration_ms),
            cost_before_usd: mean(before, |trial| trial.cost_usd),
            cost_after_usd: mean(after, |trial| trial.cost_usd),
        }
    }

    fn verdict(&self, direction: Direction) -> Assessment {
        let certain = !self.test.is_open();
        match direction {
            Direction::Worse if certain || self.p.0 <= self.rules.level_examples => {
                Assessment::Regression
            }
            Direction::Better if certain || self.p.1 <= self.rules.level_better => {
                Assessment::Improvement
            }
            Direction::Same => Assessment::NoChangeSeen,
            Direction::Worse | Direction::Better => Assessment::CannotTell,
        }
    }

    /// The difference of the rates. A deterministic example's is exact.
    fn difference(&self, verdict: Assessment) -> Change {
        let Pair { before, after } = self.pair;
        let mut change = newcombe(before.tally(), after.tally(), Z95);
        if !self.test.is_open() {
            return Change { estimate: change.estimate, range: None };
        }
        let widening = self.run_variation.widening(self.test.variance);
        let interval = &mut change.interval;
        interval.low = (change.estimate + (interval.low - change.estimate) * widening).max(-1.0);
        interval.high = (change.estimate + (interval.high - change.estimate) * widening).min(1.0);
        Change::from(change)
            .agreeing(verdict == Assessment::Regression, verdict == Assessment::Improvement)
    }

    fn why(
        &self,
        verdict: Assessment,
        direction: Direction,
        (old, new): (&Tally, &Tally),
        repeats: Option<u64>,
        p: (f64, f64),
    ) -> String {
        let counts = format!(
            "{} of {} passed before, {} of {} now",
            old.passed, old.attempts, new.passed, new.attempts
        );
        let reason = &self.test.reason;
        match (self.test.basis, verdict) {
            (Basis::Record, Assessment::Regression) => {
                format!("{reason}, and fails now{}", words(p))
            }
            (Basis::Record, Assessment::Improvement) => {
                format!("{reason}, and passes now{}", words(p))
            }
            (Basis::Deterministic, Assessment::Regression) => {
                format!("passed before, fails now; {reason}")
            }
            (Basis::Deterministic, Assessment::Improvement) => {
                format!("failed before, passes now; {reason}")
            }
            (_, Assessment::NoChangeSeen) if new.passed == new.attempts => {
                "passes as before".to_owned()
            }
            (_, Assessment::NoChangeSeen) if new.passed == 0 => "fails as before".to_owned(),
            (_, Assessment::CannotTell) => {
                let more = match repeats {
                    Some(repeats) => format!("; about {repeats} repeats a side would tell"),
                    None => String::new(),
                };
                let sense = match direction {
                    Direction::Worse => "may be worse or chance",
                    Direction::Same | Direction::Better => "may be better or chance",
                };
                format!("{counts}: {sense}; {reason}{}{more}", words(p))
            }
            _ => format!("{counts}{}", words(p)),
        }
    }
}

fn words((p, adjusted): (f64, f64)) -> String {
    if (p - adjusted).abs() < 5e-4 {
        format!(" ({})", p_words(p))
    } else {
        format!(
            " ({}, {} adjusted)",
            p_words(p),
            p_words(adjusted).trim_start_matches("p = ").trim_start_matches("p ")
        )
    }
}

/// `p = 0.012` or `p < 0.001`.
pub(crate) fn p_words(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}
