//! Finding past entries by their words: BM25 over goal, hypothesis, surprise and lesson.
//!
//! No index is kept: scanning ten thousand entries takes milliseconds, and what is not stored
//! cannot drift from the files.

use std::collections::HashMap;

use crate::entry::Entry;
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

/// The texts of an entry that are searched.
fn texts(entry: &Entry) -> impl Iterator<Item = &str> {
    let lesson = entry.lesson.as_ref();
    [
        Some(entry.goal.as_str()),
        Some(entry.hypothesis.as_str()),
        entry.surprise.as_deref(),
        lesson.map(|lesson| lesson.what_worked.as_str()),
        lesson.and_then(|lesson| lesson.takeaway.as_deref()),
    ]
    .into_iter()
    .flatten()
}

/// An entry that was found, by its place among those searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Index into the entries that were searched.
    pub index: usize,
    /// How well it fits; only comparable within one search.
    pub score: f64,
}

/// The words looked for and in how many entries each occurs.
struct Query {
    terms: HashMap<String, usize>,
    count: usize,
    /// Lengths of the searched words, so that others need not be put in lower case.
    lengths: Vec<bool>,
}

impl Query {
    fn new(text: &str) -> Self {
        let mut terms = HashMap::new();
        let mut lengths = Vec::new();
        for word in words(text) {
            if lengths.len() <= word.len() {
                lengths.resize(word.len() + 1, false);
            }
            lengths[word.len()] = true;
            let next = terms.len();
            terms.entry(word).or_insert(next);
        }
        Self { count: terms.len(), terms, lengths }
    }

    fn term(&self, word: &str, buffer: &mut String) -> Option<usize> {
        if word.is_ascii() {
            if !self.lengths.get(word.len()).copied().unwrap_or(false) {
                return None;
            }
            buffer.clear();
            buffer.push_str(word);
            buffer.make_ascii_lowercase();
            return self.terms.get(buffer.as_str()).copied();
        }
        self.terms.get(&word.to_lowercase()).copied()
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
    fn new<'a>(entries: impl IntoIterator<Item = &'a Entry>, query: &Query) -> Self {
        let mut profiles = Self { terms: query.count, counts: Vec::new(), lengths: Vec::new() };
        let mut buffer = String::new();
        for entry in entries {
            let start = profiles.counts.len();
            profiles.counts.resize(start + query.count, 0);
            let mut length = 0;
            for word in texts(entry).flat_map(raw_words) {
                length += 1;
                if let Some(term) = query.term(word, &mut buffer) {
                    profiles.counts[start + term] += 1;
                }
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

/// Entries that share words with the text, best first. Entries that tie keep their order.
pub fn search<'a>(text: &str, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Hit> {
    let query = Query::new(text);
    if query.count == 0 {
        return Vec::new();
    }
    let profiles = Profiles::new(entries, &query);
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
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
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
    let text = format!("{} {}", entry.goal, entry.hypothesis);
    let candidates: Vec<&Entry> =
        past.iter().filter(|other| other.id != entry.id && other.outcome.is_some()).collect();
    let mut hits = search(&text, candidates.iter().copied());
    let least = hits.first().map_or(0.0, |best| best.score / 3.0);
    hits.retain(|hit| {
        let other = candidates[hit.index];
        hit.score >= least && !shown.contains(&other.id) && shares_two_words(&text, other)
    });
    let mut likely: Vec<&Entry> = hits.iter().map(|hit| candidates[hit.index]).collect();
    likely.sort_by_key(|other| other.status() != Some(OutcomeStatus::Falsified));
    likely.truncate(limit);
    likely
}

fn shares_two_words(text: &str, entry: &Entry) -> bool {
    let wanted: std::collections::HashSet<String> = words(text).collect();
    let least = wanted.len().min(2);
    let shared: std::collections::HashSet<String> =
        texts(entry).flat_map(words).filter(|word| wanted.contains(word)).collect();
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
