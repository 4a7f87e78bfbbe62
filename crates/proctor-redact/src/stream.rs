//! Texts that arrive in chunks: a secret that is split over chunks is found as well.

use std::fmt;
use std::ops::Range;

use crate::matcher::{OpenShape, Scope};
use crate::redactor::{Redactor, masked};
use crate::shapes::Class;

/// Held back at most, beside eight times the longest spelling of a known value.
const MOST_HELD: usize = 4096;

/// Redacts a text that arrives in chunks. What may be the beginning of a secret is held back until more text decides; all else is handed
/// out at once.
///
/// Memory is bounded: of a key that is longer than the bound the beginning is masked and the rest dropped; a secret
/// whose escapes alone exceed the bound is not found.
pub struct StreamRedactor {
    redactor: Redactor,
    held: Vec<u8>,
    /// The rest of a key that was masked already is dropped: characters of this class.
    dropping: Option<Class>,
}

impl fmt::Debug for StreamRedactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StreamRedactor({} bytes held)", self.held.len())
    }
}

impl StreamRedactor {
    /// A stream that knows what the filter knows.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new(), dropping: None }
    }

    /// Takes a chunk; hands out what is decided.
    pub fn push(&mut self, chunk: &str) -> String {
        into_text(self.push_bytes(chunk.as_bytes()))
    }

    /// Hands out the rest.
    pub fn finish(&mut self) -> String {
        into_text(self.finish_bytes())
    }

    /// Takes a chunk that need not be UTF-8; hands out what is decided.
    pub fn push_bytes(&mut self, chunk: &[u8]) -> Vec<u8> {
        let chunk = self.after_dropped(chunk);
        self.held.extend_from_slice(chunk);
        if self.held.is_empty() {
            return Vec::new();
        }
        let matcher = self.redactor.matcher();
        let most_held = MOST_HELD + 8 * matcher.longest();
        let ranges = matcher.search(&self.held, Scope::All).ranges;
        let end = matcher.open_end(&self.held);
        let mut cut = outside(&ranges, end.start);
        if self.held.len() - cut > most_held {
            cut = self.forced_cut(&ranges, most_held, end.shape.as_ref());
        }
        let decided: Vec<u8> = self.held.drain(..cut).collect();
        let ranges: Vec<Range<usize>> =
            ranges.into_iter().take_while(|range| range.end <= cut).collect();
        masked(&decided, &ranges)
    }

    /// Hands out the rest.
    pub fn finish_bytes(&mut self) -> Vec<u8> {
        self.dropping = None;
        let rest = std::mem::take(&mut self.held);
        self.redactor.redact_bytes(&rest).into_owned()
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The chunk without the rest of a key that was masked already.
    fn after_dropped<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let Some(class) = self.dropping else { return chunk };
        let dropped = chunk.iter().take_while(|byte| class.contains(**byte)).count();
        if dropped < chunk.len() {
            self.dropping = None;
        }
        &chunk[dropped..]
    }

    /// Where to cut when too much is held: behind everything if it ends in a key that goes on, otherwise so that half of the bound stays.
    fn forced_cut(
        &mut self,
        ranges: &[Range<usize>],
        most_held: usize,
        shape: Option<&OpenShape>,
    ) -> usize {
        let length = self.held.len();
        if let Some(&OpenShape { start, class, complete: true }) = shape
            && ranges.iter().any(|range| range.start <= start && range.end == length)
        {
            self.dropping = Some(class);
            return length;
        }
        let mut cut = length - most_held / 2;
        while cut > 0 && cut < length && self.held[cut] & 0xc0 == 0x80 {
            cut -= 1;
        }
        let inside = ranges.iter().find(|range| range.start < cut && cut < range.end);
        inside.map_or(cut, |range| range.end)
    }
}

/// The place, or the beginning of the range that it lies in.
fn outside(ranges: &[Range<usize>], place: usize) -> usize {
    let inside = ranges.iter().find(|range| range.start < place && place < range.end);
    inside.map_or(place, |range| range.start)
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
