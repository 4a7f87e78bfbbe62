//! A fixed number of equal workers that fail together.
//!
//! The first worker that exits with anything but 0 makes the group fail: the failure is kept as a
//! value and the others are killed. Exits that the group's own `stop` or `kill` caused are no
//! failures. The group owns its workers; it starts no replacements (see [`crate::Supervisor`]) and has no
//! queue of work.

use crate::exit::{ExitReport, ExitStatus};
use crate::launch::StartError;
use crate::process::{ManagedProcess, StopError, WaitTimeout};
use crate::protocol::var;
use crate::spec::ProcessSpec;
use futures_util::future::{join_all, try_join_all};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What to run, and how many times.
#[derive(Debug, Clone)]
pub struct GroupSpec {
    /// The worker; `WORKER_INDEX` is added.
    pub process: ProcessSpec,
    /// How many.
    pub size: u32,
}

/// The first worker of a group that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("worker {index} failed: {status}; the other workers of its group were killed")]
pub struct WorkerFailure {
    /// Its `WORKER_INDEX`.
    pub index: u32,
    /// How it ended.
    pub status: ExitStatus,
}

/// Running workers that fail together. Dropping the group kills them.
#[derive(Debug)]
pub struct WorkerGroup {
    workers: Vec<ManagedProcess>,
    outcome: Arc<Outcome>,
}

/// What the exit callbacks write.
#[derive(Debug)]
struct Outcome {
    state: Mutex<OutcomeState>,
    failure: watch::Sender<Option<WorkerFailure>>,
    ended: watch::Sender<u32>,
}

#[derive(Debug, Default)]
struct OutcomeState {
    stopping: bool,
}

impl Outcome {
    /// Notes an exit; true if it is the first failure.
    fn note(&self, index: u32, status: ExitStatus) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !state.stopping && !status.success();
        if first {
            state.stopping = true;
            self.failure.send_replace(Some(WorkerFailure { index, status }));
        }
        drop(state);
        self.ended.send_modify(|count| *count += 1);
        first
    }

    fn begin_to_stop(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopping = true;
    }
}

impl WorkerGroup {
    /// Starts all workers. If one cannot be started, the others are killed.
    pub async fn start(spec: GroupSpec) -> Result<Self, StartError> {
        let workers: Vec<_> = (0..spec.size)
            .map(|index| {
                let process = spec.process.clone().env(var::WORKER_INDEX, index.to_string());
                ManagedProcess::new(process)
            })
            .collect();
        let outcome = Arc::new(Outcome {
            state: Mutex::default(),
            failure: watch::Sender::new(None),
            ended: watch::Sender::new(0),
        });
        let group = Self { workers, outcome };
        group.watch();
        if let Err(error) = try_join_all(group.workers.iter().map(ManagedProcess::start)).await {
            drop(group.kill().await);
            return Err(error);
        }
        Ok(group)
    }

    fn watch(&self) {
        let runtime = tokio::runtime::Handle::current();
        for (index, worker) in (0..).zip(&self.workers) {
            let outcome = Arc::clone(&self.outcome);
            let runtime = runtime.clone();
            let others: Vec<_> = self.workers.iter().map(ManagedProcess::downgrade).collect();
            worker.on_exit(move |report| {
                if outcome.note(index, report.status) {
                    runtime.spawn(async move {
                        let alive = others.iter().filter_map(crate::process::WeakProcess::upgrade);
                        join_all(alive.map(|worker| async move { worker.kill().await })).await;
                    });
                }
            });
        }
    }

    /// All workers, by index.
    pub fn workers(&self) -> &[ManagedProcess] {
        &self.workers
    }

    /// One worker.
    pub fn get(&self, index: u32) -> Option<&ManagedProcess> {
        self.workers.get(usize::try_from(index).ok()?)
    }

    /// How many workers there are.
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether the group has no workers.
    pub fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Whether every worker is alive.
    pub fn is_alive(&self) -> bool {
        self.workers.iter().all(ManagedProcess::is_alive)
    }

    /// The first failure, if there was one.
    pub fn failure(&self) -> Option<WorkerFailure> {
        *self.outcome.failure.borrow()
    }

    /// Waits for the first failure; `None` once all workers have ended without one.
    pub async fn wait_for_failure(&self) -> Option<WorkerFailure> {
        let mut ended = self.outcome.ended.subscribe();
        let all = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        let mut failure = self.outcome.failure.subscribe();
        tokio::select! {
            biased;
            found = failure.wait_for(Option::is_some) => found.ok().and_then(|found| *found),
            _ = ended.wait_for(|count| *count >= all) => self.failure(),
        }
    }

    /// Waits until all workers have ended; their reports are in order.
    pub async fn wait(&self) -> Vec<ExitReport> {
        join_all(self.workers.iter().map(ManagedProcess::wait)).await
    }

    /// Waits at most `timeout`; the error names a worker that is still there.
    pub async fn wait_timeout(&self, timeout: Duration) -> Result<Vec<ExitReport>, WaitTimeout> {
        try_join_all(self.workers.iter().map(|worker| worker.wait_timeout(timeout))).await
    }

    /// Stops all workers at once, within `timeout` altogether.
    pub async fn stop(&self, timeout: Duration) -> Result<Vec<ExitReport>, StopError> {
        self.outcome.begin_to_stop();
        let all = join_all(self.workers.iter().map(|worker| worker.stop(timeout))).await;
        all.into_iter().collect()
    }

    /// Kills all workers at once.
    pub async fn kill(&self) -> Result<Vec<ExitReport>, StopError> {
        self.outcome.begin_to_stop();
        let all = join_all(self.workers.iter().map(ManagedProcess::kill)).await;
        all.into_iter().collect()
    }
}
