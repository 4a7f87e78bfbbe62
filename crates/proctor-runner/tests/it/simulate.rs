//! Simulated runs of `--repeat auto` against a baseline, and of as many repetitions for everybody.

use proctor_runner::{PastOutcome, RepeatPlanner, Repetition, SampledExample};

/// A small generator with a fixed seed, so that a simulation says the same every time.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number between 0 and 1.
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 random bits")]
        let drawn = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        drawn
    }

    pub(crate) fn hits(&mut self, rate: f64) -> bool {
        self.number() < rate
    }
}

/// What is simulated.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// The pass rates of the examples before and now.
    pub(crate) rates: Vec<(f64, f64)>,
    /// How often the baseline ran each example.
    pub(crate) baseline_repeats: u32,
    /// A pass rate at which the baseline stopped repeating an example as soon as the rest could not change whether it is reached.
    pub(crate) baseline_settles: Option<f64>,
    pub(crate) limit: u32,
    pub(crate) workers: u32,
}

impl Setting {
    /// Twenty examples, of which the first `changed` go from one rate to another.
    pub(crate) fn twenty(changed: usize, from: f64, to: f64) -> Self {
        let rates = (0..20).map(|place| (from, if place < changed { to } else { from }));
        Self {
            rates: rates.collect(),
            baseline_repeats: 20,
            baseline_settles: None,
            limit: 20,
            workers: 64,
        }
    }
}

/// What a number of simulated runs came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) runs: u32,
    /// Repetitions that were made.
    pub(crate) repetitions: u64,
    /// Rounds that were made.
    pub(crate) rounds: u64,
    /// Runs in which the suite or an example was called worse.
    pub(crate) alarms: u32,
    /// Runs in which an example was called worse.
    pub(crate) examples_named: u32,
    /// Runs of a fixed number of repetitions in which the exact stratified test called the suite worse.
    pub(crate) fixed_alarms: u32,
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "counts of a simulation")]
    pub(crate) fn per_run(&self, count: u64) -> f64 {
        count as f64 / f64::from(self.runs)
    }
}

pub(crate) fn simulate(setting: &Setting, runs: u32, seed: u64) -> Outcome {
    let mut random = Random::new(seed);
    let mut outcome = Outcome { runs, ..Outcome::default() };
    for _ in 0..runs {
        let baseline: Vec<Vec<bool>> = setting
            .rates
            .iter()
            .map(|(before, _)| draw(*before, setting.baseline_repeats, &mut random))
            .map(|outcomes| match setting.baseline_settles {
                Some(rate) => settled(&outcomes, rate),
                None => outcomes,
            })
            .collect();
        let now: Vec<Vec<bool>> =
            setting.rates.iter().map(|(_, now)| draw(*now, setting.limit, &mut random)).collect();
        play(setting, &baseline, &now, &mut outcome);
        outcome.fixed_alarms += u32::from(stratified_p(&baseline, &now) <= 0.025);
    }
    outcome
}

/// The part of a sequence that is made where a pass rate settles it early.
fn settled(outcomes: &[bool], rate: f64) -> Vec<bool> {
    let enough = |passes: usize| {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let reached = passes as f64 >= rate * outcomes.len() as f64 - 1e-9;
        reached
    };
    let is_settled = |made: usize| {
        let passes = outcomes[..made].iter().filter(|passed| **passed).count();
        enough(passes) || !enough(passes + outcomes.len() - made)
    };
    let made = (1..=outcomes.len()).find(|made| is_settled(*made)).unwrap_or(outcomes.len());
    outcomes[..made].to_vec()
}

fn draw(rate: f64, count: u32, random: &mut Random) -> Vec<bool> {
    (0..count).map(|_| random.hits(rate)).collect()
}

fn play(setting: &Setting, baseline: &[Vec<bool>], now: &[Vec<bool>], outcome: &mut Outcome) {
    let sampled = baseline.iter().map(|outcomes| SampledExample {
        baseline: outcomes
            .iter()
            .map(|passed| PastOutcome { passed: *passed, may_vary: true })
            .collect(),
        ..SampledExample::default()
    });
    let mut planner = RepeatPlanner::new(setting.limit, sampled.collect());
    loop {
        let round = planner.next_round(setting.workers);
        if round.is_empty() {
            break;
        }
        outcome.rounds += 1;
        outcome.repetitions += round.len() as u64;
        for (example, repeat) in round {
            let passed = now[example][repeat as usize - 1];
            planner.record(example, repeat, Repetition::Counts(passed));
        }
    }
    let report = planner.report();
    let suite = report.suite.is_some_and(|suite| suite.is_worse);
    outcome.alarms += u32::from(suite || !report.worse.is_empty());
    outcome.examples_named += u32::from(!report.worse.is_empty());
}

/// The exact stratified test (Zelen): how likely so few passes are now, given the passes of both sides of each example.
fn stratified_p(before: &[Vec<bool>], now: &[Vec<bool>]) -> f64 {
    let mut sums = vec![1.0];
    let mut observed = 0;
    for (before, now) in before.iter().zip(now) {
        let passes = |outcomes: &[bool]| outcomes.iter().filter(|passed| **passed).count();
        observed += passes(now);
        let one = hypergeometric(now.len(), before.len(), passes(now) + passes(before));
        let mut next = vec![0.0; sums.len() + one.len()];
        for (sum, chance) in sums.iter().enumerate() {
            for (count, part) in one.iter().enumerate() {
                next[sum + count] += chance * part;
            }
        }
        sums = next;
    }
    sums.iter().take(observed + 1).sum()
}

/// The chances of 0, 1, 2, … of `hits` falling among the first `first` of `first + second`.
fn hypergeometric(first: usize, second: usize, hits: usize) -> Vec<f64> {
    let weights: Vec<f64> =
        (0..=first)
            .map(|count| {
                if count > hits { 0.0 } else { choose(first, count) * choose(second, hits - count) }
            })
            .collect();
    let all: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / all).collect()
}

fn choose(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    (0..k).map(|step| (n - step) as f64 / (step + 1) as f64).product()
}
