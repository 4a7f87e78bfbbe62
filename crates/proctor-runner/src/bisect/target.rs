//! What makes one example fail: the decisions, from the first failure to the verified answer. Pure.
//!
//! | phase | runs | next |
//! |---|---|---|
//! | measuring | all examples before it, and none, a few times each | fails without any: [`Finding::FailsAlone`]; never fails again: [`Finding::NotReproduced`]; else searching |
//! | searching | [`Minimizer`] over the examples before it; first, if there is one, the answer of another example | minimal: verifying |
//! | verifying | the minimal set again, and none | it fails with the set and never without: [`Finding::Found`]; less often than it seemed: searching in the set, with more repetitions; else [`Finding::Unconfirmed`] |
//!
//! A failure that did not show in every run of the first phase is flaky. Each set is then tried so often that a set which fails at the same rate
//! is overlooked in one case of twenty, at most [`MAX_REPEATS`] times.

use serde::Serialize;

use super::minimize::{Minimizer, TrialId};

/// How often the first phase runs everything before the example, and the example alone.
const MEASURED_RUNS: u32 = 2;
/// The most repetitions of one set.
pub(crate) const MAX_REPEATS: u32 = 20;
/// How likely it may be that a flaky failure is overlooked.
const OVERLOOKED: f64 = 0.05;

/// How often something failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FailureRate {
    /// Runs in which the example failed.
    pub failed: u32,
    /// All runs in which it took part.
    pub runs: u32,
}

impl FailureRate {
    fn add(&mut self, failed: bool) {
        self.failed += u32::from(failed);
        self.runs += 1;
    }

    /// How often a set must pass before it counts as harmless.
    fn repeats(self) -> u32 {
        if self.failed == self.runs {
            return 1;
        }
        let passes = 1.0 - f64::from(self.failed) / f64::from(self.runs);
        let needed = (1..MAX_REPEATS)
            .find(|runs| passes.powi(i32::try_from(*runs).unwrap_or(i32::MAX)) <= OVERLOOKED);
        needed.unwrap_or(MAX_REPEATS)
    }
}

/// What was found out about one example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// It fails with these before it and passes without them.
    Found { culprits: Vec<usize>, with: FailureRate, alone: FailureRate },
    /// It needs no other example.
    FailsAlone { alone: FailureRate },
    /// It failed once and never again.
    NotReproduced { with: FailureRate },
    /// The set that was found did not stand the last test.
    Unconfirmed { culprits: Vec<usize>, with: FailureRate, alone: FailureRate },
}

/// What one run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// With everything before it, or with the set that was found.
    With,
    /// Without any other example.
    Alone,
    /// With the answer of another example.
    Guess,
    Trial(TrialId),
}

/// One run to be made: these examples in order, then the one in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) purpose: Purpose,
    pub(crate) before: Vec<usize>,
}

#[derive(Debug, Clone)]
enum Phase {
    Measuring(Pair),
    Guessing { left: u32, open: u32 },
    Searching(Minimizer),
    Verifying(Pair),
    Over(Finding),
}

/// Runs with a set of examples and without any.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    to_start: (u32, u32),
    open: u32,
    with: FailureRate,
    alone: FailureRate,
}

impl Pair {
    fn of(runs: u32) -> Self {
        Self { to_start: (runs, runs), open: 2 * runs, ..Self::default() }
    }
}

/// The search for what makes one example fail.
#[derive(Debug, Clone)]
pub(crate) struct TargetSearch {
    /// Everything that runs before it.
    before: Vec<usize>,
    /// What made another example fail, as far as it runs before this one.
    guess: Option<Vec<usize>>,
    phase: Phase,
    repeats: u32,
    /// How often a failure that does not show again is looked for.
    attempts: u32,
    /// How often it failed in the first phase with everything before it.
    measured: FailureRate,
    /// How often it failed alone, in phases that are over.
    alone: FailureRate,
}

impl TargetSearch {
    /// An example that has failed once after all these.
    pub(crate) fn new(before: Vec<usize>, guess: Option<Vec<usize>>, attempts: u32) -> Self {
        let guess = guess.filter(|guess| !guess.is_empty() && guess.len() < before.len());
        Self {
            before,
            guess,
            phase: Phase::Measuring(Pair::of(MEASURED_RUNS)),
            repeats: 1,
            attempts: attempts.max(MEASURED_RUNS),
            measured: FailureRate::default(),
            alone: FailureRate::default(),
        }
    }

    /// The answer, once there is one.
    pub(crate) fn finding(&self) -> Option<&Finding> {
        match &self.phase {
            Phase::Over(finding) => Some(finding),
            _ => None,
        }
    }

    /// How many examples are still suspected.
    pub(crate) fn suspects(&self) -> usize {
        match &self.phase {
            Phase::Searching(search) => search.kept().len(),
            Phase::Verifying(_) => self.guess.as_ref().map_or(0, Vec::len),
            Phase::Over(
                Finding::Found { culprits, .. } | Finding::Unconfirmed { culprits, .. },
            ) => culprits.len(),
            _ => self.before.len(),
        }
    }

    /// Whether the result of a run is still of interest.
    pub(crate) fn wants(&self, purpose: Purpose) -> bool {
        match (&self.phase, purpose) {
            (Phase::Searching(search), Purpose::Trial(id)) => search.is_current(id),
            (Phase::Measuring(_) | Phase::Verifying(_), Purpose::With | Purpose::Alone)
            | (Phase::Guessing { .. }, Purpose::Guess) => true,
            _ => false,
        }
    }

    /// The next run to be made; `None` if all that can be made now has been given out.
    pub(crate) fn next_probe(&mut self) -> Option<Probe> {
        let everything = &self.before;
        match &mut self.phase {
            Phase::Measuring(pair) => next_of_pair(pair, everything),
            Phase::Guessing { left, .. } => {
                *left = left.checked_sub(1)?;
                let before = self.guess.clone().unwrap_or_default();
                Some(Probe { purpose: Purpose::Guess, before })
            }
            Phase::Searching(search) => {
                let (id, before) = search.next_trial()?;
                Some(Probe { purpose: Purpose::Trial(id), before })
            }
            Phase::Verifying(pair) => next_of_pair(pair, self.guess.as_deref().unwrap_or_default()),
            Phase::Over(_) => None,
        }
    }

    /// A run has ended.
    pub(crate) fn record(&mut self, purpose: Purpose, failed: bool) {
        if !self.wants(purpose) {
            return;
        }
        match (&mut self.phase, purpose) {
            (Phase::Measuring(pair) | Phase::Verifying(pair), Purpose::With | Purpose::Alone) => {
                let rate = if purpose == Purpose::With { &mut pair.with } else { &mut pair.alone };
                rate.add(failed);
                pair.open -= 1;
            }
            (Phase::Guessing { open, .. }, _) => {
                *open -= 1;
                if failed {
                    let guess = self.guess.clone().unwrap_or_default();
                    self.phase = Phase::Searching(Minimizer::new(guess, self.repeats));
                }
            }
            (Phase::Searching(search), Purpose::Trial(id)) => search.record(id, failed),
            _ => {}
        }
        self.advance();
    }

    fn advance(&mut self) {
        match &mut self.phase {
            Phase::Measuring(pair) if pair.open == 0 => {
                let pair = *pair;
                self.measured(pair);
            }
            Phase::Guessing { open: 0, .. } => self.search(),
            Phase::Verifying(pair) if pair.open == 0 => {
                let pair = *pair;
                self.verified(pair);
            }
            _ => {}
        }
        if let Phase::Searching(search) = &self.phase
            && search.is_minimal()
        {
            self.guess = Some(search.kept().to_vec());
            self.phase = Phase::Verifying(Pair::of(self.repeats.max(MEASURED_RUNS)));
        }
    }

    fn measured(&mut self, mut pair: Pair) {
        if pair.alone.failed > 0 || self.before.is_empty() {
            self.phase = Phase::Over(Finding::FailsAlone { alone: pair.alone });
        } else if pair.with.failed == 0 && pair.with.runs < self.attempts {
            (pair.to_start, pair.open) = ((1, 0), 1);
            self.phase = Phase::Measuring(pair);
        } else if pair.with.failed == 0 {
            self.phase = Phase::Over(Finding::NotReproduced { with: pair.with });
        } else {
            self.repeats = pair.with.repeats();
            let missing = self.repeats.saturating_sub(pair.alone.runs);
            if missing > 0 {
                // A flaky failure must not show alone as often as a set is tried.
                (pair.to_start, pair.open) = ((0, missing), missing);
                self.phase = Phase::Measuring(pair);
                return;
            }
            (self.measured, self.alone) = (pair.with, pair.alone);
            match self.guess {
                Some(_) => self.phase = Phase::Guessing { left: self.repeats, open: self.repeats },
                None => self.search(),
            }
        }
    }

    fn verified(&mut self, Pair { with, alone, .. }: Pair) {
        let culprits = self.guess.clone().unwrap_or_default();
        self.alone = sum(self.alone, alone);
        let looked_reliable = self.repeats == 1;
        let doubtful = with.failed == 0 || (looked_reliable && with.failed < with.runs);
        if alone.failed == 0 && doubtful && self.repeats < MAX_REPEATS {
            // It is more flaky than it seemed. What was kept has reproduced the failure; what is not needed in it may have passed by chance.
            let seen = sum(self.measured, with).repeats().max(MEASURED_RUNS);
            self.repeats = if looked_reliable { seen } else { MAX_REPEATS };
            self.phase = Phase::Searching(Minimizer::new(culprits, self.repeats));
            return;
        }
        let alone = self.alone;
        self.phase = Phase::Over(if with.failed > 0 && alone.failed == 0 {
            Finding::Found { culprits, with, alone }
        } else {
            Finding::Unconfirmed { culprits, with, alone }
        });
    }

    fn search(&mut self) {
        self.phase = Phase::Searching(Minimizer::new(self.before.clone(), self.repeats));
    }
}

fn next_of_pair(pair: &mut Pair, with: &[usize]) -> Option<Probe> {
    let (of_with, of_alone) = &mut pair.to_start;
    // Turn and turn about, so that whichever decides is not left to the end.
    if *of_with > 0 && of_with >= of_alone {
        *of_with -= 1;
        return Some(Probe { purpose: Purpose::With, before: with.to_vec() });
    }
    *of_alone = of_alone.checked_sub(1)?;
    Some(Probe { purpose: Purpose::Alone, before: Vec::new() })
}

fn sum(one: FailureRate, other: FailureRate) -> FailureRate {
    FailureRate { failed: one.failed + other.failed, runs: one.runs + other.runs }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn play(
        mut search: TargetSearch,
        at_once: usize,
        choices: &[usize],
        mut fails: impl FnMut(&[usize]) -> bool,
    ) -> Finding {
        let mut running: Vec<Probe> = Vec::new();
        let mut runs = 0;
        loop {
            if let Some(finding) = search.finding() {
                return finding.clone();
            }
            while running.len() < at_once
                && let Some(probe) = search.next_probe()
            {
                running.push(probe);
            }
            assert!(!running.is_empty(), "nothing runs, and nothing is known: {search:?}");
            let place = choices[runs % choices.len()] % running.len();
            let probe = running.swap_remove(place);
            search.record(probe.purpose, fails(&probe.before));
            running.retain(|probe| search.wants(probe.purpose));
            runs += 1;
            assert!(runs < 100_000);
        }
    }

    proptest! {
        /// Planted dependencies: the examples that are needed, in the order that is needed.
        #[test]
        fn planted_culprits_are_found_and_verified(
            size in 1_usize..120,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
            guess in prop::option::of(prop::collection::vec(any::<prop::sample::Index>(), 0..4)),
            at_once in 1_usize..6,
            choices in prop::collection::vec(any::<usize>(), 1..20),
        ) {
            let set = |picks: &[prop::sample::Index]| {
                let mut set: Vec<usize> = picks.iter().map(|pick| pick.index(size)).collect();
                set.sort_unstable();
                set.dedup();
                set
            };
            let culprits = set(&picks);
            let search = TargetSearch::new((0..size).collect(), guess.map(|guess| set(&guess)), 5);
            // Each must come after the one before it.
            let in_order = |tried: &[usize]| {
                let mut places = culprits.iter().map(|culprit| tried.iter().position(|each| each == culprit));
                let first = places.next().flatten();
                first.is_some() && places.try_fold(first, |last, place| (place > last && place.is_some()).then_some(place)).is_some()
            };
            let finding = play(search, at_once, &choices, in_order);
            prop_assert!(matches!(&finding, Finding::Found { culprits: found, alone, .. } if *found == culprits && alone.failed == 0), "{:?}", finding);
        }

        #[test]
        fn what_fails_alone_is_said_to(size in 0_usize..50, at_once in 1_usize..6) {
            let finding = play(TargetSearch::new((0..size).collect(), None, 5), at_once, &[0], |_| true);
            prop_assert_eq!(finding, Finding::FailsAlone { alone: FailureRate { failed: 2, runs: 2 } });
        }

        #[test]
        fn what_never_fails_again_is_not_explained(size in 1_usize..50, attempts in 2_u32..9) {
            let finding = play(TargetSearch::new((0..size).collect(), None, attempts), 3, &[1], |_| false);
            prop_assert_eq!(finding, Finding::NotReproduced { with: FailureRate { failed: 0, runs: attempts } });
        }
    }

    /// A failure that shows in every second run is searched for by repetition.
    #[test]
    fn flaky_failures_are_found_with_their_rates() {
        let mut number = 0_u32;
        let search = TargetSearch::new((0..40).collect(), None, 9);
        let finding = play(search, 1, &[0], |set| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            set.contains(&17) && number >> 31 == 1
        });
        let Finding::Found { culprits, with, alone } = finding else { panic!("{finding:?}") };
        assert_eq!(culprits, [17]);
        assert!(
            with.failed > 0 && with.failed < with.runs && alone.failed == 0,
            "{with:?} {alone:?}"
        );
    }

    /// A set that reproduces only while it is searched for is not called found.
    #[test]
    fn what_does_not_stand_the_last_test_is_unconfirmed() {
        let mut seen = false;
        let search = TargetSearch::new((0..8).collect(), None, 5);
        let finding = play(search, 1, &[0], |set| match set {
            [3] => !std::mem::replace(&mut seen, true),
            set => set.contains(&3),
        });
        assert!(matches!(finding, Finding::Unconfirmed { .. }), "{finding:?}");
    }

    /// Two of two runs fail by chance; that it is flaky shows only at the end.
    #[test]
    fn a_failure_that_turns_out_to_be_flaky_is_searched_for_again() {
        let mut of_culprit = 0;
        let search = TargetSearch::new((0..8).collect(), None, 5);
        let finding = play(search, 1, &[0], |set| match set {
            [3] => {
                of_culprit += 1;
                of_culprit % 3 == 1
            }
            set => set.contains(&3),
        });
        let Finding::Found { culprits, with, .. } = finding else { panic!("{finding:?}") };
        assert!(culprits == [3] && with.failed < with.runs, "{culprits:?} {with:?}");
    }

    #[test]
    fn sets_are_tried_as_often_as_the_rate_demands() {
        let repeats = |failed, runs| FailureRate { failed, runs }.repeats();
        assert_eq!(
            (repeats(3, 3), repeats(2, 3), repeats(1, 2), repeats(1, 9)),
            (1, 3, 5, MAX_REPEATS)
        );
    }
}
