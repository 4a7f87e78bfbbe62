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
//! | ready, ending | `OwnJobs` | as before; what its worker has defined is run by this worker, in its own time, and lost with it |
//! | – | `SlotJoined` | a further slot, empty |
//! | any | `Unreachable` | empty: what it ran is run again as the same attempt, crashed when that happens too often; what it had not started goes back |
//! | any | `SlotLost` | empty for good; what its worker had becomes what `Unreachable` makes of it |
//!
//! Where slots may join ([`Policy::awaits_slots`]), work waits while there is none, until `NoMoreSlots`.
//!
//! What always holds: every job is reported final exactly once; a job runs in one slot at a time; nothing is
//! given to a slot that is not ready; after [`Effect::Done`] there is nothing more.

mod interface;
mod losses;
mod own_jobs;
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

pub(crate) use self::interface::{Assigned, Effect, Input, JobId, JobSpec, Moment, Policy};
pub use self::interface::{OnCrash, Schedule};
pub(crate) use self::slot::Exit;
use self::slot::{Phase, Slot, UnrunRequest};
use self::stop::Stop;
pub(crate) use self::stop::StopReason;

#[derive(Debug, Clone, PartialEq)]
struct Job {
    spec: JobSpec,
    attempt: u32,
    /// When the start of this attempt was announced, if it was.
    announced: Option<Moment>,
    /// How many workers could not be reached any more while they ran this attempt.
    losses: u32,
    done: bool,
    /// Whether only the worker that defined it can run it.
    is_own: bool,
}

impl Job {
    fn new(spec: JobSpec) -> Self {
        Self { spec, attempt: 1, announced: None, losses: 0, done: false, is_own: false }
    }
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
    /// Why no slot will join any more, where slots could join.
    no_more_slots: Option<String>,
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
            no_more_slots: None,
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
            Input::SlotLost { slot, message } => self.slot_lost(slot, &message),
            Input::NoMoreSlots { why } => self.await_no_slots(why),
            Input::Skip { jobs, why } => self.skip(&jobs, &why),
            Input::RateMissed => self.count_failure(None),
            Input::AddJobs { jobs } => self.add_jobs(jobs),
            Input::OwnJobs { slot, generation, jobs } => self.add_own_jobs(slot, generation, jobs),
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

    /// Whether there is a worker in a slot, or one is being started.
    pub(crate) fn is_served(&self, slot: u32) -> bool {
        self.slots.get(slot as usize).is_some_and(|slot| slot.phase != Phase::Empty)
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
        if !passed_over.is_empty() {
            self.refused(number, generation, &passed_over, "it went on to a later one");
        }
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
        if outcome.status == Status::NotRun
            && (!slot.remove_unstarted(&[job]).is_empty() || !slot.remove_own(&[job]).is_empty())
        {
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
        self.extend_ending(number);
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
        let own = slot.remove_own(jobs);
        let units = slot.remove_unstarted(jobs);
        for job in units.into_iter().flat_map(|unit| unit.jobs).chain(own) {
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
        let is_own = self.jobs[job.0 as usize].is_own;
        let again = failed && assigned.attempt <= retries && self.stop.is_none() && !is_own;
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
        let own = slot.remove_own(jobs);
        let units = slot.remove_unstarted(jobs);
        // One that gives nothing back is not asked again until something has changed.
        slot.asked_back = if units.is_empty() { UnrunRequest::Refused } else { UnrunRequest::No };
        for unit in units.into_iter().rev() {
            self.requeue(pool, Some(number), unit);
        }
        self.lose_own_jobs(number, own);
        self.drop_queues_if_stopped();
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
