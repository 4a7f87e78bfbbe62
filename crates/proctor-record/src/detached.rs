//! A recorder on a thread of its own, for destinations that may stall: a named pipe without a reader, a full disk.
//!
//! The publisher waits only while a bounded queue is full, and only as long as the destination makes progress. A destination that makes
//! none is abandoned: a callback is called once, and the run goes on without the destination. The recording of a run is not written
//! this way, because it may not lose an event.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proctor_events::{BoxedError, Published, Recorder};

/// Bounds of a detached recorder.
#[derive(Debug, Clone, Copy)]
pub struct DetachedLimits {
    /// How many bytes of events may wait.
    pub queue_bytes: usize,
    /// How long the destination may make no progress while a publisher waits.
    pub stall: Duration,
    /// How long publishers may wait in total.
    pub total_wait: Duration,
}

impl Default for DetachedLimits {
    fn default() -> Self {
        Self {
            queue_bytes: 16 * 1024 * 1024,
            stall: Duration::from_secs(3),
            total_wait: Duration::from_secs(30),
        }
    }
}

/// The number of events of one write; each write counts as progress.
const CHUNK: usize = 64;

/// Hands events to a recorder that runs on another thread.
pub struct DetachedRecorder {
    shared: Arc<Shared>,
    limits: DetachedLimits,
    waited: Duration,
    /// Called once with the reason when the destination is abandoned.
    on_given_up: Option<Box<dyn FnOnce(String) + Send>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Vec<Arc<Published>>,
    /// Bytes of the queued events and of those that are being written.
    bytes: usize,
    /// How many events have been written.
    written: u64,
    accepted: u64,
    closing: bool,
    closed: bool,
    failure: Option<String>,
}

impl DetachedRecorder {
    /// Starts the thread. `on_given_up` must not publish to the bus that calls this recorder.
    pub fn start(
        recorder: impl Recorder + 'static,
        limits: DetachedLimits,
        on_given_up: impl FnOnce(String) + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("events destination".to_owned())
            .spawn(move || write_all(recorder, &theirs))?;
        Ok(Self {
            shared,
            limits,
            waited: Duration::ZERO,
            on_given_up: Some(Box::new(on_given_up)),
        })
    }

    fn give_up(&mut self, why: String) {
        if let Some(tell) = self.on_given_up.take() {
            tell(why);
        }
    }

    /// Waits until a condition holds; an error if the destination fails or stalls.
    fn wait_until(&mut self, done: impl Fn(&State) -> bool) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let (began, mut progress) = (Instant::now(), (state.written, Instant::now()));
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if done(&state) {
                self.waited += began.elapsed();
                return Ok(());
            }
            if state.written != progress.0 {
                progress = (state.written, Instant::now());
            }
            let left = self.limits.stall.saturating_sub(progress.1.elapsed());
            let left =
                left.min(self.limits.total_wait.saturating_sub(self.waited + began.elapsed()));
            if left.is_zero() {
                let missing = state.accepted - state.written;
                let stall = self.limits.stall.as_secs_f64();
                return Err(format!(
                    "it has accepted nothing for {stall} s; {missing} events and all later ones are missing there"
                ));
            }
            let waited = shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Recorder for DetachedRecorder {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        if self.on_given_up.is_none() {
            return Ok(());
        }
        let most = self.limits.queue_bytes;
        match self.wait_until(|state| state.bytes <= most) {
            Ok(()) => self.shared.add(batch),
            Err(why) => self.give_up(why),
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), BoxedError> {
        if self.on_given_up.is_none() {
            return Ok(());
        }
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        if let Err(why) = self.wait_until(|state| state.closed) {
            self.give_up(why);
        }
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, batch: &[Arc<Published>]) {
        let mut state = self.lock();
        state.bytes += batch.iter().map(|event| event.json().len()).sum::<usize>();
        state.accepted += batch.len() as u64;
        state.queue.extend_from_slice(batch);
        drop(state);
        self.changed.notify_all();
    }

    /// Everything that waits; `None` when there is nothing and nothing will come.
    fn take(&self) -> Option<Vec<Arc<Published>>> {
        let mut state = self.lock();
        while state.queue.is_empty() {
            if state.closing {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Some(std::mem::take(&mut state.queue))
    }

    fn note(&self, outcome: Result<(), BoxedError>, chunk: &[Arc<Published>]) -> bool {
        let mut state = self.lock();
        match outcome {
            Ok(()) => {
                state.written += chunk.len() as u64;
                state.bytes -= chunk.iter().map(|event| event.json().len()).sum::<usize>();
            }
            Err(error) => state.failure = Some(error.to_string()),
        }
        let fine = state.failure.is_none();
        drop(state);
        self.changed.notify_all();
        fine
    }
}

/// The thread: writes until the stream has ended or writing fails.
fn write_all(mut recorder: impl Recorder, shared: &Shared) {
    while let Some(events) = shared.take() {
        for chunk in events.chunks(CHUNK) {
            if !shared.note(recorder.record(chunk), chunk) {
                return;
            }
        }
    }
    if shared.note(recorder.close(), &[]) {
        shared.lock().closed = true;
        shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use proctor_events::{Event, Progress};

    use super::*;
    use crate::JsonlRecorder;

    fn events(count: u64) -> Vec<Arc<Published>> {
        let event = |completed| Event::new(Progress { completed, total: count, failures: 0 });
        (0..count).map(|n| Arc::new(Published::new(event(n)))).collect()
    }

    fn limits(queue_bytes: usize) -> DetachedLimits {
        let stall = Duration::from_millis(50);
        DetachedLimits { queue_bytes, stall, total_wait: Duration::from_secs(10) }
    }

    /// Audit B2: nobody reads the pipe; its buffer fills up, and the writer blocks for ever.
    #[test]
    fn b2_a_pipe_without_a_reader_is_given_up_and_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let (told, reasons) = mpsc::channel();
        let recorder = JsonlRecorder::append(&path).unwrap();
        let tell = move |why| told.send(why).unwrap();
        let mut detached = DetachedRecorder::start(recorder, limits(100_000), tell).unwrap();
        for _ in 0..100 {
            detached.record(&events(100)).unwrap();
        }
        detached.close().unwrap();
        let all: Vec<String> = reasons.try_iter().collect();
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(all[0].starts_with("it has accepted nothing"), "{all:?}");
    }

    #[test]
    fn b2_a_destination_that_refuses_is_given_up_with_its_reason() {
        let (told, reasons) = mpsc::channel();
        let recorder = JsonlRecorder::append(std::path::Path::new("/dev/full")).unwrap();
        let tell = move |why| told.send(why).unwrap();
        let mut detached = DetachedRecorder::start(recorder, limits(1_000), tell).unwrap();
        detached.record(&events(1)).unwrap();
        detached.close().unwrap();
        assert!(reasons.recv().unwrap().contains("No space left"));
    }

    #[test]
    fn everything_is_there_when_it_is_closed_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let recorder = JsonlRecorder::append(&path).unwrap();
        let generous = DetachedLimits { queue_bytes: 2_000, ..DetachedLimits::default() };
        let tell = |why: String| panic!("{why}");
        let mut detached = DetachedRecorder::start(recorder, generous, tell).unwrap();
        let all = events(1_000);
        for batch in all.chunks(7) {
            detached.record(batch).unwrap();
        }
        detached.close().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let numbers = text.lines().map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            event["completed"].as_u64().unwrap()
        });
        assert_eq!(numbers.collect::<Vec<_>>(), (0..1_000).collect::<Vec<_>>());
    }
}
