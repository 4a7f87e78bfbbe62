//! Secrets of which a cut has left a part: `sk-proj-4f…`, `…9c1e`.
//!
//! Texts are shortened long before they are written: messages of checks quote the agent, previews and log tails keep an end. What is
//! left of a secret there is no known value. So around a cut mark the longest beginning of a spelling that ends there, and the longest
//! end of one that begins there, are sought. Both are states of an Aho–Corasick automaton: after a text its state is the longest
//! end of that text that begins a needle. Only the text up to the next mark is read, so work stays linear.
//!
//! Elsewhere a part of a secret is not masked: `development` may well begin a password, and it stands in paths.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous::NFA;

use crate::spellings::Spellings;

/// What stands where a text was cut.
pub(crate) const CUT_MARKS: [&str; 2] = ["…", "..."];

/// Shorter parts of a secret stay: the last four characters of a key are commonly shown to tell keys apart.
pub(crate) const SHORTEST_FRAGMENT: usize = 5;

/// Finds parts of the known spellings beside cut marks.
pub(crate) struct Fragments {
    folded: Ends,
    base64: Ends,
    /// No fragment is longer.
    longest: usize,
}

/// A fragment, and whether it is base64, whose neighbours may hold bits of the value.
pub(crate) struct Fragment {
    pub(crate) range: Range<usize>,
    pub(crate) is_base64: bool,
}

impl Fragments {
    pub(crate) fn new(spellings: &Spellings) -> Self {
        let longest = spellings.folded.iter().chain(&spellings.base64).map(Vec::len).max();
        Self {
            folded: Ends::new(&spellings.folded, true),
            base64: Ends::new(&spellings.base64, false),
            longest: longest.unwrap_or(0),
        }
    }

    /// The parts beside these marks, which are sorted and apart. Returns how many bytes were read as well.
    pub(crate) fn find(&self, text: &[u8], marks: &[Range<usize>]) -> (Vec<Fragment>, usize) {
        let (mut found, mut work) = (Vec::new(), 0);
        for (index, mark) in marks.iter().enumerate() {
            let before = index.checked_sub(1).map_or(0, |index| marks[index].end);
            let after = marks.get(index + 1).map_or(text.len(), |next| next.start);
            let head_end = without_space_behind(text, before, mark.start);
            let head = &text[before.max(head_end.saturating_sub(self.longest))..head_end];
            let tail_start = without_space_before(text, mark.end, after);
            let tail = &text[tail_start..after.min(tail_start + self.longest)];
            for (ends, is_base64) in [(&self.folded, false), (&self.base64, true)] {
                let length = ends.beginnings.longest(head.iter());
                let range = head_end - length..head_end;
                found.extend((length > 0).then_some(Fragment { range, is_base64 }));
                let length = ends.endings.longest(tail.iter().rev());
                let range = tail_start..tail_start + length;
                found.extend((length > 0).then_some(Fragment { range, is_base64 }));
            }
            work += 2 * (head.len() + tail.len());
        }
        (found, work)
    }
}

/// A cut leaves a space now and then: `the key is sk-1234 …`.
fn without_space_behind(text: &[u8], from: usize, end: usize) -> usize {
    end - usize::from(end > from && text[end - 1] == b' ')
}

fn without_space_before(text: &[u8], start: usize, end: usize) -> usize {
    start + usize::from(start < end && text[start] == b' ')
}

/// Both ends of some needles.
struct Ends {
    beginnings: Beginnings,
    /// Of the needles read backwards.
    endings: Beginnings,
}

impl Ends {
    fn new(needles: &[Vec<u8>], any_case: bool) -> Self {
        let reversed = needles.iter().map(|needle| needle.iter().rev().copied().collect());
        let reversed: Vec<Vec<u8>> = reversed.collect();
        Self {
            beginnings: Beginnings::new(needles, any_case),
            endings: Beginnings::new(&reversed, any_case),
        }
    }
}

/// Knows of a text the longest end that begins a needle.
struct Beginnings {
    automaton: NFA,
    /// How much of a needle a state stands for.
    depths: HashMap<StateID, usize>,
}

impl Beginnings {
    fn new(needles: &[Vec<u8>], any_case: bool) -> Self {
        #[expect(clippy::unwrap_used, reason = "fails beyond 2^31 states, gigabytes of secrets")]
        let automaton = NFA::builder().ascii_case_insensitive(any_case).build(needles).unwrap();
        let mut beginnings = Self { automaton, depths: HashMap::new() };
        let start = beginnings.start();
        for needle in needles {
            let mut state = start;
            for (byte, depth) in needle.iter().zip(1..) {
                state = beginnings.automaton.next_state(Anchored::No, state, *byte);
                beginnings.depths.insert(state, depth);
            }
        }
        beginnings
    }

    fn start(&self) -> StateID {
        #[expect(clippy::unwrap_used, reason = "the automaton was built for unanchored searches")]
        self.automaton.start_state(Anchored::No).unwrap()
    }

    /// How long the longest end of the text is that begins a needle; 0 if it is short.
    fn longest<'a>(&self, text: impl Iterator<Item = &'a u8>) -> usize {
        let step = |state, byte: &u8| self.automaton.next_state(Anchored::No, state, *byte);
        let state = text.fold(self.start(), step);
        let depth = self.depths.get(&state).copied().unwrap_or(0);
        if depth < SHORTEST_FRAGMENT { 0 } else { depth }
    }
}
