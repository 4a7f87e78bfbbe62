//! Pass rates over several tests, each with several attempts.
//!
//! Attempts at one test resemble each other: ten repeats of three tests are not thirty independent observations. The
//! intervals here take the tests as the sample (the variance of a ratio of cluster totals), turn what that says into the
//! number of independent attempts that would be as much worth, and use Wilson's formula with it, with Student's quantile
//! for the number of tests.

use crate::means::student_t_quantile;
use crate::proportion::{Interval, wilson, wilson_of};
use crate::special::as_float;

/// The probability below the upper end of a two-sided 95 % interval.
const UPPER_QUANTILE: f64 = 0.975;

/// The 95 % interval of the pass rate over all tests, given passes and attempts of each. Tests without attempts do not
/// count; a single one has Wilson's interval of its own attempts.
///
/// ```
/// use proctor_stats::{Z95, clustered, wilson};
/// // Two tests that always pass and one that never does: thirty attempts, but hardly more than three observations.
/// let tests = [(10, 10), (10, 10), (0, 10)];
/// let (honest, naive) = (clustered(&tests), wilson(20, 30, Z95));
/// assert!(honest.low < 0.1 && naive.low > 0.4);
/// ```
pub fn clustered(tests: &[(u64, u64)]) -> Interval {
    let tests: Vec<(f64, f64)> = tests
        .iter()
        .filter(|(_, attempts)| *attempts > 0)
        .map(|(passed, attempts)| (as_float(*passed.min(attempts)), as_float(*attempts)))
        .collect();
    let count = as_float(tests.len() as u64);
    let (passed, attempts) =
        tests.iter().fold((0.0, 0.0), |sum, (passed, all)| (sum.0 + passed, sum.1 + all));
    if tests.is_empty() {
        return wilson(0, 0, crate::Z95);
    }
    let share = passed / attempts;
    if tests.len() == 1 {
        return wilson_of(share, attempts, crate::Z95);
    }
    let plain = share * (1.0 - share) / attempts;
    let between: f64 = tests.iter().map(|(passed, all)| (passed - share * all).powi(2)).sum();
    let variance = between * count / (count - 1.0) / (attempts * attempts);
    // Where all attempts agree nothing is known of how alike they are; then each test counts once.
    let worth = if plain > 0.0 { attempts * (plain / variance).min(1.0) } else { count };
    wilson_of(share, worth, student_t_quantile(UPPER_QUANTILE, count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Z95;

    fn width(interval: Interval) -> f64 {
        interval.high - interval.low
    }

    #[test]
    fn one_test_is_wilsons_and_none_is_ignorance() {
        assert_eq!(clustered(&[(9, 10), (0, 0)]), wilson(9, 10, Z95));
        assert_eq!(clustered(&[]), Interval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn single_attempts_are_nearly_independent() {
        let tests: Vec<(u64, u64)> = (0..200).map(|test| (u64::from(test % 4 != 0), 1)).collect();
        let (honest, naive) = (clustered(&tests), wilson(150, 200, Z95));
        assert!((width(honest) - width(naive)).abs() < 0.003, "{honest:?} {naive:?}");
    }

    #[test]
    fn attempts_that_resemble_each_other_are_worth_less() {
        let alike = [(10, 10), (0, 10), (10, 10), (0, 10), (10, 10), (0, 10)];
        let mixed = [(5, 10); 6];
        assert!(width(clustered(&alike)) > 2.0 * width(clustered(&mixed)));
        assert!(
            width(clustered(&mixed)) >= width(wilson(30, 60, Z95)),
            "never better than independent"
        );
        let all = clustered(&[(10, 10), (10, 10), (10, 10)]);
        assert!((all.high - 1.0).abs() < 1e-12 && all.low < 0.5, "three tests: {all:?}");
    }
}
