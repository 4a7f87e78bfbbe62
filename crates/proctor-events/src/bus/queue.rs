//! A bounded queue for one subscriber: many publishers put in, one consumer takes out.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Filter, lock};
use crate::event::Published;

/// What came of putting an event into a queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It was taken, not wanted, or dropped as others before it.
    Quietly,
    /// It is the first one to be dropped.
    FirstDrop,
    /// The consumer has gone away.
    Gone,
}

pub(super) struct Queue {
    name: String,
    filter: Filter,
    capacity: usize,
    inner: Mutex<Inner>,
    ready: Condvar,
    pub(super) delivered: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) failed: AtomicU64,
}

#[derive(Default)]
struct Inner {
    events: VecDeque<Arc<Published>>,
    closed: bool,
    abandoned: bool,
    /// Whether the consumer sleeps on `ready`. A needless wake-up would cost a system call per event.
    asleep: bool,
}

impl Queue {
    pub(super) fn new(name: &str, filter: Filter, capacity: usize) -> Self {
        Self {
            name: name.to_owned(),
            filter,
            capacity: capacity.max(1),
            inner: Mutex::default(),
            ready: Condvar::new(),
            delivered: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Never blocks for longer than another push or pop takes.
    pub(super) fn push(&self, event: &Arc<Published>) -> Pushed {
        let mut inner = lock(&self.inner);
        if inner.abandoned {
            return Pushed::Gone;
        }
        if !self.filter.accepts(event) {
            return Pushed::Quietly;
        }
        if inner.events.len() >= self.capacity {
            let before = self.dropped.fetch_add(1, Ordering::Relaxed);
            return if before == 0 { Pushed::FirstDrop } else { Pushed::Quietly };
        }
        inner.events.push_back(Arc::clone(event));
        let asleep = std::mem::take(&mut inner.asleep);
        drop(inner);
        if asleep {
            self.ready.notify_one();
        }
        Pushed::Quietly
    }

    pub(super) fn close(&self) {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        drop(inner);
        self.ready.notify_all();
    }

    fn abandon(&self) {
        let mut inner = lock(&self.inner);
        inner.abandoned = true;
        inner.events.clear();
    }

    fn taken(&self, event: Option<Arc<Published>>) -> Option<Arc<Published>> {
        if event.is_some() {
            self.delivered.fetch_add(1, Ordering::Relaxed);
        }
        event
    }
}

/// The consumer's end of a queue. Dropping it ends the subscription.
pub struct Subscription {
    queue: Arc<Queue>,
}

impl Subscription {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// How many events were lost because this subscriber was too slow.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped.load(Ordering::Relaxed)
    }

    /// Waits for the next event; `None` once the stream has ended and everything was taken.
    pub fn recv(&self) -> Option<Arc<Published>> {
        let mut inner = lock(&self.queue.inner);
        while inner.events.is_empty() && !inner.closed {
            inner.asleep = true;
            inner = self.queue.ready.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        let event = inner.events.pop_front();
        drop(inner);
        self.queue.taken(event)
    }

    /// Like [`recv`](Self::recv), but gives up after a while. `Err` means that time ran out.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Option<Arc<Published>>, TimedOut> {
        let deadline = Instant::now() + timeout;
        let mut inner = lock(&self.queue.inner);
        while inner.events.is_empty() && !inner.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TimedOut);
            }
            inner.asleep = true;
            let waited = self.queue.ready.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let event = inner.events.pop_front();
        drop(inner);
        Ok(self.queue.taken(event))
    }

    /// Takes the next event if there is one.
    pub fn try_recv(&self) -> Option<Arc<Published>> {
        let event = lock(&self.queue.inner).events.pop_front();
        self.queue.taken(event)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

/// No event came in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no event came in time")]
pub struct TimedOut;
