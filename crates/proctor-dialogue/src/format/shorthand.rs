//! Small types that a scenario may write in a short and a long form, and types that check themselves.
//!
//! `serde(untagged)` would do the same with worse messages, so each form is read by hand.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cel::Program;
use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::expression_names::unknown_name;
use super::schema::not_blank;
use proctor_yaml::{At, LIST_MARK, nearest_or_known};

/// Reads `$Name` from text by `$from_text`, or from a mapping as the struct itself.
///
/// The schema of the text is `{"type": "string"}` unless `text: {…}` says more.
macro_rules! text_or_mapping {
    ($Name:ident, $Full:ident, $expecting:literal, $from_text:expr) => {
        text_or_mapping!($Name, $Full, $expecting, text: {"type": "string"}, $from_text);
    };
    ($Name:ident, $Full:ident, $expecting:literal, text: $text_schema:tt, $from_text:expr) => {
        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ValueVisitor;
                impl<'de> serde::de::Visitor<'de> for ValueVisitor {
                    type Value = $Name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$Name, E> {
                        let from_text: fn(&str) -> $Name = $from_text;
                        Ok(from_text(text))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        map: A,
                    ) -> Result<$Name, A::Error> {
                        let map = serde::de::value::MapAccessDeserializer::new(map);
                        <$Full as serde::Deserialize>::deserialize(map).map(Into::into)
                    }
                }
                deserializer.deserialize_any(ValueVisitor)
            }
        }

        impl schemars::JsonSchema for $Name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let full = generator.subschema_for::<$Full>();
                schemars::json_schema!({"anyOf": [$text_schema, full]})
            }
        }
    };
}
pub(crate) use text_or_mapping;

/// How many compiled texts a thread remembers of each kind.
const REMEMBERED: usize = 256;

type Memory<T> = RefCell<HashMap<String, T>>;

// Thread-local, because `Deserialize` hands no context down; what is remembered changes no result.
thread_local! {
    static PATTERNS: Memory<Pattern> = RefCell::default();
    static EXPRESSIONS: Memory<Expression> = RefCell::default();
}

/// Compiles a text once. The rows of a set repeat the same ones thousands of times, and each would be compiled
/// and kept anew.
fn remembered<T: Clone, E>(
    memory: &'static std::thread::LocalKey<Memory<T>>,
    source: &str,
    compile: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    if let Some(known) = memory.with_borrow(|known| known.get(source).cloned()) {
        return Ok(known);
    }
    let compiled = compile()?;
    memory.with_borrow_mut(|known| {
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(source.to_owned(), compiled.clone());
    });
    Ok(compiled)
}

/// A text that is no regular expression.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{pattern}` is not a regular expression: {reason}")]
pub struct PatternError {
    pattern: String,
    /// The last line of the compiler's message; the lines before it draw the pattern.
    reason: String,
    source: regex::Error,
}

/// Why a text is no usable expression.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ExpressionError {
    #[error("the expression is nested too deeply: {levels} levels, at most {MAX_NESTING}")]
    TooDeep { levels: usize },
    #[error(
        "the expression has {operators} operators, at most {MAX_OPERATORS}: split it into several checks"
    )]
    TooLong { operators: usize },
    /// `reason` is the first line of the compiler's message; the lines after it draw the expression.
    #[error("`{expression}` is not a CEL expression: {reason}")]
    NotCel { expression: String, reason: String, source: cel::ParseErrors },
    #[error("{0}")]
    UnknownName(UnknownName),
}

/// A name in an expression that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// The whole expression.
    pub expression: String,
    /// The name.
    pub name: String,
    /// The name that was probably meant, or the names there are. None if there are none.
    pub hint: Option<String>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: `{}` is unknown", self.expression, self.name)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// A regular expression, checked when the file is read.
#[derive(Clone)]
pub struct Pattern(Arc<Regex>);

impl Pattern {
    /// Compiles a regular expression.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        remembered(&PATTERNS, source, || {
            Regex::new(source).map(|regex| Self(Arc::new(regex))).map_err(|error| {
                let text = error.to_string();
                let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                let reason = reason.to_owned();
                PatternError { pattern: source.to_owned(), reason, source: error }
            })
        })
    }

    /// Whether it occurs in the text.
    pub fn occurs_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Where it occurs in the text, from left to right without overlaps.
    pub(crate) fn matches_in(&self, text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.0.find_iter(text).map(|found| found.range())
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        self.0.as_str()
    }
}

/// How deeply brackets may be nested.
const MAX_NESTING: usize = 60;
/// How many operators an expression may have: each is a level of the tree that is parsed, evaluated and dropped by recursion.
const MAX_OPERATORS: usize = 250;
/// The stack on which expressions are compiled. Measured in a debug build: a level takes up to 200 KiB.
const COMPILER_STACK: usize = 128 << 20;

/// A CEL expression, checked when the file is read.
#[derive(Clone)]
pub struct Expression {
    source: String,
    program: Arc<Program>,
}

impl Expression {
    /// Compiles an expression.
    pub fn new(source: &str) -> Result<Self, ExpressionError> {
        remembered(&EXPRESSIONS, source, || Self::compile(source))
    }

    fn compile(source: &str) -> Result<Self, ExpressionError> {
        let size = ExpressionSize::of(source);
        if size.nesting > MAX_NESTING {
            return Err(ExpressionError::TooDeep { levels: size.nesting });
        }
        if size.operators > MAX_OPERATORS {
            return Err(ExpressionError::TooLong { operators: size.operators });
        }
        stacker::maybe_grow(COMPILER_STACK / 2, COMPILER_STACK, || Self::compile_bounded(source))
    }

    /// Compiles an expression whose size is within the limits.
    fn compile_bounded(source: &str) -> Result<Self, ExpressionError> {
        let program = Program::compile(source).map_err(|error| {
            let text = error.to_string();
            let reason = text.lines().next().unwrap_or_default().trim_start_matches("ERROR: ");
            let reason = reason.to_owned();
            ExpressionError::NotCel { expression: source.to_owned(), reason, source: error }
        })?;
        if let Some(unknown) = unknown_name(program.expression()) {
            let hint = nearest_or_known(&unknown.name, unknown.known.iter().copied());
            return Err(ExpressionError::UnknownName(UnknownName {
                expression: source.to_owned(),
                name: unknown.name,
                hint,
            }));
        }
        Ok(Self { source: source.to_owned(), program: Arc::new(program) })
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

/// An upper bound of what parsing and evaluating an expression costs in levels of recursion. Characters in texts and comments count
/// too: to tell them apart safely would take a second parser.
struct ExpressionSize {
    nesting: usize,
    operators: usize,
}

impl ExpressionSize {
    fn of(source: &str) -> Self {
        let mut size = Self { nesting: 0, operators: 0 };
        let mut open = 0_usize;
        for letter in source.chars() {
            match letter {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                '!' | '-' | '+' | '*' | '/' | '%' | '?' | '.' | '<' | '>' | '=' | '&' | '|' => {
                    size.operators += 1;
                }
                _ => {}
            }
            size.nesting = size.nesting.max(open);
        }
        size.operators += source.matches("in").count();
        size
    }
}

macro_rules! checked_text {
    ($Name:ident, $description:literal, $rule:expr) => {
        impl fmt::Debug for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.source())
            }
        }

        impl PartialEq for $Name {
            fn eq(&self, other: &Self) -> bool {
                self.source() == other.source()
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let source = String::deserialize(deserializer)?;
                Self::new(&source).map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $Name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!({"type": "string", "description": $description});
                $rule(&mut schema);
                schema
            }
        }
    };
}

checked_text!(
    Pattern,
    "a regular expression (Rust syntax; `(?i)` ignores case)",
    |_: &mut Schema| {}
);
checked_text!(Expression, "a CEL expression that gives true or false", not_blank);

/// One value or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ValueVisitor<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value or a list")
            }

            /// Another format than ours, such as proctor.toml: it has to be looked at first.
            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                inner: D,
            ) -> Result<Self::Value, D::Error> {
                let items = match serde_json::Value::deserialize(inner)? {
                    serde_json::Value::Array(items) => items,
                    one => vec![one],
                };
                let read = items.into_iter().map(T::deserialize);
                read.collect::<Result<_, _>>().map(OneOrMany).map_err(serde::de::Error::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(OneOrMany(list))
            }
        }
        deserializer.deserialize_newtype_struct(LIST_MARK, ValueVisitor(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({"anyOf": [one, {"type": "array", "items": one}, {"type": "null"}]})
    }
}

/// A mapping in written order, each key with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordered<T>(pub Vec<(At<String>, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Ordered<T> {
    /// The value of a key.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(key, _)| key.value == name).map(|(_, value)| value)
    }

    /// The keys, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.value.as_str())
    }

    /// Puts a value in the place of the one with the same key, or at the end.
    pub fn put(&mut self, key: At<String>, value: T) {
        match self.0.iter_mut().find(|(known, _)| known.value == key.value) {
            Some(entry) => *entry = (key, value),
            None => self.0.push((key, value)),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ValueVisitor<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Ordered(Vec::new()))
            }
        }
        deserializer.deserialize_any(ValueVisitor(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Ordered<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Ordered_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({"type": ["object", "null"], "additionalProperties": value})
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn broken_patterns_and_expressions_say_what_is_wrong() {
        assert!(
            Pattern::new("a(b")
                .unwrap_err()
                .to_string()
                .contains("`a(b` is not a regular expression")
        );
        let problem = Expression::new("1 +").unwrap_err();
        assert!(problem.to_string().contains("is not a CEL expression"), "{problem}");
        assert!(std::error::Error::source(&problem).is_some());
        assert!(Expression::new("turn.number > 3").is_ok());
    }

    #[test]
    fn expressions_have_a_depth() {
        let nested = |levels| format!("{}1{} == 1", "(".repeat(levels), ")".repeat(levels));
        assert!(Expression::new(&nested(MAX_NESTING)).is_ok());
        let refused = Expression::new(&nested(2000)).unwrap_err().to_string();
        assert_eq!(refused, "the expression is nested too deeply: 2000 levels, at most 60");
    }

    /// Audit S4: a sum of 52 terms ended the process.
    #[test]
    fn s4_expressions_have_a_length() {
        let sum = |terms: usize| format!("{} > 0", vec!["1"; terms].join("+"));
        assert!(Expression::new(&sum(MAX_OPERATORS)).is_ok());
        let refused = Expression::new(&sum(5000)).unwrap_err().to_string();
        assert!(refused.starts_with("the expression has 5000 operators, at most 250"), "{refused}");
        for longest in [
            format!("{}true", "!".repeat(MAX_OPERATORS)),
            format!("{}1 < 2", "-".repeat(MAX_OPERATORS - 1)),
            format!("{}true", "true || ".repeat(MAX_OPERATORS / 2)),
            format!("{}true", "true ? false : ".repeat(MAX_OPERATORS)),
            format!("turn{} == 1", ".a".repeat(MAX_OPERATORS - 2)),
            format!("1{}", " in [1]".repeat(20)),
        ] {
            // Whether it means anything does not matter here.
            drop(Expression::new(&longest));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_compilers_panic(text in "[-a-z0-9_.()\\[\\]{}'\"+*/<>=!&|?: ,\\\\]{0,40}") {
            let _ = (Pattern::new(&text), Expression::new(&text));
        }
    }
}
