//! What became of every job: the dispatcher's reports as events and verdicts, and what follows from them for the dispatcher.
//!
//! It owns the examples of a run, the verdicts and the publisher. It knows no worker, no clock and no channel, so that the simulated world
//! of the dispatcher's tests makes the same stream of events as a real run.

use std::time::Duration;

use proctor_events::{ExampleFinished, Exception};
use proctor_verdict::{Facts, Policy, RunVerdict, StopCause};

use super::execute::finish;
use super::publish::{Attempt, Publisher};
use super::verdicts::Verdicts;
use crate::dispatch::{Assigned, Exit, Input, JobId};
use crate::example::{Example, OutsideError};
use crate::plan::PlannedJob;

pub(crate) struct JobTracker {
    pub(super) examples: Vec<Example>,
    pub(super) jobs: Vec<PlannedJob>,
    pub(super) publisher: Publisher,
    pub(super) verdicts: Verdicts,
    /// The attempt that each job is on, for events that name only the example.
    attempts: Vec<u32>,
    /// The last attempt of each job that has been started; 0 before the first.
    announced: Vec<u32>,
    /// What the dispatcher is to be told next, last first.
    follow_ups: Vec<Input>,
}

impl JobTracker {
    pub(super) fn new(
        examples: Vec<Example>,
        jobs: Vec<PlannedJob>,
        verdicts: Verdicts,
        publisher: Publisher,
    ) -> Self {
        Self {
            attempts: vec![1; jobs.len()],
            announced: vec![0; jobs.len()],
            examples,
            jobs,
            publisher,
            verdicts,
            follow_ups: Vec::new(),
        }
    }

    /// What the dispatcher has to know because of what was reported.
    pub(crate) fn next_follow_up(&mut self) -> Option<Input> {
        self.follow_ups.pop()
    }

    pub(super) fn example(&self, job: JobId) -> &Example {
        &self.examples[self.jobs[job.0 as usize].example]
    }

    /// The attempt that a job is on.
    pub(super) fn current_attempt(&self, job: JobId) -> u32 {
        self.attempts[job.0 as usize]
    }

    pub(super) fn attempt(&self, assigned: Assigned, worker: Option<u32>) -> Attempt<'_> {
        let job = self.jobs[assigned.job.0 as usize];
        Attempt {
            example: &self.examples[job.example],
            repeat: job.repeat,
            attempt: assigned.attempt,
            worker,
            announced: self.announced[assigned.job.0 as usize] == assigned.attempt,
        }
    }

    pub(crate) fn announce(&mut self, assigned: Assigned, worker: Option<u32>) {
        self.attempts[assigned.job.0 as usize] = assigned.attempt;
        self.announced[assigned.job.0 as usize] = assigned.attempt;
        self.publisher.started(self.attempt(assigned, worker));
    }

    pub(crate) fn report(
        &mut self,
        assigned: Assigned,
        worker: Option<u32>,
        outcome: ExampleFinished,
    ) {
        let job = self.jobs[assigned.job.0 as usize];
        let attempt = Attempt {
            example: &self.examples[job.example],
            repeat: job.repeat,
            attempt: assigned.attempt,
            worker,
            announced: self.announced[assigned.job.0 as usize] == assigned.attempt,
        };
        let is_final = outcome.r#final == Some(true);
        let settled = is_final.then(|| self.verdicts.count(job.example, &outcome)).flatten();
        let missed = is_final && self.verdicts.newly_missed(job.example);
        self.publisher.finished(attempt, outcome);
        if missed {
            self.follow_ups.push(Input::RateMissed);
        }
        if let Some(why) = settled {
            // The remaining repetitions cannot change the verdict any more.
            let jobs = self.repetitions(job.example);
            self.follow_ups.push(Input::Skip { jobs, why });
        }
    }

    fn repetitions(&self, example: usize) -> Vec<JobId> {
        let all = self.jobs.iter().zip(0..);
        all.filter(|(job, _)| job.example == example).map(|(_, id)| JobId(id)).collect()
    }

    /// A worker was lost between examples.
    pub(crate) fn lost(&mut self, slot: u32, message: String, exit: Exit) {
        let exception = (!exit.backtrace.is_empty()).then(|| Exception {
            message: message.clone(),
            backtrace: exit.backtrace,
            ..Exception::default()
        });
        self.publisher.error(OutsideError { exception, ..of_worker(slot, message) });
    }

    /// What a worker did makes its results doubtful: the run is no success.
    pub(crate) fn mistrust(&mut self, slot: u32, message: String) {
        self.publisher.error(of_worker(slot, message));
    }

    /// Publishes the end of the run.
    pub(crate) fn conclude(
        &mut self,
        loaded: bool,
        stopped: Option<StopCause>,
        policy: Policy,
        taken: Duration,
    ) -> (Facts, RunVerdict) {
        let (total, results) = (self.jobs.len() as u64, self.publisher.results);
        let accounted = results == total;
        if !accounted {
            self.publisher.error(OutsideError {
                phase: "accounting".to_owned(),
                message: Some(format!(
                    "{total} results were to come, but {results} came; this is a bug in proctor"
                )),
                ..OutsideError::default()
            });
        }
        let mut counts = self.verdicts.counts(self.publisher.errors);
        counts.repetitions = total;
        let facts = Facts { loaded, counts, accounted, stopped };
        let verdict = RunVerdict::conclude(&facts, policy);
        finish(&self.publisher, &facts, &verdict, taken);
        (facts, verdict)
    }
}

fn of_worker(slot: u32, message: String) -> OutsideError {
    OutsideError {
        phase: "worker".to_owned(),
        place: Some(format!("worker {}", slot + 1)),
        message: Some(message),
        ..OutsideError::default()
    }
}
