//! Stopping a run: what is waiting is not run, what runs gets a grace, then everything is killed.

use std::collections::HashSet;

use proctor_events::ExampleFinished;

use super::slot::{EndedWorker, Exit, Killed, Phase};
use super::{Dispatcher, Effect, JobId, Moment, OnCrash, Unit, index};

/// Why a run is stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Enough examples have failed.
    FailFast,
    /// The user requested it.
    Cancelled,
    /// The run has spent what it may.
    Spent,
    /// A worker has ended unexpectedly, and [`OnCrash::Stop`] holds.
    Crash,
}

impl StopReason {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::FailFast => "the run stopped at an earlier failure",
            Self::Cancelled => "the run was stopped",
            Self::Spent => "the budget of the run is used up",
            Self::Crash => "the run stopped at a crash",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Stop {
    pub(super) reason: StopReason,
    pub(super) kill_at: Moment,
    pub(super) killed: bool,
}

impl Dispatcher {
    pub(super) fn begin_stop(&mut self, reason: StopReason) {
        if self.stop.is_some() {
            return;
        }
        let kill_at = self.now + self.policy.grace * 1000;
        self.stop = Some(Stop { reason, kill_at, killed: false });
        self.drop_queues_if_stopped();
        for number in 0..self.slots.len() {
            match self.slots[number].phase {
                Phase::Ready => self.shut_down(number, kill_at),
                // It cannot hear us yet; `ready` tells it.
                Phase::Starting => self.slots[number].phase = Phase::Ending { kill_at },
                Phase::Empty | Phase::Ending { .. } | Phase::Killed => {}
            }
        }
    }

    /// A worker has ended unexpectedly. Where that ends the run, everything else is killed; a worker without an example is
    /// reported here, because after a stop no worker runs what it was given.
    pub(super) fn stop_at_crash(&mut self, number: u32, left: &EndedWorker, exit: &Exit) {
        if self.policy.on_crash == OnCrash::Continue || self.stop.is_some() {
            return;
        }
        if left.running.is_none() {
            let message = format!("{} with no example running", exit.describe(number));
            let exit = Box::new(exit.clone());
            self.effects.push(Effect::Lost { slot: number, message, exit });
        }
        self.begin_stop(StopReason::Crash);
        self.end_grace();
    }

    pub(super) fn kill_now(&mut self) {
        self.begin_stop(StopReason::Cancelled);
        self.end_grace();
    }

    /// What still runs is killed at the next check of deadlines.
    fn end_grace(&mut self) {
        if let Some(stop) = &mut self.stop {
            stop.kill_at = self.now;
        }
    }

    pub(super) fn check_stop(&mut self) {
        let Some(stop) = &mut self.stop else { return };
        if stop.killed || self.now < stop.kill_at {
            return;
        }
        stop.killed = true;
        for number in 0..self.slots.len() {
            let slot = &mut self.slots[number];
            if !matches!(slot.phase, Phase::Empty | Phase::Killed) {
                slot.kill(Killed::Cancelled);
                self.effects.push(Effect::Kill { slot: index(number), timed_out: false });
            }
        }
    }

    /// Once stopped, nothing waits in a queue.
    pub(super) fn drop_queues_if_stopped(&mut self) {
        let Some(stop) = &self.stop else { return };
        let message = stop.reason.message();
        for pool in 0..self.pools.len() {
            self.drop_queue(pool, message);
        }
    }

    /// Says of every waiting job of a pool that it will not run.
    pub(super) fn drop_queue(&mut self, pool: usize, message: &str) {
        let state = &mut self.pools[pool];
        let waiting = std::mem::take(&mut state.queue);
        let pinned = state.pinned.iter_mut().flat_map(std::mem::take);
        let units: Vec<Unit> = waiting.into_iter().chain(pinned).collect();
        for job in units.into_iter().flat_map(|unit| unit.jobs) {
            self.leave_out(job, message);
        }
    }

    /// Takes jobs out of the queues; those that a worker has are left to it.
    pub(super) fn skip(&mut self, jobs: &[JobId], why: &str) {
        let wanted: HashSet<JobId> = jobs.iter().copied().collect();
        let mut left_out = Vec::new();
        for pool in &mut self.pools {
            for queue in std::iter::once(&mut pool.queue).chain(&mut pool.pinned) {
                queue.retain_mut(|unit| {
                    left_out.extend(unit.jobs.iter().copied().filter(|job| wanted.contains(job)));
                    unit.jobs.retain(|job| !wanted.contains(job));
                    !unit.jobs.is_empty()
                });
            }
        }
        for job in left_out {
            self.leave_out(job, why);
        }
    }

    pub(super) fn leave_out(&mut self, job: JobId, why: &str) {
        let assigned = self.assigned(job);
        let outcome = ExampleFinished { r#final: Some(true), ..self.not_run(job, why) };
        self.effects.push(Effect::Report { slot: None, assigned, outcome: Box::new(outcome) });
        self.jobs[job.0 as usize].done = true;
        self.open -= 1;
    }
}
