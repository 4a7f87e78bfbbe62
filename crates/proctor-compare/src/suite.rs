//! The suite as a whole: the exact stratified test over examples, mean rates with their interval, pass^k.
//!
//! | | verdict |
//! |---|---|
//! | p of «worse» at or below its level | regression |
//! | p of «better» at or below its level | improvement |
//! | a margin is given and the interval lies above it | unchanged |
//! | a margin is given and the interval does not | cannot tell |
//! | passes less often than before | cannot tell |
//! | else | no change seen |
//!
//! Where a run decided on its repetitions as it went, the test is the e-value of pairs of attempts, which holds whenever one stops.

use proctor_stats::{
    Difference, Interval, SideMean, Stratum, Tails, Z95, discordant_e_value, mean, mean_difference,
    pass_hat_k, repeats_to_show, stratified_exact,
};

use crate::assess::Direction;
use crate::earlier_runs::RunVariation;
use crate::model::{Assessment, Change, Rules, SuiteChange, SuiteTest};
use crate::pair::Pair;
use crate::side::ExampleResults;

/// What the tests of a suite need to know of one pair.
pub(crate) struct SuitePair<'a> {
    pub(crate) pair: &'a Pair<'a>,
    /// Whether one attempt on each side is certain.
    pub(crate) deterministic: bool,
}

/// Both tails, with the variation between runs allowed for.
struct SuiteTestResult {
    test: SuiteTest,
    worse: f64,
    better: f64,
    excess: f64,
    variance: f64,
}

pub(crate) fn change(
    examples: &[SuitePair<'_>],
    adaptive: bool,
    run_variation: &RunVariation,
    rules: &Rules,
) -> SuiteChange {
    let tested = if adaptive { by_pairs(examples) } else { by_strata(examples) };
    let p_worse = run_variation.deflate(tested.worse, tested.excess, tested.variance);
    let p_better = run_variation.deflate(tested.better, tested.excess, tested.variance);
    let change = difference(examples, run_variation.widening(tested.variance)).map(|change| {
        let (worse, better) = (p_worse <= rules.level_suite, p_better <= rules.level_better);
        Change::from(change).agreeing(worse, better)
    });
    let verdict = verdict(p_worse, p_better, change.as_ref(), rules);
    let directions = |wanted| {
        let counted = examples.iter().filter(|one| Direction::of(one.pair) == wanted);
        counted.count() as u64
    };
    let average = |side: for<'a> fn(&'a Pair<'a>) -> &'a ExampleResults| {
        mean(examples.iter().filter_map(|one| side(one.pair).arm().rate()))
    };
    let fewest = |one: &SuitePair<'_>| one.pair.before.tally().1.min(one.pair.after.tally().1);
    let k = examples.iter().map(fewest).min().unwrap_or(0);
    let all_of_k = |side: for<'a> fn(&'a Pair<'a>) -> &'a ExampleResults| {
        let chance = |one: &SuitePair<'_>| {
            let (passed, attempts) = side(one.pair).tally();
            pass_hat_k(attempts, passed, k)
        };
        mean(examples.iter().filter_map(chance))
    };
    SuiteChange {
        verdict,
        test: tested.test,
        paired: examples.len() as u64,
        deterministic: examples.iter().filter(|one| one.deterministic).count() as u64,
        worse: directions(Direction::Worse),
        better: directions(Direction::Better),
        p_worse,
        p_better,
        rate_before: average(|pair| pair.before),
        rate_after: average(|pair| pair.after),
        change,
        earlier_runs: run_variation.rates.map(|rates| rates.runs),
        runs_vary: run_variation.runs_vary(),
        repeats_to_tell: (verdict == Assessment::CannotTell)
            .then(|| advice(examples, rules))
            .flatten(),
        k,
        pass_hat_k_before: all_of_k(|pair| pair.before),
        pass_hat_k_after: all_of_k(|pair| pair.after),
    }
}

fn by_strata(examples: &[SuitePair<'_>]) -> SuiteTestResult {
    let strata: Vec<Stratum> = examples
        .iter()
        .map(|one| Stratum { before: one.pair.before.arm(), after: one.pair.after.arm() })
        .collect();
    let Tails { lower, upper, excess, variance } = stratified_exact(&strata);
    SuiteTestResult { test: SuiteTest::Stratified, worse: lower, better: upper, excess, variance }
}

fn by_pairs(examples: &[SuitePair<'_>]) -> SuiteTestResult {
    let (mut worse, mut better) = (0, 0);
    for one in examples {
        let pairs = discordant_attempts(one.pair);
        worse += pairs.0;
        better += pairs.1;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
    let (down, up) = (worse as f64, better as f64);
    SuiteTestResult {
        test: SuiteTest::Pairs,
        worse: p_of_e(discordant_e_value(worse, better)),
        better: p_of_e(discordant_e_value(better, worse)),
        excess: (up - down) / 2.0,
        variance: (up + down) / 4.0,
    }
}

/// The j-th attempts of both sides, where they differ: how many went from pass to fail, and from fail to pass.
pub(crate) fn discordant_attempts(pair: &Pair<'_>) -> (u64, u64) {
    let both = || pair.before.trials.iter().zip(&pair.after.trials);
    let count = |passed: bool| {
        both().filter(|(old, new)| old.passed == passed && new.passed != passed).count() as u64
    };
    (count(true), count(false))
}

/// An e-value is at least as good as a p-value of its reciprocal.
pub(crate) fn p_of_e(e: f64) -> f64 {
    (1.0 / e).min(1.0)
}

/// The mean difference of the rates. Deterministic examples are known exactly and add nothing to its width.
fn difference(examples: &[SuitePair<'_>], widening: f64) -> Option<Difference> {
    let side = |sample: &ExampleResults| {
        let arm = sample.arm();
        Some(SideMean { mean: arm.rate()?, count: arm.attempts, stop: arm.stop })
    };
    let sides = |one: &SuitePair<'_>| Some((side(one.pair.before)?, side(one.pair.after)?));
    let (certain, open): (Vec<&SuitePair<'_>>, Vec<&SuitePair<'_>>) =
        examples.iter().partition(|one| one.deterministic);
    let certain: Vec<(SideMean, SideMean)> = certain.into_iter().filter_map(sides).collect();
    let open: Vec<(SideMean, SideMean)> = open.into_iter().filter_map(sides).collect();
    #[expect(clippy::cast_precision_loss, reason = "counts of examples are far below 2^53")]
    let (known, all) = (certain.len() as f64, (certain.len() + open.len()) as f64);
    if all <= 0.0 {
        return None;
    }
    let sum: f64 = certain.iter().map(|(before, after)| after.mean - before.mean).sum();
    let nothing = Difference { estimate: 0.0, interval: Interval { low: 0.0, high: 0.0 } };
    let varying = mean_difference(&open, Z95).unwrap_or(nothing);
    let place = |value: f64| {
        let wide = varying.estimate + (value - varying.estimate) * widening;
        (sum + wide.clamp(-1.0, 1.0) * (all - known)) / all
    };
    Some(Difference {
        estimate: (sum + varying.estimate * (all - known)) / all,
        interval: Interval { low: place(varying.interval.low), high: place(varying.interval.high) },
    })
}

fn verdict(p_worse: f64, p_better: f64, change: Option<&Change>, rules: &Rules) -> Assessment {
    let Some(change) = change else { return Assessment::NotComparable };
    if p_worse <= rules.level_suite && change.estimate < 0.0 {
        return Assessment::Regression;
    }
    if p_better <= rules.level_better && change.estimate > 0.0 {
        return Assessment::Improvement;
    }
    let low = change.range.map_or(change.estimate, |range| range.low);
    match rules.margin {
        Some(margin) if low > -margin => Assessment::Unchanged,
        Some(_) => Assessment::CannotTell,
        None if change.estimate < -1e-12 => Assessment::CannotTell,
        None => Assessment::NoChangeSeen,
    }
}

/// How many repeats of every example would show a drop like this one with 80 % power.
fn advice(examples: &[SuitePair<'_>], rules: &Rules) -> Option<u64> {
    let total = |side: for<'a> fn(&'a Pair<'a>) -> &'a ExampleResults| {
        let tallies = examples.iter().filter(|one| !one.deterministic);
        tallies
            .map(|one| side(one.pair).tally())
            .fold((0, 0), |sum, tally| (sum.0 + tally.0, sum.1 + tally.1))
    };
    let (before, after) = (total(|pair| pair.before), total(|pair| pair.after));
    let open = examples.iter().filter(|one| !one.deterministic).count() as u64;
    let attempts = repeats_to_show(shrunken_rate(before), shrunken_rate(after), rules.level_suite)?;
    Some(attempts.div_ceil(open.max(1)))
}

/// A rate from few attempts, drawn towards one half (Jeffreys).
pub(crate) fn shrunken_rate((passed, attempts): (u64, u64)) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
    let (passed, attempts) = (passed as f64, attempts as f64);
    (passed + 0.5) / (attempts + 1.0)
}
