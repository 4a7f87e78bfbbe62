//! Numbers of YAML files with all their digits.
//!
//! The YAML library hands numbers over as 64-bit values. Where that loses digits, they are read again from the text of
//! the file. Towards serde such a number goes the way that `serde_json` has for it: a mapping with one reserved key.

use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::Number;

use crate::at::PLACE_MARK;
use crate::decimal::read_number;
use crate::node::{Key, Kind, Node, Place};
use crate::read::ReadError;

/// The key that `serde_json` uses for a number with all its digits.
const DIGITS: &str = "$serde_json::private::Number";

/// Replaces every number that may have lost digits by the one that is written at its place.
pub(super) fn restore(node: &mut Node, text: &str) {
    match &mut node.kind {
        Kind::Number(number) if may_be_rounded(number) => {
            if let Some(written) = number_at(node.place, text) {
                *number = written;
            }
        }
        Kind::List(items) => items.iter_mut().for_each(|item| restore(item, text)),
        Kind::Map(entries) => entries.iter_mut().for_each(|(_, node)| restore(node, text)),
        _ => {}
    }
}

fn may_be_rounded(number: &Number) -> bool {
    number.as_i64().is_none() && number.as_u64().is_none()
}

/// The number that is written at a place, after an anchor or a tag.
fn number_at(place: Place, text: &str) -> Option<Number> {
    let line = text.lines().nth((place.line as usize).checked_sub(1)?)?;
    let start = line.char_indices().nth((place.column as usize).checked_sub(1)?)?.0;
    let words = line[start..].split([' ', '\t', ',', ']', '}']);
    let written = words.filter(|word| !word.is_empty()).find(|word| !word.starts_with(['&', '!']));
    read_number(written?)
}

/// Passes a number to a visitor.
pub(super) fn visit<'de, V: Visitor<'de>>(
    number: &Number,
    place: Place,
    visitor: V,
) -> Result<V::Value, ReadError> {
    if let Some(value) = number.as_u64() {
        return visitor.visit_u64(value);
    }
    if let Some(value) = number.as_i64() {
        return visitor.visit_i64(value);
    }
    let float = number.as_f64().filter(|float| Number::from_f64(*float).as_ref() == Some(number));
    if let Some(value) = float {
        return visitor.visit_f64(value);
    }
    let found = format!("the number {number}");
    let mistake = de::Error::invalid_type(de::Unexpected::Other(&found), &visitor);
    let digits = Digits { text: number.to_string(), place };
    visitor.visit_map(OneEntry(Some(digits))).map_err(|_: ReadError| mistake)
}

/// The number that a mapping with the reserved key stands for.
pub(super) fn from_map(entries: &[(Key, Node)]) -> Option<Kind> {
    let [(key, node)] = entries else { return None };
    let Kind::Text(digits) = &node.kind else { return None };
    (key.text == DIGITS).then(|| read_number(digits).map(Kind::Number))?
}

/// The reserved key with the digits.
struct OneEntry(Option<Digits>);

impl<'de> MapAccess<'de> for OneEntry {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some(digits) = &self.0 else { return Ok(None) };
        seed.deserialize(Digits { text: DIGITS.to_owned(), place: digits.place }).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let digits = self.0.take();
        let digits = digits.ok_or_else(|| de::Error::custom("a number has one value"))?;
        seed.deserialize(digits)
    }
}

/// A text, with its place where that is asked for.
#[derive(Clone)]
struct Digits {
    text: String,
    place: Place,
}

impl<'de> Deserializer<'de> for Digits {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_string(self.text)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == PLACE_MARK {
            return visitor.visit_seq(PlacedDigits { digits: self, part: 0 });
        }
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct PlacedDigits {
    digits: Digits,
    part: u8,
}

impl<'de> SeqAccess<'de> for PlacedDigits {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.part += 1;
        match self.part {
            1 => seed.deserialize(self.digits.place.line.into_deserializer()),
            2 => seed.deserialize(self.digits.place.column.into_deserializer()),
            _ => seed.deserialize(self.digits.clone()),
        }
        .map(Some)
    }
}
