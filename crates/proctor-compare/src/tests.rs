//! The rules, one by one, on small sides.

use std::collections::BTreeMap;

use super::*;

fn trial(passed: bool, model: bool) -> CountedAttempt {
    CountedAttempt { passed, model, duration_ms: Some(100.0), ..CountedAttempt::default() }
}

fn sample(id: &str, file: &str, passed: u64, attempts: u64, model: bool) -> ExampleResults {
    let trials = (0..attempts).map(|place| trial(place < passed, model)).collect();
    ExampleResults {
        id: id.to_owned(),
        file: Some(file.to_owned()),
        path: vec!["Cart".to_owned(), id.to_owned()],
        title: format!("Cart > {id}"),
        trials,
        status: if passed == attempts { "passed" } else { "failed" }.to_owned(),
        mixed: passed > 0 && passed < attempts,
        ..ExampleResults::default()
    }
}

fn side(label: &str, examples: Vec<ExampleResults>) -> Side {
    Side { v: SIDE_VERSION, label: label.to_owned(), complete: true, examples, ..Side::default() }
}

fn compared(before: Vec<ExampleResults>, after: Vec<ExampleResults>) -> Comparison {
    compare(&side("a", before), &side("b", after), &EarlierRuns::default(), &Rules::default())
}

fn one(before: (u64, u64), after: (u64, u64), model: bool) -> ExampleChange {
    let comparison = compared(
        vec![sample("x", "a.rb", before.0, before.1, model)],
        vec![sample("x", "a.rb", after.0, after.1, model)],
    );
    comparison.examples[0].clone()
}

fn gate(comparison: &Comparison) -> u8 {
    Gate::of(comparison, &GateRules::default()).exit_code
}

#[test]
fn without_a_model_one_attempt_each_is_enough() {
    let broken = one((1, 1), (0, 1), false);
    assert_eq!((broken.verdict, broken.basis), (Assessment::Regression, Basis::Deterministic));
    assert_eq!(broken.why, "passed before, fails now; no model takes part");
    assert_eq!(broken.change.range, None, "exact");
    assert_eq!(one((0, 1), (1, 1), false).verdict, Assessment::Improvement);
    assert_eq!(one((1, 1), (1, 1), false).verdict, Assessment::NoChangeSeen);
}

#[test]
fn with_a_model_one_attempt_each_tells_nothing() {
    let change = one((1, 1), (0, 1), true);
    assert_eq!((change.verdict, change.basis), (Assessment::CannotTell, Basis::Fisher));
    assert_eq!(change.direction, Direction::Worse);
    assert_eq!(
        change.why,
        "1 of 1 passed before, 0 of 1 now: may be worse or chance; a model takes part (p = 0.500, 1.000 adjusted); \
         about 20 repeats a side would tell"
    );
    assert_eq!(one((1, 1), (1, 1), true).verdict, Assessment::NoChangeSeen);
}

#[test]
fn with_repeats_fisher_decides() {
    assert_eq!(one((10, 10), (4, 10), true).verdict, Assessment::Regression);
    assert_eq!(one((2, 10), (10, 10), true).verdict, Assessment::Improvement);
    assert_eq!(one((10, 10), (8, 10), true).verdict, Assessment::CannotTell);
    assert_eq!(one((190, 200), (188, 200), true).verdict, Assessment::CannotTell);
    assert_eq!(one((4, 4), (0, 4), true).verdict, Assessment::Regression, "four a side are enough");
}

/// T1: rates are compared as whole numbers.
#[test]
fn t1_the_same_rate_from_other_repeats_is_no_change() {
    for (before, after) in [((9, 10), (18, 20)), ((4, 5), (8, 10)), ((1, 3), (7, 21))] {
        let change = one(before, after, true);
        assert_eq!((change.verdict, change.direction), (Assessment::NoChangeSeen, Direction::Same));
    }
    let ten = |passed, attempts| {
        (0..10).map(|n| sample(&n.to_string(), "a.rb", passed, attempts, true)).collect()
    };
    let comparison = compared(ten(9, 10), ten(18, 20));
    assert_eq!((comparison.suite.worse, comparison.suite.better), (0, 0));
    assert_eq!((comparison.verdict, gate(&comparison)), (Assessment::NoChangeSeen, 0));
}

#[test]
fn a_test_without_model_that_gave_both_outcomes_is_not_deterministic() {
    let change = one((1, 2), (0, 2), false);
    assert_eq!((change.verdict, change.basis), (Assessment::CannotTell, Basis::Fisher));
    let mut retried = sample("x", "a.rb", 1, 1, false);
    retried.mixed = true;
    // T13: a retried pass and then a hard failure is no «fails as before».
    let comparison = compared(vec![retried], vec![sample("x", "a.rb", 0, 1, false)]);
    assert_eq!(comparison.examples[0].verdict, Assessment::CannotTell);
    assert_eq!(gate(&comparison), 3);
}

fn steady(attempts: u64) -> ExampleHistory {
    let passed_in_a_row = Streak { attempts, runs: attempts };
    ExampleHistory { attempts, passed: attempts, passed_in_a_row, ..ExampleHistory::default() }
}

fn judged_with(record: ExampleHistory, model: bool) -> ExampleChange {
    let past =
        EarlierRuns { records: BTreeMap::from([("x".to_owned(), record)]), runs: Vec::new() };
    let before = side("a", vec![sample("x", "a.rb", 1, 1, model)]);
    let after = side("b", vec![sample("x", "a.rb", 0, 1, model)]);
    compare(&before, &after, &past, &Rules::default()).examples[0].clone()
}

#[test]
fn a_long_even_record_stands_in_for_repeats_and_flakiness_undoes_certainty() {
    let judge = |record: ExampleHistory, model: bool| {
        let change = judged_with(record, model);
        (change.verdict, change.basis)
    };
    assert_eq!(judge(steady(30), true), (Assessment::Regression, Basis::Record));
    assert_eq!(judge(steady(12), true), (Assessment::CannotTell, Basis::Record));
    let flaky = ExampleHistory { flaky: Some("both outcomes in run 7".to_owned()), ..steady(1) };
    assert_eq!(judge(flaky.clone(), true), (Assessment::CannotTell, Basis::Record));
    assert_eq!(judge(flaky.clone(), false), (Assessment::CannotTell, Basis::Record));
    assert!(
        judged_with(flaky.clone(), false).why.contains("known to be flaky: both outcomes in run 7")
    );
    let since = ExampleHistory { passed_in_a_row: Streak { attempts: 30, runs: 30 }, ..flaky };
    assert_eq!(judge(since, true), (Assessment::Regression, Basis::Record), "thirty passes since");
    assert_eq!(judge(steady(30), false), (Assessment::Regression, Basis::Deterministic));
    let failing = ExampleHistory {
        passed_in_a_row: Streak::default(),
        failed_in_a_row: Streak { attempts: 30, runs: 30 },
        ..steady(30)
    };
    assert_eq!(judge(failing, true).0, Assessment::CannotTell, "it fails as it always did");
}

/// V3: what is declared deterministic is decided by one attempt, whatever kind of agent it is.
#[test]
fn v3_a_declared_agent_decides_at_one_attempt() {
    let declared = |deterministic: Option<bool>, model: bool, passed: u64| ExampleResults {
        deterministic,
        ..sample("x", "a.rb", passed, 1, model)
    };
    let judge = |deterministic, model| {
        let comparison = compared(
            vec![declared(deterministic, model, 1)],
            vec![declared(deterministic, model, 0)],
        );
        (comparison.verdict, gate(&comparison))
    };
    assert_eq!(judge(Some(true), false), (Assessment::Regression, 1));
    assert_eq!(judge(Some(true), true), (Assessment::CannotTell, 3), "a judge is a model");
    assert_eq!(judge(None, true), (Assessment::CannotTell, 3));
    assert_eq!(judge(Some(false), false), (Assessment::CannotTell, 3));
}

/// T10: nine worse and three better are not «unchanged».
#[test]
fn t10_what_may_be_chance_is_cannot_tell() {
    let samples = |worse: u64, better: u64| -> Vec<ExampleResults> {
        (0..12_u64)
            .map(|n| sample(&n.to_string(), "a.rb", if n < 9 { worse } else { better }, 1, true))
            .collect()
    };
    let comparison = compared(samples(1, 0), samples(0, 1));
    assert_eq!((comparison.suite.worse, comparison.suite.better), (9, 3));
    assert_eq!((comparison.verdict, gate(&comparison)), (Assessment::CannotTell, 3));
}

/// «Unchanged» is said only of a claim that was tested.
#[test]
fn unchanged_needs_a_margin_that_is_shown() {
    let rules = |margin| Rules { margin: Some(margin), ..Rules::default() };
    let sides = |repeats: u64| {
        let examples = || -> Vec<ExampleResults> {
            (0..20)
                .map(|n| sample(&n.to_string(), "a.rb", repeats * 9 / 10, repeats, true))
                .collect()
        };
        (side("a", examples()), side("b", examples()))
    };
    let verdict = |repeats: u64, margin: f64| {
        let (before, after) = sides(repeats);
        let comparison = compare(&before, &after, &EarlierRuns::default(), &rules(margin));
        (comparison.verdict, gate(&comparison))
    };
    assert_eq!(verdict(100, 0.05), (Assessment::Unchanged, 0));
    assert_eq!(verdict(10, 0.05), (Assessment::CannotTell, 3));
    let (before, after) = sides(10);
    let comparison = compare(&before, &after, &EarlierRuns::default(), &Rules::default());
    assert_eq!(comparison.verdict, Assessment::NoChangeSeen);
    let passed = Gate::of(&comparison, &GateRules::default());
    assert_eq!(passed.reasons, ["a drop of up to 6 points is possible"]);
}

/// V2, T9: what did not load, vanished or pairs with nothing is not green.
#[test]
fn v2_t9_what_is_missing_is_not_green() {
    let good = || vec![sample("x", "a.rb", 1, 1, false), sample("y", "a.rb", 1, 1, false)];
    let (before, after) = (side("a", good()), side("b", good()));
    let judge = |before: &Side, after: &Side| {
        gate(&compare(before, after, &EarlierRuns::default(), &Rules::default()))
    };
    assert_eq!(judge(&before, &after), 0);
    let unloaded = Side { state: Some("did_not_load".to_owned()), ..side("b", Vec::new()) };
    assert_eq!(judge(&before, &unloaded), 2);
    assert_eq!(judge(&unloaded, &after), 2);
    assert_eq!(judge(&before, &side("b", Vec::new())), 2);
    assert_eq!(judge(&before, &Side { unreadable: 3, ..after.clone() }), 2);
    let other = side("b", vec![sample("z", "z.rb", 1, 1, false)]);
    assert_eq!(judge(&before, &other), 2, "nothing in common");
    let fewer = side("b", vec![sample("x", "a.rb", 1, 1, false)]);
    assert_eq!((judge(&before, &fewer), judge(&fewer, &after)), (1, 1));
    let with = |allowed_gaps, before: &Side, after: &Side| {
        let comparison = compare(before, after, &EarlierRuns::default(), &Rules::default());
        Gate::of(&comparison, &GateRules { allowed_gaps, ..GateRules::default() }).exit_code
    };
    assert_eq!(with(AllowedGaps::All, &before, &fewer), 0);
    assert_eq!(with(AllowedGaps::New, &before, &fewer), 1);
    assert_eq!(with(AllowedGaps::New, &fewer, &after), 0);
    let broken = Side { errors: 1, ..after.clone() };
    assert_eq!(judge(&before, &broken), 1, "an error outside examples");
}

/// T5: direction and p-value of a criterion are one thing, and scores count as scores.
#[test]
fn t5_criteria_follow_their_own_test() {
    let checked = |id: u64, passed: Option<bool>, score: Option<f64>| {
        let mut sample = sample(&id.to_string(), "a.rb", 1, 1, true);
        sample.trials[0].checks = vec![Check { name: "polite".to_owned(), passed, score }];
        sample
    };
    let verdict = |before: Vec<ExampleResults>, after: Vec<ExampleResults>| {
        compared(before, after).criteria[0].verdict
    };
    let shares = |worse: bool| {
        (0..11).map(|n| checked(n, Some(if n < 10 { !worse } else { worse }), None)).collect()
    };
    assert_eq!(
        verdict(shares(false), shares(true)),
        Assessment::Regression,
        "ten worse, one better"
    );
    let scores = |score: f64| (0..11).map(|n| checked(n, Some(true), Some(score))).collect();
    assert_eq!(verdict(scores(0.9), scores(0.3)), Assessment::Regression, "passed is still true");
    let single = |score: f64| {
        let mut sample = sample("x", "a.rb", 8, 8, true);
        for trial in &mut sample.trials {
            trial.checks =
                vec![Check { name: "polite".to_owned(), passed: None, score: Some(score) }];
        }
        vec![sample]
    };
    assert_eq!(
        verdict(single(0.9), single(0.3)),
        Assessment::Regression,
        "one example with scores"
    );
    assert_eq!(verdict(scores(0.9), scores(0.9)), Assessment::NoChangeSeen);
}

/// T6: the run is one observation; a factor is clear only against what earlier runs vary by.
#[test]
fn t6_a_factor_is_clear_only_against_earlier_runs() {
    let timed = |ms: f64, cost: f64| {
        let mut samples: Vec<ExampleResults> =
            (0..5).map(|n| sample(&n.to_string(), "a.rb", 1, 1, false)).collect();
        for sample in &mut samples {
            sample.trials[0].duration_ms = Some(ms);
            sample.trials[0].cost_usd = Some(cost);
        }
        samples
    };
    let past = |factors: &[f64]| EarlierRuns {
        records: BTreeMap::new(),
        runs: factors
            .iter()
            .map(|factor| {
                let sample = EarlierResult {
                    passed: 1,
                    attempts: 1,
                    duration_ms: Some(100.0 * factor),
                    cost_usd: None,
                };
                EarlierRun { examples: (0..5).map(|n| (n.to_string(), sample)).collect() }
            })
            .collect(),
    };
    let judge = |past: &EarlierRuns| {
        let (before, after) = (side("a", timed(100.0, 0.0)), side("b", timed(200.0, 0.5)));
        compare(&before, &after, past, &Rules::default())
    };
    let alone = judge(&EarlierRuns::default());
    let duration = alone.duration.clone().unwrap();
    assert_eq!((duration.clear, duration.ratio_range), (None, None));
    assert!((duration.ratio.unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(judge(&past(&[1.0, 1.01, 0.99, 1.0, 1.02])).duration.unwrap().clear, Some(true));
    assert_eq!(judge(&past(&[1.0, 3.0, 0.5, 2.0, 0.4])).duration.unwrap().clear, Some(false));
    let cost = alone.cost.as_ref().unwrap();
    assert_eq!((cost.examples, cost.rated, cost.ratio), (5, 0, None));
    assert!((cost.after - 2.5).abs() < 1e-9, "nothing before and something now is told");
    let limited = |most_duration, most_cost| {
        let rules = GateRules { most_duration, most_cost, ..GateRules::default() };
        Gate::of(&alone, &rules).exit_code
    };
    assert_eq!(limited(Some(1.5), None), 3, "not known how much runs vary");
    assert_eq!(limited(Some(2.5), None), 0);
    assert_eq!(limited(None, Some(1.2)), 1, "from nothing to something");
    let steady = judge(&past(&[1.0, 1.01, 0.99, 1.0, 1.02]));
    let rules = GateRules { most_duration: Some(1.5), ..GateRules::default() };
    assert_eq!(Gate::of(&steady, &rules).exit_code, 1);
}

/// A criterion that a gate names stops it; one that nobody checks cannot be green.
#[test]
fn a_gate_may_name_criteria() {
    let checked = |holds: bool| -> Vec<ExampleResults> {
        (0..10)
            .map(|n| {
                let mut sample = sample(&n.to_string(), "a.rb", 1, 1, true);
                let check = |name: &str, passed| Check {
                    name: name.to_owned(),
                    passed: Some(passed),
                    score: None,
                };
                sample.trials[0].checks =
                    vec![check("polite", holds), check("brief", n > 0 || holds)];
                sample
            })
            .collect()
    };
    let comparison = compared(checked(true), checked(false));
    let with = |names: &[&str]| {
        let criteria = names.iter().map(|name| (*name).to_owned()).collect();
        Gate::of(&comparison, &GateRules { criteria, ..GateRules::default() }).exit_code
    };
    assert_eq!(with(&[]), 0);
    assert_eq!(with(&["polite"]), 1);
    assert_eq!(with(&["brief"]), 3);
    assert_eq!(with(&["no such"]), 1);
}

#[test]
fn missing_tests_are_gaps_and_stop_a_gate() {
    let mut pending = sample("p", "a.rb", 0, 0, false);
    "pending".clone_into(&mut pending.status);
    let comparison = compared(
        vec![
            sample("gone", "a.rb", 1, 1, false),
            sample("p", "a.rb", 1, 1, false),
            sample("x", "a.rb", 1, 1, false),
        ],
        vec![sample("new", "a.rb", 0, 1, false), pending, sample("x", "a.rb", 1, 1, false)],
    );
    assert_eq!(comparison.verdict, Assessment::NoChangeSeen);
    assert_eq!((comparison.counts.paired, comparison.suite.paired), (1, 1));
    assert_eq!((comparison.counts.missing_after, comparison.counts.missing_before), (2, 1));
    let gaps_shown: Vec<(&str, bool, &str)> = comparison
        .gaps
        .iter()
        .map(|gap| (gap.id.as_str(), gap.missing_after, gap.reason.as_str()))
        .collect();
    let expected =
        [("gone", true, "not there"), ("p", true, "pending"), ("new", false, "not there")];
    assert_eq!(gaps_shown, expected);
}

#[test]
fn nothing_in_common_is_no_verdict() {
    let comparison = compared(vec![sample("a", "a.rb", 1, 1, false)], Vec::new());
    assert_eq!(comparison.verdict, Assessment::NotComparable);
    assert!(!comparison.regressed());
    assert_eq!(gate(&comparison), 2);
}

#[test]
fn a_moved_file_is_matched_by_its_chain() {
    let mut moved = sample("x", "old.rb", 1, 1, false);
    "before-id".clone_into(&mut moved.id);
    let comparison = compared(vec![moved], vec![sample("x", "new.rb", 0, 1, false)]);
    let change = &comparison.examples[0];
    assert_eq!(change.verdict, Assessment::Regression);
    assert_eq!(change.moved_from.as_deref(), Some("old.rb"));
    assert_eq!(change.id_before.as_deref(), Some("before-id"));
    assert_eq!(comparison.counts.moved, 1);
}

#[test]
fn a_chain_that_could_be_two_examples_is_not_guessed() {
    let copies = |ids: [&str; 2], file: &str| {
        ids.map(|id| ExampleResults {
            id: id.to_owned(),
            path: vec!["Same".to_owned()],
            ..sample(id, file, 1, 1, false)
        })
    };
    let one = ExampleResults { path: vec!["Same".to_owned()], ..sample("n", "b.rb", 1, 1, false) };
    let comparison = compared(copies(["1", "2"], "a.rb").into(), vec![one]);
    assert_eq!((comparison.counts.paired, comparison.gaps.len()), (0, 3));
    let both = compared(copies(["1", "2"], "a.rb").into(), copies(["3", "4"], "b.rb").into());
    assert_eq!((both.counts.paired, both.counts.moved), (2, 2));
}

#[test]
fn many_examples_share_one_rate_of_false_discoveries() {
    // Alone this is significant; among twenty that could have been it is not.
    assert_eq!(one((9, 10), (2, 10), true).verdict, Assessment::Regression);
    let mut before: Vec<ExampleResults> =
        (0..20).map(|n| sample(&n.to_string(), "a.rb", 6, 10, true)).collect();
    let mut after = before.clone();
    before[3] = sample("3", "a.rb", 9, 10, true);
    after[3] = sample("3", "a.rb", 2, 10, true);
    let comparison = compared(before, after);
    assert_eq!(comparison.counts.regressions, 0);
    assert_eq!(comparison.examples[0].verdict, Assessment::CannotTell);
}

#[test]
fn the_suite_can_regress_where_no_example_can() {
    let before: Vec<ExampleResults> =
        (0..12).map(|n| sample(&n.to_string(), "a.rb", 1, 1, true)).collect();
    let after: Vec<ExampleResults> =
        (0..12).map(|n| sample(&n.to_string(), "a.rb", u64::from(n > 7), 1, true)).collect();
    let comparison = compared(before, after);
    assert_eq!(comparison.counts.regressions, 0);
    assert_eq!((comparison.suite.worse, comparison.suite.better), (8, 0));
    assert_eq!(comparison.suite.verdict, Assessment::Regression);
    assert!(comparison.regressed());
    assert!((comparison.suite.p_worse - 1.0 / 256.0).abs() < 1e-9);
}

#[test]
fn criteria_durations_and_costs() {
    let checked = |id: &str, holds: bool, score: f64, factor: f64| {
        let mut sample = sample(id, "a.rb", 1, 1, true);
        let check = |name: &str, score| Check { name: name.to_owned(), passed: Some(holds), score };
        sample.trials[0].checks = vec![check("polite", Some(score)), check("grounded", None)];
        sample.trials[0].duration_ms = Some(100.0 * factor);
        sample.trials[0].cost_usd = Some(0.01 * factor);
        sample
    };
    let ids: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    let before = ids.iter().map(|id| checked(id, true, 0.9, 1.0)).collect();
    let after = ids.iter().map(|id| checked(id, false, 0.4, 2.0)).collect();
    let comparison = compared(before, after);
    let polite = comparison.criteria.iter().find(|change| change.name == "polite").unwrap();
    assert_eq!(polite.verdict, Assessment::Regression);
    assert_eq!((polite.before.passed, polite.after.passed, polite.examples), (8, 0, 8));
    assert!((polite.score_change.unwrap().estimate + 0.5).abs() < 1e-9);
    assert!((comparison.duration.unwrap().ratio.unwrap() - 2.0).abs() < 1e-9);
    assert!((comparison.cost.unwrap().after - 0.16).abs() < 1e-9);
}

#[test]
fn a_side_survives_storage_and_a_newer_one_is_refused() {
    let side = side("main", vec![sample("x", "a.rb", 1, 2, true)]);
    let text = serde_json::to_string(&side).unwrap();
    assert_eq!(Side::from_json(&text).unwrap(), side);
    let newer = text.replacen("\"v\":1", "\"v\":2", 1);
    assert_eq!(Side::from_json(&newer), Err(StoredSideError::Newer(2)));
    assert!(Side::from_json("{}").unwrap_err().to_string().starts_with("not a baseline"));
    let mut twice = side.clone();
    twice.examples.push(sample("x", "b.rb", 2, 2, true));
    let refused = Side::from_json(&serde_json::to_string(&twice).unwrap());
    assert_eq!(refused, Err(StoredSideError::Duplicate(side.examples[0].id.clone())));
}

/// A comparison across configurations says so, once both are known.
#[test]
fn another_configuration_is_said() {
    let with = |fingerprint: Option<&str>| Side {
        config_fingerprint: fingerprint.map(ToOwned::to_owned),
        ..side("x", Vec::new())
    };
    let config_changed = |before, after| {
        compare(&with(before), &with(after), &EarlierRuns::default(), &Rules::default())
            .config_changed
    };
    assert_eq!(config_changed(Some("a"), Some("b")), Some(true));
    assert_eq!(config_changed(Some("a"), Some("a")), Some(false));
    assert_eq!(config_changed(None, Some("a")), None);
}
