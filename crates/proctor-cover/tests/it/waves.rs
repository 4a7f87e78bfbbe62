//! Waves: what others need first, the next only when this one passes, circles broken at the same place every time.

use std::fs;

use proctor_cover::{Helpers, SpecRun, SpecRunner, StageOutcome, Step, run, run_with};

use crate::{options, project};

const PRICE: &str = "class Price\n  def self.net(amount)\n    return 0 if amount.nil?\n\n    amount * 2\n  end\nend\n";
const BILL: &str = "require_relative \"price\"\n\nclass Bill\n  def total(amounts)\n    amounts.sum { |one| Price.net(one) }\n  end\nend\n";

fn implemented(steps: &[Step]) -> Vec<String> {
    let mut files = Vec::new();
    for step in steps {
        if let Step::Begun { stage: "implement", file } = step {
            files.push(file.clone());
        }
    }
    files
}

#[test]
fn what_is_needed_comes_first_and_each_wave_is_reviewed_before_the_next() {
    let folder = project(&[("lib/bill.rb", BILL), ("lib/price.rb", PRICE)]);
    let mut steps = Vec::new();
    let report = run(&options(folder.path()), &mut |step| steps.push(step)).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(implemented(&steps), ["lib/price.rb", "lib/bill.rb"]);
    let waves: Vec<usize> = report.files.iter().map(|file| file.wave).collect();
    assert_eq!(waves, [1, 0]);
    let place = |wanted: &dyn Fn(&Step) -> bool| steps.iter().position(wanted).unwrap();
    let reviewed = place(
        &|step| matches!(step, Step::Ended { stage: "review", file, .. } if file == "lib/price.rb"),
    );
    let next = place(
        &|step| matches!(step, Step::Begun { stage: "implement", file } if file == "lib/bill.rb"),
    );
    assert!(reviewed < next, "{steps:?}");
    // Every start has its end.
    let starts = steps.iter().filter(|step| matches!(step, Step::Begun { .. })).count();
    let ends = steps.iter().filter(|step| matches!(step, Step::Ended { .. })).count();
    assert_eq!(starts, ends, "{steps:?}");
}

#[test]
fn a_wave_that_fails_holds_the_next_one_back() {
    let folder = project(&[("lib/bill.rb", BILL), ("lib/price.rb", PRICE)]);
    fs::create_dir(folder.path().join("spec")).unwrap();
    let failing = "require \"price\"\n\nRSpec.describe Price do\n  it \"is free\" do\n    expect(described_class.net(1)).to eq(0)\n  end\nend\n";
    fs::write(folder.path().join("spec/price_spec.rb"), failing).unwrap();
    let mut steps = Vec::new();
    let report = run(&options(folder.path()), &mut |step| steps.push(step)).unwrap();
    assert!(!report.is_clean());
    let held = report.files[0].error.as_ref().unwrap();
    assert!(
        held.contains("wave 0 did not pass") && held.contains("spec/price_spec.rb:4"),
        "{held}"
    );
    assert!(!folder.path().join("spec/bill_spec.rb").exists());
    assert!(steps.iter().any(|step| matches!(
        step,
        Step::Ended { stage: "review", ending: StageOutcome::Failed, .. }
    )));
    assert!(
        fs::read_to_string(folder.path().join("spec/price_spec.rb")).unwrap().contains("is free"),
        "nothing of theirs is lost"
    );
}

/// A runner that cannot run anything.
struct FailingRunner;

impl SpecRunner for FailingRunner {
    fn run(&self, _: &std::path::Path, _: &[String], _: bool) -> SpecRun {
        SpecRun { error: Some("no room for a worker".to_owned()), ..SpecRun::default() }
    }
}

#[test]
fn a_runner_that_cannot_be_used_does_not_make_specs_fail() {
    let folder = project(&[("lib/price.rb", PRICE)]);
    let options = options(folder.path());
    let helpers = Helpers {
        on_step: &mut |_| {},
        runner: Some(&FailingRunner),
        filler: None,
        fix: false,
        stopped: &|| false,
    };
    let report = run_with(&options, helpers).unwrap();
    assert!(report.warnings.iter().any(|one| one.contains("no room for a worker")), "{report:?}");
    assert_eq!(report.answers["review"][0]["data"]["tests_passed"], true);
}

#[test]
fn a_circle_is_broken_at_the_same_place_and_reported() {
    let a = "class A\n  def x(n)\n    n > 1 ? B.new.y(n - 1) : n\n  end\nend\n";
    let b = "class B\n  def y(n)\n    n > 1 ? A.new.x(n - 1) : n\n  end\nend\n";
    let folder = project(&[("lib/a.rb", a), ("lib/b.rb", b)]);
    let mut only = options(folder.path());
    only.to = Some("discover".to_owned());
    let mut seen = Vec::new();
    for _ in 0..3 {
        let report = run(&only, &mut |_| {}).unwrap();
        let answer = report.answers["discover"].clone();
        assert_eq!(answer["dependency_graph"]["cycles"], serde_json::json!(["A#x"]));
        assert!(
            report.warnings.iter().any(|one| one == "circular dependency broken at A#x"),
            "{report:?}"
        );
        seen.push(answer);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_file_without_selected_methods_is_skipped_with_the_reason() {
    let folder = project(&[("lib/bill.rb", BILL), ("lib/price.rb", PRICE)]);
    let mut some = options(folder.path());
    some.choice.only = vec!["Price.*".to_owned()];
    some.choice.instruction = Some("prices first".to_owned());
    run(&some, &mut |_| {}).unwrap();
    let text = fs::read_to_string(folder.path().join("tmp/rspec_metadata/lib_bill.yml")).unwrap();
    let metadata: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(metadata["methods_to_analyze"][0]["skip_reason"], "Custom: prices first");
    assert_eq!(metadata["automation"]["code_analyzer_skipped"], true);
    assert_eq!(
        metadata["automation"]["test_reviewer_skip_reason"],
        "no method of this file is selected"
    );
    assert!(!folder.path().join("spec/bill_spec.rb").exists());
}
