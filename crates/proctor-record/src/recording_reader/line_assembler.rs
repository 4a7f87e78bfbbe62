//! Bytes → lines → events. Pure: the caller feeds bytes in pieces of any size.

use proctor_events::Event;

use crate::reader::{MAX_LINE, ProblemKind};

/// Puts lines together from pieces of a recording, one line at a time.
#[derive(Debug, Default)]
pub(crate) struct LineAssembler {
    /// The bytes of the current line without its line feed; empty once the line is too long.
    buffer: Vec<u8>,
    /// The current line, from 1; 0 before the first byte.
    number: u64,
    /// Where the current line begins.
    offset: u64,
    /// Bytes of the current line so far, its line feed included.
    length: u64,
    /// Whether the current line has had its line feed.
    complete: bool,
    too_long: bool,
}

/// A line of a recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: u64,
    /// Where the line begins in the file.
    pub(crate) offset: u64,
    /// The bytes without line end; empty where the line is too long.
    pub(crate) bytes: &'a [u8],
    complete: bool,
    too_long: bool,
}

impl LineAssembler {
    /// Continues after `lines` complete lines of `bytes` bytes in total.
    pub(crate) fn after(lines: u64, bytes: u64) -> Self {
        Self { number: lines, offset: bytes, complete: true, ..Self::default() }
    }

    /// The number of complete lines that were fed, and their bytes.
    pub(crate) fn complete_lines(&self) -> (u64, u64) {
        if self.complete {
            (self.number, self.offset + self.length)
        } else {
            (self.number.saturating_sub(1), self.offset)
        }
    }

    /// Takes bytes up to the end of the current line. Returns how many it took and whether the line is complete.
    pub(crate) fn feed(&mut self, input: &[u8]) -> (usize, bool) {
        if self.complete || self.number == 0 {
            self.begin_line();
        }
        let end = memchr::memchr(b'\n', input);
        let part = &input[..end.unwrap_or(input.len())];
        if self.too_long || self.buffer.len() + part.len() > MAX_LINE {
            self.too_long = true;
            self.buffer = Vec::new();
        } else {
            self.buffer.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        self.length += used as u64;
        self.complete = end.is_some();
        (used, self.complete)
    }

    /// Whether a line has begun that has no line feed yet.
    pub(crate) fn has_partial_line(&self) -> bool {
        !self.complete && self.length > 0
    }

    /// The current line as far as it was fed.
    pub(crate) fn line(&self) -> Line<'_> {
        let bytes = match self.buffer.strip_suffix(b"\r") {
            Some(bytes) if self.complete => bytes,
            _ => &self.buffer,
        };
        let Self { number, offset, complete, too_long, .. } = *self;
        Line { number, offset, bytes, complete, too_long }
    }

    fn begin_line(&mut self) {
        self.number += 1;
        self.offset += self.length;
        self.length = 0;
        self.buffer.clear();
        self.complete = false;
        self.too_long = false;
    }
}

impl Line<'_> {
    /// The event; `None` for a blank line. An incomplete line counts if it holds a whole event.
    pub(crate) fn parse(&self) -> Result<Option<Event>, ProblemKind> {
        if self.too_long {
            return Err(ProblemKind::TooLong);
        }
        let torn = |problem| {
            if self.complete { problem } else { ProblemKind::Torn }
        };
        let text = std::str::from_utf8(self.bytes)
            .map_err(|error| torn(ProblemKind::NotUtf8(error.valid_up_to())))?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        Event::from_json(text).map(Some).map_err(|error| torn(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Offsets, numbers and bytes of all complete lines.
    fn lines_of(pieces: &[&[u8]]) -> Vec<(u64, u64, Vec<u8>)> {
        let (mut assembler, mut found) = (LineAssembler::default(), Vec::new());
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                let (used, complete) = assembler.feed(rest);
                rest = &rest[used..];
                if complete {
                    let line = assembler.line();
                    found.push((line.number, line.offset, line.bytes.to_vec()));
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_bytes_arrive(
            text in "[ab\r\n]{0,60}",
            cut in 0usize..60,
        ) {
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            let whole = lines_of(&[bytes]);
            prop_assert_eq!(&lines_of(&[&bytes[..cut], &bytes[cut..]]), &whole);
            prop_assert_eq!(whole.len(), text.matches('\n').count());
            for (_, offset, line) in whole {
                let start = usize::try_from(offset).unwrap();
                prop_assert_eq!(&bytes[start..start + line.len()], &line[..]);
            }
        }
    }
}
