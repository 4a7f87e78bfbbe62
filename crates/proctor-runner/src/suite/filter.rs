//! Choosing among the examples that a suite lists.

use regex::Regex;

use crate::example::Example;

/// Which examples take part.
#[derive(Debug, Clone, Default)]
pub struct ExampleFilter {
    /// Those whose description contains one of these.
    pub texts: Vec<String>,
    /// Those whose description matches one of these.
    pub patterns: Vec<Regex>,
    /// Those with one of these tags.
    pub tags: Vec<String>,
    /// Those with none of these tags.
    pub without_tags: Vec<String>,
}

/// A pattern that is not a regular expression.
#[derive(Debug, thiserror::Error)]
#[error("--example {text}: {source}")]
pub struct BadPattern {
    /// The pattern as it was typed, with its slashes.
    pub text: String,
    /// What is wrong with it.
    pub source: regex::Error,
}

/// The regular expression in `/REGEX/`; `None` for plain text.
pub(super) fn pattern_in(text: &str) -> Option<&str> {
    let pattern = text.strip_prefix('/')?.strip_suffix('/')?;
    (!pattern.is_empty()).then_some(pattern)
}

impl ExampleFilter {
    /// A filter from what was typed: texts or `/REGEX/`, and tags or `~tag` for those to leave out.
    pub fn from_words(examples: &[String], tags: &[String]) -> Result<Self, BadPattern> {
        let mut filter = Self::default();
        for text in examples {
            let Some(pattern) = pattern_in(text) else {
                filter.texts.push(text.clone());
                continue;
            };
            let pattern =
                Regex::new(pattern).map_err(|source| BadPattern { text: text.clone(), source })?;
            filter.patterns.push(pattern);
        }
        for tag in tags {
            match tag.strip_prefix('~') {
                Some(tag) => filter.without_tags.push(tag.to_owned()),
                None => filter.tags.push(tag.clone()),
            }
        }
        Ok(filter)
    }

    pub(super) fn accepts(&self, example: &Example) -> bool {
        let described = self.texts.is_empty() && self.patterns.is_empty()
            || self.texts.iter().any(|text| example.full_description.contains(text.as_str()))
            || self.patterns.iter().any(|pattern| pattern.is_match(&example.full_description));
        let has = |tag: &String| example.tags.contains(tag);
        described
            && (self.tags.is_empty() || self.tags.iter().any(has))
            && !self.without_tags.iter().any(has)
    }
}
