//! Matchers for numbers and for the arguments of tool calls.
//!
//! A plain value must be equal. A mapping whose keys are all operators (`matches`, `at_least`, `absent` …)
//! is a condition; any other mapping looks into a nested object. `equals` takes a value literally. Numbers are compared
//! by their value, digit for digit and at any size; see [`decimal`](crate::decimal).

use std::cmp::Ordering;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde_json::{Map, Number, Value, json};

use super::shorthand::{Pattern, PatternError};
use proctor_yaml::decimal::{compare, same};

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
    AtLeast(Number),
    /// A number of at most this.
    AtMost(Number),
    /// A number above this.
    Above(Number),
    /// A number below this.
    Below(Number),
    /// Whether there is such a value at all.
    Present(bool),
}

/// Why a written matcher is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum MatcherError {
    #[error("`{operator}` needs a number, not {operand}")]
    NotANumber { operator: String, operand: Value },
    #[error("`{operator}` needs true or false")]
    NotABoolean { operator: String },
    #[error("`matches` needs a regular expression")]
    NotAText,
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("`any_of` needs a list")]
    NotAList,
    #[error("`any_of` is an empty list: no value would match")]
    EmptyList,
}

const OPERATORS: &[&str] = &[
    "equals", "matches", "contains", "any_of", "at_least", "at_most", "above", "below", "present",
    "absent",
];

impl Matcher {
    /// Reads a matcher from its written form.
    pub fn from_value(value: &Value) -> Result<Self, MatcherError> {
        let Value::Object(map) = value else { return Ok(Self::Equals(value.clone())) };
        if !map.is_empty() && map.keys().all(|key| OPERATORS.contains(&key.as_str())) {
            let conditions = map.iter().map(|(key, operand)| Condition::read(key, operand));
            return conditions.collect::<Result<_, _>>().map(Self::All);
        }
        let nested = map.iter().map(|(key, inner)| Ok((key.clone(), Self::from_value(inner)?)));
        nested.collect::<Result<_, MatcherError>>().map(Self::Nested)
    }

    /// Whether a value, or its absence, matches.
    pub fn accepts(&self, actual: Option<&Value>) -> bool {
        match self {
            Self::Equals(expected) => actual.is_some_and(|actual| same(expected, actual)),
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(actual)),
            Self::Nested(members) => {
                let object = actual.is_none_or(|actual| actual.is_object() || actual.is_null());
                object
                    && members.iter().all(|(name, matcher)| {
                        matcher.accepts(actual.and_then(|actual| actual.get(name)))
                    })
            }
        }
    }
}

impl Condition {
    fn read(operator: &str, operand: &Value) -> Result<Self, MatcherError> {
        let number = || {
            operand.as_number().cloned().ok_or_else(|| MatcherError::NotANumber {
                operator: operator.to_owned(),
                operand: operand.clone(),
            })
        };
        let flag = || {
            let missing = || MatcherError::NotABoolean { operator: operator.to_owned() };
            operand.as_bool().ok_or_else(missing)
        };
        Ok(match operator {
            "matches" => {
                let source = operand.as_str().ok_or(MatcherError::NotAText)?;
                Self::Matches(Pattern::new(source)?)
            }
            "contains" => Self::Contains(operand.clone()),
            "any_of" => {
                let values = operand.as_array().ok_or(MatcherError::NotAList)?;
                if values.is_empty() {
                    return Err(MatcherError::EmptyList);
                }
                Self::AnyOf(values.clone())
            }
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
        let compared = |limit: &Number, wanted: fn(Ordering) -> bool| {
            let number = actual.and_then(Value::as_number);
            number.and_then(|number| compare(number, limit)).is_some_and(wanted)
        };
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
            Self::AtLeast(limit) => compared(limit, Ordering::is_ge),
            Self::AtMost(limit) => compared(limit, Ordering::is_le),
            Self::Above(limit) => compared(limit, Ordering::is_gt),
            Self::Below(limit) => compared(limit, Ordering::is_lt),
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

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let nested = generator.subschema_for::<Self>();
        let (number, flag) = (json!({"type": "number"}), json!({"type": "boolean"}));
        let conditions = json!({
            "matches": {"type": "string"},
            "any_of": {"type": "array", "minItems": 1},
            "at_least": number, "at_most": number, "above": number, "below": number,
            "present": flag, "absent": flag,
        });
        json_schema!({
            "description": "A value that must be equal, conditions (equals, matches, contains, any_of, \
                at_least, at_most, above, below, present, absent), or nested members.",
            "if": {"type": "object", "minProperties": 1, "propertyNames": {"enum": OPERATORS}},
            "then": {"properties": conditions},
            "else": {"additionalProperties": nested},
        })
    }
}

/// What a number must be: a number, or conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberMatcher(Matcher);

impl NumberMatcher {
    /// Whether a number matches.
    pub fn accepts(&self, actual: impl Into<Value>) -> bool {
        self.0.accepts(Some(&actual.into()))
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
        let numbers = match &matcher {
            Matcher::Equals(value) => value.as_number().map(|number| vec![number]),
            Matcher::All(conditions) => {
                let numbers: Option<Vec<_>> = conditions.iter().map(Condition::numbers).collect();
                numbers.map(|numbers| numbers.concat())
            }
            Matcher::Nested(_) => None,
        };
        let Some(numbers) = numbers else {
            return Err(de::Error::custom(
                "expected a number, or `at_least`, `at_most`, `above`, `below`, `equals`, `any_of`",
            ));
        };
        let negative = |number: &&&Number| compare(number, &0.into()).is_some_and(Ordering::is_lt);
        if let Some(number) = numbers.iter().find(negative) {
            let message = format!("{number} is below 0; a count, a time or a cost never is");
            return Err(de::Error::custom(message));
        }
        if let Matcher::All(conditions) = &matcher
            && let Some((lower, upper)) = crossed_bounds(conditions)
        {
            let message = format!("no number is both {lower} and {upper}");
            return Err(de::Error::custom(message));
        }
        Ok(Self(matcher))
    }
}

/// A lower and an upper bound between which there is no number.
fn crossed_bounds(conditions: &[Condition]) -> Option<(&Condition, &Condition)> {
    let empty_between = |lower: &Condition, upper: &Condition| {
        let (low, high, touching) = match (lower, upper) {
            (Condition::AtLeast(low), Condition::AtMost(high)) => (low, high, true),
            (Condition::AtLeast(low) | Condition::Above(low), Condition::Below(high))
            | (Condition::Above(low), Condition::AtMost(high)) => (low, high, false),
            _ => return false,
        };
        compare(low, high).is_some_and(|order| if touching { order.is_gt() } else { order.is_ge() })
    };
    conditions.iter().find_map(|lower| {
        let upper = conditions.iter().find(|upper| empty_between(lower, upper))?;
        Some((lower, upper))
    })
}

impl Condition {
    /// The numbers of a condition on numbers; nothing for any other condition.
    fn numbers(&self) -> Option<Vec<&Number>> {
        match self {
            Self::Equals(value) => value.as_number().map(|number| vec![number]),
            Self::AnyOf(values) => values.iter().map(Value::as_number).collect(),
            Self::AtLeast(limit)
            | Self::AtMost(limit)
            | Self::Above(limit)
            | Self::Below(limit) => Some(vec![limit]),
            Self::Matches(_) | Self::Contains(_) | Self::Present(_) => None,
        }
    }
}

impl JsonSchema for NumberMatcher {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NumberMatcher".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({"type": "number", "minimum": 0});
        let mut properties = Map::new();
        for name in ["equals", "at_least", "at_most", "above", "below"] {
            properties.insert(name.into(), number.clone().into());
        }
        properties.insert(
            "any_of".into(),
            serde_json::json!({"type": "array", "items": number, "minItems": 1}),
        );
        json_schema!({"anyOf": [
            number,
            {"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1},
        ]})
    }
}

#[cfg(test)]
mod tests {
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

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn d6_large_integers_compare_exactly() {
        for (wanted, other) in [
            ("1234567890123456789", "1234567890123456788"),
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551616", "18446744073709551617"),
            ("123456789012345678901234567890", "123456789012345678901234567891"),
            ("-123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            for matcher in [
                wanted.to_owned(),
                format!(r#"{{"equals": {wanted}}}"#),
                format!(r#"{{"any_of": [{wanted}]}}"#),
                format!(r#"{{"at_least": {wanted}, "at_most": {wanted}}}"#),
            ] {
                assert!(accepts(parsed(&matcher), parsed(wanted)), "{matcher}");
                assert!(!accepts(parsed(&matcher), parsed(other)), "{matcher}");
            }
            let (one, two) = (parsed(&format!("[{wanted}]")), parsed(&format!("[{other}]")));
            assert!(accepts(json!({"contains": parsed(wanted)}), one.clone()));
            assert!(!accepts(json!({"contains": parsed(wanted)}), two.clone()));
            assert!(!accepts(json!({"deep": one}), json!({"deep": two})));
        }
        assert!(accepts(
            parsed(r#"{"below": 1234567890123456789}"#),
            parsed("1234567890123456788")
        ));
        assert!(!accepts(
            parsed(r#"{"below": 1234567890123456789}"#),
            parsed("1234567890123456789")
        ));
    }

    /// JSON has one kind of number: how it is written does not matter, its value does.
    #[test]
    fn d6_one_and_one_point_zero_are_the_same_number() {
        for spelling in ["1", "1.0", "1.00", "1e0", "10e-1"] {
            assert!(accepts(json!(1), parsed(spelling)), "{spelling}");
        }
        assert!(!accepts(json!(1), parsed("1.0000000000000000000000001")));
        assert!(!accepts(json!(1), json!("1")));
        assert!(!accepts(json!(1), json!(true)));
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        assert!(!accepts(json!({"a": {"n": {"absent": true}}}), json!({"a": "{}"})));
        assert!(accepts(json!({"a": {"n": {"absent": true}}}), json!({"a": {}})));
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
        let refused = Matcher::from_value(&json!({"at_least": "x"})).unwrap_err();
        assert_eq!(refused.to_string(), "`at_least` needs a number, not \"x\"");
        assert!(Matcher::from_value(&json!({"matches": "("})).is_err());
        assert!(serde_json::from_str::<NumberMatcher>("\"x\"").is_err());
        assert!(serde_json::from_str::<NumberMatcher>("{\"at_most\": 3}").unwrap().accepts(3));
    }

    #[test]
    fn reads_aloud() {
        let matcher = Matcher::from_value(&json!({"n": {"at_least": 2, "below": 9}, "s": "x"}));
        assert_eq!(matcher.unwrap().to_string(), r#"{n: at least 2 and below 9, s: "x"}"#);
    }
}
