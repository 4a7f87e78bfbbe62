//! What the clients read from: recent events in memory, older ones in the recording.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_events::{BoxedError, Published, Recorder};
use tokio::sync::watch;

/// How many events, and how many bytes of them, are kept in memory.
const KEPT_EVENTS: usize = 4096;
const KEPT_BYTES: usize = 8 << 20;

/// The shared source of all clients of one run.
#[derive(Debug)]
pub struct Feed {
    recording: PathBuf,
    ring: Mutex<Ring>,
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<Published>>,
    bytes: usize,
    ended: bool,
}

/// What there is for a reader at some place in the stream.
#[derive(Debug)]
pub(super) enum Next {
    /// These events, in order.
    Events(Vec<Arc<Published>>),
    /// Older than memory holds: look into the recording.
    InRecording,
    /// Nothing yet.
    Wait,
    /// Nothing any more.
    Ended,
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

    pub(super) fn recording(&self) -> &Path {
        &self.recording
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
    pub(super) fn next(&self, seq: u64, limit: usize) -> Next {
        let ring = self.ring();
        let first = ring.events.front().and_then(|event| event.seq);
        match first {
            Some(first) if seq < first => Next::InRecording,
            Some(first) => {
                let skip = usize::try_from(seq - first).unwrap_or(usize::MAX);
                let events: Vec<_> = ring.events.iter().skip(skip).take(limit).cloned().collect();
                match (events.is_empty(), ring.ended) {
                    (false, _) => Next::Events(events),
                    (true, false) => Next::Wait,
                    (true, true) => Next::Ended,
                }
            }
            None if ring.ended => Next::Ended,
            None => Next::Wait,
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
            ring.bytes += event.json().len();
            ring.events.push_back(Arc::clone(event));
        }
        while ring.events.len() > KEPT_EVENTS || (ring.bytes > KEPT_BYTES && ring.events.len() > 1)
        {
            if let Some(oldest) = ring.events.pop_front() {
                ring.bytes -= oldest.json().len();
            }
        }
        let last = ring.events.back().and_then(|event| event.seq).unwrap_or_default();
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
