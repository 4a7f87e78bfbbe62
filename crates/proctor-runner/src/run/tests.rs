//! The options of a run as the dispatcher's rules.

use super::*;

#[test]
fn a_limit_of_failures_of_zero_is_none_whoever_sets_it() {
    let limit = |own, of_suite| {
        let options = RunOptions { fail_fast: own, ..RunOptions::default() };
        options.policy(vec![1], of_suite).fail_fast
    };
    assert_eq!(limit(None, None), None);
    assert_eq!(limit(Some(0), None), None);
    assert_eq!(limit(None, Some(0)), None);
    assert_eq!(limit(Some(0), Some(3)), None, "the options of the run come first");
    assert_eq!((limit(Some(1), None), limit(None, Some(2))), (Some(1), Some(2)));
}

#[test]
fn workers_that_may_die_idle_are_twice_as_many_as_there_are_and_at_least_four() {
    let deaths = |workers, idle_deaths| {
        let options = RunOptions { workers, idle_deaths, ..RunOptions::default() };
        options.policy(vec![workers], None).idle_deaths
    };
    assert_eq!((deaths(1, None), deaths(3, None), deaths(3, Some(1))), (4, 6, 1));
}

#[test]
fn every_option_of_the_dispatcher_is_passed_on() {
    let options = RunOptions {
        schedule: Schedule::AsListed,
        timeout: Some(11),
        slow_after: Some(12),
        retries: 13,
        max_per_worker: Some(14),
        on_crash: OnCrash::Stop,
        grace: 15,
        adaptive: Some(AdaptiveRepeats { limit: 16, baseline: None }),
        flaky_fails: true,
        ..RunOptions::default()
    };
    let expected = Policy {
        slots: vec![1, 2],
        schedule: Schedule::AsListed,
        timeout: Some(11),
        slow_after: Some(12),
        retries: 13,
        max_per_worker: Some(14),
        on_crash: OnCrash::Stop,
        grace: 15,
        idle_deaths: 8,
        grows: true,
        verdict: proctor_verdict::Policy {
            flaky_fails: true,
            inconclusive_fails: true,
            ..proctor_verdict::Policy::default()
        },
        ..Policy::default()
    };
    assert_eq!(options.policy(vec![1, 2], None), expected);
}

#[test]
fn a_run_that_could_not_be_made_has_failed_with_an_error() {
    let result = failed_to_run("no thread".to_owned());
    assert_eq!((result.status, result.counts.errors), (RunStatus::Failed, 1));
    assert!(result.verdict.exit_code().is_some_and(|code| code != 0));
    assert_eq!(result.problem.map(|problem| problem.message), Some("no thread".to_owned()));
}
