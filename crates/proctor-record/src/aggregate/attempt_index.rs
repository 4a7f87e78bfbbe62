//! Finds an attempt of an example by its number.
//!
//! Most examples have a few attempts, and a linear search over those is fastest. For an example that is repeated a hundred thousand times the
//! linear search would be quadratic, so from [`MAX_SCANNED`] attempts on there is an index.

use std::collections::{BTreeMap, HashMap};

use proctor_verdict::AttemptNumber;

use crate::model::Attempt;

/// The number of attempts up to which a linear search is used.
const MAX_SCANNED: usize = 16;

/// Places of attempts in [`Example::attempts`](crate::Example::attempts), for examples with many. Attempts are only ever added to an
/// example, and no two have the same number, so the size of an index tells how far it reaches.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AttemptIndex {
    /// By the place of the example.
    examples: HashMap<usize, BTreeMap<AttemptNumber, usize>>,
}

impl AttemptIndex {
    /// The place of the attempt with this number.
    pub(super) fn find(
        &mut self,
        example: usize,
        attempts: &[Attempt],
        number: AttemptNumber,
    ) -> Option<usize> {
        if attempts.len() <= MAX_SCANNED {
            return attempts.iter().rposition(|one| one.number() == number);
        }
        self.indexed(example, attempts).get(&number).copied()
    }

    /// Whether one of the attempts that this number replaces is such.
    pub(super) fn any_replaced(
        &mut self,
        example: usize,
        attempts: &[Attempt],
        number: AttemptNumber,
        such: impl Fn(&Attempt) -> bool,
    ) -> bool {
        if attempts.len() <= MAX_SCANNED {
            return attempts.iter().any(|one| number.replaces(one.number()) && such(one));
        }
        let first = AttemptNumber { attempt: 0, ..number };
        let mut replaced = self.indexed(example, attempts).range(first..number).rev();
        replaced.any(|(_, place)| such(&attempts[*place]))
    }

    /// The index of an example, with what was added since it was last asked for.
    fn indexed(&mut self, example: usize, attempts: &[Attempt]) -> &BTreeMap<AttemptNumber, usize> {
        let index = self.examples.entry(example).or_default();
        for (place, attempt) in attempts.iter().enumerate().skip(index.len()) {
            index.insert(attempt.number(), place);
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(numbers: &[(u32, u32)]) -> Vec<Attempt> {
        let attempt =
            |&(repeat, attempt): &(u32, u32)| Attempt { repeat, attempt, ..Attempt::default() };
        numbers.iter().map(attempt).collect()
    }

    /// T12: of the many attempts at one example only those at the same repetition are looked at.
    #[test]
    fn t12_a_retry_looks_at_its_own_repetition() {
        let numbers: Vec<(u32, u32)> = (1..=10_000).flat_map(|it| [(it, 1), (it, 2)]).collect();
        let attempts = made(&numbers);
        let mut index = AttemptIndex::default();
        let looked_at = std::cell::Cell::new(0);
        for repeat in 1..=10_000 {
            let number = AttemptNumber { repeat, attempt: 2 };
            let such = |_: &Attempt| {
                looked_at.set(looked_at.get() + 1);
                false
            };
            assert!(!index.any_replaced(0, &attempts, number, such));
            assert!(index.find(0, &attempts, number).is_some());
        }
        assert_eq!(looked_at.get(), 10_000);
    }

    proptest! {
        /// Whether attempts are looked through or indexed makes no difference, however they arrive.
        #[test]
        fn an_index_finds_what_looking_through_finds(
            numbers in prop::collection::hash_set((1_u32..20, 0_u32..5), 0..60),
            asked in prop::collection::vec((1_u32..20, 0_u32..5), 1..10),
        ) {
            let numbers: Vec<(u32, u32)> = numbers.into_iter().collect();
            let attempts = made(&numbers);
            let mut index = AttemptIndex::default();
            for seen in 0..=attempts.len() {
                let attempts = &attempts[..seen];
                for &(repeat, attempt) in &asked {
                    let number = AttemptNumber { repeat, attempt };
                    let plain = attempts.iter().position(|one| one.number() == number);
                    prop_assert_eq!(index.find(3, attempts, number), plain);
                    let such = |one: &Attempt| one.attempt.is_multiple_of(2);
                    let any = attempts.iter().any(|one| number.replaces(one.number()) && such(one));
                    prop_assert_eq!(index.any_replaced(3, attempts, number, such), any);
                }
            }
        }
    }
}
