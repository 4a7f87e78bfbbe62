//! Simulated runs: examples with known pass rates, days that are good or bad, repeats that are equal or not, rates that settle early.
//!
//! Shared by the tests and by `bench/compare`. Every figure follows from its seed.

use std::collections::BTreeMap;

use proctor_compare::{
    Assessment, Comparison, CountedAttempt, EarlierResult, EarlierRun, EarlierRuns, ExampleHistory,
    ExampleResults, Gate, GateDecision, GateRules, Rules, Side, Streak, compare,
};
use proctor_stats::{Stratum, stratified_exact};

/// A small generator, so that the figures are the same everywhere (`SplitMix64`).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        f64::from(u32::try_from(mixed >> 32).unwrap()) / (f64::from(u32::MAX) + 1.0)
    }

    fn passes(&mut self, rate: f64) -> bool {
        self.number() < rate
    }

    /// A standard normal number (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.number().max(1e-12), self.number());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// How the true rates of the examples are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rates {
    /// All the same.
    All(f64),
    /// Around one, with a spread of 1 in the logarithm of the odds.
    Around(f64),
    /// As people have them: much that is steady, some that wavers, some that is broken.
    Mixed,
}

/// How many repeats each example has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Repeats {
    /// All the same.
    All(u32),
    /// One for every second example, and so many for the others.
    OneOr(u32),
    /// Few for the examples that waver, so many for those that are steady.
    FewWhereItWavers(u32),
}

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) examples: u32,
    pub(crate) before: Repeats,
    pub(crate) after: Repeats,
    pub(crate) rates: Rates,
    /// By how much every rate falls.
    pub(crate) drop: f64,
    /// The standard deviation of a day's shift of the log odds.
    pub(crate) bad_days: f64,
    /// How many earlier runs there are, the one compared with included.
    pub(crate) earlier_runs: u32,
    /// The pass rate that ends an example early: before, after.
    pub(crate) settles: (Option<f64>, Option<f64>),
    /// Attempts that are made again after a failure, at most.
    pub(crate) retries: u32,
    pub(crate) margin: Option<f64>,
}

impl Setting {
    pub(crate) fn new(examples: u32, repeats: u32, rates: Rates) -> Self {
        Self {
            examples,
            before: Repeats::All(repeats),
            after: Repeats::All(repeats),
            rates,
            drop: 0.0,
            bad_days: 0.0,
            earlier_runs: 0,
            settles: (None, None),
            retries: 0,
            margin: None,
        }
    }
}

/// What many comparisons of one setting came to.
#[derive(Debug, Default, Clone)]
pub(crate) struct Outcomes {
    pub(crate) comparisons: u32,
    /// By exit code of the gate.
    pub(crate) codes: [u32; 4],
    /// Comparisons that claim any change, of an example or of the suite, in either direction.
    pub(crate) claims: u32,
    /// Comparisons in which the suite was said to be unchanged.
    pub(crate) unchanged: u32,
    /// Comparisons whose interval holds the true difference.
    pub(crate) covered: u32,
    /// Comparisons that the bare exact stratified test stops at 2.5 %.
    pub(crate) stratified: u32,
    /// Intervals that leave what is possible, or contradict the verdict.
    pub(crate) contradictions: u32,
}

impl Outcomes {
    pub(crate) fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.comparisons)
    }

    pub(crate) fn stops(&self) -> f64 {
        self.share(self.codes[1])
    }

    fn note(&mut self, comparison: &Comparison, truth: f64, before: &Side, after: &Side) {
        let suite = &comparison.suite;
        let changed = |verdict| matches!(verdict, Assessment::Regression | Assessment::Improvement);
        self.comparisons += 1;
        let gate = Gate::of(comparison, &GateRules::default());
        assert_ne!(gate.decision, GateDecision::NotComparable, "{gate:?}");
        self.codes[usize::from(gate.exit_code)] += 1;
        let counts = &comparison.counts;
        let any = counts.regressions + counts.improvements > 0 || changed(suite.verdict);
        self.claims += u32::from(any);
        self.unchanged += u32::from(suite.verdict == Assessment::Unchanged);
        let range = suite.change.unwrap().range.unwrap();
        self.covered += u32::from(range.low <= truth + 1e-9 && truth - 1e-9 <= range.high);
        let possible = range.low >= -1.0 && range.high <= 1.0 && range.low <= range.high;
        let agrees = match suite.verdict {
            Assessment::Regression => range.high <= 0.0,
            Assessment::Improvement => range.low >= 0.0,
            _ => range.low <= 0.0,
        };
        self.contradictions += u32::from(!possible || !agrees);
        let strata: Vec<Stratum> = before
            .examples
            .iter()
            .zip(&after.examples)
            .map(|(old, new)| Stratum {
                before: proctor_stats::Arm::fixed(old.tally()),
                after: proctor_stats::Arm::fixed(new.tally()),
            })
            .collect();
        self.stratified += u32::from(stratified_exact(&strata).lower <= 0.025);
    }

    fn add(&mut self, other: &Self) {
        self.comparisons += other.comparisons;
        for (sum, more) in self.codes.iter_mut().zip(other.codes) {
            *sum += more;
        }
        self.claims += other.claims;
        self.unchanged += other.unchanged;
        self.covered += other.covered;
        self.stratified += other.stratified;
        self.contradictions += other.contradictions;
    }
}

/// Makes so many comparisons, on two threads.
pub(crate) fn simulate(setting: Setting, comparisons: u32, seed: u64) -> Outcomes {
    let half = |seed: u64, count: u32| {
        move || {
            let mut random = Random(seed);
            let mut outcomes = Outcomes::default();
            for _ in 0..count {
                once(setting, &mut random, &mut outcomes);
            }
            outcomes
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(half(seed ^ 0x5555, comparisons / 2));
        let mut all = half(seed, comparisons - comparisons / 2)();
        all.add(&other.join().unwrap());
        all
    })
}

fn once(setting: Setting, random: &mut Random, outcomes: &mut Outcomes) {
    let rates: Vec<f64> = (0..setting.examples).map(|_| rate(setting.rates, random)).collect();
    let lower: Vec<f64> = rates.iter().map(|rate| (rate - setting.drop).max(0.0)).collect();
    let (rule_before, rule_after) = setting.settles;
    let earlier: Vec<Side> = (1..setting.earlier_runs.max(1))
        .map(|_| side(&rates, setting.before, rule_before, setting, random))
        .collect();
    let before = side(&rates, setting.before, rule_before, setting, random);
    let after = side(&lower, setting.after, rule_after, setting, random);
    let past = past(earlier.iter().chain([&before]), setting.earlier_runs > 0);
    let rules = Rules { margin: setting.margin, ..Rules::default() };
    let truth: f64 = rates
        .iter()
        .zip(&lower)
        .map(|(old, new)| long_run(*new, setting) - long_run(*old, setting))
        .sum::<f64>()
        / f64::from(setting.examples);
    outcomes.note(&compare(&before, &after, &past, &rules), truth, &before, &after);
}

fn rate(rates: Rates, random: &mut Random) -> f64 {
    match rates {
        Rates::All(rate) => rate,
        Rates::Around(rate) => shifted(rate, random.normal()),
        Rates::Mixed => mixed_rate(random),
    }
}

fn mixed_rate(random: &mut Random) -> f64 {
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

/// A rate with the logarithm of its odds shifted.
fn shifted(rate: f64, by: f64) -> f64 {
    if rate <= 0.0 || rate >= 1.0 {
        return rate;
    }
    1.0 / (1.0 + ((1.0 - rate) / rate) * (-by).exp())
}

/// The mean rate over many days, with retries.
fn long_run(rate: f64, setting: Setting) -> f64 {
    let retried = |rate: f64| 1.0 - (1.0 - rate).powi(i32::try_from(setting.retries).unwrap() + 1);
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in -20..=20 {
        let z = f64::from(step) / 5.0;
        let weight = (-0.5 * z * z).exp();
        sum += weight * retried(shifted(rate, z * setting.bad_days));
        weights += weight;
    }
    sum / weights
}

fn repeats(repeats: Repeats, number: u32, rate: f64) -> u32 {
    match repeats {
        Repeats::All(count) => count,
        Repeats::OneOr(count) => {
            if number.is_multiple_of(2) {
                1
            } else {
                count
            }
        }
        Repeats::FewWhereItWavers(count) => {
            if (0.1..0.9).contains(&rate) {
                1
            } else {
                count
            }
        }
    }
}

fn side(
    rates: &[f64],
    wanted: Repeats,
    pass_rate: Option<f64>,
    setting: Setting,
    random: &mut Random,
) -> Side {
    let day = setting.bad_days * random.normal();
    let example = |(number, rate): (u32, &f64)| {
        let planned = repeats(wanted, number, *rate);
        let today = shifted(*rate, day);
        let mut sample = ExampleResults {
            id: number.to_string(),
            pass_rate,
            planned: Some(planned).filter(|planned| *planned > 1),
            ..ExampleResults::default()
        };
        for _ in 0..planned {
            let tries = (0..=setting.retries).position(|_| random.passes(today));
            sample.trials.push(CountedAttempt {
                passed: tries.is_some(),
                model: true,
                ..CountedAttempt::default()
            });
            sample.mixed |= tries.is_some_and(|tries| tries > 0);
            if settled(&sample, planned) {
                break;
            }
        }
        let (passed, attempts) = sample.tally();
        sample.mixed |= passed > 0 && passed < attempts;
        sample
    };
    Side { complete: true, examples: (0..).zip(rates).map(example).collect(), ..Side::default() }
}

/// Whether the rest of the repeats cannot change whether the rate is reached.
fn settled(sample: &ExampleResults, planned: u32) -> bool {
    let Some(rate) = sample.pass_rate else { return false };
    let (passed, attempts) = sample.tally();
    let needed = (0..=u64::from(planned))
        .find(|count| f64::from(u32::try_from(*count).unwrap()) >= rate * f64::from(planned) - 1e-9)
        .unwrap();
    passed >= needed || attempts - passed > u64::from(planned) - needed
}

fn past<'a>(sides: impl Iterator<Item = &'a Side>, any: bool) -> EarlierRuns {
    let mut past = EarlierRuns::default();
    for side in sides.filter(|_| any) {
        let sample = |sample: &ExampleResults| {
            let (passed, attempts) = sample.tally();
            (sample.id.clone(), EarlierResult { passed, attempts, ..EarlierResult::default() })
        };
        past.runs.push(EarlierRun { examples: side.examples.iter().map(sample).collect() });
        for sample in &side.examples {
            note(&mut past.records, sample);
        }
    }
    past
}

/// Each run is on a commit of its own, so that only alternations show that an example is flaky.
fn note(records: &mut BTreeMap<String, ExampleHistory>, sample: &ExampleResults) {
    let record = records.entry(sample.id.clone()).or_default();
    let (passed, attempts) = sample.tally();
    record.attempts += attempts;
    record.passed += passed;
    let extend = |streak: &mut Streak| {
        streak.attempts += attempts;
        streak.runs += 1;
    };
    if sample.mixed {
        record.flaky = Some("in a run".to_owned());
    } else if passed == attempts {
        extend(&mut record.passed_in_a_row);
        record.failed_in_a_row = Streak::default();
    } else {
        extend(&mut record.failed_in_a_row);
        record.passed_in_a_row = Streak::default();
    }
}
