//! Cuts a byte stream into lines: bytes in, [`Frame`]s out.
//!
//! Pure: no I/O, no clock, no task. The framer owns the bytes of the line that is still
//! incomplete and nothing else. It knows nothing of JSON. A line above the limit is counted
//! and thrown away while it arrives, so memory stays within the limit plus one chunk.
//!
//! Use: [`Framer::feed`] a chunk, then call [`Framer::next_frame`] until it returns `None`; after
//! the last chunk call [`Framer::finish`] and drain once more, which yields a last line that had
//! no line feed.

/// Buffers above this are given back once they are empty.
const KEEP_CAPACITY: usize = 256 * 1024;

/// What the framer found.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line of valid UTF-8, without its line feed.
    Line(&'a str),
    /// A line that is not valid UTF-8, without its line feed.
    NotUtf8(&'a [u8]),
    /// A line above the limit; its content is gone.
    TooLong {
        /// How many bytes the line had, line feed excluded.
        len: u64,
    },
}

/// The state of one stream that is being cut into lines.
#[derive(Debug)]
pub struct Framer {
    limit: usize,
    buffer: Vec<u8>,
    /// Start of the first line that has not been handed out.
    start: usize,
    /// Everything before this has been searched for a line feed.
    scanned: usize,
    /// Bytes thrown away so far of a line above the limit that has not ended yet.
    skipping: Option<u64>,
    /// A line above the limit that has ended and is still to be reported.
    refused: Option<u64>,
    finished: bool,
}

impl Framer {
    /// A framer that refuses lines of more than `limit` bytes, line feed excluded.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            skipping: None,
            refused: None,
            finished: false,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        if let Some(len) = self.skipping {
            let end = line_feed(bytes);
            let skipped = end.unwrap_or(bytes.len());
            let len = len + skipped as u64;
            let Some(end) = end else {
                self.skipping = Some(len);
                return;
            };
            self.skipping = None;
            self.refused = Some(len);
            bytes = &bytes[end + 1..];
        }
        self.compact();
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that the stream has ended: what is left counts as a line.
    pub fn finish(&mut self) {
        self.finished = true;
        if let Some(len) = self.skipping.take() {
            self.refused = Some(len);
        }
    }

    /// The next frame, or `None` until more bytes are fed.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        if let Some(len) = self.refused.take() {
            return Some(Frame::TooLong { len });
        }
        if let Some(offset) = line_feed(&self.buffer[self.scanned..]) {
            let end = self.scanned + offset;
            return Some(self.cut(end, end + 1));
        }
        self.scanned = self.buffer.len();
        let rest = self.buffer.len() - self.start;
        if self.finished && rest > 0 {
            return Some(self.cut(self.buffer.len(), self.buffer.len()));
        }
        if rest > self.limit {
            self.skipping = Some(rest as u64);
            self.start = self.buffer.len();
        }
        None
    }

    /// How many bytes are held at the moment.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.start
    }

    fn cut(&mut self, end: usize, next: usize) -> Frame<'_> {
        let line = &self.buffer[self.start..end];
        self.start = next;
        self.scanned = next;
        if line.len() > self.limit {
            return Frame::TooLong { len: line.len() as u64 };
        }
        match std::str::from_utf8(line) {
            Ok(text) => Frame::Line(text),
            Err(_) => Frame::NotUtf8(line),
        }
    }

    /// Forgets the lines that were handed out.
    fn compact(&mut self) {
        if self.start == 0 {
            return;
        }
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.capacity() > KEEP_CAPACITY && self.buffer.len() < KEEP_CAPACITY {
            self.buffer.shrink_to(KEEP_CAPACITY);
        }
    }
}

fn line_feed(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::{Owned, check_framer, frames_in_chunks, model_frames};
    use proptest::prelude::*;

    fn line(text: &str) -> Owned {
        Owned::Line(text.to_owned())
    }

    #[test]
    fn whole_lines_partial_lines_and_the_last_line_without_line_feed() {
        let found = frames_in_chunks(b"one\ntwo\n\nthr\nee", 100, &[2, 3]);
        assert_eq!(found, [line("one"), line("two"), line(""), line("thr"), line("ee")]);
    }

    #[test]
    fn a_line_at_the_limit_passes_and_one_byte_more_is_refused() {
        let found = frames_in_chunks(b"12345\n123456\n1\n", 5, &[1]);
        assert_eq!(found, [line("12345"), Owned::TooLong(6), line("1")]);
    }

    #[test]
    fn a_long_line_that_never_ends_is_refused_at_the_end() {
        assert_eq!(frames_in_chunks(&[b'x'; 50], 5, &[7]), [Owned::TooLong(50)]);
    }

    #[test]
    fn invalid_utf8_is_told_apart_and_the_next_line_is_fine() {
        let found = frames_in_chunks(b"a\xff\nb\n", 5, &[3]);
        assert_eq!(found, [Owned::NotUtf8(b"a\xff".to_vec()), line("b")]);
    }

    #[test]
    fn memory_stays_bounded_while_a_huge_line_is_skipped() {
        let mut framer = Framer::new(1000);
        for _ in 0..10_000 {
            framer.feed(&[b'x'; 4096]);
            assert_eq!(framer.next_frame(), None);
            assert!(framer.held() <= 1000 + 4096);
        }
        assert!(framer.buffer.capacity() < 64 * 1024);
        framer.feed(b"\nok\n");
        assert_eq!(framer.next_frame(), Some(Frame::TooLong { len: 40_960_000 }));
        assert_eq!(framer.next_frame(), Some(Frame::Line("ok")));
    }

    #[test]
    fn a_large_buffer_is_given_back() {
        let mut framer = Framer::new(8 << 20);
        framer.feed(&vec![b'x'; 4 << 20]);
        assert_eq!(framer.next_frame(), None);
        framer.feed(b"\n");
        assert!(framer.next_frame().is_some());
        framer.feed(b"small\n");
        assert_eq!(framer.next_frame(), Some(Frame::Line("small")));
        assert!(framer.buffer.capacity() <= 2 * KEEP_CAPACITY);
    }

    proptest! {
        #[test]
        fn equals_the_naive_model_under_any_chunking(
            bytes in proptest::collection::vec(
                prop_oneof![5 => Just(b'a'), 2 => Just(b'\n'), 1 => any::<u8>()], 0..200),
            limit in 0_usize..20,
            chunks in proptest::collection::vec(1_usize..30, 1..10),
        ) {
            prop_assert_eq!(frames_in_chunks(&bytes, limit, &chunks), model_frames(&bytes, limit));
        }

        #[test]
        fn arbitrary_bytes_never_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            check_framer(&bytes);
        }
    }
}
