//! Workers by slot, each watched on its own: exits are events, replacements are the caller's choice.
//!
//! The supervisor owns the current process of every slot and counts generations. It never decides
//! to start or stop anything. Every exit is reported exactly once, with whether it was asked for; the queue of
//! events is bounded, and since only the caller starts workers, a full queue merely delays
//! reports until they are taken.

use crate::exit::{ExitReport, ExitStatus};
use crate::launch::StartError;
use crate::process::{ManagedProcess, StopError};
use crate::protocol::var;
use crate::spec::ProcessSpec;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Events that may wait to be taken.
const EVENTS: usize = 256;

/// Something that happened to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerEvent {
    /// Its slot, which is its `WORKER_INDEX`.
    pub slot: u32,
    /// Counts the processes that have had this slot, from 0.
    pub generation: u32,
    /// What happened.
    pub kind: WorkerEventKind,
}

/// What happened to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerEventKind {
    /// It runs.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// It has ended.
    Exited {
        /// How.
        report: ExitReport,
        /// The supervisor was told to stop or kill it before it ended.
        expected: bool,
    },
}

impl WorkerEventKind {
    /// An exit that nobody asked for and that was not a success.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Exited { report, expected } => !expected && !report.status.success(),
            Self::Started { .. } => false,
        }
    }

    /// The status of an exit.
    pub fn status(&self) -> Option<ExitStatus> {
        match self {
            Self::Exited { report, .. } => Some(report.status),
            Self::Started { .. } => None,
        }
    }
}

/// Workers by slot. Dropping it kills those of which nobody else holds a handle.
#[derive(Debug)]
pub struct Supervisor {
    slots: Mutex<BTreeMap<u32, Slot>>,
    events: mpsc::Sender<WorkerEvent>,
}

#[derive(Debug, Clone)]
struct Slot {
    generation: u32,
    process: ManagedProcess,
    expected: Arc<AtomicBool>,
}

impl Supervisor {
    /// A supervisor without workers, and its events.
    pub fn new() -> (Self, mpsc::Receiver<WorkerEvent>) {
        let (events, receiver) = mpsc::channel(EVENTS);
        (Self { slots: Mutex::default(), events }, receiver)
    }

    /// Starts a process in a slot and returns it with its generation. A process that is still in
    /// the slot is killed first. `WORKER_INDEX` is set to the slot.
    pub async fn start(
        &self,
        slot: u32,
        spec: ProcessSpec,
    ) -> Result<(u32, ManagedProcess), StartError> {
        if let Some(old) = self.slot(slot) {
            old.expected.store(true, Ordering::Release);
            // Still there after SIGKILL: it will be reported when it ends.
            drop(old.process.kill().await);
        }
        let process = ManagedProcess::new(spec.env(var::WORKER_INDEX, slot.to_string()));
        let expected = Arc::new(AtomicBool::new(false));
        process.start().await?;
        let generation = self.enter(slot, &process, &expected);
        let pid = process.pid().unwrap_or_default();
        let started = WorkerEvent { slot, generation, kind: WorkerEventKind::Started { pid } };
        let watched = process.clone();
        let events = self.events.clone();
        tokio::spawn(async move {
            drop(events.send(started).await);
            let report = watched.into_exit().await;
            let expected = expected.load(Ordering::Acquire);
            let kind = WorkerEventKind::Exited { report, expected };
            drop(events.send(WorkerEvent { slot, generation, kind }).await);
        });
        Ok((generation, process))
    }

    fn enter(&self, slot: u32, process: &ManagedProcess, expected: &Arc<AtomicBool>) -> u32 {
        let mut slots = self.lock();
        let generation = slots.get(&slot).map_or(0, |old| old.generation + 1);
        let entry = Slot { generation, process: process.clone(), expected: Arc::clone(expected) };
        slots.insert(slot, entry);
        generation
    }

    /// The current process of a slot.
    pub fn get(&self, slot: u32) -> Option<ManagedProcess> {
        self.slot(slot).map(|entry| entry.process)
    }

    /// Stops the process of a slot; an empty slot is fine.
    pub async fn stop(&self, slot: u32, timeout: Duration) -> Result<(), StopError> {
        let Some(entry) = self.slot(slot) else { return Ok(()) };
        entry.expected.store(true, Ordering::Release);
        entry.process.stop(timeout).await.map(|_| ())
    }

    /// Stops all at once, within `timeout` altogether.
    pub async fn stop_all(&self, timeout: Duration) -> Result<(), StopError> {
        let slots: Vec<u32> = self.lock().keys().copied().collect();
        let all = join_all(slots.into_iter().map(|slot| self.stop(slot, timeout))).await;
        all.into_iter().collect()
    }

    /// Kills all at once.
    pub async fn kill_all(&self) -> Result<(), StopError> {
        self.stop_all(Duration::ZERO).await
    }

    fn slot(&self, slot: u32) -> Option<Slot> {
        self.lock().get(&slot).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
