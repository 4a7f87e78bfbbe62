//! Searching in what is shown. Capitals matter only if the search has one.

use std::ops::Range;

use crate::input::{Key, KeyPress};

/// The words that are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Search {
    query: String,
    /// What stood before editing began, while it is being edited.
    before: Option<String>,
    /// The line that was jumped to last.
    pub(crate) current: Option<u64>,
}

/// What came of a key while editing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchEdit {
    Editing,
    Accepted,
    Cancelled,
}

impl Search {
    pub(crate) fn begin(&mut self) {
        self.before = Some(std::mem::take(&mut self.query));
        self.current = None;
    }

    pub(crate) fn is_editing(&self) -> bool {
        self.before.is_some()
    }

    pub(crate) fn is_active(&self) -> bool {
        !self.query.is_empty()
    }

    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes a key while editing.
    pub(crate) fn edit(&mut self, press: KeyPress) -> SearchEdit {
        match (press.key, press.ctrl) {
            (Key::Enter, _) => {
                self.before = None;
                return SearchEdit::Accepted;
            }
            (Key::Esc, _) => {
                self.query = self.before.take().unwrap_or_default();
                return SearchEdit::Cancelled;
            }
            // Deleting beyond the beginning leaves, as in a pager.
            (Key::Backspace, _) if self.query.is_empty() => {
                self.before = None;
                return SearchEdit::Cancelled;
            }
            (Key::Backspace, _) => {
                self.query.pop();
            }
            (Key::Char('u'), true) => self.query.clear(),
            (Key::Char(c), false) => self.query.push(c),
            _ => {}
        }
        SearchEdit::Editing
    }

    /// Where it stands in a text.
    pub(crate) fn found_in(&self, text: &str) -> Vec<Range<usize>> {
        if self.query.is_empty() {
            return Vec::new();
        }
        let exact = self.query.chars().any(char::is_uppercase);
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            if let Some(end) = match_at(&text[at..], &self.query, exact) {
                found.push(at..at + end);
                at += end;
            } else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        found
    }

    /// The next of these lines in a direction, from the one jumped to last or else from `top`; around the
    /// end if there is none.
    pub(crate) fn jump(&mut self, hits: &[u64], forward: bool, top: u64) -> Option<u64> {
        let target = match (self.current, forward) {
            (None, _) => hits.iter().find(|hit| **hit >= top).or(hits.first()),
            (Some(now), true) => hits.iter().find(|hit| **hit > now).or(hits.first()),
            (Some(now), false) => hits.iter().rev().find(|hit| **hit < now).or(hits.last()),
        };
        self.current = target.copied();
        self.current
    }
}

/// The length of the match at the start of the text, in bytes.
fn match_at(text: &str, query: &str, exact: bool) -> Option<usize> {
    let mut rest = text.char_indices();
    for wanted in query.chars() {
        let (_, here) = rest.next()?;
        let same = here == wanted || (!exact && here.to_lowercase().eq(wanted.to_lowercase()));
        if !same {
            return None;
        }
    }
    Some(text.len() - rest.as_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(query: &str) -> Search {
        Search { query: query.to_owned(), ..Search::default() }
    }

    #[test]
    fn capitals_matter_only_if_the_search_has_one() {
        assert_eq!(search("ab").found_in("abAB xab"), [0..2, 2..4, 6..8]);
        assert_eq!(search("AB").found_in("abAB xABx"), [2..4, 6..8]);
        assert_eq!(search("ö漢").found_in("Ö漢Ö漢ö"), [0..5, 5..10]);
        assert!(search("").found_in("anything").is_empty());
        assert_eq!(search("aa").found_in("aaaaa"), [0..2, 2..4]);
    }

    #[test]
    fn jumps_go_around_the_ends() {
        let mut search = search("x");
        let hits = [3, 5, 9];
        assert_eq!(search.jump(&hits, true, 4), Some(5));
        assert_eq!(search.jump(&hits, true, 4), Some(9));
        assert_eq!(search.jump(&hits, true, 4), Some(3));
        assert_eq!(search.jump(&hits, false, 4), Some(9));
        assert_eq!(search.jump(&[], true, 4), None);
    }

    #[test]
    fn escape_brings_the_old_search_back() {
        let mut search = search("old");
        search.begin();
        assert_eq!(search.edit(Key::Char('n').into()), SearchEdit::Editing);
        assert_eq!(search.query(), "n");
        assert_eq!(search.edit(Key::Esc.into()), SearchEdit::Cancelled);
        assert_eq!((search.query(), search.is_editing()), ("old", false));
        search.begin();
        assert_eq!(search.edit(Key::Backspace.into()), SearchEdit::Cancelled);
        assert!(!search.is_active());
    }
}
