//! Statistics for test runs: what a pass rate is worth, and whether two of them differ.
//!
//! Everything here is a pure function of counts or numbers. Nothing knows examples, runs or events, and
//! nothing is random: a caller that wants resampling brings its own randomness. The values are checked
//! against SciPy and `statsmodels` (`tests/reference.py` writes `tests/reference.json`).
//!
//! * [`wilson`]: the interval of a pass rate;
//! * [`clustered`], [`clustered_difference`]: the same over several tests, whose attempts resemble each other;
//! * [`newcombe`]: the interval of a difference of two pass rates;
//! * [`fisher_exact`], [`mcnemar_exact`], [`mcnemar_mid_p`]: exact tests;
//! * [`benjamini_hochberg`]: adjusted p-values when many tests are made at once;
//! * [`pass_at_k`], [`pass_hat_k`]: at least one of k attempts, all of k attempts;
//! * [`mean_interval`], [`ratio_interval`]: means of scores, ratios of durations and costs.

mod clustered;
mod means;
mod multiple;
mod proportion;
mod repeats;
mod special;
mod tests_exact;

pub use clustered::{clustered, clustered_difference};
pub use means::{Mean, Ratio, mean_interval, ratio_interval, student_t_quantile};
pub use multiple::benjamini_hochberg;
pub use proportion::{Difference, Interval, Z95, newcombe, wilson};
pub use repeats::{pass_at_k, pass_hat_k, repeats_to_tell};
pub use tests_exact::{fisher_exact, fisher_smallest_p, mcnemar_exact, mcnemar_mid_p};
