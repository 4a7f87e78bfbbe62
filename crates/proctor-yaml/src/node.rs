//! A YAML document as a tree of values with positions.
//!
//! This is the only module that knows the YAML library.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::Spanned;
use serde_saphyr::budget::BudgetBreach;

use crate::at::At;
use crate::exact_numbers;

/// A place in a file; line and column count from 1, and 0 means unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub kind: Kind,
    /// Position in the file.
    pub place: Place,
    /// Whether a number or truth value here is also a text, as a value that was filled in for a placeholder is.
    pub also_text: bool,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, with all its digits.
    Number(Number),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in written order.
    Map(Vec<(Key, Node)>),
}

/// The key of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Its text.
    pub text: String,
    /// Position in the file.
    pub place: Place,
}

/// Why a text is not YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotYaml {
    /// The parser's message, without the place.
    pub message: String,
    /// Where the parser stopped.
    pub place: Place,
}

/// How deeply lists and mappings may be nested, and how many values, keys included, a document may have.
pub const MAX_DEPTH: usize = 128;
const MAX_VALUES: usize = 2_000_000;

/// Reads one YAML document. JSON is YAML, so it reads that too. Nesting beyond [`MAX_DEPTH`] is refused with its place.
pub fn read_yaml(text: &str) -> Result<Node, NotYaml> {
    with_deep_stack(|| parse(text))
}

/// Runs something that recurses as deeply as a document is nested, with a stack that is large enough for [`MAX_DEPTH`] levels. Within
/// `work` further calls cost nothing; each call outside maps a stack of its own, so whoever reads many trees puts one call around them.
pub fn with_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    /// Measured in a debug build: a level of a scenario takes up to 200 KiB.
    const STACK: usize = 64 << 20;
    stacker::maybe_grow(STACK / 2, STACK, work)
}

fn parse(text: &str) -> Result<Node, NotYaml> {
    // Without this, `user: yes` would say `true`.
    let budget = serde_saphyr::budget! { max_depth: MAX_DEPTH, max_nodes: MAX_VALUES };
    let options = serde_saphyr::options! { strict_booleans: true, budget: budget };
    // Editors on Windows put a byte order mark before the first character.
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut node = serde_saphyr::from_str_with_options::<YamlNode>(text, options)
        .map(|read| read.0)
        .map_err(|error| {
            let place = error.location().map_or_else(Place::default, |at| place_of(&at));
            if let Some(message) = exceeded_limit(&error) {
                return NotYaml { message, place };
            }
            let message = error.to_string();
            let first = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
            // The position is printed separately.
            let said = format!("line {} column {}: ", place.line, place.column);
            NotYaml { message: format!("not YAML: {}", first.trim_start_matches(&said)), place }
        })?;
    exact_numbers::restore(&mut node, text);
    Ok(node)
}

/// The message about a limit that a document exceeds.
fn exceeded_limit(error: &serde_saphyr::Error) -> Option<String> {
    let serde_saphyr::Error::Budget { breach, .. } = error.without_snippet() else { return None };
    Some(match breach {
        BudgetBreach::Depth { .. } => format!("nested too deeply: at most {MAX_DEPTH} levels"),
        BudgetBreach::Nodes { .. } => format!("too large: at most {MAX_VALUES} values"),
        // Mostly aliases: a short file may expand to more than anyone writes.
        _ => "too large: more values, aliases or text than a file may have".to_owned(),
    })
}

/// Allowed before the first character of a file.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

impl Node {
    /// The value without its places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Kind::Map(entries) => Value::Object(
                entries.iter().map(|(key, node)| (key.text.clone(), node.to_value())).collect(),
            ),
        }
    }

    /// A tree of a value that comes from no file; all its parts get the same position.
    pub fn from_value(value: &Value, place: Place) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Number(number) => Kind::Number(number.clone()),
            Value::String(text) => Kind::Text(text.clone()),
            Value::Array(items) => {
                Kind::List(items.iter().map(|item| Self::from_value(item, place)).collect())
            }
            Value::Object(map) => Kind::Map(
                map.iter()
                    .map(|(key, value)| {
                        (Key { text: key.clone(), place }, Self::from_value(value, place))
                    })
                    .collect(),
            ),
        };
        Self { kind, place, also_text: false }
    }
}

fn place_of(location: &serde_saphyr::Location) -> Place {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    #[expect(clippy::useless_conversion, reason = "the library's number type is its own choice")]
    Place { line: number(location.line().into()), column: number(location.column().into()) }
}

/// A node as the YAML library hands it over.
struct YamlNode(Node);

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Tree<Self>>::deserialize(deserializer)?;
        let kind = spanned.value.0;
        // The digits of a number are looked up in the text: where it was written, not where an alias repeats it.
        let at = if matches!(kind, Kind::Number(_)) { spanned.defined } else { spanned.referenced };
        Ok(Self(Node { place: place_of(&at), kind, also_text: false }))
    }
}

/// A part of an already located tree, taken as it is.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let At { value, place } = At::<Tree<Self>>::deserialize(deserializer)?;
        Ok(Self { kind: value.0, place, also_text: false })
    }
}

/// A source of children and keys with their positions.
trait Source<'de>: Deserialize<'de> {
    type Key: Deserialize<'de>;
    fn node(self) -> Node;
    fn key(key: Self::Key) -> Key;
}

impl Source<'_> for YamlNode {
    type Key = Spanned<String>;

    fn node(self) -> Node {
        self.0
    }

    fn key(key: Self::Key) -> Key {
        Key { place: place_of(&key.referenced), text: key.value }
    }
}

impl Source<'_> for Node {
    type Key = At<String>;

    fn node(self) -> Node {
        self
    }

    fn key(key: Self::Key) -> Key {
        Key { text: key.value, place: key.place }
    }
}

struct Tree<N>(Kind, PhantomData<N>);

impl<'de, N: Source<'de>> Deserialize<'de> for Tree<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kind = deserializer.deserialize_any(KindVisitor::<N>(PhantomData))?;
        Ok(Self(kind, PhantomData))
    }
}

struct KindVisitor<N>(PhantomData<N>);

impl<'de, N: Source<'de>> Visitor<'de> for KindVisitor<N> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Kind, E> {
        Number::from_f64(value).map(Kind::Number).ok_or_else(|| {
            E::custom(format!(
                "{value} is not a number in JSON; write it in quotes if it is a text"
            ))
        })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<N>()? {
            list.push(item.node());
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<N::Key, N>()? {
            map.push((N::key(key), value.node()));
        }
        Ok(exact_numbers::from_map(&map).unwrap_or(Kind::Map(map)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Node {
        read_yaml(text).map_err(|error| error.message).unwrap()
    }

    #[test]
    fn every_value_knows_its_place() {
        let node = read("a: 1\nb:\n  - x\n  - {c: 2.5}\n");
        let Kind::Map(entries) = &node.kind else { panic!() };
        assert_eq!(entries[1].0.place, Place { line: 2, column: 1 });
        let Kind::List(items) = &entries[1].1.kind else { panic!() };
        assert_eq!(items[0].place, Place { line: 3, column: 5 });
        let Kind::Map(inner) = &items[1].kind else { panic!() };
        assert_eq!(inner[0].1.place, Place { line: 4, column: 9 });
        assert_eq!(node.to_value(), json!({"a": 1, "b": ["x", {"c": 2.5}]}));
    }

    #[test]
    fn people_say_yes_and_no() {
        assert_eq!(
            read("[yes, no, y, on, true]").to_value(),
            json!(["yes", "no", "y", "on", true])
        );
    }

    #[test]
    fn broken_yaml_and_duplicate_keys_name_their_line() {
        let error = read_yaml("a: 1\na: 2\n").err().unwrap();
        assert_eq!(error.place.line, 2, "{}", error.message);
        assert!(read_yaml("a: [1").is_err());
    }

    /// D6: YAML readers turn what does not fit into 64 bits into floats.
    #[test]
    fn d6_numbers_keep_their_digits_in_lists_and_aliases() {
        let text = "a: 18446744073709551616\nb: [-9223372036854775809, 0.1000000000000000000001]\n\
                    c: &big 123456789012345678901234567890\nd: *big\ne: {f: 2.50}\n";
        assert_eq!(
            read(text).to_value().to_string(),
            "{\"a\":18446744073709551616,\"b\":[-9223372036854775809,0.1000000000000000000001],\
             \"c\":123456789012345678901234567890,\"d\":123456789012345678901234567890,\"e\":{\"f\":2.5}}"
        );
    }

    /// D6: JSON has no such numbers, and `null` is not one either.
    #[test]
    fn d6_what_json_cannot_say_is_refused() {
        for text in ["a: .nan\n", "a: .inf\n", "a: -.inf\n"] {
            assert!(read_yaml(text).is_err(), "{text}");
        }
    }

    #[test]
    fn d16_a_byte_order_mark_is_no_part_of_the_first_key() {
        assert_eq!(read("\u{feff}a: 1\n").to_value(), json!({"a": 1}));
    }
}
