//! Where the events of a recording stand, without anything that is made of them.

use std::io;
use std::path::Path;

use super::event_index::{EventBatch, EventFilter, EventIndex};
use super::follower::{Growth, RecordingFollower};

/// The places of the events of a recording that may still grow. Costs a few dozen bytes an event; their texts are read from the file.
#[derive(Debug)]
pub struct EventOffsets {
    follower: RecordingFollower,
    index: EventIndex,
}

impl EventOffsets {
    /// Starts at the beginning of the file, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { follower: RecordingFollower::new(path), index: EventIndex::default() }
    }

    /// Reads one chunk of what has been written since.
    pub fn read(&mut self) -> io::Result<Growth> {
        let Self { follower, index } = self;
        let growth = follower.read_including_torn_line(|line| {
            if let Ok(event) = &line.event {
                index.add_row(&line, event);
            }
        })?;
        if growth == Growth::Restarted {
            *index = EventIndex::default();
        }
        Ok(growth)
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.index.rows.len()
    }

    /// The place of the first event after the one with this number.
    pub fn place_after(&self, seq: u64) -> usize {
        self.index.place_after(seq)
    }

    /// Up to `limit` wanted events from a place on.
    pub fn batch(&self, from: usize, filter: &EventFilter, limit: usize) -> EventBatch {
        self.index.batch(from, filter, limit, self.follower.file().file())
    }
}
