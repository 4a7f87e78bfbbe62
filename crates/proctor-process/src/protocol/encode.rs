//! Messages to lines: the payload's keys next to the envelope's, one line feed at the end. Pure.

use super::{ReplyError, code};
use serde::Serialize;

/// A payload that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The payload serialised to something else than an object (or nothing).
    #[error(
        "a payload must be a json object, a struct or `()`, because its keys join the envelope's"
    )]
    NotAnObject,
    /// The payload uses an envelope key.
    #[error("a payload may not have the key {key:?}, it belongs to the envelope; rename it")]
    ReservedKey {
        /// The key.
        key: &'static str,
    },
    /// The message is longer than a line may be.
    #[error("the message has {len} bytes, a line may have {limit}; send it in parts")]
    TooLong {
        /// Length of the encoded line.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The payload's own serialisation failed.
    #[error("the payload cannot be written as json: {0}")]
    Json(#[from] serde_json::Error),
}

/// One encoded line, line feed included.
pub(crate) type Line = Vec<u8>;

/// Encodes a request.
pub(crate) fn request_line<T: Serialize + ?Sized>(
    id: &str,
    action: &str,
    payload: &T,
    limit: usize,
) -> Result<Line, EncodeError> {
    let mut line = Vec::with_capacity(128);
    head(&mut line, b"{\"id\":", id)?;
    head(&mut line, b",\"action\":", action)?;
    let at = line.len();
    serde_json::to_writer(&mut line, payload)?;
    finish(line, at, &["id", "action", "reply_to"], limit)
}

/// Encodes a successful reply.
pub(crate) fn reply_line<T: Serialize + ?Sized>(
    to: &str,
    payload: &T,
    limit: usize,
) -> Result<Line, EncodeError> {
    let mut line = Vec::with_capacity(128);
    head(&mut line, b"{\"reply_to\":", to)?;
    let at = line.len();
    serde_json::to_writer(&mut line, payload)?;
    finish(line, at, &["reply_to", "error"], limit)
}

/// Encodes a failed reply. Falls back to a bare one rather than to none.
pub(crate) fn error_line(to: &str, error: &ReplyError, limit: usize) -> Line {
    #[derive(Serialize)]
    struct Failed<'a> {
        reply_to: &'a str,
        error: &'a ReplyError,
    }
    let full = serde_json::to_vec(&Failed { reply_to: to, error });
    match full {
        Ok(mut line) if line.len() <= limit => {
            line.push(b'\n');
            line
        }
        _ => {
            let short = ReplyError::new(code::TOO_LARGE, "the error does not fit a line");
            let mut line =
                serde_json::to_vec(&Failed { reply_to: to, error: &short }).unwrap_or_default();
            line.push(b'\n');
            line
        }
    }
}

/// Encodes a notification and appends it to `line`.
pub(crate) fn notification_line<T: Serialize + ?Sized>(
    kind: &str,
    payload: &T,
    limit: usize,
) -> Result<Line, EncodeError> {
    let mut line = Vec::with_capacity(128);
    head(&mut line, b"{\"type\":", kind)?;
    let at = line.len();
    serde_json::to_writer(&mut line, payload)?;
    let reserved: &[&'static str] =
        if kind == super::kind::CANCEL_REQUEST { &["type"] } else { &["type", "id", "reply_to"] };
    finish(line, at, reserved, limit)
}

fn head(line: &mut Line, key: &[u8], value: &str) -> Result<(), EncodeError> {
    line.extend_from_slice(key);
    Ok(serde_json::to_writer(line, value)?)
}

/// Joins the payload at `at` to the envelope before it and ends the line.
fn finish(
    mut line: Line,
    at: usize,
    reserved: &[&'static str],
    limit: usize,
) -> Result<Line, EncodeError> {
    check_reserved(&line[at..], reserved)?;
    let first_key = line[at..].iter().skip(1).find(|byte| !byte.is_ascii_whitespace());
    match (line[at..].first(), first_key) {
        (Some(b'{'), Some(b'"')) => line[at] = b',',
        (Some(b'{' | b'n'), _) => {
            line.truncate(at);
            line.push(b'}');
        }
        _ => return Err(EncodeError::NotAnObject),
    }
    // Only a pretty-printed raw value has line feeds, between tokens: a space is as good.
    for byte in &mut line[at..] {
        if *byte == b'\n' {
            *byte = b' ';
        }
    }
    if line.len() > limit {
        return Err(EncodeError::TooLong { len: line.len(), limit });
    }
    line.push(b'\n');
    Ok(line)
}

/// Most payloads do not even contain the word; only then are the top-level keys looked at.
fn check_reserved(payload: &[u8], reserved: &[&'static str]) -> Result<(), EncodeError> {
    for key in reserved {
        let quoted = format!("\"{key}\":");
        if contains(payload, quoted.as_bytes()) && has_key(payload, key) {
            return Err(EncodeError::ReservedKey { key });
        }
    }
    Ok(())
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    // Serialised JSON is UTF-8, and `str::contains` is far faster than comparing windows.
    match (std::str::from_utf8(haystack), std::str::from_utf8(needle)) {
        (Ok(haystack), Ok(needle)) => haystack.contains(needle),
        _ => false,
    }
}

fn has_key(payload: &[u8], key: &str) -> bool {
    let object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(payload);
    object.is_ok_and(|object| object.contains_key(key))
}
