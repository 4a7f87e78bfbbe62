//! Who is given what, how much of it at once, and what is taken back: the schedule, pinned down input by input.

use super::*;

/// Where each job of the pool of two slots may run: with round-robin in its own slot, and `first` slots belong to another pool.
fn round_robin_in_second_pool(first: u32, gated: bool) -> Dispatcher {
    let policy =
        Policy { schedule: Schedule::RoundRobin, slots: vec![first, 2], ..Policy::default() };
    let spec = JobSpec { pool: 1, gated, ..job(None, Some(0.1)) };
    let mut dispatcher = Dispatcher::new(policy, vec![spec; 6]);
    let starts = [first, first + 1].map(|slot| Effect::Start { slot, generation: 1 });
    assert_eq!(dispatcher.step(0, Input::Begin), starts);
    dispatcher
}

/// The jobs of every unit that a slot is given.
fn given(effects: &[Effect], slot: u32) -> Vec<Vec<u32>> {
    let of = |effect: &Effect| match effect {
        Effect::Assign { slot: other, units, .. } if *other == slot => Some(units.clone()),
        _ => None,
    };
    let units = effects.iter().filter_map(of).flatten();
    units.map(|unit| unit.iter().map(|assigned| assigned.job.0).collect()).collect()
}

fn finished_in(slot: u32, job: u32, millis: f64) -> Input {
    let outcome = ExampleFinished {
        status: Status::Passed,
        duration_ms: Some(Millis::new(millis)),
        ..ExampleFinished::default()
    };
    Input::Finished { slot, generation: 1, job: JobId(job), outcome: Box::new(outcome) }
}

fn started(slot: u32, job: u32) -> Input {
    Input::Started { slot, generation: 1, job: JobId(job) }
}

fn ready_at(slot: u32) -> Input {
    Input::Ready { slot, generation: 1 }
}

#[test]
fn round_robin_counts_the_slots_of_its_pool() {
    let mut dispatcher = round_robin_in_second_pool(3, false);
    let effects = dispatcher.step(1, ready_at(3));
    assert_eq!(given(&effects, 3), [[0], [2], [4]]);
    let effects = dispatcher.step(2, ready_at(4));
    assert_eq!(given(&effects, 4), [[1]], "half of it, since two workers are ready");
}

#[test]
fn what_belongs_to_a_slot_comes_back_to_it_when_its_worker_dies() {
    let mut dispatcher = round_robin_in_second_pool(3, false);
    let _ = dispatcher.step(1, ready_at(3));
    let _ = dispatcher.step(2, ready_at(4));
    let exited = Input::Exited { slot: 4, generation: 1, exit: by_signal(9) };
    assert_eq!(dispatcher.step(3, exited), [Effect::Start { slot: 4, generation: 2 }]);
    for job in [0, 2, 4] {
        let _ = dispatcher.step(4, started(3, job));
        let effects = dispatcher.step(5, finished_in(3, job, 0.1));
        assert!(given(&effects, 3).is_empty(), "the others belong to slot 4");
    }
    let effects = dispatcher.step(6, Input::Ready { slot: 4, generation: 2 });
    assert_eq!(given(&effects, 4), [[1]], "before those that it had not been given");
}

#[test]
fn what_belonged_to_a_slot_that_leaves_is_run_by_the_others_of_its_pool() {
    let policy = Policy { schedule: Schedule::RoundRobin, slots: vec![3, 2], ..Policy::default() };
    let specs = vec![JobSpec { pool: 1, ..job(None, None) }; 6];
    let mut world = World::new(policy, specs, vec![Fate::Pass; 6]);
    world.plan(10, Input::SlotLeft { slot: 3 });
    world.run();
    assert_eq!(world.order.keys().collect::<Vec<_>>(), [&4]);
    assert!(world.finals.values().all(|status| *status == Status::Passed));
}

/// An earlier repetition may make a later one unnecessary, so none waits at a worker, not even its own.
#[test]
fn a_gated_job_is_given_out_when_it_can_begin() {
    let mut dispatcher = round_robin_in_second_pool(3, true);
    let effects = dispatcher.step(1, ready_at(3));
    assert_eq!(given(&effects, 3), [[0]]);
    let effects = dispatcher.step(2, started(3, 0));
    assert!(given(&effects, 3).is_empty());
    let effects = dispatcher.step(3, finished_in(3, 0, 0.1));
    assert_eq!(given(&effects, 3), [[2]]);
}

/// Runs jobs of a known duration in the only slot; returns before which job how many further ones were given.
fn messages(jobs: u32, estimate: Option<f64>, millis: f64) -> Vec<(u32, usize)> {
    let specs = vec![job(None, estimate); jobs as usize];
    let mut dispatcher = Dispatcher::new(slots(1), specs);
    let _ = dispatcher.step(0, Input::Begin);
    let mut all = Vec::new();
    let mut note = |before: u32, effects: Vec<Effect>| {
        let count = given(&effects, 0).len();
        if count > 0 {
            all.push((before, count));
        }
    };
    note(0, dispatcher.step(1, ready_at(0)));
    for job in 0..jobs {
        note(job, dispatcher.step(2, started(0, job)));
        note(job + 1, dispatcher.step(3, finished_in(0, job, millis)));
    }
    all
}

/// Ten milliseconds of work wait at a worker, and it is filled up when half of that is left.
#[test]
fn known_jobs_wait_up_to_the_prefetch_and_are_refilled_at_half() {
    let expected = [(0, 5), (2, 3), (5, 3), (8, 3), (11, 3), (14, 3), (17, 3), (20, 1)];
    assert_eq!(messages(24, Some(2.0), 2.0), expected);
}

#[test]
fn jobs_of_unknown_length_are_given_one_by_one_until_one_has_run() {
    assert_eq!(messages(12, None, 2.0), [(0, 1), (1, 5), (3, 3), (6, 3)]);
    assert_eq!(messages(3, None, 20.0), [(0, 1), (1, 1), (2, 1)]);
}

#[test]
fn however_short_they_are_no_more_than_a_number_of_jobs_waits() {
    let expected = [(0, 64), (31, 32), (63, 32), (95, 32), (127, 32), (159, 8)];
    assert_eq!(messages(200, Some(0.01), 0.01), expected);
}

/// An eighth of what is left waits, up to forty milliseconds.
#[test]
fn with_plenty_left_more_than_the_prefetch_waits() {
    let all = messages(400, Some(2.0), 2.0);
    assert_eq!(all[..4], [(0, 5), (1, 16), (10, 10), (20, 10)]);
    let all = messages(100, Some(2.0), 2.0);
    assert_eq!(all[..6], [(0, 5), (1, 8), (7, 6), (13, 6), (20, 6), (26, 5)]);
}

/// The first of two slots runs job 0 since moment 2 and has all others waiting.
fn work_waits_at_the_first() -> Dispatcher {
    let mut dispatcher = Dispatcher::new(slots(2), vec![job(None, Some(0.1)); 6]);
    let _ = dispatcher.step(0, Input::Begin);
    let effects = dispatcher.step(1, ready_at(0));
    assert_eq!(given(&effects, 0), [[0], [1], [2], [3], [4], [5]]);
    let _ = dispatcher.step(2, started(0, 0));
    dispatcher
}

#[test]
fn work_that_waits_for_five_milliseconds_is_taken_back_for_a_worker_without_any() {
    let mut dispatcher = work_waits_at_the_first();
    assert_eq!(dispatcher.next_deadline(), None, "no other worker is ready");
    assert_eq!(dispatcher.step(3, ready_at(1)), []);
    assert_eq!(dispatcher.next_deadline(), Some(5_002));
    assert_eq!(dispatcher.step(5_001, Input::Tick), []);
    let jobs: Vec<JobId> = (1..6).map(JobId).collect();
    let asks = Effect::TakeBack { slot: 0, jobs };
    assert_eq!(dispatcher.step(5_002, Input::Tick), [asks]);
    assert_eq!(dispatcher.next_deadline(), None, "its answer is awaited");
    assert_eq!(dispatcher.step(9_000, Input::Tick), []);
    let jobs = vec![JobId(5)];
    let effects = dispatcher.step(9_001, Input::Returned { slot: 0, generation: 1, jobs });
    assert_eq!(given(&effects, 1), [[5]]);
    assert_eq!(dispatcher.next_deadline(), None, "the other has something to do");
}

#[test]
fn nothing_is_taken_back_while_every_worker_is_busy_or_from_one_that_ends() {
    let mut busy = work_waits_at_the_first();
    let _ = busy.step(3, ready_at(1));
    let jobs = vec![JobId(5)];
    let effects = busy.step(4, Input::Returned { slot: 0, generation: 1, jobs });
    assert_eq!(given(&effects, 1), [[5]]);
    assert_eq!(busy.next_deadline(), None);
    assert_eq!(busy.step(50_000, Input::Tick), []);

    let mut ends = work_waits_at_the_first();
    let _ = ends.step(3, Input::SlotLeft { slot: 0 });
    let _ = ends.step(4, ready_at(1));
    assert_eq!(ends.next_deadline(), None);
    assert_eq!(ends.step(50_000, Input::Tick), []);
}

#[test]
fn work_is_taken_back_from_the_worker_that_has_most_and_within_its_pool() {
    let mut dispatcher = Dispatcher::new(slots(3), vec![job(None, Some(2.0)); 9]);
    let _ = dispatcher.step(0, Input::Begin);
    let first = dispatcher.step(1, ready_at(0));
    let _ = dispatcher.step(2, started(0, 0));
    let second = dispatcher.step(3, ready_at(1));
    let third = dispatcher.step(4, started(1, 5));
    assert_eq!((given(&first, 0).len(), given(&second, 1).len()), (5, 2));
    assert_eq!(given(&third, 1), [[7]]);
    let last = dispatcher.step(5, ready_at(2));
    assert_eq!(given(&last, 2), [[8]]);
    let _ = dispatcher.step(6, started(2, 8));
    let _ = dispatcher.step(7, finished_in(2, 8, 2.0));
    let jobs: Vec<JobId> = (1..5).map(JobId).collect();
    assert_eq!(dispatcher.step(9_000, Input::Tick), [Effect::TakeBack { slot: 0, jobs }]);

    let policy = Policy { slots: vec![1, 1], ..Policy::default() };
    let in_pool = |pool| JobSpec { pool, ..job(None, Some(0.1)) };
    let mut pools = Dispatcher::new(policy, vec![in_pool(0), in_pool(0), in_pool(1)]);
    let _ = pools.step(0, Input::Begin);
    let _ = pools.step(1, ready_at(0));
    let _ = pools.step(2, started(0, 0));
    let _ = pools.step(3, ready_at(1));
    let _ = pools.step(4, started(1, 2));
    assert_eq!(reported(&pools.step(5, finished_in(1, 2, 0.1))).len(), 1);
    assert_eq!(pools.next_deadline(), None);
    assert_eq!(pools.step(9_000, Input::Tick), []);
}

#[test]
fn a_worker_is_given_its_share_and_no_more() {
    let policy = Policy { max_per_worker: Some(3), ..slots(1) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, Some(0.1)); 5]);
    let _ = dispatcher.step(0, Input::Begin);
    let effects = dispatcher.step(1, ready_at(0));
    assert_eq!(given(&effects, 0), [[0], [1], [2]]);
    for job in 0..3 {
        let effects = dispatcher.step(2, started(0, job));
        assert!(given(&effects, 0).is_empty());
        let effects = dispatcher.step(3, finished_in(0, job, 0.1));
        assert_eq!(effects.contains(&Effect::Shutdown { slot: 0 }), job == 2, "{effects:?}");
    }
    let exit = Exit { status: Some(0), ..Exit::default() };
    let effects = dispatcher.step(4, Input::Exited { slot: 0, generation: 1, exit });
    assert_eq!(effects, [Effect::Start { slot: 0, generation: 2 }]);
    let effects = dispatcher.step(5, Input::Ready { slot: 0, generation: 2 });
    assert_eq!(given(&effects, 0), [[3], [4]]);
}

/// If all that a worker has failed, the run would stop with the last of it.
#[test]
fn a_worker_is_given_no_more_than_may_fail() {
    let policy = Policy { fail_fast: Some(3), ..slots(1) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, Some(0.1)); 9]);
    let _ = dispatcher.step(0, Input::Begin);
    let effects = dispatcher.step(1, ready_at(0));
    assert_eq!(given(&effects, 0), [[0], [1], [2]]);
    let effects = dispatcher.step(2, started(0, 0));
    assert!(given(&effects, 0).is_empty(), "what it runs may fail too");
    let effects = dispatcher.step(3, finished_in(0, 0, 0.1));
    assert_eq!(given(&effects, 0), [[3]], "it did not");
    let _ = dispatcher.step(4, started(0, 1));
    let outcome = ExampleFinished { status: Status::Failed, ..ExampleFinished::default() };
    let (job, outcome) = (JobId(1), Box::new(outcome));
    let effects = dispatcher.step(5, Input::Finished { slot: 0, generation: 1, job, outcome });
    assert!(given(&effects, 0).is_empty(), "two are left to fail, and two wait");
}

#[test]
fn a_retry_goes_to_another_slot_if_there_is_something_else_to_do() {
    let policy = Policy { retries: 1, ..slots(2) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, None); 3]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, ready_at(0));
    let _ = dispatcher.step(2, started(0, 0));
    let outcome = ExampleFinished {
        status: Status::Failed,
        duration_ms: Some(Millis::new(50.0)),
        ..ExampleFinished::default()
    };
    let (job, outcome) = (JobId(0), Box::new(outcome));
    let effects = dispatcher.step(3, Input::Finished { slot: 0, generation: 1, job, outcome });
    assert_eq!(given(&effects, 0), [[1]]);
    let effects = dispatcher.step(4, ready_at(1));
    assert_eq!(given(&effects, 1), [[0]], "it is the first in the queue");
}

/// Durations count in steps of a quarter, and up to five milliseconds all are short.
#[test]
fn estimates_that_are_about_the_same_leave_the_order_alone() {
    let estimates = [6.0, 5.0, 4.9, 6.2, 7.9, 100.0];
    let specs = estimates.map(|estimate| job(None, Some(estimate))).to_vec();
    let mut world = World::new(slots(1), specs, vec![Fate::Pass; 6]);
    world.run();
    assert_eq!(world.order[&0], [5, 4, 0, 3, 1, 2].map(JobId));
}
