use proctor_events::StatusCounts;

use super::*;

fn facts(change: impl FnOnce(&mut Facts)) -> Facts {
    let counts = Counts { examples: 4, passed: 3, pending: 1, flaky: 1, ..Counts::default() };
    let mut facts = Facts { loaded: true, counts, accounted: true, stopped: None };
    change(&mut facts);
    facts
}

fn ended(change: impl FnOnce(&mut Facts)) -> (&'static str, Option<u8>) {
    let verdict = RunVerdict::conclude(&facts(change), Policy::default());
    assert_eq!(verdict.is_passed(), verdict.exit_code() == Some(0));
    (verdict.word(), verdict.exit_code())
}

#[test]
fn the_table_of_the_design() {
    assert_eq!(ended(|_| {}), ("passed", Some(0)));
    assert_eq!(ended(|f| f.counts.failures = 1), ("failed", Some(1)));
    assert_eq!(
        ended(|f| f.counts.not_run = 1),
        ("failed", Some(1)),
        "what did not run did not pass"
    );
    assert_eq!(ended(|f| f.counts.cancelled = 1), ("failed", Some(1)));
    assert_eq!(ended(|f| f.counts.running = 1), ("failed", Some(1)), "an example got lost");
    assert_eq!(ended(|f| f.counts.errors = 1), ("failed", Some(1)), "an error outside examples");
    assert_eq!(ended(|f| f.accounted = false), ("failed", Some(1)));
    assert_eq!(ended(|f| f.loaded = false), ("did_not_load", Some(2)));
    assert_eq!(ended(|f| f.counts.examples = 0), ("nothing_found", Some(2)));
    let errors_only = |f: &mut Facts| (f.counts.examples, f.counts.errors) = (0, 1);
    assert_eq!(ended(errors_only), ("did_not_load", Some(2)));
    assert_eq!(ended(|f| f.stopped = Some(StopCause::Signal(2))), ("stopped", Some(130)));
    assert_eq!(ended(|f| f.stopped = Some(StopCause::Signal(15))), ("stopped", Some(143)));
    assert_eq!(ended(|f| f.stopped = Some(StopCause::Signal(1))), ("stopped", Some(129)));
    assert_eq!(ended(|f| f.stopped = Some(StopCause::Request)), ("stopped", Some(130)));
    assert_eq!(ended(|f| f.stopped = Some(StopCause::TimeLimit)), ("stopped", Some(130)));
    let stopped = facts(|f| f.stopped = Some(StopCause::TimeLimit));
    let verdict = RunVerdict::conclude(&stopped, Policy::default());
    assert_eq!(verdict.stopped_by(), Some(&StopReason::TimeLimit));
    let while_loading = |f: &mut Facts| (f.loaded, f.stopped) = (false, Some(StopCause::Signal(2)));
    assert_eq!(ended(while_loading), ("stopped", Some(130)));
}

#[test]
fn an_empty_run_may_be_allowed() {
    let empty = facts(|f| f.counts = Counts::default());
    let allowing = Policy { allow_empty: true, ..Policy::default() };
    let verdict = RunVerdict::conclude(&empty, allowing);
    assert_eq!((verdict.word(), verdict.exit_code()), ("passed", Some(0)));
    let broken = facts(|f| (f.counts.examples, f.counts.errors) = (0, 1));
    assert_eq!(RunVerdict::conclude(&broken, allowing).exit_code(), Some(2));
}

/// What the controller concludes is what every reader of the stream finds.
#[test]
fn v6_the_stream_says_what_was_concluded() {
    let all = [
        facts(|_| {}),
        facts(|f| f.counts.failures = 1),
        facts(|f| f.loaded = false),
        facts(|f| f.counts.examples = 0),
        facts(|f| f.stopped = Some(StopCause::Signal(15))),
        facts(|f| f.stopped = Some(StopCause::Request)),
    ];
    for facts in all {
        let verdict = RunVerdict::conclude(&facts, Policy::default());
        let finished = SuiteFinished {
            exit_code: verdict.exit_code().map(i32::from),
            state: verdict.ending(),
            stopped_by: verdict.stopped_by().cloned(),
            ..SuiteFinished::default()
        };
        for liveness in [Liveness::Alive, Liveness::Gone] {
            let read = RunVerdict::recorded(true, Some(&finished), liveness, false);
            assert_eq!(read, verdict);
            assert!(read.is_over());
        }
    }
}

#[test]
fn a_stream_without_an_end_runs_or_died() {
    let state = |begun, liveness| RunVerdict::recorded(begun, None, liveness, false);
    assert_eq!(state(false, Liveness::Alive).word(), "loading");
    assert_eq!(state(true, Liveness::Alive).word(), "running");
    for begun in [false, true] {
        let died = state(begun, Liveness::Gone);
        assert_eq!((died.word(), died.exit_code(), died.ending()), ("died", None, None));
        assert!(died.is_over() && !died.is_passed() && died.stopped_by().is_none());
    }
    let running = state(true, Liveness::Alive);
    assert!(!running.is_over() && !running.is_passed() && running.ending().is_none());
    assert_eq!(running.exit_code(), None);
}

fn older(code: Option<i32>, interrupted: bool, counts: StatusCounts, errors: u64) -> RunVerdict {
    let example_count = if code == Some(2) { 0 } else { 3 };
    let finished = SuiteFinished {
        example_count,
        counts: Some(counts),
        exit_code: code,
        error_count: Some(errors),
        ..SuiteFinished::default()
    };
    RunVerdict::recorded(true, Some(&finished), Liveness::Gone, interrupted)
}

#[test]
fn streams_of_version_0_1_still_have_a_state() {
    let none = StatusCounts::default;
    let left_out = || StatusCounts { not_run: Some(2), ..none() };
    let cut_short = || StatusCounts { cancelled: Some(1), ..none() };
    assert_eq!(older(Some(0), false, none(), 0).word(), "passed");
    assert_eq!(older(Some(0), true, none(), 0).word(), "passed", "the signal came after the end");
    assert_eq!(older(Some(1), false, left_out(), 0).word(), "failed");
    assert_eq!(older(Some(1), true, left_out(), 0).word(), "stopped");
    assert_eq!(older(Some(0), true, cut_short(), 0).word(), "stopped");
    assert_eq!(older(Some(2), true, none(), 0).word(), "stopped", "Ctrl-C while loading");
    assert_eq!(older(Some(2), true, none(), 0).exit_code(), Some(130));
    assert_eq!(older(Some(143), false, none(), 0).exit_code(), Some(143));
    assert_eq!(older(Some(143), false, none(), 0).word(), "stopped");
    assert_eq!(older(Some(128), false, none(), 0).word(), "failed", "there is no signal 0");
    assert_eq!(older(Some(2), false, none(), 0).word(), "nothing_found");
    assert_eq!(older(Some(2), false, none(), 1).word(), "did_not_load");
    assert_eq!(older(None, false, none(), 0).exit_code(), Some(0));
    assert_eq!(older(None, false, none(), 1).word(), "failed");
    assert_eq!(older(None, false, left_out(), 0).word(), "failed");
    let failed = SuiteFinished { failure_count: 1, ..SuiteFinished::default() };
    let read = RunVerdict::recorded(true, Some(&failed), Liveness::Gone, false);
    assert_eq!((read.word(), read.exit_code()), ("failed", Some(1)));
}

#[test]
fn odd_ends_are_no_success() {
    let end = |state: &str, exit_code: Option<i32>| {
        let state = Some(RunEnding::from(state));
        let finished = SuiteFinished { state, exit_code, ..SuiteFinished::default() };
        let read = RunVerdict::recorded(true, Some(&finished), Liveness::Gone, false);
        (read.word(), read.exit_code())
    };
    assert_eq!(end("of the future", Some(0)).0, "did_not_load");
    assert_eq!(end("finished", None), ("failed", None), "no exit code is no success");
    assert_eq!(end("finished", Some(0)), ("passed", Some(0)));
    assert_eq!(end("finished", Some(256)), ("failed", None));
    assert_eq!(end("stopped", None), ("stopped", Some(130)));
    assert_eq!(end("stopped", Some(129)), ("stopped", Some(129)));
    assert_eq!(end("nothing_found", None), ("nothing_found", Some(2)));
    assert_eq!(end("did_not_load", None), ("did_not_load", Some(2)));
}

#[test]
fn a_policy_survives_the_stream() {
    for bits in 0..16_u8 {
        let policy = Policy {
            flaky_fails: bits & 1 != 0,
            inconclusive_fails: bits & 2 != 0,
            unchecked_fails: bits & 4 != 0,
            allow_empty: bits & 8 != 0,
        };
        assert_eq!(Policy::of_event(Some(&policy.to_event())), policy);
    }
    assert_eq!(Policy::of_event(None), Policy::default());
    assert_eq!(Policy::of_event(Some(&RunPolicy::default())), Policy::default());
}

#[test]
fn an_end_that_contradicts_its_examples_is_not_believed() {
    let passed = || RunVerdict::conclude(&facts(|_| {}), Policy::default());
    let held = |change: fn(&mut Counts)| {
        let mut counts = facts(|_| {}).counts;
        change(&mut counts);
        passed().checked_against_counts(&counts, Policy::default())
    };
    assert_eq!(held(|_| {}), passed());
    assert_eq!(held(|c| c.inconclusive = 1), passed(), "it may have been tolerated");
    let changes: [fn(&mut Counts); 7] = [
        |c| c.failed = 1,
        |c| c.errored = 1,
        |c| c.crashed = 1,
        |c| c.timed_out = 1,
        |c| c.not_run = 1,
        |c| c.running = 1,
        |c| c.errors = 1,
    ];
    for change in changes {
        assert_eq!((held(change).word(), held(change).exit_code()), ("failed", Some(1)));
    }
    assert_eq!(held(|c| c.unchecked = 1), passed(), "it was tolerated");
    assert_eq!(held(|c| c.flaky = 1), passed(), "it was tolerated");
    let refusing =
        |policy: Policy, counts: Counts| passed().checked_against_counts(&counts, policy).word();
    let unchecked = Policy { unchecked_fails: true, ..Policy::default() };
    let flaky = Policy { flaky_fails: true, ..Policy::default() };
    assert_eq!(refusing(unchecked, Counts { unchecked: 1, ..Counts::default() }), "failed");
    assert_eq!(refusing(unchecked, Counts { flaky: 1, ..Counts::default() }), "passed");
    assert_eq!(refusing(flaky, Counts { flaky: 1, ..Counts::default() }), "failed");
    assert_eq!(refusing(flaky, Counts { unchecked: 1, ..Counts::default() }), "passed");
    let one_failed = Counts { failed: 1, ..Counts::default() };
    let stopped =
        RunVerdict::conclude(&facts(|f| f.stopped = Some(StopCause::Request)), Policy::default());
    assert_eq!(stopped.clone().checked_against_counts(&one_failed, Policy::default()), stopped);
}

#[test]
fn an_end_that_contradicts_itself_is_not_believed() {
    let none = StatusCounts::default;
    let end = |counts, failure_count, error_count, repetition_count| SuiteFinished {
        counts: Some(counts),
        failure_count,
        error_count: Some(error_count),
        repetition_count,
        state: Some(RunEnding::Finished),
        exit_code: Some(0),
        ..SuiteFinished::default()
    };
    let read = |finished: &SuiteFinished| {
        let read = RunVerdict::recorded(true, Some(finished), Liveness::Gone, false);
        (read.word(), read.exit_code())
    };
    let good = StatusCounts { passed: Some(3), inconclusive: Some(1), flaky: Some(1), ..none() };
    assert_eq!(read(&end(good, 0, 0, Some(4))), ("passed", Some(0)));
    let bad: [StatusCounts; 6] = [
        StatusCounts { failed: Some(1), ..none() },
        StatusCounts { errored: Some(1), ..none() },
        StatusCounts { crashed: Some(1), ..none() },
        StatusCounts { timed_out: Some(1), ..none() },
        StatusCounts { cancelled: Some(1), ..none() },
        StatusCounts { not_run: Some(1), ..none() },
    ];
    for counts in bad {
        assert_eq!(read(&end(counts.clone(), 0, 0, Some(4))), ("failed", Some(1)), "{counts:?}");
        assert_eq!(read(&end(counts, 0, 0, None)), ("passed", Some(0)), "a rate may excuse it");
    }
    assert_eq!(read(&end(none(), 1, 0, Some(4))), ("failed", Some(1)));
    assert_eq!(read(&end(none(), 0, 1, Some(4))), ("failed", Some(1)));
    let failed = SuiteFinished { exit_code: Some(3), ..end(none(), 1, 0, Some(4)) };
    assert_eq!(read(&failed), ("failed", Some(3)), "its own code stands");
}

#[test]
fn an_end_over_fewer_results_than_were_announced_is_not_believed() {
    let passed = || RunVerdict::conclude(&facts(|_| {}), Policy::default());
    for (recorded, announced) in [(4, None), (4, Some(4)), (5, Some(4))] {
        assert_eq!(passed().checked_against_plan(recorded, announced), passed());
    }
    let short = passed().checked_against_plan(3, Some(4));
    assert_eq!((short.word(), short.exit_code()), ("failed", Some(1)));
    let stopped =
        RunVerdict::conclude(&facts(|f| f.stopped = Some(StopCause::Request)), Policy::default());
    assert_eq!(stopped.clone().checked_against_plan(0, Some(4)), stopped);
}

#[test]
fn words_and_phrases() {
    let verdict = RunVerdict::conclude(&facts(|f| f.loaded = false), Policy::default());
    assert_eq!((verdict.word(), verdict.phrase()), ("did_not_load", "did not load"));
    assert_eq!(verdict.final_word(), None);
    let verdict = RunVerdict::conclude(&facts(|_| {}), Policy::default());
    assert_eq!((verdict.phrase(), verdict.state()), ("passed", RunState::Finished));
    assert_eq!(verdict.final_word(), Some("passed"));
    let verdict = RunVerdict::conclude(&facts(|f| f.counts.failures = 2), Policy::default());
    assert_eq!(verdict.phrase(), "failed");
    let over: Vec<&str> =
        RunState::ALL.iter().filter(|state| state.is_over()).map(|state| state.word()).collect();
    assert_eq!(over, ["finished", "stopped", "died", "did_not_load", "nothing_found"]);
    assert_eq!(serde_json::to_string(&RunState::DidNotLoad).unwrap(), r#""did_not_load""#);
}
