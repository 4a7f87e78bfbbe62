//! From the located tree to typed values, by serde, with the place kept for every mistake.
//!
//! One look at a file shows all its mistakes: unknown keys are passed over, and what cannot be read is left out and
//! the rest read again.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::exact_numbers;
use crate::node::{Key, Kind, Node, Place, with_deep_stack};
use crate::problem::{Finding, Findings};

use crate::at::{LIST_MARK, PLACE_MARK};

/// How many values of one tree are left out before its reading is given up.
const MAX_LEFT_OUT: usize = 100;

/// Reads a value; every mistake is added to `findings`. What could not be read is missing from the value.
pub fn read_node<T: DeserializeOwned>(node: &Node, findings: &mut Findings) -> Option<T> {
    let pass = ReadPass::default();
    for _ in 0..MAX_LEFT_OUT {
        let read = || T::deserialize(Reader { node, path: &TreePath::Root, pass: &pass });
        let result = with_deep_stack(read);
        pass.unknown_keys.take().into_iter().for_each(|finding| findings.push(finding));
        match result {
            Ok(value) => {
                findings.left_out(pass.names_left_out(node));
                return Some(value);
            }
            Err(ReadError(finding)) => findings.push(finding),
        }
        match pass.refused.take() {
            Some(refused) => drop(pass.left_out.borrow_mut().insert(refused)),
            None => break,
        }
    }
    findings.left_out(pass.names_left_out(node));
    None
}

/// The position of a value in the tree: the index in each list or mapping on the way from the root.
#[derive(Clone, Copy)]
enum TreePath<'p> {
    Root,
    Child { parent: &'p TreePath<'p>, index: usize },
}

impl TreePath<'_> {
    fn child(&self, index: usize) -> TreePath<'_> {
        TreePath::Child { parent: self, index }
    }

    /// From the value to the root, which no two values share.
    fn indices(&self) -> Indices {
        let mut indices = Vec::new();
        let mut path = self;
        while let TreePath::Child { parent, index } = path {
            indices.push(*index);
            path = parent;
        }
        indices
    }
}

type Indices = Vec<usize>;

/// State of repeated reading: a tree is read again without the refused values until it is accepted.
#[derive(Default)]
struct ReadPass {
    unknown_keys: RefCell<Vec<Finding>>,
    /// Values that this and later passes skip.
    left_out: RefCell<BTreeSet<Indices>>,
    /// The innermost value of a list or mapping that could not be read.
    refused: RefCell<Option<Indices>>,
}

impl ReadPass {
    fn is_left_out(&self, path: TreePath<'_>) -> bool {
        let left_out = self.left_out.borrow();
        !left_out.is_empty() && left_out.contains(&path.indices())
    }

    /// Returns the outcome unchanged, and remembers the value if it is the first that was refused.
    fn note_refusal<T>(
        &self,
        path: TreePath<'_>,
        read: Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        if read.is_err() {
            self.refused.borrow_mut().get_or_insert_with(|| path.indices());
        }
        read
    }

    /// The keys inside skipped values, and the keys above them.
    fn names_left_out(&self, node: &Node) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        if !self.left_out.borrow().is_empty() {
            self.collect_names(node, TreePath::Root, None, false, &mut names);
        }
        names
    }

    fn collect_names(
        &self,
        node: &Node,
        path: TreePath<'_>,
        under: Option<&Key>,
        inside: bool,
        names: &mut BTreeSet<String>,
    ) {
        let inside = inside || self.is_left_out(path);
        if inside {
            names.extend(under.map(|key| key.text.clone()));
        }
        match &node.kind {
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.collect_names(item, path.child(index), under, inside, names);
                }
            }
            Kind::Map(entries) => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    self.collect_names(value, path.child(index), Some(key), inside, names);
                }
            }
            _ => {}
        }
    }
}

/// A value that a program made and that is not of the wanted form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(String);

/// Reads a value that was made by a program. The error is the first mistake in it.
pub fn read_value<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, ValueError> {
    let mut findings = Findings::default();
    let read = read_node(&Node::from_value(value, Place::default()), &mut findings);
    match (read, findings.into_sorted().into_iter().next()) {
        (Some(read), None) => Ok(read),
        (_, Some(finding)) => Err(ValueError(finding.text())),
        (None, None) => Err(ValueError("it cannot be read".to_owned())),
    }
}

#[derive(Clone, Copy)]
struct Reader<'a, 'p> {
    node: &'a Node,
    path: &'p TreePath<'p>,
    pass: &'p ReadPass,
}

/// An error of this reader; its place is filled in by the innermost value that sees it.
#[derive(Debug)]
pub(crate) struct ReadError(Finding);

impl ReadError {
    fn at(mut self, place: Place) -> Self {
        if self.0.place == Place::default() {
            self.0.place = place;
        }
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Finding::new(Place::default(), message.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match unexpected {
            Unexpected::Str(text) => format!("the text {text:?}"),
            Unexpected::Map => "a mapping".to_owned(),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Unit => "nothing".to_owned(),
            other => other.to_string(),
        };
        let wanted = plain_kind(&expected.to_string());
        let message = format!("expected {wanted}, found {found}");
        let finding = Finding::new(Place::default(), message);
        Self(match (wanted.as_str(), unexpected) {
            ("a list", Unexpected::Map) => {
                finding.hint("a list has `- ` before each item, or stands in `[…]`")
            }
            ("a mapping", Unexpected::Str(text)) => match text.split_once(' ') {
                Some((key, value)) => {
                    finding.hint(format!("a key has a colon: `{key}: {}`", value.trim()))
                }
                None => finding.hint("a mapping has keys, each with a colon: `key: value`"),
            },
            _ => finding,
        })
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let finding = Finding::new(Place::default(), format!("unknown word `{variant}`"));
        Self(finding.nearest(variant, expected.iter().copied()))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let finding = Finding::new(Place::default(), format!("unknown key `{field}`"));
        Self(finding.nearest(field, expected.iter().copied()))
    }

    fn missing_field(field: &'static str) -> Self {
        let finding = Finding::new(Place::default(), format!("`{field}` is missing"));
        Self(finding.absent([field]))
    }
}

/// The kind of value that serde names, in words for users.
fn plain_kind(expected: &str) -> String {
    match expected {
        "a sequence" => "a list".to_owned(),
        "a map" => "a mapping".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" | "u64" | "usize" => "a whole number from 0 on".to_owned(),
        "a nonzero u32" | "a nonzero u64" => "a whole number from 1 on".to_owned(),
        "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        other if other.starts_with("struct ") => "a mapping".to_owned(),
        other => other.to_owned(),
    }
}

impl<'a, 'p> Reader<'a, 'p> {
    fn with_node<'q>(self, node: &'a Node, path: &'q TreePath<'q>) -> Reader<'a, 'q>
    where
        'p: 'q,
    {
        Reader { node, path, pass: self.pass }
    }

    fn entries(self, expected: &dyn Expected) -> Result<&'a [(Key, Node)], ReadError> {
        match &self.node.kind {
            Kind::Map(entries) => Ok(entries),
            // A key with nothing behind it is an empty mapping.
            Kind::Null => Ok(&[]),
            other => Err(de::Error::invalid_type(unexpected(other), expected)),
        }
    }
}

fn unexpected(kind: &Kind) -> Unexpected<'_> {
    match kind {
        Kind::Null => Unexpected::Unit,
        Kind::Bool(value) => Unexpected::Bool(*value),
        Kind::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => Unexpected::Signed(value),
            (_, Some(value), _) => Unexpected::Unsigned(value),
            (.., Some(value)) => Unexpected::Float(value),
            _ => Unexpected::Other("a number"),
        },
        Kind::Text(text) => Unexpected::Str(text),
        Kind::List(_) => Unexpected::Seq,
        Kind::Map(_) => Unexpected::Map,
    }
}

impl<'de, 'a: 'de> Deserializer<'de> for Reader<'a, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Number(number) => exact_numbers::visit(number, self.node.place, visitor),
            Kind::Text(text) => visitor.visit_str(text),
            Kind::List(items) => visitor.visit_seq(Items::new(self, items)),
            Kind::Map(entries) => visitor.visit_map(Entries::new(self, entries, None)),
        }
        .map_err(|mistake| mistake.at(self.node.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.node.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == PLACE_MARK {
            return visitor.visit_seq(PlacedValue { reader: self, part: 0 });
        }
        if name == LIST_MARK {
            return visitor.visit_seq(match &self.node.kind {
                Kind::List(items) => Items::new(self, items),
                Kind::Null => Items::new(self, &[]),
                _ => Items::single(self),
            });
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let place = self.node.place;
        let entries = self.entries(&visitor).map_err(|mistake| mistake.at(place))?;
        visitor
            .visit_map(Entries::new(self, entries, Some(fields)))
            .map_err(|mistake| mistake.at(place))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let place = self.node.place;
        match &self.node.kind {
            Kind::Text(word) => visitor.visit_enum(StrDeserializer::new(word)),
            Kind::Map(entries) if entries.len() == 1 => {
                let (key, node) = &entries[0];
                let path = self.path.child(0);
                let choice = TaggedValue { key, content: self.with_node(node, &path) };
                visitor.visit_enum(choice).map_err(|mistake| mistake.at(key.place))
            }
            Kind::Map(entries) => {
                let place = entries.get(1).map_or(place, |(key, _)| key.place);
                let message = format!("expected one key, found {}", entries.len());
                Err(ReadError(
                    Finding::new(place, message).hint(format!(
                        "write each as its own list item; known: {}",
                        words.join(", ")
                    )),
                ))
            }
            other => Err(de::Error::invalid_type(unexpected(other), &"a word or one key")),
        }
        .map_err(|mistake| mistake.at(place))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.kind {
            Kind::Number(number) if number.as_f64().is_some() => visitor
                .visit_f64(number.as_f64().unwrap_or_default())
                .map_err(|mistake: ReadError| mistake.at(self.node.place)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_f64(visitor)
    }

    /// A row's number or truth that stands where a text is wanted is that text.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let text = match &self.node.kind {
            Kind::Number(number) if self.node.also_text => number.to_string(),
            Kind::Bool(value) if self.node.also_text => value.to_string(),
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_string(text).map_err(|mistake: ReadError| mistake.at(self.node.place))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'a, 'p> {
    reader: Reader<'a, 'p>,
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
    /// The only item is the value itself, which is read as a list.
    is_single: bool,
}

impl<'a, 'p> Items<'a, 'p> {
    fn new(reader: Reader<'a, 'p>, items: &'a [Node]) -> Self {
        Self { reader, items: items.iter().enumerate(), is_single: false }
    }

    fn single(reader: Reader<'a, 'p>) -> Self {
        let items = std::slice::from_ref(reader.node).iter().enumerate();
        Self { reader, items, is_single: true }
    }

    fn path(&self, index: usize) -> TreePath<'p> {
        if self.is_single { *self.reader.path } else { self.reader.path.child(index) }
    }
}

impl<'de, 'a: 'de> SeqAccess<'de> for Items<'a, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let pass = self.reader.pass;
        while let Some((index, node)) = self.items.next() {
            let path = self.path(index);
            if !pass.is_left_out(path) {
                let read = seed.deserialize(self.reader.with_node(node, &path));
                // Some types find mistakes after they have taken the whole value.
                let read = read.map_err(|mistake| mistake.at(node.place));
                return pass.note_refusal(path, read).map(Some);
            }
        }
        Ok(None)
    }
}

/// Line, column and value, for [`At`].
struct PlacedValue<'a, 'p> {
    reader: Reader<'a, 'p>,
    part: u8,
}

impl<'de, 'a: 'de> SeqAccess<'de> for PlacedValue<'a, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.part += 1;
        let place = self.reader.node.place;
        match self.part {
            1 => seed.deserialize(place.line.into_deserializer()),
            2 => seed.deserialize(place.column.into_deserializer()),
            _ => seed.deserialize(self.reader),
        }
        .map(Some)
    }
}

struct Entries<'a, 'p> {
    reader: Reader<'a, 'p>,
    entries: std::iter::Enumerate<std::slice::Iter<'a, (Key, Node)>>,
    /// The value of the key that was read last, with its index.
    value: Option<(usize, &'a Node)>,
    /// The keys of a struct; others are reported and passed over.
    fields: Option<&'static [&'static str]>,
}

impl<'a, 'p> Entries<'a, 'p> {
    fn new(
        reader: Reader<'a, 'p>,
        entries: &'a [(Key, Node)],
        fields: Option<&'static [&'static str]>,
    ) -> Self {
        Self { reader, entries: entries.iter().enumerate(), value: None, fields }
    }

    fn is_known(&self, key: &Key) -> bool {
        let Some(fields) = self.fields else { return true };
        if fields.contains(&key.text.as_str()) {
            return true;
        }
        let finding = Finding::new(key.place, format!("unknown key `{}`", key.text))
            .nearest(&key.text, fields.iter().copied());
        self.reader.pass.unknown_keys.borrow_mut().push(finding);
        false
    }
}

impl<'de, 'a: 'de> MapAccess<'de> for Entries<'a, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Reader { pass, path, .. } = self.reader;
        while let Some((index, (key, node))) = self.entries.next() {
            if self.is_known(key) && !pass.is_left_out(path.child(index)) {
                self.value = Some((index, node));
                let read = seed.deserialize(KeyReader { key }).map(Some);
                let read = read.map_err(|mistake: ReadError| mistake.at(key.place));
                return pass.note_refusal(path.child(index), read);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let Some((index, node)) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        let path = self.reader.path.child(index);
        let read = seed.deserialize(self.reader.with_node(node, &path));
        let read = read.map_err(|mistake| mistake.at(node.place));
        self.reader.pass.note_refusal(path, read)
    }
}

/// A key, with its place where that is asked for.
struct KeyReader<'a> {
    key: &'a Key,
}

impl<'de, 'a: 'de> Deserializer<'de> for KeyReader<'a> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_str(&self.key.text)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == PLACE_MARK {
            return visitor.visit_seq(PlacedKey { key: self.key, part: 0 });
        }
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct PlacedKey<'a> {
    key: &'a Key,
    part: u8,
}

impl<'de> SeqAccess<'de> for PlacedKey<'_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.part += 1;
        match self.part {
            1 => seed.deserialize(self.key.place.line.into_deserializer()),
            2 => seed.deserialize(self.key.place.column.into_deserializer()),
            _ => seed.deserialize(self.key.text.as_str().into_deserializer()),
        }
        .map(Some)
    }
}

/// `{kind: content}` read as an enum.
struct TaggedValue<'a, 'p> {
    key: &'a Key,
    content: Reader<'a, 'p>,
}

impl<'de, 'a: 'de, 'p> EnumAccess<'de> for TaggedValue<'a, 'p> {
    type Error = ReadError;
    type Variant = Reader<'a, 'p>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Reader<'a, 'p>), ReadError> {
        let word: StrDeserializer<'_, ReadError> = self.key.text.as_str().into_deserializer();
        let value = seed.deserialize(word).map_err(|mistake| mistake.at(self.key.place))?;
        Ok((value, self.content))
    }
}

impl<'de, 'a: 'de> VariantAccess<'de> for Reader<'a, '_> {
    type Error = ReadError;

    /// A word that takes no content stands alone; only the form with a colon comes here.
    fn unit_variant(self) -> Result<(), ReadError> {
        let finding = Finding::new(self.node.place, "this word takes no value");
        Err(ReadError(finding.hint("write the word alone, without a colon")))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_struct("", fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::at::At;
    use crate::node::read_yaml;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Choose {
        Word,
        Number(u32),
        Shape { side: f64 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        name: At<String>,
        #[serde(default)]
        choices: Vec<Choose>,
        count: Option<u32>,
    }

    fn read(text: &str) -> (Option<Sample>, Vec<String>) {
        let node = read_yaml(text).map_err(|error| error.message).unwrap();
        let mut findings = Findings::default();
        let value = read_node(&node, &mut findings);
        let shown = findings
            .into_sorted()
            .iter()
            .map(|finding| {
                let Place { line, column } = finding.place;
                let hint = finding.hint.as_deref().unwrap_or("");
                format!("{line}:{column} {} ({hint})", finding.message)
            })
            .collect();
        (value, shown)
    }

    #[test]
    fn reads_structs_enums_and_places() {
        let (sample, findings) =
            read("count: 3\nname: x\nchoices: [word, {number: 4}, {shape: {side: 2}}]\n");
        assert!(findings.is_empty(), "{findings:?}");
        let sample = sample.unwrap();
        assert_eq!(sample.name.place, Place { line: 2, column: 7 });
        assert_eq!(sample.count, Some(3));
        assert_eq!(sample.choices, [Choose::Word, Choose::Number(4), Choose::Shape { side: 2.0 }]);
    }

    #[test]
    fn all_unknown_keys_are_reported_at_once() {
        let (sample, findings) = read("nmae: x\nname: y\nconut: 3\n");
        assert!(sample.is_some(), "{findings:?}");
        assert_eq!(
            findings,
            [
                "1:1 unknown key `nmae` (did you mean `name`?)",
                "3:1 unknown key `conut` (did you mean `count`?)"
            ]
        );
    }

    /// Equal values at equal places (an alias repeats its anchor) are told apart by where they stand in the tree.
    #[test]
    fn only_the_refused_one_of_equal_values_is_left_out() {
        let (sample, findings) = read("name: x\nchoices: [&a {number: 1}, wrod, *a, word, wrod]\n");
        assert_eq!(sample.unwrap().choices, [Choose::Number(1), Choose::Number(1), Choose::Word]);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn wrong_values_name_the_innermost_place() {
        assert_eq!(
            read("name: x\nchoices:\n  - {number: many}\n").1,
            ["3:14 expected a whole number from 0 on, found the text \"many\" ()"]
        );
        assert_eq!(
            read("name: x\nchoices: [wrod]\n").1,
            ["2:11 unknown word `wrod` (did you mean `word`?)"]
        );
        assert_eq!(read("count: 1\n").1, ["1:1 `name` is missing ()"]);
        assert_eq!(
            read("name: x\nchoices:\n  - number: 1\n    word: 2\n").1,
            [
                "4:5 expected one key, found 2 (write each as its own list item; known: word, number, shape)"
            ]
        );
    }
}
