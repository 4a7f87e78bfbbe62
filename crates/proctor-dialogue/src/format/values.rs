//! Two small values of scenario files: notes that are inherited, and lengths of time.

use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// Text that replaces what an outer group says, or notes that are added to it.
#[derive(Debug, Clone, PartialEq)]
pub enum Notes {
    /// One text: it replaces.
    Text(String),
    /// A list: it is added to an outer list, and replaces an outer text.
    List(Vec<String>),
}

impl Notes {
    /// What holds when these notes stand inside the outer ones.
    #[must_use]
    pub fn inside(&self, outer: Option<&Self>) -> Self {
        match (outer, self) {
            (Some(Self::List(outer)), Self::List(inner)) => {
                Self::List(outer.iter().chain(inner).cloned().collect())
            }
            _ => self.clone(),
        }
    }

    /// One line a note.
    pub fn lines(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::List(notes) => notes.iter().map(String::as_str).collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Notes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Notes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Notes, E> {
                Ok(Notes::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Notes, A::Error> {
                let mut notes = Vec::new();
                while let Some(note) = items.next_element()? {
                    notes.push(note);
                }
                Ok(Notes::List(notes))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl JsonSchema for Notes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Notes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "string", "description": "replaces what an outer group says"},
            {"type": "array", "items": {"type": "string"}, "description": "added to an outer list"},
        ]})
    }
}

/// A length of time: `500ms`, `30s`, `2m`, or a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeSpan(pub Duration);

impl TimeSpan {
    /// Whether it is no time at all: as a limit it would always be exceeded.
    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (number, unit) = match text.find(|letter: char| letter.is_ascii_alphabetic()) {
            Some(index) => text.split_at(index),
            None => (text, "s"),
        };
        let number: f64 = number.trim().parse().ok()?;
        let seconds = match unit {
            "ms" => number / 1000.0,
            "s" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3600.0,
            _ => return None,
        };
        Duration::try_from_secs_f64(seconds).ok().map(Self)
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(format!("`{text}` is not a length of time; write 500ms, 30s or 2m"))
        })
    }
}

impl JsonSchema for TimeSpan {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimeSpan".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number"],
            "minimum": 0,
            "pattern": r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ms|s|m|min|h)?\s*$",
            "description": "500ms, 30s, 2m, or a number of seconds",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_have_units() {
        let millis = |text| TimeSpan::parse(text).map(|span| span.0.as_millis());
        assert_eq!(millis("500ms"), Some(500));
        assert_eq!(millis("2 m"), Some(120_000));
        assert_eq!(millis("1.5"), Some(1500));
        assert_eq!(millis("soon"), None);
        assert_eq!(millis("-1s"), None);
    }

    #[test]
    fn a_list_adds_to_a_list_and_a_text_replaces() {
        let list = |notes: &[&str]| Notes::List(notes.iter().map(|&note| note.into()).collect());
        let text = Notes::Text("new".into());
        assert_eq!(list(&["b"]).inside(Some(&list(&["a"]))), list(&["a", "b"]));
        assert_eq!(list(&["b"]).inside(Some(&text)), list(&["b"]));
        assert_eq!(text.inside(Some(&list(&["a"]))), text);
        assert_eq!(text.inside(None).lines(), ["new"]);
    }
}
