use proptest::prelude::*;

use super::*;

/// An attempt as a test writes it: repetition, attempt, status, fault.
type Made = (u32, u32, &'static str, Option<&'static str>);

fn verdict_of(made: &[Made], pass_rate: Option<f64>, over: bool) -> ExampleVerdict {
    let statuses: Vec<Option<Status>> =
        made.iter().map(|(_, _, word, _)| (*word != "-").then(|| Status::from(*word))).collect();
    let faults: Vec<Option<Fault>> = made.iter().map(|it| it.3.map(Fault::from)).collect();
    let all: Vec<Observation<'_>> = made
        .iter()
        .zip(statuses.iter().zip(&faults))
        .map(|((repeat, attempt, _, _), (status, fault))| Observation {
            number: AttemptNumber { repeat: *repeat, attempt: *attempt },
            status: status.as_ref(),
            fault: fault.as_ref(),
            is_final: true,
            flaky: false,
            checks: None,
        })
        .collect();
    ExampleVerdict::of(&all, pass_rate, over)
}

fn word(made: &[Made], pass_rate: Option<f64>) -> &'static str {
    verdict_of(made, pass_rate, true).word()
}

#[test]
fn one_attempt_decides_as_it_ended() {
    for status in Status::KNOWN {
        assert_eq!(word(&[(1, 1, status, None)], None), *status);
    }
    assert_eq!(word(&[(1, 1, "of the future", None)], None), "errored");
    assert_eq!(word(&[], None), "not_run", "no attempt is no pass");
    assert_eq!(verdict_of(&[(1, 1, "-", None)], None, false).word(), "running");
    assert_eq!(verdict_of(&[(1, 1, "-", None)], None, true).word(), "unfinished");
}

#[test]
fn a_retry_replaces_what_it_repeats() {
    assert_eq!(word(&[(1, 1, "failed", None), (1, 2, "passed", None)], None), "flaky");
    assert_eq!(word(&[(1, 2, "passed", None), (1, 1, "failed", None)], None), "flaky", "any order");
    assert_eq!(word(&[(1, 1, "passed", None), (1, 2, "failed", None)], None), "failed");
    assert_eq!(word(&[(1, 1, "pending", None), (1, 2, "passed", None)], None), "passed");
    let other_repeat = [(1, 1, "failed", None), (2, 1, "passed", None)];
    assert_eq!(word(&other_repeat, None), "failed", "a repetition replaces nothing");
}

#[test]
fn without_a_rate_the_worst_repetition_names_the_verdict() {
    let order = [
        "failed",
        "crashed",
        "timed_out",
        "errored",
        "inconclusive",
        "cancelled",
        "not_run",
        "pending",
        "passed",
    ];
    for (place, worse) in order.iter().enumerate() {
        for better in &order[place..] {
            let mixed = [(1, 1, *better, None), (2, 1, *worse, None)];
            assert_eq!(word(&mixed, None), *worse, "{better} and {worse}");
        }
    }
}

#[test]
fn a_rate_counts_what_says_something() {
    let half = Some(0.5);
    let mixed = [(1, 1, "passed", None), (2, 1, "failed", None)];
    assert_eq!(word(&mixed, half), "within_rate");
    assert_eq!(word(&mixed, Some(0.51)), "failed");
    assert_eq!(word(&mixed, Some(1.5)), "failed", "an impossible rate demands everything");
    assert_eq!(word(&[(1, 1, "passed", None), (2, 1, "passed", None)], half), "passed");
    let excused = [(1, 1, "passed", None), (2, 1, "errored", Some("judge"))];
    assert_eq!(word(&excused, Some(1.0)), "passed");
    let by_tool = [(1, 1, "passed", None), (2, 1, "failed", Some("tool"))];
    assert_eq!(
        verdict_of(&by_tool, half, true).rate(),
        Rate { passed: 1, valid: 1, void: 1, open: 0 }
    );
    let flaky = [(1, 1, "failed", None), (1, 2, "passed", None)];
    assert_eq!(word(&flaky, half), "flaky");
}

#[test]
fn a_rate_of_which_nothing_was_shown_is_no_pass() {
    let half = Some(0.5);
    assert_eq!(word(&[(1, 1, "inconclusive", Some("judge"))], half), "inconclusive");
    assert_eq!(word(&[(1, 1, "errored", Some("harness"))], half), "errored");
    assert_eq!(word(&[(1, 1, "failed", Some("judge"))], half), "inconclusive");
    assert_eq!(word(&[(1, 1, "pending", None), (2, 1, "pending", None)], half), "pending");
    assert_eq!(word(&[(1, 1, "not_run", None)], half), "not_run");
    assert_eq!(
        word(&[(1, 1, "pending", None), (2, 1, "inconclusive", None)], half),
        "inconclusive"
    );
    assert_eq!(word(&[], half), "inconclusive");
}

#[test]
fn repetitions_that_were_left_out_might_have_gone_either_way() {
    let two_of_five = [
        (1, 1, "passed", None),
        (2, 1, "passed", None),
        (3, 1, "not_run", None),
        (4, 1, "not_run", None),
        (5, 1, "cancelled", None),
    ];
    assert_eq!(word(&two_of_five, Some(0.8)), "cancelled", "an interrupted run shows nothing");
    assert_eq!(word(&two_of_five, Some(0.4)), "passed", "nothing could take it away");
    let missed = [(1, 1, "failed", None), (2, 1, "failed", None), (3, 1, "not_run", None)];
    assert_eq!(word(&missed, Some(0.8)), "failed", "out of reach");
    let unfinished = [(1, 1, "passed", None), (2, 1, "-", None)];
    assert_eq!(word(&unfinished, Some(0.8)), "unfinished");
    assert_eq!(verdict_of(&unfinished, Some(0.8), false).word(), "running");
}

#[test]
fn an_attempt_that_will_be_tried_again_decides_nothing() {
    let failed = Status::Failed;
    let one = Observation {
        number: AttemptNumber::FIRST,
        status: Some(&failed),
        fault: None,
        is_final: false,
        flaky: false,
        checks: None,
    };
    let open = ExampleVerdict::of(&[one], None, false);
    assert_eq!((open.word(), open.is_decided()), ("running", false));
    assert_eq!(ExampleVerdict::of(&[one], None, true).word(), "failed", "no further one came");
}

#[test]
fn planned_repetitions_keep_a_tally_open() {
    let mut tally = ExampleTally::default();
    let rate = PassRate::new(0.6);
    assert_eq!(tally.verdict(rate, 5).word(), "running");
    for _ in 0..3 {
        tally.count(&Status::Passed, None, false);
    }
    let settled = tally.verdict(rate, 2);
    assert_eq!((settled.word(), settled.rate_state()), ("passed", Some(RateState::Reached)));
    assert_eq!(tally.verdict(None, 2).word(), "running");
    assert_eq!(tally.verdict(None, 2).rate_state(), None);
    assert_eq!(tally.verdict(None, 0).word(), "passed");
    assert_eq!((tally.rate().passed, tally.flaky()), (3, 0));
    tally.count(&Status::Passed, None, true);
    assert_eq!((tally.verdict(None, 0).word(), tally.flaky()), ("flaky", 1));
    let mut lost = ExampleTally::default();
    lost.count_open(true);
    assert_eq!(lost.verdict(rate, 1).word(), "unfinished");
    let mut failed = ExampleTally::default();
    failed.count(&Status::Failed, None, true);
    assert_eq!(failed.flaky(), 0, "only a pass can be flaky");
}

#[test]
fn the_policy_decides_about_flaky_inconclusive_and_unchecked() {
    let default = Policy::default();
    let strict = Policy { flaky_fails: true, unchecked_fails: true, ..default };
    let lenient = Policy { inconclusive_fails: false, ..default };
    let flaky = verdict_of(&[(1, 1, "failed", None), (1, 2, "passed", None)], None, true);
    assert!(!flaky.is_failure(default) && flaky.is_failure(strict) && flaky.is_passed());
    let inconclusive = verdict_of(&[(1, 1, "inconclusive", None)], None, true);
    assert!(inconclusive.is_failure(default) && !inconclusive.is_failure(lenient));
    let (passed, checked, unchecked) = (Status::Passed, Some(1), Some(0));
    let with = |checks| {
        let one = Observation {
            number: AttemptNumber::FIRST,
            status: Some(&passed),
            fault: None,
            is_final: true,
            flaky: false,
            checks,
        };
        ExampleVerdict::of(&[one], None, true)
    };
    assert!(with(unchecked).is_unchecked() && !with(checked).is_unchecked());
    assert!(!with(None).is_unchecked(), "what is not recorded is not known");
    assert!(with(unchecked).is_failure(strict) && !with(unchecked).is_failure(default));
    assert!(!with(checked).is_failure(strict));
    for (status, fails) in [
        ("passed", false),
        ("pending", false),
        ("cancelled", false),
        ("not_run", false),
        ("failed", true),
        ("errored", true),
        ("crashed", true),
        ("timed_out", true),
    ] {
        let verdict = verdict_of(&[(1, 1, status, None)], None, true);
        assert_eq!(verdict.is_failure(lenient), fails, "{status}");
        assert_eq!(verdict.is_missing(), ["cancelled", "not_run"].contains(&status), "{status}");
        assert_eq!(verdict.is_passed(), status == "passed", "{status}");
        assert!(verdict.is_decided());
    }
    assert!(verdict_of(&[(1, 1, "-", None)], None, true).is_failure(lenient), "lost");
    assert!(!verdict_of(&[(1, 1, "-", None)], None, false).is_failure(lenient));
}

/// Repetitions with their status, fault and number of checks.
fn with_checks(made: &[(&str, Option<&str>, Option<u64>)], rate: Option<f64>) -> ExampleVerdict {
    let mut tally = ExampleTally::default();
    for (status, fault, checks) in made {
        let (status, fault) = (Status::from(*status), fault.map(Fault::from));
        tally.count(&status, fault.as_ref(), false);
        tally.count_checks(&status, fault.as_ref(), *checks);
    }
    tally.verdict(rate.and_then(PassRate::new), 0)
}

#[test]
fn without_a_rate_every_repetition_must_check_something() {
    let passed = |checks| ("passed", None, checks);
    let phrase = |made: &[_]| with_checks(made, None).unchecked_phrase();
    let nothing = "passed without checking anything";
    assert_eq!(phrase(&[passed(Some(0))]).as_deref(), Some(nothing));
    assert_eq!(phrase(&[passed(Some(0)), passed(Some(0))]).as_deref(), Some(nothing));
    // A repetition in which no check was reached has shown nothing, whatever another one has.
    let one_of_two = "passed without checking anything in 1 of 2 passed repetitions";
    assert_eq!(phrase(&[passed(Some(0)), passed(Some(2))]).as_deref(), Some(one_of_two));
    assert_eq!(phrase(&[passed(None), passed(Some(0))]).as_deref(), Some(one_of_two));
    assert_eq!(phrase(&[passed(Some(1)), passed(None)]), None);
    assert_eq!(phrase(&[passed(None)]), None, "what is not recorded is not known");
}

#[test]
fn only_what_passed_can_be_unchecked() {
    let strict = Policy { unchecked_fails: true, ..Policy::default() };
    for status in Status::KNOWN.iter().filter(|status| **status != "passed") {
        let verdict = with_checks(&[(status, None, Some(0))], None);
        assert!(!verdict.is_unchecked() && verdict.unchecked_phrase().is_none(), "{status}");
        let default = verdict.is_failure(Policy::default());
        assert_eq!(verdict.is_failure(strict), default, "{status}");
        let beside = with_checks(&[("passed", None, Some(0)), (status, None, Some(1))], None);
        assert!(!beside.is_unchecked(), "{status}: it did not pass");
    }
    let tolerated = with_checks(&[("failed", None, Some(0))], Some(0.0));
    assert_eq!((tolerated.word(), tolerated.is_unchecked()), ("within_rate", false));
}

#[test]
fn a_rate_must_be_reached_by_repetitions_that_check_something() {
    let (unchecked, checked) = (("passed", None, Some(0)), ("passed", None, Some(1)));
    let failed = ("failed", None, Some(1));
    let half = |made: &[_]| {
        let verdict = with_checks(made, Some(0.5));
        assert!(verdict.is_passed(), "{made:?}");
        verdict.is_unchecked()
    };
    assert!(half(&[unchecked]));
    assert!(half(&[unchecked, failed]));
    assert!(half(&[unchecked, unchecked, checked, failed, failed]), "one of three is not a half");
    assert!(!half(&[unchecked, checked, failed]), "one of two is");
    assert!(!half(&[checked, failed]));
    // A pass that is somebody's fault says nothing, so it neither counts as one nor as an unchecked one.
    let excused = ("passed", Some("judge"), Some(0));
    assert!(half(&[excused, unchecked]));
    assert!(!half(&[excused, checked]));
}

#[test]
fn the_deciding_attempt_says_what_was_checked() {
    let (passed, failed) = (Status::Passed, Status::Failed);
    let attempt = |attempt, status, checks| Observation {
        number: AttemptNumber { repeat: 1, attempt },
        status: Some(status),
        fault: None,
        is_final: attempt == 2,
        flaky: false,
        checks: Some(checks),
    };
    let strict = Policy { unchecked_fails: true, ..Policy::default() };
    let empty = ExampleVerdict::of(&[attempt(1, &failed, 3), attempt(2, &passed, 0)], None, true);
    assert!(empty.is_unchecked() && empty.outcome() == Outcome::Flaky && empty.is_failure(strict));
    assert_eq!(empty.refusal(strict).as_deref(), Some("passed without checking anything"));
    let stricter = Policy { flaky_fails: true, ..strict };
    let both = "passed only after failing, passed without checking anything";
    assert_eq!(empty.refusal(stricter).as_deref(), Some(both));
    assert_eq!(empty.refusal(Policy::default()), None);
    let full = ExampleVerdict::of(&[attempt(1, &failed, 0), attempt(2, &passed, 3)], None, true);
    assert!(!full.is_unchecked() && !full.is_failure(strict));
}

#[test]
fn what_tells_most_stands_first() {
    let rank = |status: Option<&str>, fault: Option<&str>| {
        worst_first(status.map(Status::from).as_ref(), fault.map(Fault::from).as_ref())
    };
    assert_eq!(rank(Some("failed"), None), 0);
    assert_eq!(rank(Some("crashed"), None), 0);
    assert_eq!(rank(Some("errored"), Some("harness")), 1);
    assert_eq!(rank(None, None), 2);
    assert_eq!(rank(Some("inconclusive"), None), 3);
    assert_eq!(rank(Some("passed"), None), 4);
    assert_eq!(rank(Some("not_run"), None), 4);
}

#[test]
fn what_has_not_passed_is_to_be_repeated() {
    let (default, strict) = (Policy::default(), Policy { flaky_fails: true, ..Policy::default() });
    let lenient = Policy { inconclusive_fails: false, ..default };
    for (status, repeated) in [
        ("passed", false),
        ("pending", false),
        ("failed", true),
        ("inconclusive", true),
        ("cancelled", true),
        ("not_run", true),
        ("-", true),
    ] {
        let verdict = verdict_of(&[(1, 1, status, None)], None, true);
        assert_eq!(verdict.is_to_be_repeated(lenient), repeated, "{status}");
    }
    assert!(verdict_of(&[(1, 1, "-", None)], None, false).is_to_be_repeated(default));
    let mixed = [(1, 1, "failed", None), (2, 1, "passed", None)];
    assert!(verdict_of(&mixed, None, true).is_to_be_repeated(default), "one of two failed");
    assert!(!verdict_of(&mixed, Some(0.5), true).is_to_be_repeated(default), "which is allowed");
    let flaky = verdict_of(&[(1, 1, "failed", None), (1, 2, "passed", None)], None, true);
    assert!(!flaky.is_to_be_repeated(default) && flaky.is_to_be_repeated(strict));
}

#[test]
fn the_schema_of_a_verdict_lists_its_words() {
    let schema = schemars::schema_for!(ExampleVerdict);
    let words: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.word()).collect();
    assert_eq!(schema.get("enum"), Some(&serde_json::json!(words)));
    assert_eq!(schema.get("type"), Some(&serde_json::json!("string")));
    assert_eq!(ExampleVerdict::schema_name(), "ExampleVerdict");
    assert!(ExampleVerdict::inline_schema(), "it stands where it is used");
}

#[test]
fn a_verdict_is_written_as_its_word() {
    let flaky = verdict_of(&[(1, 1, "failed", None), (1, 2, "passed", None)], None, true);
    assert_eq!(serde_json::to_string(&flaky).unwrap(), r#""flaky""#);
}

fn made() -> impl Strategy<Value = Vec<Made>> {
    let status = prop::sample::select(Status::KNOWN);
    let fault = prop::option::of(prop::sample::select(vec!["agent", "judge", "tool", "harness"]));
    prop::collection::vec((1_u32..5, 1_u32..3, status, fault), 0..10)
}

proptest! {
    /// No evidence, no green: a passed verdict rests on a pass, and without a rate on nothing but passes.
    #[test]
    fn green_rests_on_passes(made in made(), rate in prop::option::of(0.1_f64..1.0), over in any::<bool>()) {
        let verdict = verdict_of(&made, rate, over);
        if verdict.is_passed() {
            prop_assert!(verdict.rate().passed > 0);
            let last = deciding(&made, |it| AttemptNumber { repeat: it.0, attempt: it.1 });
            if rate.is_none() {
                prop_assert!(last.iter().all(|it| it.2 == "passed"));
            }
        }
    }

    /// The order in which attempts arrive decides nothing.
    #[test]
    fn order_decides_nothing(made in made(), rate in prop::option::of(0.1_f64..1.0)) {
        let mut unique = made;
        unique.sort_by_key(|it| (it.0, it.1));
        unique.dedup_by_key(|it| (it.0, it.1));
        let forwards = verdict_of(&unique, rate, true);
        unique.reverse();
        prop_assert_eq!(forwards, verdict_of(&unique, rate, true));
    }
}

/// T12: how often attempts are looked at grows with their number, retries or not, in whatever order they arrive.
#[test]
fn t12_the_deciding_attempts_are_found_without_looking_at_every_pair() {
    // Prime numbers of repetitions, so that the multiples of another number come upon each of them once.
    let looked_at = |repeats: u32| {
        let attempts: Vec<(u32, u32)> = (0..u64::from(repeats))
            .map(|it| u32::try_from(it * 48_271 % u64::from(repeats)).unwrap())
            .flat_map(|repeat| [(repeat, 2), (repeat, 1)])
            .collect();
        let looked_at = std::cell::Cell::new(0_u64);
        let last = deciding(&attempts, |&(repeat, attempt)| {
            looked_at.set(looked_at.get() + 1);
            AttemptNumber { repeat, attempt }
        });
        assert_eq!(last.len(), repeats as usize);
        assert!(last.iter().all(|(_, attempt)| *attempt == 2));
        looked_at.get()
    };
    let (few, many) = (looked_at(1_009), looked_at(100_003));
    assert!(many < 200 * few, "{few} for 1,009 repetitions, {many} for 100,003");
}

#[test]
fn t12_each_of_100_000_retried_repetitions_is_flaky() {
    let mut made: Vec<Made> = Vec::new();
    for repeat in 1..=100_000 {
        made.extend([(repeat, 1, "failed", None), (repeat, 2, "passed", None)]);
    }
    let verdict = verdict_of(&made, None, true);
    assert_eq!((verdict.word(), verdict.rate().passed), ("flaky", 100_000));
}
