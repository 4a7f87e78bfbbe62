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

impl ExampleFilter {
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
