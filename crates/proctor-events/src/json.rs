//! Two small value types: JSON kept as the text it was, and a duration in milliseconds.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// A JSON value that keeps its exact text.
///
/// Arguments, results and metadata belong to other people's programs. A number such as
/// `12345678901234567890.10` must come out of a recording as it went in, so it is never parsed
/// into a float on the way.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Serialises any value.
    pub fn new(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        to_raw_value(value).map(Self)
    }

    /// The JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Parses the text into a tree. Text inside a [`Json`] is valid, so this gives `null` only for `null`.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }
}

impl Default for Json {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self::new(&value).unwrap_or_default()
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

/// A duration in milliseconds with microsecond resolution, written as a plain JSON number.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Millis(f64);

impl Millis {
    /// From a number of milliseconds, rounded to whole microseconds; negative and non-finite become zero. Numbers so large that a float
    /// cannot tell microseconds apart (300 years) stay as they are: rounding them would give another number each time one is read.
    pub fn new(millis: f64) -> Self {
        if millis.is_finite() && millis >= 9.0e12 {
            Self(millis)
        } else if millis.is_finite() && millis > 0.0 {
            Self((millis * 1000.0).round() / 1000.0)
        } else {
            Self(0.0)
        }
    }

    /// From a number of seconds.
    pub fn from_seconds(seconds: f64) -> Self {
        Self::new(seconds * 1000.0)
    }

    /// The number of milliseconds.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The number of seconds.
    pub fn seconds(self) -> f64 {
        self.0 / 1000.0
    }
}

impl From<std::time::Duration> for Millis {
    fn from(duration: std::time::Duration) -> Self {
        Self::from_seconds(duration.as_secs_f64())
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is whole, positive and below 2^53 on this path"
        )]
        if self.0.fract() == 0.0 && self.0 < 9.0e15 {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::new)
    }
}

impl JsonSchema for Millis {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Millis".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "description": "milliseconds"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_numbers_that_no_float_can_hold() {
        let text = r#"{"a":12345678901234567890123.10,"b":1e400}"#;
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    #[test]
    fn millis_are_whole_numbers_when_they_can_be() {
        assert_eq!(serde_json::to_string(&Millis::new(4523.0)).unwrap(), "4523");
        assert_eq!(serde_json::to_string(&Millis::new(0.062_518)).unwrap(), "0.063");
        assert_eq!(serde_json::to_string(&Millis::new(f64::NAN)).unwrap(), "0");
        assert_eq!(Millis::from_seconds(2.34), Millis::new(2340.0));
    }

    #[test]
    fn millis_are_read_again_as_the_same() {
        for millis in [0.0005, 0.1, 1.0 / 3.0, 8.9e12, 9.1e12, 4.444_444_444_444_445e44, f64::MAX] {
            let first = Millis::new(millis);
            assert_eq!(Millis::new(first.get()), first, "{millis}");
            let text = serde_json::to_string(&first).unwrap();
            assert_eq!(serde_json::from_str::<Millis>(&text).unwrap(), first, "{text}");
        }
    }
}
