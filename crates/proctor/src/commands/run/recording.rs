//! A run's recording: its folder, its bus, and other destinations of its events.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use proctor_events::{BoxedError, Bus, BusConfig, Published, Recorder, RunId, Timestamp};
use proctor_process::git::Git;
use proctor_record::destinations;
use proctor_record::{Aggregator, GitState, RunData, RunFolder, RunInfo, RunStore};
use proctor_runner::RunOutputs;

use super::event_outputs::{EventOutputs, Warnings};
use crate::error::CommandError;
use crate::secrets;
use crate::terminal::Terminal;

/// How long observers may take to send their queued events.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

pub(in crate::commands) struct Recording {
    pub(in crate::commands) bus: Bus,
    folded: Arc<Mutex<Aggregator>>,
    outputs: Arc<EventOutputs>,
    warnings: Warnings,
    folder: RunFolder,
    info: RunInfo,
    git: Option<JoinHandle<Option<GitState>>>,
    seed: OnceLock<u64>,
}

impl Recording {
    /// Makes the run's folder and opens every destination, before anything runs.
    pub(super) fn start(
        run_id: Option<&str>,
        fingerprint: String,
        root: &Path,
        events: Option<&str>,
        terminal: &mut Terminal,
    ) -> Result<Self, CommandError> {
        let argv = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let events = destinations::parse(events.unwrap_or_default())?;
        let recording = Self::begin(run_id, argv, Some(fingerprint), root)?;
        recording.attach(events, terminal);
        Ok(recording)
    }

    /// The same for a run that another command line stands for.
    pub(in crate::commands) fn start_as(
        argv: Vec<String>,
        fingerprint: Option<String>,
        root: &Path,
        events: Option<&str>,
        terminal: &mut Terminal,
    ) -> Result<Self, CommandError> {
        let events = destinations::parse(events.unwrap_or_default())?;
        let recording = Self::begin(None, argv, fingerprint, root)?;
        recording.attach(events, terminal);
        Ok(recording)
    }

    /// The same for a run that another program makes, which goes on whatever its destinations are.
    pub(in crate::commands) fn start_external(
        argv: Vec<String>,
        root: &Path,
        events: &str,
        terminal: &mut Terminal,
    ) -> Result<Self, CommandError> {
        let recording = Self::begin(None, argv, None, root)?;
        let parts = destinations::parts(events).map(destinations::parse_one);
        let (good, bad): (Vec<_>, Vec<_>) = parts.partition(Result::is_ok);
        for error in bad.into_iter().filter_map(Result::err) {
            terminal.warn(&error.to_string());
        }
        recording.attach(good.into_iter().flatten().collect(), terminal);
        Ok(recording)
    }

    fn attach(&self, destinations: Vec<destinations::Destination>, terminal: &mut Terminal) {
        for destination in destinations {
            match self.outputs.attach(destination) {
                Ok(Some(address)) => terminal.note(&format!("events at {address}")),
                Ok(None) => {}
                Err(warning) => terminal.warn(&warning),
            }
        }
    }

    /// What the code of the project may use.
    pub(in crate::commands) fn outputs(&self) -> Arc<dyn RunOutputs> {
        Arc::clone(&self.outputs) as _
    }

    fn begin(
        run_id: Option<&str>,
        argv: Vec<String>,
        fingerprint: Option<String>,
        root: &Path,
    ) -> Result<Self, CommandError> {
        let fresh = || uuid::Uuid::now_v7().to_string();
        let run_id = RunId::new(run_id.map_or_else(fresh, ToOwned::to_owned));
        let argv = argv.into_iter().map(|word| secrets::without(&word).into_owned()).collect();
        let mut info = RunInfo::new(run_id.clone(), now(), argv);
        info.config_fingerprint = fingerprint;
        info.versions.insert("proctor".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let store = RunStore::new(root);
        let (folder, recorder) = store.create(&info).map_err(|error| {
            CommandError::from(error).hint("recordings go to .proctor at the project's root")
        })?;
        crate::commands::journal::recorded_runs::list_run(folder.path());
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let bus = bus(run_id, Arc::clone(&warnings));
        bus.add_recorder(recorder);
        let folded = Arc::new(Mutex::new(Aggregator::default()));
        bus.add_recorder(Fold(Arc::clone(&folded)));
        let outputs = EventOutputs::new(bus.clone(), folder.events_path(), Arc::clone(&warnings));
        let root = root.to_owned();
        // Asking git takes longer than starting a run, so it happens meanwhile.
        let git = std::thread::Builder::new().spawn(move || git_state(&root)).ok();
        Ok(Self { bus, folded, outputs, warnings, folder, info, git, seed: OnceLock::new() })
    }

    /// The run's id.
    pub(super) fn run_id(&self) -> String {
        self.folder.name()
    }

    /// Where its events are written.
    pub(super) fn events_path(&self) -> PathBuf {
        self.folder.events_path()
    }

    /// The run's folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The run as folded so far. It is handed over, not copied: a large run would be there twice.
    pub(super) fn take_run(&self) -> RunData {
        let mut folded = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        let run = std::mem::take(&mut *folded).into_run();
        if let Some(seed) = run.seed {
            // Only the first is asked for.
            let _ = self.seed.set(seed);
        }
        run
    }

    /// The run was stopped before its end.
    pub(in crate::commands) fn interrupted(&mut self) {
        self.info.interrupted = true;
    }

    /// Ends everything; returns how many recorders failed.
    pub(in crate::commands) fn finish(self, terminal: &mut Terminal) -> usize {
        let Self { bus, outputs, warnings, folder, mut info, git, folded, seed } = self;
        let report = bus.close(CLOSE_LIMIT);
        outputs.finish();
        info.git = git.and_then(|asking| asking.join().ok()).flatten();
        let still_there = || folded.lock().unwrap_or_else(PoisonError::into_inner).run().seed;
        info.seed = seed.into_inner().or_else(still_there);
        // The run may have been tagged meanwhile.
        info.tags = folder.info().map(|present| present.tags).unwrap_or_default();
        if let Err(error) = folder.write_info(&info) {
            terminal.warn(&error.to_string());
        }
        for warning in warnings.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            terminal.warn(warning);
        }
        report.recording_failures.len()
    }
}

fn bus(run_id: RunId, warnings: Warnings) -> Bus {
    let config = BusConfig {
        run_id,
        clock: Box::new(now),
        on_warning: Box::new(move |warning| {
            let mut all = warnings.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(warning.to_string());
        }),
    };
    Bus::with_text_filter(config, secrets::text_filter())
}

/// Folds events as they are recorded, so that the summary misses none of them.
struct Fold(Arc<Mutex<Aggregator>>);

impl Recorder for Fold {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        let mut aggregator = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for event in batch {
            aggregator.apply(event);
        }
        Ok(())
    }
}

/// The time, in whole microseconds, as events have it.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
}

/// The commit that is checked out; `None` outside of a repository, before the first commit, or if git does not answer.
fn git_state(root: &Path) -> Option<GitState> {
    let checkout = Git::with_user_settings(root).checkout().ok()??;
    Some(GitState { commit: checkout.commit?, dirty: checkout.dirty })
}
