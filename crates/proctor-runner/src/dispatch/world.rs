//! A simulated world for the dispatcher: workers that start late or not at all, run examples, crash, hang, give work back, are killed,
//! and cannot be reached any more.
//!
//! Time is a number, so a run of hours takes milliseconds. With a [`JobTracker`] the world also makes the events of the run.

#![cfg_attr(
    not(feature = "simulation"),
    allow(
        unreachable_pub,
        dead_code,
        reason = "tests of this crate need less than those of others"
    )
)]

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use proctor_events::{ExampleFinished, Fault, Status};
use proctor_verdict::is_failure;

use super::{Assigned, Dispatcher, Effect, Exit, Input, JobId, JobSpec, Moment, Policy};
use crate::run::tracker::JobTracker;

/// What a job does each time it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It passes.
    Pass,
    /// It fails.
    Fail,
    /// Fails once, then passes.
    Flaky,
    /// It is skipped.
    Pending,
    /// Its judge does not answer.
    Inconclusive,
    /// A tool that the host runs for it breaks.
    ToolBreaks,
    /// The worker dies while it runs.
    Crash,
    /// It passes, and then its worker dies.
    CrashAfterResult,
    /// It never ends.
    Hang,
    /// It passes, but only after its time limit, while its worker is being ended.
    TooLate,
    /// The worker dies before it says that it starts it.
    DieBefore,
    /// The worker hangs before it says that it starts it: in a hook.
    HangBefore,
    /// The first worker that runs it cannot be reached any more; the next one passes it.
    LostOnce,
    /// No worker that runs it can be reached any more.
    Lost,
}

#[derive(Debug, Clone)]
struct WorkerModel {
    generation: u32,
    alive: bool,
    queue: VecDeque<Vec<Assigned>>,
    running: Option<Assigned>,
    ending: bool,
    /// After how many failures it waits, if it was told; negative when others have failed meanwhile.
    failures_left: Option<i32>,
}

/// Something that will happen; ordered by time, then by when it was planned.
type Planned = std::cmp::Reverse<(Moment, u64, usize)>;

pub(crate) struct World {
    dispatcher: Dispatcher,
    fates: Vec<Fate>,
    /// What the repetitions of each example do, where a tracker plans them.
    fates_of_examples: Vec<Vec<Fate>>,
    pub(crate) durations: Vec<u64>,
    workers: BTreeMap<u32, WorkerModel>,
    planned: BinaryHeap<Planned>,
    what: Vec<Input>,
    /// When the time of an example is up, in which slot and generation: their links judge it.
    time_limits: BTreeSet<(Moment, u32, u32, JobId)>,
    pub(crate) now: Moment,
    /// Generations (of any slot) whose start fails.
    pub(crate) bad_starts: BTreeSet<u32>,
    pub(crate) started: u32,
    /// Finals and attempts seen, by job.
    pub(crate) finals: BTreeMap<JobId, Status>,
    pub(crate) attempts: BTreeMap<JobId, Vec<Status>>,
    pub(crate) order: BTreeMap<u32, Vec<JobId>>,
    pub(crate) active: BTreeMap<JobId, u32>,
    pub(crate) assigned_messages: usize,
    pub(crate) lost: Vec<String>,
    /// Jobs whose worker was lost once.
    lost_once: BTreeSet<JobId>,
    /// Attempts whose start a worker has reported: none of them is "not run".
    begun: BTreeSet<(JobId, u32)>,
    done: bool,
    /// Publishes events, if the simulation has a bus.
    pub(crate) tracker: Option<JobTracker>,
}

impl World {
    pub(crate) fn new(policy: Policy, specs: Vec<JobSpec>, fates: Vec<Fate>) -> Self {
        let durations = (0..fates.len() as u64).map(|n| 200 + (n * 7919) % 9000).collect();
        Self {
            dispatcher: Dispatcher::new(policy, specs),
            fates,
            fates_of_examples: Vec::new(),
            durations,
            workers: BTreeMap::new(),
            planned: BinaryHeap::new(),
            what: Vec::new(),
            time_limits: BTreeSet::new(),
            now: 0,
            bad_starts: BTreeSet::new(),
            started: 0,
            finals: BTreeMap::new(),
            attempts: BTreeMap::new(),
            order: BTreeMap::new(),
            active: BTreeMap::new(),
            assigned_messages: 0,
            lost: Vec::new(),
            lost_once: BTreeSet::new(),
            begun: BTreeSet::new(),
            done: false,
            tracker: None,
        }
    }

    /// The world of a run whose events are made. Each repetition of an example has one of its fates, over and over.
    pub(crate) fn of_run(
        policy: Policy,
        specs: Vec<JobSpec>,
        tracker: JobTracker,
        fates_of_examples: Vec<Vec<Fate>>,
    ) -> Self {
        let mut world = Self::new(policy, specs, Vec::new());
        world.tracker = Some(tracker);
        world.fates_of_examples = fates_of_examples;
        world.plan_new_jobs();
        world
    }

    /// Decides what becomes of jobs that the tracker has planned since.
    fn plan_new_jobs(&mut self) {
        let Some(tracker) = &self.tracker else { return };
        for job in tracker.planned_jobs().iter().skip(self.fates.len()) {
            let fates = self.fates_of_examples.get(job.example).map_or(&[][..], Vec::as_slice);
            let place = (job.repeat as usize - 1) % fates.len().max(1);
            self.durations.push(200 + (self.fates.len() as u64 * 7919) % 9000);
            self.fates.push(fates.get(place).copied().unwrap_or(Fate::Pass));
        }
    }

    pub(crate) fn plan(&mut self, after: u64, input: Input) {
        self.what.push(input);
        let number = self.what.len();
        self.planned.push(std::cmp::Reverse((self.now + after, number as u64, number - 1)));
    }

    /// Runs until the dispatcher says that it is done.
    pub(crate) fn run(&mut self) {
        self.plan(0, Input::Begin);
        for _ in 0..200_000 {
            if self.done {
                return;
            }
            let (now, input) = self.next_input();
            self.now = self.now.max(now);
            self.judge_time_limits();
            self.apply_world(&input);
            let effects = self.dispatcher.take_input(self.now, input);
            self.apply_effects(effects);
        }
        panic!("the run does not end");
    }

    fn next_follow_up(&mut self) -> Option<Input> {
        let stopping = self.dispatcher.is_stopping();
        self.tracker.as_mut()?.next_follow_up(stopping)
    }

    /// What happens next, and when: something that was planned, or a deadline.
    fn next_input(&mut self) -> (Moment, Input) {
        let time_limit = self.time_limits.first().map(|(at, ..)| *at);
        let deadline = self.dispatcher.next_deadline().into_iter().chain(time_limit).min();
        let due = |at: Moment| deadline.is_none_or(|deadline| at <= deadline);
        if self.planned.peek().is_some_and(|planned| due(planned.0.0))
            && let Some(std::cmp::Reverse((at, _, place))) = self.planned.pop()
        {
            return (at, self.what[place].clone());
        }
        match deadline {
            Some(deadline) => (deadline, Input::Tick),
            None => panic!("nothing will ever happen: {:#?}", self.dispatcher),
        }
    }

    /// Carries out effects and what follows from them, then has work given out, as the driver does.
    fn apply_effects(&mut self, mut effects: Vec<Effect>) {
        loop {
            for effect in effects {
                assert!(!self.done, "an effect after the end");
                self.apply_effect(effect);
            }
            if let Some(input) = self.next_follow_up() {
                self.plan_new_jobs();
                effects = self.dispatcher.take_input(self.now, input);
                continue;
            }
            effects = self.dispatcher.give_out();
            if effects.is_empty() {
                return;
            }
        }
    }

    /// What an input means for the workers themselves, and what it leads to.
    fn apply_world(&mut self, input: &Input) {
        match input {
            Input::Finished { slot, generation, outcome, .. }
                if self.is_current(*slot, *generation) =>
            {
                let worker = self.worker(*slot);
                worker.running = None;
                let failed = i32::from(is_failure(&outcome.status));
                worker.failures_left = worker.failures_left.map(|left| left - failed);
                self.start_next_job(*slot);
            }
            Input::Started { slot, .. } => {
                let running = self.workers[slot].running;
                self.begun.extend(running.map(|assigned| (assigned.job, assigned.attempt)));
            }
            Input::SlotLost { slot, .. } => {
                if let Some(worker) = self.workers.get_mut(slot) {
                    (worker.alive, worker.running) = (false, None);
                }
            }
            Input::Exited { slot, generation, .. } => {
                assert!(self.workers[slot].generation == *generation);
            }
            _ => {}
        }
    }

    fn is_current(&self, slot: u32, generation: u32) -> bool {
        self.workers
            .get(&slot)
            .is_some_and(|worker| worker.generation == generation && worker.alive)
    }

    fn apply_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Start { slot, generation } => self.start(slot, generation),
            Effect::Assign { slot, units, failures_left } => {
                self.assigned_messages += 1;
                let worker = self.worker(slot);
                assert!(!worker.ending, "work for a worker that was told to end");
                worker.queue.extend(units);
                let left = failures_left.and_then(|left| i32::try_from(left).ok());
                worker.failures_left = worker.failures_left.or(left);
                if worker.running.is_none() {
                    self.start_next_job(slot);
                }
            }
            Effect::ChangeFailuresLeft { slot, by } => {
                let worker = self.worker(slot);
                worker.failures_left = worker.failures_left.map(|left| left + by);
                if worker.running.is_none() {
                    self.start_next_job(slot);
                }
            }
            Effect::TakeBack { slot, jobs } => self.give_back(slot, &jobs),
            Effect::Shutdown { slot } => {
                let worker = self.worker(slot);
                worker.ending = true;
                worker.queue.clear();
                if worker.running.is_none() {
                    self.exit(slot, Exit { status: Some(0), ..Exit::default() });
                }
            }
            Effect::Kill { slot, .. } => self.kill(slot),
            Effect::Announce { slot, assigned } => {
                let before = self.active.insert(assigned.job, slot);
                assert_eq!(before, None, "{assigned:?} runs twice at once");
                self.order.entry(slot).or_default().push(assigned.job);
                if let Some(tracker) = &mut self.tracker {
                    tracker.announce(assigned, Some(slot));
                }
            }
            Effect::Report { slot, assigned, outcome } => {
                self.note(assigned, &outcome);
                if let Some(tracker) = &mut self.tracker {
                    tracker.report(assigned, slot, *outcome);
                }
            }
            Effect::Slow { .. } => {}
            Effect::Lost { slot, message, exit } => {
                self.lost.push(message.clone());
                if let Some(tracker) = &mut self.tracker {
                    tracker.lost(slot, message, *exit);
                }
            }
            Effect::Odd { what, .. } => panic!("{what}"),
            Effect::Done => self.done = true,
        }
    }

    fn note(&mut self, assigned: Assigned, outcome: &ExampleFinished) {
        let started = self.active.remove(&assigned.job).is_some();
        if started && outcome.status != Status::NotRun {
            assert!(outcome.duration_ms.is_some(), "{assigned:?} ran for some time: {outcome:?}");
        }
        let begun = self.begun.contains(&(assigned.job, assigned.attempt));
        assert!(!begun || outcome.status != Status::NotRun, "{assigned:?} has begun: {outcome:?}");
        let attempts = self.attempts.entry(assigned.job).or_default();
        attempts.push(outcome.status.clone());
        assert_eq!(assigned.attempt as usize, attempts.len(), "attempts are counted");
        if outcome.r#final == Some(true) {
            let before = self.finals.insert(assigned.job, outcome.status.clone());
            assert_eq!(before, None, "{assigned:?} is final twice");
        }
    }

    fn start(&mut self, slot: u32, generation: u32) {
        self.started += 1;
        let worker = WorkerModel {
            generation,
            alive: true,
            queue: VecDeque::new(),
            running: None,
            ending: false,
            failures_left: None,
        };
        self.workers.insert(slot, worker);
        if self.bad_starts.contains(&self.started) {
            self.worker(slot).alive = false;
            self.plan(50, Input::StartFailed { slot, generation, message: "no".into() });
        } else {
            self.plan(300, Input::Ready { slot, generation });
        }
    }

    /// The worker takes the next job it has.
    fn start_next_job(&mut self, slot: u32) {
        let worker = self.worker(slot);
        if !worker.alive {
            return;
        }
        if worker.ending {
            self.exit(slot, Exit { status: Some(0), ..Exit::default() });
            return;
        }
        if worker.failures_left.is_some_and(|left| left <= 0) {
            return;
        }
        let Some(unit) = worker.queue.front_mut() else { return };
        let assigned = unit.remove(0);
        if unit.is_empty() {
            worker.queue.pop_front();
        }
        let generation = worker.generation;
        let (job, place) = (assigned.job, assigned.job.0 as usize);
        let fate = self.fates[place];
        if fate == Fate::DieBefore {
            self.exit(slot, Exit { status: Some(1), ..Exit::default() });
            return;
        }
        self.worker(slot).running = Some(assigned);
        if fate == Fate::HangBefore {
            return;
        }
        self.plan(10, Input::Started { slot, generation, job });
        if let Some(limit) = self.dispatcher.policy.timeout {
            self.time_limits.insert((self.now + 10 + limit * 1000, slot, generation, job));
        }
        let taken = 10 + self.durations[place];
        let is_lost = fate == Fate::Lost || (fate == Fate::LostOnce && self.lost_once.insert(job));
        if is_lost {
            self.plan(taken, Input::Unreachable { slot, generation, message: "gone".into() });
            self.worker(slot).alive = false;
            return;
        }
        if let Some(outcome) = result(fate, assigned.attempt) {
            let outcome = Box::new(outcome);
            self.plan(taken, Input::Finished { slot, generation, job, outcome });
        }
        if matches!(fate, Fate::Crash | Fate::CrashAfterResult) {
            let exit = Exit { signal: Some(11), ..Exit::default() };
            self.plan(taken + 5, Input::Exited { slot, generation, exit });
            self.worker(slot).alive = false;
        }
    }

    fn worker(&mut self, slot: u32) -> &mut WorkerModel {
        self.workers.get_mut(&slot).expect("the dispatcher speaks to workers that it has started")
    }

    fn give_back(&mut self, slot: u32, jobs: &[JobId]) {
        let worker = self.worker(slot);
        let mut returned = Vec::new();
        for unit in &mut worker.queue {
            let (out, kept) = unit.iter().partition(|assigned| jobs.contains(&assigned.job));
            returned.extend::<Vec<Assigned>>(out);
            *unit = kept;
        }
        worker.queue.retain(|unit| !unit.is_empty());
        let generation = worker.generation;
        let jobs = returned.into_iter().map(|assigned| assigned.job).collect();
        self.plan(40, Input::Returned { slot, generation, jobs });
    }

    /// Ends the workers whose example has exceeded its time limit, as their links do.
    fn judge_time_limits(&mut self) {
        while let Some((at, slot, generation, job)) = self.time_limits.first().copied()
            && at <= self.now
        {
            self.time_limits.pop_first();
            let runs = |assigned: Assigned| assigned.job == job;
            if self.is_current(slot, generation) && self.worker(slot).running.is_some_and(runs) {
                self.end_worker(slot, true);
            }
        }
    }

    fn kill(&mut self, slot: u32) {
        self.end_worker(slot, false);
    }

    /// What it runs may end before the worker does.
    fn end_worker(&mut self, slot: u32, timed_out: bool) {
        let worker = self.worker(slot);
        let (generation, running) = (worker.generation, worker.running);
        if let Some(assigned) = running.filter(|_| worker.alive)
            && self.fates[assigned.job.0 as usize] == Fate::TooLate
        {
            let outcome =
                Box::new(ExampleFinished { status: Status::Passed, ..ExampleFinished::default() });
            self.plan(10, Input::Finished { slot, generation, job: assigned.job, outcome });
        }
        self.exit(slot, Exit { signal: Some(9), timed_out, ..Exit::default() });
    }

    fn exit(&mut self, slot: u32, exit: Exit) {
        let worker = self.worker(slot);
        if worker.alive {
            worker.alive = false;
            let generation = worker.generation;
            self.plan(30, Input::Exited { slot, generation, exit });
        }
    }
}

/// The result that a job reports; `None` where it reports none in time.
fn result(fate: Fate, attempt: u32) -> Option<ExampleFinished> {
    let (status, fault) = match fate {
        Fate::Fail => (Status::Failed, None),
        Fate::Flaky if attempt == 1 => (Status::Failed, None),
        Fate::Pass | Fate::Flaky | Fate::CrashAfterResult | Fate::LostOnce => {
            (Status::Passed, None)
        }
        Fate::Pending => (Status::Pending, None),
        Fate::Inconclusive => (Status::Inconclusive, Some(Fault::Judge)),
        Fate::ToolBreaks => (Status::Errored, Some(Fault::Tool)),
        Fate::Crash
        | Fate::Hang
        | Fate::TooLate
        | Fate::DieBefore
        | Fate::HangBefore
        | Fate::Lost => return None,
    };
    Some(ExampleFinished { status, fault, ..ExampleFinished::default() })
}
