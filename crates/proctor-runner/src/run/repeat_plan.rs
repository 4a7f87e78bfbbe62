//! Which examples get another repetition (`--repeat auto`). Pure.
//!
//! Repetitions are planned in rounds, and a round is planned only when everything of the round before has ended. Two questions may be open
//! about an example: whether it reaches the pass rate it demands of itself, and whether it got worse than in a baseline.
//!
//! | question | state | when | another repetition |
//! |---|---|---|---|
//! | pass rate | reached, missed | an e-value of at least 20 says so | no |
//! | | open | an e-value may still say so within the limit, or the share may still cross the rate | yes |
//! | | undecided | neither | no |
//! | baseline | worse | chosen by e-BH at 1.5 % among the examples that may vary | no |
//! | | fixed | no model takes part: the first pair agrees, or three agree in being worse or better, or it is flaky | no |
//! | | used up | the baseline has no further attempt to pair with | no |
//! | | alike | the first three pairs agree | no, unless the suite leans |
//! | | out of reach | it would not be chosen even if all further pairs were worse | no, unless the suite leans |
//! | | open | otherwise | yes |
//! | either | limit | it has been repeated as often as allowed | no |
//! | | silent | it was not run, is pending, or said nothing three times in a row | no |
//!
//! The pairs of all examples together are the evidence about the suite. At an e-value of 40 it is worse; then only examples with evidence
//! of their own go on, to find out which it is. From 1 to 40 it *leans*: what there is speaks for a drop, and every example with a pair left
//! helps to tell.
//!
//! What keeps the e-values valid: the j-th attempt that counts is paired with the j-th one of the baseline, and nothing here depends on an
//! attempt of the baseline before its pair is there, not even on how many there are. Whole rounds are looked at, because what fails may end
//! sooner than what passes. Why a pair that gets worse is then as likely as one that gets better while nothing changed, whatever rule says
//! who is repeated: see `proctor_stats::discordant_e_value`.

use std::collections::BTreeMap;

use proctor_stats::{
    EXAMPLES_LEVEL, SUITE_LEVEL, discordant_e_value, e_benjamini_hochberg, rate_e_value_above,
    rate_e_value_below,
};
use proctor_verdict::{PassRate, Rate, RateState};

use super::repeat_report::{RateCounts, RepeatReport, SuiteEvidence};

/// The level at which a pass rate is called reached, and at which it is called missed.
const ALPHA_RATE: f64 = 0.05;
/// When the suite is worse, examples with such an e-value of their own go on, to find out which it is.
const MIN_EXAMPLE_E_VALUE: f64 = 10.0;
/// After so many pairs that agree an example is left alone; after so many attempts in a row that say nothing too.
const MIN_PAIRS: usize = 3;
/// An example gets at most so many repetitions in one round, however many could run at once: each is made before the one beside it is
/// known. Two halve the number of rounds and cost 3 to 10 % more; four cost 30 % more.
const MAX_PER_ROUND: u32 = 2;

/// One attempt of a baseline that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastOutcome {
    /// Whether it passed.
    pub passed: bool,
    /// Whether something took part that may answer differently next time, such as a model.
    pub may_vary: bool,
}

/// What a repetition came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// It passed or failed.
    Counts(bool),
    /// It was made and says nothing about what was tested.
    SaysNothing,
    /// It was not made.
    NotMade,
}

/// An example as the planner sees it.
#[derive(Debug, Clone, Default)]
pub struct SampledExample {
    /// What people call it.
    pub title: String,
    /// The share of repetitions that must pass.
    pub pass_rate: Option<f64>,
    /// What it did in the baseline, one outcome per repetition; empty where it is not there.
    pub baseline: Vec<PastOutcome>,
}

/// Decides which examples of a run are repeated.
#[derive(Debug, Clone)]
pub struct RepeatPlanner {
    limit: u32,
    examples: Vec<Sampled>,
}

#[derive(Debug, Clone)]
struct Sampled {
    about: SampledExample,
    wanted: Option<PassRate>,
    /// What its repetitions came to, by number.
    made: BTreeMap<u32, Repetition>,
}

/// Pairs with attempts of the baseline, in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) worse: u64,
    pub(super) better: u64,
    pub(super) alike: u64,
}

impl Pairs {
    fn count(self) -> u64 {
        self.worse + self.better + self.alike
    }

    fn plus(self, other: Self) -> Self {
        Self {
            worse: self.worse + other.worse,
            better: self.better + other.better,
            alike: self.alike + other.alike,
        }
    }

    pub(super) fn e_value(self) -> f64 {
        discordant_e_value(self.worse, self.better)
    }
}

/// Where the question about a pass rate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RateQuestion {
    Reached,
    Missed,
    Open,
    Undecided,
}

impl RepeatPlanner {
    /// Nothing has been run yet; an example may be run `limit` times.
    pub fn new(limit: u32, examples: Vec<SampledExample>) -> Self {
        let examples = examples.into_iter().map(|about| Sampled {
            wanted: about.pass_rate.and_then(PassRate::new),
            about,
            made: BTreeMap::new(),
        });
        Self { limit: limit.max(1), examples: examples.collect() }
    }

    /// Whether any example has a question that repetitions could answer.
    pub fn has_questions(&self) -> bool {
        self.examples.iter().any(Sampled::has_question)
    }

    /// Up to how many repetitions an example may get.
    pub fn limit_of(&self, example: usize) -> u32 {
        let asked = self.examples.get(example).is_some_and(Sampled::has_question);
        if asked { self.limit } else { 1 }
    }

    /// A repetition has ended for good.
    pub fn record(&mut self, example: usize, repeat: u32, came_to: Repetition) {
        if let Some(sampled) = self.examples.get_mut(example) {
            sampled.made.insert(repeat, came_to);
        }
    }

    /// The next round: examples in order, with the number of each repetition. Empty when no verdict is open any more. With fewer
    /// examples than workers each gets several.
    pub fn next_round(&self, workers: u32) -> Vec<(usize, u32)> {
        let evidence = self.evidence();
        let wanted: Vec<(usize, u32)> = (0..self.examples.len())
            .map(|example| (example, self.wanted(example, &evidence)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let open = u32::try_from(wanted.len()).unwrap_or(u32::MAX).max(1);
        let each = (workers / open).clamp(1, MAX_PER_ROUND);
        let mut round = Vec::new();
        for step in 1..=each {
            let taking_part = wanted.iter().filter(|(_, count)| *count >= step);
            round.extend(
                taking_part.map(|(place, _)| (*place, self.examples[*place].repeats() + step)),
            );
        }
        round
    }

    /// Where the repetitions went, and what is known now.
    pub fn report(&self) -> RepeatReport {
        let evidence = self.evidence();
        let mut report = RepeatReport { limit: self.limit, ..RepeatReport::default() };
        for (place, sampled) in self.examples.iter().enumerate() {
            *report.examples_by_repeats.entry(sampled.repeats()).or_default() += 1;
            let pairs = evidence.pairs[place];
            match pairs {
                _ if evidence.worse[place] || sampled.is_broken(pairs) => {
                    report.worse.push(sampled.about.title.clone());
                }
                Pairs { worse: 0, better: 0, alike: 0 } => {}
                Pairs { worse: 0, better: 0, .. } => report.alike += 1,
                _ => report.not_shown += 1,
            }
        }
        report.suite = (evidence.all.count() > 0)
            .then_some(SuiteEvidence { pairs: evidence.all, is_worse: evidence.suite_is_worse() });
        report.rates = self.rate_counts();
        report
    }

    fn rate_counts(&self) -> RateCounts {
        let mut counts = RateCounts::default();
        for sampled in self.examples.iter().filter(|sampled| sampled.wanted.is_some()) {
            match sampled.rate_question(self.limit) {
                Some(RateQuestion::Reached) => counts.reached += 1,
                Some(RateQuestion::Missed) => counts.missed += 1,
                _ => counts.open.push(sampled.about.title.clone()),
            }
        }
        counts
    }

    /// How many further repetitions of an example could be of use.
    fn wanted(&self, example: usize, evidence: &Evidence) -> u32 {
        let sampled = &self.examples[example];
        if sampled.made.is_empty() {
            // Before the first results it is unknown which examples need more.
            return 1;
        }
        let left = self.limit.saturating_sub(sampled.repeats());
        if sampled.is_uninformative() {
            0
        } else if sampled.rate_question(self.limit) == Some(RateQuestion::Open) {
            left
        } else if self.may_be_worse(example, evidence) {
            left.min(sampled.pairs_left())
        } else {
            0
        }
    }

    /// Whether another pair could still show that the example, or with it the suite, got worse.
    fn may_be_worse(&self, example: usize, evidence: &Evidence) -> bool {
        let (sampled, pairs) = (&self.examples[example], evidence.pairs[example]);
        let has_own_evidence = pairs.e_value() >= MIN_EXAMPLE_E_VALUE;
        if evidence.worse[example] || (evidence.suite_is_worse() && !has_own_evidence) {
            return false;
        }
        let seen = usize::try_from(pairs.count()).unwrap_or(usize::MAX);
        if !sampled.may_vary() {
            // It should always do the same. What disagrees is looked at until it is clear that it does so every time.
            let (worse, better) = (pairs.worse > 0, pairs.better > 0);
            return pairs.alike == 0 && worse != better && seen < MIN_PAIRS;
        }
        let is_alike = pairs.worse + pairs.better == 0 && seen >= MIN_PAIRS;
        let left = u64::from(self.limit.saturating_sub(sampled.repeats()));
        let at_best = Pairs { worse: pairs.worse + left, ..pairs };
        evidence.suite_may_be_worse() || (!is_alike && at_best.e_value() >= evidence.needed)
    }

    fn evidence(&self) -> Evidence {
        let pairs: Vec<Pairs> = self.examples.iter().map(Sampled::pairs).collect();
        let family: Vec<usize> =
            (0..pairs.len()).filter(|place| self.examples[*place].may_vary()).collect();
        let mut e_values: Vec<f64> = family.iter().map(|place| pairs[*place].e_value()).collect();
        let mut worse = vec![false; pairs.len()];
        for (place, chosen) in family.iter().zip(e_benjamini_hochberg(&e_values, EXAMPLES_LEVEL)) {
            worse[*place] = chosen;
        }
        e_values.sort_by(|one, other| other.total_cmp(one));
        let all = pairs.iter().copied().fold(Pairs::default(), Pairs::plus);
        Evidence { suite: all.e_value(), all, pairs, worse, needed: needed_by_one_more(&e_values) }
    }
}

/// What all pairs say so far.
struct Evidence {
    /// By the place of the example.
    pairs: Vec<Pairs>,
    /// Which examples are shown to be worse.
    worse: Vec<bool>,
    /// The e-value at which one more example would be.
    needed: f64,
    all: Pairs,
    suite: f64,
}

impl Evidence {
    fn suite_is_worse(&self) -> bool {
        self.suite >= 1.0 / SUITE_LEVEL
    }

    /// Whether the evidence speaks for a drop of the suite, and not yet clearly.
    fn suite_may_be_worse(&self) -> bool {
        self.suite > 1.0 && !self.suite_is_worse()
    }
}

/// The e-value that an example needs so that e-BH chooses it, with the others as they stand, largest first.
fn needed_by_one_more(e_values: &[f64]) -> f64 {
    let count = as_float(e_values.len());
    let with = |others: usize| count / (EXAMPLES_LEVEL * as_float(others + 1));
    let helping = (1..e_values.len()).rev().find(|others| e_values[others - 1] >= with(*others));
    with(helping.unwrap_or(0))
}

fn as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

impl Sampled {
    fn has_question(&self) -> bool {
        self.wanted.is_some() || !self.about.baseline.is_empty()
    }

    fn repeats(&self) -> u32 {
        self.made.last_key_value().map_or(0, |(repeat, _)| *repeat)
    }

    /// The attempts that count, in order.
    fn outcomes(&self) -> impl Iterator<Item = bool> {
        self.made.values().filter_map(|came_to| match came_to {
            Repetition::Counts(passed) => Some(*passed),
            Repetition::SaysNothing | Repetition::NotMade => None,
        })
    }

    fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        for (before, now) in self.about.baseline.iter().zip(self.outcomes()) {
            match (before.passed, now) {
                (true, false) => pairs.worse += 1,
                (false, true) => pairs.better += 1,
                _ => pairs.alike += 1,
            }
        }
        pairs
    }

    /// Whether the first attempt of the baseline says that the next one may go otherwise with nothing changed. That it varied is no
    /// reason: it would be known only from attempts that are not paired yet.
    fn may_vary(&self) -> bool {
        self.about.baseline.first().is_some_and(|first| first.may_vary)
    }

    /// Whether it has no model to vary by, and failed in every pair what passed before.
    fn is_broken(&self, pairs: Pairs) -> bool {
        !self.may_vary() && pairs.worse > 0 && pairs.worse == pairs.count()
    }

    fn pairs_left(&self) -> u32 {
        let left = self.about.baseline.len().saturating_sub(self.outcomes().count());
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// Whether repeating it will tell nothing.
    fn is_uninformative(&self) -> bool {
        let mut newest = self.made.values().rev();
        let silent = newest.clone().take(MIN_PAIRS).all(|it| *it == Repetition::SaysNothing);
        newest.any(|it| *it == Repetition::NotMade) || (silent && self.made.len() >= MIN_PAIRS)
    }

    fn rate_question(&self, limit: u32) -> Option<RateQuestion> {
        let (wanted, share) = (self.wanted?, self.about.pass_rate?);
        let valid = self.outcomes().count() as u64;
        let passed = self.outcomes().filter(|passed| *passed).count() as u64;
        let left = u64::from(limit.saturating_sub(self.repeats()));
        Some(rate_question(wanted, share, (passed, valid), left))
    }
}

fn rate_question(
    wanted: PassRate,
    share: f64,
    (passed, valid): (u64, u64),
    left: u64,
) -> RateQuestion {
    let enough = 1.0 / ALPHA_RATE;
    let failed = valid - passed;
    if wanted.is_reached_by(0, 1) && valid > 0
        || rate_e_value_above(passed, failed, share) >= enough
    {
        return RateQuestion::Reached;
    }
    if rate_e_value_below(passed, failed, share) >= enough {
        return RateQuestion::Missed;
    }
    let may_be_shown = rate_e_value_above(passed + left, failed, share) >= enough
        || rate_e_value_below(passed, failed + left, share) >= enough;
    let rate = Rate { passed, valid, open: left, ..Rate::default() };
    if left > 0 && (may_be_shown || rate.against(wanted) == RateState::Open) {
        RateQuestion::Open
    } else {
        RateQuestion::Undecided
    }
}

#[cfg(test)]
mod tests;
