//! Means and ratios with their intervals.

use crate::proportion::Interval;
use crate::special::{as_float, bisect, student_t_tail};

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// How many values it is of.
    pub n: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 0 for a single value.
    pub deviation: f64,
    /// Where the true mean is to be expected; `None` for a single value, which says nothing of its spread.
    pub interval: Option<Interval>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// How many pairs it is of.
    pub n: u64,
    /// The geometric mean of second over first.
    pub ratio: f64,
    /// Where the true ratio is to be expected; `None` for a single pair.
    pub interval: Option<Interval>,
}

/// The mean of values alone; `None` without values. An interval costs a hundred times as much.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) =
        values.into_iter().fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / as_float(count))
}

/// The mean of values with Student's t interval at the confidence given (0.95 for 95 %). `None` without values.
///
/// ```
/// let scores = proctor_stats::mean_interval(&[0.8, 0.9, 1.0], 0.95).unwrap();
/// assert!((scores.mean - 0.9).abs() < 1e-12 && scores.interval.unwrap().low < 0.7);
/// ```
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Mean> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as u64;
    let n = as_float(count);
    let mean = values.iter().sum::<f64>() / n;
    if count == 1 {
        return Some(Mean { n: 1, mean, deviation: 0.0, interval: None });
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (n - 1.0)).sqrt();
    let reach = student_t_quantile(f64::midpoint(1.0, confidence), n - 1.0) * deviation / n.sqrt();
    let interval = Some(Interval { low: mean - reach, high: mean + reach });
    Some(Mean { n: count, mean, deviation, interval })
}

/// How much larger the second of each pair is than the first: the geometric mean of the ratios, with a t interval of
/// their logarithms. Durations and costs multiply rather than add: one slow test does not drown the others.
/// Pairs with a value that is not positive are left out. `None` without pairs.
pub fn ratio_interval(pairs: &[(f64, f64)], confidence: f64) -> Option<Ratio> {
    let usable = |(first, second): &&(f64, f64)| {
        *first > 0.0 && *second > 0.0 && first.is_finite() && second.is_finite()
    };
    let logarithms: Vec<f64> =
        pairs.iter().filter(usable).map(|(first, second)| (second / first).ln()).collect();
    let mean = mean_interval(&logarithms, confidence)?;
    Some(Ratio {
        n: mean.n,
        ratio: mean.mean.exp(),
        interval: mean
            .interval
            .map(|interval| Interval { low: interval.low.exp(), high: interval.high.exp() }),
    })
}

/// The quantile of Student's t distribution: below which value a share of `probability` lies.
pub fn student_t_quantile(probability: f64, degrees: f64) -> f64 {
    if probability < 0.5 {
        return -student_t_quantile(1.0 - probability, degrees);
    }
    let tail = 1.0 - probability;
    let mut high = 1.0;
    while student_t_tail(high, degrees) > tail && high < 1e12 {
        high *= 2.0;
    }
    bisect(0.0, high, |t| student_t_tail(t, degrees) > tail)
}
