//! The exact stratified test: did the attempts of many examples, taken together, get worse?
//!
//! Each example is a stratum. Under «nothing changed» the passes of both sides, given their total, fall on the sides by
//! chance alone; the distribution of the passes after is known exactly for each stratum and is convolved over them (Zelen 1971;
//! Mehta, Patel and Gray 1985). The numbers of attempts may differ between the sides and between the strata.
//!
//! A side that stops early ([`StopRule::Settled`]) has a number of attempts that depends on its outcomes. What is then exact is the
//! number of orders of passes and failures that lead to each way to stop; those take the place of the binomial
//! coefficients, and passes and failures of both sides together are what is held fixed.
//!
//! Scores take the same form: their distribution is that of drawing the scores of one side from those of both.

use crate::special::{as_float, ln_choose, normal_tail};

/// Probabilities below this are left out at both ends of a distribution.
const NEGLIGIBLE: f64 = 1e-24;

/// Steps of the statistic per pass where it is not a whole number.
const STEPS: f64 = 12.0;

/// Steps into which a score between 0 and 1 is divided.
const SCORE_STEPS: f64 = 100.0;

/// The most work (values × drawn × steps) that is spent on the exact distribution of one stratum of scores.
const EXACT_WORK: usize = 20_000_000;

/// When the attempts of one side end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StopRule {
    /// After a number of attempts that was fixed before.
    Fixed,
    /// As soon as `needed` passes of `planned` attempts are reached or out of reach.
    Settled {
        /// Passes that are enough.
        needed: u64,
        /// Attempts that are made at most.
        planned: u64,
    },
}

/// The attempts of one side of a stratum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arm {
    /// How many passed.
    pub passed: u64,
    /// How many there were.
    pub attempts: u64,
    /// Why there were no more.
    pub stop: StopRule,
}

impl Arm {
    /// Attempts whose number was fixed before.
    pub fn fixed((passed, attempts): (u64, u64)) -> Self {
        Self { passed: passed.min(attempts), attempts, stop: StopRule::Fixed }
    }

    fn failed(&self) -> u64 {
        self.attempts - self.passed
    }

    /// The unbiased estimate of the pass rate (Girshick, Mosteller and Savage 1946); `None` without attempts.
    pub fn rate(&self) -> Option<f64> {
        let (passed, attempts) = (as_float(self.passed), as_float(self.attempts));
        match self.stop {
            _ if self.attempts == 0 => None,
            StopRule::Settled { needed, .. } if self.passed == needed && self.attempts > 1 => {
                Some((passed - 1.0) / (attempts - 1.0))
            }
            StopRule::Settled { .. } if self.attempts > 1 => Some(passed / (attempts - 1.0)),
            _ => Some(passed / attempts),
        }
        .map(|rate| rate.min(1.0))
    }

    /// The logarithm of the number of orders in which so many passes and failures end the attempts.
    fn ln_orders(&self, passed: u64, failed: u64) -> f64 {
        match self.stop {
            StopRule::Fixed if passed + failed == self.attempts => ln_choose(self.attempts, passed),
            StopRule::Settled { needed, planned } => {
                let too_many = planned.saturating_sub(needed) + 1;
                if passed == needed && failed < too_many && needed > 0 {
                    ln_choose(needed - 1 + failed, failed)
                } else if failed == too_many && passed < needed {
                    ln_choose(too_many - 1 + passed, passed)
                } else {
                    f64::NEG_INFINITY
                }
            }
            StopRule::Fixed => f64::NEG_INFINITY,
        }
    }

    /// The passes and failures with which the attempts can have ended, given that there were at most so many of each.
    fn ends(&self, passes: u64, failures: u64) -> Vec<(u64, u64)> {
        let possible = |passed: u64, failed: u64| passed <= passes && failed <= failures;
        match self.stop {
            StopRule::Fixed => {
                let least = self.attempts.saturating_sub(failures);
                (least..=self.attempts.min(passes)).map(|n| (n, self.attempts - n)).collect()
            }
            StopRule::Settled { needed, planned } => {
                let too_many = planned.saturating_sub(needed) + 1;
                let reached = (0..too_many).map(|failed| (needed, failed));
                let missed = (0..needed).map(|passed| (passed, too_many));
                reached.chain(missed).filter(|(p, f)| possible(*p, *f)).collect()
            }
        }
    }
}

/// One example on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stratum {
    /// The attempts before.
    pub before: Arm,
    /// The attempts after.
    pub after: Arm,
}

/// How far out a statistic lies in its distribution under «nothing changed».
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// The probability of a value at most as large: small where the side after is worse.
    pub lower: f64,
    /// The probability of a value at least as large: small where the side after is better.
    pub upper: f64,
    /// The value less what is expected.
    pub excess: f64,
    /// The variance of the value.
    pub variance: f64,
}

impl Tails {
    const NOTHING: Self = Self { lower: 1.0, upper: 1.0, excess: 0.0, variance: 0.0 };
}

/// The exact test over all strata.
///
/// ```
/// use proctor_stats::{Arm, Stratum, stratified_exact};
/// let stratum = |before, after| Stratum { before: Arm::fixed(before), after: Arm::fixed(after) };
/// // One stratum is Fisher's test: 3 of 3 before, 0 of 3 now has one chance in twenty.
/// let one = stratified_exact(&[stratum((3, 3), (0, 3))]);
/// assert!((one.lower - 0.05).abs() < 1e-12);
/// // Ten examples that pass at the same rate with another number of repeats show no change.
/// let same = stratified_exact(&[stratum((9, 10), (18, 20)); 10]);
/// assert!(same.lower > 0.5 && same.upper > 0.5);
/// ```
pub fn stratified_exact(strata: &[Stratum]) -> Tails {
    let whole =
        strata.iter().all(|s| s.before.stop == StopRule::Fixed && s.after.stop == StopRule::Fixed);
    let steps = if whole { 1.0 } else { STEPS };
    combine(strata.iter().filter_map(|stratum| placed(stratum, steps)).collect(), steps)
}

/// The distribution of one stratum with what was observed.
struct Placed {
    distribution: Distribution,
    observed: i64,
}

fn placed(stratum: &Stratum, steps: f64) -> Option<Placed> {
    let Stratum { before, after } = stratum;
    let passes = before.passed + after.passed;
    let failures = before.failed() + after.failed();
    if passes == 0 || failures == 0 {
        return None;
    }
    let (all_passes, all_failures) = (as_float(passes), as_float(failures));
    // The score of a shift in the odds of the side after; for fixed numbers its passes but for a constant.
    let statistic = |passed: u64, failed: u64| {
        let score = if steps > 1.0 {
            (as_float(passed) * all_failures - as_float(failed) * all_passes)
                / (all_passes + all_failures)
        } else {
            as_float(passed)
        };
        round(score * steps)
    };
    let mut points = Vec::new();
    for (passed, failed) in after.ends(passes, failures) {
        let ln =
            after.ln_orders(passed, failed) + before.ln_orders(passes - passed, failures - failed);
        if ln > f64::NEG_INFINITY {
            points.push((statistic(passed, failed), ln));
        }
    }
    let distribution = Distribution::of_logarithms(&points)?;
    Some(Placed { distribution, observed: statistic(after.passed, after.failed()) })
}

/// The test for scores between 0 and 1: each stratum has those of the attempts before and after.
///
/// Where all are 0 or 1 it is [`stratified_exact`].
pub fn stratified_scores(strata: &[(Vec<f64>, Vec<f64>)]) -> Tails {
    let yes_or_no = |score: &f64| *score <= 0.0 || *score >= 1.0;
    if strata.iter().all(|(before, after)| before.iter().chain(after).all(yes_or_no)) {
        let arm = |scores: &[f64]| {
            let passed = scores.iter().filter(|score| **score >= 1.0).count() as u64;
            Arm::fixed((passed, scores.len() as u64))
        };
        let strata: Vec<Stratum> = strata
            .iter()
            .map(|(before, after)| Stratum { before: arm(before), after: arm(after) })
            .collect();
        return stratified_exact(&strata);
    }
    combine(strata.iter().filter_map(placed_scores).collect(), SCORE_STEPS)
}

fn placed_scores((before, after): &(Vec<f64>, Vec<f64>)) -> Option<Placed> {
    let step = |score: &f64| round(score.clamp(0.0, 1.0) * SCORE_STEPS);
    let pooled: Vec<i64> = before.iter().chain(after).map(step).collect();
    let least = *pooled.iter().min()?;
    let range = usize::try_from(*pooled.iter().max()? - least).ok()?;
    if before.is_empty() || after.is_empty() || range == 0 {
        return None;
    }
    let drawn = after.len();
    let observed: i64 = after.iter().map(step).sum();
    let offset = least * i64::try_from(drawn).ok()?;
    let work = pooled.len().saturating_mul(drawn).saturating_mul(range.saturating_mul(drawn));
    let distribution = if work <= EXACT_WORK && pooled.len() <= 1000 {
        let above: Vec<usize> =
            pooled.iter().filter_map(|value| usize::try_from(value - least).ok()).collect();
        Distribution::of_draws(&above, drawn, range, offset)?
    } else {
        Distribution::normal(&pooled, drawn)
    };
    Some(Placed { distribution, observed })
}

/// Convolves the strata and finds the place of what was observed.
fn combine(mut strata: Vec<Placed>, steps: f64) -> Tails {
    if strata.is_empty() {
        return Tails::NOTHING;
    }
    strata.sort_by_key(|stratum| stratum.distribution.chances.len());
    let observed: i64 = strata.iter().map(|stratum| stratum.observed).sum();
    let moments = strata.iter().map(|stratum| stratum.distribution.moments());
    let (mean, variance) = moments.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let mut all = strata[0].distribution.clone();
    for stratum in &strata[1..] {
        all = all.convolve(&stratum.distribution);
    }
    let (lower, upper) = all.tails(observed);
    Tails {
        lower,
        upper,
        excess: (float(observed) - mean) / steps,
        variance: variance / (steps * steps),
    }
}

/// Probabilities of consecutive whole numbers.
#[derive(Debug, Clone)]
struct Distribution {
    first: i64,
    chances: Vec<f64>,
}

impl Distribution {
    fn of_logarithms(points: &[(i64, f64)]) -> Option<Self> {
        let highest = points.iter().map(|(_, ln)| *ln).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<(i64, f64)> =
            points.iter().map(|(value, ln)| (*value, (ln - highest).exp())).collect();
        Self::of_weights(&weights)
    }

    fn of_weights(points: &[(i64, f64)]) -> Option<Self> {
        let first = points.iter().map(|(value, _)| *value).min()?;
        let last = points.iter().map(|(value, _)| *value).max()?;
        let mut chances = vec![0.0; usize::try_from(last - first).ok()? + 1];
        let total: f64 = points.iter().map(|(_, weight)| weight).sum();
        for (value, weight) in points {
            chances[usize::try_from(value - first).ok()?] += weight / total;
        }
        Some(Self { first, chances }.trimmed())
    }

    /// The sum of `drawn` of the values, every choice as likely.
    fn of_draws(values: &[usize], drawn: usize, range: usize, offset: i64) -> Option<Self> {
        let width = range * drawn + 1;
        let mut ways = vec![0.0_f64; (drawn + 1) * width];
        ways[0] = 1.0;
        for (seen, value) in values.iter().enumerate() {
            for count in (1..=drawn.min(seen + 1)).rev() {
                for sum in (*value..width).rev() {
                    ways[count * width + sum] += ways[(count - 1) * width + sum - value];
                }
            }
        }
        let points: Vec<(i64, f64)> =
            (0_i64..).zip(ways[drawn * width..].iter().copied()).collect();
        let weights: Vec<(i64, f64)> = points
            .into_iter()
            .filter(|(_, ways)| *ways > 0.0)
            .map(|(s, w)| (s + offset, w))
            .collect();
        Self::of_weights(&weights)
    }

    /// The normal approximation of the same, for many values.
    fn normal(values: &[i64], drawn: usize) -> Self {
        let count = as_float(values.len() as u64);
        let drawn = as_float(drawn as u64);
        let mean = values.iter().map(|value| float(*value)).sum::<f64>() / count;
        let spread = values.iter().map(|value| (float(*value) - mean).powi(2)).sum::<f64>() / count;
        let deviation = (drawn * (count - drawn) / (count - 1.0) * spread).sqrt().max(0.5);
        let centre = drawn * mean;
        let reach = 10.0 * deviation;
        let (first, last) = (round(centre - reach), round(centre + reach));
        let below = |value: i64| normal_tail((centre - float(value) - 0.5) / deviation);
        let chances = (first..=last).map(|value| below(value) - below(value - 1)).collect();
        Self { first, chances }
    }

    fn trimmed(mut self) -> Self {
        let start = self.chances.iter().position(|chance| *chance > NEGLIGIBLE).unwrap_or(0);
        let end = self.chances.iter().rposition(|chance| *chance > NEGLIGIBLE).unwrap_or(0);
        self.chances.truncate(end + 1);
        self.chances.drain(..start);
        self.first += i64::try_from(start).unwrap_or(0);
        self
    }

    fn convolve(&self, other: &Self) -> Self {
        let (long, short) =
            if self.chances.len() < other.chances.len() { (other, self) } else { (self, other) };
        let mut chances = vec![0.0; long.chances.len() + short.chances.len() - 1];
        for (shift, factor) in short.chances.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            let target = &mut chances[shift..shift + long.chances.len()];
            for (sum, chance) in target.iter_mut().zip(&long.chances) {
                *sum += factor * chance;
            }
        }
        Self { first: self.first + other.first, chances }.trimmed()
    }

    fn moments(&self) -> (f64, f64) {
        let weighted = |power: &dyn Fn(f64) -> f64| -> f64 {
            (self.first..).zip(&self.chances).map(|(value, p)| p * power(float(value))).sum()
        };
        let mean = weighted(&|value| value);
        (mean, weighted(&|value| (value - mean).powi(2)))
    }

    fn tails(&self, observed: i64) -> (f64, f64) {
        let sum = |keep: &dyn Fn(i64) -> bool| -> f64 {
            let kept = (self.first..).zip(&self.chances).filter(|(value, _)| keep(*value));
            kept.map(|(_, chance)| chance).sum::<f64>().min(1.0)
        };
        (sum(&|value| value <= observed), sum(&|value| value >= observed))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "passes of a run, in steps: far below 2^63")]
fn round(value: f64) -> i64 {
    value.round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "passes of a run, in steps: far below 2^53")]
fn float(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(passed: u64, attempts: u64) -> Arm {
        Arm { passed, attempts, stop: StopRule::Settled { needed: 4, planned: 5 } }
    }

    /// Every order of five outcomes, cut where the rule stops, has exactly one end; the chances of the ends add up to one.
    #[test]
    fn the_orders_that_lead_to_each_end_are_counted() {
        let arm = settled(4, 4);
        for rate in [0.2, 0.5, 0.8] {
            let total: f64 = arm
                .ends(10, 10)
                .into_iter()
                .map(|(passed, failed)| {
                    let weight = |p: f64, n: u64| as_float(n) * p.ln();
                    (arm.ln_orders(passed, failed)
                        + weight(rate, passed)
                        + weight(1.0 - rate, failed))
                    .exp()
                })
                .sum();
            assert!((total - 1.0).abs() < 1e-12, "{rate}: {total}");
        }
    }

    #[test]
    fn an_unbiased_rate_for_every_way_to_stop() {
        for rate in [0.1, 0.5, 0.9] {
            let arm = settled(4, 4);
            let mean: f64 = arm
                .ends(10, 10)
                .into_iter()
                .map(|(passed, failed)| {
                    let chance = (arm.ln_orders(passed, failed)
                        + as_float(passed) * f64::ln(rate)
                        + as_float(failed) * f64::ln(1.0 - rate))
                    .exp();
                    chance * settled(passed, passed + failed).rate().unwrap()
                })
                .sum();
            assert!((mean - rate).abs() < 1e-12, "{rate}: {mean}");
        }
    }

    /// T1: rates are compared as whole numbers, so nine of ten and eighteen of twenty are the same.
    #[test]
    fn t1_equal_rates_with_other_repeats_are_no_change() {
        let same = Stratum { before: Arm::fixed((9, 10)), after: Arm::fixed((18, 20)) };
        let tails = stratified_exact(&[same; 10]);
        assert!(tails.lower > 0.4 && tails.upper > 0.4, "{tails:?}");
        assert!(tails.excess.abs() < 1e-9, "{tails:?}");
    }

    #[test]
    fn settled_sides_give_probabilities() {
        let stratum = Stratum { before: settled(4, 4), after: settled(0, 2) };
        // Given four passes and two failures in all, either side may have reached its rate: a coin for each example.
        let tails = stratified_exact(&[stratum; 6]);
        assert!((tails.lower - 1.0 / 64.0).abs() < 1e-12 && tails.upper > 0.99, "{tails:?}");
        let mixed = Stratum { before: Arm::fixed((5, 5)), after: settled(4, 5) };
        let tails = stratified_exact(&[mixed]);
        assert!(tails.lower > 0.0 && tails.lower <= 1.0, "{tails:?}");
    }

    #[test]
    fn scores_are_drawn_from_those_of_both_sides() {
        // Of 20 choices of three values out of six, one has the three lowest.
        let tails = stratified_scores(&[(vec![0.9, 0.8, 0.7], vec![0.1, 0.2, 0.3])]);
        assert!((tails.lower - 0.05).abs() < 1e-12 && (tails.upper - 1.0).abs() < 1e-12);
        let yes = stratified_scores(&[(vec![1.0, 1.0, 1.0], vec![0.0, 0.0, 0.0])]);
        assert!((yes.lower - 0.05).abs() < 1e-12);
    }

    #[test]
    fn many_scores_are_close_to_normal() {
        let scores =
            |shift: f64| (0..3000_u32).map(|n| (f64::from(n % 50) / 100.0) + shift).collect();
        let same: (Vec<f64>, Vec<f64>) = (scores(0.2), scores(0.2));
        let tails = stratified_scores(std::slice::from_ref(&same));
        assert!(tails.lower > 0.4 && tails.upper > 0.4, "{tails:?}");
        let worse = stratified_scores(&[(scores(0.2), scores(0.18))]);
        assert!(worse.lower < 1e-4, "{worse:?}");
    }

    #[test]
    fn nothing_to_compare_is_no_evidence() {
        assert_eq!(stratified_exact(&[]), Tails::NOTHING);
        let passing = Stratum { before: Arm::fixed((3, 3)), after: Arm::fixed((2, 2)) };
        assert_eq!(stratified_exact(&[passing]), Tails::NOTHING);
        assert_eq!(stratified_scores(&[(vec![0.5], Vec::new())]), Tails::NOTHING);
    }
}
