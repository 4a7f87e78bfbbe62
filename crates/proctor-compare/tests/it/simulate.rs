//! Simulated runs: examples with known pass rates, tried so and so often.

use std::collections::BTreeMap;

use proctor_compare::{Comparison, Record, Rules, Sample, Side, Trial, Verdict, compare};

/// A small generator, so that the figures are the same everywhere (`SplitMix64`).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        f64::from(u32::try_from(mixed >> 32).unwrap()) / f64::from(u32::MAX)
    }

    pub(crate) fn passes(&mut self, rate: f64) -> bool {
        self.number() < rate
    }
}

/// What is simulated.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) examples: u32,
    pub(crate) repeats: u32,
    pub(crate) comparisons: u32,
    /// How many attempts each example has on record before.
    pub(crate) history: u64,
}

/// How often nothing had changed and something was said to have.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    pub(crate) comparisons: u32,
    /// Comparisons that a gate would have stopped.
    pub(crate) gated: u32,
    /// Comparisons with any regression or improvement, of an example or the suite.
    pub(crate) any: u32,
    /// Comparisons in which the suite was said to have changed.
    pub(crate) suite: u32,
    pub(crate) examples: u64,
    /// Examples said to have regressed or improved.
    pub(crate) false_examples: u64,
}

impl Alarms {
    pub(crate) fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.comparisons)
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of a simulation")]
    pub(crate) fn example_share(&self) -> f64 {
        self.false_examples as f64 / self.examples as f64
    }

    fn note(&mut self, comparison: &Comparison) {
        let changed = comparison.counts.regressions + comparison.counts.improvements;
        let suite = matches!(comparison.suite.verdict, Verdict::Regression | Verdict::Improvement);
        self.comparisons += 1;
        self.gated += u32::from(comparison.regressed());
        self.any += u32::from(changed > 0 || suite);
        self.suite += u32::from(suite);
        self.examples += comparison.counts.paired;
        self.false_examples += changed;
    }
}

/// Compares runs between which nothing changed.
pub(crate) fn same_against_same(
    plan: Plan,
    rate: impl Fn(&mut Random) -> f64,
    seed: u64,
) -> Alarms {
    let mut random = Random(seed);
    let mut alarms = Alarms::default();
    for _ in 0..plan.comparisons {
        let rates: Vec<f64> = (0..plan.examples).map(|_| rate(&mut random)).collect();
        let history = rates.iter().zip(0..).filter_map(|(rate, number)| {
            record(plan.history, *rate, &mut random).map(|record| (id(number), record))
        });
        let history: BTreeMap<String, Record> = history.collect();
        let before = side(&rates, plan.repeats, &mut random);
        let after = side(&rates, plan.repeats, &mut random);
        alarms.note(&compare(&before, &after, &history, &Rules::default()));
    }
    alarms
}

fn id(number: u32) -> String {
    format!("example {number}")
}

fn side(rates: &[f64], repeats: u32, random: &mut Random) -> Side {
    let example = |(number, rate): (u32, &f64)| {
        let trials: Vec<Trial> = (0..repeats)
            .map(|_| Trial { passed: random.passes(*rate), model: true, ..Trial::default() })
            .collect();
        let passed = trials.iter().filter(|trial| trial.passed).count();
        Sample {
            id: id(number),
            mixed: passed > 0 && passed < trials.len(),
            trials,
            ..Sample::default()
        }
    };
    Side { complete: true, examples: (0..).zip(rates).map(example).collect(), ..Side::default() }
}

/// One attempt per earlier run, each on a commit of its own, so that only an even record says anything.
fn record(attempts: u64, rate: f64, random: &mut Random) -> Option<Record> {
    let outcomes: Vec<bool> = (0..attempts).map(|_| random.passes(rate)).collect();
    let newest = *outcomes.last()?;
    let streak = outcomes.iter().rev().take_while(|passed| **passed == newest).count() as u64;
    let passed = outcomes.iter().filter(|passed| **passed).count() as u64;
    Some(Record { attempts, passed, streak, newest_passed: newest, flaky: false })
}

/// A suite as people have it: much that is steady, some that wavers, some that is broken.
pub(crate) fn mixed_rates(random: &mut Random) -> f64 {
    let draw = random.number();
    match draw {
        _ if draw < 0.4 => 1.0,
        _ if draw < 0.6 => 0.95,
        _ if draw < 0.75 => 0.8,
        _ if draw < 0.9 => 0.5,
        _ if draw < 0.95 => 0.2,
        _ => 0.0,
    }
}
