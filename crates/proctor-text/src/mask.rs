//! What may be said of a text in which secrets were masked.
//!
//! That a pattern is not found in such a text says nothing: it may stand under a mask. A match that touches a mask says nothing
//! either: the mask is not what was written there. Only a match in the visible text is evidence. Whoever checks texts that were
//! masked before asks here, so that none of them calls a check passed that could not look.

use std::ops::Range;

/// What the redactor (`proctor-redact`) puts in the place of a secret.
pub const MASK: &str = "[redacted]";

/// Where a pattern was found in a text that may have been masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VisibleMatch {
    /// In the visible text.
    Found(Range<usize>),
    /// Nowhere, and nothing is masked.
    Absent,
    /// Not in the visible text; a mask may hide it.
    Unknown,
}

impl VisibleMatch {
    /// Looks for the first of these matches that touches no mask of the text.
    pub fn of(text: &str, matches: impl IntoIterator<Item = Range<usize>>) -> Self {
        let masks: Vec<Range<usize>> =
            text.match_indices(MASK).map(|(at, mask)| at..at + mask.len()).collect();
        let touches = |found: &Range<usize>| {
            let next = masks.partition_point(|mask| mask.end < found.start);
            masks.get(next).is_some_and(|mask| mask.start <= found.end)
        };
        match matches.into_iter().find(|found| !touches(found)) {
            Some(found) => Self::Found(found),
            None if masks.is_empty() => Self::Absent,
            None => Self::Unknown,
        }
    }
}

/// Whether something is masked in a text, which may be JSON.
pub fn has_mask(text: &str) -> bool {
    text.contains(MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, pattern: &str) -> VisibleMatch {
        VisibleMatch::of(text, text.match_indices(pattern).map(|(at, it)| at..at + it.len()))
    }

    #[test]
    fn only_visible_text_decides() {
        assert_eq!(find("the key is abc", "abc"), VisibleMatch::Found(11..14));
        assert_eq!(find("the key is abc", "xyz"), VisibleMatch::Absent);
        assert_eq!(find("the key is [redacted]", "key"), VisibleMatch::Found(4..7));
        assert_eq!(find("the key is [redacted]", "abc"), VisibleMatch::Unknown);
        // The mask itself, a part of it, and what reaches into it or ends at it, were not written by anybody.
        for pattern in ["[redacted]", "acted", "is [re", "is ", "]"] {
            assert_eq!(find("it is [redacted]", pattern), VisibleMatch::Unknown, "{pattern}");
        }
        assert_eq!(find("[redacted] and [redacted], acted", "acted"), VisibleMatch::Found(27..32));
    }
}
