//! How many repeats would show a change of a given size.

use crate::special::{as_float, normal_quantile, normal_tail};
use crate::tests_exact::fisher_worse;

/// The power that is asked for.
const POWER: f64 = 0.8;

/// Up to here power is computed exactly; beyond, by the normal approximation, with something to spare for its error.
const EXACT_UP_TO: u64 = 24;
const POWER_MARGIN: f64 = 0.02;

/// The exact power is a saw: so many of the next numbers must be enough as well.
const SAWTOOTH_WIDTH: u64 = 6;

/// More than this is not advised.
const MAX_REPEATS: u64 = 100_000;

/// How many attempts on each side Fisher's one-sided test at `level` needs to show a drop from `before` to `after` with 80 %
/// power. `None` where it is no drop, or more than 100,000 would be needed.
///
/// ```
/// assert_eq!(proctor_stats::repeats_to_show(0.5, 0.5, 0.025), None);
/// assert!(proctor_stats::repeats_to_show(0.9, 0.5, 0.025).unwrap() < 30);
/// ```
pub fn repeats_to_show(before: f64, after: f64, level: f64) -> Option<u64> {
    let enough = |n: u64| fisher_power(before, after, n, level) >= POWER;
    if before - after < 1e-9 {
        return None;
    }
    let mut high = 2;
    while !enough(high) {
        high *= 2;
        if high > MAX_REPEATS {
            return None;
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (high..high + SAWTOOTH_WIDTH)
        .rev()
        .find(|n| !enough(*n))
        .map_or(Some(high), |last| Some(last + 1))
}

/// The chance that Fisher's one-sided test of `n` attempts on each side shows the drop.
pub fn fisher_power(before: f64, after: f64, n: u64, level: f64) -> f64 {
    if n > EXACT_UP_TO {
        return approximate(before, after, as_float(n), level) - POWER_MARGIN;
    }
    let (old, new) = (binomial(n, before), binomial(n, after));
    let mut power = 0.0;
    // For each number of passes before, the most passes after that are still significant.
    let mut most: Option<u64> = None;
    for (passed, chance) in (0..=n).zip(&old) {
        let start = most.map_or(0, |most| most + 1);
        for candidate in start..=n {
            if fisher_worse((passed, n), (candidate, n)) > level {
                break;
            }
            most = Some(candidate);
        }
        if let Some(most) = most {
            let last = usize::try_from(most).unwrap_or(usize::MAX);
            power += chance * new.iter().take(last.saturating_add(1)).sum::<f64>();
        }
    }
    power
}

fn binomial(n: u64, rate: f64) -> Vec<f64> {
    let (rate, other) = (rate.clamp(1e-12, 1.0 - 1e-12).ln(), (1.0 - rate).clamp(1e-12, 1.0).ln());
    (0..=n)
        .map(|k| {
            (crate::special::ln_choose(n, k) + as_float(k) * rate + as_float(n - k) * other).exp()
        })
        .collect()
}

/// The normal approximation with Fleiss's continuity correction.
fn approximate(before: f64, after: f64, n: f64, level: f64) -> f64 {
    let gap = before - after;
    let middle = f64::midpoint(before, after);
    let under_null = (2.0 * middle * (1.0 - middle) / n).sqrt();
    let under_change = ((before * (1.0 - before) + after * (1.0 - after)) / n).sqrt();
    let needed = normal_quantile(level) * under_null + 1.0 / n;
    normal_tail((needed - gap) / under_change.max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_a_side_show_all_from_none() {
        assert_eq!(repeats_to_show(1.0, 0.0, 0.015), Some(4));
        assert!(fisher_power(1.0, 0.0, 3, 0.015) < 0.01);
    }

    /// T8: the power at the advised number is the promised one, whatever the level that many examples leave to each.
    #[test]
    fn t8_the_advised_number_has_the_power_at_every_level() {
        for (before, after) in [(0.9, 0.5), (0.75, 0.25), (0.99, 0.9), (0.6, 0.5)] {
            for level in [0.025, 0.015 / 20.0, 0.015 / 100.0] {
                let n = repeats_to_show(before, after, level).unwrap();
                assert!(
                    fisher_power(before, after, n, level) >= 0.8,
                    "{before} {after} {level} {n}"
                );
                assert!(
                    fisher_power(before, after, n.saturating_sub(20).max(1), level) < 0.85,
                    "{n}"
                );
            }
        }
    }

    #[test]
    fn the_approximation_takes_over_without_a_jump() {
        for (before, after) in [(0.9, 0.7), (0.5, 0.3)] {
            let exact = fisher_power(before, after, EXACT_UP_TO, 0.025);
            let close = approximate(before, after, as_float(EXACT_UP_TO), 0.025);
            assert!((exact - close).abs() < 0.06, "{exact} {close}");
        }
    }
}
