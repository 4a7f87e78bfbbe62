//! The sums on `docs/comparing.md` are those that the program makes.

use proctor_compare::{Comparison, GateDecision};
use proctor_compare::{
    CountedAttempt, EarlierRuns, ExampleHistory, ExampleResults, Gate, GateRules, Rules, Side,
    Streak, compare,
};

const PAGE: &str = include_str!("../../../../docs/comparing.md");

fn sample(id: u32, passed: usize, attempts: usize) -> ExampleResults {
    let trial =
        |place| CountedAttempt { passed: place < passed, model: true, ..CountedAttempt::default() };
    ExampleResults {
        id: id.to_string(),
        trials: (0..attempts).map(trial).collect(),
        ..ExampleResults::default()
    }
}

fn compared(
    before: Vec<ExampleResults>,
    after: Vec<ExampleResults>,
    past: &EarlierRuns,
    rules: &Rules,
) -> Comparison {
    let side = |examples| Side { complete: true, examples, ..Side::default() };
    compare(&side(before), &side(after), past, rules)
}

#[test]
fn the_sums_of_the_page() {
    let rules = Rules::default();
    let none = EarlierRuns::default();
    let four = compared(vec![sample(0, 4, 4)], vec![sample(0, 0, 4)], &none, &rules);
    let p = four.examples[0].p.unwrap();
    assert!((p - 1.0 / 70.0).abs() < 1e-12 && four.gate.decision == GateDecision::Stop);
    assert!(PAGE.contains(&format!("p = 1/70 = {p:.3}")));

    let once = |failing: u32| (0..12).map(|id| sample(id, usize::from(id >= failing), 1)).collect();
    let suite = compared(once(0), once(8), &none, &rules).suite.p_worse;
    assert!((suite - 0.5_f64.powi(8)).abs() < 1e-12);
    assert!(PAGE.contains(&format!("p = (1/2)⁸ = {suite:.3}")));

    let streak = Streak { attempts: 30, runs: 30 };
    let record = ExampleHistory {
        attempts: 30,
        passed: 30,
        passed_in_a_row: streak,
        ..ExampleHistory::default()
    };
    let past = EarlierRuns { records: [("0".to_owned(), record)].into(), runs: Vec::new() };
    let record = compared(vec![sample(0, 1, 1)], vec![sample(0, 0, 1)], &past, &rules);
    let p = record.examples[0].p.unwrap();
    assert!(PAGE.contains(&format!("(30/31)³⁰ × 1/31 = {p:.3}")), "{p}");

    let ten = || (0..10).map(|id| sample(id, 18, 20)).collect::<Vec<_>>();
    let same = compared(ten(), ten(), &none, &rules);
    let low = same.suite.change.unwrap().range.unwrap().low * -100.0;
    assert!(PAGE.contains(&format!("−{low:.1} to +{low:.1} points")), "{low}");
    for (margin, decision) in [(10.0, GateDecision::Pass), (5.0, GateDecision::CannotTell)] {
        let rules = rules.with_margin(margin).unwrap();
        let comparison = compared(ten(), ten(), &none, &rules);
        assert_eq!(Gate::of(&comparison, &GateRules::default()).decision, decision, "{margin}");
    }
}
