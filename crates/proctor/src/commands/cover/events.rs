//! A cover run as events: each stage's work on a file is an example, so that every view of runs shows it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use proctor_cover::{StageOutcome, Step};
use proctor_events::{
    Bus, ErrorOutsideExample, Event, ExampleFinished, ExampleStarted, Exception, Progress,
    StableId, Status as Outcome, StatusCounts, SuiteFinished, SuiteStarted, WorkerLog,
};
use proctor_record::control::{ControlledRun, State, Status};

/// Counts of examples that have ended; shared with the control socket.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) begun: AtomicU64,
    pub(super) passed: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) pending: AtomicU64,
    stopped: AtomicBool,
}

impl Counts {
    fn ended(&self) -> u64 {
        [&self.passed, &self.failed, &self.pending]
            .map(|count| count.load(Ordering::SeqCst))
            .iter()
            .sum()
    }

    /// Whether a stop was requested.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}

/// Publishes the steps of a cover run as events.
pub(super) struct CoverEvents {
    bus: Bus,
    pub(super) counts: Arc<Counts>,
    began: Instant,
    open: Mutex<HashMap<(String, String), Instant>>,
}

impl CoverEvents {
    /// The run begins.
    pub(super) fn begin(bus: Bus) -> Self {
        bus.publish(Event::new(SuiteStarted { workers: Some(1), ..SuiteStarted::default() }));
        Self { bus, counts: Arc::default(), began: Instant::now(), open: Mutex::default() }
    }

    /// One step of the pipeline.
    pub(super) fn publish_step(&self, step: &Step) {
        match step {
            Step::Begun { stage, file } => self.begun(stage, file),
            Step::Ended { stage, file, ending, message } => {
                self.ended(stage, file, *ending, message);
            }
            Step::Note { stage, text } => {
                let line = format!("{stage}: {text}");
                self.bus.publish(Event::new(WorkerLog { line, ..WorkerLog::default() }));
            }
        }
    }

    fn begun(&self, stage: &str, file: &str) {
        self.counts.begun.fetch_add(1, Ordering::SeqCst);
        self.times().insert((stage.to_owned(), file.to_owned()), Instant::now());
        let place = shown(file);
        let path = chain(stage, file);
        let id = StableId::new(&place, &path, 1).id;
        let started = ExampleStarted {
            full_description: Some(path.join(" ")),
            description: Some(stage.to_owned()),
            location: Some(place.clone()),
            file: Some(place),
            suite: Some("cover".to_owned()),
            path,
            ..ExampleStarted::default()
        };
        self.bus.publish(Event::new(started).about(&id).in_attempt(1, 1));
    }

    fn ended(&self, stage: &str, file: &str, ending: StageOutcome, message: &str) {
        let (status, count) = match ending {
            StageOutcome::Done => (Outcome::Passed, &self.counts.passed),
            StageOutcome::Skipped => (Outcome::Pending, &self.counts.pending),
            StageOutcome::Failed => (Outcome::Failed, &self.counts.failed),
        };
        count.fetch_add(1, Ordering::SeqCst);
        let began = self.times().remove(&(stage.to_owned(), file.to_owned()));
        let exception = (status == Outcome::Failed)
            .then(|| Exception { message: message.to_owned(), ..Exception::default() });
        let path = chain(stage, file);
        let id = StableId::new(&shown(file), &path, 1).id;
        let finished = ExampleFinished {
            status,
            duration_ms: began.map(|began| began.elapsed().into()),
            exception,
            message: Some(message.to_owned()),
            r#final: Some(true),
            description: Some(stage.to_owned()),
            full_description: Some(path.join(" ")),
            location: Some(shown(file)),
            ..ExampleFinished::default()
        };
        self.bus.publish(Event::new(finished).about(&id).in_attempt(1, 1));
        self.progress();
    }

    /// How far it is; there are more examples to come than are known.
    pub(super) fn progress(&self) {
        let counts = &self.counts;
        self.bus.publish(Event::new(Progress {
            completed: counts.ended(),
            total: counts.begun.load(Ordering::SeqCst),
            failures: counts.failed.load(Ordering::SeqCst),
        }));
    }

    /// Publishes the end of the run. Open steps are published as cancelled, so that every start has its end.
    pub(super) fn end(&self, problem: Option<&str>, exit_code: i32) {
        let left: Vec<(String, String)> = self.times().keys().cloned().collect();
        for (stage, file) in left {
            self.ended(
                &stage,
                &file,
                StageOutcome::Failed,
                problem.unwrap_or("the run ended before it did"),
            );
        }
        if let Some(problem) = problem {
            let error = ErrorOutsideExample {
                phase: Some("cover".to_owned()),
                message: Some(problem.to_owned()),
                ..ErrorOutsideExample::default()
            };
            self.bus.publish(Event::new(error));
        }
        let number = |count: &AtomicU64| count.load(Ordering::SeqCst);
        let counts = &self.counts;
        let failed = number(&counts.failed);
        self.bus.publish(Event::new(SuiteFinished {
            example_count: counts.ended(),
            failure_count: failed,
            pending_count: Some(number(&counts.pending)),
            counts: Some(StatusCounts {
                passed: Some(number(&counts.passed)),
                failed: Some(failed),
                pending: Some(number(&counts.pending)),
                ..StatusCounts::default()
            }),
            error_count: Some(u64::from(problem.is_some())),
            duration_ms: Some(self.began.elapsed().into()),
            exit_code: Some(exit_code),
            ..SuiteFinished::default()
        }));
    }

    fn times(&self) -> std::sync::MutexGuard<'_, HashMap<(String, String), Instant>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `./lib/cart.rb`; the project itself is `.`.
fn shown(file: &str) -> String {
    if file == "." { ".".to_owned() } else { format!("./{file}") }
}

fn chain(stage: &str, file: &str) -> Vec<String> {
    let words: &[&str] = if file == "." { &["cover", stage] } else { &["cover", file, stage] };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The run as its control socket sees it.
pub(super) struct Live {
    pub(super) counts: Arc<Counts>,
    pub(super) name: String,
}

impl ControlledRun for Live {
    fn status(&self) -> Status {
        Status {
            v: 0,
            run_id: self.name.clone(),
            pid: 0,
            state: if self.counts.is_stopped() { State::Stopping } else { State::Running },
            completed: self.counts.ended(),
            total: self.counts.begun.load(Ordering::SeqCst),
            failures: self.counts.failed.load(Ordering::SeqCst),
        }
    }

    fn cancel(&self) {
        self.counts.stop();
    }

    fn kill(&self) {
        self.counts.stop();
    }
}
