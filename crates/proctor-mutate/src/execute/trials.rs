//! One trial: writes the changed file, tells a process to put it into force, runs the examples, and reads what came of it.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use proctor_runner::{
    CheckpointRequest, ForkSlot, ForkedExample, ForkedRunRequest, LoadedSuite, OutsideError,
    Selection, Suite, SuiteEnvironment, SuiteError,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::MutateSetup;
use crate::campaign::{Extent, KilledBy, Mode, Observation, Trial};
use crate::observation::{Proof, error_while_loading, observe};
use crate::plan::{MutationPlan, PlannedFile, PlannedMutant};

/// How long hooks may take in addition to the examples.
const HOOKS_LIMIT: Duration = Duration::from_secs(20);
/// How much longer than the first time loading may take.
const LOAD_LIMIT: Duration = Duration::from_secs(30);

/// Makes the runs of trials.
pub(super) struct TrialRunner {
    folder: TempDir,
    files: AtomicU64,
    suite: Arc<Suite>,
    environment: SuiteEnvironment,
    selection: Selection,
    time_factor: f64,
    time_floor: Duration,
    memory_bytes: Option<u64>,
    /// How many processes were made from checkpoints.
    resumed: AtomicU32,
}

/// Generations of processes from checkpoints begin here: a number and a generation name one process of a suite.
const RESUMED_GENERATIONS: u32 = 1_000_000;

/// The changed code of a trial, on disk until it is dropped.
pub(super) struct TrialCode {
    source: PathBuf,
    /// As the Ruby side takes it.
    mutant: Value,
    file: String,
}

impl Drop for TrialCode {
    fn drop(&mut self) {
        // Its folder is removed at the end of the run anyway.
        let _ = std::fs::remove_file(&self.source);
    }
}

/// What limits are made of.
#[derive(Clone, Copy)]
pub(super) struct Limits<'a> {
    /// By example.
    pub(super) keys: &'a [String],
    /// Of the clean run, by example, in milliseconds.
    pub(super) times: &'a [f64],
    pub(super) load_ms: f64,
}

/// Where a trial can be run.
pub(super) struct Slots<'a> {
    /// Forks of the loaded suite.
    pub(super) forked: &'a mut ForkSlot,
    /// A process that loads the suite from a checkpoint.
    pub(super) resumed: Option<ForkSlot>,
}

/// From where the suite can be loaded anew.
pub(super) struct Checkpoint<'a> {
    pub(super) loaded: &'a LoadedSuite,
    pub(super) number: u32,
    /// Of the slot, which gives the process its place among the workers.
    pub(super) slot: u32,
}

impl TrialRunner {
    pub(super) fn new(setup: &MutateSetup) -> io::Result<Self> {
        Ok(Self {
            folder: tempfile::Builder::new().prefix("proctor-mutate-").tempdir()?,
            files: AtomicU64::new(0),
            suite: Arc::clone(&setup.suite),
            environment: setup.environment.clone(),
            selection: setup.selection.clone(),
            time_factor: setup.time_factor,
            time_floor: setup.time_floor,
            memory_bytes: setup.memory_bytes,
            resumed: AtomicU32::new(0),
        })
    }

    /// The environment of the suite that is loaded once and watches the files of the plan.
    pub(super) fn watching_environment(&self, plan: &MutationPlan) -> io::Result<SuiteEnvironment> {
        let watch: Vec<String> =
            plan.files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
        self.environment_with(&json!({ "watch": watch, "trace": true, "checkpoints": true }))
    }

    fn environment_with(&self, instructions: &Value) -> io::Result<SuiteEnvironment> {
        let path = self.new_path("json");
        std::fs::write(&path, instructions.to_string())?;
        Ok(SuiteEnvironment { mutation: Some(path), ..self.environment.clone() })
    }

    fn new_path(&self, ending: &str) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(format!("{number}.{ending}"))
    }

    /// Writes the code of a trial: the mutant's, or for a control the file as it is.
    pub(super) fn prepare(
        &self,
        plan: &MutationPlan,
        number: usize,
        trial: &Trial,
    ) -> io::Result<TrialCode> {
        let mutant = &plan.mutants[number];
        let file = &plan.files[mutant.file];
        let source = self.new_path("rb");
        let code = if trial.is_control() {
            file.source.clone()
        } else {
            mutant.change.apply(&file.source)
        };
        std::fs::write(&source, code)?;
        let name = file.path.to_string_lossy().into_owned();
        let told = json!({
            "file": name,
            "source": source,
            "method": method(mutant, file, trial.is_control()),
        });
        Ok(TrialCode { source, mutant: told, file: name })
    }

    pub(super) async fn run(
        &self,
        slots: Slots<'_>,
        trial: &Trial,
        code: &TrialCode,
        limits: Limits<'_>,
        stop: &CancellationToken,
    ) -> Observation {
        match trial.mode {
            Mode::Fork if trial.is_plain() => {
                let request = self.request(&trial.examples, None, limits);
                let run = slots.forked.run(&request, stop).await;
                observe(&run, &keys(&trial.examples, limits), Proof::Nothing)
            }
            Mode::Fork => {
                let request = self.request(&trial.examples, Some(&code.mutant), limits);
                let run = slots.forked.run(&request, stop).await;
                observe(&run, &keys(&trial.examples, limits), Proof::Fork)
            }
            Mode::Fresh => match slots.resumed {
                Some(slot) => self.run_from_checkpoint(slot, trial, limits, stop).await,
                None => self.run_fresh(trial, code, limits, stop).await,
            },
        }
    }

    fn request(
        &self,
        examples: &[usize],
        mutant: Option<&Value>,
        limits: Limits<'_>,
    ) -> ForkedRunRequest {
        let mut whole = HOOKS_LIMIT;
        let mut run = |example: &usize| {
            let clean = Duration::from_secs_f64(limits.times[*example].max(0.0) / 1000.0);
            let limit = clean.mul_f64(self.time_factor) + self.time_floor;
            whole += limit;
            ForkedExample {
                key: limits.keys[*example].clone(),
                limit_ms: Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            }
        };
        let unit = examples.iter().map(&mut run).collect();
        ForkedRunRequest {
            prepare: Some(json!({
                "trace": false,
                "memory_bytes": self.memory_bytes,
                "mutant": mutant,
            })),
            units: vec![unit],
            stop_at_failure: true,
            limit: whole,
        }
    }

    /// The slot of one run from a checkpoint; `None` if the suite can only be loaded from its beginning.
    pub(super) fn slot_from(
        &self,
        checkpoint: &Checkpoint<'_>,
        trial: &Trial,
        code: &TrialCode,
        limits: Limits<'_>,
    ) -> Option<ForkSlot> {
        let Value::Object(instructions) = json!({
            "checkpoint": checkpoint.number,
            "file": code.file,
            "source": code.source,
            "spec_files": spec_files(trial, limits),
        }) else {
            return None;
        };
        if trial.mode == Mode::Fork {
            return None;
        }
        let within = self.load_limit(limits);
        let request = CheckpointRequest { instructions, within };
        let generation = RESUMED_GENERATIONS + self.resumed.fetch_add(1, Ordering::Relaxed);
        checkpoint.loaded.slot_from_checkpoint(checkpoint.slot, generation, request)
    }

    /// Has a process load the rest of the suite with the changed file.
    async fn run_from_checkpoint(
        &self,
        mut slot: ForkSlot,
        trial: &Trial,
        limits: Limits<'_>,
        stop: &CancellationToken,
    ) -> Observation {
        let mut request = self.request(&trial.examples, None, limits);
        request.limit += self.load_limit(limits);
        let run = slot.run(&request, stop).await;
        observe(&run, &keys(&trial.examples, limits), Proof::Checkpoint)
    }

    fn load_limit(&self, limits: Limits<'_>) -> Duration {
        Duration::from_secs_f64(limits.load_ms.max(0.0) / 1000.0).mul_f64(self.time_factor)
            + LOAD_LIMIT
    }

    /// Loads the suite with the changed file.
    async fn run_fresh(
        &self,
        trial: &Trial,
        code: &TrialCode,
        limits: Limits<'_>,
        stop: &CancellationToken,
    ) -> Observation {
        let instructions =
            json!({ "watch": [], "substitute": { code.file.clone(): code.source.clone() } });
        let environment = match self.environment_with(&instructions) {
            Ok(environment) => environment,
            Err(error) => return Observation::Broke(error.to_string()),
        };
        let limit = self.load_limit(limits);
        let opening = LoadedSuite::open(&self.suite, &environment, &self.selection);
        let loaded = tokio::select! {
            loaded = tokio::time::timeout(limit, opening) => loaded,
            () = stop.cancelled() => return Observation::Broke("stopped".to_owned()),
        };
        let loaded = match loaded {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(error)) => return not_loaded(&error),
            Err(_) => {
                let message = "the suite did not load within its time limit".to_owned();
                return Observation::Noticed {
                    by: KilledBy::TimeOut,
                    at: None,
                    message,
                    again: false,
                };
            }
        };
        let (errors, mutation) = (&loaded.discovery.errors, &loaded.discovery.mutation);
        let refused = errors.first().map(load_error);
        let used = mutation.as_ref().and_then(|it| it["substituted"].as_array().cloned());
        let substituted = used.is_some_and(|it| it.contains(&json!(code.file)));
        let mut slot = loaded.slot(0, 0);
        let seen = if let Some(refused) = refused {
            refused
        } else {
            let proof = Proof::Fresh { substituted };
            let run = slot.run(&self.request(&trial.examples, None, limits), stop).await;
            let first = observe(&run, &keys(&trial.examples, limits), proof);
            match &first {
                Observation::Noticed { at: Some(at), message, .. } => {
                    let examples = &trial.examples[..=*at];
                    let run = slot.run(&self.request(examples, None, limits), stop).await;
                    match observe(&run, &keys(examples, limits), proof) {
                        Observation::Passed => {
                            Observation::Unsteady { at: Some(*at), message: message.clone() }
                        }
                        _ => again(first),
                    }
                }
                _ => first,
            }
        };
        loaded.close().await;
        seen
    }
}

/// A result that a second run has confirmed.
fn again(observation: Observation) -> Observation {
    match observation {
        Observation::Noticed { by, at, message, .. } => {
            Observation::Noticed { by, at, message, again: true }
        }
        other => other,
    }
}

/// The spec files that are loaded for a trial; `None` for all. A key is the file with the place of the example in it.
fn spec_files(trial: &Trial, limits: Limits<'_>) -> Option<Vec<String>> {
    if trial.extent == Extent::Whole {
        return None;
    }
    let file = |example: &usize| {
        let key = &limits.keys[*example];
        key.rsplit_once('[').map_or(key.as_str(), |(file, _)| file).to_owned()
    };
    let files: BTreeSet<String> = trial.examples.iter().map(file).collect();
    Some(files.into_iter().collect())
}

fn keys(examples: &[usize], limits: Limits<'_>) -> Vec<String> {
    examples.iter().map(|example| limits.keys[*example].clone()).collect()
}

/// What the Ruby side needs to evaluate the method again; null where that is not possible.
fn method(mutant: &PlannedMutant, file: &PlannedFile, is_control: bool) -> Value {
    let place = &file.places[mutant.change.place];
    let Some(method) = place.method.as_ref().filter(|it| it.obstacle.is_none()) else {
        return Value::Null;
    };
    let growth = if is_control { 0 } else { mutant.change.growth() };
    json!({
        "name": method.name,
        "line": method.lines.0,
        "start": method.start,
        "end": i64::from(method.end) + growth,
        "receiver": method.receiver,
        "nesting": method.nesting,
    })
}

/// An error while the suite was loaded.
fn load_error(error: &OutsideError) -> Observation {
    let exception = error.exception.as_ref();
    let class = exception.and_then(|it| it.class.clone()).unwrap_or_default();
    let message = exception.map(|it| it.message.trim().to_owned());
    let message = message.or_else(|| error.message.clone()).unwrap_or_default();
    error_while_loading(&class, &message)
}

fn not_loaded(error: &SuiteError) -> Observation {
    let last = error.output.last().cloned().unwrap_or_default();
    let message = format!("{} {last}", error.message).trim().to_owned();
    Observation::Noticed { by: KilledBy::LoadError, at: None, message, again: false }
}
