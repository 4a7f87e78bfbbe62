//! Following a recording: the one way from the bytes of `events.jsonl` to events.
//!
//! [`RecordingFollower`] hands out the lines of a file that may still grow; [`RecordingReader`] keeps in addition where each event stands, the
//! newest events, and the run in outline, so that any place of a run of any length can be read at once for a few dozen bytes an event.
//! For a single pass over a finished file there is [`Reader`](crate::Reader), which shares lines and parsing.
//!
//! | state | what is read | next state | result |
//! |---|---|---|---|
//! | no file | none | no file | `Nothing` |
//! | no file | a file | following | as below |
//! | following | no new bytes | following | `Nothing` |
//! | following | new bytes | following | `More`; complete lines come out, the rest waits for its line feed |
//! | following | another file, a shorter one, or other bytes before the read position | following, from the start | `Restarted` |
//! | following | the path is gone | following | `Nothing`; what was read stays |
//! | following, the last line without line feed | `take_torn_line`, and the line holds a whole event | torn line taken | the line comes out |
//! | torn line taken | no new bytes | torn line taken | `Nothing` |
//! | torn line taken | a line feed, and perhaps more | following | `More`; the line does not come out again |
//! | torn line taken | other bytes | following, from the start | `Restarted` |
//!
//! Bytes → lines → events is pure ([`line_assembler`]), as is the index ([`event_index`]). [`recording_file`] does the file I/O, [`file_changes`] waits for
//! the kernel. Whether a writer lives is asked of [`RunFolder::is_live`].

mod chunks;
mod ending;
mod event_index;
mod file_changes;
mod follower;
pub(crate) mod line_assembler;
mod recent_events;
mod recording_file;

use std::io;
use std::path::Path;

use proctor_events::ExampleId;

pub use chunks::RecordingChunks;
pub use ending::last_suite_finished;
pub use event_index::{EventBatch, EventFilter, EventSpans, StreamEvent};
pub use file_changes::FileChanges;
pub use follower::{Growth, RecordedLine, RecordingFollower};
pub use recent_events::RecentEvents;

use self::event_index::EventIndex;
use crate::aggregate::Aggregator;
use crate::model::RunData;
use crate::store::RunFolder;

/// A recording as far as it was read: where its events stand, the newest of them, and the run in outline.
#[derive(Debug)]
pub struct RecordingReader {
    follower: RecordingFollower,
    contents: Contents,
}

/// What was made of the lines.
#[derive(Debug)]
struct Contents {
    index: EventIndex,
    outline: Aggregator,
    unusable_lines: u64,
}

impl Contents {
    fn new() -> Self {
        Self { index: EventIndex::default(), outline: Aggregator::outline(), unusable_lines: 0 }
    }

    fn add(&mut self, line: &RecordedLine<'_>) {
        match &line.event {
            Ok(event) => {
                self.outline.apply(event);
                self.index.add(line, event);
            }
            Err(_) => self.unusable_lines += 1,
        }
    }
}

impl RecordingReader {
    /// Starts at the beginning of the file, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { follower: RecordingFollower::new(path), contents: Contents::new() }
    }

    /// Reads one chunk of what has been written since. A last line without line feed is taken once its writer is gone.
    pub fn read(&mut self) -> io::Result<Growth> {
        let mut growth = self.read_lines()?;
        if growth == Growth::Nothing && self.follower.has_torn_line() && !self.is_live() {
            // The writer may have written its last bytes between the read and the question.
            growth = self.read_lines()?;
            let Self { follower, contents } = self;
            if growth == Growth::Nothing && follower.take_torn_line(|line| contents.add(&line)) {
                growth = Growth::More;
            }
        }
        Ok(growth)
    }

    fn read_lines(&mut self) -> io::Result<Growth> {
        let Self { follower, contents } = self;
        let growth = follower.read(|line| contents.add(&line))?;
        if growth == Growth::Restarted {
            *contents = Contents::new();
        }
        Ok(growth)
    }

    /// Whether the process that writes the recording is there.
    pub fn is_live(&self) -> bool {
        RunFolder::of(self.follower.path()).is_some_and(|folder| folder.is_live())
    }

    /// The run in outline.
    pub fn run(&self) -> &RunData {
        self.contents.outline.run()
    }

    /// The number of the last event; 0 before the first.
    pub fn last_seq(&self) -> u64 {
        self.run().last_seq.unwrap_or_default()
    }

    /// How many lines could not be used.
    pub fn unusable_lines(&self) -> u64 {
        self.contents.unusable_lines
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.contents.index.rows.len()
    }

    /// Whether some event is about this example.
    pub fn has_example(&self, id: &str) -> bool {
        self.contents.index.examples.contains_key(&ExampleId::new(id))
    }

    /// The place of the first event after the one with this number.
    pub fn place_after(&self, seq: u64) -> usize {
        self.contents.index.place_after(seq)
    }

    /// The number of the event at this place.
    pub fn seq_at(&self, place: usize) -> Option<u64> {
        self.contents.index.rows.get(place).map(|row| row.seq)
    }

    /// Up to `limit` wanted events from a place on.
    pub fn batch(&self, from: usize, filter: &EventFilter, limit: usize) -> EventBatch {
        self.contents.index.batch(from, filter, limit, self.follower.file().file())
    }
}

#[cfg(test)]
mod tests;
