//! From bytes to records: forgiving about encoding, strict about shape.
//!
//! Accepts a byte order mark, CRLF, invalid UTF-8 and the lone surrogate escapes that Python
//! writes and JSON forbids. A wrong type or an unknown word is an error: the caller decides
//! whether that sets a file aside or skips a line.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::entry::Entry;

/// Reads one record from the whole of a file.
pub(crate) fn record<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let bytes = without_byte_order_mark(bytes);
    // Checking is much faster than repairing, and nearly always enough.
    let text =
        std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    serde_json::from_str(&text).or_else(|error| {
        let mended = replace_lone_surrogates(&text);
        if matches!(mended, Cow::Borrowed(_)) { Err(error) } else { serde_json::from_str(&mended) }
    })
}

/// The bytes after a byte order mark.
pub(crate) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// One line of a file of entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: usize,
    /// The line without its end.
    pub(crate) bytes: &'a [u8],
}

impl Line<'_> {
    /// The entry on this line.
    pub(crate) fn entry(&self) -> serde_json::Result<Entry> {
        record(self.bytes)
    }
}

/// The lines of a file that are not blank.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let bytes = without_byte_order_mark(bytes);
    let mut start = 0;
    memchr::memchr_iter(b'\n', bytes)
        .chain([bytes.len()])
        .map(move |end| {
            let line = bytes.get(start..end).unwrap_or_default();
            start = end + 1;
            line.strip_suffix(b"\r").unwrap_or(line)
        })
        .enumerate()
        .map(|(index, bytes)| Line { number: index + 1, bytes })
        .filter(|line| !line.bytes.trim_ascii().is_empty())
}

/// The entries of a file and the numbers of the lines that are not entries.
pub(crate) fn entries(bytes: &[u8]) -> (Vec<Entry>, Vec<usize>) {
    let mut good = Vec::new();
    let mut bad = Vec::new();
    for line in lines(bytes) {
        match line.entry() {
            Ok(entry) => good.push(entry),
            Err(_) => bad.push(line.number),
        }
    }
    (good, bad)
}

/// What an archive needs to know of a line to file it.
#[derive(serde::Deserialize)]
struct Identity {
    id: String,
    session_id: String,
}

/// The id and session of a line, even if the rest of it is not an entry this version knows.
pub(crate) fn identity(line: &[u8]) -> Option<(String, String)> {
    record::<Identity>(line).ok().map(|found| (found.id, found.session_id))
}

/// Replaces escaped surrogates that have no partner by `\ufffd`.
fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut mended = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            at += 1;
            continue;
        }
        at += match (utf16_unit_at(bytes, at), utf16_unit_at(bytes, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(text.get(copied..at).unwrap_or_default());
                mended.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(mended)
}

/// The UTF-16 unit that an escape at this place stands for.
fn utf16_unit_at(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        let read = |text: &str| record::<String>(text.as_bytes()).unwrap();
        assert_eq!(read(r#""a\ud800b""#), "a\u{fffd}b");
        assert_eq!(read(r#""\udc00""#), "\u{fffd}");
        assert_eq!(read(r#""\ud83d\ude00""#), "😀");
        assert_eq!(read(r#""\ud800\ud83d\ude00""#), "\u{fffd}😀");
        assert_eq!(read(r#""\\ud800\ud800""#), "\\ud800\u{fffd}");
    }

    #[test]
    fn marks_and_carriage_returns_are_no_obstacle() {
        assert_eq!(record::<u8>(b"\xef\xbb\xbf7\r\n").unwrap(), 7);
        let found: Vec<_> =
            lines(b"\xef\xbb\xbfa\r\n\r\n\nb").map(|l| (l.number, l.bytes)).collect();
        assert_eq!(found, [(1, &b"a"[..]), (4, &b"b"[..])]);
    }

    #[test]
    fn errors_name_the_field() {
        let error = record::<crate::entry::Outcome>(br#"{"status":"confirmed","result":5}"#);
        assert!(error.unwrap_err().to_string().starts_with("field `result`: invalid type"));
    }
}
