//! Paths as JSON text without loss: bytes that are not UTF-8, and `%`, are written as `%XX`.
//!
//! Used as `#[serde(with = "path_text")]` on lists of paths.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| encode(path)))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let decoded = texts.iter().map(|text| {
        decode(text).ok_or_else(|| D::Error::custom(format!("{text:?} is not an escaped path")))
    });
    decoded.collect()
}

/// The same for a path that may be absent.
pub(crate) mod optional {
    use std::path::PathBuf;

    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes the field as it is")]
    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        super::serialize(path.as_slice(), to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(super::deserialize(from)?.pop())
    }
}

pub(crate) fn encode(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

pub(crate) fn decode(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_survives_the_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let path = PathBuf::from(OsString::from_vec(bytes));
            prop_assert_eq!(decode(&encode(&path)), Some(path));
        }
    }

    #[test]
    fn plain_paths_stay_readable() {
        assert_eq!(encode(Path::new("/tmp/ä b")), "/tmp/ä b");
        assert_eq!(decode("100%"), None);
    }
}
