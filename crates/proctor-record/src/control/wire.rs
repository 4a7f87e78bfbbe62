//! Requests and replies, as lines of JSON.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// The version of the protocol.
pub(super) const VERSION: u32 = 1;
/// The longest line that is read.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    /// Reply with the status.
    Status,
    /// Start nothing more; running examples get the grace.
    Cancel,
    /// End now.
    Kill,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) v: u32,
    pub(super) action: Action,
}

/// Where a live run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Examples are being discovered.
    Loading,
    /// Examples are running.
    Running,
    /// A stop was requested and is under way.
    Stopping,
    /// The run is over; the process is about to exit.
    Ended,
}

/// The status of a live run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The version of this form.
    pub v: u32,
    /// The run.
    pub run_id: String,
    /// The process id of the run.
    pub pid: u32,
    /// The phase of the run.
    pub state: State,
    /// Examples with a final status.
    pub completed: u64,
    /// Examples in all; 0 before they are known.
    pub total: u64,
    /// Examples that failed.
    pub failures: u64,
}

/// The reply of the run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Status(Status),
    Error { message: String },
}

pub(super) fn to_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one line of bounded length.
pub(super) fn read_line(input: impl Read) -> io::Result<String> {
    let mut text = Vec::new();
    let mut input = io::BufReader::new(input.take(MAX_LINE_BYTES));
    io::BufRead::read_until(&mut input, b'\n', &mut text)?;
    match text.pop() {
        Some(b'\n') => String::from_utf8(text).map_err(io::Error::other),
        _ => Err(io::Error::other("the line is incomplete or too long")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_bounded_length_are_read() {
        assert_eq!(read_line(&b"abc\ndef\n"[..]).unwrap(), "abc");
        assert!(read_line(&b"abc"[..]).is_err());
        assert!(read_line(&b""[..]).is_err());
        assert!(read_line(io::repeat(b'x')).is_err());
    }
}
