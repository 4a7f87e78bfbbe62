use proctor_compare::{Check, CountedAttempt, EarlierRuns, ExampleResults, Rules, Side, compare};

use super::*;

fn sample(id: &str, file: &str, outcomes: &[bool], model: bool) -> ExampleResults {
    let check = |passed: &bool| Check {
        name: "polite".to_owned(),
        passed: Some(*passed),
        score: Some(0.5),
    };
    let trial = |passed: &bool| CountedAttempt {
        passed: *passed,
        model,
        unknown_agent: false,
        duration_ms: Some(if *passed { 100.0 } else { 150.0 }),
        cost_usd: model.then_some(0.01),
        checks: if model { vec![check(passed)] } else { Vec::new() },
    };
    ExampleResults {
        id: id.to_owned(),
        file: Some(file.to_owned()),
        path: vec!["Cart".to_owned(), id.to_owned()],
        title: format!("Cart > {id}"),
        trials: outcomes.iter().map(trial).collect(),
        status: "passed".to_owned(),
        mixed: outcomes.contains(&true) && outcomes.contains(&false),
        ..ExampleResults::default()
    }
}

fn comparison() -> Comparison {
    let side = |label: &str, examples| Side {
        v: 1,
        label: label.to_owned(),
        run_id: Some(format!("run-{label}")),
        complete: label == "old",
        examples,
        ..Side::default()
    };
    let old = side(
        "old",
        vec![
            sample("adds | <b>@all</b>", "a.rb", &[true], false),
            sample("talks", "a.rb", &[true; 10], true),
            sample("guesses", "a.rb", &[true], true),
            sample("same", "a.rb", &[true], false),
            sample("gone", "a.rb", &[true], false),
            ExampleResults {
                id: "old-id".to_owned(),
                ..sample("mended", "old.rb", &[false], false)
            },
        ],
    );
    let new = side(
        "new",
        vec![
            sample("adds | <b>@all</b>", "a.rb", &[false], false),
            sample(
                "talks",
                "a.rb",
                &[true, true, false, false, false, false, false, false, false, false],
                true,
            ),
            sample("guesses", "a.rb", &[false], true),
            sample("same", "a.rb", &[true], false),
            sample("mended", "new.rb", &[true], false),
            sample("\u{1b}[2Jnew", "a.rb", &[true], false),
        ],
    );
    compare(&old, &new, &EarlierRuns::default(), &Rules::default())
}

#[test]
fn for_a_terminal() {
    insta::assert_snapshot!(comparison_text(&comparison(), false, Style { color: false }));
}

#[test]
fn for_a_pull_request() {
    let text = comparison_markdown(&comparison(), false);
    assert!(!text.contains("<b>") && !text.contains("@all"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn everything_lists_what_is_unchanged() {
    let text = comparison_text(&comparison(), true, Style { color: false });
    assert!(
        text.contains("No change seen (1)\n  = Cart > same  1/1 → 1/1\n      passes as before\n"),
        "{text}"
    );
}
