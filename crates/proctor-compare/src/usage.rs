//! Durations and costs: how much more the paired examples take.

use proctor_stats::ratio_interval;

use crate::model::UsageChange;
use crate::pair::Pair;
use crate::side::{Sample, Trial};

/// The mean over the trials that have the value.
pub(crate) fn mean(sample: &Sample, value: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = sample.trials.iter().filter_map(value).collect();
    proctor_stats::mean_interval(&values, 0.95).map(|mean| mean.mean)
}

pub(crate) fn duration(pairs: &[Pair<'_>]) -> Option<UsageChange> {
    change(pairs, |trial| trial.duration_ms)
}

pub(crate) fn cost(pairs: &[Pair<'_>]) -> Option<UsageChange> {
    change(pairs, |trial| trial.cost_usd)
}

fn change(pairs: &[Pair<'_>], value: impl Fn(&Trial) -> Option<f64> + Copy) -> Option<UsageChange> {
    let both: Vec<(f64, f64)> = pairs
        .iter()
        .filter_map(|pair| Some((mean(pair.before, value)?, mean(pair.after, value)?)))
        .collect();
    let ratio = ratio_interval(&both, 0.95)?;
    let significant =
        ratio.interval.is_some_and(|interval| interval.low > 1.0 || interval.high < 1.0);
    Some(UsageChange {
        examples: both.len() as u64,
        before: both.iter().map(|pair| pair.0).sum(),
        after: both.iter().map(|pair| pair.1).sum(),
        ratio: ratio.ratio,
        ratio_range: ratio.interval.map(Into::into),
        significant,
    })
}
