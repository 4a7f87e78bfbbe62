//! The digest of a line: bytes that were changed after they were written can be found.
//!
//! Each line of a recording ends in `,"digest":"XXXXXXXXXXXXXXXX"}`: the first 16 hexadecimal digits of the SHA-256 of the
//! digest of the line before (nothing for the first line of a run) and of the line's own bytes up to that comma. A line
//! therefore vouches for itself and for its place. The digest belongs to one file: every file that a run is written to has
//! its own, and streams over a socket carry none. It finds damage and edits by hand, not edits by a program that computes the digests anew.

use sha2::{Digest as _, Sha256};

/// What stands between a line's own fields and its digest.
const MARK: &[u8] = b",\"digest\":\"";
/// What follows the digest.
const END: &[u8] = b"\"}";
/// Hexadecimal digits of a digest.
const DIGITS: usize = 16;

/// A digest as it is written: 16 lower-case hexadecimal digits.
pub(crate) type LineDigest = [u8; DIGITS];

/// The digest of a line that follows the line with the digest `previous`. `fields` are its bytes without closing brace.
pub(crate) fn digest(previous: Option<&LineDigest>, fields: &[u8]) -> LineDigest {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut hash = Sha256::new();
    if let Some(previous) = previous {
        hash.update(previous);
    }
    hash.update(fields);
    let hash = hash.finalize();
    let mut digits = [0; DIGITS];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(hash.iter()) {
        pair[0] = HEX[usize::from(byte >> 4)];
        pair[1] = HEX[usize::from(byte & 15)];
    }
    digits
}

/// Ends the line that begins at `start` of a buffer with its digest and a line feed. Returns the digest, for the line that follows.
pub(crate) fn seal(
    buffer: &mut Vec<u8>,
    start: usize,
    previous: Option<&LineDigest>,
) -> Option<LineDigest> {
    // Every event is an object with at least its type; whatever else this is, it is kept as it is.
    let Some(fields) = buffer[start..].strip_suffix(b"}") else {
        buffer.push(b'\n');
        return None;
    };
    let made = digest(previous, fields);
    buffer.pop();
    buffer.extend_from_slice(MARK);
    buffer.extend_from_slice(&made);
    buffer.extend_from_slice(END);
    buffer.push(b'\n');
    Some(made)
}

/// A line's own bytes, without closing brace, and its digest; `None` for a line without one.
pub(crate) fn split(line: &[u8]) -> Option<(&[u8], LineDigest)> {
    let rest = line.strip_suffix(END)?;
    let (rest, digits) = rest.split_last_chunk::<DIGITS>()?;
    let fields = rest.strip_suffix(MARK)?;
    let is_hex = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
    digits.iter().all(is_hex).then_some((fields, *digits))
}

/// A line as it was published, without the digest that its file gave it.
pub fn without_digest(line: &str) -> std::borrow::Cow<'_, str> {
    match split(line.as_bytes()) {
        Some((fields, _)) => format!("{}}}", &line[..fields.len()]).into(),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: &str, previous: Option<&LineDigest>) -> String {
        let mut buffer = b"before\n".to_vec();
        let start = buffer.len();
        buffer.extend_from_slice(line.as_bytes());
        seal(&mut buffer, start, previous);
        String::from_utf8(buffer.split_off(start)).unwrap()
    }

    /// `printf '{"event_type":"A"' | sha256sum` and `printf 'f74e7e80befc9b6f{"event_type":"B"' | sha256sum`, so that others can check.
    #[test]
    fn the_digest_is_what_sha256sum_prints() {
        let first = written(r#"{"event_type":"A"}"#, None);
        assert_eq!(first, "{\"event_type\":\"A\",\"digest\":\"f74e7e80befc9b6f\"}\n");
        let (_, digest) = split(first.trim_end().as_bytes()).unwrap();
        let second = written(r#"{"event_type":"B"}"#, Some(&digest));
        assert_eq!(second, "{\"event_type\":\"B\",\"digest\":\"fd2b742c2fe01cff\"}\n");
    }

    #[test]
    fn a_line_comes_back_as_it_was() {
        for line in [r#"{"event_type":"A"}"#, r#"{"a":"x\",\"digest\":\"0123456789abcdef\"}"}"#] {
            assert_eq!(without_digest(written(line, None).trim_end()), line);
            assert_eq!(without_digest(line), line);
        }
        for other in
            ["", "}", "{}x", r#"{"a":1,"digest":"0123"}"#, r#"{"digest":"0123456789abcdef"}"#]
        {
            assert_eq!(without_digest(other), other);
        }
    }
}
