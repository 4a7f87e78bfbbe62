//! Entry points for fuzz targets, replayed as ordinary tests. Not part of the public interface.
//!
//! [`check_framer`] takes whatever a fuzzer gives and panics when the framer and a naive model
//! (split the whole input at line feeds) disagree.

use crate::framer::{Frame, Framer};

/// An owned [`Frame`].
#[derive(Debug, PartialEq, Eq)]
pub enum Owned {
    /// See [`Frame::Line`].
    Line(String),
    /// See [`Frame::NotUtf8`].
    NotUtf8(Vec<u8>),
    /// See [`Frame::TooLong`].
    TooLong(u64),
}

impl From<Frame<'_>> for Owned {
    fn from(frame: Frame<'_>) -> Self {
        match frame {
            Frame::Line(text) => Self::Line(text.to_owned()),
            Frame::NotUtf8(bytes) => Self::NotUtf8(bytes.to_vec()),
            Frame::TooLong { len } => Self::TooLong(len),
        }
    }
}

/// Feeds `bytes` in chunks whose sizes cycle through `chunks`.
pub fn frames_in_chunks(bytes: &[u8], limit: usize, chunks: &[usize]) -> Vec<Owned> {
    let mut framer = Framer::new(limit);
    let mut found = Vec::new();
    let mut rest = bytes;
    for size in chunks.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, later) = rest.split_at((*size).clamp(1, rest.len()));
        framer.feed(chunk);
        drain(&mut framer, &mut found);
        rest = later;
    }
    framer.finish();
    drain(&mut framer, &mut found);
    found
}

fn drain(framer: &mut Framer, found: &mut Vec<Owned>) {
    while let Some(frame) = framer.next_frame() {
        found.push(frame.into());
    }
}

/// What the framer must find: the whole input split at line feeds.
pub fn model_frames(bytes: &[u8], limit: usize) -> Vec<Owned> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(|line| model_frame(line, limit)).collect()
}

fn model_frame(line: &[u8], limit: usize) -> Owned {
    if line.len() > limit {
        return Owned::TooLong(line.len() as u64);
    }
    match String::from_utf8(line.to_vec()) {
        Ok(text) => Owned::Line(text),
        Err(_) => Owned::NotUtf8(line.to_vec()),
    }
}

/// Fuzz target: the first two bytes choose limit and chunk size, the rest is the stream.
///
/// # Panics
/// When the framer and the model disagree, or when a line cannot be classified.
pub fn check_framer(data: &[u8]) {
    let (head, stream) = data.split_at(data.len().min(2));
    let limit = usize::from(head.first().copied().unwrap_or(16));
    let chunk = usize::from(head.get(1).copied().unwrap_or(1)).max(1);
    let found = frames_in_chunks(stream, limit, &[chunk, 1, 3]);
    assert_eq!(found, model_frames(stream, limit));
    for frame in found {
        if let Owned::Line(text) = frame {
            drop(crate::protocol::classify(&text));
        }
    }
}

/// Fuzz target: a line read as a message `T`. A reply to it is one line of JSON, and is itself never answered.
///
/// # Panics
/// When the reply is not one line or would be replied to.
pub fn check_json_rpc_line<T: serde::de::DeserializeOwned>(data: &[u8]) {
    use crate::json_rpc::{ParsedLine, parse_line};

    if let ParsedLine::Refused(reply) = parse_line::<T>(data) {
        let line = reply.strip_suffix(b"\n").expect("a reply ends its line");
        assert!(!line.contains(&b'\n'), "a reply is one line");
        let answered = matches!(parse_line::<T>(line), ParsedLine::Refused(_));
        assert!(!answered, "a reply is answered: {}", String::from_utf8_lossy(line));
    }
}
