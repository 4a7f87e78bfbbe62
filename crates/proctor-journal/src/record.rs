//! The macro behind every stored record: named fields in a fixed order, unknown fields kept.
//!
//! Serde's own `flatten` buffers values and loses exact numbers; here a field the crate does not
//! know is kept as the raw text it was written with, and written back after the known ones.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Fields of a record that this version does not know, byte for byte as they were read.
#[derive(Clone, Default)]
pub struct Extra(Vec<(String, Box<RawValue>)>);

impl Extra {
    /// Whether there is nothing unknown.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The raw JSON text of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    /// Names and raw JSON texts, in the order they were read.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), &**value))
    }

    pub(crate) fn insert(&mut self, name: String, value: Box<RawValue>) {
        let value = on_one_line(value);
        match self.0.iter_mut().find(|(key, _)| *key == name) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name, value)),
        }
    }
}

/// Line breaks inside a JSON text can only stand between tokens, so they can simply go: a record
/// read from an indented file may be written to a file of one record per line.
fn on_one_line(value: Box<RawValue>) -> Box<RawValue> {
    if !value.get().contains(['\n', '\r']) {
        return value;
    }
    RawValue::from_string(value.get().replace(['\n', '\r'], "")).unwrap_or(value)
}

impl PartialEq for Extra {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.iter().zip(other.iter()).all(|(a, b)| a.0 == b.0 && a.1.get() == b.1.get())
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, value)| (key, value.get()))).finish()
    }
}

/// A key of a JSON object, borrowed from the input where it needs no unescaping.
pub(crate) struct Key<'de>(pub(crate) std::borrow::Cow<'de, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> serde::de::Visitor<'de> for Text {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(std::borrow::Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(std::borrow::Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Writes one field of a record; how depends on the kind of field.
pub(crate) trait WriteField {
    /// False when the field is left out of the file.
    fn is_written(&self) -> bool;
}

impl<T> WriteField for Option<T> {
    fn is_written(&self) -> bool {
        self.is_some()
    }
}

impl<T> WriteField for Vec<T> {
    fn is_written(&self) -> bool {
        !self.is_empty()
    }
}

/// Declares a stored record.
///
/// Kinds of field: `need` must be present; `some` is optional and left out when absent; `list` is
/// left out when empty; `keep(default)` has a default and is always written. `null` means absent.
macro_rules! record {
    (@type need, $ty:ty) => { $ty };
    (@type some, $ty:ty) => { Option<$ty> };
    (@type list, $ty:ty) => { Vec<$ty> };
    (@type keep($default:expr), $ty:ty) => { $ty };
    (@wire list, $ty:ty) => { Vec<$ty> };
    (@wire $kind:ident $(($default:expr))?, $ty:ty) => { $ty };
    (@take need, $field:ident, $error:ident) => {
        $field.ok_or_else(|| $error::Error::missing_field(stringify!($field)))?
    };
    (@take some, $field:ident, $error:ident) => { $field };
    (@take list, $field:ident, $error:ident) => { $field.unwrap_or_default() };
    (@take keep($default:expr), $field:ident, $error:ident) => { $field.unwrap_or_else(|| $default) };
    (@written some, $value:expr) => { $crate::record::WriteField::is_written($value) };
    (@written list, $value:expr) => { $crate::record::WriteField::is_written($value) };
    (@written $kind:ident $(($default:expr))?, $value:expr) => { true };

    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$fmeta:meta])* $kind:ident $(($default:expr))? $field:ident : $ty:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$fmeta])* pub $field: $crate::record::record!(@type $kind $(($default))?, $ty),)*
            /// Fields written by someone else that this version does not know.
            pub extra: $crate::record::Extra,
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(if $crate::record::record!(@written $kind $(($default))?, &self.$field) {
                    map.serialize_entry(stringify!($field), &self.$field)?;
                })*
                for (name, value) in self.extra.iter() {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a JSON object (", stringify!($name), ")"))
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        use serde::de;
                        $(let mut $field: Option<$crate::record::record!(@wire $kind $(($default))?, $ty)> = None;)*
                        let mut extra = $crate::record::Extra::default();
                        while let Some($crate::record::Key(key)) = map.next_key()? {
                            match key.as_ref() {
                                $(stringify!($field) => {
                                    $field = map.next_value().map_err(|error| {
                                        <A::Error as de::Error>::custom(format_args!(
                                            "field `{}`: {error}", stringify!($field)
                                        ))
                                    })?;
                                })*
                                _ => extra.insert(key.into_owned(), map.next_value()?),
                            }
                        }
                        Ok($name {
                            $($field: $crate::record::record!(@take $kind $(($default))?, $field, de),)*
                            extra,
                        })
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
}
pub(crate) use record;

/// Serialises as one line of JSON. Records hold nothing JSON cannot say, so this does not fail;
/// were it to, the error is reported like any other unwritable file.
pub(crate) fn to_line<T: Serialize>(record: &T) -> std::io::Result<String> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    Ok(line)
}

/// Serialises with indentation, as the file of the active entry is written.
pub(crate) fn to_pretty<T: Serialize>(record: &T) -> std::io::Result<String> {
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    Ok(text)
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
