//! The search for the smallest set of examples that makes another one fail: delta debugging with several trials at a time. Pure.
//!
//! It starts from a set that reproduces the failure, knows that the empty set does not, and leaves out a half, a quarter, … of it. A quarter
//! alone is not tried: it is part of a half that did not reproduce the failure.
//!
//! | in a round | next |
//! |---|---|
//! | a half reproduces it | that half, in halves |
//! | all but one of several parts reproduce it | those, one part fewer |
//! | nothing does, and parts have several elements | twice as many parts |
//! | nothing does, and each part is one element | minimal: without any single element the failure is gone |
//!
//! A trial of a flaky failure is repeated; it counts as not reproducing when all its repetitions passed. The order of the elements is never
//! changed. What a trial of an earlier round comes to is ignored.

/// One run of one trial of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TrialId {
    round: u32,
    trial: usize,
}

#[derive(Debug, Clone)]
struct Trial {
    set: Vec<usize>,
    /// Repetitions that have not been given out.
    to_start: u32,
    /// Repetitions without a result.
    open: u32,
}

/// The state of a search.
#[derive(Debug, Clone)]
pub(crate) struct Minimizer {
    /// What reproduces the failure.
    kept: Vec<usize>,
    parts: usize,
    round: u32,
    trials: Vec<Trial>,
    /// How often a trial is run before it counts as not reproducing.
    repeats: u32,
}

impl Minimizer {
    /// A search in a set that reproduces the failure.
    pub(crate) fn new(kept: Vec<usize>, repeats: u32) -> Self {
        let mut search =
            Self { kept, parts: 2, round: 0, trials: Vec::new(), repeats: repeats.max(1) };
        search.begin_round();
        search
    }

    /// The smallest set found so far.
    pub(crate) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Whether no element can be left out.
    pub(crate) fn is_minimal(&self) -> bool {
        self.trials.is_empty()
    }

    /// Whether a trial belongs to the round that goes on; others may be ended.
    pub(crate) fn is_current(&self, id: TrialId) -> bool {
        id.round == self.round
    }

    /// The next trial to run; `None` if all that can be run now has been given out.
    pub(crate) fn next_trial(&mut self) -> Option<(TrialId, Vec<usize>)> {
        let (trial, next) =
            self.trials.iter_mut().enumerate().find(|(_, trial)| trial.to_start > 0)?;
        next.to_start -= 1;
        Some((TrialId { round: self.round, trial }, next.set.clone()))
    }

    /// A trial has been run.
    pub(crate) fn record(&mut self, id: TrialId, reproduced: bool) {
        if !self.is_current(id) {
            return;
        }
        let Some(trial) = self.trials.get_mut(id.trial) else { return };
        if reproduced {
            self.parts = (self.parts - 1).max(2);
            self.kept = std::mem::take(&mut trial.set);
            return self.begin_round();
        }
        trial.open = trial.open.saturating_sub(1);
        if self.trials.iter().all(|trial| trial.open == 0) {
            if self.parts >= self.kept.len() {
                self.round += 1;
                self.trials.clear();
            } else {
                self.parts = (self.parts * 2).min(self.kept.len());
                self.begin_round();
            }
        }
    }

    fn begin_round(&mut self) {
        self.round += 1;
        self.trials.clear();
        if self.kept.len() < 2 {
            return;
        }
        self.parts = self.parts.clamp(2, self.kept.len());
        let bounds: Vec<usize> =
            (0..=self.parts).map(|part| part * self.kept.len() / self.parts).collect();
        let repeats = self.repeats;
        for ends in bounds.windows(2) {
            // Of two parts each is all but the other.
            let set = [&self.kept[..ends[0]], &self.kept[ends[1]..]].concat();
            self.trials.push(Trial { set, to_start: repeats, open: repeats });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Plays a search to its end; results come in an order of the world's choice.
    fn play(
        size: usize,
        repeats: u32,
        at_once: usize,
        choices: &[usize],
        mut fails: impl FnMut(&[usize]) -> bool,
    ) -> (Vec<usize>, usize) {
        let mut search = Minimizer::new((0..size).collect(), repeats);
        let mut running: Vec<(TrialId, Vec<usize>)> = Vec::new();
        let mut runs = 0;
        while !search.is_minimal() {
            while running.len() < at_once
                && let Some(trial) = search.next_trial()
            {
                running.push(trial);
            }
            assert!(!running.is_empty(), "nothing runs, and it is not minimal: {search:?}");
            let place = choices[runs % choices.len()] % running.len();
            let (id, set) = running.swap_remove(place);
            assert!(set.is_sorted() && set.len() < size.max(2), "{set:?}");
            search.record(id, fails(&set));
            running.retain(|(id, _)| search.is_current(*id));
            runs += 1;
            assert!(runs < 100_000);
        }
        (search.kept().to_vec(), runs)
    }

    proptest! {
        /// Whatever is needed together is found, and nothing else.
        #[test]
        fn the_culprits_are_found(
            size in 1_usize..200,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
            at_once in 1_usize..6,
            choices in prop::collection::vec(any::<usize>(), 1..20),
        ) {
            let mut culprits: Vec<usize> = picks.iter().map(|pick| pick.index(size)).collect();
            culprits.sort_unstable();
            culprits.dedup();
            let needed = culprits.clone();
            let (found, _) = play(size, 1, at_once, &choices, |set| {
                needed.iter().all(|culprit| set.contains(culprit))
            });
            prop_assert_eq!(found, culprits);
        }

        /// Where several sets would do, one of them is found: without any of its elements the failure is gone.
        #[test]
        fn one_of_several_sets_is_found_whole(
            size in 2_usize..80,
            sets in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 1..4), 1..4),
            at_once in 1_usize..6,
            choices in prop::collection::vec(any::<usize>(), 1..20),
        ) {
            let sets: Vec<Vec<usize>> =
                sets.iter().map(|set| set.iter().map(|pick| pick.index(size)).collect()).collect();
            let fails = |tried: &[usize]| {
                sets.iter().any(|set| set.iter().all(|culprit| tried.contains(culprit)))
            };
            let (found, _) = play(size, 1, at_once, &choices, fails);
            prop_assert!(fails(&found));
            for left_out in &found {
                let rest: Vec<usize> = found.iter().copied().filter(|each| each != left_out).collect();
                prop_assert!(!fails(&rest), "{} is not needed in {:?}", left_out, found);
            }
        }

        /// A failure that shows only at every third run of a trial needs no luck if trials are repeated three times.
        #[test]
        fn repetitions_see_what_fails_now_and_then(size in 2_usize..60, pick in any::<prop::sample::Index>()) {
            let culprit = pick.index(size);
            let mut seen: std::collections::HashMap<Vec<usize>, u32> = std::collections::HashMap::new();
            let (found, _) = play(size, 3, 1, &[0], |set| {
                let runs = seen.entry(set.to_vec()).or_default();
                *runs += 1;
                set.contains(&culprit) && runs.is_multiple_of(3)
            });
            prop_assert_eq!(found, vec![culprit]);
        }
    }

    #[test]
    fn a_single_culprit_costs_about_two_runs_per_halving() {
        let (found, runs) = play(1024, 1, 1, &[0], |set| set.contains(&700));
        assert_eq!(found, [700]);
        assert!(runs <= 20, "{runs}");
    }
}
