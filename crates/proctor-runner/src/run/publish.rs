//! Making events of what the dispatcher and the workers say.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use proctor_events::{
    Bus, ErrorOutsideExample, Event, ExampleFinished, ExampleId, ExampleStarted, Json,
    OutputStream, Progress, WorkerExited, WorkerLog, WorkerStarted,
};

use crate::dispatch::Exit;
use crate::example::{Example, OutsideError};

/// Progress is published at most so often; who wants it after every result counts results.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Publishes, and counts what was final.
pub(super) struct Publisher {
    bus: Bus,
    /// Events of one turn of the loop; they are recorded together.
    waiting: RefCell<Vec<Event>>,
    /// Names that examples without one got while they ran, and the whole chains. A worker tells them only the first time.
    names: HashMap<ExampleId, (String, String)>,
    progress_published: Cell<Option<Instant>>,
    /// Results that were final.
    pub(super) results: u64,
    pub(super) errors: u64,
}

/// One attempt at an example.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublishedAttempt<'a> {
    pub(super) example: &'a Example,
    pub(super) repeat: u32,
    pub(super) attempt: u32,
    pub(super) worker: Option<u32>,
    /// Whether its `ExampleStarted` has been published.
    pub(super) announced: bool,
}

impl PublishedAttempt<'_> {
    fn event(self, payload: impl Into<Event>) -> Event {
        let event = payload.into().about(&self.example.id).in_attempt(self.repeat, self.attempt);
        match self.worker {
            Some(worker) => event.from_worker(worker),
            None => event,
        }
    }
}

/// Whatever is still waiting is published, however the run ends.
impl Drop for Publisher {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Publisher {
    pub(super) fn new(bus: Bus) -> Self {
        Self {
            bus,
            waiting: RefCell::default(),
            names: HashMap::new(),
            progress_published: Cell::default(),
            results: 0,
            errors: 0,
        }
    }

    /// Puts an event in line; [`flush`](Self::flush) publishes it.
    pub(super) fn publish(&self, event: impl Into<Event>) {
        self.waiting.borrow_mut().push(event.into());
    }

    pub(super) fn flush(&self) {
        let events = std::mem::take(&mut *self.waiting.borrow_mut());
        if !events.is_empty() {
            self.bus.publish_all(events);
        }
    }

    /// How far the run is, unless that was said a moment ago and is not the last word.
    pub(super) fn progress(&self, total: u64, failures: u64, last: bool) {
        let before = self.progress_published.get();
        if last || before.is_none_or(|before| before.elapsed() >= PROGRESS_EVERY) {
            self.progress_published.set(Some(Instant::now()));
            self.publish(Progress { completed: self.results, total, failures });
        }
    }

    pub(super) fn started(&self, attempt: PublishedAttempt<'_>) {
        let example = attempt.example;
        let started = ExampleStarted {
            file: Some(example.file.clone()),
            path: example.path.clone(),
            location: example.location.clone(),
            description: Some(example.description.clone()),
            full_description: Some(example.full_description.clone()),
            tags: example.tags.clone(),
            suite: Some(example.suite.clone()),
            pass_rate: example.pass_rate,
            deterministic: example.deterministic,
            scripted: example.scripted.then_some(true),
            repeats: planned_repeats(example),
            scenario: example.scenario.as_deref().and_then(|row| Json::new(row).ok()),
        };
        self.publish(attempt.event(started));
    }

    pub(super) fn finished(&mut self, attempt: PublishedAttempt<'_>, mut outcome: ExampleFinished) {
        self.results += u64::from(outcome.r#final == Some(true));
        self.name(&attempt.example.id, &mut outcome);
        // What never started has not been described yet.
        if !attempt.announced {
            let example = attempt.example;
            outcome.description.get_or_insert_with(|| example.description.clone());
            outcome.full_description.get_or_insert_with(|| example.full_description.clone());
            outcome.location.clone_from(&example.location);
            outcome.file = Some(example.file.clone());
            outcome.path = Some(example.path.clone());
            outcome.pass_rate = example.pass_rate;
            outcome.repeats = planned_repeats(example);
        }
        self.publish(attempt.event(outcome));
    }

    /// Remembers the name that an example got while it ran, for the attempts and repetitions that follow.
    fn name(&mut self, id: &ExampleId, outcome: &mut ExampleFinished) {
        match (&outcome.description, &outcome.full_description) {
            (Some(name), Some(whole)) if outcome.own_name().is_some() => {
                self.names.insert(id.clone(), (name.clone(), whole.clone()));
            }
            (None, _) => {
                if let Some((name, whole)) = self.names.get(id) {
                    outcome.description = Some(name.clone());
                    outcome.full_description = Some(whole.clone());
                }
            }
            _ => {}
        }
    }

    pub(super) fn error(&mut self, error: OutsideError) {
        self.errors += 1;
        self.publish(ErrorOutsideExample {
            phase: Some(error.phase),
            place: error.place,
            exception: error.exception,
            message: error.message,
        });
    }

    pub(super) fn printed(
        &self,
        attempt: Option<PublishedAttempt<'_>>,
        worker: Option<u32>,
        stderr: bool,
        line: &str,
    ) {
        let stream = if stderr { OutputStream::Stderr } else { OutputStream::Stdout };
        let log = WorkerLog { line: line.to_owned(), stream: Some(stream) };
        let event = match (attempt, worker) {
            (Some(attempt), _) => attempt.event(log),
            (None, Some(worker)) => Event::from(log).from_worker(worker),
            (None, None) => log.into(),
        };
        self.publish(event);
    }

    pub(super) fn worker_started(&self, worker: u32, generation: u32, pid: Option<u32>) {
        let started = WorkerStarted { pid, generation: Some(generation) };
        self.publish(Event::from(started).from_worker(worker));
    }

    pub(super) fn worker_exited(
        &self,
        worker: u32,
        generation: u32,
        pid: Option<u32>,
        exit: &Exit,
        expected: bool,
    ) {
        let exited = WorkerExited {
            pid,
            generation: Some(generation),
            exit_status: exit.status,
            signal: exit.signal,
            expected: Some(expected),
        };
        self.publish(Event::from(exited).from_worker(worker));
    }
}

/// How often an example is to run, where that is more than once.
fn planned_repeats(example: &Example) -> Option<u32> {
    example.repeats.filter(|repeats| *repeats > 1)
}
