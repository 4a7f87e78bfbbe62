//! The dispatcher: who runs what next, and what becomes of every example. Pure.
//!
//! It is a function from (state, input, time) to effects. It knows no process, no clock and no event bus;
//! the driver feeds it what happened and carries out what it asks for.
//!
//! | slot phase | input | next phase |
//! |---|---|---|
//! | empty | work for it | starting, with [`Effect::Start`] |
//! | starting | `Ready` | ready, with work |
//! | starting | `StartFailed`, `Exited` | empty, or gone when that happens too often |
//! | ready | `Started`, `Finished`, `Returned` | ready, topped up |
//! | ready | nothing left, and jobs may be added ([`Policy::grows`]) | ready, waiting for [`Input::AddJobs`] or [`Input::NoMoreJobs`] |
//! | ready | nothing left, or its share is done | ending, with [`Effect::Shutdown`] |
//! | ready, with an example open | `Unreadable` | ending; its end settles the example, if nothing did before |
//! | killed | `Started` | killed: another worker runs the same attempt, unless its result comes before the exit; it has begun, so it is cancelled if the run stops before that |
//! | ready, ending | time is up: of a hook, to end | killed, with [`Effect::Kill`] |
//! | any | `Exited` | empty: what it ran is crashed, timed out or cancelled; what it had not started goes back |
//! | any | `Exited`, and its link has ended it because of a time limit | empty: what it ran is timed out, unless its result came before |
//! | any | `SlotLeft` | empty for good: ending first, if there is a worker |
//! | – | `SlotJoined` | a further slot, empty |
//! | any | `Unreachable` | empty: what it ran is run again as the same attempt, errored when that happens too often; what it had not started goes back |
//!
//! What always holds: every job is reported final exactly once; a job runs in one slot at a time; nothing is
//! given to a slot that is not ready; after [`Effect::Done`] there is nothing more.

mod schedule;
mod slot;
mod stop;
#[cfg(any(test, feature = "simulation"))]
pub(crate) mod world;

use std::collections::VecDeque;

use proctor_events::{ExampleFinished, Fault, Millis, Status};
use proctor_verdict::{
    AttemptNumber, ExampleVerdict, Observation, is_agent_process_death, is_failure,
};

pub(crate) use self::slot::Exit;
use self::slot::{EndedWorker, Killed, Phase, Slot, UnrunRequest};
use self::stop::Stop;
pub(crate) use self::stop::StopReason;

/// A moment: microseconds since the run began.
pub(crate) type Moment = u64;

/// One example in one repetition, by its place in the list given to the dispatcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct JobId(pub(crate) u32);

/// A job as the dispatcher needs to know it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JobSpec {
    /// The pool of slots that can run it.
    pub(crate) pool: usize,
    /// Jobs of one pool with the same unit, next to each other, run in one slot, in order.
    pub(crate) unit: Option<u32>,
    /// How long it took before, in milliseconds.
    pub(crate) estimate: Option<f64>,
    /// Whether its example demands a pass rate. Its failure counts only when [`Input::RateMissed`] says so, and an earlier repetition may
    /// make it unnecessary: no slot has it waiting.
    pub(crate) gated: bool,
}

/// In which order units are handed out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Unknown ones first, then the longest.
    #[default]
    LongestFirst,
    /// As listed.
    AsListed,
    /// As listed, the n-th unit to slot n modulo the number of slots, for good.
    RoundRobin,
}

/// What follows when a worker ends unexpectedly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnCrash {
    /// What it ran is crashed, and another worker goes on.
    #[default]
    Continue,
    /// The run ends: every other worker is killed, and what waits is not run.
    Stop,
}

/// The rules of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Policy {
    /// How many slots each pool has.
    pub(crate) slots: Vec<u32>,
    /// In which order units are handed out.
    pub(crate) schedule: Schedule,
    /// Stop after so many failures.
    pub(crate) fail_fast: Option<u32>,
    /// How long an example may take, in milliseconds. The link of a slot judges that; hooks, which may take longer, are judged here.
    pub(crate) timeout: Option<u64>,
    /// When to say that an example is slow, in milliseconds.
    pub(crate) slow_after: Option<u64>,
    /// How often a failed example is tried again.
    pub(crate) retries: u32,
    /// After how many examples a worker is replaced.
    pub(crate) max_per_worker: Option<u32>,
    /// How long running examples may go on after a stop, in milliseconds.
    pub(crate) grace: u64,
    /// How long a worker may take to end when there is nothing left to do, in milliseconds.
    pub(crate) end_within: u64,
    /// Whether a worker that ends unexpectedly ends the run.
    pub(crate) on_crash: OnCrash,
    /// How many workers in a row may die without having started an example.
    pub(crate) idle_deaths: u32,
    /// How often one attempt is run again because its worker cannot be reached any more.
    pub(crate) losses: u32,
    /// How much work a worker may have waiting, in milliseconds.
    pub(crate) prefetch: f64,
    /// Whether jobs may be added until [`Input::NoMoreJobs`]: workers without work wait for them.
    pub(crate) grows: bool,
    /// Which verdicts fail the run.
    pub(crate) verdict: proctor_verdict::Policy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            slots: vec![4],
            schedule: Schedule::default(),
            fail_fast: None,
            timeout: None,
            slow_after: None,
            retries: 0,
            max_per_worker: None,
            grace: 2_000,
            end_within: 10_000,
            on_crash: OnCrash::default(),
            idle_deaths: 8,
            losses: 2,
            prefetch: 10.0,
            grows: false,
            verdict: proctor_verdict::Policy::default(),
        }
    }
}

impl Policy {
    /// How long a worker may take to start what it has, in milliseconds. Context and suite hooks run in
    /// between, and may well be slower than any example.
    fn hook_limit(&self) -> Option<u64> {
        self.timeout.map(|limit| limit.saturating_mul(10).max(10_000))
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// The run begins.
    Begin,
    /// A worker can take work.
    Ready { slot: u32, generation: u32 },
    /// A worker could not be started.
    StartFailed { slot: u32, generation: u32, message: String },
    /// A worker is about to run an example.
    Started { slot: u32, generation: u32, job: JobId },
    /// A worker has run an example.
    Finished { slot: u32, generation: u32, job: JobId, outcome: Box<ExampleFinished> },
    /// A worker has given back what it had not started; nothing when it could not.
    Returned { slot: u32, generation: u32, jobs: Vec<JobId> },
    /// A worker will not run what it was given.
    Refused { slot: u32, generation: u32, jobs: Vec<JobId>, why: String },
    /// A line of a worker could not be read: it may have been a result.
    Unreadable { slot: u32, generation: u32, what: String },
    /// A worker has ended; its output has been read.
    Exited { slot: u32, generation: u32, exit: Exit },
    /// The link to a worker is lost: the outcome of its example is unknown, and no example is at fault.
    Unreachable { slot: u32, generation: u32, message: String },
    /// There is one more slot in this pool; its number follows on those there are.
    SlotJoined { pool: usize },
    /// A slot is not to be used again; its worker finishes what it runs.
    SlotLeft { slot: u32 },
    /// These need not be run any more, for this reason. What a worker already has, it runs all the same.
    Skip { jobs: Vec<JobId>, why: String },
    /// An example has missed the pass rate it demands of itself.
    RateMissed,
    /// These are to be run too; their ids follow on those there are.
    AddJobs { jobs: Vec<JobSpec> },
    /// No job will be added any more.
    NoMoreJobs,
    /// Time has passed.
    Tick,
    /// The run shall end: nothing new is started, what runs may finish within the grace.
    Stop(StopReason),
    /// The run shall end now.
    KillNow,
}

impl Input {
    fn slot(&self) -> Option<u32> {
        match self {
            Self::Ready { slot, .. }
            | Self::StartFailed { slot, .. }
            | Self::Started { slot, .. }
            | Self::Finished { slot, .. }
            | Self::Returned { slot, .. }
            | Self::Refused { slot, .. }
            | Self::Unreadable { slot, .. }
            | Self::Exited { slot, .. }
            | Self::Unreachable { slot, .. }
            | Self::SlotLeft { slot } => Some(*slot),
            Self::Begin
            | Self::SlotJoined { .. }
            | Self::Skip { .. }
            | Self::RateMissed
            | Self::AddJobs { .. }
            | Self::NoMoreJobs
            | Self::Tick
            | Self::Stop(_)
            | Self::KillNow => None,
        }
    }
}

/// One job to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assigned {
    /// The job.
    pub(crate) job: JobId,
    /// Which attempt this is, from 1.
    pub(crate) attempt: u32,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Start a worker.
    Start { slot: u32, generation: u32 },
    /// Give units to a worker. After `failures_left` failures it has to wait until it is told how to go on; only the first number
    /// that a worker gets counts, what follows comes as [`Effect::ChangeFailuresLeft`].
    Assign { slot: u32, units: Vec<Vec<Assigned>>, failures_left: Option<u32> },
    /// A failure of this worker does not count after all (+1), or one of another worker does (-1).
    ChangeFailuresLeft { slot: u32, by: i32 },
    /// Ask a worker to give back jobs that it has not started.
    TakeBack { slot: u32, jobs: Vec<JobId> },
    /// Ask a worker to start nothing more, and to end when it is through.
    Shutdown { slot: u32 },
    /// End a worker and its children now.
    Kill { slot: u32, timed_out: bool },
    /// Tell the world that an attempt has started.
    Announce { slot: u32, assigned: Assigned },
    /// Tell the world that an attempt is over.
    Report { slot: Option<u32>, assigned: Assigned, outcome: Box<ExampleFinished> },
    /// Tell the world that an example is slow.
    Slow { slot: u32, assigned: Assigned, running: u64 },
    /// Tell the world that a worker was lost between examples: its hooks have not run to their end.
    Lost { slot: u32, message: String, exit: Box<Exit> },
    /// A worker did something it may not; it was ignored, and the run cannot be trusted.
    Odd { slot: u32, what: String },
    /// The run is over.
    Done,
}

#[derive(Debug, Clone, PartialEq)]
struct Job {
    spec: JobSpec,
    attempt: u32,
    /// When the start of this attempt was announced, if it was.
    announced: Option<Moment>,
    /// How many workers could not be reached any more while they ran this attempt.
    losses: u32,
    done: bool,
}

/// Jobs that go together.
#[derive(Debug, Clone, PartialEq, Default)]
struct Unit {
    jobs: VecDeque<JobId>,
    /// Whether one of its jobs has been started in the slot that has it.
    begun: bool,
    /// How many workers died on it without having started an example.
    deaths: u32,
    /// The slot it should not go to, if another is free.
    avoid: Option<u32>,
    /// The death of a worker that had it but not begun it. If it begins well elsewhere, it was not to blame:
    /// something before it was, and that is told then.
    suspect: Option<Box<Effect>>,
}

#[derive(Debug, Clone, Default)]
struct Pool {
    queue: VecDeque<Unit>,
    /// Units that belong to one slot, with round-robin; by slot within the pool.
    pinned: Vec<VecDeque<Unit>>,
    /// Workers that died in a row without having started an example.
    idle_deaths: u32,
    last_death: Option<String>,
    /// Set when workers cannot be had any more.
    broken: bool,
    /// Sum and number of durations seen, in milliseconds.
    seen: (f64, u32),
}

impl Pool {
    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.pinned.iter().all(VecDeque::is_empty)
    }
}

/// The state of a run.
#[derive(Debug, Clone)]
pub(crate) struct Dispatcher {
    policy: Policy,
    jobs: Vec<Job>,
    pools: Vec<Pool>,
    slots: Vec<Slot>,
    stop: Option<Stop>,
    failures: u32,
    open: usize,
    /// Whether jobs may still be added.
    grows: bool,
    ended: bool,
    now: Moment,
    /// The slot that the input at hand speaks of.
    touched: Option<u32>,
    effects: Vec<Effect>,
}

impl Dispatcher {
    /// A run that has not begun.
    pub(crate) fn new(policy: Policy, jobs: Vec<JobSpec>) -> Self {
        let slots: Vec<Slot> = policy
            .slots
            .iter()
            .enumerate()
            .flat_map(|(pool, count)| (0..*count).map(move |_| Slot::new(pool)))
            .collect();
        let mut dispatcher = Self {
            pools: vec![Pool::default(); policy.slots.len()],
            open: 0,
            grows: policy.grows,
            jobs: Vec::new(),
            policy,
            slots,
            stop: None,
            failures: 0,
            ended: false,
            now: 0,
            touched: None,
            effects: Vec::new(),
        };
        dispatcher.add_jobs(jobs);
        dispatcher
    }

    /// Takes one input and gives out work; returns what is to be done, in order.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn step(&mut self, now: Moment, input: Input) -> Vec<Effect> {
        let mut effects = self.take_input(now, input);
        effects.extend(self.give_out());
        effects
    }

    /// Takes one input; returns what is to be done, in order. Work is given out by [`Self::give_out`], after the caller has had the
    /// chance to say what follows from a result: that a repetition need not be run, for instance.
    #[must_use]
    pub(crate) fn take_input(&mut self, now: Moment, input: Input) -> Vec<Effect> {
        if self.ended {
            return Vec::new();
        }
        self.now = self.now.max(now);
        self.touched = input.slot().or(self.touched);
        match input {
            Input::Begin => self.start_slots(),
            Input::Ready { slot, generation } => self.ready(slot, generation),
            Input::StartFailed { slot, generation, message } => {
                self.exited(slot, generation, &Exit::not_started(message));
            }
            Input::Started { slot, generation, job } => self.started(slot, generation, job),
            Input::Finished { slot, generation, job, outcome } => {
                self.finished(slot, generation, job, outcome);
            }
            Input::Returned { slot, generation, jobs } => self.returned(slot, generation, &jobs),
            Input::Refused { slot, generation, jobs, why } => {
                self.refused(slot, generation, &jobs, &why);
            }
            Input::Unreadable { slot, generation, what } => self.unreadable(slot, generation, what),
            Input::Exited { slot, generation, exit } => self.exited(slot, generation, &exit),
            Input::Unreachable { slot, generation, message } => {
                self.lost_contact(slot, generation, &message);
            }
            Input::SlotJoined { pool } => self.slots.push(Slot::new(pool)),
            Input::SlotLeft { slot } => self.slot_left(slot),
            Input::Skip { jobs, why } => self.skip(&jobs, &why),
            Input::RateMissed => self.count_failure(None),
            Input::AddJobs { jobs } => self.add_jobs(jobs),
            Input::NoMoreJobs => self.grows = false,
            Input::Tick => {}
            Input::Stop(reason) => self.begin_stop(reason),
            Input::KillNow => self.kill_now(),
        }
        self.check_deadlines();
        std::mem::take(&mut self.effects)
    }

    /// Gives out work and ends the run when there is none left.
    #[must_use]
    pub(crate) fn give_out(&mut self) -> Vec<Effect> {
        if self.ended {
            return Vec::new();
        }
        self.balance();
        self.touched = None;
        self.conclude();
        std::mem::take(&mut self.effects)
    }

    /// When [`Input::Tick`] is due, if nothing else happens before.
    pub(crate) fn next_deadline(&self) -> Option<Moment> {
        let slots = self.slots.iter().filter_map(|slot| slot.next_deadline(&self.policy));
        let stop = self.stop.as_ref().filter(|stop| !stop.killed).map(|stop| stop.kill_at);
        slots.chain(stop).chain(self.next_balance()).min()
    }

    /// Whether the run is to end before its end: a job that is added now is not run.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    /// What a worker runs at the moment.
    pub(crate) fn running(&self, slot: u32, generation: u32) -> Option<Assigned> {
        let found = self.slots.get(slot as usize).filter(|found| found.generation == generation)?;
        found.running.map(|running| self.assigned(running.job))
    }

    fn slot(&mut self, slot: u32, generation: u32) -> Option<&mut Slot> {
        let found = self.slots.get_mut(slot as usize)?;
        (found.generation == generation && found.phase != Phase::Empty).then_some(found)
    }

    fn protocol_violation(&mut self, slot: u32, what: String) {
        self.effects.push(Effect::Odd { slot, what });
    }

    fn ready(&mut self, number: u32, generation: u32) {
        let now = self.now;
        let end_by = self.kill_deadline();
        let Some(slot) = self.slot(number, generation) else { return };
        slot.quiet_since = now;
        match slot.phase {
            Phase::Starting if !slot.has_left => slot.phase = Phase::Ready,
            // It was asked to end while it started; now it can receive the order.
            Phase::Starting | Phase::Ending { .. } => {
                slot.phase = Phase::Ending { kill_at: end_by.max(now) };
                self.effects.push(Effect::Shutdown { slot: number });
            }
            _ => {}
        }
    }

    fn started(&mut self, number: u32, generation: u32, job: JobId) {
        let Some(slot) = self.slot(number, generation) else { return };
        if slot.running.is_some_and(|running| running.job == job) {
            return; // said twice, and true both times
        }
        if !slot.has_waiting(job) {
            self.protocol_violation(
                number,
                format!("started job {} which it was not given", job.0),
            );
            return;
        }
        if slot.phase == Phase::Killed {
            // It will not get to the end of it, unless its result says otherwise: another worker runs the same attempt.
            self.announce(number, job);
            return;
        }
        self.begin(number, generation, job);
    }

    fn begin(&mut self, number: u32, generation: u32, job: JobId) {
        let now = self.now;
        self.settle_unreported(number);
        let passed_over = self.slots[number as usize].passed_over_by(job);
        self.refused(number, generation, &passed_over, "it went on to a later one");
        let slot = &mut self.slots[number as usize];
        let suspect = slot.clear_suspicion(job);
        slot.begin(job, now);
        let pool = slot.pool;
        self.pools[pool].idle_deaths = 0;
        self.effects.extend(suspect);
        self.announce(number, job);
    }

    /// Tells the world that an attempt has begun, once.
    fn announce(&mut self, number: u32, job: JobId) {
        let assigned = self.assigned(job);
        let state = &mut self.jobs[job.0 as usize];
        if state.announced.is_none() {
            state.announced = Some(self.now);
            self.effects.push(Effect::Announce { slot: number, assigned });
        }
    }

    fn assigned(&self, job: JobId) -> Assigned {
        Assigned { job, attempt: self.jobs[job.0 as usize].attempt }
    }

    fn finished(
        &mut self,
        number: u32,
        generation: u32,
        job: JobId,
        mut outcome: Box<ExampleFinished>,
    ) {
        let now = self.now;
        proctor_verdict::normalize_status(&mut outcome);
        let Some(slot) = self.slot(number, generation) else { return };
        // A worker may say of a job that it will not run it at all.
        if outcome.status == Status::NotRun && !slot.remove_unstarted(&[job]).is_empty() {
            if self.jobs[job.0 as usize].announced.is_some() {
                let why = outcome.message.unwrap_or_default();
                outcome = Box::new(self.not_run(job, &why));
            }
            self.settle(job, Some(number), outcome);
            return;
        }
        if slot.has_waiting(job) {
            // The start could not be read, or was not believed; the result is one all the same.
            self.begin(number, generation, job);
        }
        let slot = &mut self.slots[number as usize];
        let Some(running_since) = slot.end(job, now) else {
            self.protocol_violation(number, format!("finished job {} which it did not run", job.0));
            return;
        };
        let pool = slot.pool;
        let measured = *outcome.duration_ms.get_or_insert(millis_between(running_since, now));
        let (sum, count) = &mut self.pools[pool].seen;
        (*sum, *count) = (*sum + measured.get(), *count + 1);
        let failures = self.failures;
        let failed = is_failure(&outcome.status);
        self.settle(job, Some(number), outcome);
        if failed && self.failures == failures {
            self.change_failures_left(number, 1);
        }
    }

    /// What a worker ran when it went on to something else, or ended: its result was lost on the way.
    fn settle_unreported(&mut self, number: u32) {
        let now = self.now;
        let slot = &mut self.slots[number as usize];
        let Some(job) = slot.running.map(|running| running.job) else { return };
        let outcome = slot.unreported("its worker went on without reporting a result");
        slot.end(job, now);
        self.settle(job, Some(number), Box::new(outcome));
    }

    /// A worker will never run these; their outcome is unknown.
    fn refused(&mut self, number: u32, generation: u32, jobs: &[JobId], why: &str) {
        let Some(slot) = self.slot(number, generation) else { return };
        let units = slot.remove_unstarted(jobs);
        for job in units.into_iter().flat_map(|unit| unit.jobs) {
            let outcome = ExampleFinished {
                status: Status::Errored,
                fault: Some(Fault::Harness),
                message: Some(format!("worker {number} did not run it: {why}")),
                ..ExampleFinished::default()
            };
            self.settle(job, Some(number), Box::new(outcome));
        }
    }

    /// If an example is open, the line may have been its result: the worker finishes what it runs, if it still does, and is
    /// replaced. Its end then settles the example.
    fn unreadable(&mut self, number: u32, generation: u32, what: String) {
        let Some(slot) = self.slot(number, generation) else { return };
        if slot.running.is_none() {
            return;
        }
        slot.unreadable = Some(what);
        if slot.phase == Phase::Ready {
            let end_by = self.kill_deadline();
            self.shut_down(number as usize, end_by);
        }
    }

    /// An attempt is over: is it the last one?
    fn settle(&mut self, job: JobId, slot: Option<u32>, mut outcome: Box<ExampleFinished>) {
        let assigned = self.assigned(job);
        let failed = is_failure(&outcome.status);
        let retries = if is_agent_process_death(outcome.fault.as_ref(), outcome.exception.as_ref())
        {
            self.policy.retries.max(1)
        } else {
            self.policy.retries
        };
        let again = failed && assigned.attempt <= retries && self.stop.is_none();
        outcome.r#final = Some(!again);
        outcome.flaky = (outcome.status == Status::Passed && assigned.attempt > 1).then_some(true);
        let fails_run = !again && fails_run(&outcome, self.policy.verdict);
        self.effects.push(Effect::Report { slot, assigned, outcome });
        let state = &mut self.jobs[job.0 as usize];
        if again {
            state.attempt += 1;
            (state.announced, state.losses) = (None, 0);
            let pool = state.spec.pool;
            let unit = Unit { jobs: [job].into(), avoid: slot, ..Unit::default() };
            self.requeue(pool, slot, unit);
            return;
        }
        state.done = true;
        self.open -= 1;
        if fails_run && !state.spec.gated {
            // A worker counts what failed; that a pass is refused it cannot know.
            self.count_failure(slot.filter(|_| failed));
        }
    }

    /// Counts a failure of the run; a worker that reported it has counted it too.
    fn count_failure(&mut self, reporter: Option<u32>) {
        self.failures += 1;
        let Some(limit) = self.policy.fail_fast else { return };
        if self.failures >= limit {
            self.begin_stop(StopReason::FailFast);
            return;
        }
        for number in (0..self.slots.len()).map(index) {
            if Some(number) != reporter {
                self.change_failures_left(number, -1);
            }
        }
    }

    fn change_failures_left(&mut self, number: u32, by: i32) {
        let slot = &self.slots[number as usize];
        let counts = slot.counts_failures && slot.phase == Phase::Ready;
        if self.policy.fail_fast.is_some() && self.stop.is_none() && counts {
            self.effects.push(Effect::ChangeFailuresLeft { slot: number, by });
        }
    }

    fn returned(&mut self, number: u32, generation: u32, jobs: &[JobId]) {
        let Some(slot) = self.slot(number, generation) else { return };
        let pool = slot.pool;
        let units = slot.remove_unstarted(jobs);
        // One that gives nothing back is not asked again until something has changed.
        slot.asked_back = if units.is_empty() { UnrunRequest::Refused } else { UnrunRequest::No };
        for unit in units.into_iter().rev() {
            self.requeue(pool, Some(number), unit);
        }
        self.drop_queues_if_stopped();
    }

    fn exited(&mut self, number: u32, generation: u32, exit: &Exit) {
        let Some(slot) = self.slot(number, generation) else { return };
        let was_ready = slot.phase != Phase::Starting;
        let mut left = slot.leave();
        let pool = slot.pool;
        if exit.timed_out {
            left.ended_by_time_limit();
        }
        if was_ready && left.is_crash(exit) {
            self.stop_at_crash(number, &left, exit);
        }
        if let Some(job) = left.running {
            let mut outcome = match &left.unreported {
                Some(unreported) if left.killed.is_none() && exit.status == Some(0) => {
                    unreported.clone()
                }
                _ => exit.outcome(left.killed, number),
            };
            if outcome.status == Status::TimedOut {
                let limit = self.policy.timeout.unwrap_or_default();
                outcome.message = Some(format!("it took longer than {limit} ms and was ended"));
            }
            if let Some(since) = left.running_since {
                outcome.duration_ms.get_or_insert(millis_between(since, self.now));
            }
            self.settle(job, Some(number), Box::new(outcome));
        }
        let idle_death = left.running.is_none() && !left.expected && !left.did_something;
        if idle_death {
            self.pools[pool].idle_deaths += 1;
            self.pools[pool].last_death = Some(exit.describe(number));
        }
        self.report_lost_worker(number, &mut left, exit);
        let hook_hangs = left.killed == Some(Killed::TimedOut);
        let mut units = left.units;
        if left.running.is_none() && (!left.expected || hook_hangs) && self.stop.is_none() {
            self.requeue_or_fail_unit(&mut units, number, exit, hook_hangs);
        }
        self.empty_slot(number, pool, units);
    }

    /// A slot is empty: what its worker had not started goes back, and another worker is started if there is work.
    fn empty_slot(&mut self, number: u32, pool: usize, units: VecDeque<Unit>) {
        for unit in units.into_iter().rev() {
            self.requeue(pool, Some(number), unit);
        }
        self.drop_queues_if_stopped();
        if self.pools[pool].idle_deaths > self.policy.idle_deaths {
            self.pools[pool].broken = true;
        }
        self.give_up_if_broken(pool);
        self.start_slots();
    }

    /// The link to a worker is lost. That is no crash: no example is blamed for it.
    fn lost_contact(&mut self, number: u32, generation: u32, message: &str) {
        let Some(slot) = self.slot(number, generation) else { return };
        let pool = slot.pool;
        let mut left = slot.leave();
        let why = format!("worker {} cannot be reached: {message}", number + 1);
        if let Some(job) = left.running {
            self.run_again(number, job, &mut left, &why);
        } else if left.ending && left.did_something && self.stop.is_none() {
            // It was running its last hooks; their outcome is unknown.
            let exit = Box::new(Exit::not_started(message.to_owned()));
            self.effects.push(Effect::Lost { slot: number, message: why.clone(), exit });
        }
        if left.running.is_none() && !left.expected && !left.did_something {
            self.pools[pool].idle_deaths += 1;
            self.pools[pool].last_death = Some(why);
        }
        self.empty_slot(number, pool, left.units);
    }

    /// What a worker ran when the link to it was lost: another runs the same attempt, unless it was to be ended anyway or has
    /// been lost too often.
    fn run_again(&mut self, number: u32, job: JobId, left: &mut EndedWorker, why: &str) {
        let state = &mut self.jobs[job.0 as usize];
        state.losses += 1;
        if left.killed.is_none() && self.stop.is_none() && state.losses <= self.policy.losses {
            // In front of the rest of its unit, so that the order stays.
            left.units.push_front(Unit { jobs: [job].into(), ..Unit::default() });
            return;
        }
        let losses = state.losses;
        let mut outcome = match left.killed {
            None if self.stop.is_none() => ExampleFinished {
                status: Status::Errored,
                fault: Some(Fault::Harness),
                message: Some(format!("{why} ({losses} workers were lost while they ran it)")),
                ..ExampleFinished::default()
            },
            killed => {
                let exit = Exit::not_started(why.to_owned());
                exit.outcome(killed.or(Some(Killed::Cancelled)), number)
            }
        };
        if let Some(since) = left.running_since {
            outcome.duration_ms.get_or_insert(millis_between(since, self.now));
        }
        self.settle(job, Some(number), Box::new(outcome));
    }

    /// The outcome of an attempt that is not run. If it was announced, and the worker that ran it was lost or killed, it is
    /// cancelled.
    fn not_run(&self, job: JobId, why: &str) -> ExampleFinished {
        let announced = self.jobs[job.0 as usize].announced;
        let message = Some(why.to_owned());
        match announced {
            None => ExampleFinished { status: Status::NotRun, message, ..Default::default() },
            Some(since) => ExampleFinished {
                status: Status::Cancelled,
                fault: Some(Fault::Harness),
                message,
                duration_ms: Some(millis_between(since, self.now)),
                ..ExampleFinished::default()
            },
        }
    }

    /// Reports a worker that crashed between examples: a hook that no other worker runs may be lost with it.
    fn report_lost_worker(&mut self, number: u32, left: &mut EndedWorker, exit: &Exit) {
        if left.running.is_some() || self.stop.is_some() {
            return;
        }
        let seconds = |limit: u64| limit / 1000;
        let message = match left.killed {
            Some(Killed::TimedOut) => format!(
                "worker {number} started nothing for {} s and was ended: a hook hangs",
                seconds(self.policy.hook_limit().unwrap_or_default())
            ),
            Some(Killed::Cancelled) => format!(
                "worker {number} did not end within {} s and was ended: a hook hangs",
                seconds(self.policy.end_within)
            ),
            None if left.ending && (exit.status != Some(0) || exit.unanswered) => {
                format!(
                    "{} instead of ending properly: a hook may have done it",
                    exit.describe(number)
                )
            }
            None if !left.ending && left.did_something => {
                format!("{} between two examples: a hook may have done it", exit.describe(number))
            }
            None | Some(Killed::AfterResult) => return,
        };
        let lost = Effect::Lost { slot: number, message, exit: Box::new(exit.clone()) };
        match left.units.front_mut().filter(|_| !left.expected) {
            Some(next) if next.suspect.is_none() => next.suspect = Some(Box::new(lost)),
            Some(_) => {}
            None => self.effects.push(lost),
        }
    }

    /// A worker died with no example open: in a hook, perhaps. The unit it was on gets one more chance.
    /// Where a hook hangs, it does so for all examples of the unit; no need to wait for each of them.
    fn requeue_or_fail_unit(
        &mut self,
        units: &mut VecDeque<Unit>,
        number: u32,
        exit: &Exit,
        hook_hangs: bool,
    ) {
        let Some(first) = units.front_mut() else { return };
        first.deaths += 1;
        if first.deaths < 2 {
            return;
        }
        (first.deaths, first.suspect) = (0, None);
        let count = if hook_hangs { first.jobs.len() } else { 1 };
        let blamed: Vec<JobId> = first.jobs.drain(..count.min(first.jobs.len())).collect();
        if first.jobs.is_empty() {
            units.pop_front();
        }
        // A job was settled, so this cannot go on for ever.
        let pool = self.slots[number as usize].pool;
        self.pools[pool].idle_deaths = 0;
        let killed = hook_hangs.then_some(Killed::TimedOut);
        for job in blamed {
            let mut outcome = exit.outcome(killed, number);
            outcome.message = Some(if hook_hangs {
                "a hook took too long, before the example had started".to_owned()
            } else {
                format!("{}, before the example had started", exit.describe(number))
            });
            // It may have begun in an earlier worker, or too late in this one.
            let announced = self.jobs[job.0 as usize].announced;
            outcome.duration_ms = announced.map(|since| millis_between(since, self.now));
            self.settle(job, Some(number), Box::new(outcome));
        }
    }

    /// A slot is not to be used again: its worker ends when it has run what it runs, and what it has not started goes back.
    fn slot_left(&mut self, number: u32) {
        let end_by = self.kill_deadline();
        let Some(slot) = self.slots.get_mut(number as usize).filter(|slot| !slot.has_left) else {
            return;
        };
        slot.has_left = true;
        let (pool, phase) = (slot.pool, slot.phase);
        match phase {
            Phase::Ready => self.shut_down(number as usize, end_by),
            // One that starts hears it when it is ready.
            Phase::Empty | Phase::Starting | Phase::Ending { .. } | Phase::Killed => {}
        }
        self.unpin(number);
        self.give_up_if_broken(pool);
    }

    /// Workers of this pool cannot be had: once the last one is gone, what is left will not run.
    fn give_up_if_broken(&mut self, pool: usize) {
        let alive = |slot: &Slot| slot.pool == pool && slot.phase != Phase::Empty;
        if self.slots.iter().any(alive) {
            return;
        }
        let mut mine = self.slots.iter().filter(|slot| slot.pool == pool).peekable();
        if mine.peek().is_some() && mine.all(|slot| slot.has_left) {
            self.drop_queue(pool, "every slot that could run it has left");
            return;
        }
        if !self.pools[pool].broken {
            return;
        }
        let why = self.pools[pool].last_death.clone().unwrap_or_default();
        let message =
            format!("workers ended again and again before running anything; the last: {why}");
        self.drop_queue(pool, &message);
    }

    fn conclude(&mut self) {
        if self.open > 0 || (self.grows && self.stop.is_none()) {
            return;
        }
        let end_by = self.kill_deadline();
        for number in 0..self.slots.len() {
            if self.slots[number].phase == Phase::Ready {
                self.shut_down(number, end_by);
            }
        }
        if self.slots.iter().all(|slot| slot.phase == Phase::Empty) {
            self.ended = true;
            self.effects.push(Effect::Done);
        }
    }

    fn kill_deadline(&self) -> Moment {
        self.now + self.policy.end_within * 1000
    }

    fn shut_down(&mut self, number: usize, kill_at: Moment) {
        self.slots[number].phase = Phase::Ending { kill_at };
        self.effects.push(Effect::Shutdown { slot: index(number) });
    }

    fn check_deadlines(&mut self) {
        let now = self.now;
        for number in 0..self.slots.len() {
            let slot = &mut self.slots[number];
            let notices = slot.overdue(now, &self.policy, self.stop.is_some());
            if let Some((job, running)) = notices.slow {
                let assigned = self.assigned(job);
                self.effects.push(Effect::Slow { slot: index(number), assigned, running });
            }
            if let Some(timed_out) = notices.kill {
                self.effects.push(Effect::Kill { slot: index(number), timed_out });
            }
        }
        self.check_stop();
    }
}

fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a run fit a float's 53 bits")]
fn millis_between(from: Moment, to: Moment) -> Millis {
    Millis::new(to.saturating_sub(from) as f64 / 1000.0)
}

/// Whether the last attempt at an example without a pass rate fails the run.
fn fails_run(outcome: &ExampleFinished, policy: proctor_verdict::Policy) -> bool {
    let seen = Observation {
        number: AttemptNumber { repeat: 1, attempt: 1 },
        status: Some(&outcome.status),
        fault: outcome.fault.as_ref(),
        is_final: true,
        flaky: outcome.flaky == Some(true),
        checks: outcome.checks,
    };
    ExampleVerdict::of(&[seen], None, true).is_failure(policy)
}

#[cfg(test)]
mod tests;
