//! Quality per criterion.
//!
//! A criterion is checked in several examples. Its p-value comes from McNemar's test over the examples in which
//! it holds less often and those in which it holds more often, so that many checks in one conversation do not count as many
//! witnesses; with a single example from Fisher's test on the checks. Adjusted over the criteria.

use std::collections::BTreeMap;

use proctor_stats::{
    Z95, benjamini_hochberg, fisher_exact, mcnemar_exact, mean_interval, newcombe, pass_hat_k,
};
use serde::Serialize;

use crate::model::{Change, Rules, Tally, Verdict};
use crate::pair::Pair;
use crate::side::{Check, Sample};

/// One criterion on both sides, over the examples that check it on both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriterionChange {
    /// The criterion.
    pub name: String,
    /// What is to be said.
    pub verdict: Verdict,
    /// Examples that check it on both sides.
    pub examples: u64,
    /// How often it held before, with Wilson's interval.
    pub before: Tally,
    /// How often it held after.
    pub after: Tally,
    /// The difference of the shares, with Newcombe's interval.
    pub change: Change,
    /// The mean score before, where it gives scores.
    pub score_before: Option<f64>,
    /// The mean score after.
    pub score_after: Option<f64>,
    /// The mean change of the score, with a t interval over examples.
    pub score_change: Option<Change>,
    /// The p-value.
    pub p: f64,
    /// The same adjusted for the number of criteria.
    pub p_adjusted: f64,
}

#[derive(Default)]
struct Seen<'a> {
    before: Vec<&'a Check>,
    after: Vec<&'a Check>,
}

pub(crate) fn changes(pairs: &[Pair<'_>], rules: &Rules) -> Vec<CriterionChange> {
    let mut criteria: BTreeMap<&str, Vec<Seen<'_>>> = BTreeMap::new();
    for pair in pairs {
        for (name, seen) in per_example(pair) {
            if !seen.before.is_empty() && !seen.after.is_empty() {
                criteria.entry(name).or_default().push(seen);
            }
        }
    }
    let mut changes: Vec<CriterionChange> =
        criteria.iter().map(|(name, seen)| change(name, seen)).collect();
    let adjusted = benjamini_hochberg(&changes.iter().map(|change| change.p).collect::<Vec<_>>());
    for (change, adjusted) in changes.iter_mut().zip(adjusted) {
        change.p_adjusted = adjusted;
        change.verdict = verdict(change, rules);
    }
    changes.sort_by(|a, b| {
        (a.verdict, a.change.estimate)
            .partial_cmp(&(b.verdict, b.change.estimate))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then_with(|| a.name.cmp(&b.name))
    });
    changes
}

fn per_example<'a>(pair: &Pair<'a>) -> BTreeMap<&'a str, Seen<'a>> {
    let mut seen: BTreeMap<&str, Seen<'_>> = BTreeMap::new();
    for check in checks(pair.before) {
        seen.entry(&check.name).or_default().before.push(check);
    }
    for check in checks(pair.after) {
        seen.entry(&check.name).or_default().after.push(check);
    }
    seen
}

fn checks(sample: &Sample) -> impl Iterator<Item = &Check> {
    sample.trials.iter().flat_map(|trial| &trial.checks)
}

fn held<'a>(checks: impl IntoIterator<Item = &'a &'a Check>) -> (u64, u64) {
    checks
        .into_iter()
        .filter_map(|check| check.passed)
        .fold((0, 0), |(held, all), passed| (held + u64::from(passed), all + 1))
}

fn scores<'a>(checks: impl IntoIterator<Item = &'a &'a Check>) -> Option<f64> {
    let values: Vec<f64> = checks.into_iter().filter_map(|check| check.score).collect();
    mean_interval(&values, 0.95).map(|mean| mean.mean)
}

fn change(name: &str, seen: &[Seen<'_>]) -> CriterionChange {
    let before = held(seen.iter().flat_map(|seen| &seen.before));
    let after = held(seen.iter().flat_map(|seen| &seen.after));
    let differences: Vec<f64> =
        seen.iter().filter_map(|seen| Some(scores(&seen.after)? - scores(&seen.before)?)).collect();
    CriterionChange {
        name: name.to_owned(),
        verdict: Verdict::Unchanged,
        examples: seen.len() as u64,
        before: Tally::of(before),
        after: Tally::of(after),
        change: newcombe(before, after, Z95).into(),
        score_before: scores(seen.iter().flat_map(|seen| &seen.before)),
        score_after: scores(seen.iter().flat_map(|seen| &seen.after)),
        score_change: mean_interval(&differences, 0.95)
            .map(|mean| Change { estimate: mean.mean, range: mean.interval.map(Into::into) }),
        p: p_value(seen, before, after),
        p_adjusted: 1.0,
    }
}

fn p_value(seen: &[Seen<'_>], before: (u64, u64), after: (u64, u64)) -> f64 {
    if seen.len() == 1 {
        return fisher_exact(before, after);
    }
    // The share that held; where a criterion only scores, its score.
    let share = |checks: &[&Check]| {
        let (held, all) = held(checks);
        pass_hat_k(all, held, 1).or_else(|| scores(checks))
    };
    let (mut worse, mut better) = (0, 0);
    for seen in seen {
        if let (Some(old), Some(new)) = (share(&seen.before), share(&seen.after)) {
            worse += u64::from(new < old);
            better += u64::from(new > old);
        }
    }
    mcnemar_exact(worse, better)
}

fn verdict(change: &CriterionChange, rules: &Rules) -> Verdict {
    let by_score = change.score_change.map_or(0.0, |change| change.estimate);
    let scored_only = change.before.attempts == 0 && change.after.attempts == 0;
    let (estimate, range) = if scored_only {
        (by_score, change.score_change.and_then(|change| change.range))
    } else {
        (change.change.estimate, change.change.range)
    };
    if estimate.abs() < 1e-12 {
        return Verdict::Unchanged;
    }
    if change.p_adjusted <= rules.alpha() {
        return if estimate < 0.0 { Verdict::Regression } else { Verdict::Improvement };
    }
    let within =
        range.is_some_and(|range| range.low >= -rules.margin && range.high <= rules.margin);
    if within { Verdict::Unchanged } else { Verdict::TooLittleData }
}
