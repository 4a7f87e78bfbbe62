//! Marks: random words that tell evidence and answers from everything that others say.
//!
//! A mark is made of a key that only the host knows and of a number that no other request of the key has. Nothing
//! that a scenario, an agent or a command line says goes into it, so only the judge can repeat it.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::transcript::Turn;

/// Hexadecimal digits of a mark: 64 bits, few enough for a model to copy.
const DIGITS: usize = 16;

/// What the marks of one conversation are made of. The owner takes the bytes from the operating system's random source.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct MarkKey([u8; 32]);

impl MarkKey {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key with this number below this one. Keys below different keys, or with different numbers, differ.
    #[must_use]
    pub fn child(&self, number: u64) -> Self {
        Self(self.digest("key", number, 0))
    }

    /// The mark with this number; occurs in none of the turns.
    pub(crate) fn mark(&self, number: u64, turns: &[Turn]) -> String {
        let marks = (0..).map(|again| {
            let digest = self.digest("mark", number, again);
            let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            digits[..DIGITS].to_owned()
        });
        let mut unused = marks.filter(|mark| !turns.iter().any(|turn| contains_mark(turn, mark)));
        unused.next().unwrap_or_default()
    }

    fn digest(&self, purpose: &str, number: u64, again: u64) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(number.to_le_bytes());
        hash.update(again.to_le_bytes());
        hash.update(purpose);
        hash.finalize().into()
    }
}

impl fmt::Debug for MarkKey {
    /// Hides the key: the marks can be derived from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MarkKey")
    }
}

fn contains_mark(turn: &Turn, mark: &str) -> bool {
    turn.user.contains(mark)
        || turn.agent.contains(mark)
        || turn.tool_calls.iter().any(|call| {
            let result = call.result.as_ref().map(ToString::to_string);
            let texts = [Some(call.call.arguments.to_string()), result, call.error.clone()];
            call.call.name.contains(mark) || texts.iter().flatten().any(|text| text.contains(mark))
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_mark_never_occurs_in_what_it_marks(bytes: [u8; 32], number in 0..9u64) {
            let key = MarkKey::new(bytes);
            let first = key.mark(number, &[]);
            let turn = Turn { agent: format!("{first}>>"), ..Turn::default() };
            let second = key.mark(number, std::slice::from_ref(&turn));
            prop_assert_ne!(&first, &second);
            prop_assert!(!turn.agent.contains(&second));
        }

        /// The audit's case: conversation 2, question 3 had the mark of conversation 3, question 2.
        #[test]
        fn d18_no_two_questions_of_a_run_share_a_mark(bytes: [u8; 32]) {
            let run = MarkKey::new(bytes);
            let marks: BTreeSet<String> = (0..20)
                .flat_map(|conversation| {
                    let key = run.child(conversation);
                    (0..20).map(move |question| key.mark(question, &[]))
                })
                .collect();
            prop_assert_eq!(marks.len(), 400);
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", MarkKey::new([7; 32])), "MarkKey");
    }
}
