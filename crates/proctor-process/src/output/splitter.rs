//! Cuts program output into lines of text. Pure.
//!
//! Unlike the framer of the protocol, nothing may be lost here: a line above the bound is cut into
//! pieces (between characters), invalid UTF-8 becomes replacement characters, and what is left
//! at the end is a line too. Owns the bytes of the unfinished line, at most `max` plus one chunk.

use super::Line;

/// How far from its end a piece is cut to keep a word whole.
const LONGEST_WORD: usize = 8 << 10;

/// Cuts one stream.
#[derive(Debug)]
pub(super) struct Splitter {
    max: usize,
    buffer: Vec<u8>,
    /// Where the first line begins that has not been handed out.
    start: usize,
    /// Bytes before this have been searched for a line feed.
    scanned: usize,
    /// The next piece continues a line that was cut.
    continued: bool,
}

impl Splitter {
    pub(super) fn new(max: usize) -> Self {
        Self { max: max.max(4), buffer: Vec::new(), start: 0, scanned: 0, continued: false }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        // What was handed out goes in one step: a chunk may hold thousands of lines.
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next finished line or piece.
    pub(super) fn next_line(&mut self) -> Option<Line> {
        let rest = &self.buffer[self.start..];
        let reach = rest.len().min(self.max + 1);
        let from = (self.scanned - self.start).min(reach);
        if let Some(offset) = memchr::memchr(b'\n', &rest[from..reach]) {
            return Some(self.cut(from + offset, 1, true));
        }
        self.scanned = self.start + reach;
        if rest.len() > self.max {
            let end = piece_end(&rest[..self.max]);
            return Some(self.cut(end, 0, false));
        }
        None
    }

    /// What is left when the stream has ended.
    pub(super) fn finish(&mut self) -> Option<Line> {
        let length = self.buffer.len() - self.start;
        if length == 0 {
            return None;
        }
        let mut line = self.cut(length, 0, true);
        line.ended = false;
        Some(line)
    }

    /// Hands out so many bytes and skips what ends them.
    fn cut(&mut self, length: usize, skip: usize, ends_here: bool) -> Line {
        let end = self.start + length;
        let line = Line {
            text: String::from_utf8_lossy(&self.buffer[self.start..end]).into(),
            continues: self.continued,
            ended: ends_here,
        };
        self.start = end + skip;
        self.scanned = self.start;
        self.continued = !ends_here;
        line
    }
}

/// Where a piece of a long line ends: behind a space near its end, else between characters. Pieces are looked at one by one, and a word
/// that is cut would not be recognised in either: a key is one word.
fn piece_end(bytes: &[u8]) -> usize {
    let near = bytes.len().saturating_sub(LONGEST_WORD.min(bytes.len() / 2));
    let space = bytes[near..].iter().rposition(u8::is_ascii_whitespace);
    match space {
        Some(offset) => near + offset + 1,
        None => bytes.len() - unfinished_character(bytes),
    }
}

/// How many bytes at the end of `bytes` begin a character that is not complete.
fn unfinished_character(bytes: &[u8]) -> usize {
    match std::str::from_utf8(&bytes[bytes.len().saturating_sub(3)..]) {
        Ok(_) => 0,
        Err(_) => (1..=3.min(bytes.len() - 1))
            .find(|back| starts_longer_character(bytes[bytes.len() - back], *back))
            .unwrap_or(0),
    }
}

fn starts_longer_character(byte: u8, available: usize) -> bool {
    let length = match byte {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 0,
    };
    length > available
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(bytes: &[u8], max: usize, chunk: usize) -> Vec<Line> {
        let mut splitter = Splitter::new(max);
        let mut lines = Vec::new();
        for part in bytes.chunks(chunk) {
            splitter.feed(part);
            while let Some(line) = splitter.next_line() {
                lines.push(line);
            }
        }
        lines.extend(splitter.finish());
        lines
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn the_last_line_needs_no_line_feed() {
        let lines = split(b"one\n\ntwo", 100, 2);
        assert_eq!(texts(&lines), ["one", "", "two"]);
        assert_eq!(lines.iter().map(|line| line.ended).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let lines = split("aaaääxx\nend\n".as_bytes(), 6, 100);
        assert_eq!(texts(&lines), ["aaaä", "äxx", "end"]);
        assert!(!lines[0].ended && lines[1].continues && lines[1].ended && !lines[2].continues);
    }

    #[test]
    fn words_stay_whole_where_a_line_is_cut() {
        let lines = split(b"aaaa bb cc dddddddddddddddddddd\n", 12, 100);
        assert_eq!(texts(&lines), ["aaaa bb cc ", "dddddddddddd", "dddddddd"]);
    }

    #[test]
    fn invalid_utf8_is_replaced_not_lost() {
        assert_eq!(texts(&split(b"a\xffb\n\xe2\x82", 100, 1)), ["a\u{fffd}b", "\u{fffd}"]);
    }

    proptest! {
        #[test]
        fn the_pieces_give_the_text_back(text in "[aä€😀\n]{0,80}", max in 4_usize..12, chunk in 1_usize..20) {
            let mut joined = String::new();
            for line in split(text.as_bytes(), max, chunk) {
                prop_assert!(line.text.len() <= max);
                joined.push_str(&line.text);
                if line.ended {
                    joined.push('\n');
                }
            }
            prop_assert_eq!(joined, text);
        }

        #[test]
        fn any_bytes_at_any_chunking_give_the_same_lines(
            bytes in proptest::collection::vec(any::<u8>(), 0..100), chunk in 1_usize..20) {
            prop_assert_eq!(split(&bytes, 16, chunk), split(&bytes, 16, 1000));
        }
    }
}
