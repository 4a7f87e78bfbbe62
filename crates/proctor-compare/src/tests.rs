//! The rules, one by one, on small sides.

use super::*;

fn trial(passed: bool, model: bool) -> Trial {
    Trial { passed, model, duration_ms: Some(100.0), ..Trial::default() }
}

fn sample(id: &str, file: &str, passed: u64, attempts: u64, model: bool) -> Sample {
    let trials = (0..attempts).map(|place| trial(place < passed, model)).collect();
    Sample {
        id: id.to_owned(),
        file: Some(file.to_owned()),
        path: vec!["Cart".to_owned(), id.to_owned()],
        title: format!("Cart > {id}"),
        trials,
        status: if passed == attempts { "passed" } else { "failed" }.to_owned(),
        mixed: passed > 0 && passed < attempts,
        ..Sample::default()
    }
}

fn side(label: &str, examples: Vec<Sample>) -> Side {
    Side { v: SIDE_VERSION, label: label.to_owned(), complete: true, examples, ..Side::default() }
}

fn compared(before: Vec<Sample>, after: Vec<Sample>) -> Comparison {
    compare(&side("a", before), &side("b", after), &BTreeMap::new(), &Rules::default())
}

fn one(before: (u64, u64), after: (u64, u64), model: bool) -> ExampleChange {
    let comparison = compared(
        vec![sample("x", "a.rb", before.0, before.1, model)],
        vec![sample("x", "a.rb", after.0, after.1, model)],
    );
    comparison.examples[0].clone()
}

#[test]
fn without_a_model_one_attempt_each_is_enough() {
    let broken = one((1, 1), (0, 1), false);
    assert_eq!((broken.verdict, broken.basis), (Verdict::Regression, Basis::Deterministic));
    assert_eq!(broken.why, "passed before, fails now; no model takes part");
    assert_eq!(one((0, 1), (1, 1), false).verdict, Verdict::Improvement);
    assert_eq!(one((1, 1), (1, 1), false).verdict, Verdict::Unchanged);
}

#[test]
fn with_a_model_one_attempt_each_tells_nothing() {
    let change = one((1, 1), (0, 1), true);
    assert_eq!((change.verdict, change.basis), (Verdict::TooLittleData, Basis::Fisher));
    assert_eq!(change.repeats_to_tell, Some(4));
    assert_eq!(
        change.why,
        "1 of 1 passed before, 0 of 1 now, and a model takes part (p = 1.000); about 4 repeats a side would tell"
    );
    assert_eq!(one((1, 1), (1, 1), true).verdict, Verdict::Unchanged);
}

#[test]
fn with_repeats_fisher_decides() {
    assert_eq!(one((10, 10), (4, 10), true).verdict, Verdict::Regression);
    assert_eq!(one((2, 10), (10, 10), true).verdict, Verdict::Improvement);
    assert_eq!(one((10, 10), (8, 10), true).verdict, Verdict::TooLittleData);
    assert_eq!(one((190, 200), (188, 200), true).verdict, Verdict::Unchanged, "within the margin");
}

#[test]
fn a_test_without_model_that_gave_both_outcomes_is_not_deterministic() {
    let change = one((1, 2), (0, 2), false);
    assert_eq!((change.verdict, change.basis), (Verdict::TooLittleData, Basis::Fisher));
    let mut retried = sample("x", "a.rb", 1, 1, false);
    retried.mixed = true;
    let comparison = compared(vec![retried], vec![sample("x", "a.rb", 0, 1, false)]);
    assert_eq!(comparison.examples[0].verdict, Verdict::TooLittleData);
}

#[test]
fn a_long_even_record_stands_in_for_repeats_and_flakiness_undoes_certainty() {
    let judge = |record: Record, model: bool| {
        let history = BTreeMap::from([("x".to_owned(), record)]);
        let before = side("a", vec![sample("x", "a.rb", 1, 1, model)]);
        let after = side("b", vec![sample("x", "a.rb", 0, 1, model)]);
        let change = compare(&before, &after, &history, &Rules::default()).examples[0].clone();
        (change.verdict, change.basis)
    };
    let steady = Record { attempts: 12, passed: 12, streak: 12, newest_passed: true, flaky: false };
    assert_eq!(judge(steady, true), (Verdict::Regression, Basis::Record));
    assert_eq!(judge(Record { streak: 9, ..steady }, true).0, Verdict::TooLittleData);
    let flaky = Record { flaky: true, ..steady };
    assert_eq!(judge(flaky, true), (Verdict::TooLittleData, Basis::Fisher));
    assert_eq!(judge(flaky, false), (Verdict::TooLittleData, Basis::Fisher));
    assert_eq!(judge(steady, false), (Verdict::Regression, Basis::Deterministic));
    let failing = Record { newest_passed: false, passed: 0, ..steady };
    assert_eq!(judge(failing, true).0, Verdict::TooLittleData, "it fails as it always did");
}

#[test]
fn missing_tests_are_gaps_and_count_for_nothing() {
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
    assert_eq!(comparison.verdict, Verdict::Unchanged);
    assert_eq!((comparison.counts.paired, comparison.suite.paired), (1, 1));
    assert_eq!((comparison.counts.missing_after, comparison.counts.missing_before), (2, 1));
    let told: Vec<(&str, bool, &str)> = comparison
        .gaps
        .iter()
        .map(|gap| (gap.id.as_str(), gap.missing_after, gap.reason.as_str()))
        .collect();
    let expected =
        [("gone", true, "not there"), ("p", true, "pending"), ("new", false, "not there")];
    assert_eq!(told, expected);
}

#[test]
fn nothing_in_common_is_no_verdict() {
    let comparison = compared(vec![sample("a", "a.rb", 1, 1, false)], Vec::new());
    assert_eq!(comparison.verdict, Verdict::TooLittleData);
    assert!(!comparison.regressed());
}

#[test]
fn a_moved_file_is_matched_by_its_chain() {
    let mut moved = sample("x", "old.rb", 1, 1, false);
    "before-id".clone_into(&mut moved.id);
    let comparison = compared(vec![moved], vec![sample("x", "new.rb", 0, 1, false)]);
    let change = &comparison.examples[0];
    assert_eq!(change.verdict, Verdict::Regression);
    assert_eq!(change.moved_from.as_deref(), Some("old.rb"));
    assert_eq!(change.id_before.as_deref(), Some("before-id"));
    assert_eq!(comparison.counts.moved, 1);
}

#[test]
fn a_chain_that_could_be_two_examples_is_not_guessed() {
    let copies = |ids: [&str; 2], file: &str| {
        ids.map(|id| Sample {
            id: id.to_owned(),
            path: vec!["Same".to_owned()],
            ..sample(id, file, 1, 1, false)
        })
    };
    let one = Sample { path: vec!["Same".to_owned()], ..sample("n", "b.rb", 1, 1, false) };
    let comparison = compared(copies(["1", "2"], "a.rb").into(), vec![one]);
    assert_eq!((comparison.counts.paired, comparison.gaps.len()), (0, 3));
    let both = compared(copies(["1", "2"], "a.rb").into(), copies(["3", "4"], "b.rb").into());
    assert_eq!((both.counts.paired, both.counts.moved), (2, 2));
}

#[test]
fn many_examples_share_one_rate_of_false_discoveries() {
    // Alone this is significant; among twenty that could have been it is not.
    assert_eq!(one((9, 10), (2, 10), true).verdict, Verdict::Regression);
    let mut before: Vec<Sample> =
        (0..20).map(|n| sample(&n.to_string(), "a.rb", 6, 10, true)).collect();
    let mut after = before.clone();
    before[3] = sample("3", "a.rb", 9, 10, true);
    after[3] = sample("3", "a.rb", 2, 10, true);
    let comparison = compared(before, after);
    assert_eq!(comparison.counts.regressions, 0);
    assert_eq!(comparison.examples[0].verdict, Verdict::TooLittleData);
}

#[test]
fn the_suite_can_regress_where_no_example_can() {
    let before: Vec<Sample> = (0..12).map(|n| sample(&n.to_string(), "a.rb", 1, 1, true)).collect();
    let after: Vec<Sample> =
        (0..12).map(|n| sample(&n.to_string(), "a.rb", u64::from(n > 7), 1, true)).collect();
    let comparison = compared(before, after);
    assert_eq!(comparison.counts.regressions, 0);
    assert_eq!((comparison.suite.worse, comparison.suite.better), (8, 0));
    assert_eq!(comparison.suite.verdict, Verdict::Regression);
    assert!(comparison.regressed());
    assert!((comparison.suite.p - 2.0 / 256.0).abs() < 1e-9);
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
    assert_eq!(polite.verdict, Verdict::Regression);
    assert_eq!((polite.before.passed, polite.after.passed, polite.examples), (8, 0, 8));
    assert!((polite.score_change.unwrap().estimate + 0.5).abs() < 1e-9);
    let duration = comparison.duration.unwrap();
    assert!((duration.ratio - 2.0).abs() < 1e-9 && duration.significant);
    assert!((comparison.cost.unwrap().after - 0.16).abs() < 1e-9);
}

#[test]
fn a_side_survives_storage_and_a_newer_one_is_refused() {
    let side = side("main", vec![sample("x", "a.rb", 1, 2, true)]);
    let text = serde_json::to_string(&side).unwrap();
    assert_eq!(Side::from_json(&text).unwrap(), side);
    let newer = text.replacen("\"v\":1", "\"v\":2", 1);
    assert_eq!(Side::from_json(&newer), Err(BadSide::Newer(2)));
    assert!(Side::from_json("{}").unwrap_err().to_string().starts_with("not a baseline"));
}

/// A comparison across configurations says so, once both are known.
#[test]
fn another_configuration_is_said() {
    let with = |fingerprint: Option<&str>| Side {
        config_fingerprint: fingerprint.map(ToOwned::to_owned),
        ..side("x", Vec::new())
    };
    let said = |before, after| {
        compare(&with(before), &with(after), &BTreeMap::new(), &Rules::default()).config_changed
    };
    assert_eq!(said(Some("a"), Some("b")), Some(true));
    assert_eq!(said(Some("a"), Some("a")), Some(false));
    assert_eq!(said(None, Some("a")), None);
}
