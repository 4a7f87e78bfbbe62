//! What became of every job: the dispatcher's reports as events and verdicts, and what follows from them for the dispatcher.
//!
//! It owns the examples of a run, the verdicts and the publisher. It knows no worker, no clock and no channel, so that the simulated world
//! of the dispatcher's tests makes the same stream of events as a real run.

use std::time::Duration;

use proctor_events::{ExampleFinished, ExampleId, Exception};
use proctor_verdict::{
    Evidence, Facts, Policy, RunVerdict, StopCause, evidence, is_made, never_ran,
};

use super::RunOptions;
use super::execute::{Planned, finish};
use super::publish::{PublishedAttempt, Publisher};
use super::repeat_plan::{RepeatPlanner, Repetition};
use super::repeat_report::RepeatReport;
use super::verdicts::Verdicts;
use crate::dispatch::{Assigned, Exit, Input, JobId, JobSpec};
use crate::example::{Example, Listed, OutsideError};
use crate::plan::{JobBuilder, Plan, PlanOptions, PlannedJob, plan};

pub(crate) struct JobTracker {
    pub(super) examples: Vec<Example>,
    pub(super) jobs: Vec<PlannedJob>,
    pub(super) publisher: Publisher,
    pub(super) verdicts: Verdicts,
    /// The attempt that each job is on, for events that name only the example.
    attempts: Vec<u32>,
    /// The last attempt of each job that has been started; 0 before the first.
    announced: Vec<u32>,
    /// Inputs for the dispatcher, the next one last.
    follow_ups: Vec<Input>,
    /// Makes jobs of repetitions.
    builder: JobBuilder,
    /// How many examples were added while the run went on.
    late: u64,
    /// Decides on further repetitions, in a run that is sampled adaptively.
    adaptive: Option<AdaptivePlan>,
}

/// How further repetitions are decided on.
struct AdaptivePlan {
    planner: RepeatPlanner,
    /// How many repetitions can run at once.
    slots: u32,
    /// Whether there will be no further round.
    is_complete: bool,
}

impl JobTracker {
    /// The jobs of a run, or of its first round, as this and as the dispatcher knows them. So many `slots` can run repetitions.
    pub(super) fn plan(
        planned: Planned,
        options: &RunOptions,
        slots: u32,
        publisher: Publisher,
    ) -> (Self, Vec<JobSpec>) {
        let Planned { examples, planner } = planned;
        let how = PlanOptions {
            most_repeats: if planner.is_some() { 1 } else { u32::MAX },
            split_groups: options.split_groups,
            workers: options.workers,
        };
        let (Plan { jobs, specs }, builder) = plan(&examples, &options.estimates, how);
        let tracker = Self {
            verdicts: Verdicts::new(&examples, options.verdict_policy()),
            attempts: vec![1; jobs.len()],
            announced: vec![0; jobs.len()],
            examples,
            jobs,
            publisher,
            follow_ups: Vec::new(),
            builder,
            late: 0,
            adaptive: planner.map(|planner| AdaptivePlan { planner, slots, is_complete: false }),
        };
        (tracker, specs)
    }

    /// What the dispatcher has to know because of what was reported. A run that is `stopping` gets no further jobs.
    pub(crate) fn next_follow_up(&mut self, stopping: bool) -> Option<Input> {
        self.follow_ups.pop().or_else(|| self.next_round(stopping))
    }

    /// The next round of repetitions, once everything of the round before has ended.
    fn next_round(&mut self, stopping: bool) -> Option<Input> {
        let adaptive = self.adaptive.as_ref().filter(|adaptive| !adaptive.is_complete)?;
        if self.publisher.results < self.jobs.len() as u64 {
            return None;
        }
        let round = if stopping { Vec::new() } else { adaptive.planner.next_round(adaptive.slots) };
        if round.is_empty() {
            self.complete_plan();
            // What the end of the plan leads to comes first.
            self.follow_ups.insert(0, Input::NoMoreJobs);
            return self.follow_ups.pop();
        }
        let jobs = round.into_iter().map(|(example, repeat)| PlannedJob { example, repeat });
        let plan = self.builder.build(&self.examples, jobs.collect());
        self.attempts.resize(self.jobs.len() + plan.jobs.len(), 1);
        self.announced.resize(self.jobs.len() + plan.jobs.len(), 0);
        self.jobs.extend(plan.jobs);
        Some(Input::AddJobs { jobs: plan.specs })
    }

    /// No further repetition will be made: verdicts that waited for them are final.
    fn complete_plan(&mut self) {
        let Some(adaptive) = self.adaptive.as_mut().filter(|adaptive| !adaptive.is_complete) else {
            return;
        };
        adaptive.is_complete = true;
        for example in 0..self.examples.len() {
            self.verdicts.close(example);
            if self.verdicts.newly_missed(example) {
                self.follow_ups.push(Input::RateMissed);
            }
        }
    }

    /// Adds an example that a worker of this suite has defined while the run went on.
    pub(super) fn add_late(&mut self, suite_index: usize, listed: Listed) -> JobSpec {
        let of_suite = self.examples.iter().find(|example| example.suite_index == suite_index);
        let suite = of_suite.map(|example| example.suite.clone()).unwrap_or_default();
        let is_taken = |id: &ExampleId| self.examples.iter().any(|example| example.id == *id);
        let example = listed.into_example(&suite, suite_index, is_taken);
        self.jobs.push(PlannedJob { example: self.examples.len(), repeat: 1 });
        self.examples.push(example);
        self.attempts.push(1);
        self.announced.push(0);
        self.verdicts.add();
        self.late += 1;
        JobSpec { pool: suite_index, unit: None, estimate: None, gated: false }
    }

    /// Where the repetitions of an adaptive run went.
    pub(super) fn repeat_report(&self) -> Option<RepeatReport> {
        self.adaptive.as_ref().map(|adaptive| adaptive.planner.report())
    }

    /// The jobs so far, by id.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn planned_jobs(&self) -> &[PlannedJob] {
        &self.jobs
    }

    pub(super) fn example(&self, job: JobId) -> &Example {
        &self.examples[self.jobs[job.0 as usize].example]
    }

    /// The attempt that a job is on.
    pub(super) fn current_attempt(&self, job: JobId) -> u32 {
        self.attempts[job.0 as usize]
    }

    pub(super) fn attempt(&self, assigned: Assigned, worker: Option<u32>) -> PublishedAttempt<'_> {
        let job = self.jobs[assigned.job.0 as usize];
        PublishedAttempt {
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
        let attempt = PublishedAttempt {
            example: &self.examples[job.example],
            repeat: job.repeat,
            attempt: assigned.attempt,
            worker,
            announced: self.announced[assigned.job.0 as usize] == assigned.attempt,
        };
        let is_final = outcome.r#final == Some(true);
        let settled = is_final.then(|| self.verdicts.count(job.example, &outcome)).flatten();
        if let Some(adaptive) = self.adaptive.as_mut().filter(|_| is_final) {
            adaptive.planner.record(job.example, job.repeat, repetition_of(&outcome));
        }
        let missed = is_final && self.verdicts.newly_missed(job.example);
        self.publisher.finished(attempt, outcome);
        if missed {
            self.follow_ups.push(Input::RateMissed);
        }
        if let Some(why) = settled.filter(|_| self.adaptive.is_none()) {
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
        self.publisher.error(OutsideError { exception, ..worker_error(slot, message) });
    }

    /// A worker broke the protocol, so its results are doubtful: the run is no success.
    pub(crate) fn protocol_error(&mut self, slot: u32, message: String) {
        self.publisher.error(worker_error(slot, message));
    }

    /// Publishes the end of the run.
    pub(crate) fn conclude(
        &mut self,
        loaded: bool,
        stopped: Option<StopCause>,
        policy: Policy,
        taken: Duration,
    ) -> (Facts, RunVerdict) {
        self.complete_plan();
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
        finish(&self.publisher, &facts, &verdict, taken, self.late);
        (facts, verdict)
    }
}

/// What a repetition that ended for good tells the planner.
fn repetition_of(outcome: &ExampleFinished) -> Repetition {
    if never_ran(&outcome.status) || !is_made(&outcome.status) {
        return Repetition::NotMade;
    }
    match evidence(&outcome.status, outcome.fault.as_ref()) {
        Evidence::For => Repetition::Counts(true),
        Evidence::Against => Repetition::Counts(false),
        Evidence::Nothing => Repetition::SaysNothing,
    }
}

fn worker_error(slot: u32, message: String) -> OutsideError {
    OutsideError {
        phase: "worker".to_owned(),
        place: Some(format!("worker {slot}")),
        message: Some(message),
        ..OutsideError::default()
    }
}

#[cfg(test)]
mod tests;
