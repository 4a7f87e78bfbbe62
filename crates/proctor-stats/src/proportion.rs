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
    wilson_of(as_float(successes.min(n)) / as_float(n), as_float(n), z)
}

/// The same for a share of a number of attempts that need not be whole.
pub(crate) fn wilson_of(share: f64, count: f64, z: f64) -> Interval {
    let squared = z * z;
    let centre = share + squared / (2.0 * count);
    let reach = z * (share * (1.0 - share) / count + squared / (4.0 * count * count)).sqrt();
    let scale = 1.0 + squared / count;
    // At the ends the formula is exact but its rounding is not.
    let low = if share <= 0.0 { 0.0 } else { (centre - reach) / scale };
    let high = if share >= 1.0 { 1.0 } else { (centre + reach) / scale };
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
    hybrid(side(first), side(second))
}

/// The difference of two shares, each with its interval.
fn hybrid(first: (f64, Interval), second: (f64, Interval)) -> Difference {
    let (first_share, first_interval) = first;
    let (second_share, second_interval) = second;
    let estimate = second_share - first_share;
    let down = (second_share - second_interval.low).hypot(first_interval.high - first_share);
    let up = (second_interval.high - second_share).hypot(first_share - first_interval.low);
    Difference {
        estimate,
        interval: Interval { low: (estimate - down).max(-1.0), high: (estimate + up).min(1.0) },
    }
}
