//! Runs the specs of a review with the embedded runner and forwards their events to the cover run.
//!
//! It stands in the binary because neither `proctor-cover` nor `proctor-runner` may know the other.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proctor_cover::{Sandbox, SpecFailure, SpecRun, SpecRunner};
use proctor_events::{
    Body, BoxedError, Bus, BusConfig, Event, Published, Recorder, RunId, Status, Timestamp,
};
use proctor_runner::{Controller, RspecSuite, RunOptions, RunSetup, Suite, SuiteSandbox};
use proctor_verdict::StopCause;

use super::events::Counts;
use crate::commands::suites;
use crate::secrets;

/// How long one example may take.
const EXAMPLE: u64 = 30_000;
/// How long all of them may take.
const ALL: Duration = Duration::from_mins(10);

/// Runs specs with the embedded controller.
pub(super) struct EmbeddedSpecRunner {
    pub(super) ruby: String,
    pub(super) sandbox: Sandbox,
    pub(super) workers: u32,
    pub(super) bus: Bus,
    pub(super) counts: Arc<Counts>,
}

impl SpecRunner for EmbeddedSpecRunner {
    fn run(&self, root: &Path, specs: &[String], shown: bool) -> SpecRun {
        self.try_run(root, specs, shown)
            .unwrap_or_else(|error| SpecRun { error: Some(error), ..SpecRun::default() })
    }
}

impl EmbeddedSpecRunner {
    fn try_run(&self, root: &Path, specs: &[String], shown: bool) -> Result<SpecRun, String> {
        let mut environment =
            suites::environment(root, self.workers).map_err(|error| error.to_string())?;
        let confined = self.sandbox.confinement(root).map_err(|error| error.to_string())?;
        environment.sandbox = confined.map(|(launcher, confinement)| SuiteSandbox {
            launcher: launcher.clone(),
            confinement,
        });
        let suite = RspecSuite {
            ruby: self.ruby.clone(),
            args: specs.to_vec(),
            preload: true,
            conversations: None,
            deterministic: None,
        };
        let gathered = Arc::new(Mutex::new(SpecRun::default()));
        let config = BusConfig {
            run_id: RunId::new(self.bus.run_id().as_str()),
            clock: Box::new(Timestamp::now),
            on_warning: Box::new(|_| {}),
        };
        let inner = Bus::with_text_filter(config, secrets::text_filter());
        inner.add_recorder(Forward {
            to: shown.then(|| self.bus.clone()),
            counts: Arc::clone(&self.counts),
            gathered: Arc::clone(&gathered),
            begun: HashMap::new(),
        });
        let options = RunOptions {
            workers: self.workers,
            timeout: Some(EXAMPLE),
            allow_empty: true,
            ..RunOptions::default()
        };
        let controller = Controller::new(RunSetup {
            suites: vec![Suite::from(suite)],
            environment,
            options,
            bus: inner.clone(),
        });
        controller.start().map_err(|error| error.to_string())?;
        let result = controller.wait_timeout(ALL).unwrap_or_else(|| {
            controller.kill(StopCause::TimeLimit);
            controller.wait()
        });
        inner.close(Duration::from_secs(5));
        let mut ran = std::mem::take(&mut *gathered.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(problem) = &result.problem {
            let output: Vec<&str> = problem.output.iter().take(5).map(String::as_str).collect();
            ran.error = Some([&[problem.message.as_str()][..], &output].concat().join(" / "));
        }
        Ok(ran)
    }
}

/// Forwards events, except those that frame a run, and collects the results of the examples.
struct Forward {
    /// `None` for a run that only compares.
    to: Option<Bus>,
    counts: Arc<Counts>,
    gathered: Arc<Mutex<SpecRun>>,
    /// Place and description of examples by id; only `ExampleStarted` carries them.
    begun: HashMap<String, (String, String)>,
}

impl Recorder for Forward {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        for event in batch {
            self.gather(event);
            let frames = matches!(
                event.body,
                Body::SuiteStarted(_) | Body::SuiteFinished(_) | Body::Progress(_)
            );
            if let Some(to) = self.to.as_ref().filter(|_| !frames) {
                let mut copy: Event = (***event).clone();
                copy.seq = None;
                to.publish(copy);
            }
        }
        Ok(())
    }
}

impl Forward {
    fn gather(&mut self, event: &Event) {
        let mut ran = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = |count: &std::sync::atomic::AtomicU64| {
            if self.to.is_some() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        };
        match &event.body {
            Body::ExampleStarted(started) => {
                counted(&self.counts.begun);
                let place = started.location.clone().or_else(|| started.file.clone());
                let place = place.unwrap_or_default().trim_start_matches("./").to_owned();
                let words = started.full_description.clone().unwrap_or_default();
                if let Some(id) = &event.example_id {
                    self.begun.insert(id.as_str().to_owned(), (place, words));
                }
            }
            Body::ExampleFinished(finished) => {
                let count = match finished.status {
                    Status::Passed => {
                        ran.passed += 1;
                        &self.counts.passed
                    }
                    Status::Pending => {
                        ran.pending += 1;
                        &self.counts.pending
                    }
                    _ => {
                        let id = event.example_id.as_ref().map(|id| id.as_str().to_owned());
                        let known = id.and_then(|id| self.begun.get(&id).cloned());
                        let (place, description) = known.unwrap_or_default();
                        let message = finished
                            .exception
                            .as_ref()
                            .map(|error| error.message.clone())
                            .or_else(|| finished.message.clone());
                        ran.failed.push(SpecFailure {
                            spec: place
                                .rsplit_once(':')
                                .map_or(place.clone(), |(file, _)| file.to_owned()),
                            description,
                            message: message.unwrap_or_else(|| format!("{:?}", finished.status)),
                            place,
                        });
                        &self.counts.failed
                    }
                };
                counted(count);
            }
            Body::ErrorOutsideExample(error) => {
                let said = error
                    .exception
                    .as_ref()
                    .map(|exception| exception.message.clone())
                    .or_else(|| error.message.clone());
                ran.error = Some(format!(
                    "{}{}",
                    error.place.as_deref().map(|place| format!("{place}: ")).unwrap_or_default(),
                    said.unwrap_or_default()
                ));
            }
            _ => {}
        }
    }
}
