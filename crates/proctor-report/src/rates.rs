//! Pass rates as text: the numbers of `proctor-verdict` with their intervals.

use proctor_record::{Example, RunData};
use proctor_stats::{Interval, Z95, clustered, pass_at_k, pass_hat_k, wilson};
use proctor_verdict::Rate;

/// What the repetitions of an example say.
pub(crate) fn rate_of(example: &Example, run: &RunData) -> Rate {
    example.verdict(run.over).rate()
}

/// The interval in which the true rate is to be expected, with 95 % confidence, in percent.
pub(crate) fn interval(rate: Rate) -> Option<(f64, f64)> {
    let Interval { low, high } = wilson(rate.passed, rate.valid, Z95);
    (rate.valid > 0).then_some((low * 100.0, high * 100.0))
}

/// The chances that one of `k` repetitions passes, and that all of them do; nothing where fewer were valid.
pub(crate) fn pass_at_k_and_hat_k(rate: Rate, k: u64) -> Option<(f64, f64)> {
    Some((pass_at_k(rate.valid, rate.passed, k)?, pass_hat_k(rate.valid, rate.passed, k)?))
}

/// The share that passed, in percent.
pub(crate) fn percent(rate: Rate) -> Option<f64> {
    rate.share().map(|share| share * 100.0)
}

/// The interval of the rate over several examples, with 95 % confidence, in percent. Repetitions of one example resemble each
/// other, so it rests on the examples.
pub(crate) fn common_interval(rates: &[Rate]) -> Option<(f64, f64)> {
    let counts: Vec<(u64, u64)> = rates.iter().map(|rate| (rate.passed, rate.valid)).collect();
    let Interval { low, high } = clustered(&counts);
    counts.iter().any(|(_, valid)| *valid > 0).then_some((low * 100.0, high * 100.0))
}
