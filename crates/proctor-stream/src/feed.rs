//! The source of the clients of one run: recent events in memory, older ones in the recording.
//!
//! Where older events stand is found out once, when the first client asks for one, and is shared by all.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_events::{BoxedError, Published, Recorder, RunId};
use proctor_record::{
    EventBatch, EventFilter, EventOffsets, Growth, RecentEvents, RunFolder, StreamEvent,
};
use tokio::sync::watch;

use crate::session::{EventCursor, Recording};

/// How many earlier events are read at a time.
const EARLIER_AT_ONCE: usize = 1024;

/// The shared source of all clients of one run.
#[derive(Debug)]
pub struct Feed {
    recording: PathBuf,
    older: Mutex<EventOffsets>,
    ring: Mutex<Ring>,
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    events: RecentEvents<Arc<Published>>,
    last: u64,
    ended: bool,
}

/// The next events from a position on.
#[derive(Debug)]
enum Next {
    /// These events, in order.
    Events(Vec<Arc<Published>>),
    /// The events are no longer in memory: read the recording.
    InRecording,
    /// Nothing now.
    Nothing,
}

impl Feed {
    /// A feed backed by this recording.
    pub fn new(recording: &Path) -> Arc<Self> {
        Arc::new(Self {
            recording: recording.to_owned(),
            older: Mutex::new(EventOffsets::new(recording)),
            ring: Mutex::default(),
            last: watch::Sender::new(0),
        })
    }

    /// The recorder that fills the feed. Add it to the bus *after* the recording, so that every event in memory is on disk too.
    pub fn recorder(self: &Arc<Self>) -> FeedRecorder {
        FeedRecorder(Arc::clone(self))
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ring().ended
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no event has come since the feed was made. There may be earlier ones in the recording.
    fn has_no_event(&self) -> bool {
        self.ring().events.get(0).is_none()
    }

    /// Up to `limit` events from number `seq` on.
    fn next(&self, seq: u64, limit: usize) -> Next {
        let ring = self.ring();
        let first = ring.events.get(0).and_then(|event| event.seq);
        match first {
            Some(first) if seq < first => Next::InRecording,
            Some(first) => {
                let skip = usize::try_from(seq - first).unwrap_or(usize::MAX);
                let events: Vec<_> = ring.events.from(skip).take(limit).cloned().collect();
                if events.is_empty() { Next::Nothing } else { Next::Events(events) }
            }
            None => Next::Nothing,
        }
    }

    /// Up to `limit` recorded events of a type, or of all types, with a number from `from` to `before`, which is not included. Blocks.
    fn read_recording(
        &self,
        from: u64,
        before: u64,
        types: &EventFilter,
        limit: usize,
    ) -> io::Result<Vec<StreamEvent>> {
        let batch = {
            let mut older = self.older.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = from.saturating_sub(1);
            // Nothing is read where the first event from `before` on is known already.
            if older.place_after(before.saturating_sub(1)) == older.event_count() {
                while older.read()? != Growth::Nothing {}
            }
            older.batch(older.place_after(seen), types, limit)
        };
        let events = match batch {
            EventBatch::InMemory(events, _) => events,
            EventBatch::OnDisk(spans, _) => spans.read()?,
        };
        Ok(events.into_iter().filter(|event| event.seq < before).collect())
    }
}

/// Fills a [`Feed`] from the bus.
#[derive(Debug)]
pub struct FeedRecorder(Arc<Feed>);

impl Recorder for FeedRecorder {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        let mut ring = self.0.ring();
        for event in batch {
            ring.last = event.seq.unwrap_or(ring.last);
            ring.events.push(Arc::clone(event), event.json().len());
        }
        let last = ring.last;
        drop(ring);
        self.0.last.send_replace(last);
        Ok(())
    }

    fn close(&mut self) -> Result<(), BoxedError> {
        self.0.ring().ended = true;
        self.0.last.send_modify(|_| {});
        Ok(())
    }
}

/// A client's place in a [`Feed`].
pub(crate) struct FeedCursor {
    feed: Arc<Feed>,
    /// The number of the next event.
    next: u64,
    changes: watch::Receiver<u64>,
}

impl FeedCursor {
    /// Stands after the event with this number.
    pub(crate) fn new(feed: Arc<Feed>, since: u64) -> Self {
        let changes = feed.changes();
        Self { feed, next: since.saturating_add(1), changes }
    }

    /// Up to `limit` events that were recorded before the feed got its first one.
    async fn read_earlier(&self, limit: usize) -> io::Result<Vec<StreamEvent>> {
        let (feed, from) = (Arc::clone(&self.feed), self.next);
        let all = EventFilter::default();
        let reading = move || match feed.read_recording(from, u64::MAX, &all, limit) {
            // Nothing has been recorded yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        };
        tokio::task::spawn_blocking(reading).await.map_err(io::Error::other)?
    }

    /// Up to `limit` events from the place on, which is before what memory holds.
    async fn read_recording(&self, limit: usize) -> io::Result<Vec<StreamEvent>> {
        let events = self.read_earlier(limit).await?;
        if events.is_empty() {
            // Memory begins later: the recording is damaged.
            return Err(io::Error::other("the recording lacks events"));
        }
        Ok(events)
    }
}

impl EventCursor for FeedCursor {
    async fn read(&mut self, limit: usize) -> io::Result<Option<Vec<StreamEvent>>> {
        self.changes.mark_unchanged();
        let events = match self.feed.next(self.next, limit) {
            Next::Nothing if self.feed.has_no_event() => self.read_earlier(limit).await?,
            Next::Nothing => Vec::new(),
            Next::Events(events) => events.iter().map(|event| stream_event(event)).collect(),
            Next::InRecording => self.read_recording(limit).await?,
        };
        if events.is_empty() {
            return Ok(None);
        }
        self.next = events.last().map_or(self.next, |event| event.seq + 1);
        Ok(Some(events))
    }

    async fn changed(&mut self) {
        // The feed lives as long as this cursor, and with it the sender.
        let _ = self.changes.changed().await;
    }

    /// The feed gets events when they are recorded.
    async fn catch_up(&mut self) {}

    async fn earlier(&mut self, types: &[&str]) -> io::Result<Vec<StreamEvent>> {
        if self.next <= 1 {
            return Ok(Vec::new());
        }
        let (feed, before) = (Arc::clone(&self.feed), self.next);
        let types = types.iter().map(|name| (*name).to_owned()).collect();
        let types = EventFilter { examples: Vec::new(), types };
        let reading = move || {
            let mut found = Vec::new();
            loop {
                let from = found.last().map_or(1, |event: &StreamEvent| event.seq + 1);
                let more = feed.read_recording(from, before, &types, EARLIER_AT_ONCE)?;
                if more.is_empty() {
                    return io::Result::Ok(found);
                }
                found.extend(more);
            }
        };
        tokio::task::spawn_blocking(reading).await.map_err(io::Error::other)?
    }

    fn has_ended(&self) -> bool {
        self.feed.has_ended()
    }

    fn behind(&self) -> u64 {
        (*self.feed.last.borrow() + 1).saturating_sub(self.next)
    }

    fn recording(&self) -> Recording {
        let path = self.feed.recording.clone();
        let run = RunFolder::of(&path).map(|folder| RunId::from(&*folder.name()));
        Recording { run, path }
    }
}

fn stream_event(event: &Published) -> StreamEvent {
    StreamEvent { seq: event.seq.unwrap_or_default(), text: Arc::clone(event.json()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn seqs(events: &[StreamEvent]) -> Vec<u64> {
        events.iter().map(|event| event.seq).collect()
    }

    /// A recording that was read to its end, in the middle of a line even, is read on where the rest is asked for.
    #[test]
    fn a_recording_that_has_grown_is_read_on() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "{{\"seq\":1,\"event_type\":\"A\"}}\n{{\"seq\":2,\"event").unwrap();
        let feed = Feed::new(file.path());
        let all = EventFilter::default();
        let read =
            |from, before, limit| seqs(&feed.read_recording(from, before, &all, limit).unwrap());
        assert_eq!(read(1, u64::MAX, 256), [1]);
        write!(file, "_type\":\"B\"}}\n{{\"seq\":3,\"event_type\":\"A\"}}\n").unwrap();
        assert_eq!(read(2, u64::MAX, 256), [2, 3]);
        assert_eq!(read(1, 3, 256), [1, 2]);
        assert_eq!(read(1, u64::MAX, 2), [1, 2]);
        assert_eq!(read(4, u64::MAX, 256), [0; 0]);
        let filter = EventFilter { types: vec!["B".to_owned()], ..all.clone() };
        assert_eq!(seqs(&feed.read_recording(1, u64::MAX, &filter, 9).unwrap()), [2]);
    }
}
