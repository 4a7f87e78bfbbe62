//! Durations and costs: how much more the paired examples take.
//!
//! All examples of a run share its machine, its hour and its model, so the run is one observation, however many examples it has.
//! Whether a factor is more than two runs of the same thing differ by is known from earlier runs, and from nothing else.

use proctor_stats::ratio_interval;

use crate::earlier_runs::RunVariation;
use crate::model::{Range, UsageChange};
use crate::pair::Pair;
use crate::side::{CountedAttempt, ExampleResults};

/// The mean over the trials that have the value.
pub(crate) fn mean(
    sample: &ExampleResults,
    value: impl Fn(&CountedAttempt) -> Option<f64>,
) -> Option<f64> {
    proctor_stats::mean(sample.trials.iter().filter_map(value))
}

pub(crate) fn duration(pairs: &[Pair<'_>], run_variation: &RunVariation) -> Option<UsageChange> {
    change(pairs, |trial| trial.duration_ms, run_variation.duration)
}

pub(crate) fn cost(pairs: &[Pair<'_>], run_variation: &RunVariation) -> Option<UsageChange> {
    change(pairs, |trial| trial.cost_usd, run_variation.cost)
}

fn change(
    pairs: &[Pair<'_>],
    value: impl Fn(&CountedAttempt) -> Option<f64> + Copy,
    reach: Option<f64>,
) -> Option<UsageChange> {
    let both: Vec<(f64, f64)> = pairs
        .iter()
        .filter_map(|pair| Some((mean(pair.before, value)?, mean(pair.after, value)?)))
        .collect();
    if both.is_empty() {
        return None;
    }
    let ratio = ratio_interval(&both, 0.95);
    let range = ratio.zip(reach).map(|(ratio, reach)| Range {
        low: ratio.ratio / reach.exp(),
        high: ratio.ratio * reach.exp(),
    });
    Some(UsageChange {
        examples: both.len() as u64,
        rated: ratio.map_or(0, |ratio| ratio.n),
        before: both.iter().map(|pair| pair.0).sum(),
        after: both.iter().map(|pair| pair.1).sum(),
        ratio: ratio.map(|ratio| ratio.ratio),
        ratio_range: range,
        clear: range.map(|range| range.low > 1.0 || range.high < 1.0),
    })
}
