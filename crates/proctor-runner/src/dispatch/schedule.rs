//! Handing out work: queues, prefetch, taking back near the end, starting and replacing workers.

use std::collections::VecDeque;

use super::slot::{Phase, UnrunRequest};
use super::{Dispatcher, Effect, Job, JobId, JobSpec, Moment, Schedule, Slot, Unit, index};

/// A worker has at most so many examples waiting, however short they are.
const MAX_QUEUED_EXAMPLES: usize = 64;
/// While there is plenty left, up to so many times the usual work waits at a worker: a message costs more than the wait.
const MAX_AHEAD_FACTOR: f64 = 4.0;
/// Plenty: this part of a worker's share of what is left.
const AHEAD_SHARE: f64 = 8.0;
/// Work is taken back from a worker whose example has been running for so long (µs).
const STUCK_AFTER: Moment = 5_000;

impl Dispatcher {
    /// Makes units of further jobs and puts them, in order, behind what waits.
    pub(super) fn add_jobs(&mut self, jobs: Vec<JobSpec>) {
        let first = self.jobs.len();
        self.open += jobs.len();
        self.jobs.extend(jobs.into_iter().map(Job::new));
        for pool in 0..self.pools.len() {
            let mut units = self.units_of(pool, first);
            if self.policy.schedule == Schedule::LongestFirst {
                let key = |unit: &Unit| self.known_estimate(unit).map_or(f64::INFINITY, magnitude);
                // Stable: unknown ones, and equals, stay as listed.
                units.sort_by(|a, b| key(b).total_cmp(&key(a)));
            }
            let slots = self.policy.slots[pool].max(1) as usize;
            if self.policy.schedule == Schedule::RoundRobin {
                let pinned = &mut self.pools[pool].pinned;
                pinned.resize(slots, VecDeque::new());
                for (place, unit) in units.into_iter().enumerate() {
                    pinned[place % slots].push_back(unit);
                }
            } else {
                self.pools[pool].queue.extend(units);
            }
        }
        self.drop_queues_if_stopped();
        for pool in 0..self.pools.len() {
            self.give_up_if_broken(pool);
        }
    }

    fn units_of(&self, pool: usize, first: usize) -> Vec<Unit> {
        let mut units: Vec<Unit> = Vec::with_capacity(self.jobs.len() - first);
        let mut last = None;
        let mine = self.jobs.iter().enumerate().skip(first);
        for (number, job) in mine.filter(|(_, job)| job.spec.pool == pool) {
            let id = JobId(index(number));
            match (job.spec.unit, units.last_mut()) {
                (Some(unit), Some(open)) if last == Some(unit) => open.jobs.push_back(id),
                _ => units.push(Unit { jobs: [id].into(), ..Unit::default() }),
            }
            last = job.spec.unit;
        }
        units
    }

    /// The sum of recorded durations; `None` if one is not known.
    fn known_estimate(&self, unit: &Unit) -> Option<f64> {
        unit.jobs.iter().map(|job| self.jobs[job.0 as usize].spec.estimate).sum()
    }

    /// The best guess at how long a unit takes; `None` before anything is known.
    fn guess(&self, pool: usize, unit: &Unit) -> Option<f64> {
        let (sum, count) = self.pools[pool].seen;
        let mean = (count > 0).then(|| sum / f64::from(count));
        unit.jobs.iter().map(|job| self.jobs[job.0 as usize].spec.estimate.or(mean)).sum()
    }

    /// Puts a unit back at the front.
    pub(super) fn requeue(&mut self, pool: usize, slot: Option<u32>, unit: Unit) {
        let state = &mut self.pools[pool];
        let first = self.slots.iter().position(|slot| slot.pool == pool).unwrap_or(0);
        let place = slot.filter(|slot| !self.slots[*slot as usize].has_left);
        let place = place.map(|slot| slot as usize - first);
        match place.and_then(|place| state.pinned.get_mut(place)) {
            Some(own) => own.push_front(unit),
            None => state.queue.push_front(unit),
        }
    }

    /// What only this slot was to run, any slot of its pool may run.
    pub(super) fn unpin(&mut self, slot: u32) {
        let pool = self.slots[slot as usize].pool;
        let first = self.slots.iter().position(|slot| slot.pool == pool).unwrap_or(0);
        let state = &mut self.pools[pool];
        if let Some(own) = state.pinned.get_mut(slot as usize - first) {
            state.queue.append(own);
        }
    }

    fn waiting(&self, number: usize) -> usize {
        let pool = &self.pools[self.slots[number].pool];
        let first = self.slots.iter().position(|slot| slot.pool == self.slots[number].pool);
        let own = pool.pinned.get(number - first.unwrap_or(0)).map_or(0, VecDeque::len);
        own + pool.queue.len()
    }

    fn take(&mut self, number: usize) -> Option<Unit> {
        let pool = self.slots[number].pool;
        let first = self.slots.iter().position(|slot| slot.pool == pool).unwrap_or(0);
        let place = self.place_in_queue(number);
        let state = &mut self.pools[pool];
        let own = state.pinned.get_mut(number - first).and_then(VecDeque::pop_front);
        own.or_else(|| state.queue.remove(place))
    }

    /// The unit that [`Self::take`] would take.
    fn next_unit(&self, number: usize) -> Option<&Unit> {
        let pool = self.slots[number].pool;
        let first = self.slots.iter().position(|slot| slot.pool == pool).unwrap_or(0);
        let state = &self.pools[pool];
        let own = state.pinned.get(number - first).and_then(VecDeque::front);
        own.or_else(|| state.queue.get(self.place_in_queue(number)))
    }

    /// A retry goes to another slot if there is anything else to do here.
    fn place_in_queue(&self, number: usize) -> usize {
        let queue = &self.pools[self.slots[number].pool].queue;
        let mine = Some(index(number));
        queue.iter().position(|unit| unit.avoid != mine).unwrap_or(0)
    }

    fn next_is_gated(&self, number: usize) -> bool {
        self.next_unit(number)
            .is_some_and(|unit| unit.jobs.iter().any(|job| self.jobs[job.0 as usize].spec.gated))
    }

    /// Starts workers for slots that have none, as long as there is work for them.
    pub(super) fn start_slots(&mut self) {
        // Looked at after every input: with thousands of slots the quick way out matters.
        let empty = self.slots.iter().any(|slot| slot.phase == Phase::Empty);
        if self.stop.is_some() || !empty || self.pools.iter().all(super::Pool::is_empty) {
            return;
        }
        let mut claimed: Vec<usize> = vec![0; self.pools.len()];
        for number in 0..self.slots.len() {
            let pool = self.slots[number].pool;
            let phase = self.slots[number].phase;
            // Workers on their way will take a unit each.
            if phase == Phase::Starting {
                claimed[pool] += 1;
            }
            let waiting = self.waiting(number);
            let wanted = if self.pools[pool].pinned.is_empty() {
                waiting > claimed[pool]
            } else {
                waiting > 0
            };
            let usable = phase == Phase::Empty && !self.slots[number].has_left;
            if usable && wanted && !self.pools[pool].broken {
                claimed[pool] += 1;
                let generation = self.slots[number].start();
                self.effects.push(Effect::Start { slot: index(number), generation });
            }
        }
    }

    /// Gives every ready slot what it should have, and takes back what is stuck.
    pub(super) fn balance(&mut self) {
        if self.stop.is_some() {
            return;
        }
        for number in 0..self.slots.len() {
            let slot = &self.slots[number];
            // A slot that has something to do was filled when something last happened to it.
            let concerned = slot.is_idle() || self.touched == Some(index(number));
            if slot.phase == Phase::Ready && concerned {
                self.top_up(number);
            }
        }
        self.take_back();
        self.start_slots();
    }

    fn top_up(&mut self, number: usize) {
        let limit = self.policy.max_per_worker;
        let slot = &self.slots[number];
        let had = slot.count as usize + usize::from(slot.running.is_some());
        if limit.is_some_and(|limit| had + waiting_jobs(slot) >= limit as usize) {
            if slot.is_idle() && self.open > 0 {
                let end_by = self.kill_deadline();
                self.shut_down(number, end_by);
            }
            return;
        }
        let share = limit.map_or(usize::MAX, |limit| limit as usize - had - waiting_jobs(slot));
        let mut capacity = share.min(self.jobs_before_stop(slot));
        let units = self.take_units(number, &mut capacity);
        if units.is_empty() {
            return;
        }
        let assigned = units
            .iter()
            .map(|unit| unit.jobs.iter().map(|job| self.assigned(*job)).collect())
            .collect();
        let limit = self.policy.fail_fast;
        let failures_left = limit.map(|limit| limit.saturating_sub(self.failures));
        let slot = &mut self.slots[number];
        if slot.is_idle() {
            slot.quiet_since = self.now;
        }
        slot.counts_failures = true;
        slot.units.extend(units);
        let slot = index(number);
        self.effects.push(Effect::Assign { slot, units: assigned, failures_left });
    }

    /// How many more jobs a slot may have so that it cannot run past the failure that stops the run.
    fn jobs_before_stop(&self, slot: &Slot) -> usize {
        let Some(limit) = self.policy.fail_fast else { return usize::MAX };
        let has = usize::from(slot.running.is_some()) + waiting_jobs(slot);
        (limit.saturating_sub(self.failures) as usize).saturating_sub(has)
    }

    /// The units to add to what a slot has: one if it has nothing to do, more if they are short.
    fn take_units(&mut self, number: usize, capacity: &mut usize) -> Vec<Unit> {
        let slot = &self.slots[number];
        let (pool, idle) = (slot.pool, slot.is_idle());
        if self.waiting(number) == 0 || (!idle && waiting_jobs(slot) > MAX_QUEUED_EXAMPLES / 2) {
            return Vec::new();
        }
        let prefetch = self.policy.prefetch;
        let ready =
            self.slots.iter().filter(|slot| slot.pool == pool && slot.phase == Phase::Ready);
        let share = (self.waiting(number) / ready.count().max(1)).max(usize::from(idle));
        let ahead =
            prefetch.max(self.safe_queue_millis(pool, share).min(prefetch * MAX_AHEAD_FACTOR));
        let mut work: Option<f64> = slot.units.iter().map(|unit| self.guess(pool, unit)).sum();
        let mut count = waiting_jobs(slot);
        // Nothing waits behind a long example, or behind one of unknown duration: by
        // the time it ends, another worker may be free.
        let running =
            slot.running.map(|running| Unit { jobs: [running.job].into(), ..Unit::default() });
        let busy = running.map(|unit| self.guess(pool, &unit));
        if busy.is_some_and(|guess| guess.is_none_or(|millis| millis >= prefetch)) {
            return Vec::new();
        }
        // Refilling at half saves messages: one for many examples instead of one for each.
        if !idle && work.is_none_or(|work| work > ahead / 2.0) {
            return Vec::new();
        }
        let mut units = Vec::new();
        while units.len() < share && *capacity > 0 {
            let first = idle && units.is_empty();
            if !first && (work.is_none_or(|work| work >= ahead) || count >= MAX_QUEUED_EXAMPLES) {
                break;
            }
            // What an earlier repetition may make unnecessary is given out when it can begin at once.
            if !first && self.next_is_gated(number) {
                break;
            }
            let Some(unit) = self.take(number) else { break };
            work = work.zip(self.guess(pool, &unit)).map(|(sum, more)| sum + more);
            count += unit.jobs.len();
            *capacity = capacity.saturating_sub(unit.jobs.len());
            units.push(unit);
        }
        units
    }

    /// So much work (ms) a slot may have waiting without fear that another runs dry: a part of its share of the rest.
    fn safe_queue_millis(&self, pool: usize, share: usize) -> f64 {
        let (sum, count) = self.pools[pool].seen;
        if count == 0 {
            return 0.0;
        }
        let share = f64::from(u32::try_from(share).unwrap_or(u32::MAX));
        sum / f64::from(count) * share / AHEAD_SHARE
    }

    /// When a slot has nothing to do and the queue is empty, work that waits behind a long example is
    /// taken back from the slot that has most of it.
    fn take_back(&mut self) {
        for pool in 0..self.pools.len() {
            let state = &self.pools[pool];
            if !state.queue.is_empty() || !state.pinned.is_empty() {
                continue;
            }
            let idle = self.slots.iter().any(|slot| slot.pool == pool && slot.is_idle());
            let waiting = |slot: &Slot| slot.asked_back == UnrunRequest::Waiting;
            let asked = self.slots.iter().any(|slot| slot.pool == pool && waiting(slot));
            if !idle || asked {
                continue;
            }
            let victim = (0..self.slots.len())
                .filter(|number| self.slots[*number].pool == pool && self.is_stuck(*number))
                .max_by_key(|number| self.slots[*number].untouched().len());
            if let Some(number) = victim {
                let jobs = self.slots[number].untouched();
                self.slots[number].asked_back = UnrunRequest::Waiting;
                self.effects.push(Effect::TakeBack { slot: index(number), jobs });
            }
        }
    }

    fn is_stuck(&self, number: usize) -> bool {
        let slot = &self.slots[number];
        let long = self.now >= slot.busy_since() + STUCK_AFTER;
        let may_ask = slot.asked_back == UnrunRequest::No;
        slot.phase == Phase::Ready && may_ask && long && slot.has_untouched()
    }

    /// When work may have to be taken back.
    pub(super) fn next_balance(&self) -> Option<Moment> {
        if self.stop.is_some() {
            return None;
        }
        let pool_with_idle = |pool| {
            let state: &super::Pool = &self.pools[pool];
            state.queue.is_empty()
                && state.pinned.is_empty()
                && self.slots.iter().any(|slot| slot.pool == pool && slot.is_idle())
        };
        self.slots
            .iter()
            .filter(|slot| {
                slot.phase == Phase::Ready
                    && slot.asked_back == UnrunRequest::No
                    && pool_with_idle(slot.pool)
            })
            .filter(|slot| slot.has_untouched())
            .map(|slot| slot.busy_since() + STUCK_AFTER)
            .filter(|moment| *moment > self.now)
            .min()
    }
}

/// Durations in steps of a quarter; whatever is short is equally short.
///
/// Exact durations would tear groups apart for the sake of microseconds, and entering a group costs more
/// than that.
fn magnitude(millis: f64) -> f64 {
    const SHORT: f64 = 5.0;
    if millis <= SHORT { 0.0 } else { ((millis / SHORT).ln() / 1.25_f64.ln()).ceil() }
}

fn waiting_jobs(slot: &Slot) -> usize {
    slot.units.iter().map(|unit| unit.jobs.len()).sum()
}
