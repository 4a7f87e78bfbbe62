//! Statistics for test runs: what a pass rate is worth, and whether two of them differ.
//!
//! Everything here is a pure function of counts or numbers. Nothing knows examples, runs or events, and
//! nothing is random: a caller that wants resampling brings its own randomness. The values are checked
//! against SciPy and `statsmodels` (`tests/reference.py` writes `tests/reference.json`).
//!
//! * [`wilson`]: the interval of a pass rate;
//! * [`clustered`]: the same over several tests, whose attempts resemble each other;
//! * [`newcombe`]: the interval of a difference of two pass rates;
//! * [`fisher_exact`], [`mcnemar_exact`]: exact tests;
//! * [`discordant_e_value`], [`rate_e_value_above`], [`rate_e_value_below`], [`e_benjamini_hochberg`]: evidence that may be looked at
//!   after every attempt;
//! * [`benjamini_hochberg`]: adjusted p-values when many tests are made at once;
//! * [`pass_at_k`], [`pass_hat_k`]: at least one of k attempts, all of k attempts;
//! * [`mean`], [`mean_interval`], [`ratio_interval`]: means of scores, ratios of durations and costs.

mod clustered;
mod means;
mod multiple;
mod power;
mod proportion;
mod repeats;
mod sequential;
mod special;
mod stratified;
mod stratified_interval;
mod tests_exact;
mod variation;

pub use clustered::clustered;
pub use means::{Mean, Ratio, mean, mean_interval, ratio_interval, student_t_quantile};
pub use multiple::{EXAMPLES_LEVEL, SUITE_LEVEL, benjamini_hochberg, holm};
pub use power::{fisher_power, repeats_to_show};
pub use proportion::{Difference, Interval, Z95, newcombe, wilson};
pub use repeats::{pass_at_k, pass_hat_k, repeats_to_tell};
pub use sequential::{
    discordant_e_value, e_benjamini_hochberg, rate_e_value_above, rate_e_value_below,
};
pub use special::{normal_quantile, normal_tail, student_t_tail};
pub use stratified::{Arm, StopRule, Stratum, Tails, stratified_exact, stratified_scores};
pub use stratified_interval::{SideMean, mean_difference, stratified_difference};
pub use tests_exact::{
    fisher_exact, fisher_worse, fisher_worse_least, fisher_worse_shifted, mcnemar_exact,
};
pub use variation::{Variation, normal_mean, step_reach};
