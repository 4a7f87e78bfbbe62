//! Repeats of one test: the chance that one of k passes, that all of k pass, and how many repeats would tell.

use crate::proportion::Z95;
use crate::special::ln_choose;

/// pass@k: the chance that at least one of `k` attempts passes, estimated without bias from `c` passes in
/// `n` attempts. `None` where there are fewer than `k` attempts to draw from, or `k` is 0.
///
/// ```
/// assert!((proctor_stats::pass_at_k(10, 3, 1).unwrap() - 0.3).abs() < 1e-12);
/// assert_eq!(proctor_stats::pass_at_k(2, 1, 3), None);
/// ```
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if k == 0 || k > n || c > n {
        return None;
    }
    Some(1.0 - draw_all(n, n - c, k))
}

/// pass^k: the chance that all of `k` attempts pass, estimated without bias from `c` passes in `n`
/// attempts. `None` where there are fewer than `k` attempts to draw from, or `k` is 0.
///
/// ```
/// assert!((proctor_stats::pass_hat_k(4, 2, 2).unwrap() - 1.0 / 6.0).abs() < 1e-12);
/// ```
pub fn pass_hat_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if k == 0 || k > n || c > n {
        return None;
    }
    Some(draw_all(n, c, k))
}

/// The chance that `k` drawn from `n` are all among the `c` special ones.
fn draw_all(n: u64, c: u64, k: u64) -> f64 {
    if c == n {
        return 1.0;
    }
    (ln_choose(c, k) - ln_choose(n, k)).exp()
}

/// How many attempts on each side a two-sided test at 5 % needs to see rates like these differ with 80 % power
/// (the normal approximation with the continuity correction of Fleiss). `None` where the rates are equal.
///
/// ```
/// assert_eq!(proctor_stats::repeats_to_tell(0.9, 0.5), Some(25));
/// ```
pub fn repeats_to_tell(first: f64, second: f64) -> Option<u64> {
    const Z80: f64 = 0.841_621_233_572_914_3;
    let gap = (first - second).abs();
    if !(gap > 1e-9 && gap <= 1.0) {
        return None;
    }
    let middle = f64::midpoint(first, second);
    let under_null = Z95 * (2.0 * middle * (1.0 - middle)).sqrt();
    let under_change = Z80 * (first * (1.0 - first) + second * (1.0 - second)).sqrt();
    let plain = ((under_null + under_change) / gap).powi(2);
    let corrected = plain / 4.0 * (1.0 + (1.0 + 4.0 / (plain * gap)).sqrt()).powi(2);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a float too large becomes the largest count"
    )]
    let count = corrected.ceil() as u64;
    Some(count)
}
