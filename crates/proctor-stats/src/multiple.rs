//! Many tests at once: control of the false-discovery rate, and of any false discovery.

use crate::special::as_float;

/// The level at which a suite as a whole is said to be worse, by `compare` and by `--repeat auto` alike.
pub const SUITE_LEVEL: f64 = 0.025;

/// The false-discovery rate over examples that are said to be worse, likewise.
pub const EXAMPLES_LEVEL: f64 = 0.015;

/// Benjamini and Hochberg's adjusted p-values, in the order of the input. Calling those at or below
/// 5 % significant keeps the expected share of false ones among them at or below 5 %, where the tests are independent
/// or positively dependent.
///
/// ```
/// let adjusted = proctor_stats::benjamini_hochberg(&[0.01, 0.04, 0.03]);
/// assert!((adjusted[0] - 0.03).abs() < 1e-12 && (adjusted[1] - 0.04).abs() < 1e-12);
/// ```
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*other].total_cmp(&p_values[*one]));
    let count = as_float(p_values.len() as u64);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (from_the_top, index) in order.into_iter().enumerate() {
        let rank = count - as_float(from_the_top as u64);
        least = least.min(p_values[index] * count / rank);
        adjusted[index] = least;
    }
    adjusted
}

/// Holm's adjusted p-values, in the order of the input. Calling those at or below 5 % significant keeps the chance
/// of any false one at or below 5 %, however the tests depend on each other.
///
/// ```
/// let adjusted = proctor_stats::holm(&[0.01, 0.04, 0.03]);
/// assert!((adjusted[0] - 0.03).abs() < 1e-12 && (adjusted[1] - 0.06).abs() < 1e-12);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut most: f64 = 0.0;
    for (place, index) in order.into_iter().enumerate() {
        let left = as_float((p_values.len() - place) as u64);
        most = most.max((p_values[index] * left).min(1.0));
        adjusted[index] = most;
    }
    adjusted
}
