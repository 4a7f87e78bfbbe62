//! Finding past entries by their words: BM25 over goal, hypothesis, surprise and lesson.
//!
//! No index is kept: looking through ten thousand entries takes milliseconds, and what is not stored
//! cannot drift from the files.

use std::collections::HashSet;

use crate::entry::Entry;
use crate::entry_header::SearchableEntry;
use crate::model::OutcomeStatus;

/// Usual constants of BM25: how fast repetition stops to count, how much length matters.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;

/// Words too common to tell entries apart.
const COMMON: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "not", "of",
    "on", "or", "that", "the", "this", "to", "was", "when", "will", "with",
];

/// The words of a text, in lower case, without the commonest.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    raw_words(text).map(str::to_lowercase).filter(|word| !COMMON.contains(&word.as_str()))
}

fn raw_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Calls for every word of a text, in any case and with the commonest.
fn each_word<'a>(text: &'a str, mut take: impl FnMut(&'a str)) {
    if !text.is_ascii() {
        return raw_words(text).for_each(take);
    }
    // Most texts are ASCII, and bytes are classified faster than characters.
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut rest = text;
    while let Some(start) = rest.bytes().position(|byte| plain(&byte)) {
        rest = rest.get(start..).unwrap_or_default();
        let end = rest.bytes().position(|byte| !plain(&byte)).unwrap_or(rest.len());
        take(rest.get(..end).unwrap_or_default());
        rest = rest.get(end..).unwrap_or_default();
    }
}

/// An entry that was found, by its place among those searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Index into the entries that were searched.
    pub index: usize,
    /// How well it fits; only comparable within one search.
    pub score: f64,
}

/// The words of a query by their length in bytes: the length alone rules out most words of an entry.
struct Query {
    by_length: Vec<Vec<(String, usize)>>,
    count: usize,
}

impl Query {
    fn new(text: &str) -> Self {
        let mut query = Self { by_length: Vec::new(), count: 0 };
        for word in words(text) {
            if query.by_length.len() <= word.len() {
                query.by_length.resize_with(word.len() + 1, Vec::new);
            }
            let alike = &mut query.by_length[word.len()];
            if alike.iter().all(|(known, _)| *known != word) {
                alike.push((word, query.count));
                query.count += 1;
            }
        }
        query
    }

    fn term(&self, word: &str) -> Option<usize> {
        if word.is_ascii() {
            let alike = self.by_length.get(word.len())?;
            return alike.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|it| it.1);
        }
        // Lower case may have another length.
        let lower = word.to_lowercase();
        let alike = self.by_length.get(lower.len())?;
        alike.iter().find(|(known, _)| *known == lower).map(|it| it.1)
    }
}

/// How often each searched word occurs in each entry, and how long the entries are.
struct Profiles {
    terms: usize,
    /// One row of counts per entry.
    counts: Vec<u32>,
    lengths: Vec<u32>,
}

impl Profiles {
    fn new<'a, T: SearchableEntry + 'a>(
        entries: impl IntoIterator<Item = &'a T>,
        query: &Query,
    ) -> Self {
        let mut profiles = Self { terms: query.count, counts: Vec::new(), lengths: Vec::new() };
        for entry in entries {
            let start = profiles.counts.len();
            profiles.counts.resize(start + query.count, 0);
            let mut length = 0;
            for text in entry.texts().into_iter().flatten() {
                each_word(text, |word| {
                    length += 1;
                    if let Some(term) = query.term(word) {
                        profiles.counts[start + term] += 1;
                    }
                });
            }
            profiles.lengths.push(length);
        }
        profiles
    }

    fn rows(&self) -> impl Iterator<Item = (&[u32], f64)> {
        self.counts.chunks(self.terms).zip(self.lengths.iter().map(|length| f64::from(*length)))
    }

    /// The mean length, at least 1.
    #[expect(clippy::cast_precision_loss, reason = "a mean of lengths needs no exact count")]
    fn mean_length(&self) -> f64 {
        let total: f64 = self.lengths.iter().map(|length| f64::from(*length)).sum();
        (total / self.lengths.len().max(1) as f64).max(1.0)
    }

    /// The weight of each word: the rarer, the more it tells.
    #[expect(clippy::cast_precision_loss, reason = "a weight needs no exact count")]
    fn weights(&self) -> Vec<f64> {
        let all = self.lengths.len() as f64;
        let having = |term: usize| self.rows().filter(|(row, _)| row[term] > 0).count() as f64;
        (0..self.terms)
            .map(having)
            .map(|having| ((all - having + 0.5) / (having + 0.5)).ln_1p())
            .collect()
    }
}

/// Entries that share words with the text, best first; of those that fit equally well the newest first.
pub fn search<'a>(text: &str, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Hit> {
    rank(text, entries)
}

/// [`search`] over entries or their headers.
pub(crate) fn rank<'a, T: SearchableEntry + 'a>(
    text: &str,
    entries: impl IntoIterator<Item = &'a T>,
) -> Vec<Hit> {
    let query = Query::new(text);
    if query.count == 0 {
        return Vec::new();
    }
    let entries: Vec<&T> = entries.into_iter().collect();
    let profiles = Profiles::new(entries.iter().copied(), &query);
    let (weights, mean) = (profiles.weights(), profiles.mean_length());
    let mut hits: Vec<Hit> = profiles
        .rows()
        .enumerate()
        .map(|(index, (counts, length))| Hit {
            index,
            score: score(counts, length, &weights, mean),
        })
        .filter(|hit| hit.score > 0.0)
        .collect();
    let age = |hit: &Hit| {
        let facts = entries[hit.index].facts();
        (facts.created_at, facts.id)
    };
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| age(b).cmp(&age(a))));
    hits
}

fn score(counts: &[u32], length: f64, weights: &[f64], mean: f64) -> f64 {
    let damping = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length / mean);
    counts
        .iter()
        .zip(weights)
        .map(|(count, weight)| {
            let count = f64::from(*count);
            weight * count * (SATURATION + 1.0) / (count + damping)
        })
        .sum()
}

/// Past entries like the one being created: ended ones only, falsified before the others, each
/// group best first, none of those already shown.
///
/// A single shared word is no likeness, and what is far behind the best one, shown or not, is none
/// either: an entry must reach a third of the best score.
pub fn similar<'a>(
    entry: &Entry,
    past: &'a [Entry],
    shown: &[String],
    limit: usize,
) -> Vec<&'a Entry> {
    let alike = similar_places(entry, &past.iter().collect::<Vec<_>>(), shown, limit);
    alike.into_iter().filter_map(|place| past.get(place)).collect()
}

/// [`similar`] over entries or their headers; returns indices.
pub(crate) fn similar_places<T: SearchableEntry>(
    entry: &Entry,
    past: &[&T],
    shown: &[String],
    limit: usize,
) -> Vec<usize> {
    let text = format!("{} {}", entry.goal, entry.hypothesis);
    let ended = |other: &T| other.facts().id != entry.id && other.facts().status.is_some();
    let places: Vec<usize> = (0..past.len()).filter(|place| ended(past[*place])).collect();
    let hits = rank(&text, places.iter().map(|place| past[*place]));
    let least = hits.first().map_or(0.0, |best| best.score / 3.0);
    let wanted: HashSet<String> = words(&text).collect();
    let mut likely: Vec<usize> = hits
        .iter()
        .take_while(|hit| hit.score >= least)
        .map(|hit| places[hit.index])
        .filter(|place| !shown.iter().any(|id| id == past[*place].facts().id))
        .filter(|place| shares_two_words(&wanted, past[*place]))
        .collect();
    likely.sort_by_key(|place| past[*place].facts().status != Some(OutcomeStatus::Falsified));
    likely.truncate(limit);
    likely
}

fn shares_two_words<T: SearchableEntry>(wanted: &HashSet<String>, entry: &T) -> bool {
    let least = wanted.len().min(2);
    let texts = entry.texts();
    let shared: HashSet<String> =
        texts.into_iter().flatten().flat_map(words).filter(|word| wanted.contains(word)).collect();
    shared.len() >= least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entry, resolved};

    #[test]
    fn rare_words_count_more_than_common_ones() {
        let entries = [
            entry("a", "cache test fails", "the test is slow"),
            entry("b", "pagination test fails", "the offset is wrong"),
            entry("c", "test fails", "test fails test fails"),
        ];
        let hits = search("pagination test", &entries);
        assert_eq!(hits.iter().map(|hit| hit.index).collect::<Vec<_>>(), [1, 2, 0]);
        assert!(search("the of", &entries).is_empty());
        assert!(search("zebra", &entries).is_empty());
    }

    #[test]
    fn plain_text_has_the_same_words_either_way() {
        for text in ["", " a", "flaky_test: 3 of 4?", "x--y__z", "end.", "tab\tand\nline"] {
            let mut found = Vec::new();
            each_word(text, |word| found.push(word));
            assert_eq!(found, raw_words(text).collect::<Vec<_>>(), "{text:?}");
        }
    }

    #[test]
    fn words_match_whatever_their_case_or_alphabet() {
        let entries = [entry("a", "ÜBERLAUF im Puffer", "HTTP2 stream")];
        assert_eq!(search("überlauf", &entries).len(), 1);
        assert_eq!(search("http2", &entries).len(), 1);
    }

    #[test]
    fn similar_puts_falsified_first_and_never_repeats() {
        let past = [
            resolved(entry("good", "fix flaky cache test", "timing"), OutcomeStatus::Confirmed),
            resolved(entry("bad", "fix flaky cache", "pollution"), OutcomeStatus::Falsified),
            resolved(
                entry("other", "write documentation", "nobody reads"),
                OutcomeStatus::Falsified,
            ),
            entry("open", "fix flaky cache test", "still active"),
        ];
        let new = entry("new", "flaky cache test again", "order of tests");
        let ids = |shown: &[String]| {
            similar(&new, &past, shown, 3).iter().map(|e| e.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&[]), ["bad", "good"]);
        assert_eq!(ids(&["bad".to_owned()]), ["good"]);
    }
}
