//! How much runs of the same thing differ from each other beyond chance: the good and bad days of a model.
//!
//! On a bad day every example passes less often. A test that takes attempts for independent then raises an alarm although nothing
//! changed, the more surely the more attempts there are. How large such days are is seen in earlier runs: between two
//! successive ones the stratified statistic U has the variance `V` where only chance is at work, and `V + 2σ²V²` where every run shifts
//! the logarithm of the odds by a normal amount of standard deviation σ. Successive runs are used, rather than all against their
//! mean, so that one lasting change in the past counts once.

use crate::means::student_t_quantile;
use crate::special::{as_float, normal_quantile, student_t_tail};
use crate::stratified::Tails;

/// How many steps between earlier runs are needed to say anything.
const LEAST_STEPS: usize = 2;

/// Below this p-values are only known to be small.
const TOO_SMALL: f64 = 1e-15;

/// The variation between runs, estimated from steps between successive ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variation {
    /// σ²: the variance of a run's shift of the log odds; 0 where chance explains what was seen.
    pub log_odds_variance: f64,
    /// How many runs it was estimated from.
    pub runs: u64,
    /// What one step was worth on average: the variance by chance, and what was seen of it.
    chance: f64,
    seen: f64,
    degrees: f64,
}

impl Variation {
    /// From the statistics of successive earlier runs, oldest first. `None` with fewer than three runs, or where nothing in them varied.
    pub fn of_steps(steps: &[Tails]) -> Option<Self> {
        let steps: Vec<&Tails> = steps.iter().filter(|step| step.variance > 0.0).collect();
        if steps.len() < LEAST_STEPS {
            return None;
        }
        let count = as_float(steps.len() as u64);
        let sum = |value: fn(&Tails) -> f64| steps.iter().map(|step| value(step)).sum::<f64>();
        let beyond = sum(|step| step.excess * step.excess - step.variance);
        let weight = sum(|step| 2.0 * step.variance * step.variance);
        Some(Self {
            log_odds_variance: (beyond / weight).max(0.0),
            runs: steps.len() as u64 + 1,
            chance: sum(|step| step.variance) / count,
            seen: sum(|step| step.excess * step.excess) / count,
            degrees: step_degrees(steps.len()),
        })
    }

    /// By how much the variance of a statistic is larger than chance alone makes it, and the degrees of freedom of that.
    fn inflation(&self, variance: f64) -> Option<(f64, f64)> {
        if self.log_odds_variance <= 0.0 || variance <= 0.0 {
            return None;
        }
        let factor = 1.0 + 2.0 * self.log_odds_variance * variance;
        // Satterthwaite: only the part that was estimated is uncertain.
        let estimated = (variance / self.chance).powi(2) * self.seen;
        let degrees = self.degrees * (factor * variance / estimated).powi(2);
        Some((factor, degrees.max(self.degrees)))
    }

    /// A p-value with the variation between runs allowed for. `score` is the distance of the statistic from what is expected, in
    /// standard deviations; it takes over where the p-value is too small to be computed exactly.
    pub fn deflate(&self, p: f64, score: f64, variance: f64) -> f64 {
        match self.inflation(variance) {
            // What is likely by chance alone needs no further excuse.
            Some((factor, degrees)) if p < 0.2 => {
                let z = if p < TOO_SMALL { score.abs() } else { normal_quantile(p) };
                student_t_tail(z / factor.sqrt(), degrees).max(p)
            }
            _ => p,
        }
    }

    /// What the other examples say of the day of the run after: the mean and standard deviation of its shift of the log odds, by
    /// the excess and variance of their statistic (Peto's estimate, drawn towards no shift by what earlier runs have shown).
    /// `None` where runs do not vary.
    pub fn shift_of_day(&self, excess: f64, variance: f64) -> Option<(f64, f64)> {
        // Two runs have a day each.
        let prior = 2.0 * self.log_odds_variance;
        (prior > 0.0).then(|| {
            let precision = 1.0 / prior + variance.max(0.0);
            (excess / precision, precision.recip().sqrt())
        })
    }

    /// By how much a 95 % interval is wider with the variation between runs allowed for.
    pub fn widening(&self, variance: f64) -> f64 {
        self.inflation(variance).map_or(1.0, |(factor, degrees)| {
            factor.sqrt() * student_t_quantile(0.975, degrees) / crate::Z95
        })
    }
}

/// The mean of a function of a normal variable, by seven points (Gauss and Hermite).
pub fn normal_mean(mean: f64, deviation: f64, value: impl Fn(f64) -> f64) -> f64 {
    const POINTS: [(f64, f64); 4] = [
        (0.0, 16.0 / 35.0),
        (1.154_405_394_739_968_2, 0.240_123_178_605_012_7),
        (2.366_759_410_734_541, 0.030_757_123_967_586_49),
        (3.750_439_717_725_742, 0.000_548_268_855_972_217_6),
    ];
    let at = |z: f64| value(mean + z * deviation);
    let pairs = POINTS[1..].iter().map(|(z, weight)| weight * (at(*z) + at(-z)));
    POINTS[0].1 * at(0.0) + pairs.sum::<f64>()
}

/// The degrees of freedom of a variance estimated from successive differences, two of which share a run.
pub(crate) fn step_degrees(steps: usize) -> f64 {
    let steps = as_float(steps as u64);
    2.0 * steps * steps / (3.0 * steps - 1.0)
}

/// The spread of a single number per run (the logarithm of its mean duration or cost), from its steps between successive
/// earlier runs: how far two runs of the same thing lie apart at most, with 95 % confidence. `None` with fewer than three runs.
pub fn step_reach(steps: &[f64]) -> Option<f64> {
    if steps.len() < LEAST_STEPS {
        return None;
    }
    let mean_square =
        steps.iter().map(|step| step * step).sum::<f64>() / as_float(steps.len() as u64);
    Some(student_t_quantile(0.975, step_degrees(steps.len())) * mean_square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(excess: f64, variance: f64) -> Tails {
        Tails { lower: 0.5, upper: 0.5, excess, variance }
    }

    #[test]
    fn two_steps_are_the_least_and_chance_alone_changes_nothing() {
        assert_eq!(Variation::of_steps(&[step(3.0, 1.0)]), None);
        assert_eq!(Variation::of_steps(&[step(3.0, 0.0), step(1.0, 0.0)]), None);
        let calm = Variation::of_steps(&[step(1.0, 1.0), step(-0.9, 1.0), step(0.5, 1.0)]).unwrap();
        assert!(calm.log_odds_variance.abs() < 1e-12);
        assert!((calm.deflate(0.01, 2.3, 5.0) - 0.01).abs() < 1e-15);
        assert!((calm.widening(5.0) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn bad_days_in_the_past_excuse_one_today() {
        let days: Vec<Tails> = [8.0, -9.0, 7.0, -8.0, 9.0].map(|excess| step(excess, 4.0)).into();
        let variation = Variation::of_steps(&days).unwrap();
        assert!(variation.log_odds_variance > 1.0 && variation.runs == 6);
        assert!(variation.deflate(0.001, 3.1, 4.0) > 0.1);
        assert!((variation.deflate(0.9, -1.3, 4.0) - 0.9).abs() < 1e-12);
        assert!(variation.widening(4.0) > 3.0);
        assert!(variation.deflate(0.0, 20.0, 4.0) < variation.deflate(0.0, 10.0, 4.0));
    }

    #[test]
    fn with_steps_of_the_same_size_it_is_the_t_test_of_what_was_seen() {
        let days: Vec<Tails> = [6.0, -6.0, 6.0, -6.0].map(|excess| step(excess, 4.0)).into();
        let variation = Variation::of_steps(&days).unwrap();
        let p = variation.deflate(crate::normal_tail(6.0 / 2.0), 3.0, 4.0);
        assert!((p - student_t_tail(1.0, step_degrees(4))).abs() < 1e-9, "{p}");
    }

    #[test]
    fn the_day_is_known_from_the_other_examples_or_else_from_earlier_runs() {
        let days: Vec<Tails> = [8.0, -9.0, 7.0, -8.0, 9.0].map(|excess| step(excess, 4.0)).into();
        let variation = Variation::of_steps(&days).unwrap();
        let (mean, deviation) = variation.shift_of_day(-500.0, 1000.0).unwrap();
        assert!((mean + 0.5).abs() < 0.001 && (deviation - 0.0316).abs() < 0.001);
        let (mean, deviation) = variation.shift_of_day(0.0, 0.0).unwrap();
        assert!(mean.abs() < 1e-12);
        assert!((deviation.powi(2) - 2.0 * variation.log_odds_variance).abs() < 1e-9);
    }

    #[test]
    fn the_mean_of_a_polynomial_is_exact() {
        assert!((normal_mean(0.0, 1.0, |_| 1.0) - 1.0).abs() < 1e-12);
        assert!((normal_mean(1.0, 2.0, |x| x * x) - 5.0).abs() < 1e-12);
        assert!((normal_mean(0.0, 1.0, |x| x.powi(6)) - 15.0).abs() < 1e-10);
    }

    #[test]
    fn a_single_number_needs_three_runs() {
        assert_eq!(step_reach(&[0.1]), None);
        let reach = step_reach(&[0.1, -0.1, 0.1, -0.1]).unwrap();
        assert!(reach > 0.2 && reach < 0.5, "{reach}");
    }
}
