//! A short form of `bench/compare`: nothing changed and nothing is said to have; what changed is found; intervals hold the truth.
//!
//! The seeds are fixed, so these tests give the same result every time; the bounds leave room for the few comparisons made here.

use crate::simulate::{Outcomes, Rates, Repeats, Setting, simulate};

const COMPARISONS: u32 = 240;

fn check(setting: Setting, outcomes: &Outcomes) {
    assert!(outcomes.stops() <= 0.05, "stops {:?}: {setting:?}", outcomes.codes);
    assert!(outcomes.share(outcomes.claims) <= 0.05, "claims {outcomes:?}: {setting:?}");
    assert!(outcomes.share(outcomes.covered) >= 0.92, "covered {outcomes:?}: {setting:?}");
    assert_eq!(outcomes.contradictions, 0, "{setting:?}");
}

#[test]
fn at_most_five_in_a_hundred_comparisons_of_the_same_raise_an_alarm() {
    for examples in [2, 10, 60] {
        for repeats in [1, 5, 20] {
            let setting = Setting::new(examples, repeats, Rates::Mixed);
            check(setting, &simulate(setting, COMPARISONS, 6));
        }
    }
}

/// T2: the numbers of repeats may differ between the sides and between examples.
#[test]
fn t2_unequal_repeats_raise_no_alarms() {
    for (before, after) in [
        (Repeats::All(1), Repeats::All(10)),
        (Repeats::All(5), Repeats::All(1)),
        (Repeats::OneOr(20), Repeats::All(3)),
        (Repeats::All(5), Repeats::FewWhereItWavers(20)),
    ] {
        for rates in [Rates::All(0.8), Rates::Around(0.95), Rates::Mixed] {
            let setting = Setting { before, after, ..Setting::new(50, 1, rates) };
            check(setting, &simulate(setting, COMPARISONS, 7));
        }
    }
}

/// T2: nor does a pass rate that ends an example early, on one side or on both.
#[test]
fn t2_early_settling_raises_no_alarms() {
    for settles in [(Some(0.8), Some(0.8)), (None, Some(0.8)), (Some(0.95), None)] {
        for rate in [0.5, 0.9] {
            let setting = Setting { settles, ..Setting::new(40, 10, Rates::All(rate)) };
            check(setting, &simulate(setting, COMPARISONS, 8));
        }
    }
}

/// A bad day of the model is no regression where earlier runs have had such days.
#[test]
fn bad_days_are_known_from_earlier_runs() {
    let setting =
        Setting { bad_days: 0.5, earlier_runs: 12, ..Setting::new(60, 10, Rates::All(0.8)) };
    let outcomes = simulate(setting, COMPARISONS, 9);
    check(setting, &outcomes);
    assert!(outcomes.share(outcomes.stratified) > 0.1, "the bare test is fooled: {outcomes:?}");
}

#[test]
fn a_drop_is_found_as_often_as_the_bare_test_finds_it() {
    let setting = Setting { drop: 0.2, ..Setting::new(20, 5, Rates::All(0.8)) };
    let outcomes = simulate(setting, COMPARISONS, 10);
    assert!(outcomes.codes[1] >= outcomes.stratified, "{outcomes:?}");
    assert!(outcomes.stops() > 0.8, "{outcomes:?}");
    assert_eq!(outcomes.codes[0], 0, "a drop of 20 points is never green here: {outcomes:?}");
}

/// «Unchanged» is said at most once in twenty where the true drop is the margin.
#[test]
fn unchanged_is_a_claim_that_was_tested() {
    for rate in [0.8, 0.95] {
        let setting =
            Setting { drop: 0.1, margin: Some(0.1), ..Setting::new(60, 10, Rates::All(rate)) };
        let outcomes = simulate(setting, COMPARISONS, 11);
        assert!(outcomes.share(outcomes.unchanged) <= 0.05, "{outcomes:?}");
    }
    let same = Setting { margin: Some(0.1), ..Setting::new(60, 20, Rates::All(0.8)) };
    let outcomes = simulate(same, COMPARISONS, 12);
    assert!(outcomes.share(outcomes.unchanged) > 0.9, "and it can be shown: {outcomes:?}");
}
