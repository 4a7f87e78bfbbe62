//! E-values: evidence that may be looked at after every attempt.
//!
//! An e-value is at most 1 on average while its null hypothesis holds, however long one looks and whatever decides when to stop. So
//! `P(it ever reaches 1/α) ≤ α` (Ville's inequality): 20 is evidence at 5 %, 40 at 2.5 %. Each of these is the likelihood ratio of the
//! alternatives to the boundary of the null hypothesis, averaged over the alternatives with equal weight (a mixture martingale; Grünwald,
//! de Heide, Koolen, arXiv 1906.07801; Ramdas and others, arXiv 2210.01948).
//!
//! The averages are integrals of beta densities between the boundary and 1. With integer counts they are sums of binomial terms, in which
//! almost everything cancels:
//!
//! ```text
//! 1/(1−r) ∫ θ^s (1−θ)^f dθ / (r^s (1−r)^f)  =  1/(f+1) Σ_{i=0..s} Π_{j<i} (s−j)/(f+2+j) · (1−r)/r
//!         r..1
//! ```
//!
//! All terms are positive, so nothing is lost to rounding, and what is too large for a float becomes infinite.

use crate::special::as_float;

/// Evidence that pairs get worse rather than better. Of the pairs that differ, `worse` passed before and fail now, `better` the other way;
/// while nothing changed, each is a fair coin. For evidence of the opposite exchange the arguments.
///
/// ```
/// assert!(proctor_stats::discordant_e_value(8, 0) > 40.0);
/// assert!(proctor_stats::discordant_e_value(8, 8) < 1.0);
/// ```
pub fn discordant_e_value(worse: u64, better: u64) -> f64 {
    rate_e_value_above(worse, better, 0.5)
}

/// Evidence that attempts pass at a rate above `rate`, which lies between 0 and 1.
///
/// ```
/// // 20 of 20 show that a rate of 80 % is exceeded; 16 of 16 do not yet.
/// assert!(proctor_stats::rate_e_value_above(20, 0, 0.8) > 20.0);
/// assert!(proctor_stats::rate_e_value_above(16, 0, 0.8) < 20.0);
/// ```
pub fn rate_e_value_above(passes: u64, failures: u64, rate: f64) -> f64 {
    let odds_against = (1.0 - rate) / rate;
    let mut term = 1.0;
    let mut sum = 1.0;
    for step in 0..passes {
        term *= as_float(passes - step) / as_float(failures + 2 + step) * odds_against;
        let before = sum;
        sum += term;
        // Terms rise to one peak and fall after it: one that no longer counts is followed by smaller ones.
        if sum.is_infinite() || (term < 1.0 && sum.to_bits() == before.to_bits()) {
            break;
        }
    }
    sum / as_float(failures + 1)
}

/// Evidence that attempts pass at a rate below `rate`, which lies between 0 and 1.
///
/// ```
/// // One failure shows that not everything passes.
/// assert!(proctor_stats::rate_e_value_below(30, 1, 1.0).is_infinite());
/// ```
pub fn rate_e_value_below(passes: u64, failures: u64, rate: f64) -> f64 {
    rate_e_value_above(failures, passes, 1.0 - rate)
}

/// Which of many e-values count as evidence when the expected share of false ones among them is to stay at or below `alpha` (the
/// procedure of Benjamini and Hochberg for e-values, Wang and Ramdas, arXiv 2009.02824). It holds however they depend on each other.
///
/// ```
/// assert_eq!(proctor_stats::e_benjamini_hochberg(&[25.0, 1.0, 45.0], 0.05), [false, false, false]);
/// assert_eq!(proctor_stats::e_benjamini_hochberg(&[30.0, 1.0, 45.0], 0.05), [true, false, true]);
/// ```
pub fn e_benjamini_hochberg(e_values: &[f64], alpha: f64) -> Vec<bool> {
    let mut sorted: Vec<f64> = e_values.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    let needed = as_float(e_values.len() as u64) / alpha;
    let enough = (1_u64..).zip(&sorted).filter(|(rank, value)| as_float(*rank) * **value >= needed);
    let least = enough.last().map(|(_, value)| *value);
    e_values.iter().map(|value| least.is_some_and(|least| *value >= least)).collect()
}
