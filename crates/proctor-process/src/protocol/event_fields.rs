//! The fields of an event's payload, split while the line's envelope is read.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The name of an event and its fields, each with the untouched text of its value.
#[derive(Debug, Clone)]
pub struct EventFields {
    /// `event_type`.
    pub event_type: Box<str>,
    /// The members of `payload`, in the order they came; a name may stand twice.
    pub fields: Vec<(Box<str>, Box<RawValue>)>,
}

impl EventFields {
    pub(super) fn new(name: EventName<'_>, payload: PayloadFields<'_>) -> Option<Self> {
        let owned =
            |(name, value): (Cow<'_, str>, &RawValue)| (Box::from(&*name), value.to_owned());
        Some(Self {
            event_type: Box::from(&*name.0?),
            fields: payload.0?.into_iter().map(owned).collect(),
        })
    }
}

/// A name that borrows where it can; `None` for any value that is not a text.
#[derive(Debug, Default)]
pub(super) struct EventName<'a>(Option<Cow<'a, str>>);

/// The name of a member, which borrows where it can.
struct MemberName<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for MemberName<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl<'de> Visitor<'de> for Name {
            type Value = MemberName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(MemberName(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(MemberName(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

/// The members of an object; `None` for any value that is not an object.
#[derive(Debug, Default)]
pub(super) struct PayloadFields<'a>(Option<Vec<(Cow<'a, str>, &'a RawValue)>>);

/// With the feature `arbitrary_precision`, `serde_json` shows a number as an object with this one key.
const NUMBER: &str = "$serde_json::private::Number";

/// Visitor methods that accept and forget scalars, so that a member of another type is no error of the envelope: other
/// notifications may use the same names for something else.
macro_rules! accept_scalars {
    ($value:expr; $($method:ident: $type:ty),+) => {
        $(fn $method<E: Error>(self, _: $type) -> Result<Self::Value, E> { Ok($value) })+

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok($value) }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for EventName<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl<'de> Visitor<'de> for Name {
            type Value = EventName<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(EventName(Some(Cow::Borrowed(name))))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(EventName(Some(Cow::Owned(name.to_owned()))))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(EventName(None))
            }

            accept_scalars!(EventName(None); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
        }

        deserializer.deserialize_any(Name)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for PayloadFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = PayloadFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some(MemberName(name)) = map.next_key()? {
                    if name == NUMBER {
                        map.next_value::<IgnoredAny>()?;
                        return Ok(PayloadFields(None));
                    }
                    fields.push((name, map.next_value()?));
                }
                Ok(PayloadFields(Some(fields)))
            }

            accept_scalars!(
                PayloadFields(None);
                visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str
            );
        }

        deserializer.deserialize_any(Fields)
    }
}
