//! Quality per criterion.
//!
//! A criterion is checked in several examples, sometimes several times in one attempt. An attempt counts once: with the share of
//! its checks that held, and with the mean of its scores. Both are compared by the exact stratified test over examples; its direction and
//! its p-value are one thing. A criterion that gives both is worse if either is, and pays for having two chances.

use std::collections::BTreeMap;

use proctor_stats::{
    Difference, SideMean, StopRule, Tails, Z95, benjamini_hochberg, mean, mean_difference,
    stratified_scores,
};
use serde::Serialize;

use crate::earlier_runs::RunVariation;
use crate::model::{Assessment, Change, Rules, Tally};
use crate::pair::Pair;
use crate::side::{Check, ExampleResults};

/// One criterion on both sides, over the examples that check it on both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriterionChange {
    /// The criterion.
    pub name: String,
    /// What is to be said.
    pub verdict: Assessment,
    /// Examples that check it on both sides.
    pub examples: u64,
    /// How often it held before, with Wilson's interval.
    pub before: Tally,
    /// How often it held after.
    pub after: Tally,
    /// The mean change of the share of checks that held, over examples; absent where it only gives scores.
    pub change: Option<Change>,
    /// The mean score before, where it gives scores.
    pub score_before: Option<f64>,
    /// The mean score after.
    pub score_after: Option<f64>,
    /// The mean change of the score over examples.
    pub score_change: Option<Change>,
    /// The p-value of «worse».
    pub p_worse: f64,
    /// The p-value of «better».
    pub p_better: f64,
    /// The p-value of «worse», adjusted for the number of criteria.
    pub p_worse_adjusted: f64,
    /// The p-value of «better», adjusted for the number of criteria.
    pub p_better_adjusted: f64,
}

/// The attempts of one example: one value each.
type Values = (Vec<f64>, Vec<f64>);

#[derive(Default)]
struct CriterionChecks<'a> {
    /// The checks of each attempt.
    before: Vec<Vec<&'a Check>>,
    after: Vec<Vec<&'a Check>>,
}

pub(crate) fn changes(
    pairs: &[Pair<'_>],
    run_variation: &RunVariation,
    rules: &Rules,
) -> Vec<CriterionChange> {
    let mut criteria: BTreeMap<&str, Vec<CriterionChecks<'_>>> = BTreeMap::new();
    for pair in pairs {
        for (name, seen) in per_example(pair) {
            if !seen.before.is_empty() && !seen.after.is_empty() {
                criteria.entry(name).or_default().push(seen);
            }
        }
    }
    let mut changes: Vec<CriterionChange> =
        criteria.iter().map(|(name, seen)| change(name, seen, run_variation)).collect();
    adjust(&mut changes);
    for change in &mut changes {
        change.verdict = verdict(change, rules);
        let (worse, better) =
            (change.verdict == Assessment::Regression, change.verdict == Assessment::Improvement);
        change.change = change.change.map(|shares| shares.agreeing(worse, better));
        change.score_change = change.score_change.map(|scores| scores.agreeing(worse, better));
    }
    changes.sort_by(|a, b| {
        (a.verdict, estimate(a))
            .partial_cmp(&(b.verdict, estimate(b)))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then_with(|| a.name.cmp(&b.name))
    });
    changes
}

fn adjust(changes: &mut [CriterionChange]) {
    let of = |value: fn(&CriterionChange) -> f64| {
        benjamini_hochberg(&changes.iter().map(value).collect::<Vec<_>>())
    };
    let (worse, better) = (of(|change| change.p_worse), of(|change| change.p_better));
    for (change, (worse, better)) in changes.iter_mut().zip(worse.into_iter().zip(better)) {
        change.p_worse_adjusted = worse;
        change.p_better_adjusted = better;
    }
}

fn per_example<'a>(pair: &Pair<'a>) -> BTreeMap<&'a str, CriterionChecks<'a>> {
    let mut seen: BTreeMap<&str, CriterionChecks<'_>> = BTreeMap::new();
    for (name, checks) in attempts(pair.before) {
        seen.entry(name).or_default().before.push(checks);
    }
    for (name, checks) in attempts(pair.after) {
        seen.entry(name).or_default().after.push(checks);
    }
    seen
}

/// The checks of each attempt by criterion.
fn attempts(sample: &ExampleResults) -> impl Iterator<Item = (&str, Vec<&Check>)> {
    sample.trials.iter().flat_map(|trial| {
        let mut checks: BTreeMap<&str, Vec<&Check>> = BTreeMap::new();
        for check in &trial.checks {
            checks.entry(&check.name).or_default().push(check);
        }
        checks
    })
}

fn share_held(checks: &[&Check]) -> Option<f64> {
    let outcome = |check: &&Check| check.passed.map(|passed| if passed { 1.0 } else { 0.0 });
    mean(checks.iter().filter_map(outcome))
}

fn mean_score(checks: &[&Check]) -> Option<f64> {
    mean(checks.iter().filter_map(|check| check.score))
}

/// One value for each attempt that has one, of examples that have some on both sides.
fn values(seen: &[CriterionChecks<'_>], value: fn(&[&Check]) -> Option<f64>) -> Vec<Values> {
    let side = |attempts: &[Vec<&Check>]| -> Vec<f64> {
        attempts.iter().filter_map(|checks| value(checks)).collect()
    };
    seen.iter()
        .map(|seen| (side(&seen.before), side(&seen.after)))
        .filter(|(before, after)| !before.is_empty() && !after.is_empty())
        .collect()
}

/// A test of one kind of value, and the mean difference.
struct CriterionTestResult {
    worse: f64,
    better: f64,
    change: Difference,
}

fn test(values: &[Values], run_variation: &RunVariation) -> Option<CriterionTestResult> {
    let side = |values: &[f64]| {
        let mean = mean(values.iter().copied())?.clamp(0.0, 1.0);
        Some(SideMean { mean, count: values.len() as u64, stop: StopRule::Fixed })
    };
    let means: Vec<(SideMean, SideMean)> =
        values.iter().filter_map(|(before, after)| Some((side(before)?, side(after)?))).collect();
    let change = mean_difference(&means, Z95)?;
    let Tails { lower, upper, excess, variance } = stratified_scores(values);
    let worse = run_variation.deflate(lower, excess, variance);
    let better = run_variation.deflate(upper, excess, variance);
    Some(CriterionTestResult { worse, better, change })
}

fn count_held(attempts: &[Vec<&Check>]) -> (u64, u64) {
    let outcomes = attempts.iter().flatten().filter_map(|check| check.passed);
    outcomes.fold((0, 0), |(held, all), passed| (held + u64::from(passed), all + 1))
}

fn change(
    name: &str,
    seen: &[CriterionChecks<'_>],
    run_variation: &RunVariation,
) -> CriterionChange {
    let total = |side: fn(&'_ CriterionChecks<'_>) -> (u64, u64)| {
        seen.iter().map(side).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let (before, after) =
        (total(|seen| count_held(&seen.before)), total(|seen| count_held(&seen.after)));
    let shares = test(&values(seen, share_held), run_variation);
    let score_values = values(seen, mean_score);
    let scores = test(&score_values, run_variation);
    let chances = f64::from(u8::from(shares.is_some()) + u8::from(scores.is_some())).max(1.0);
    let least = |tail: fn(&CriterionTestResult) -> f64| {
        let both = [shares.as_ref().map(tail), scores.as_ref().map(tail)];
        (both.into_iter().flatten().fold(1.0, f64::min) * chances).min(1.0)
    };
    CriterionChange {
        name: name.to_owned(),
        verdict: Assessment::NoChangeSeen,
        examples: seen.len() as u64,
        before: Tally::of(before),
        after: Tally::of(after),
        score_before: mean(score_values.iter().flat_map(|(before, _)| before.iter().copied())),
        score_after: mean(score_values.iter().flat_map(|(_, after)| after.iter().copied())),
        p_worse: least(|tested| tested.worse),
        p_better: least(|tested| tested.better),
        p_worse_adjusted: 1.0,
        p_better_adjusted: 1.0,
        change: shares.map(|tested| tested.change.into()),
        score_change: scores.map(|tested| tested.change.into()),
    }
}

/// The larger fall, or else the larger rise.
fn estimate(change: &CriterionChange) -> f64 {
    let estimates = [change.change, change.score_change].map(|change| change.map(|it| it.estimate));
    let known = || estimates.into_iter().flatten();
    let lowest = known().fold(f64::INFINITY, f64::min);
    if lowest < 0.0 { lowest } else { known().fold(0.0, f64::max) }
}

fn verdict(change: &CriterionChange, rules: &Rules) -> Assessment {
    let falls = |change: Option<Change>| change.is_some_and(|change| change.estimate < -1e-12);
    let rises = |change: Option<Change>| change.is_some_and(|change| change.estimate > 1e-12);
    let worse = change.p_worse_adjusted <= rules.level_criteria;
    let better = change.p_better_adjusted <= rules.level_criteria;
    if worse && (falls(change.change) || falls(change.score_change)) {
        Assessment::Regression
    } else if falls(change.change) || falls(change.score_change) {
        Assessment::CannotTell
    } else if better {
        Assessment::Improvement
    } else if rises(change.change) || rises(change.score_change) {
        Assessment::CannotTell
    } else {
        Assessment::NoChangeSeen
    }
}
