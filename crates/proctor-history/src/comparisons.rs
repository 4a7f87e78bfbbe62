//! Comparisons of two runs, with a cache of the runs reduced to what a comparison needs.
//!
//! What is kept follows from the recording and is thrown away when the recording or its description changes, so a run
//! that goes on is read anew each time. The newest few are kept: a comparison needs two.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_compare::{Comparison, Rules, Side, compare};
use proctor_record::{LoadError, Loaded, Problem, ProblemKind, ResolveError, RunFolder, RunStore};

use crate::History;
use crate::baselines::{BaselineError, baseline, baseline_name};
use crate::recording::{Recording, RecordingStamp};

/// How many runs are cached.
const MAX_CACHED_RUNS: usize = 4;

/// Why two sides cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The name means no run.
    #[error(transparent)]
    Name(#[from] ResolveError),
    /// The name means no baseline.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] LoadError),
}

/// A comparison, with notes about data that could not be used.
#[derive(Debug)]
pub struct Compared {
    /// The comparison.
    pub comparison: Comparison,
    /// The run compared with, where it is one.
    pub before: Option<RunFolder>,
    /// The run that is judged, where it is one.
    pub after: Option<RunFolder>,
    /// Why earlier runs were not considered. Without them a comparison is only more careful.
    pub without_history: Option<String>,
}

/// The most recently used sides of comparisons. Can be shared between threads.
#[derive(Debug, Default)]
pub struct ComparisonCache(Mutex<VecDeque<CachedSide>>);

#[derive(Debug)]
struct CachedSide {
    folder: PathBuf,
    stamp: String,
    side: Arc<Side>,
}

impl ComparisonCache {
    /// Compares what two names mean: runs of this project (as [`RunStore::find`] has it), `baseline` or `baseline:NAME`.
    pub fn compare(
        &self,
        store: &RunStore,
        before: &str,
        after: &str,
        rules: &Rules,
    ) -> Result<Compared, SideError> {
        let (before_run, before_side) = self.resolve_side(store, before)?;
        let (after_run, after_side) = self.resolve_side(store, after)?;
        let judged = after_run.as_ref().map(RunFolder::name);
        let fingerprint = after_side.config_fingerprint.as_deref();
        let past = History::open(store)
            .and_then(|mut history| history.past(judged.as_deref(), fingerprint));
        let without_history = past.as_ref().err().map(ToString::to_string);
        let past = past.unwrap_or_default();
        let mut comparison = compare(&before_side, &after_side, &past, rules);
        for (info, name) in [(&mut comparison.before, before), (&mut comparison.after, after)] {
            if baseline_name(name).is_none() {
                name.clone_into(&mut info.label);
            }
        }
        Ok(Compared { comparison, before: before_run, after: after_run, without_history })
    }

    fn resolve_side(
        &self,
        store: &RunStore,
        name: &str,
    ) -> Result<(Option<RunFolder>, Arc<Side>), SideError> {
        if let Some(name) = baseline_name(name) {
            return Ok((None, Arc::new(baseline(store, name)?)));
        }
        let folder = store.find(name)?;
        let side = self.of(&folder)?;
        Ok((Some(folder), side))
    }

    /// A run reduced for comparison; from the cache if its recording has not changed.
    pub fn of(&self, folder: &RunFolder) -> Result<Arc<Side>, LoadError> {
        if let Some(side) = self.cached_side(folder, &RecordingStamp::of(folder)) {
            return Ok(side);
        }
        let recording = Recording::read(folder)?;
        let name = folder.name();
        let side = Arc::new(Side { run_id: Some(name.clone()), ..recording.side(&name) });
        let stamp = recording.stamp().stored_text();
        let mut all = self.lock_cache();
        all.retain(|kept| kept.folder != folder.path());
        all.push_back(CachedSide {
            folder: folder.path().to_owned(),
            stamp,
            side: Arc::clone(&side),
        });
        while all.len() > MAX_CACHED_RUNS {
            all.pop_front();
        }
        Ok(side)
    }

    fn cached_side(&self, folder: &RunFolder, stamp: &RecordingStamp) -> Option<Arc<Side>> {
        let mut all = self.lock_cache();
        let place = all.iter().position(|kept| kept.folder == folder.path())?;
        let kept = all.remove(place)?;
        if kept.stamp != stamp.as_str() {
            return None;
        }
        let side = Arc::clone(&kept.side);
        all.push_back(kept);
        Some(side)
    }

    fn lock_cache(&self) -> MutexGuard<'_, VecDeque<CachedSide>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many lines of a recording cannot be read. A torn last line is that of a run that was cut off, which is known otherwise.
pub fn unreadable(loaded: &Loaded) -> u64 {
    let damaged = |problem: &&Problem| problem.kind != ProblemKind::Torn;
    loaded.problems.iter().filter(damaged).count() as u64
}
