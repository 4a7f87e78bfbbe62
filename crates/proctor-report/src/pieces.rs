//! Long texts that are handed on piece by piece, so that no report is in memory as a whole.

use std::io;

/// Bytes of text that are gathered before they are handed on.
pub(crate) const PIECE: usize = 1 << 16;

/// How deep members of lists of the run are, `examples` for one.
const DEEPEST: usize = 3;

/// Gathers indented JSON and cuts it behind members of lists.
///
/// A piece ends with the line that closes an object of at most [`DEEPEST`] levels, and that another follows: an example, a verdict, an error. Such
/// a line stands in no string, since strings in JSON have no line feeds.
pub(crate) struct JsonPieces<'a> {
    write: &'a mut dyn FnMut(&str) -> io::Result<()>,
    text: Vec<u8>,
    /// The length from which a place to cut is looked for.
    enough: usize,
}

impl<'a> JsonPieces<'a> {
    pub(crate) fn new(write: &'a mut dyn FnMut(&str) -> io::Result<()>) -> Self {
        Self { write, text: Vec::with_capacity(PIECE * 2), enough: PIECE }
    }

    /// Hands on what is left, with a line feed.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.text.push(b'\n');
        self.hand_on(self.text.len())
    }

    fn hand_on(&mut self, end: usize) -> io::Result<()> {
        (self.write)(std::str::from_utf8(&self.text[..end]).map_err(io::Error::other)?)?;
        self.text.drain(..end);
        self.enough = PIECE;
        Ok(())
    }

    /// Behind the last line at which the text may be cut.
    fn last_cut(&self) -> Option<usize> {
        let mut end = self.text.len();
        while let Some(feed) = self.text[..end].iter().rposition(|byte| *byte == b'\n') {
            let start = self.text[..feed].iter().rposition(|byte| *byte == b'\n')? + 1;
            let line = self.text[start..feed].trim_ascii_start();
            if line == b"}," && feed - start - line.len() <= DEEPEST * 2 {
                return Some(feed + 1);
            }
            end = feed;
        }
        None
    }
}

impl io::Write for JsonPieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        if self.text.len() >= self.enough {
            match self.last_cut() {
                Some(end) => self.hand_on(end)?,
                // One long example: looking again after every few bytes would take the square of its length.
                None => self.enough = self.text.len() * 2,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gathers text and hands it on once there is enough; it may be cut wherever something is added.
pub(crate) struct TextPieces<'a> {
    write: &'a mut dyn FnMut(&str) -> io::Result<()>,
    text: String,
}

impl<'a> TextPieces<'a> {
    pub(crate) fn new(write: &'a mut dyn FnMut(&str) -> io::Result<()>) -> Self {
        Self { write, text: String::new() }
    }

    pub(crate) fn add(&mut self, text: &str) -> io::Result<()> {
        self.text.push_str(text);
        if self.text.len() < PIECE {
            return Ok(());
        }
        let written = (self.write)(&self.text);
        self.text.clear();
        written
    }

    /// Hands on what is left.
    pub(crate) fn finish(self) -> io::Result<()> {
        (self.write)(&self.text)
    }
}
