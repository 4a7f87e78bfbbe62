//! What earlier runs have shown: of each example, and of how much runs differ from each other.
//!
//! The history passes it in; here it is turned into the variation between runs that the tests allow for.

use std::collections::BTreeMap;

use proctor_stats::{Arm, Stratum, Tails, Variation, normal_mean, step_reach, stratified_exact};
use serde::{Deserialize, Serialize};

use crate::pair::Pair;

/// What earlier runs have shown. Empty where there is no history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EarlierRuns {
    /// By stable id; examples that were moved keep their past under the id they have now.
    pub records: BTreeMap<String, ExampleHistory>,
    /// The newest earlier runs with the same configuration, oldest first.
    pub runs: Vec<EarlierRun>,
}

/// What earlier runs have shown of an example.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleHistory {
    /// Attempts that counted.
    pub attempts: u64,
    /// How many of them passed.
    pub passed: u64,
    /// Attempts in a row that passed, before those in a row that failed most recently, if any did. A failure that is
    /// not fixed yet does not shorten it.
    pub passed_in_a_row: Streak,
    /// The same with passed and failed exchanged.
    pub failed_in_a_row: Streak,
    /// How it is known that both outcomes occur although nothing changed; absent where it is not known.
    pub flaky: Option<String>,
}

/// Attempts in a row with one outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streak {
    /// How many attempts.
    pub attempts: u64,
    /// In how many runs.
    pub runs: u64,
}

/// One earlier run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EarlierRun {
    /// Its examples by stable id, as [`EarlierRuns::records`] has them.
    pub examples: BTreeMap<String, EarlierResult>,
}

/// One example in an earlier run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EarlierResult {
    /// Attempts that passed.
    pub passed: u64,
    /// Attempts that counted.
    pub attempts: u64,
    /// The mean duration of an attempt, in milliseconds.
    pub duration_ms: Option<f64>,
    /// What its model calls cost, in US dollars, on average for an attempt.
    pub cost_usd: Option<f64>,
}

/// How much earlier runs differ from each other, over the examples that are compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunVariation {
    /// Of pass rates.
    pub(crate) rates: Option<Variation>,
    /// How far the logarithm of durations lies apart at most.
    pub(crate) duration: Option<f64>,
    /// The same of costs.
    pub(crate) cost: Option<f64>,
}

impl RunVariation {
    /// A p-value with the variation between runs allowed for.
    pub(crate) fn deflate(&self, p: f64, excess: f64, variance: f64) -> f64 {
        let score = if variance > 0.0 { excess / variance.sqrt() } else { 0.0 };
        self.rates.map_or(p, |rates| rates.deflate(p, score, variance))
    }

    /// By how much an interval is wider with the variation between runs allowed for.
    pub(crate) fn widening(&self, variance: f64) -> f64 {
        self.rates.map_or(1.0, |rates| rates.widening(variance))
    }

    /// A p-value as a function of the day's shift of the log odds, over what the other examples leave possible for it. A good day
    /// excuses nothing, and a bad one is no regression.
    pub(crate) fn over_days(
        &self,
        others: (f64, f64),
        excused: impl Fn(f64) -> f64,
        p: impl Fn(f64) -> f64,
    ) -> f64 {
        match self.rates.and_then(|rates| rates.shift_of_day(others.0, others.1)) {
            Some((mean, deviation)) => {
                normal_mean(mean, deviation, |shift| p(excused(shift))).min(1.0)
            }
            None => p(0.0),
        }
    }

    /// Whether runs differ more than chance makes them.
    pub(crate) fn runs_vary(&self) -> bool {
        self.rates.is_some_and(|rates| rates.log_odds_variance > 0.0)
    }
}

impl EarlierRuns {
    /// What is known of an example that may have had another id.
    pub(crate) fn record(&self, pair: &Pair<'_>) -> Option<&ExampleHistory> {
        self.records.get(&pair.after.id).or_else(|| self.records.get(&pair.before.id))
    }

    /// The variation between earlier runs, over the paired examples.
    pub(crate) fn run_variation(&self, pairs: &[Pair<'_>]) -> RunVariation {
        let steps: Vec<RunDifference> =
            self.runs.windows(2).map(|runs| RunDifference::of(pairs, &runs[0], &runs[1])).collect();
        let rates: Vec<Tails> = steps.iter().map(|step| step.rates).collect();
        let reach = |value: fn(&RunDifference) -> Option<f64>| {
            step_reach(&steps.iter().filter_map(value).collect::<Vec<_>>())
        };
        RunVariation {
            rates: Variation::of_steps(&rates),
            duration: reach(|step| step.duration),
            cost: reach(|step| step.cost),
        }
    }
}

/// The difference between two successive earlier runs.
struct RunDifference {
    rates: Tails,
    /// The mean logarithm of the ratio.
    duration: Option<f64>,
    cost: Option<f64>,
}

impl RunDifference {
    fn of(pairs: &[Pair<'_>], older: &EarlierRun, newer: &EarlierRun) -> Self {
        let both: Vec<(&EarlierResult, &EarlierResult)> = pairs
            .iter()
            .filter_map(|pair| {
                Some((older.examples.get(&pair.after.id)?, newer.examples.get(&pair.after.id)?))
            })
            .collect();
        let arm = |sample: &EarlierResult| Arm::fixed((sample.passed, sample.attempts));
        let strata: Vec<Stratum> = both
            .iter()
            .map(|(older, newer)| Stratum { before: arm(older), after: arm(newer) })
            .collect();
        let ratio = |value: fn(&EarlierResult) -> Option<f64>| {
            let ratios = both.iter().filter_map(|(old, new)| Some((value(old)?, value(new)?)));
            proctor_stats::ratio_interval(&ratios.collect::<Vec<_>>(), 0.95)
                .map(|ratio| ratio.ratio.ln())
        };
        Self {
            rates: stratified_exact(&strata),
            duration: ratio(|sample| sample.duration_ms),
            cost: ratio(|sample| sample.cost_usd),
        }
    }
}
