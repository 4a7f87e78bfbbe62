//! The dispatcher against a simulated world, in every order that time allows.

use proptest::prelude::*;

use super::world::{Fate, World};
use super::*;

mod ends;
mod own_jobs;
mod scheduling;

fn job(unit: Option<u32>, estimate: Option<f64>) -> JobSpec {
    JobSpec { pool: 0, unit, estimate, gated: false }
}

fn world(policy: Policy, fates: &[Fate]) -> World {
    World::new(policy, vec![job(None, None); fates.len()], fates.to_vec())
}

fn slots(count: u32) -> Policy {
    Policy { slots: vec![count], ..Policy::default() }
}

#[test]
fn every_example_runs_once_and_the_run_ends() {
    let mut world = world(slots(4), &[Fate::Pass; 300]);
    world.run();
    assert_eq!(world.finals.len(), 300);
    assert!(world.finals.values().all(|status| *status == Status::Passed));
    assert!(world.attempts.values().all(|attempts| attempts.len() == 1));
    assert_eq!(world.started, 4);
}

#[test]
fn nothing_to_do_ends_at_once() {
    let mut dispatcher = Dispatcher::new(slots(4), Vec::new());
    assert_eq!(dispatcher.step(0, Input::Begin), [Effect::Done]);
}

/// Lets the only worker run one job.
fn run_one(dispatcher: &mut Dispatcher, now: Moment, job: u32) -> Vec<Effect> {
    let (slot, generation, job) = (0, 1, JobId(job));
    let _ = dispatcher.step(now, Input::Started { slot, generation, job });
    let outcome =
        Box::new(ExampleFinished { status: Status::Passed, ..ExampleFinished::default() });
    dispatcher.step(now + 1, Input::Finished { slot, generation, job, outcome })
}

#[test]
fn a_run_that_grows_waits_for_more_jobs_and_ends_when_there_are_none() {
    let policy = Policy { grows: true, ..slots(1) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, None)]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let effects = run_one(&mut dispatcher, 2, 0);
    assert!(matches!(effects[..], [Effect::Report { .. }]), "{effects:?}");
    let effects = dispatcher.step(5, Input::AddJobs { jobs: vec![job(None, None)] });
    assert!(matches!(effects[..], [Effect::Assign { slot: 0, .. }]), "{effects:?}");
    let _ = run_one(&mut dispatcher, 6, 1);
    assert_eq!(dispatcher.step(9, Input::NoMoreJobs), [Effect::Shutdown { slot: 0 }]);
    let exit = Exit { status: Some(0), ..Exit::default() };
    let exited = Input::Exited { slot: 0, generation: 1, exit };
    assert_eq!(dispatcher.step(10, exited), [Effect::Done]);
}

#[test]
fn a_run_that_grows_ends_when_it_is_stopped() {
    let policy = Policy { grows: true, ..slots(1) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, None)]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let _ = run_one(&mut dispatcher, 2, 0);
    let stop = dispatcher.step(5, Input::Stop(StopReason::Cancelled));
    assert_eq!(stop, [Effect::Shutdown { slot: 0 }]);
    assert!(dispatcher.is_stopping());
    let late = dispatcher.step(6, Input::AddJobs { jobs: vec![job(None, None)] });
    assert!(
        matches!(&late[..], [Effect::Report { outcome, .. }] if outcome.status == Status::NotRun),
        "{late:?}"
    );
}

#[test]
fn no_more_workers_than_units() {
    let mut world = world(slots(16), &[Fate::Pass; 3]);
    world.run();
    assert_eq!(world.started, 3);
}

#[test]
fn a_crash_costs_its_example_and_nothing_else() {
    let mut fates = vec![Fate::Pass; 60];
    fates[7] = Fate::Crash;
    fates[8] = Fate::Crash;
    let mut world = world(slots(2), &fates);
    world.run();
    let crashed: Vec<u32> =
        world.finals.iter().filter(|(_, s)| **s == Status::Crashed).map(|(job, _)| job.0).collect();
    assert_eq!(crashed, [7, 8]);
    assert_eq!(world.finals.values().filter(|s| **s == Status::Passed).count(), 58);
    assert_eq!(world.started, 4);
}

#[test]
fn with_on_crash_stop_a_crash_ends_everything_at_once() {
    let mut fates = vec![Fate::Hang; 8];
    fates[0] = Fate::Crash;
    let policy = Policy { on_crash: OnCrash::Stop, retries: 3, grace: 60_000, ..slots(2) };
    let mut world = world(policy, &fates);
    world.run();
    assert_eq!(world.attempts[&JobId(0)], [Status::Crashed], "it is not tried again");
    assert_eq!(world.finals[&JobId(1)], Status::Cancelled);
    assert!(world.finals.values().skip(2).all(|status| *status == Status::NotRun));
    assert_eq!((world.started, world.lost.len()), (2, 0));
    assert!(world.now < 20_000, "no grace: {}", world.now);
}

#[test]
fn with_on_crash_stop_a_crash_between_examples_is_an_error() {
    for fate in [Fate::DieBefore, Fate::CrashAfterResult] {
        let policy = Policy { on_crash: OnCrash::Stop, ..slots(1) };
        let mut world = world(policy, &[fate, Fate::Pass, Fate::Pass]);
        world.run();
        assert_eq!(world.lost.len(), 1, "{fate:?}");
        assert_eq!(world.finals.len(), 3);
        assert_eq!(world.finals[&JobId(2)], Status::NotRun, "{fate:?}");
    }
}

#[test]
fn a_hang_is_cut_at_its_limit() {
    let mut fates = vec![Fate::Pass; 20];
    fates[3] = Fate::Hang;
    let mut world = world(Policy { timeout: Some(1000), ..slots(2) }, &fates);
    world.run();
    assert_eq!(world.finals[&JobId(3)], Status::TimedOut);
    assert!(world.now < 1_100_000, "{}", world.now);
}

#[test]
fn a_slow_example_is_announced_once() {
    let mut dispatcher =
        Dispatcher::new(Policy { slow_after: Some(10), ..slots(1) }, vec![job(None, None)]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let _ = dispatcher.step(2, Input::Started { slot: 0, generation: 1, job: JobId(0) });
    assert_eq!(dispatcher.next_deadline(), Some(10_002));
    assert_eq!(dispatcher.step(10_001, Input::Tick), []);
    let effects = dispatcher.step(10_002, Input::Tick);
    assert!(matches!(effects[..], [Effect::Slow { running: 10_000, .. }]), "{effects:?}");
    assert_eq!(dispatcher.step(20_000, Input::Tick), []);
}

#[test]
fn a_pass_after_a_failure_is_flaky() {
    let mut world =
        world(Policy { retries: 2, ..slots(2) }, &[Fate::Flaky, Fate::Fail, Fate::Pass]);
    world.run();
    assert_eq!(world.attempts[&JobId(0)], [Status::Failed, Status::Passed]);
    assert_eq!(world.attempts[&JobId(1)].len(), 3);
    assert_eq!(world.finals[&JobId(1)], Status::Failed);
}

#[test]
fn fail_fast_starts_nothing_more() {
    let mut fates = vec![Fate::Pass; 200];
    fates[0] = Fate::Fail;
    let mut world = world(Policy { fail_fast: Some(1), ..slots(2) }, &fates);
    world.run();
    let ran = world.finals.values().filter(|status| **status != Status::NotRun).count();
    assert!(ran < 10, "{ran} ran");
    assert_eq!(world.finals.len(), 200);
}

#[test]
fn a_stop_lets_running_examples_finish_and_cuts_them_after_the_grace() {
    let mut world =
        world(Policy { grace: 100, ..slots(3) }, &[Fate::Pass, Fate::Hang, Fate::Pass, Fate::Pass]);
    world.plan(400, Input::Stop(StopReason::Cancelled));
    world.run();
    assert_eq!(world.finals[&JobId(0)], Status::Passed);
    assert_eq!(world.finals[&JobId(1)], Status::Cancelled);
    assert_eq!(world.finals[&JobId(3)], Status::NotRun);
    assert!(world.now < 102_000, "{}", world.now);
}

#[test]
fn a_second_stop_kills_at_once() {
    let mut world = world(slots(2), &[Fate::Hang, Fate::Hang]);
    world.plan(1000, Input::Stop(StopReason::Cancelled));
    world.plan(2000, Input::KillNow);
    world.run();
    assert!(world.now < 3000, "{}", world.now);
}

#[test]
fn units_stay_together_and_in_order() {
    let specs: Vec<JobSpec> = (0..40).map(|n| job(Some(n / 5), None)).collect();
    let mut world = World::new(slots(3), specs, vec![Fate::Pass; 40]);
    world.run();
    for order in world.order.values() {
        for unit in order.chunks(5) {
            assert!(unit.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "{order:?}");
            assert_eq!(unit[0].0 % 5, 0);
        }
    }
}

#[test]
fn the_rest_of_a_unit_survives_a_crash_in_it() {
    let specs: Vec<JobSpec> = (0..6).map(|_| job(Some(0), None)).collect();
    let mut fates = vec![Fate::Pass; 6];
    fates[2] = Fate::Crash;
    let mut world = World::new(slots(2), specs, fates);
    world.run();
    assert_eq!(world.finals.values().filter(|s| **s == Status::Passed).count(), 5);
}

#[test]
fn a_worker_that_dies_before_an_example_is_given_one_more_chance() {
    let mut world = world(slots(1), &[Fate::Pass, Fate::DieBefore, Fate::Pass]);
    world.run();
    assert_eq!(world.finals[&JobId(1)], Status::Crashed);
    assert_eq!(world.finals[&JobId(2)], Status::Passed);
    assert_eq!(world.started, 3);
}

#[test]
fn a_hook_that_hangs_costs_its_group_and_is_told() {
    let specs = vec![job(Some(1), None), job(Some(1), None), job(None, None), job(None, None)];
    let fates = vec![Fate::HangBefore, Fate::Pass, Fate::Pass, Fate::Pass];
    let mut world = World::new(Policy { timeout: Some(500), ..slots(2) }, specs, fates);
    world.run();
    let statuses: Vec<&Status> = world.finals.values().collect();
    let (out, ok) = (&Status::TimedOut, &Status::Passed);
    assert_eq!(statuses, [out, out, ok, ok]);
    assert_eq!(world.lost.len(), 2, "one more chance, then none: {:?}", world.lost);
    let told = "started nothing for 10 s and was ended: a hook hangs";
    assert!(world.lost.iter().all(|message| message.ends_with(told)), "{:?}", world.lost);
    assert!((20_000_000..21_000_000).contains(&world.now), "{}", world.now);
}

#[test]
fn a_worker_lost_between_examples_is_told_unless_the_next_one_is_to_blame() {
    let mut world = world(slots(1), &[Fate::Pass, Fate::DieBefore, Fate::Pass]);
    world.run();
    assert_eq!(world.lost, [] as [&str; 0], "job 1 is crashed, which says it all");
    let mut dispatcher = Dispatcher::new(slots(1), vec![job(None, None), job(None, None)]);
    let mut effects = dispatcher.step(0, Input::Begin);
    let mut say = |now, input| effects.extend(dispatcher.step(now, input));
    let passed = || Box::new(ExampleFinished { status: Status::Passed, ..Default::default() });
    let (slot, exit) = (0, Exit { status: Some(4), ..Exit::default() });
    say(1, Input::Ready { slot, generation: 1 });
    say(2, Input::Started { slot, generation: 1, job: JobId(0) });
    say(3, Input::Finished { slot, generation: 1, job: JobId(0), outcome: passed() });
    say(4, Input::Exited { slot, generation: 1, exit });
    say(5, Input::Ready { slot, generation: 2 });
    say(6, Input::Started { slot, generation: 2, job: JobId(1) });
    let told = effects.iter().filter(|effect| matches!(effect, Effect::Lost { .. })).count();
    assert_eq!(told, 1, "the next one runs well, so it was something before it");
}

#[test]
fn fail_fast_gives_a_worker_nothing_past_the_last_failure() {
    let policy = Policy { fail_fast: Some(2), prefetch: 1000.0, ..slots(1) };
    let specs = vec![job(None, Some(1.0)); 20];
    let mut world = World::new(policy, specs, vec![Fate::Fail; 20]);
    world.run();
    assert_eq!(world.order[&0].len(), 2);
}

/// Audit B6: a group is given to a worker whole, and ran past the last failure.
#[test]
fn b6_fail_fast_is_exact_at_one_worker_even_in_a_group() {
    for (limit, retries) in [(1, 0), (3, 0), (2, 1)] {
        let policy = Policy { fail_fast: Some(limit), retries, ..slots(1) };
        let specs = vec![job(Some(1), None); 12];
        let mut world = World::new(policy, specs, vec![Fate::Fail; 12]);
        world.run();
        let failed = world.finals.values().filter(|status| **status == Status::Failed).count();
        assert_eq!(failed, limit as usize, "{limit} {retries}");
        assert_eq!(world.finals.len(), 12);
    }
}

#[test]
fn b4_no_limit_of_failures_stops_nothing() {
    let mut world = world(Policy { fail_fast: None, ..slots(1) }, &[Fate::Fail; 5]);
    world.run();
    assert!(world.finals.values().all(|status| *status == Status::Failed));
}

/// A dispatcher with one worker that is ready and has been given everything.
fn ready(jobs: usize) -> Dispatcher {
    let mut dispatcher = Dispatcher::new(slots(1), vec![job(Some(1), None); jobs]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    dispatcher
}

fn passed() -> Box<ExampleFinished> {
    Box::new(ExampleFinished { status: Status::Passed, ..Default::default() })
}

fn reported(effects: &[Effect]) -> Vec<(u32, Status, String)> {
    let report = |effect: &Effect| match effect {
        Effect::Report { assigned, outcome, .. } => Some((
            assigned.job.0,
            outcome.status.clone(),
            outcome.message.clone().unwrap_or_default(),
        )),
        _ => None,
    };
    effects.iter().filter_map(report).collect()
}

/// Audit V19: the result of an example was unreadable, and the run waited for it for ever.
#[test]
fn v19_an_example_whose_result_was_unreadable_ends_with_the_reason() {
    let mut dispatcher = ready(3);
    let (slot, generation) = (0, 1);
    let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
    let what = "a malformed line".to_owned();
    let effects = dispatcher.step(3, Input::Unreadable { slot, generation, what });
    assert_eq!(effects, [Effect::Shutdown { slot: 0 }], "it may finish what it runs");
    let exit = Exit { status: Some(0), ..Exit::default() };
    let effects = dispatcher.step(4, Input::Exited { slot, generation, exit });
    let [(0, Status::Errored, message)] = &reported(&effects)[..] else { panic!("{effects:?}") };
    assert!(message.contains("could not be read") && message.contains("a malformed line"));
    assert!(effects.contains(&Effect::Start { slot: 0, generation: 2 }), "{effects:?}");
}

#[test]
fn v19_a_result_that_comes_after_an_unreadable_line_stands() {
    let mut dispatcher = ready(2);
    let (slot, generation) = (0, 1);
    let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
    let _ = dispatcher.step(3, Input::Unreadable { slot, generation, what: "x".into() });
    let finished = Input::Finished { slot, generation, job: JobId(0), outcome: passed() };
    let effects = dispatcher.step(4, finished);
    assert_eq!(reported(&effects), [(0, Status::Passed, String::new())]);
}

#[test]
fn v19_a_worker_that_goes_on_has_lost_the_result_before() {
    let mut dispatcher = ready(2);
    let (slot, generation) = (0, 1);
    let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
    let effects = dispatcher.step(3, Input::Started { slot, generation, job: JobId(1) });
    let [(0, Status::Errored, message)] = &reported(&effects)[..] else { panic!("{effects:?}") };
    assert!(message.contains("went on without reporting"), "{message}");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Announce { .. })));
}

/// A worker that forgot one held up the run for ever.
#[test]
fn v19_what_a_worker_passes_over_is_errored_unless_it_may_have_been_given_back() {
    let (slot, generation) = (0, 1);
    let mut dispatcher = ready(3);
    let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
    let _ =
        dispatcher.step(3, Input::Finished { slot, generation, job: JobId(0), outcome: passed() });
    let effects = dispatcher.step(4, Input::Started { slot, generation, job: JobId(2) });
    let reports = reported(&effects);
    assert_eq!(reports.len(), 1, "{effects:?}");
    assert_eq!((reports[0].0, &reports[0].1), (1, &Status::Errored), "{reports:?}");
    assert!(reports[0].2.contains("worker 0 did not run it: it went on to a later one"));

    let mut dispatcher = ready(3);
    let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
    dispatcher.slots[0].asked_back = slot::UnrunRequest::Waiting;
    let effects = dispatcher.step(4, Input::Started { slot, generation, job: JobId(2) });
    assert!(reported(&effects).iter().all(|report| report.0 != 1), "{effects:?}");
}

#[test]
fn v19_a_result_without_a_start_is_one_and_a_second_result_is_odd() {
    let mut dispatcher = ready(2);
    let (slot, generation) = (0, 1);
    let finished = Input::Finished { slot, generation, job: JobId(0), outcome: passed() };
    let effects = dispatcher.step(3, finished.clone());
    assert_eq!(reported(&effects), [(0, Status::Passed, String::new())]);
    let effects = dispatcher.step(4, finished);
    assert!(matches!(effects[..], [Effect::Odd { .. }]), "{effects:?}");
}

#[test]
fn v19_what_a_worker_refuses_is_errored_with_its_reason() {
    let mut dispatcher = ready(2);
    let jobs = vec![JobId(0), JobId(1)];
    let why = "unknown examples".to_owned();
    let effects = dispatcher.step(3, Input::Refused { slot: 0, generation: 1, jobs, why });
    let message = "worker 0 did not run it: unknown examples".to_owned();
    let each = |job| (job, Status::Errored, message.clone());
    assert_eq!(reported(&effects), [each(0), each(1)]);
}

/// Audit B8: an empty answer was followed by the same question at once, again and again.
#[test]
fn b8_a_worker_that_gives_nothing_back_is_asked_again_only_when_something_has_changed() {
    let mut dispatcher = Dispatcher::new(slots(2), vec![job(None, Some(0.1)); 20]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let (slot, generation) = (0, 1);
    let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
    let _ = dispatcher.step(3, Input::Ready { slot: 1, generation: 1 });
    let asks =
        |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::TakeBack { .. }));
    assert!(asks(&dispatcher.step(10_000, Input::Tick)), "work waits behind a running example");
    let nothing = || Input::Returned { slot: 0, generation: 1, jobs: Vec::new() };
    assert!(!asks(&dispatcher.step(900_000, nothing())), "not again at once");
    assert!(!asks(&dispatcher.step(950_000, Input::Tick)));
    let finished = Input::Finished { slot, generation, job: JobId(0), outcome: passed() };
    let _ = dispatcher.step(960_000, finished);
    let _ = dispatcher.step(960_001, Input::Started { slot, generation, job: JobId(1) });
    assert!(asks(&dispatcher.step(990_000, Input::Tick)), "something has changed");
}

/// Only a worker that ended well can have lost a result on its way: one that died or was killed did not get to it.
#[test]
fn after_an_unreadable_line_the_exit_decides_what_became_of_the_example() {
    let (slot, generation) = (0, 1);
    let exit = |status| Exit { status: Some(status), ..Exit::default() };
    for (is_killed, exit, expected) in [
        (false, exit(0), Status::Errored),
        (false, exit(1), Status::Crashed),
        (false, by_signal(11), Status::Crashed),
        (true, exit(0), Status::Cancelled),
    ] {
        let mut dispatcher = ready(1);
        let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
        let _ = dispatcher.step(3, Input::Unreadable { slot, generation, what: "x".into() });
        if is_killed {
            let _ = dispatcher.step(4, Input::KillNow);
        }
        let effects = dispatcher.step(5, Input::Exited { slot, generation, exit });
        let statuses: Vec<Status> = reported(&effects).into_iter().map(|each| each.1).collect();
        assert_eq!(statuses, [expected], "{effects:?}");
    }
}

/// A dispatcher with one worker that has started nothing for too long: its end is asked for and still to come.
fn killed(jobs: usize) -> Dispatcher {
    let policy = Policy { timeout: Some(10), ..slots(1) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(Some(1), None); jobs]);
    let (slot, generation) = (0, 1);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot, generation });
    let effects = dispatcher.step(10_000_001, Input::Tick);
    assert_eq!(effects, [Effect::Kill { slot, timed_out: true }]);
    dispatcher
}

fn by_signal(signal: i32) -> Exit {
    Exit { signal: Some(signal), ..Exit::default() }
}

#[test]
fn a_result_that_comes_while_its_worker_is_ended_stands() {
    let mut dispatcher = killed(2);
    let (slot, generation) = (0, 1);
    let finished = Input::Finished { slot, generation, job: JobId(0), outcome: passed() };
    let effects = dispatcher.step(10_010_003, finished);
    assert_eq!(reported(&effects), [(0, Status::Passed, String::new())]);
    let effects =
        dispatcher.step(10_010_004, Input::Exited { slot, generation, exit: by_signal(9) });
    assert_eq!(effects, [Effect::Start { slot, generation: 2 }], "nothing is held against anybody");
}

/// What a worker begins while it is being ended cannot end there: the same attempt runs elsewhere.
#[test]
fn what_a_worker_starts_while_it_is_ended_is_run_elsewhere() {
    let mut dispatcher = killed(2);
    let (slot, generation) = (0, 1);
    let finished = Input::Finished { slot, generation, job: JobId(0), outcome: passed() };
    let _ = dispatcher.step(10_010_003, finished);
    let effects = dispatcher.step(10_010_004, Input::Started { slot, generation, job: JobId(1) });
    let assigned = Assigned { job: JobId(1), attempt: 1 };
    assert_eq!(effects, [Effect::Announce { slot, assigned }]);
    let effects =
        dispatcher.step(10_010_005, Input::Exited { slot, generation, exit: by_signal(9) });
    assert_eq!(effects, [Effect::Start { slot, generation: 2 }]);
    let effects = dispatcher.step(10_010_006, Input::Ready { slot, generation: 2 });
    let again = vec![vec![assigned]];
    assert_eq!(effects, [Effect::Assign { slot, units: again, failures_left: None }]);
    let effects =
        dispatcher.step(10_010_007, Input::Started { slot, generation: 2, job: JobId(1) });
    assert_eq!(effects, [], "it is announced once");
}

/// What has begun is not "not run": whether the stop comes before the start, after it, or is what killed the worker.
#[test]
fn what_a_worker_starts_while_it_is_ended_is_cancelled_if_the_run_is_stopped() {
    let (slot, generation) = (0, 1);
    let started = || Input::Started { slot, generation, job: JobId(0) };
    let exited = || Input::Exited { slot, generation, exit: by_signal(9) };
    let stop = || Input::Stop(StopReason::Cancelled);
    for (mut dispatcher, inputs) in [
        (killed(2), [started(), stop(), exited()]),
        (killed(2), [stop(), started(), exited()]),
        (ready(2), [Input::KillNow, started(), exited()]),
        (killed(2), [started(), exited(), stop()]),
    ] {
        let mut effects = Vec::new();
        for (input, now) in inputs.into_iter().zip(10_010_003..) {
            effects.extend(dispatcher.step(now, input));
        }
        let assigned = Assigned { job: JobId(0), attempt: 1 };
        assert!(effects.contains(&Effect::Announce { slot, assigned }), "{effects:?}");
        let why = "the run was stopped".to_owned();
        let expected = [(0, Status::Cancelled, why.clone()), (1, Status::NotRun, why)];
        assert_eq!(reported(&effects), expected);
    }
}

/// A hook that took too long twice is blamed for what comes after it, begun or not.
#[test]
fn what_a_worker_starts_while_it_is_ended_has_a_duration_when_it_is_blamed() {
    let mut dispatcher = killed(1);
    let slot = 0;
    let _ = dispatcher.step(10_010_000, Input::Started { slot, generation: 1, job: JobId(0) });
    let exited = |generation| Input::Exited { slot, generation, exit: by_signal(9) };
    let _ = dispatcher.step(10_010_000, exited(1));
    let _ = dispatcher.step(10_010_000, Input::Ready { slot, generation: 2 });
    let effects = dispatcher.step(20_010_000, Input::Tick);
    assert_eq!(effects, [Effect::Kill { slot, timed_out: true }]);
    let effects = dispatcher.step(20_010_000, exited(2));
    let blamed = effects.iter().find_map(|effect| match effect {
        Effect::Report { outcome, .. } => Some((outcome.status.clone(), outcome.duration_ms)),
        _ => None,
    });
    assert_eq!(blamed, Some((Status::TimedOut, Some(Millis::new(10_000.0)))));
}

#[test]
fn what_a_worker_runs_to_its_end_while_it_is_ended_has_a_result() {
    let mut dispatcher = killed(2);
    let (slot, generation) = (0, 1);
    for job in [JobId(0), JobId(1)] {
        let _ = dispatcher.step(10_010_003, Input::Started { slot, generation, job });
        let finished = Input::Finished { slot, generation, job, outcome: passed() };
        let effects = dispatcher.step(10_010_003, finished);
        assert_eq!(reported(&effects), [(job.0, Status::Passed, String::new())]);
    }
    let effects =
        dispatcher.step(10_010_004, Input::Exited { slot, generation, exit: by_signal(9) });
    assert_eq!(effects, [Effect::Done]);
}

/// The link of a slot judges time limits: it ends the worker and says so.
#[test]
fn a_worker_that_its_link_has_ended_for_a_time_limit_is_no_crash() {
    let (slot, generation) = (0, 1);
    let exit = Exit { timed_out: true, ..by_signal(9) };
    for has_result in [false, true] {
        let policy = Policy { timeout: Some(10), on_crash: OnCrash::Stop, ..slots(1) };
        let mut dispatcher = Dispatcher::new(policy, vec![job(None, None); 2]);
        let _ = dispatcher.step(0, Input::Begin);
        let _ = dispatcher.step(1, Input::Ready { slot, generation });
        let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
        assert_eq!(dispatcher.step(99_000, Input::Tick), [], "nothing is judged here");
        if has_result {
            let finished = Input::Finished { slot, generation, job: JobId(0), outcome: passed() };
            let _ = dispatcher.step(99_001, finished);
        }
        let exited = Input::Exited { slot, generation, exit: exit.clone() };
        let effects = dispatcher.step(99_002, exited);
        let message = "it took longer than 10 ms and was ended".to_owned();
        let timed_out = vec![(0, Status::TimedOut, message)];
        assert_eq!(reported(&effects), if has_result { Vec::new() } else { timed_out });
        assert_eq!(effects.last(), Some(&Effect::Start { slot, generation: 2 }), "{effects:?}");
        assert!(!dispatcher.is_stopping());
    }
}

/// The result stands; that the worker died is told apart from it, since a hook may have been lost with it.
#[test]
fn a_crash_after_the_result_leaves_the_result_and_is_told() {
    let mut world = world(slots(1), &[Fate::CrashAfterResult]);
    world.run();
    assert_eq!(world.attempts[&JobId(0)], [Status::Passed]);
    let [told] = &world.lost[..] else { panic!("{:?}", world.lost) };
    assert!(told.contains("was killed by signal 11 (SEGV)"), "{told}");
    let mut shared = self::world(slots(1), &[Fate::CrashAfterResult, Fate::Pass, Fate::Pass]);
    shared.run();
    assert!(shared.finals.values().all(|status| *status == Status::Passed));
    assert_eq!(shared.lost.len(), 1, "{:?}", shared.lost);
}

/// Audit B8: `Ready` did not compare generations.
#[test]
fn b8_a_late_ready_of_an_earlier_generation_is_not_believed() {
    let mut dispatcher = Dispatcher::new(slots(1), vec![job(None, None)]);
    let slot = 0;
    assert_eq!(dispatcher.step(0, Input::Begin), [Effect::Start { slot, generation: 1 }]);
    let exit = Exit { status: Some(1), ..Exit::default() };
    let effects = dispatcher.step(1, Input::Exited { slot, generation: 1, exit });
    assert_eq!(effects, [Effect::Start { slot, generation: 2 }]);
    assert_eq!(dispatcher.step(2, Input::Ready { slot, generation: 1 }), [], "it is gone");
    assert_eq!(dispatcher.step(3, Input::Ready { slot, generation: 3 }), [], "it is not there yet");
    let effects = dispatcher.step(4, Input::Ready { slot, generation: 2 });
    assert!(matches!(effects[..], [Effect::Assign { .. }]), "{effects:?}");
    let earlier = Input::Finished { slot, generation: 1, job: JobId(0), outcome: passed() };
    assert_eq!(dispatcher.step(5, earlier), [], "nor is a result of it");
}

#[test]
fn workers_that_never_start_end_the_run_with_everything_accounted_for() {
    let mut world = world(slots(2), &[Fate::Pass; 5]);
    world.bad_starts = (1..100).collect();
    world.run();
    assert!(world.finals.values().all(|status| *status == Status::NotRun));
    assert_eq!(world.finals.len(), 5);
    assert!(world.started < 20, "{}", world.started);
}

#[test]
fn one_worker_more_than_may_die_without_an_example_is_tried() {
    let mut dispatcher =
        Dispatcher::new(Policy { idle_deaths: 2, ..slots(1) }, vec![job(None, None)]);
    let mut effects = dispatcher.step(0, Input::Begin);
    let mut starts = 0;
    while starts < 9 && effects == [Effect::Start { slot: 0, generation: starts + 1 }] {
        starts += 1;
        let message = format!("no {starts}");
        effects = dispatcher.step(1, Input::StartFailed { slot: 0, generation: starts, message });
    }
    assert_eq!(starts, 3);
    let [(0, Status::NotRun, message)] = &reported(&effects)[..] else { panic!("{effects:?}") };
    assert!(message.ends_with("the last: worker 0 ended: no 3"), "{message}");
}

/// Where not one worker may die without an example, each of these is replaced all the same.
#[test]
fn workers_that_ran_something_or_were_told_to_end_do_not_count_as_idle_deaths() {
    let (slot, generation) = (0, 1);
    let exited = |slot, exit| Input::Exited { slot, generation, exit };
    let begin = |policy| {
        let policy = Policy { idle_deaths: 0, ..policy };
        let mut dispatcher = Dispatcher::new(policy, vec![job(None, None); 3]);
        let _ = dispatcher.step(0, Input::Begin);
        let _ = dispatcher.step(1, Input::Ready { slot, generation });
        dispatcher
    };
    let replaced = Effect::Start { slot, generation: 2 };

    let mut crashes = begin(slots(1));
    let _ = crashes.step(2, Input::Started { slot, generation, job: JobId(0) });
    assert!(crashes.step(3, exited(slot, by_signal(11))).contains(&replaced));

    let mut dies_after_one = begin(slots(1));
    let _ = run_one(&mut dies_after_one, 2, 0);
    assert!(dies_after_one.step(4, exited(slot, by_signal(11))).contains(&replaced));

    let mut leaves = begin(Policy { max_per_worker: Some(1), ..slots(2) });
    let _ = leaves.step(2, Input::Ready { slot: 1, generation });
    let _ = leaves.step(3, Input::SlotLeft { slot: 1 });
    let ended = Exit { status: Some(0), ..Exit::default() };
    assert_eq!(leaves.step(4, exited(1, ended.clone())), []);
    let _ = run_one(&mut leaves, 5, 0);
    assert!(leaves.step(7, exited(slot, ended)).contains(&replaced));
}

#[test]
fn no_example_is_blamed_for_workers_that_were_told_to_end() {
    let mut dispatcher = Dispatcher::new(slots(3), vec![job(None, None)]);
    let generation = 1;
    let mut effects = dispatcher.step(0, Input::Begin);
    for slot in 0..2 {
        assert_eq!(effects, [Effect::Start { slot, generation }]);
        let _ = dispatcher.step(1, Input::Ready { slot, generation });
        assert_eq!(dispatcher.step(2, Input::SlotLeft { slot }), [Effect::Shutdown { slot }]);
        let exit = Exit { status: Some(0), ..Exit::default() };
        effects = dispatcher.step(3, Input::Exited { slot, generation, exit });
    }
    assert_eq!(effects, [Effect::Start { slot: 2, generation }]);
}

/// A worker for each unit that waits for its pool, or, where units belong to slots, for each slot that has one.
#[test]
fn all_slots_with_work_get_their_workers_at_once() {
    for schedule in [Schedule::AsListed, Schedule::RoundRobin] {
        let policy = Policy { schedule, slots: vec![2, 3], ..Policy::default() };
        let in_pool = |pool| JobSpec { pool, ..job(None, None) };
        let specs = vec![in_pool(0), in_pool(0), in_pool(0), in_pool(1), in_pool(1)];
        let mut dispatcher = Dispatcher::new(policy, specs);
        let starts: Vec<Effect> =
            (0..4).map(|slot| Effect::Start { slot, generation: 1 }).collect();
        assert_eq!(dispatcher.step(0, Input::Begin), starts, "{schedule:?}");
    }
}

#[test]
fn longest_first_unknown_before_all() {
    let specs = vec![job(None, Some(5.0)), job(None, None), job(None, Some(50.0))];
    let mut world = World::new(Policy { prefetch: 0.0, ..slots(1) }, specs, vec![Fate::Pass; 3]);
    world.run();
    assert_eq!(world.order[&0], [JobId(1), JobId(2), JobId(0)]);
}

#[test]
fn nothing_waits_behind_a_long_example() {
    let specs = vec![job(None, Some(400.0)), job(None, Some(200.0)), job(None, Some(1.0))];
    let mut dispatcher = Dispatcher::new(slots(2), specs);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let effects = dispatcher.step(2, Input::Started { slot: 0, generation: 1, job: JobId(0) });
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Assign { .. })), "{effects:?}");
    let effects = dispatcher.step(3, Input::Ready { slot: 1, generation: 1 });
    let given = effects.iter().find_map(|effect| match effect {
        Effect::Assign { slot: 1, units, .. } => Some(units[0][0].job),
        _ => None,
    });
    assert_eq!(given, Some(JobId(1)));
}

#[test]
fn round_robin_is_the_partition_of_the_seed() {
    let policy = Policy { schedule: Schedule::RoundRobin, ..slots(2) };
    let mut world = world(policy, &[Fate::Pass; 5]);
    world.run();
    assert_eq!(world.order[&0], [JobId(0), JobId(2), JobId(4)]);
    assert_eq!(world.order[&1], [JobId(1), JobId(3)]);
}

#[test]
fn short_examples_are_handed_out_many_at_a_time() {
    let mut world = world(slots(2), &[Fate::Pass; 1000]);
    world.durations = vec![50; 1000];
    world.run();
    assert!(world.assigned_messages < 80, "{} messages for 1000 examples", world.assigned_messages);
}

/// Examples of half the usual prefetch: two at a time would be a message for each.
#[test]
fn while_there_is_plenty_left_a_message_is_for_several_examples_of_some_length() {
    let mut world = world(slots(4), &[Fate::Pass; 1000]);
    world.durations = vec![5_000; 1000];
    world.run();
    assert!(world.assigned_messages < 350, "{} messages", world.assigned_messages);
    let ideal = 1000 / 4 * 5_000;
    assert!(world.now < ideal + 20_000, "no worker waits at the end: {}", world.now);
}

/// One worker gets a long example with short ones waiting behind it; the other takes them over.
#[test]
fn work_behind_a_long_example_is_taken_back() {
    let mut world = world(slots(2), &[Fate::Pass; 40]);
    world.durations = vec![1000; 40];
    world.durations[30] = 500_000;
    world.run();
    assert!(world.now < 540_000, "nothing waits for the long one: {}", world.now);
}

#[test]
fn workers_are_replaced_after_their_share() {
    let mut world = world(Policy { max_per_worker: Some(3), ..slots(2) }, &[Fate::Pass; 12]);
    world.run();
    assert!(world.finals.values().all(|status| *status == Status::Passed));
    assert!(world.started >= 4, "{}", world.started);
}

#[test]
fn pools_do_not_mix() {
    let mut specs = vec![job(None, None); 6];
    for spec in &mut specs[3..] {
        spec.pool = 1;
    }
    let policy = Policy { slots: vec![1, 2], ..Policy::default() };
    let mut world = World::new(policy, specs, vec![Fate::Pass; 6]);
    world.run();
    assert_eq!(world.order[&0], [JobId(0), JobId(1), JobId(2)]);
    assert_eq!(world.finals.len(), 6);
}

/// The first of two workers runs a job when the link to it is lost.
fn lost_while_running(policy: Policy, jobs: usize) -> (Dispatcher, Vec<Effect>) {
    let (mut dispatcher, _) = begun_on(policy, jobs);
    let effects = dispatcher.step(3, unreachable(0, 1));
    (dispatcher, effects)
}

/// The first of these jobs runs in the first slot.
fn begun_on(policy: Policy, jobs: usize) -> (Dispatcher, Vec<Effect>) {
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, None); jobs]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let effects = dispatcher.step(2, Input::Started { slot: 0, generation: 1, job: JobId(0) });
    (dispatcher, effects)
}

fn unreachable(slot: u32, generation: u32) -> Input {
    Input::Unreachable { slot, generation, message: "no route".to_owned() }
}

#[test]
fn what_a_lost_worker_ran_is_run_again_as_the_same_attempt() {
    let policy = Policy { on_crash: OnCrash::Stop, ..slots(1) };
    let (mut dispatcher, effects) = lost_while_running(policy, 2);
    assert_eq!(effects, [Effect::Start { slot: 0, generation: 2 }], "no result, no crash");
    let effects = dispatcher.step(4, Input::Ready { slot: 0, generation: 2 });
    let [Effect::Assign { units, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(units[0], [Assigned { job: JobId(0), attempt: 1 }], "before what had not started");
    // What the lost worker still says is not believed.
    let (job, outcome) = (JobId(0), passed());
    let late = Input::Finished { slot: 0, generation: 1, job, outcome };
    assert_eq!(dispatcher.step(5, late), []);
    let started = dispatcher.step(6, Input::Started { slot: 0, generation: 2, job: JobId(0) });
    assert!(!started.iter().any(|effect| matches!(effect, Effect::Announce { .. })), "{started:?}");
    let outcome = passed();
    let ended = dispatcher.step(7, Input::Finished { slot: 0, generation: 2, job, outcome });
    assert_eq!(reported(&ended)[0].1, Status::Passed);
    assert!(
        matches!(&ended[0], Effect::Report { outcome, assigned, .. } if outcome.flaky.is_none() && assigned.attempt == 1)
    );
}

#[test]
fn an_attempt_that_loses_every_worker_is_errored_and_nobody_elses_fault() {
    for retries in [0, 1] {
        let policy = Policy { retries, ..slots(1) };
        let mut world = world(policy, &[Fate::Lost]);
        world.run();
        let attempts = retries as usize + 1;
        assert_eq!(world.attempts[&JobId(0)], vec![Status::Crashed; attempts]);
        assert_eq!(world.started as usize, 2 * attempts, "each attempt is run twice");
        assert_eq!(world.lost, [] as [&str; 0]);
    }
    let policy = Policy { losses: 0, ..slots(1) };
    let (_, effects) = lost_while_running(policy, 1);
    let [Effect::Report { outcome, .. }, ..] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((&outcome.status, &outcome.fault), (&Status::Crashed, &Some(Fault::Harness)));
    let message = outcome.message.as_deref().unwrap_or_default();
    assert!(message.starts_with("worker 1 cannot be reached: no route"), "{message}");
}

/// Its start was published, so it is not "not run".
#[test]
fn what_was_lost_and_is_not_run_again_is_cancelled() {
    let (mut dispatcher, _) = lost_while_running(slots(1), 1);
    let effects = dispatcher.step(2_003, Input::Stop(StopReason::Cancelled));
    let [Effect::Report { outcome, .. }, ..] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((&outcome.status, &outcome.fault), (&Status::Cancelled, &Some(Fault::Harness)));
    assert_eq!(outcome.duration_ms.map(Millis::get), Some(2.001));
}

#[test]
fn a_lost_worker_that_was_being_ended_settles_what_it_ran() {
    let (mut dispatcher, _) = lost_while_running(slots(1), 1);
    let _ = dispatcher.step(4, Input::Ready { slot: 0, generation: 2 });
    let _ = dispatcher.step(5, Input::Started { slot: 0, generation: 2, job: JobId(0) });
    let _ = dispatcher.step(6, Input::Stop(StopReason::Cancelled));
    let effects = dispatcher.step(7, unreachable(0, 2));
    assert_eq!(reported(&effects)[0].1, Status::Cancelled, "after a stop nothing is run again");
}

#[test]
fn a_worker_that_is_lost_while_it_ends_is_told_and_one_that_did_nothing_is_counted() {
    let mut dispatcher = ready(1);
    let _ = run_one(&mut dispatcher, 2, 0);
    let effects = dispatcher.step(9, unreachable(0, 1));
    assert!(matches!(effects[..], [Effect::Lost { .. }, Effect::Done]), "{effects:?}");
    let mut dispatcher =
        Dispatcher::new(Policy { idle_deaths: 3, ..slots(1) }, vec![job(None, None)]);
    let mut effects = dispatcher.step(0, Input::Begin);
    let mut starts = 0;
    while matches!(effects[..], [Effect::Start { .. }]) {
        starts += 1;
        let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: starts });
        effects = dispatcher.step(2, unreachable(0, starts));
    }
    assert_eq!(starts, 4);
    let (_, status, message) = &reported(&effects)[0];
    assert_eq!(*status, Status::NotRun);
    assert!(message.contains("worker 1 cannot be reached: no route"), "{message}");
}

#[test]
fn a_slot_that_joins_takes_work_and_one_that_leaves_finishes_what_it_runs() {
    let mut dispatcher = Dispatcher::new(slots(1), vec![job(None, None); 3]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let _ = dispatcher.step(2, Input::Started { slot: 0, generation: 1, job: JobId(0) });
    let joined = dispatcher.step(3, Input::SlotJoined { pool: 0 });
    assert_eq!(joined, [Effect::Start { slot: 1, generation: 1 }]);
    let left = dispatcher.step(4, Input::SlotLeft { slot: 0 });
    assert_eq!(left, [Effect::Shutdown { slot: 0 }]);
    assert_eq!(dispatcher.step(5, Input::SlotLeft { slot: 0 }), [], "it has left already");
    let (slot, generation, job) = (0, 1, JobId(0));
    let ended = dispatcher.step(6, Input::Finished { slot, generation, job, outcome: passed() });
    assert_eq!(reported(&ended)[0].1, Status::Passed);
    let exit = Exit { status: Some(0), ..Exit::default() };
    let effects = dispatcher.step(7, Input::Exited { slot: 0, generation: 1, exit });
    assert_eq!(effects, [], "no further worker for it");
    let effects = dispatcher.step(8, Input::Ready { slot: 1, generation: 1 });
    assert!(matches!(effects[..], [Effect::Assign { slot: 1, .. }]), "{effects:?}");
}

#[test]
fn when_every_slot_has_left_what_waits_is_not_run() {
    for schedule in [Schedule::AsListed, Schedule::RoundRobin] {
        let policy = Policy { schedule, ..slots(2) };
        let mut dispatcher = Dispatcher::new(policy, vec![job(None, None); 2]);
        let _ = dispatcher.step(0, Input::Begin);
        let _ = dispatcher.step(1, Input::SlotLeft { slot: 0 });
        let _ = dispatcher.step(2, Input::SlotLeft { slot: 1 });
        let mut effects = Vec::new();
        for slot in 0..2 {
            let ready = dispatcher.step(3, Input::Ready { slot, generation: 1 });
            assert_eq!(ready, [Effect::Shutdown { slot }], "it is told to end when it can hear it");
            let exit = Exit { status: Some(0), ..Exit::default() };
            effects = dispatcher.step(4, Input::Exited { slot, generation: 1, exit });
        }
        let why = "every slot that could run it has left".to_owned();
        let not_run = |job| (job, Status::NotRun, why.clone());
        assert_eq!(reported(&effects), [not_run(0), not_run(1)], "{schedule:?}");
        assert_eq!(effects.last(), Some(&Effect::Done));
    }
}

#[test]
fn a_slot_that_is_lost_gives_its_work_to_others_and_gets_no_further_worker() {
    let (mut dispatcher, _) = begun_on(Policy { awaits_slots: true, ..slots(1) }, 2);
    let lost = Input::SlotLost { slot: 0, message: "no lease".to_owned() };
    assert_eq!(dispatcher.step(3, lost.clone()), [], "the work waits for a slot to join");
    assert_eq!(dispatcher.step(4, lost), [], "it is lost already");
    let late = Input::Finished { slot: 0, generation: 1, job: JobId(0), outcome: passed() };
    assert_eq!(dispatcher.step(5, late), [], "what comes back from the dead changes nothing");
    let joined = dispatcher.step(6, Input::SlotJoined { pool: 0 });
    assert_eq!(joined, [Effect::Start { slot: 1, generation: 1 }]);
    let effects = dispatcher.step(7, Input::Ready { slot: 1, generation: 1 });
    let [Effect::Assign { units, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(units[0], [Assigned { job: JobId(0), attempt: 1 }], "the same attempt, first");
    // The second machine is lost too: the example is to blame, as far as anybody knows.
    let _ = dispatcher.step(8, Input::Started { slot: 1, generation: 1, job: JobId(0) });
    let lost = Input::SlotLost { slot: 1, message: "no lease".to_owned() };
    assert_eq!(reported(&dispatcher.step(9, lost))[0].1, Status::Crashed);
    let why = "nobody came".to_owned();
    let effects = dispatcher.step(10, Input::NoMoreSlots { why: why.clone() });
    assert_eq!(reported(&effects), [(1, Status::NotRun, why)]);
    assert_eq!(effects.last(), Some(&Effect::Done));
}

#[test]
fn work_waits_where_there_is_no_slot_yet() {
    let policy = Policy { awaits_slots: true, ..slots(0) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, None)]);
    assert_eq!(dispatcher.step(0, Input::Begin), []);
    let joined = dispatcher.step(1, Input::SlotJoined { pool: 0 });
    assert_eq!(joined, [Effect::Start { slot: 0, generation: 1 }]);
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Pass),
        3 => Just(Fate::Fail),
        2 => Just(Fate::Flaky),
        2 => Just(Fate::Crash),
        1 => Just(Fate::Hang),
        1 => Just(Fate::TooLate),
        1 => Just(Fate::DieBefore),
        1 => Just(Fate::HangBefore),
        2 => Just(Fate::LostOnce),
        1 => Just(Fate::Lost),
    ]
}

fn jobs() -> impl Strategy<Value = Vec<(Fate, Option<u32>, Option<f64>)>> {
    let one = (fate(), prop::option::weighted(0.3, 0_u32..4), prop::option::of(0.01..50.0_f64));
    prop::collection::vec(one, 0..60)
}

fn rules() -> impl Strategy<Value = Policy> {
    let schedule = prop_oneof![
        Just(Schedule::LongestFirst),
        Just(Schedule::AsListed),
        Just(Schedule::RoundRobin)
    ];
    let on_crash = prop_oneof![4 => Just(OnCrash::Continue), 1 => Just(OnCrash::Stop)];
    let options =
        (prop::option::weighted(0.2, 1_u32..4), prop::option::weighted(0.3, 1_u32..6), on_crash);
    (1_u32..6, schedule, 0_u32..3, options).prop_map(|(count, schedule, retries, options)| Policy {
        on_crash: options.2,
        slots: vec![count],
        schedule,
        retries,
        fail_fast: options.0,
        max_per_worker: options.1,
        timeout: Some(200),
        grace: 20,
        end_within: 100,
        ..Policy::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever happens: the run ends, every job has exactly one final status, none runs twice at once, and
    /// attempts stay within the limit. (The world itself checks most of it as it goes.)
    #[test]
    fn everything_is_accounted_for(
        jobs in jobs(),
        policy in rules(),
        bad_starts in prop::collection::btree_set(1_u32..40, 0..6),
        stop_at in prop::option::weighted(0.2, 0_u64..60_000),
        kill_at in prop::option::weighted(0.1, 0_u64..60_000),
        joins in prop::collection::vec(0_u64..60_000, 0..4),
        leaves in prop::collection::vec((0_u32..6, 0_u64..60_000), 0..4),
        losses in prop::collection::vec((0_u32..6, 0_u64..60_000), 0..4),
    ) {
        let specs = jobs.iter().map(|(_, unit, estimate)| job(*unit, *estimate)).collect();
        let fates: Vec<Fate> = jobs.iter().map(|(fate, _, _)| *fate).collect();
        let stops = stop_at.is_some()
            || kill_at.is_some()
            || policy.fail_fast.is_some()
            || policy.on_crash == OnCrash::Stop;
        let retries = policy.retries as usize;
        // Whether one slot stays for certain.
        let stops = stops || policy.slots[0] as usize <= leaves.len() || !losses.is_empty();
        let mut world = World::new(policy, specs, fates.clone());
        world.bad_starts = bad_starts;
        if let Some(at) = stop_at {
            world.plan(at, Input::Stop(StopReason::Cancelled));
        }
        if let Some(at) = kill_at {
            world.plan(at, Input::KillNow);
        }
        for at in joins {
            world.plan(at, Input::SlotJoined { pool: 0 });
        }
        for (slot, at) in leaves {
            world.plan(at, Input::SlotLeft { slot });
        }
        for (slot, at) in losses {
            let message = "its machine is lost".to_owned();
            world.plan(at, Input::SlotLost { slot, message });
        }
        world.run();
        prop_assert_eq!(world.finals.len(), fates.len());
        prop_assert!(world.active.is_empty());
        for (job, attempts) in &world.attempts {
            prop_assert!(attempts.len() <= retries + 1, "{:?}: {:?}", job, attempts);
        }
        if !stops {
            for (place, fate) in (0..).zip(&fates) {
                let status = &world.finals[&JobId(place)];
                let expected = match fate {
                    Fate::Pass | Fate::TooLate | Fate::LostOnce => Status::Passed,
                    Fate::Flaky if retries > 0 => Status::Passed,
                    Fate::Fail | Fate::Flaky => Status::Failed,
                    Fate::Crash | Fate::DieBefore | Fate::Lost => Status::Crashed,
                    Fate::Hang | Fate::HangBefore => Status::TimedOut,
                    other => unreachable!("{other:?} is not drawn"),
                };
                // A hook that hangs takes the rest of its group with it.
                let unit = jobs[place as usize].1;
                let shared = |other: &(Fate, Option<u32>, Option<f64>)| {
                    other.0 == Fate::HangBefore && unit.is_some() && other.1 == unit
                };
                if jobs.iter().any(shared) {
                    continue;
                }
                prop_assert_eq!(status, &expected, "job {}", place);
            }
        }
    }
}
