//! The runs that are open: each has an index, shared by everybody who looks at it.
//!
//! A run that is being watched live has one task that follows its file; others are brought up to date when asked for. Runs nobody
//! looks at are forgotten, oldest use first.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proctor_record::{RunFolder, RunInfo, RunStore};
use proctor_verdict::{Counts, Liveness, RunState, RunVerdict};
use tokio::sync::watch;

use crate::error::ApiError;
use crate::index::{Batch, Growth, Index, Sent, Wanted};
use crate::names;

/// How many runs are kept open.
const OPEN_RUNS: usize = 24;
/// How often a growing file is looked at.
const GLANCE: Duration = Duration::from_millis(15);
/// How long a finished run may still write.
const AFTERGLOW: Duration = Duration::from_millis(400);

/// One open run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) name: String,
    folder: PathBuf,
    index: Mutex<Index>,
    /// How many events there are; and a number that changes when the file is replaced.
    changes: watch::Sender<(usize, u64)>,
    watchers: AtomicUsize,
    followed: AtomicBool,
    ended: AtomicBool,
    used: Mutex<Instant>,
}

impl Run {
    fn new(name: &str, folder: &Path) -> Self {
        Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            index: Mutex::new(Index::new(&folder.join("events.jsonl"))),
            changes: watch::Sender::new((0, 0)),
            watchers: AtomicUsize::new(0),
            followed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
        }
    }

    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what has been written since. Blocks; the lock is given back between portions.
    pub(crate) fn catch_up(&self) -> io::Result<bool> {
        let mut grew = false;
        loop {
            let (growth, count) = {
                let mut index = self.index();
                (index.grow()?, index.len())
            };
            match growth {
                Growth::Nothing => return Ok(grew),
                Growth::More => self.changes.send_modify(|seen| seen.0 = count),
                Growth::Replaced => self.changes.send_modify(|seen| *seen = (0, seen.1 + 1)),
            }
            grew = true;
        }
    }

    /// Where the run is. Looks at the file system.
    pub(crate) fn state(&self) -> RunState {
        self.verdict().state()
    }

    /// Where the run is and what it came to. Looks at the file system.
    pub(crate) fn verdict(&self) -> RunVerdict {
        let (begun, ending, counts, policy, announced) = {
            let index = self.index();
            let run = index.run();
            let counts = if run.ending.is_some() { run.summary() } else { Counts::default() };
            (run.begun, run.ending.clone(), counts, run.policy, run.planned_repetitions)
        };
        let alive = ending.is_none() && is_alive(&self.folder);
        let liveness = if alive { Liveness::Alive } else { Liveness::Gone };
        let interrupted = ending.is_some() && self.info().is_some_and(|info| info.interrupted);
        RunVerdict::recorded(begun, ending.as_deref(), liveness, interrupted)
            .held_to(&counts, policy)
            .held_to_plan(counts.repetitions, announced)
    }

    /// What its starter wrote down.
    pub(crate) fn info(&self) -> Option<RunInfo> {
        let text = std::fs::read_to_string(self.folder.join("run.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Whether no further event is to be expected.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Events from a place on, from memory or from disk.
    pub(crate) async fn read(
        self: &Arc<Self>,
        from: usize,
        wanted: &Wanted,
        limit: usize,
    ) -> io::Result<(Vec<Sent>, usize)> {
        let batch = self.index().batch(from, wanted, limit);
        match batch {
            Batch::Events(events, next) => Ok((events, next)),
            Batch::OnDisk(spans, next) => {
                let read = tokio::task::spawn_blocking(move || spans.read()).await;
                Ok((read.map_err(io::Error::other)??, next))
            }
        }
    }

    /// Watches it: as long as the guard lives, the file is followed.
    pub(crate) fn watch(self: &Arc<Self>) -> Watching {
        self.watchers.fetch_add(1, Ordering::SeqCst);
        if !self.followed.swap(true, Ordering::SeqCst) {
            tokio::spawn(follow(Arc::clone(self)));
        }
        Watching { changes: self.changes.subscribe(), run: Arc::clone(self) }
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_use(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who watches.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) run: Arc<Run>,
    pub(crate) changes: watch::Receiver<(usize, u64)>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.run.touch();
        self.run.watchers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Follows a file until nobody watches or nothing can come any more.
async fn follow(run: Arc<Run>) {
    let mut last_growth = Instant::now();
    loop {
        let reader = Arc::clone(&run);
        let looked = tokio::task::spawn_blocking(move || {
            let grew = reader.catch_up()?;
            io::Result::Ok((grew, reader.state()))
        });
        let (grew, state) = match looked.await {
            Ok(Ok(seen)) => seen,
            // The folder was removed under us: whoever watches has seen all there was.
            _ => (false, RunState::Died),
        };
        if grew {
            last_growth = Instant::now();
        }
        let over = match state {
            RunState::Died => !grew,
            state if state.is_over() => last_growth.elapsed() > AFTERGLOW,
            _ => false,
        };
        if over != run.has_ended() {
            run.ended.store(over, Ordering::SeqCst);
            run.changes.send_modify(|_| {});
        }
        if over || run.watchers.load(Ordering::SeqCst) == 0 {
            run.followed.store(false, Ordering::SeqCst);
            // Somebody may have come between the last look and this line.
            if over
                || run.watchers.load(Ordering::SeqCst) == 0
                || run.followed.swap(true, Ordering::SeqCst)
            {
                return;
            }
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// Whether the process of an unfinished run lives.
pub(crate) fn is_alive(folder: &Path) -> bool {
    RunFolder::at(folder).is_some_and(|folder| folder.is_live())
}

/// All runs of a project.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) store: RunStore,
    open: Mutex<HashMap<String, Arc<Run>>>,
}

impl Hub {
    pub(crate) fn new(store: RunStore) -> Self {
        Self { store, open: Mutex::default() }
    }

    /// The runs there are, oldest first. Blocks.
    pub(crate) fn folders(&self) -> Result<Vec<RunFolder>, ApiError> {
        self.store.list().map_err(ApiError::internal)
    }

    /// The run that a client means, up to date. Blocks.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Run>, ApiError> {
        let folder = names::resolve(name, &self.store)?;
        let run = self.open(&folder);
        run.catch_up().map_err(|error| {
            ApiError::internal(format_args!("cannot read run {}: {error}", run.name))
        })?;
        Ok(run)
    }

    pub(crate) fn open(&self, folder: &RunFolder) -> Arc<Run> {
        let name = folder.name();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let run =
            open.entry(name.clone()).or_insert_with(|| Arc::new(Run::new(&name, folder.path())));
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
