//! What the clients read from: recent events in memory, older ones in the recording.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_events::{Body, BoxedError, Event, Published, Recorder, RunId};
use tokio::sync::watch;

use super::session::{EventCursor, Recording};
use crate::reader::{Entry, Reader};
use crate::recording_reader::{RecentEvents, StreamEvent};
use crate::store::RunFolder;

/// The shared source of all clients of one run.
#[derive(Debug)]
pub struct Feed {
    recording: PathBuf,
    ring: Mutex<Ring>,
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    events: RecentEvents<Arc<Published>>,
    last: u64,
    ended: bool,
}

/// What there is for a reader at some place in the stream.
#[derive(Debug)]
enum Next {
    /// These events, in order.
    Events(Vec<Arc<Published>>),
    /// Older than memory holds: look into the recording.
    InRecording,
    /// Nothing now.
    Nothing,
}

impl Feed {
    /// A feed backed by this recording.
    pub fn new(recording: &Path) -> Arc<Self> {
        Arc::new(Self {
            recording: recording.to_owned(),
            ring: Mutex::default(),
            last: watch::Sender::new(0),
        })
    }

    /// The recorder that fills it. Add it to the bus *after* the recording, so that whatever is in memory
    /// is on disk too.
    pub fn recorder(self: &Arc<Self>) -> FeedRecorder {
        FeedRecorder(Arc::clone(self))
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ring().ended
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
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
pub(super) struct FeedCursor {
    feed: Arc<Feed>,
    /// The number of the next event.
    next: u64,
    /// Where older events are read.
    backlog: Option<Backlog>,
    changes: watch::Receiver<u64>,
}

/// A place in the recording from which older events are read.
type Backlog = Reader<BufReader<File>>;

impl FeedCursor {
    /// Stands after the event with this number.
    pub(super) fn new(feed: Arc<Feed>, since: u64) -> Self {
        let changes = feed.changes();
        Self { feed, next: since.saturating_add(1), backlog: None, changes }
    }

    async fn read_recording(&mut self, limit: usize) -> io::Result<Vec<StreamEvent>> {
        let backlog = self.backlog.take();
        let path = self.feed.recording.clone();
        let from = self.next;
        let reading = move || read_older(backlog, &path, from, limit);
        let (backlog, events) =
            tokio::task::spawn_blocking(reading).await.map_err(io::Error::other)??;
        self.backlog = Some(backlog);
        Ok(events)
    }
}

impl EventCursor for FeedCursor {
    async fn read(&mut self, limit: usize) -> io::Result<Option<Vec<StreamEvent>>> {
        self.changes.mark_unchanged();
        let events = match self.feed.next(self.next, limit) {
            Next::Nothing => return Ok(None),
            Next::Events(events) => events.iter().map(|event| stream_event(event)).collect(),
            Next::InRecording => self.read_recording(limit).await?,
        };
        self.next = events.last().map_or(self.next, |event| event.seq + 1);
        Ok(Some(events))
    }

    async fn changed(&mut self) {
        // The feed lives as long as this cursor, and with it the sender.
        let _ = self.changes.changed().await;
    }

    /// The feed gets events when they are recorded.
    async fn catch_up(&mut self) {}

    async fn example_starts(&mut self) -> io::Result<Vec<StreamEvent>> {
        if self.next <= 1 {
            return Ok(Vec::new());
        }
        let (path, before) = (self.feed.recording.clone(), self.next);
        let reading = move || {
            let starts = events_of(Reader::open(&path)?)
                .take_while(|event| event.seq.is_some_and(|seq| seq < before))
                .filter(|event| matches!(event.body, Body::ExampleStarted(_)));
            io::Result::Ok(starts.map(|event| stream_event(&Published::new(event))).collect())
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

/// Reads the next few events from number `from` on out of the recording.
///
/// A reader that has come to the end of the file stays there. A client may catch up, fall behind again and come back, so the file is
/// then opened anew: it has grown.
fn read_older(
    backlog: Option<Backlog>,
    path: &Path,
    from: u64,
    limit: usize,
) -> io::Result<(Backlog, Vec<StreamEvent>)> {
    if let Some(mut backlog) = backlog {
        let events = read_few(&mut backlog, from, limit);
        if !events.is_empty() {
            return Ok((backlog, events));
        }
    }
    let mut backlog = Reader::open(path)?;
    let events = read_few(&mut backlog, from, limit);
    if events.is_empty() {
        // Memory begins later: the recording is damaged.
        return Err(io::Error::other("the recording lacks events"));
    }
    Ok((backlog, events))
}

fn read_few(backlog: &mut Backlog, from: u64, limit: usize) -> Vec<StreamEvent> {
    events_of(backlog)
        .filter(|event| event.seq.is_some_and(|seq| seq >= from))
        .take(limit)
        .map(|event| stream_event(&Published::new(event)))
        .collect()
}

fn events_of(entries: impl Iterator<Item = Entry>) -> impl Iterator<Item = Event> {
    entries.filter_map(|entry| match entry {
        Entry::Event { event, .. } => Some(*event),
        Entry::Problem(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn seqs(events: &[StreamEvent]) -> Vec<u64> {
        events.iter().map(|event| event.seq).collect()
    }

    /// A reader that was at the end of the file, in the middle of a line even, gets what was written since.
    #[test]
    fn a_recording_that_has_grown_is_read_on() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "{{\"seq\":1,\"event_type\":\"A\"}}\n{{\"seq\":2,\"event").unwrap();
        let (reader, first) = read_older(None, file.path(), 1, 256).unwrap();
        assert_eq!(seqs(&first), [1]);
        write!(file, "_type\":\"A\"}}\n{{\"seq\":3,\"event_type\":\"A\"}}\n").unwrap();
        let (reader, rest) = read_older(Some(reader), file.path(), 2, 256).unwrap();
        assert_eq!(seqs(&rest), [2, 3]);
        assert!(read_older(Some(reader), file.path(), 4, 256).is_err());
    }
}
