//! Where each event of a recording stands: offset, example, type and number. Pure; the file is read by [`EventSpans`].

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use proctor_events::{Event, ExampleId};

use super::follower::RecordedLine;
use super::recent_events::RecentEvents;
use super::recording_file::CHUNK;
use crate::line_digest::without_digest;

/// Stands for "no example" in [`EventRow::example`].
pub(super) const NO_EXAMPLE: u32 = u32::MAX;

/// Where one event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventRow {
    pub(super) offset: u64,
    pub(super) length: u32,
    /// A place in [`EventIndex::examples`], or [`NO_EXAMPLE`].
    pub(super) example: u32,
    pub(super) seq: u64,
    /// A place in [`EventIndex::types`].
    pub(super) event_type: u16,
    /// Whether the line is in today's form, so that its text can be sent as it is.
    pub(super) current_form: bool,
}

/// Which events are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Ids of examples; empty means events of all examples and of none.
    pub examples: Vec<String>,
    /// Names of event types; empty means all.
    pub types: Vec<String>,
}

/// An event as it is sent to clients: without digest, with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// Its number.
    pub seq: u64,
    /// Its JSON.
    pub text: Arc<str>,
}

/// Wanted events from a place on.
#[derive(Debug)]
pub enum EventBatch {
    /// The events, and the place to go on from.
    InMemory(Vec<StreamEvent>, usize),
    /// The events are no longer in memory: read them, then go on from the place.
    OnDisk(EventSpans, usize),
}

/// Places of events in a file.
#[derive(Debug)]
pub struct EventSpans {
    file: Option<Arc<File>>,
    rows: Vec<EventRow>,
}

/// The places of all events, and the texts of the newest.
#[derive(Debug, Default)]
pub(super) struct EventIndex {
    pub(super) rows: Vec<EventRow>,
    /// Names of event types in order of appearance.
    pub(super) types: Vec<String>,
    /// Numbers of the examples that events name, in order of appearance.
    pub(super) examples: HashMap<ExampleId, u32>,
    pub(super) recent: RecentEvents<Arc<str>>,
}

impl EventIndex {
    /// Adds an event and keeps its text.
    pub(super) fn add(&mut self, line: &RecordedLine<'_>, event: &Event) {
        let current_form = self.add_row(line, event);
        let text: Arc<str> = if current_form {
            (*without_digest(&String::from_utf8_lossy(line.bytes))).into()
        } else {
            event.to_json().into()
        };
        let bytes = text.len();
        self.recent.push(text, bytes);
    }

    /// Adds the place of an event. Returns whether its line is in today's form. An index keeps the texts of all its newest events or of none.
    pub(super) fn add_row(&mut self, line: &RecordedLine<'_>, event: &Event) -> bool {
        let current_form = event.v.is_some() && line.has_seq;
        let row = EventRow {
            offset: line.offset,
            length: u32::try_from(line.bytes.len()).unwrap_or(u32::MAX),
            example: event.example_id.as_ref().map_or(NO_EXAMPLE, |id| self.example(id)),
            seq: event.seq.unwrap_or(line.number),
            event_type: self.event_type(event.type_name()),
            current_form,
        };
        self.rows.push(row);
        current_form
    }

    pub(super) fn has_same_rows(&self, other: &Self) -> bool {
        self.rows == other.rows && self.types == other.types && self.examples == other.examples
    }

    fn example(&mut self, id: &ExampleId) -> u32 {
        if let Some(number) = self.examples.get(id) {
            return *number;
        }
        let number = u32::try_from(self.examples.len()).unwrap_or(NO_EXAMPLE);
        self.examples.insert(id.clone(), number);
        number
    }

    fn event_type(&mut self, name: &str) -> u16 {
        let place = self.types.iter().position(|known| known == name).unwrap_or_else(|| {
            self.types.push(name.to_owned());
            self.types.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    /// The place of the first event after the one with this number.
    pub(super) fn place_after(&self, seq: u64) -> usize {
        self.rows.partition_point(|row| row.seq <= seq)
    }

    /// The events about an example in these places.
    pub(super) fn spans_of(
        &self,
        example: &str,
        places: Range<usize>,
        file: Option<&Arc<File>>,
    ) -> EventSpans {
        let number = self.examples.get(&ExampleId::new(example));
        let rows = self.rows.get(places).unwrap_or_default().iter();
        let rows = rows.filter(|row| Some(&row.example) == number).copied().collect();
        EventSpans { file: file.cloned(), rows }
    }

    /// Up to `limit` wanted events from a place on.
    pub(super) fn batch(
        &self,
        from: usize,
        filter: &EventFilter,
        limit: usize,
        file: Option<&Arc<File>>,
    ) -> EventBatch {
        let filter = RowFilter::new(self, filter);
        let in_memory = self.rows.len() - self.recent.len();
        let (mut next, mut found, mut bytes) = (from, Vec::new(), 0);
        while let Some(row) = self.rows.get(next) {
            if found.len() == limit
                || bytes > CHUNK
                || (next == in_memory && from < next && !found.is_empty())
            {
                break;
            }
            if filter.wants(row) {
                found.push(next);
                bytes += row.length as usize;
            }
            next += 1;
        }
        if found.first().is_some_and(|first| *first < in_memory) {
            let rows = found.iter().map(|place| self.rows[*place]).collect();
            return EventBatch::OnDisk(EventSpans { file: file.cloned(), rows }, next);
        }
        let events = found.into_iter().filter_map(|place| {
            let text = Arc::clone(self.recent.get(place - in_memory)?);
            Some(StreamEvent { seq: self.rows[place].seq, text })
        });
        EventBatch::InMemory(events.collect(), next)
    }
}

/// A filter by number instead of by name.
struct RowFilter {
    examples: Option<Vec<u32>>,
    types: Option<Vec<u16>>,
}

impl RowFilter {
    fn new(index: &EventIndex, filter: &EventFilter) -> Self {
        let examples = (!filter.examples.is_empty()).then(|| {
            let ids = filter.examples.iter().map(|id| ExampleId::new(id.as_str()));
            ids.filter_map(|id| index.examples.get(&id).copied()).collect()
        });
        let types = (!filter.types.is_empty()).then(|| {
            let places = (0u16..).zip(&index.types);
            places.filter(|(_, name)| filter.types.contains(name)).map(|(place, _)| place).collect()
        });
        Self { examples, types }
    }

    fn wants(&self, row: &EventRow) -> bool {
        self.examples.as_ref().is_none_or(|examples| examples.contains(&row.example))
            && self.types.as_ref().is_none_or(|types| types.contains(&row.event_type))
    }
}

impl EventSpans {
    /// Reads the events. Neighbours are read together.
    pub fn read(&self) -> io::Result<Vec<StreamEvent>> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let mut events = Vec::with_capacity(self.rows.len());
        let mut rest = &self.rows[..];
        while let Some(first) = rest.first() {
            let near = |row: &&EventRow| row.offset - first.offset < CHUNK as u64;
            let together = rest.iter().take_while(near).count().max(1);
            let (group, others) = rest.split_at(together);
            rest = others;
            let end = group.last().map_or(first.offset, |row| row.offset + u64::from(row.length));
            let mut bytes = vec![0; usize::try_from(end - first.offset).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut bytes, first.offset)?;
            for row in group {
                let start = usize::try_from(row.offset - first.offset).unwrap_or(usize::MAX);
                let text = row.text(&bytes[start..start + row.length as usize])?;
                events.push(StreamEvent { seq: row.seq, text });
            }
        }
        Ok(events)
    }
}

impl EventRow {
    fn text(&self, bytes: &[u8]) -> io::Result<Arc<str>> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        if self.current_form {
            // The digest vouches for the file; a stream has none.
            return Ok((*without_digest(text)).into());
        }
        let mut event = Event::from_json(text).map_err(io::Error::other)?;
        event.seq.get_or_insert(self.seq);
        Ok(event.to_json().into())
    }
}
