//! Workers that end or are lost: what they ran is settled or run again, what they had not started goes back, and when workers
//! cannot be had any more the rest is given up.

use std::collections::VecDeque;

use proctor_events::{ExampleFinished, Fault, Status};

use super::slot::{EndedWorker, Exit, Killed, Phase, Slot};
use super::{Dispatcher, Effect, JobId, Unit, millis_between};

impl Dispatcher {
    pub(super) fn exited(&mut self, number: u32, generation: u32, exit: &Exit) {
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
        self.lose_own_jobs(number, left.own_jobs);
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
    pub(super) fn lost_contact(&mut self, number: u32, generation: u32, message: &str) {
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
        let has_left = self.slots[number as usize].has_left;
        if left.running.is_none() && !left.expected && !left.did_something && !has_left {
            self.pools[pool].idle_deaths += 1;
            self.pools[pool].last_death = Some(why);
        }
        self.lose_own_jobs(number, left.own_jobs);
        self.empty_slot(number, pool, left.units);
    }

    /// What a worker ran when the link to it was lost: another runs the same attempt, unless it was to be ended anyway or has
    /// been lost too often.
    fn run_again(&mut self, number: u32, job: JobId, left: &mut EndedWorker, why: &str) {
        let state = &mut self.jobs[job.0 as usize];
        state.losses += 1;
        let elsewhere = !state.is_own && state.losses <= self.policy.losses;
        if left.killed.is_none() && self.stop.is_none() && elsewhere {
            // In front of the rest of its unit, so that the order stays.
            left.units.push_front(Unit { jobs: [job].into(), ..Unit::default() });
            return;
        }
        let losses = state.losses;
        let mut outcome = match left.killed {
            None if self.stop.is_none() => ExampleFinished {
                status: Status::Crashed,
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
    pub(super) fn not_run(&self, job: JobId, why: &str) -> ExampleFinished {
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
    pub(super) fn slot_left(&mut self, number: u32) {
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

    /// A slot is gone with all it had.
    pub(super) fn slot_lost(&mut self, number: u32, message: &str) {
        let Some(slot) = self.slots.get_mut(number as usize) else { return };
        slot.has_left = true;
        let (pool, generation) = (slot.pool, slot.generation);
        self.unpin(number);
        self.lost_contact(number, generation, message);
        self.give_up_if_broken(pool);
    }

    /// No slot will join any more: where there is none, what waits will not run.
    pub(super) fn await_no_slots(&mut self, why: String) {
        self.no_more_slots.get_or_insert(why);
        for pool in 0..self.pools.len() {
            self.give_up_if_broken(pool);
        }
    }

    /// Workers of this pool cannot be had: once the last one is gone, what is left will not run.
    pub(super) fn give_up_if_broken(&mut self, pool: usize) {
        let alive = |slot: &Slot| slot.pool == pool && slot.phase != Phase::Empty;
        if self.slots.iter().any(alive) {
            return;
        }
        let has_slot = self.slots.iter().any(|slot| slot.pool == pool && !slot.has_left);
        if !has_slot && (!self.policy.awaits_slots || self.no_more_slots.is_some()) {
            let why = self.no_more_slots.clone();
            let why = why.unwrap_or_else(|| "every slot that could run it has left".to_owned());
            self.drop_queue(pool, &why);
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
}
