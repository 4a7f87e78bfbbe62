//! What a worker says of examples that it does not run, and how it ends.

use super::*;

fn is_lost(effect: &Effect) -> bool {
    matches!(effect, Effect::Lost { .. })
}

fn not_run(slot: u32, generation: u32, job: JobId) -> Input {
    let message = Some("filtered".to_owned());
    let outcome = ExampleFinished { status: Status::NotRun, message, ..Default::default() };
    Input::Finished { slot, generation, job, outcome: Box::new(outcome) }
}

#[test]
fn an_example_that_its_worker_will_not_run_is_not_run() {
    let mut dispatcher = ready(3);
    let (slot, generation) = (0, 1);
    let _ = dispatcher.step(2, Input::Started { slot, generation, job: JobId(0) });
    let effects = dispatcher.step(3, not_run(slot, generation, JobId(1)));
    let [Effect::Report { .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(reported(&effects), [(1, Status::NotRun, "filtered".to_owned())]);
    let finished = Input::Finished { slot, generation, job: JobId(0), outcome: passed() };
    assert_eq!(reported(&dispatcher.step(4, finished)), [(0, Status::Passed, String::new())]);
}

/// It has started, as everybody knows; so it is not "not run".
#[test]
fn an_example_that_has_begun_and_that_its_worker_will_not_run_is_cancelled() {
    let mut dispatcher = killed(2);
    let (slot, generation) = (0, 1);
    let _ = dispatcher.step(10_010_000, Input::Started { slot, generation, job: JobId(0) });
    let effects = dispatcher.step(10_012_000, not_run(slot, generation, JobId(0)));
    let [Effect::Report { outcome, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(
        (&outcome.status, outcome.message.as_deref()),
        (&Status::Cancelled, Some("filtered"))
    );
    assert_eq!(outcome.duration_ms.map(Millis::get), Some(2.0));
}

#[test]
fn a_worker_is_told_lost_neither_with_its_example_nor_after_a_stop() {
    let (slot, generation) = (0, 1);
    let exited = || Input::Exited { slot, generation, exit: by_signal(11) };

    let mut crashes = ready(3);
    let _ = run_one(&mut crashes, 2, 0);
    let _ = crashes.step(4, Input::Started { slot, generation, job: JobId(1) });
    let effects = crashes.step(5, exited());
    assert_eq!(reported(&effects)[0].1, Status::Crashed, "the example says it all");
    assert!(!effects.iter().any(is_lost), "{effects:?}");

    let mut stops = ready(3);
    let _ = run_one(&mut stops, 2, 0);
    let _ = stops.step(4, Input::Stop(StopReason::Cancelled));
    let effects = stops.step(5, exited());
    assert!(!effects.iter().any(is_lost), "{effects:?}");
}

#[test]
fn a_result_that_was_lost_on_the_way_is_the_fault_of_the_harness() {
    let (slot, generation) = (0, 1);
    let mut ends = ready(2);
    let _ = ends.step(2, Input::Started { slot, generation, job: JobId(0) });
    let _ = ends.step(3, Input::Unreadable { slot, generation, what: "x".into() });
    let exit = Exit { status: Some(0), ..Exit::default() };
    let ended = ends.step(4, Input::Exited { slot, generation, exit });
    let mut goes_on = ready(2);
    let _ = goes_on.step(2, Input::Started { slot, generation, job: JobId(0) });
    let went_on = goes_on.step(4, Input::Started { slot, generation, job: JobId(1) });
    for effects in [ended, went_on] {
        let Effect::Report { outcome, .. } = &effects[0] else { panic!("{effects:?}") };
        assert_eq!((&outcome.status, &outcome.fault), (&Status::Errored, &Some(Fault::Harness)));
    }
}

#[test]
fn the_exit_of_a_worker_is_described_with_the_name_of_its_signal() {
    let names = [
        (1, " (HUP)"),
        (2, " (INT)"),
        (3, " (QUIT)"),
        (4, " (ILL)"),
        (6, " (ABRT)"),
        (7, " (BUS)"),
        (8, " (FPE)"),
        (9, " (KILL)"),
        (11, " (SEGV)"),
        (13, " (PIPE)"),
        (15, " (TERM)"),
        (64, ""),
    ];
    for (signal, name) in names {
        let expected = format!("worker 2 was killed by signal {signal}{name}");
        assert_eq!(by_signal(signal).describe(2), expected);
    }
    let exit = Exit { status: Some(3), message: Some("no".to_owned()), ..Exit::default() };
    assert_eq!(exit.describe(2), "worker 2 exited with status 3: no");
    assert_eq!(Exit::default().describe(2), "worker 2 ended");
}
