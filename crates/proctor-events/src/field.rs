//! Reading the fields of one JSON object without losing any of them.
//!
//! [`RawFields`] splits an object into names and untouched value texts. A reader takes the fields it
//! knows; what is left over is kept as [`Extra`] and written back as it was. This is done by hand
//! because serde's `flatten` buffers everything twice, rounds numbers and names no field in errors.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::{Json, Millis};
use crate::words::{
    EvaluationMode, Fault, InvariantType, MessageSource, OutputStream, RunEnding, Status,
    StopReason, TerminationReason, TopicTrigger,
};
use crate::written_form::Scanner;

/// A field that is missing or holds something else than it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field `{field}`: {problem}")]
pub struct FieldError {
    /// The field's name.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// Fields that no payload has taken, in the order they came.
pub type Extra = Vec<(Box<str>, Json)>;

/// The fields of one object, not yet interpreted.
#[derive(Debug, Default)]
pub(crate) struct RawFields<'a> {
    /// In the order they came. One that was taken stays behind without a value, so that the others need not move.
    fields: Vec<(Cow<'a, str>, Option<Cow<'a, RawValue>>)>,
    /// Where the next field that is asked for probably stands: fields are read in the order in which they are written.
    next: usize,
    /// The [bits](bit) of all names. Most fields that are asked for are not there, and this says so without looking at any.
    names: u64,
}

/// The bit of a name in a 64-bit filter; two names may share one.
fn bit(name: &str) -> u64 {
    let edge = |byte: Option<&u8>| byte.copied().map_or(0, u64::from);
    let bytes = name.as_bytes();
    let sum = bytes.len() as u64 * 5 + edge(bytes.first()) * 3 + edge(bytes.last());
    1 << (sum % 64)
}

impl<'a> RawFields<'a> {
    /// Fields that were split before; of two with one name the last counts.
    pub(crate) fn from_owned(owned: Vec<(Box<str>, Box<RawValue>)>) -> Self {
        let mut fields = Self { fields: Vec::with_capacity(owned.len()), ..Self::default() };
        for (name, value) in owned {
            fields.insert(Cow::Owned(name.into()), Cow::Owned(value));
        }
        fields
    }

    /// Removes and returns a field's text.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Cow<'a, RawValue>> {
        let place = self.position(name)?;
        self.next = place + 1;
        self.fields[place].1.take()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.fields[self.position(name)?].1.as_deref()
    }

    fn position(&self, name: &str) -> Option<usize> {
        if self.names & bit(name) == 0 {
            return None;
        }
        let (before, after) = self.fields.split_at(self.next);
        let wanted = |(key, value): &(Cow<'a, str>, Option<_>)| key == name && value.is_some();
        match after.iter().position(wanted) {
            Some(place) => Some(self.next + place),
            None => before.iter().position(wanted),
        }
    }

    /// Sets a field, replacing what was there.
    pub(crate) fn set(&mut self, name: &'static str, value: Cow<'a, RawValue>) {
        self.insert(Cow::Borrowed(name), value);
    }

    fn insert(&mut self, name: Cow<'a, str>, value: Cow<'a, RawValue>) {
        if let Some(place) = self.position(&name) {
            self.fields[place].1 = Some(value);
        } else {
            self.names |= bit(&name);
            self.fields.push((name, Some(value)));
        }
    }

    /// Gives a field its newer name, unless that name is taken.
    pub(crate) fn rename(&mut self, old: &str, new: &'static str) {
        if self.get(new).is_none()
            && let Some(value) = self.remove(old)
        {
            self.set(new, value);
        }
    }

    /// Removes a field and interprets it.
    pub(crate) fn take<T: Field>(&mut self, name: &'static str) -> Result<T, FieldError> {
        let raw = self.remove(name);
        T::read(raw.as_deref()).map_err(|problem| FieldError { field: name, problem })
    }

    /// What is left.
    pub(crate) fn into_extra(self) -> Extra {
        if self.fields.iter().all(|(_, value)| value.is_none()) {
            return Vec::new();
        }
        self.fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.into(), Json::from(value?.into_owned()))))
            .collect()
    }
}

impl<'de> Deserialize<'de> for RawFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = RawFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields =
                    RawFields { fields: Vec::with_capacity(16), ..RawFields::default() };
                while let Some(BorrowedKey(name)) = map.next_key()? {
                    let value: &'de RawValue = map.next_value()?;
                    fields.insert(name, Cow::Borrowed(value));
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// A key that borrows where it can (`Cow` alone always copies).
struct BorrowedKey<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for BorrowedKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Key;

        impl<'de> Visitor<'de> for Key {
            type Value = BorrowedKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(BorrowedKey(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(BorrowedKey(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(Key)
    }
}

/// Something that takes the fields of an object one by one.
pub(crate) trait FieldSink {
    type Error;

    /// Takes a known field, whose name is an identifier.
    fn field(&mut self, name: &'static str, value: &impl Serialize) -> Result<(), Self::Error>;

    /// Takes an unknown field, whose name may be any text.
    fn foreign(&mut self, name: &str, value: &Json) -> Result<(), Self::Error>;
}

/// Any serde format.
pub(crate) struct MapSink<'a, M>(pub(crate) &'a mut M);

impl<M: SerializeMap> FieldSink for MapSink<'_, M> {
    type Error = M::Error;

    fn field(&mut self, name: &'static str, value: &impl Serialize) -> Result<(), M::Error> {
        self.0.serialize_entry(name, value)
    }

    fn foreign(&mut self, name: &str, value: &Json) -> Result<(), M::Error> {
        self.0.serialize_entry(name, value)
    }
}

/// JSON text in a buffer. Our names need no escaping, which is most of what there is to write.
pub(crate) struct TextSink<'a> {
    buffer: &'a mut Vec<u8>,
    separator: u8,
}

impl<'a> TextSink<'a> {
    pub(crate) fn open(buffer: &'a mut Vec<u8>) -> Self {
        Self { buffer, separator: b'{' }
    }

    pub(crate) fn close(self) {
        self.buffer.push(b'}');
    }

    fn separate(&mut self) {
        self.buffer.push(self.separator);
        self.separator = b',';
    }
}

impl FieldSink for TextSink<'_> {
    type Error = serde_json::Error;

    fn field(&mut self, name: &'static str, value: &impl Serialize) -> serde_json::Result<()> {
        self.separate();
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\":");
        serde_json::to_writer(&mut *self.buffer, value)
    }

    fn foreign(&mut self, name: &str, value: &Json) -> serde_json::Result<()> {
        self.separate();
        serde_json::to_writer(&mut *self.buffer, name)?;
        self.buffer.push(b':');
        self.buffer.extend_from_slice(value.text().as_bytes());
        Ok(())
    }
}

/// Writes extra fields back.
pub(crate) fn write_extra<S: FieldSink>(extra: &Extra, sink: &mut S) -> Result<(), S::Error> {
    extra.iter().try_for_each(|(name, value)| sink.foreign(name, value))
}

/// The JSON name of a Rust field: raw identifiers lose their prefix.
pub(crate) const fn json_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

/// A type that can stand as a field of an event.
pub(crate) trait Field: Sized + Serialize {
    /// Interprets the field's text; `None` when it is not there.
    fn read(raw: Option<&RawValue>) -> Result<Self, String>;

    /// Whether the field is written at all.
    fn present(&self) -> bool {
        true
    }

    /// Reads the value at this position of a line in the [written form](crate::written_form); `None` where the complete reader must decide.
    fn scan(scanner: &mut Scanner<'_>) -> Option<Self>;
}

pub(crate) fn parse<T: DeserializeOwned>(raw: &RawValue) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| {
        // serde_json appends a position within the field's own text, which names no place in the file.
        let text = error.to_string();
        text.split(" at line ").next().unwrap_or(&text).to_owned()
    })
}

/// Fields that must be there; after `by`, how their value is read in the written form.
macro_rules! required_fields {
    ($($T:ty),+ ; by |$scanner:ident| $scan:expr) => { $(
        impl $crate::field::Field for $T {
            fn read(raw: Option<&serde_json::value::RawValue>) -> Result<Self, String> {
                $crate::field::parse(raw.ok_or("is missing")?)
            }

            fn scan($scanner: &mut $crate::written_form::Scanner<'_>) -> Option<Self> {
                $scan
            }
        }
    )+ };
}

pub(crate) use required_fields;

required_fields!(String; by |scanner| scanner.string()?.unescaped());
required_fields!(bool; by |scanner| scanner.boolean());
required_fields!(u32; by |scanner| scanner.whole_number()?.try_into().ok());
required_fields!(u64; by |scanner| scanner.whole_number());
required_fields!(f64; by |scanner| scanner.float());
required_fields!(Millis; by |scanner| scanner.float().map(Millis::new));
required_fields!(i32, Json; by |scanner| scanner.parsed());
required_fields!(Status, TerminationReason, EvaluationMode, OutputStream; by |scanner| scan_word(scanner));
required_fields!(Fault, MessageSource, RunEnding, StopReason; by |scanner| scan_word(scanner));
required_fields!(TopicTrigger, InvariantType; by |scanner| scan_word(scanner));

/// A text that needs no unescaping.
pub(crate) fn scan_word<T: for<'a> From<&'a str>>(scanner: &mut Scanner<'_>) -> Option<T> {
    let found = scanner.string()?;
    (!found.escaped).then(|| T::from(found.text))
}

/// An optional field; `null` counts as absent.
impl<T: DeserializeOwned + Field> Field for Option<T> {
    fn read(raw: Option<&RawValue>) -> Result<Self, String> {
        raw.map_or(Ok(None), parse)
    }

    fn present(&self) -> bool {
        self.is_some()
    }

    fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        if scanner.take_null() { Some(None) } else { T::scan(scanner).map(Some) }
    }
}

/// A list; absent and `null` count as empty, and it is always written.
impl<T: DeserializeOwned + Field> Field for Vec<T> {
    fn read(raw: Option<&RawValue>) -> Result<Self, String> {
        match raw {
            None => Ok(Self::new()),
            Some(raw) => parse::<Option<Self>>(raw).map(Option::unwrap_or_default),
        }
    }

    fn scan(scanner: &mut Scanner<'_>) -> Option<Self> {
        let mut list = Self::new();
        if !scanner.take(b'[') {
            return None;
        }
        if scanner.take(b']') {
            return Some(list);
        }
        loop {
            list.push(T::scan(scanner)?);
            if !scanner.take(b',') {
                return scanner.take(b']').then_some(list);
            }
        }
    }
}

/// The fields of an object that follow each other in the written form.
pub(crate) struct ScannedFields<'s, 'a> {
    scanner: &'s mut Scanner<'a>,
    /// Whether the name of a field comes next; otherwise the object ends.
    more: bool,
}

impl<'s, 'a> ScannedFields<'s, 'a> {
    /// Begins at the first field.
    pub(crate) fn new(scanner: &'s mut Scanner<'a>) -> Self {
        Self { scanner, more: true }
    }

    /// The field that may come next. One that does not is absent, which not every type allows.
    pub(crate) fn take<T: Field>(&mut self, name: &'static str) -> Option<T> {
        if !self.take_name(name) {
            return T::read(None).ok();
        }
        let value = T::scan(self.scanner)?;
        self.end_field()?;
        Some(value)
    }

    pub(crate) fn take_name(&mut self, name: &str) -> bool {
        self.more && self.scanner.take_name(name)
    }

    pub(crate) fn scanner(&mut self) -> &mut Scanner<'a> {
        self.scanner
    }

    /// Takes what separates a field from the next one.
    pub(crate) fn end_field(&mut self) -> Option<()> {
        self.more = self.scanner.next_field()?;
        Some(())
    }

    /// Whether every field was taken, and the line ends.
    pub(crate) fn at_end(&self) -> bool {
        !self.more && self.scanner.at_end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In whatever order fields come and are asked for: of two with one name the last counts, what was taken is gone, and what is
        /// left keeps its order.
        #[test]
        fn fields_are_taken_once_and_the_rest_is_kept(
            given in prop::collection::vec(("[a-d]{1,2}", 0_u64..9), 0..12),
            asked in prop::collection::vec("[a-d]{1,2}", 0..12),
        ) {
            let given: Vec<(String, u64)> = given;
            let text: Vec<String> =
                given.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            let text = format!("{{{}}}", text.join(","));
            let mut fields: RawFields<'_> = serde_json::from_str(&text).unwrap();
            let mut expected: BTreeMap<&str, u64> =
                given.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            for name in &asked {
                let value = expected.remove(name.as_str()).map(|value| value.to_string());
                prop_assert_eq!(fields.get(name).map(|raw| raw.get().to_owned()), value.clone());
                prop_assert_eq!(fields.remove(name).map(|raw| raw.get().to_owned()), value);
            }
            let mut order: Vec<&str> = Vec::new();
            for (name, _) in &given {
                if expected.contains_key(name.as_str()) && !order.contains(&name.as_str()) {
                    order.push(name);
                }
            }
            let left = fields.into_extra();
            prop_assert_eq!(left.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), order);
            for (name, value) in &left {
                prop_assert_eq!(value.text(), expected[&**name].to_string());
            }
        }
    }
}
