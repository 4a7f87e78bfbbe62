//! Nothing changed, and nothing is said to have: the share of false alarms is at most 5 %.

use crate::simulate::{Plan, mixed_rates, same_against_same};

#[test]
fn at_most_five_in_a_hundred_comparisons_of_the_same_raise_an_alarm() {
    for examples in [1, 10, 60] {
        for repeats in [1, 5, 20] {
            let plan = Plan { examples, repeats, comparisons: 150, history: 0 };
            let alarms = same_against_same(plan, mixed_rates, 6);
            let shares = [alarms.gated, alarms.any, alarms.suite].map(|count| alarms.share(count));
            assert!(shares[1] <= 0.05, "any: {shares:?} with {examples} × {repeats}");
            assert!(alarms.example_share() <= 0.05, "examples: {alarms:?}");
        }
    }
}

/// The hardest rate for Fisher's test is one half.
#[test]
fn nor_where_every_example_is_a_coin() {
    for repeats in [4, 10, 20] {
        let plan = Plan { examples: 20, repeats, comparisons: 150, history: 0 };
        let alarms = same_against_same(plan, |_| 0.5, 7);
        assert!(alarms.share(alarms.any) <= 0.05, "{alarms:?}");
    }
}

/// Examples with an even record are judged by it, and still at most 5 % of comparisons raise an alarm.
#[test]
fn nor_where_earlier_runs_speak_for_an_example() {
    for (examples, history) in [(1, 12), (1, 40), (20, 12), (30, 300)] {
        for rate in [0.8, 0.95, 0.99] {
            let plan = Plan { examples, repeats: 1, comparisons: 150, history };
            let alarms = same_against_same(plan, |_| rate, 8);
            assert!(
                alarms.share(alarms.any) <= 0.05,
                "{examples} with {history} at {rate}: {alarms:?}"
            );
        }
    }
}
