//! The difference of two mean pass rates over many examples, with its interval.
//!
//! Every example counts alike. Examples with the same numbers of attempts are pooled: their common rate has Wilson's interval,
//! which is wide enough however different they are from each other (the variance of a mean of unequal rates is below that of their
//! pooled rate). The groups are then put together by the squares of their distances (Newcombe's method 10 for one group; Zou and Donner's
//! MOVER for several). The result stays within −1 and 1 and never has no width.

use std::collections::BTreeMap;

use crate::proportion::{Difference, Interval, wilson_of};
use crate::special::as_float;
use crate::stratified::{Arm, StopRule, Stratum};

/// One side of an example: its mean and the number of values it is of. Means lie between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideMean {
    /// The mean of the values.
    pub mean: f64,
    /// How many there were.
    pub count: u64,
    /// When they ended.
    pub stop: StopRule,
}

impl SideMean {
    fn of(arm: &Arm) -> Option<Self> {
        Some(Self { mean: arm.rate()?, count: arm.attempts, stop: arm.stop })
    }

    /// Sides with the same design are pooled. The number of attempts of a side that stops early is no part of its design.
    fn design(&self) -> (StopRule, u64) {
        match self.stop {
            StopRule::Fixed => (self.stop, self.count),
            StopRule::Settled { .. } => (self.stop, 0),
        }
    }
}

/// The mean difference of the pass rates of the strata, after minus before; `None` without any.
///
/// ```
/// use proctor_stats::{Arm, Stratum, Z95, newcombe, stratified_difference};
/// let stratum = |before, after| Stratum { before: Arm::fixed(before), after: Arm::fixed(after) };
/// // Examples with the same numbers of attempts give Newcombe's interval of the pooled counts.
/// let two = [stratum((9, 10), (5, 10)), stratum((8, 10), (7, 10))];
/// let (ours, pooled) = (stratified_difference(&two, Z95).unwrap(), newcombe((17, 20), (12, 20), Z95));
/// assert!((ours.interval.low - pooled.interval.low).abs() < 1e-12);
/// ```
pub fn stratified_difference(strata: &[Stratum], z: f64) -> Option<Difference> {
    let sides =
        |stratum: &Stratum| Some((SideMean::of(&stratum.before)?, SideMean::of(&stratum.after)?));
    mean_difference(&strata.iter().filter_map(sides).collect::<Vec<_>>(), z)
}

#[derive(Default)]
struct Group {
    examples: u64,
    before: Pool,
    after: Pool,
}

#[derive(Default)]
struct Pool {
    sum: f64,
    count: u64,
}

impl Pool {
    fn add(&mut self, side: &SideMean) {
        self.sum += side.mean;
        self.count += side.count;
    }

    fn interval(&self, examples: f64, z: f64) -> (f64, Interval) {
        let mean = (self.sum / examples).clamp(0.0, 1.0);
        (mean, wilson_of(mean, as_float(self.count), z))
    }
}

/// The same for means of anything between 0 and 1, such as scores.
pub fn mean_difference(examples: &[(SideMean, SideMean)], z: f64) -> Option<Difference> {
    let mut groups: BTreeMap<_, Group> = BTreeMap::new();
    for (before, after) in examples {
        let group = groups.entry((before.design(), after.design())).or_default();
        group.examples += 1;
        group.before.add(before);
        group.after.add(after);
    }
    if groups.is_empty() {
        return None;
    }
    let all = as_float(examples.len() as u64);
    let (mut estimate, mut down, mut up) = (0.0, 0.0, 0.0);
    for group in groups.values() {
        let examples = as_float(group.examples);
        let weight = examples / all;
        let (old, old_range) = group.before.interval(examples, z);
        let (new, new_range) = group.after.interval(examples, z);
        estimate += weight * (new - old);
        let square = |first: f64, second: f64| weight * weight * (first * first + second * second);
        down += square(new - new_range.low, old_range.high - old);
        up += square(new_range.high - new, old - old_range.low);
    }
    let interval =
        Interval { low: (estimate - down.sqrt()).max(-1.0), high: (estimate + up.sqrt()).min(1.0) };
    Some(Difference { estimate, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Z95;

    fn stratum(before: (u64, u64), after: (u64, u64)) -> Stratum {
        Stratum { before: Arm::fixed(before), after: Arm::fixed(after) }
    }

    /// T4, V20: intervals lie in what is possible and have width where all agree.
    #[test]
    fn t4_v20_intervals_stay_within_what_is_possible() {
        let gone = stratified_difference(&[stratum((1, 1), (0, 1)); 6], Z95).unwrap();
        assert!((gone.estimate + 1.0).abs() < 1e-12);
        assert!(gone.interval.low >= -1.0 && gone.interval.high > -0.8, "{gone:?}");
        let two = [stratum((1, 1), (0, 1)), stratum((0, 1), (1, 1))];
        let two = stratified_difference(&two, Z95).unwrap();
        assert!(two.interval.low >= -1.0 && two.interval.high <= 1.0 && two.estimate.abs() < 1e-12);
        assert_eq!(stratified_difference(&[], Z95), None);
    }

    #[test]
    fn every_example_counts_alike_whatever_its_repeats() {
        let strata = [stratum((1, 1), (0, 1)), stratum((100, 100), (100, 100))];
        let change = stratified_difference(&strata, Z95).unwrap();
        assert!((change.estimate + 0.5).abs() < 1e-12);
    }
}
