//! Matchers for numbers and for the arguments of tool calls.
//!
//! A plain value must be equal. A mapping whose keys are all operators (`matches`, `at_least`, `absent` …)
//! is a condition; any other mapping looks into a nested object. `equals` takes a value literally.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::shorthand::Pattern;

/// What an argument must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Matcher {
    /// Exactly this value; numbers are compared as numbers.
    Equals(Value),
    /// All of these conditions.
    All(Vec<Condition>),
    /// An object whose named members match; others may be there.
    Nested(Vec<(String, Matcher)>),
}

/// One condition on a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Equal to this.
    Equals(Value),
    /// Text in which the pattern occurs.
    Matches(Pattern),
    /// Text or list that contains this.
    Contains(Value),
    /// One of these values.
    AnyOf(Vec<Value>),
    /// A number of at least this.
    AtLeast(f64),
    /// A number of at most this.
    AtMost(f64),
    /// A number above this.
    Above(f64),
    /// A number below this.
    Below(f64),
    /// Whether there is such a value at all.
    Present(bool),
}

const OPERATORS: &[&str] = &[
    "equals", "matches", "contains", "any_of", "at_least", "at_most", "above", "below", "present",
    "absent",
];

impl Matcher {
    /// Reads a matcher from its written form.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let Value::Object(map) = value else { return Ok(Self::Equals(value.clone())) };
        if !map.is_empty() && map.keys().all(|key| OPERATORS.contains(&key.as_str())) {
            let conditions = map.iter().map(|(key, operand)| Condition::read(key, operand));
            return conditions.collect::<Result<_, _>>().map(Self::All);
        }
        let nested = map.iter().map(|(key, inner)| Ok((key.clone(), Self::from_value(inner)?)));
        nested.collect::<Result<_, String>>().map(Self::Nested)
    }

    /// Whether a value, or its absence, matches.
    pub fn accepts(&self, actual: Option<&Value>) -> bool {
        match self {
            Self::Equals(expected) => actual.is_some_and(|actual| same(expected, actual)),
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(actual)),
            Self::Nested(members) => members
                .iter()
                .all(|(name, matcher)| matcher.accepts(actual.and_then(|actual| actual.get(name)))),
        }
    }
}

impl Condition {
    fn read(operator: &str, operand: &Value) -> Result<Self, String> {
        let number = || {
            operand.as_f64().ok_or_else(|| format!("`{operator}` needs a number, not {operand}"))
        };
        let flag = || operand.as_bool().ok_or_else(|| format!("`{operator}` needs true or false"));
        Ok(match operator {
            "matches" => {
                let source = operand.as_str().ok_or("`matches` needs a regular expression")?;
                Self::Matches(Pattern::new(source)?)
            }
            "contains" => Self::Contains(operand.clone()),
            "any_of" => Self::AnyOf(operand.as_array().ok_or("`any_of` needs a list")?.clone()),
            "at_least" => Self::AtLeast(number()?),
            "at_most" => Self::AtMost(number()?),
            "above" => Self::Above(number()?),
            "below" => Self::Below(number()?),
            "present" => Self::Present(flag()?),
            "absent" => Self::Present(!flag()?),
            _ => Self::Equals(operand.clone()),
        })
    }

    fn holds(&self, actual: Option<&Value>) -> bool {
        let number = |test: &dyn Fn(f64) -> bool| actual.and_then(Value::as_f64).is_some_and(test);
        match self {
            Self::Equals(expected) => actual.is_some_and(|actual| same(expected, actual)),
            Self::Matches(pattern) => match actual {
                Some(Value::String(text)) => pattern.occurs_in(text),
                Some(Value::Number(number)) => pattern.occurs_in(&number.to_string()),
                _ => false,
            },
            Self::Contains(part) => contains(actual, part),
            Self::AnyOf(values) => {
                actual.is_some_and(|actual| values.iter().any(|value| same(value, actual)))
            }
            Self::AtLeast(limit) => number(&|value| value >= *limit),
            Self::AtMost(limit) => number(&|value| value <= *limit),
            Self::Above(limit) => number(&|value| value > *limit),
            Self::Below(limit) => number(&|value| value < *limit),
            Self::Present(wanted) => actual.is_some_and(|value| !value.is_null()) == *wanted,
        }
    }
}

fn contains(actual: Option<&Value>, part: &Value) -> bool {
    match (actual, part) {
        (Some(Value::String(text)), Value::String(part)) => text.contains(part.as_str()),
        (Some(Value::Array(items)), part) => items.iter().any(|item| same(item, part)),
        _ => false,
    }
}

/// Equality in which `50` and `50.0` are the same number, at any depth.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(value) => write!(f, "{value}"),
            Self::All(conditions) => {
                let shown: Vec<String> = conditions.iter().map(ToString::to_string).collect();
                f.write_str(&shown.join(" and "))
            }
            Self::Nested(members) => {
                let shown: Vec<String> =
                    members.iter().map(|(name, matcher)| format!("{name}: {matcher}")).collect();
                write!(f, "{{{}}}", shown.join(", "))
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(value) => write!(f, "{value}"),
            Self::Matches(pattern) => write!(f, "matching /{}/", pattern.source()),
            Self::Contains(value) => write!(f, "containing {value}"),
            Self::AnyOf(values) => write!(f, "any of {}", Value::from(values.clone())),
            Self::AtLeast(limit) => write!(f, "at least {limit}"),
            Self::AtMost(limit) => write!(f, "at most {limit}"),
            Self::Above(limit) => write!(f, "above {limit}"),
            Self::Below(limit) => write!(f, "below {limit}"),
            Self::Present(true) => f.write_str("present"),
            Self::Present(false) => f.write_str("absent"),
        }
    }
}

impl<'de> Deserialize<'de> for Matcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for Matcher {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Matcher".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A value that must be equal, conditions (equals, matches, contains, any_of, \
                at_least, at_most, above, below, present, absent), or nested members.",
        })
    }
}

/// What a number must be: a number, or conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberMatcher(Matcher);

impl NumberMatcher {
    /// Whether a number matches.
    pub fn accepts(&self, actual: f64) -> bool {
        self.0.accepts(Some(&Value::from(actual)))
    }
}

impl fmt::Display for NumberMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for NumberMatcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let matcher = Matcher::deserialize(deserializer)?;
        let numeric = match &matcher {
            Matcher::Equals(value) => value.is_number(),
            Matcher::All(conditions) => conditions.iter().all(|condition| {
                !matches!(
                    condition,
                    Condition::Matches(_) | Condition::Contains(_) | Condition::Present(_)
                )
            }),
            Matcher::Nested(_) => false,
        };
        if numeric {
            return Ok(Self(matcher));
        }
        Err(de::Error::custom(
            "expected a number, or `at_least`, `at_most`, `above`, `below`, `equals`, `any_of`",
        ))
    }
}

impl JsonSchema for NumberMatcher {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NumberMatcher".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({"type": "number"});
        let mut properties = Map::new();
        for name in ["equals", "at_least", "at_most", "above", "below"] {
            properties.insert(name.into(), number.clone().into());
        }
        properties.insert("any_of".into(), serde_json::json!({"type": "array", "items": number}));
        json_schema!({"anyOf": [
            number,
            {"type": "object", "properties": properties, "additionalProperties": false},
        ]})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "literals read better at the call")]
    fn accepts(matcher: Value, actual: Value) -> bool {
        Matcher::from_value(&matcher).unwrap().accepts(Some(&actual))
    }

    #[test]
    fn plain_values_are_equal_and_numbers_are_numbers() {
        assert!(accepts(json!(50), json!(50.0)));
        assert!(accepts(json!([1, {"a": 2}]), json!([1.0, {"a": 2.0}])));
        assert!(!accepts(json!(50), json!("50")));
        assert!(!accepts(json!("a"), json!("ab")));
    }

    #[test]
    fn conditions_combine() {
        assert!(accepts(json!({"at_least": 1, "below": 3}), json!(2)));
        assert!(!accepts(json!({"at_least": 1, "below": 3}), json!(3)));
        assert!(accepts(json!({"matches": "(?i)^rom"}), json!("Rome")));
        assert!(accepts(json!({"any_of": ["a", "b"]}), json!("b")));
        assert!(accepts(json!({"contains": 2}), json!([1, 2])));
        assert!(accepts(json!({"equals": {"below": 1}}), json!({"below": 1})));
    }

    #[test]
    fn nested_members_and_absence() {
        let matcher = json!({"venue": {"city": {"matches": "^B"}, "note": {"absent": true}}});
        assert!(accepts(matcher.clone(), json!({"venue": {"city": "Berlin", "more": 1}})));
        assert!(accepts(matcher.clone(), json!({"venue": {"city": "Bern", "note": null}})));
        assert!(!accepts(matcher.clone(), json!({"venue": {"city": "Bern", "note": "x"}})));
        assert!(!accepts(matcher, json!({})));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(Matcher::from_value(&json!({"at_least": "x"})).unwrap_err().contains("number"));
        assert!(Matcher::from_value(&json!({"matches": "("})).is_err());
        assert!(serde_json::from_str::<NumberMatcher>("\"x\"").is_err());
        assert!(serde_json::from_str::<NumberMatcher>("{\"at_most\": 3}").unwrap().accepts(3.0));
    }

    #[test]
    fn reads_aloud() {
        let matcher = Matcher::from_value(&json!({"n": {"at_least": 2, "below": 9}, "s": "x"}));
        assert_eq!(matcher.unwrap().to_string(), r#"{n: at least 2 and below 9, s: "x"}"#);
    }
}
