//! The runs that are open: each has one reader of its recording, shared by all requests and streams.
//!
//! A run that has streams has one thread that follows its file by notifications of the kernel; others are brought up to date by each request. Runs without
//! requests and streams are closed, the one that was used longest ago first.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proctor_record::{
    EventBatch, EventFilter, FileChanges, Growth, RecordingReader, RunFolder, RunInfo, RunStore,
    StreamEvent,
};
use proctor_verdict::{Counts, Liveness, RunState, RunVerdict};
use tokio::sync::watch;

use crate::error::ApiError;
use crate::run_names;

/// How many runs are kept open.
const OPEN_RUNS: usize = 24;
/// The least time between two reads of a growing file, so that a busy run is not read line by line.
const READ_INTERVAL: Duration = Duration::from_millis(2);
/// The interval of checks without a notification: a process that dies may cause none.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The same where the kernel sends no notifications.
const WITHOUT_NOTIFICATIONS: Duration = Duration::from_millis(50);
/// How often the list of runs is read where the kernel sends no notifications.
const LIST_INTERVAL: Duration = Duration::from_millis(100);
/// How long after its last event a finished run may still write.
const WRITES_AFTER_END: Duration = Duration::from_millis(400);

/// One open run.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) name: String,
    folder: RunFolder,
    recording: Mutex<RecordingReader>,
    changes: watch::Sender<RecordingVersion>,
    watchers: AtomicUsize,
    followed: AtomicBool,
    ended: AtomicBool,
    used: Mutex<Instant>,
    /// The counts of a run that has ended, and for which state of the recording: going through a hundred thousand examples for every request
    /// would take longer than the answer.
    counts: Mutex<Option<(RecordingVersion, Counts)>>,
}

/// How many events there are, and how often the file was replaced or truncated.
type RecordingVersion = (usize, u64);

impl OpenRun {
    fn new(folder: &RunFolder) -> Self {
        Self {
            name: folder.name(),
            folder: folder.clone(),
            recording: Mutex::new(RecordingReader::new(&folder.events_path())),
            changes: watch::Sender::new((0, 0)),
            watchers: AtomicUsize::new(0),
            followed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            counts: Mutex::default(),
        }
    }

    pub(crate) fn recording(&self) -> MutexGuard<'_, RecordingReader> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what has been written since. Blocks; the lock is released between chunks.
    pub(crate) fn catch_up(&self) -> io::Result<bool> {
        let mut grew = false;
        loop {
            let (growth, count) = {
                let mut recording = self.recording();
                (recording.read()?, recording.event_count())
            };
            match growth {
                Growth::Nothing => return Ok(grew),
                Growth::More => self.changes.send_modify(|seen| seen.0 = count),
                Growth::Restarted => self.changes.send_modify(|seen| *seen = (0, seen.1 + 1)),
            }
            grew = true;
        }
    }

    /// The state of the run. Reads the file system.
    pub(crate) fn state(&self) -> RunState {
        self.verdict().state()
    }

    /// The state and verdict of the run. Reads the file system.
    pub(crate) fn verdict(&self) -> RunVerdict {
        let (begun, ending, counts, policy, announced) = {
            let recording = self.recording();
            let run = recording.run();
            let ended = run.ending.is_some();
            let counts = if ended { self.counts(&recording, run.over) } else { Counts::default() };
            (run.begun, run.ending.clone(), counts, run.policy, run.planned_repetitions)
        };
        let alive = ending.is_none() && self.folder.is_live();
        let liveness = if alive { Liveness::Alive } else { Liveness::Gone };
        let interrupted = ending.is_some() && self.info().is_some_and(|info| info.interrupted);
        RunVerdict::recorded(begun, ending.as_deref(), liveness, interrupted)
            .checked_against_counts(&counts, policy)
            .checked_against_plan(counts.repetitions, announced)
    }

    /// The counts of what was read. Those of a run that has ended are kept.
    pub(crate) fn counts(&self, recording: &RecordingReader, over: bool) -> Counts {
        let run = recording.run();
        if run.ending.is_none() || over != run.over {
            return run.summary_if(over);
        }
        let version = (recording.event_count(), self.changes.borrow().1);
        let mut kept = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((known, counts)) if *known == version => *counts,
            _ => kept.insert((version, run.summary())).1,
        }
    }

    pub(crate) fn events_path(&self) -> PathBuf {
        self.folder.events_path()
    }

    /// `run.json`, if it can be read.
    pub(crate) fn info(&self) -> Option<RunInfo> {
        self.folder.info().ok()
    }

    /// Whether no further event is to be expected.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Events from a place on, from memory or from disk.
    pub(crate) async fn read(
        self: &Arc<Self>,
        from: usize,
        filter: &EventFilter,
        limit: usize,
    ) -> io::Result<(Vec<StreamEvent>, usize)> {
        let batch = self.recording().batch(from, filter, limit);
        match batch {
            EventBatch::InMemory(events, next) => Ok((events, next)),
            EventBatch::OnDisk(spans, next) => {
                let read = tokio::task::spawn_blocking(move || spans.read()).await;
                Ok((read.map_err(io::Error::other)??, next))
            }
        }
    }

    /// Follows the file for as long as the returned guard lives.
    pub(crate) fn watch(self: &Arc<Self>) -> RunWatch {
        self.watchers.fetch_add(1, Ordering::SeqCst);
        if !self.followed.swap(true, Ordering::SeqCst) {
            let run = Arc::clone(self);
            tokio::task::spawn_blocking(move || follow(&run));
        }
        RunWatch { changes: self.changes.subscribe(), run: Arc::clone(self) }
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_use(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard that keeps a run followed, with its changes.
#[derive(Debug)]
pub(crate) struct RunWatch {
    pub(crate) run: Arc<OpenRun>,
    pub(crate) changes: watch::Receiver<RecordingVersion>,
}

impl Drop for RunWatch {
    fn drop(&mut self) {
        self.run.touch();
        self.run.watchers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Follows a file until there are no streams of the run or nothing can come any more. Blocks.
fn follow(run: &OpenRun) {
    // Watched before the first read, so that nothing written after it is missed.
    let changes = FileChanges::watch(&run.folder.events_path()).ok();
    let mut last_growth = Instant::now();
    loop {
        let state = match run.catch_up() {
            // A run whose file grows is not over.
            Ok(true) => {
                last_growth = Instant::now();
                None
            }
            Ok(false) => Some(run.state()),
            // The folder was removed: no further event can come.
            Err(_) => Some(RunState::Died),
        };
        let remaining = WRITES_AFTER_END.saturating_sub(last_growth.elapsed());
        let finished = state.is_some_and(|state| state.is_over() && state != RunState::Died);
        let over = state == Some(RunState::Died) || (finished && remaining.is_zero());
        if over != run.has_ended() {
            run.ended.store(over, Ordering::SeqCst);
            run.changes.send_modify(|_| {});
        }
        if over || run.watchers.load(Ordering::SeqCst) == 0 {
            run.followed.store(false, Ordering::SeqCst);
            // A stream may have begun between the last read and this line.
            if over
                || run.watchers.load(Ordering::SeqCst) == 0
                || run.followed.swap(true, Ordering::SeqCst)
            {
                return;
            }
        }
        std::thread::sleep(READ_INTERVAL);
        if state.is_some() {
            let pause = if finished { remaining } else { CHECK_INTERVAL };
            wait_for_change(changes.as_ref(), &run.folder, pause);
        }
    }
}

/// Waits until the kernel reports a change of the file, but not longer than this.
fn wait_for_change(changes: Option<&FileChanges>, folder: &RunFolder, at_most: Duration) {
    let waited = changes.map(|changes| {
        let _ = changes.wait(at_most)?;
        // Another file may have taken the place of the one that is watched. Watching a file again changes nothing.
        changes.watch_also(&folder.events_path())
    });
    if !matches!(waited, Some(Ok(()))) {
        std::thread::sleep(at_most.min(WITHOUT_NOTIFICATIONS));
    }
}

/// Tells streams that the list of runs may have changed. While a stream waits for a new run, one thread is notified by the kernel for all.
#[derive(Debug, Default)]
struct RunListChanges {
    /// Grows with every change.
    count: watch::Sender<u64>,
    waiting: AtomicUsize,
    followed: AtomicBool,
}

/// A stream that waits for a new run.
#[derive(Debug)]
pub(crate) struct RunListWatch {
    list: Arc<RunListChanges>,
    changes: watch::Receiver<u64>,
}

impl RunListWatch {
    /// Waits until the list of runs may have changed since the last call, or since before the first.
    pub(crate) async fn changed(&mut self) {
        // The sender lives as long as this watch.
        let _ = self.changes.changed().await;
    }
}

impl Drop for RunListWatch {
    fn drop(&mut self) {
        self.list.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Follows the list of runs until no stream waits for a new run. Blocks.
fn follow_run_list(list: &RunListChanges, store: &RunStore) {
    let changes = FileChanges::new().ok();
    loop {
        // Watched before the streams look, so that no run is missed. Watching again what is watched already changes nothing.
        let watched = changes.as_ref().filter(|changes| store.watch_runs(changes).is_ok());
        list.count.send_modify(|count| *count += 1);
        let mut changed = false;
        while !changed {
            if list.waiting.load(Ordering::SeqCst) == 0 {
                list.followed.store(false, Ordering::SeqCst);
                // A stream may have begun to wait between the question and this line.
                if list.waiting.load(Ordering::SeqCst) == 0
                    || list.followed.swap(true, Ordering::SeqCst)
                {
                    return;
                }
            }
            changed = watched.and_then(|changes| changes.wait(CHECK_INTERVAL).ok()).unwrap_or_else(
                || {
                    std::thread::sleep(LIST_INTERVAL);
                    true
                },
            );
        }
        std::thread::sleep(READ_INTERVAL);
    }
}

/// All runs of a project.
#[derive(Debug)]
pub(crate) struct OpenRuns {
    pub(crate) store: RunStore,
    open: Mutex<HashMap<String, Arc<OpenRun>>>,
    list: Arc<RunListChanges>,
}

impl OpenRuns {
    pub(crate) fn new(store: RunStore) -> Self {
        Self { store, open: Mutex::default(), list: Arc::default() }
    }

    /// Watches the list of runs for as long as the guard lives.
    pub(crate) fn watch_run_list(&self) -> RunListWatch {
        let list = Arc::clone(&self.list);
        list.waiting.fetch_add(1, Ordering::SeqCst);
        let mut changes = list.count.subscribe();
        // What changed between the caller's last look and now counts too.
        changes.mark_changed();
        if !list.followed.swap(true, Ordering::SeqCst) {
            let (list, store) = (Arc::clone(&list), self.store.clone());
            tokio::task::spawn_blocking(move || follow_run_list(&list, &store));
        }
        RunListWatch { list, changes }
    }

    /// The runs there are, oldest first. Blocks.
    pub(crate) fn folders(&self) -> Result<Vec<RunFolder>, ApiError> {
        self.store.list().map_err(ApiError::internal)
    }

    /// The run that a client means, up to date. Blocks.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<OpenRun>, ApiError> {
        let folder = run_names::resolve(name, &self.store)?;
        let run = self.open(&folder);
        run.catch_up().map_err(|error| {
            ApiError::internal(format_args!("cannot read run {}: {error}", run.name))
        })?;
        Ok(run)
    }

    pub(crate) fn open(&self, folder: &RunFolder) -> Arc<OpenRun> {
        let name = folder.name();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let run = open.entry(name).or_insert_with(|| Arc::new(OpenRun::new(folder)));
        let run = Arc::clone(run);
        run.touch();
        while open.len() > OPEN_RUNS {
            let idle = open.values().filter(|run| Arc::strong_count(run) == 1);
            let Some(oldest) = idle.min_by_key(|run| run.last_use()).map(|run| run.name.clone())
            else {
                break;
            };
            open.remove(&oldest);
        }
        run
    }
}
