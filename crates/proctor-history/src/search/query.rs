//! What is looked for: words, "phrases of words", /regular expressions/, and `by:` with who said it.
//!
//! `web/src/model/query.ts` reads queries by the same rules; `web/test/queries.json` holds both to the same examples.

use std::ops::Range;

use memchr::{memchr, memrchr};
use regex::RegexBuilder;
use regex::bytes::{Regex as LineRegex, RegexBuilder as LineRegexBuilder};

use super::TextKind;

/// How much memory a compiled expression may take.
const REGEX_SIZE: usize = 1 << 20;

/// Characters of context on each side of a match.
const EXCERPT_CONTEXT: usize = 60;

/// A writer may have escaped what need not be; such lines are parsed to see what they say.
const ESCAPE: &str = r"\\u";

/// Who `by:` may name, and the texts that are theirs.
const SPEAKERS: &[(&str, TextKind)] = &[
    ("title", TextKind::Title),
    ("user", TextKind::User),
    ("agent", TextKind::Agent),
    ("tool", TextKind::Tool),
    ("judge", TextKind::Evaluation),
    ("check", TextKind::Evaluation),
    ("failure", TextKind::Failure),
    ("output", TextKind::Output),
];

/// Why a query cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// `by:` names nobody.
    #[error("by:{name} names nobody; there are {known}", name = .0, known = speakers())]
    UnknownSpeaker(String),
    /// The expression is malformed, or too large.
    #[error("/{0}/ is not a regular expression: {1}")]
    MalformedRegex(String, String),
}

fn speakers() -> String {
    SPEAKERS.iter().map(|(name, _)| format!("by:{name}")).collect::<Vec<_>>().join(", ")
}

/// One thing that must occur in a text.
#[derive(Debug)]
enum Term {
    /// In lower case.
    Word(String),
    /// A phrase or an expression.
    Pattern(regex::Regex),
}

/// What is looked for. All terms must occur in the same text; case does not matter.
#[derive(Debug, Default)]
pub struct SearchQuery {
    terms: Vec<Term>,
    /// Whose texts are looked at; empty for all.
    kinds: Vec<TextKind>,
    /// What lines are told by, the longest word first; none where no word stands in JSON as it is.
    signs: Vec<LineRegex>,
}

impl SearchQuery {
    /// Reads a query. A single word in quotation marks is looked for with them.
    pub fn parse(query: &str) -> Result<Self, QueryError> {
        let mut read = Self::default();
        let mut plain: Vec<String> = Vec::new();
        for part in parts(query) {
            match part {
                Part::Phrase(text) => {
                    let words: Vec<&str> = text.split_whitespace().collect();
                    let pattern: Vec<String> =
                        words.iter().map(|word| regex::escape(word)).collect();
                    read.terms.push(Term::Pattern(pattern_of(text, &pattern.join(r"\s+"))?));
                    plain.extend(words.into_iter().map(str::to_lowercase));
                }
                Part::Regex(text) => read.terms.push(Term::Pattern(pattern_of(text, text)?)),
                Part::Word(text) => {
                    let names = text.strip_prefix("by:").filter(|names| !names.is_empty());
                    if let Some(names) = names {
                        read.kinds.extend(kinds_of(names)?);
                        continue;
                    }
                    let word = text.to_lowercase();
                    plain.push(word.clone());
                    read.terms.push(Term::Word(word));
                }
            }
        }
        read.signs = signs_of(plain);
        Ok(read)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub(super) fn looks_at(&self, kind: TextKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// The places of lines that may contain all words.
    pub(super) fn candidates<'a>(&'a self, chunk: &'a [u8]) -> impl Iterator<Item = Range<usize>> {
        let mut from = 0;
        let next = move || {
            let rest = chunk.get(from..).filter(|rest| !rest.is_empty())?;
            let place = match self.signs.first() {
                Some(sign) => from + sign.find(rest)?.start(),
                None => from,
            };
            let line = line_around(chunk, place);
            from = line.end;
            Some(line)
        };
        let has_all = |line: &Range<usize>| {
            self.signs.iter().skip(1).all(|sign| sign.is_match(&chunk[line.clone()]))
        };
        std::iter::from_fn(next).filter(has_all)
    }

    /// The surroundings of the first term, if all terms are there.
    pub(super) fn excerpt(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        let mut places = self.terms.iter().map(|term| term.find(text, &lower));
        let (before, length) = places.next()??;
        if !places.all(|place| place.is_some()) {
            return None;
        }
        let start = before.saturating_sub(EXCERPT_CONTEXT);
        let shown = EXCERPT_CONTEXT * 2 + length.min(EXCERPT_CONTEXT * 2);
        let part: String = text.chars().skip(start).take(shown).collect();
        let squeezed = part.split_whitespace().collect::<Vec<_>>().join(" ");
        let more = text.chars().nth(start + shown).is_some();
        let (left, right) = (if start > 0 { "…" } else { "" }, if more { "…" } else { "" });
        Some(format!("{left}{squeezed}{right}"))
    }
}

impl Term {
    /// Where it begins, and how long it is, in characters: lower case can have other lengths in bytes.
    fn find(&self, text: &str, lower: &str) -> Option<(usize, usize)> {
        match self {
            Self::Word(word) => {
                let place = lower.find(word)?;
                Some((lower[..place].chars().count(), word.chars().count()))
            }
            Self::Pattern(pattern) => {
                let found = pattern.find(text)?;
                Some((text[..found.start()].chars().count(), found.as_str().chars().count()))
            }
        }
    }
}

enum Part<'a> {
    Word(&'a str),
    Phrase(&'a str),
    Regex(&'a str),
}

/// The parts of a query, in order.
fn parts(query: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = query;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let enclosed = closed_phrase(rest).or_else(|| closed_regex(rest));
        let (part, length) = enclosed.unwrap_or_else(|| {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (Part::Word(&rest[..end]), end)
        });
        rest = &rest[length..];
        Some(part)
    })
}

/// A phrase of several words at the beginning of the text, and how many bytes it takes with its marks.
fn closed_phrase(text: &str) -> Option<(Part<'_>, usize)> {
    let inner = text.strip_prefix('"')?;
    let phrase = &inner[..inner.find('"')?];
    let ends = inner[phrase.len() + 1..].chars().next().is_none_or(char::is_whitespace);
    let several = phrase.split_whitespace().nth(1).is_some();
    (ends && several).then_some((Part::Phrase(phrase), phrase.len() + 2))
}

/// An expression at the beginning of the text, up to the first `/` that ends a word and is not escaped.
fn closed_regex(text: &str) -> Option<(Part<'_>, usize)> {
    let inner = text.strip_prefix('/')?;
    let mut escaped = false;
    for (place, character) in inner.char_indices() {
        let ends =
            inner[place + character.len_utf8()..].chars().next().is_none_or(char::is_whitespace);
        if character == '/' && !escaped && ends && place > 0 {
            return Some((Part::Regex(&inner[..place]), place + 2));
        }
        escaped = character == '\\' && !escaped;
    }
    None
}

fn pattern_of(text: &str, pattern: &str) -> Result<regex::Regex, QueryError> {
    let compiled = RegexBuilder::new(pattern)
        .case_insensitive(true)
        .multi_line(true)
        .size_limit(REGEX_SIZE)
        .build();
    compiled.map_err(|error| {
        let message = match error {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            // The last line says what is wrong; the ones before it draw where.
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                last.trim_start_matches("error: ").to_owned()
            }
        };
        QueryError::MalformedRegex(text.to_owned(), message)
    })
}

fn kinds_of(names: &str) -> Result<Vec<TextKind>, QueryError> {
    let kind = |name: &str| {
        let known = SPEAKERS.iter().find(|(speaker, _)| speaker.eq_ignore_ascii_case(name));
        known.map(|(_, kind)| *kind).ok_or_else(|| QueryError::UnknownSpeaker(name.to_owned()))
    };
    names.split(',').map(kind).collect()
}

fn signs_of(words: Vec<String>) -> Vec<LineRegex> {
    let stands_as_it_is = |word: &String| {
        word.chars().all(|c| {
            c.is_alphanumeric() || (c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '/'))
        })
    };
    let mut plain: Vec<String> = words.into_iter().filter(stands_as_it_is).collect();
    plain.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let sign = |word: &String| {
        let pattern = format!("{}|{ESCAPE}", regex::escape(word));
        // Letters beyond ASCII have other cases than bytes have.
        let unicode = !word.is_ascii();
        LineRegexBuilder::new(&pattern).case_insensitive(true).unicode(unicode).build().ok()
    };
    plain.iter().filter_map(sign).collect()
}

/// The line in which a place lies, its end included.
pub(super) fn line_around(text: &[u8], place: usize) -> Range<usize> {
    let start = memrchr(b'\n', &text[..place]).map_or(0, |before| before + 1);
    let end = memchr(b'\n', &text[place..]).map_or(text.len(), |after| place + after + 1);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Examples {
        found: Vec<(String, String, bool)>,
        refused: Vec<(String, String)>,
    }

    /// The page reads queries of reports by itself.
    #[test]
    fn queries_say_what_they_say_on_the_page() {
        let text = include_str!("../../../../web/test/queries.json");
        let examples: Examples = serde_json::from_str(text).unwrap();
        for (query, text, expected) in examples.found {
            let found = SearchQuery::parse(&query).unwrap().excerpt(&text).is_some();
            assert_eq!(found, expected, "{query} in {text}");
        }
        for (query, part) in examples.refused {
            let message = SearchQuery::parse(&query).unwrap_err().to_string();
            assert!(message.contains(&part), "{query}: {message}");
        }
    }

    #[test]
    fn an_expression_that_would_take_too_much_is_refused() {
        let message = SearchQuery::parse(r"/(a{1000}){1000}/").unwrap_err().to_string();
        assert!(message.ends_with("it is too large"), "{message}");
    }
}
