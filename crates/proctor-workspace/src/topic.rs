//! Topic patterns: segments separated by dots. `*` stands for one segment, a lone `*` for every topic, `**`
//! for any number of segments. Everything else is a literal segment; what looks like another pattern
//! language is refused, because it would match nothing and say nothing. Pure.
//!
//! The orchestrator knows the first two rules and takes `**` in a hat's trigger for a literal segment;
//! `trigger_matches` is its rule, [`TopicPattern`] ours.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What may stand in a literal segment beside letters and digits.
const PUNCTUATION: &str = "_-:/@+#";

/// What is allowed, for error messages.
const ALLOWED: &str = "allowed are segments of letters, digits and _-:/@+#, separated by dots; `*` for exactly one \
                       segment, `**` for any number, a lone `*` for every topic";

/// A text that is not a topic pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a topic pattern: {problem}; {ALLOWED}")]
pub struct TopicPatternError {
    /// The text, at most 200 characters of it.
    pub text: String,
    /// What is wrong with it, with the segment's number.
    pub problem: String,
}

/// A checked topic pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TopicPattern(String);

impl TopicPattern {
    /// Checks a pattern.
    pub fn parse(text: &str) -> Result<Self, TopicPatternError> {
        let error = |problem: String| TopicPatternError {
            text: proctor_text::truncate(text, 200),
            problem,
        };
        if text.is_empty() {
            return Err(error("it is empty".to_owned()));
        }
        for (index, segment) in text.split('.').enumerate() {
            check_segment(segment)
                .map_err(|problem| error(format!("segment {} {problem}", index + 1)))?;
        }
        Ok(Self(text.to_owned()))
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for one topic only.
    pub fn is_literal(&self) -> bool {
        !self.0.contains('*')
    }

    /// Whether a topic matches.
    pub fn matches(&self, topic: &str) -> bool {
        overlap(&self.segments(), &literals(topic))
    }

    /// Whether some topic matches both this pattern and a hat's trigger.
    pub(crate) fn overlaps_trigger(&self, trigger: &str) -> bool {
        overlap(&self.segments(), &trigger_segments(trigger))
    }

    fn segments(&self) -> Vec<Segment<'_>> {
        match self.0.as_str() {
            "*" => vec![Segment::Any],
            text => text.split('.').map(Segment::of_pattern).collect(),
        }
    }
}

fn check_segment(segment: &str) -> Result<(), String> {
    let allowed = |letter: &char| letter.is_alphanumeric() || PUNCTUATION.contains(*letter);
    match segment {
        "" => Err("is empty".to_owned()),
        "*" | "**" => Ok(()),
        _ if segment.contains('*') => {
            let shown = proctor_text::truncate(segment, 60);
            Err(format!("({shown:?}) mixes `*` with other characters"))
        }
        _ => match segment.chars().find(|letter| !allowed(letter)) {
            Some(letter) => Err(format!("contains {letter:?}")),
            None => Ok(()),
        },
    }
}

impl fmt::Display for TopicPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TopicPattern {
    type Error = TopicPatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<TopicPattern> for String {
    fn from(pattern: TopicPattern) -> Self {
        pattern.0
    }
}

impl JsonSchema for TopicPattern {
    fn schema_name() -> Cow<'static, str> {
        "TopicPattern".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "description": "Segments separated by dots: `*` is one segment, `**` any number, a lone `*` every topic.",
        })
    }
}

/// Whether a hat with this trigger gets a topic, by the orchestrator's rule: `**` is a literal segment.
pub(crate) fn trigger_matches(trigger: &str, topic: &str) -> bool {
    overlap(&trigger_segments(trigger), &literals(topic))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segment<'a> {
    Literal(&'a str),
    /// Exactly one segment.
    One,
    /// Any number of segments.
    Any,
}

impl<'a> Segment<'a> {
    fn of_pattern(text: &'a str) -> Self {
        match text {
            "*" => Self::One,
            "**" => Self::Any,
            _ => Self::Literal(text),
        }
    }

    /// Whether one segment of a topic can be both.
    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::Literal(left), Self::Literal(right)) => left == right,
            _ => true,
        }
    }
}

fn literals(topic: &str) -> Vec<Segment<'_>> {
    topic.split('.').map(Segment::Literal).collect()
}

fn trigger_segments(trigger: &str) -> Vec<Segment<'_>> {
    let segment = |text| if text == "*" { Segment::One } else { Segment::Literal(text) };
    match trigger {
        "*" => vec![Segment::Any],
        _ => trigger.split('.').map(segment).collect(),
    }
}

/// Whether some topic matches both. Row by row over the left segments: `reached[n]` says that what was read
/// of the left and the first `n` segments of the right have a topic in common.
fn overlap(left: &[Segment<'_>], right: &[Segment<'_>]) -> bool {
    let mut reached = vec![false; right.len() + 1];
    reached[0] = true;
    extend_over_any(&mut reached, right);
    for segment in left {
        let mut next = vec![false; right.len() + 1];
        for n in (0..reached.len()).filter(|n| reached[*n]) {
            // A left `**` may stand for nothing; a right one takes in the segment and stays.
            next[n] |= *segment == Segment::Any || right.get(n) == Some(&Segment::Any);
            if right.get(n).is_some_and(|other| segment.meets(*other)) {
                next[n + 1] = true;
            }
        }
        if *segment == Segment::Any {
            // It takes in everything that follows, too.
            if let Some(first) = next.iter().position(|reached| *reached) {
                next[first..].fill(true);
            }
        }
        extend_over_any(&mut next, right);
        reached = next;
    }
    reached[right.len()]
}

/// `**` on the right may stand for nothing.
fn extend_over_any(reached: &mut [bool], right: &[Segment<'_>]) {
    for (n, segment) in right.iter().enumerate() {
        reached[n + 1] |= reached[n] && *segment == Segment::Any;
    }
}

#[cfg(test)]
mod tests;
