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
//! Of a large finished run, a [`RecordingReader`] stores what it knows in an index beside the recording ([`index_file`]), and the next one begins
//! where the index ends instead of at the start.
//!
//! Bytes → lines → events is pure ([`line_assembler`]), as is the index ([`event_index`]). [`recording_file`] does the file I/O, [`file_changes`] waits for
//! the kernel. Whether a writer lives is asked of [`RunFolder::is_live`](crate::RunFolder::is_live).

mod chunks;
mod ending;
mod event_index;
mod event_offsets;
mod file_changes;
mod follower;
pub(crate) mod index_file;
pub(crate) mod line_assembler;
mod recent_events;
mod recording_file;

use std::io;
use std::ops::Range;
use std::path::Path;

use proctor_events::{Event, ExampleId, RunId};

pub use chunks::{RecordingBytes, RecordingChunks};
pub use ending::last_suite_finished;
pub use event_index::{EventBatch, EventFilter, EventSpans, StreamEvent};
pub use event_offsets::EventOffsets;
pub use file_changes::FileChanges;
pub use follower::{Growth, RecordedLine, RecordingFollower};
pub use recent_events::RecentEvents;

use self::event_index::EventIndex;
pub(crate) use self::index_file::IndexRules;
pub(crate) use self::recording_file::read_at;
use crate::aggregate::Aggregator;
use crate::model::{Example, RunData};
use crate::store::RunFolder;

/// A recording as far as it was read: where its events stand, the newest of them, and the run in outline.
#[derive(Debug)]
pub struct RecordingReader {
    follower: RecordingFollower,
    contents: Contents,
    keeps_texts: bool,
    index_rules: IndexRules,
    index_state: IndexState,
}

/// What was done about the index beside the recording. Each is tried once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexState {
    /// The recording was not opened yet.
    NotTried,
    /// There was no index that could be used: one may be written once everything is read.
    NotUsed,
    /// The contents came from an index.
    Used,
    /// An index was written, or cannot be.
    Settled,
}

/// What was made of the lines.
#[derive(Debug)]
struct Contents {
    index: EventIndex,
    outline: Aggregator,
    unusable_lines: u64,
    run_id: CommonRunId,
}

/// The run id that all events have, if they have one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CommonRunId {
    /// The id of the first event.
    id: Option<RunId>,
    /// Whether every event has this id.
    is_common: bool,
}

impl CommonRunId {
    fn add(&mut self, event: &Event, is_first: bool) {
        if is_first {
            self.id.clone_from(&event.run_id);
        }
        self.is_common &= event.run_id.is_some() && event.run_id == self.id;
    }
}

impl Contents {
    fn new() -> Self {
        Self {
            index: EventIndex::default(),
            outline: Aggregator::outline(),
            unusable_lines: 0,
            run_id: CommonRunId { id: None, is_common: true },
        }
    }

    /// Whether rows, outline and counts are equal. The texts of the newest events are not compared: they are in the recording.
    fn is_same(&self, other: &Self) -> bool {
        self.unusable_lines == other.unusable_lines
            && self.run_id == other.run_id
            && self.outline.run() == other.outline.run()
            && self.index.has_same_rows(&other.index)
    }

    fn add(&mut self, line: &RecordedLine<'_>, keep_text: bool) {
        match &line.event {
            Ok(event) => {
                self.run_id.add(event, self.index.rows.is_empty());
                self.outline.apply(event);
                if keep_text {
                    self.index.add(line, event);
                } else {
                    self.index.add_row(line, event);
                }
            }
            Err(_) => self.unusable_lines += 1,
        }
    }
}

impl RecordingReader {
    /// Starts at the beginning of the file, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self::with_index_rules(path, IndexRules::default())
    }

    /// As [`new`](Self::new), but keeps no texts of events in memory: all are read from the file when they are asked for.
    pub fn without_texts(path: &Path) -> Self {
        Self { keeps_texts: false, ..Self::new(path) }
    }

    fn with_index_rules(path: &Path, index_rules: IndexRules) -> Self {
        Self {
            follower: RecordingFollower::new(path),
            contents: Contents::new(),
            keeps_texts: true,
            index_rules,
            index_state: IndexState::NotTried,
        }
    }

    /// The outline of a recording that has an index or gets one by this call, with the run id. `None` for every other recording, where a line is
    /// unusable or torn, and where the recording does not have exactly one run, whose id every event has.
    pub(crate) fn indexed_outline(
        path: &Path,
        rules: IndexRules,
    ) -> io::Result<Option<(RunData, RunId)>> {
        let mut reader = Self { keeps_texts: false, ..Self::with_index_rules(path, rules) };
        if !reader.load_index()? && !reader.may_get_index() {
            return Ok(None);
        }
        while reader.read()? != Growth::Nothing {}
        let Self { follower, contents, .. } = reader;
        let Contents { outline, unusable_lines, run_id, .. } = contents;
        let is_whole = unusable_lines == 0 && !follower.has_torn_line() && run_id.is_common;
        Ok(run_id.id.filter(|_| is_whole).map(|id| (outline.into_run(), id)))
    }

    /// Reads one chunk of what has been written since. A last line without line feed is taken once its writer is gone.
    pub fn read(&mut self) -> io::Result<Growth> {
        if self.index_state == IndexState::NotTried && self.load_index()? {
            return Ok(Growth::More);
        }
        let growth = self.add_lines(|follower, take| follower.read(take))?;
        if growth != Growth::Nothing {
            return Ok(growth);
        }
        // Before the torn line: an index holds complete lines.
        if self.index_state == IndexState::NotUsed {
            self.write_index();
        }
        self.add_lines(|follower, take| follower.read_torn_line(take))
    }

    /// Opens the recording and takes the contents from its index. Returns whether that was possible.
    fn load_index(&mut self) -> io::Result<bool> {
        if self.follower.file().opened().is_some() {
            // The file appeared after the last attempt, and lines were read from it.
            self.index_state = IndexState::NotUsed;
            return Ok(false);
        }
        let (path, smallest) = (self.follower.path().to_owned(), self.index_rules.smallest);
        let stored = self.follower.open_after(|recording, state| {
            if state.size < smallest {
                return None;
            }
            index_file::load(&path, recording, state)
        })?;
        if self.follower.file().opened().is_some() {
            self.index_state = IndexState::NotUsed;
        }
        let Some(contents) = stored else { return Ok(false) };
        (self.contents, self.index_state) = (contents, IndexState::Used);
        Ok(true)
    }

    /// Writes the index of a recording that was read to its end in one pass.
    fn write_index(&mut self) {
        self.index_state = IndexState::Settled;
        let Some((recording, state)) = self.follower.file().opened() else { return };
        if !self.follower.file().is_read_unchanged() || !self.may_get_index() {
            return;
        }
        let (path, position) = (self.follower.path(), self.follower.position());
        // An index saves time and nothing else; in a folder that is read-only there is none.
        let _ = index_file::write(path, recording, state, &self.contents, position);
    }

    /// Whether the recording, in the state in which it was opened, may get an index once it is read.
    fn may_get_index(&self) -> bool {
        let file = self.follower.file();
        let (Some((_, state)), Some(opened_at)) = (file.opened(), file.opened_at()) else {
            return false;
        };
        self.index_rules.allow(state, opened_at)
            && RunFolder::of(self.follower.path()).is_some_and(|folder| !folder.is_live())
    }

    fn add_lines(
        &mut self,
        read: impl FnOnce(
            &mut RecordingFollower,
            &mut dyn FnMut(RecordedLine<'_>),
        ) -> io::Result<Growth>,
    ) -> io::Result<Growth> {
        let Self { follower, contents, keeps_texts, .. } = self;
        let growth = read(follower, &mut |line| contents.add(&line, *keeps_texts))?;
        if growth == Growth::Restarted {
            *contents = Contents::new();
        }
        Ok(growth)
    }

    /// Whether the process that writes the recording is there.
    pub fn is_live(&self) -> bool {
        self.follower.is_live()
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

    /// One example with everything that events in these places tell of it; without attempts where none does.
    pub fn example(&self, id: &str, places: Range<usize>) -> io::Result<Example> {
        let spans = self.contents.index.spans_of(id, places, self.follower.file().file());
        let mut folded = Aggregator::default();
        for event in spans.read()? {
            folded.apply(&Event::from_json(&event.text).map_err(io::Error::other)?);
        }
        Ok(folded.into_run().examples.into_iter().next().unwrap_or_default())
    }

    /// Up to `limit` wanted events from a place on.
    pub fn batch(&self, from: usize, filter: &EventFilter, limit: usize) -> EventBatch {
        self.contents.index.batch(from, filter, limit, self.follower.file().file())
    }
}

#[cfg(test)]
mod tests;
