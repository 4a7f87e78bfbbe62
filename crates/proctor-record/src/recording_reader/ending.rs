//! The last event of a finished run, read from the end of its recording, so that a list of runs costs the same however long the runs are.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use proctor_events::{Body, Event, SuiteFinished, Timestamp};

/// How much of the end is read at first, and at most.
const FIRST_READ: u64 = 8 << 10;
const MAX_READ: u64 = 512 << 10;

/// The `SuiteFinished` among the last lines of a recording, with its time; `None` where the run has not finished.
pub fn last_suite_finished(
    events: &Path,
) -> io::Result<Option<(Option<Timestamp>, SuiteFinished)>> {
    let file = proctor_files::open(events)?;
    let length = file.metadata()?.len();
    let mut size = FIRST_READ;
    loop {
        let start = length.saturating_sub(size);
        let mut end = vec![0; usize::try_from(length - start).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut end, start)?;
        // What stands before the first line feed may be half a line.
        let whole = if start == 0 { &end[..] } else { after_first_line(&end) };
        if let Some(found) = whole.rsplit(|byte| *byte == b'\n').find_map(parse_suite_finished) {
            return Ok(Some(found));
        }
        if start == 0 || size >= MAX_READ {
            return Ok(None);
        }
        size *= 8;
    }
}

fn after_first_line(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |place| place + 1);
    &bytes[end..]
}

fn parse_suite_finished(line: &[u8]) -> Option<(Option<Timestamp>, SuiteFinished)> {
    // Lines of other types are skipped without parsing.
    memchr::memmem::find(line, b"\"SuiteFinished\"")?;
    let event = Event::from_json(std::str::from_utf8(line).ok()?).ok()?;
    match event.body {
        Body::SuiteFinished(finished) => Some((event.time, finished)),
        _ => None,
    }
}
