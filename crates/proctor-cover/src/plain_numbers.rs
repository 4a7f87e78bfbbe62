//! JSON values written as YAML.
//!
//! `serde_json` keeps the digits of its numbers and hands them to other serializers as a struct of its own, which YAML
//! would show. These functions hand them over as plain numbers instead; for `#[serde(serialize_with = …)]`.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

/// A value whose numbers are plain.
pub(crate) struct PlainNumbers<'a>(pub(crate) &'a Value);

impl Serialize for PlainNumbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => number_in(number, serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(PlainNumbers)),
            Value::Object(members) => serializer
                .collect_map(members.iter().map(|(name, value)| (name, PlainNumbers(value)))),
            other => other.serialize(serializer),
        }
    }
}

fn number_in<S: Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    if let Some(whole) = number.as_i64() {
        return serializer.serialize_i64(whole);
    }
    if let Some(whole) = number.as_u64() {
        return serializer.serialize_u64(whole);
    }
    match number.as_f64() {
        Some(float) => serializer.serialize_f64(float),
        None => serializer.serialize_str(&number.to_string()),
    }
}

pub(crate) fn value<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    PlainNumbers(value).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde asks for this signature")]
pub(crate) fn optional<S: Serializer>(
    value: &Option<Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().map(PlainNumbers).serialize(serializer)
}

pub(crate) fn map<S: Serializer>(
    map: &BTreeMap<String, Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter().map(|(name, value)| (name, PlainNumbers(value))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_json_are_numbers_of_yaml() {
        let value = json!({"list": [1, -2, 2.5], "text": "x"});
        let text = serde_saphyr::to_string(&PlainNumbers(&value)).unwrap();
        assert!(!text.contains("serde_json"), "{text}");
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value);
    }
}
