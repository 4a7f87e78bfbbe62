//! Server-sent events, decoded without I/O.
//!
//! Bytes go in as they come, in pieces of any size; whole events come out. Lines may end in LF,
//! CR or CR LF, even when a piece ends between the two. Text is decoded only when a line is
//! complete, so a character that spans two pieces survives.

use std::collections::VecDeque;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's name; empty where the stream gave none.
    pub name: String,
    /// The data lines, joined by line feeds.
    pub data: String,
}

/// More was sent without an end of the event than we are willing to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct SseTooLarge {
    /// The most bytes that one event may have.
    pub limit: usize,
}

/// The state between two pieces.
#[derive(Debug)]
pub struct SseDecoder {
    line: Vec<u8>,
    after_cr: bool,
    at_start: bool,
    name: String,
    data: Vec<String>,
    held: usize,
    limit: usize,
    ready: VecDeque<SseEvent>,
}

impl SseDecoder {
    /// A decoder that holds at most `limit` bytes of an unfinished event.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            name: String::new(),
            data: Vec::new(),
            held: 0,
            limit,
            ready: VecDeque::new(),
        }
    }

    /// Takes a piece of the stream.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), SseTooLarge> {
        for &byte in piece {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => self.end_line(),
                _ => {
                    self.held += 1;
                    if self.held > self.limit {
                        return Err(SseTooLarge { limit: self.limit });
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(())
    }

    /// The next whole event.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    /// Ends the stream. An event whose closing blank line is missing is still given out: some
    /// servers forget it after the last one, and the caller knows how its stream must end.
    pub fn finish(&mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch();
        self.next_event()
    }

    fn end_line(&mut self) {
        let mut bytes = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        if bytes.is_empty() {
            return self.dispatch();
        }
        let line = String::from_utf8_lossy(&bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => self.data.push(value.to_owned()),
            // Comments, ids and reconnection times mean nothing to a single answer.
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        self.held = 0;
        if !data.is_empty() {
            self.ready.push_back(SseEvent { name, data: data.join("\n") });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::new(1 << 20);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece).unwrap();
            events.extend(std::iter::from_fn(|| decoder.next_event()));
        }
        events.extend(decoder.finish());
        events
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into() }
    }

    #[test]
    fn reads_what_servers_send() {
        let stream = "\u{feff}: hello\nevent: a\ndata: one\ndata:two\n\n\nid: 7\nretry: 3\ndata\n\nevent: lonely\n\ndata: [DONE]";
        assert_eq!(
            decode([stream.as_bytes()]),
            [event("a", "one\ntwo"), event("", ""), event("", "[DONE]")]
        );
    }

    #[test]
    fn a_flood_without_an_end_is_refused() {
        let mut decoder = SseDecoder::new(8);
        assert_eq!(decoder.push(b"data: 1\n\ndata: 2\n\n"), Ok(()));
        assert_eq!(decoder.push(b"data: 123"), Err(SseTooLarge { limit: 8 }));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(stream in proptest::collection::vec(
            prop_oneof![Just("data: é😀".to_owned()), Just("\r".into()), Just("\n".into()), Just("\r\n".into()),
                Just("event: x".into()), Just(":".into()), Just("data".into()), ".{0,6}"], 0..40),
            cuts in proptest::collection::vec(1_usize..9, 1..60)) {
            let bytes = stream.concat().into_bytes();
            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, more) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            prop_assert_eq!(decode(pieces), decode([&bytes[..]]));
        }

        #[test]
        fn what_is_written_is_read(events in proptest::collection::vec(
            ("[a-z_]{0,6}", proptest::collection::vec("[^\r\n]{0,9}", 1..4)), 0..8),
            ending in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]) {
            let mut stream = String::new();
            for (name, lines) in &events {
                stream += &format!("event: {name}{ending}");
                for line in lines { stream += &format!("data: {line}{ending}"); }
                stream += ending;
            }
            let expected: Vec<_> = events.iter().map(|(name, lines)| event(name, &lines.join("\n"))).collect();
            prop_assert_eq!(decode([stream.as_bytes()]), expected);
        }
    }
}
