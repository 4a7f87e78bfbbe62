//! What `--repeat auto` spends and finds, in short; `bench/compare/repeat` has the long form.

use crate::simulate::{Outcome, Setting, simulate};

fn outcome(changed: usize, from: f64, to: f64) -> Outcome {
    simulate(&Setting::twenty(changed, from, to), 60, 7)
}

fn share(outcome: &Outcome, count: u32) -> f64 {
    outcome.per_run(count.into())
}

#[test]
fn a_drop_of_everything_is_found_for_less_than_half_the_repeats() {
    let drop = outcome(20, 0.8, 0.6);
    assert!(share(&drop, drop.alarms) >= 0.9, "{drop:?}");
    assert!(drop.per_run(drop.repetitions) < 160.0, "{drop:?}");
}

#[test]
fn a_drop_of_two_examples_is_found_as_often_as_by_the_exact_test() {
    let drop = outcome(2, 0.95, 0.2);
    assert!(share(&drop, drop.alarms) >= 0.9, "{drop:?}");
    assert!(share(&drop, drop.fixed_alarms) >= 0.9, "{drop:?}");
    assert!(share(&drop, drop.examples_named) >= 0.7, "{drop:?}");
}

#[test]
fn nothing_changed_raises_few_alarms_and_costs_little() {
    for rate in [0.5, 0.8, 0.95] {
        let same = outcome(0, rate, rate);
        assert!(share(&same, same.alarms) <= 0.05, "{rate}: {same:?}");
        assert!(same.per_run(same.repetitions) < 170.0, "{rate}: {same:?}");
    }
    let perfect = outcome(0, 1.0, 1.0);
    assert!((perfect.per_run(perfect.repetitions) - 60.0).abs() < 1e-9, "three each");
}

/// A baseline whose repeats ended when a pass rate was settled ends with a pass, or with a failure, more often than not.
#[test]
fn a_baseline_that_settled_early_raises_no_more_alarms() {
    for rate in [0.5, 0.8] {
        let setting = Setting { baseline_settles: Some(0.8), ..Setting::twenty(0, rate, rate) };
        let same = simulate(&setting, 200, 3);
        assert!(share(&same, same.alarms) <= 0.05, "{rate}: {same:?}");
    }
}
