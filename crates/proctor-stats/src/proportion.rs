//! Intervals of pass rates and of their differences.

use crate::special::as_float;

/// The normal quantile of a two-sided 95 % interval.
pub const Z95: f64 = 1.959_963_984_540_054;

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// A difference with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Second minus first.
    pub estimate: f64,
    /// Where the true difference is to be expected.
    pub interval: Interval,
}

/// Wilson's score interval of `successes` out of `n`.
///
/// It stays within 0 and 1, has width even at 0 or n successes, and is honest at the small n that repeats of
/// a test have. Without any attempt nothing is known: 0 to 1.
///
/// ```
/// let rate = proctor_stats::wilson(9, 10, proctor_stats::Z95);
/// assert!((rate.low - 0.596).abs() < 0.001 && (rate.high - 0.982).abs() < 0.001);
/// ```
pub fn wilson(successes: u64, n: u64, z: f64) -> Interval {
    if n == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let successes = successes.min(n);
    let (count, share) = (as_float(n), as_float(successes) / as_float(n));
    let squared = z * z;
    let centre = share + squared / (2.0 * count);
    let reach = z * (share * (1.0 - share) / count + squared / (4.0 * count * count)).sqrt();
    let scale = 1.0 + squared / count;
    // At the ends the formula is exact but its rounding is not.
    let low = if successes == 0 { 0.0 } else { (centre - reach) / scale };
    let high = if successes == n { 1.0 } else { (centre + reach) / scale };
    Interval { low, high }
}

/// The difference of two independent pass rates, second minus first, with Newcombe's hybrid score
/// interval (his method 10: each side's distance is that of its Wilson interval).
///
/// ```
/// use proctor_stats::{Z95, newcombe};
/// let change = newcombe((56, 70), (48, 80), Z95);
/// assert!((change.estimate + 0.2).abs() < 1e-12);
/// ```
pub fn newcombe(first: (u64, u64), second: (u64, u64), z: f64) -> Difference {
    let side = |(successes, n): (u64, u64)| {
        let share = if n == 0 { 0.5 } else { as_float(successes.min(n)) / as_float(n) };
        (share, wilson(successes, n, z))
    };
    let (first_share, first_interval) = side(first);
    let (second_share, second_interval) = side(second);
    let estimate = second_share - first_share;
    let down = (second_share - second_interval.low).hypot(first_interval.high - first_share);
    let up = (second_interval.high - second_share).hypot(first_share - first_interval.low);
    Difference {
        estimate,
        interval: Interval { low: (estimate - down).max(-1.0), high: (estimate + up).min(1.0) },
    }
}
