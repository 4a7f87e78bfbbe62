//! The bus of one run: it numbers events and hands them out.
//!
//! Two kinds of subscriber, and only two:
//!
//! * **Recorders** may not lose an event. [`Bus::publish`] returns after every recorder has taken the
//!   event, so a slow disk slows the run rather than dropping data. Publishers that meet at the
//!   recorder share one call: the first one writes what the others have queued.
//! * **Subscriptions** (and [`Observer`]s, which are a subscription with a thread) have a bounded queue.
//!   When it is full the event is dropped *for that subscriber*, counted, and reported once.
//!
//! Numbering and queueing happen under one short lock, so every subscriber sees the same order and
//! `seq` has no gaps. No foreign code runs under that lock.

mod observer;
mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use queue::{Pushed, Queue};
pub use queue::{Subscription, TimedOut};

use crate::Timestamp;
use crate::catalogue::{EventType, Observer};
use crate::event::{Event, FORMAT_VERSION, Published};
use crate::ids::RunId;
use crate::texts::Texts as _;

/// An error of foreign code.
pub type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// How many events a subscriber may be behind unless it says otherwise.
pub const DEFAULT_QUEUE: usize = 8192;

/// A subscriber that may not lose an event: the recording.
pub trait Recorder: Send {
    /// Takes a batch of events, in order. When this returns they are safe from our own crash.
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError>;

    /// The stream has ended; makes everything durable.
    fn close(&mut self) -> Result<(), BoxedError> {
        Ok(())
    }
}

/// Which events a subscriber wants.
#[derive(Debug, Clone, Default)]
pub enum Filter {
    /// Every event, those of newer writers included.
    #[default]
    All,
    /// Only these kinds.
    Types(Vec<EventType>),
}

impl Filter {
    /// Whether an event passes.
    pub fn accepts(&self, event: &Event) -> bool {
        match self {
            Self::All => true,
            Self::Types(types) => event.body.event_type().is_some_and(|kind| types.contains(&kind)),
        }
    }
}

/// Something an operator should know; each kind is reported once per subscriber.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusWarning {
    /// A subscriber is too slow.
    #[error("observer `{observer}` is too slow: events are being dropped for it")]
    Dropping {
        /// Its name.
        observer: String,
    },
    /// An observer returned an error or panicked.
    #[error("observer `{observer}` failed on {event_type}: {problem}")]
    ObserverFailed {
        /// Its name.
        observer: String,
        /// The event it failed on.
        event_type: String,
        /// What it said.
        problem: String,
    },
    /// A recorder cannot write. It is not called again.
    #[error("recording failed at event {seq}: {problem}")]
    RecordingFailed {
        /// The first event that is missing from it.
        seq: u64,
        /// What it said.
        problem: String,
    },
}

/// What a bus is made of.
pub struct BusConfig {
    /// The run it belongs to.
    pub run_id: RunId,
    /// Tells the time.
    pub clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// Hears of warnings; called at most once per kind and subscriber.
    pub on_warning: Box<dyn Fn(BusWarning) + Send + Sync>,
}

/// Changes a free text of an event before anybody gets it; nothing where it stays.
pub type TextFilter = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The bus. Clones are handles to the same one.
#[derive(Clone)]
pub struct Bus {
    shared: Arc<Shared>,
}

struct Shared {
    run_id: RunId,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    on_warning: Box<dyn Fn(BusWarning) + Send + Sync>,
    filter: Option<TextFilter>,
    state: Mutex<State>,
    recorders: Mutex<Recorders>,
}

#[derive(Default)]
struct State {
    last_seq: u64,
    closed: bool,
    has_recorder: bool,
    queues: Vec<Arc<Queue>>,
    /// Numbered, not yet recorded.
    unrecorded: Vec<Arc<Published>>,
    threads: Vec<ObserverThread>,
}

struct ObserverThread {
    queue: Arc<Queue>,
    handle: JoinHandle<()>,
}

#[derive(Default)]
struct Recorders {
    recorded_seq: u64,
    slots: Vec<RecorderSlot>,
    /// Kept between calls so that a batch costs no allocation.
    batch: Vec<Arc<Published>>,
}

struct RecorderSlot {
    recorder: Box<dyn Recorder>,
    failure: Option<BusWarning>,
}

/// What became of one observer or subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserverReport {
    /// Its name.
    pub name: String,
    /// Events it was given.
    pub delivered: u64,
    /// Events it lost because it was too slow.
    pub dropped: u64,
    /// Events it failed on.
    pub failed: u64,
    /// Whether it had not ended when the bus stopped waiting for it.
    pub stuck: bool,
}

/// What became of a run's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusReport {
    /// How many events were published.
    pub published: u64,
    /// Recorders that failed; empty means that every event was recorded.
    pub recording_failures: Vec<BusWarning>,
    /// One entry per observer.
    pub observers: Vec<ObserverReport>,
}

impl Bus {
    /// A bus with no subscribers.
    pub fn new(config: BusConfig) -> Self {
        Self::with_optional_filter(config, None)
    }

    /// A bus that changes the texts of every event before recorders and subscribers get it: the place for a filter of secrets. Names
    /// of fields, numbers and words of the format stay, so every event can be read afterwards.
    pub fn with_text_filter(config: BusConfig, filter: TextFilter) -> Self {
        Self::with_optional_filter(config, Some(filter))
    }

    fn with_optional_filter(config: BusConfig, filter: Option<TextFilter>) -> Self {
        let BusConfig { run_id, clock, on_warning } = config;
        let shared = Shared {
            run_id,
            clock,
            on_warning,
            filter,
            state: Mutex::default(),
            recorders: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The run this bus belongs to.
    pub fn run_id(&self) -> &RunId {
        &self.shared.run_id
    }

    /// The number of the last event.
    pub fn last_seq(&self) -> u64 {
        self.state().last_seq
    }

    /// Adds a recorder. It sees every event published from now on.
    pub fn add_recorder(&self, recorder: impl Recorder + 'static) {
        let mut recorders = lock(&self.shared.recorders);
        recorders.slots.push(RecorderSlot { recorder: Box::new(recorder), failure: None });
        let mut state = self.state();
        if !state.has_recorder {
            state.has_recorder = true;
            recorders.recorded_seq = state.last_seq;
        }
    }

    /// Subscribes; the caller takes events out by itself.
    pub fn subscribe(&self, name: &str, filter: Filter, capacity: usize) -> Subscription {
        let queue = Arc::new(Queue::new(name, filter, capacity));
        let mut state = self.state();
        if state.closed {
            queue.close();
        } else {
            state.queues.push(Arc::clone(&queue));
        }
        drop(state);
        Subscription::new(queue)
    }

    /// Adds an observer, which runs on a thread of its own.
    pub fn observe(&self, name: &str, filter: Filter, observer: impl Observer + 'static) {
        let subscription = self.subscribe(name, filter, DEFAULT_QUEUE);
        let queue = Arc::clone(subscription.queue());
        let shared = Arc::downgrade(&self.shared);
        let warn = move |warning| {
            if let Some(shared) = shared.upgrade() {
                shared.warn(warning);
            }
        };
        let spawned = std::thread::Builder::new()
            .name(format!("observer {name}"))
            .spawn(move || observer::run(&subscription, observer, &warn));
        match spawned {
            Ok(handle) => self.state().threads.push(ObserverThread { queue, handle }),
            Err(error) => self.shared.warn(BusWarning::ObserverFailed {
                observer: name.to_owned(),
                event_type: "no event".to_owned(),
                problem: format!("cannot start its thread: {error}"),
            }),
        }
    }

    /// Publishes an event and returns its number, or `None` if the bus is closed.
    ///
    /// `seq`, `run_id` and `v` are set; `time` is set where it is missing. Returns once the event has
    /// been recorded. Never fails and never waits for an observer.
    pub fn publish(&self, event: Event) -> Option<u64> {
        self.publish_all([event])
    }

    /// Publishes several events, recorded together; returns the number of the last.
    pub fn publish_all(&self, events: impl IntoIterator<Item = Event>) -> Option<u64> {
        let mut last = None;
        for mut event in events {
            event.v = Some(FORMAT_VERSION);
            event.run_id = Some(self.shared.run_id.clone());
            event.time.get_or_insert_with(|| (self.shared.clock)());
            if let Some(filter) = &self.shared.filter {
                event.body.change_texts(&mut |text| filter(text));
                event.extra.change_texts(&mut |text| filter(text));
            }
            last = Some(self.enqueue(event)?);
        }
        let (seq, must_record) = last?;
        if must_record {
            self.record_up_to(seq);
        }
        Some(seq)
    }

    /// The short locked part: number the event and put it into every queue.
    fn enqueue(&self, mut event: Event) -> Option<(u64, bool)> {
        let mut overflowing = Vec::new();
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.last_seq += 1;
        let seq = state.last_seq;
        event.seq = Some(seq);
        let event = Arc::new(Published::new(event));
        state.queues.retain(|queue| match queue.push(&event) {
            Pushed::Quietly => true,
            Pushed::Gone => false,
            Pushed::FirstDrop => {
                overflowing.push(queue.name().to_owned());
                true
            }
        });
        let must_record = state.has_recorder;
        if must_record {
            state.unrecorded.push(event);
        }
        drop(state);
        for observer in overflowing {
            self.shared.warn(BusWarning::Dropping { observer });
        }
        Some((seq, must_record))
    }

    fn record_up_to(&self, seq: u64) {
        let mut recorders = lock(&self.shared.recorders);
        if recorders.recorded_seq >= seq {
            return;
        }
        self.record_all(&mut recorders);
    }

    /// Records everything that is numbered. The recorder lock is held, so batches stay in order.
    fn record_all(&self, recorders: &mut Recorders) {
        let Recorders { recorded_seq, slots, batch } = recorders;
        std::mem::swap(batch, &mut self.state().unrecorded);
        let Some(last) = batch.last().and_then(|event| event.seq) else {
            return;
        };
        for slot in slots.iter_mut().filter(|slot| slot.failure.is_none()) {
            let outcome = guarded(|| slot.recorder.record(batch));
            if let Err(problem) = outcome {
                let seq = batch.first().and_then(|event| event.seq).unwrap_or_default();
                slot.fail(seq, problem, &self.shared);
            }
        }
        *recorded_seq = last;
        batch.clear();
    }

    /// Ends the stream: recorders close, queues end, observers get `at_most` to finish what they have.
    pub fn close(&self, at_most: Duration) -> BusReport {
        let (published, threads) = {
            let mut state = self.state();
            state.closed = true;
            (state.last_seq, std::mem::take(&mut state.threads))
        };
        let recording_failures = self.close_recorders(published);
        for queue in std::mem::take(&mut self.state().queues) {
            queue.close();
        }
        let observers = observer::join(threads, at_most);
        BusReport { published, recording_failures, observers }
    }

    fn close_recorders(&self, last_seq: u64) -> Vec<BusWarning> {
        let mut recorders = lock(&self.shared.recorders);
        self.record_all(&mut recorders);
        let mut slots = std::mem::take(&mut recorders.slots);
        for slot in slots.iter_mut().filter(|slot| slot.failure.is_none()) {
            if let Err(problem) = guarded(|| slot.recorder.close()) {
                slot.fail(last_seq, problem, &self.shared);
            }
        }
        slots.into_iter().filter_map(|slot| slot.failure).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

impl Shared {
    fn warn(&self, warning: BusWarning) {
        // A warning hook is foreign code too.
        let _ = catch_unwind(AssertUnwindSafe(|| (self.on_warning)(warning)));
    }
}

impl RecorderSlot {
    fn fail(&mut self, seq: u64, problem: String, shared: &Shared) {
        let warning = BusWarning::RecordingFailed { seq, problem };
        shared.warn(warning.clone());
        self.failure = Some(warning);
    }
}

/// Locks, and goes on after a panic elsewhere: our own critical sections leave no half-made state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs foreign code and turns an error or a panic into a sentence.
fn guarded(call: impl FnOnce() -> Result<(), BoxedError>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(payload) => {
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned());
            Err(text
                .map_or_else(|| "it panicked".to_owned(), |text| format!("it panicked: {text}")))
        }
    }
}

#[cfg(test)]
mod tests;
