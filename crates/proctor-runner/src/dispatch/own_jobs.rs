//! Jobs that a worker has defined itself while it ran others: examples that a running example defines.
//!
//! Their definition exists in one process only. They are neither given out nor taken back; the worker runs them when it has nothing
//! else to do, and what it has not run when it ends cannot be run any more.

use proctor_events::{ExampleFinished, Fault, Status};

use super::slot::Phase;
use super::{Dispatcher, Job, JobId, JobSpec, index};

impl Dispatcher {
    pub(super) fn add_own_jobs(&mut self, number: u32, generation: u32, jobs: Vec<JobSpec>) {
        let first = self.jobs.len();
        self.open += jobs.len();
        self.jobs.extend(jobs.into_iter().map(|spec| Job { is_own: true, ..Job::new(spec) }));
        let added: Vec<JobId> = (first..self.jobs.len()).map(|job| JobId(index(job))).collect();
        match self.slot(number, generation) {
            Some(slot) => slot.own_jobs.extend(added),
            None => self.lose_own_jobs(number, added),
        }
        self.extend_ending(number);
    }

    /// A worker that is to end has run, or has yet to run, what it defined in its last hooks: its time to end begins anew.
    pub(super) fn extend_ending(&mut self, number: u32) {
        let end_by = self.kill_deadline();
        let stopping = self.stop.is_some();
        if let Some(slot) = self.slots.get_mut(number as usize)
            && let Phase::Ending { kill_at } = &mut slot.phase
            && !stopping
        {
            *kill_at = end_by;
        }
    }

    /// The worker that alone could run these will not.
    pub(super) fn lose_own_jobs(&mut self, number: u32, jobs: Vec<JobId>) {
        for job in jobs {
            if let Some(stop) = &self.stop {
                let message = stop.reason.message();
                self.leave_out(job, message);
                continue;
            }
            let outcome = ExampleFinished {
                status: Status::Errored,
                fault: Some(Fault::Harness),
                message: Some(format!(
                    "it was defined while worker {number} ran another example, and that worker has ended before it ran it"
                )),
                ..ExampleFinished::default()
            };
            self.settle(job, Some(number), Box::new(outcome));
        }
    }
}
