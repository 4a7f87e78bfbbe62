//! The audit's cases V15, V16 and C4: success is said only where something was shown.

use std::fs;
use std::process::Command;

use proctor_cover::{Metadata, Mode, Report, run};

use crate::{options, project};

fn reasons(report: &Report) -> Vec<(&str, &str)> {
    report.files.iter().flat_map(proctor_cover::FileReport::unreached).collect()
}

const ACCOUNT: &str = "\
class Account
  def initialize(balance)
    @balance = balance
  end

  def withdraw(amount)
    raise ArgumentError, 'too much' if amount > @balance

    @balance - amount
  end
end
";

/// V15: a constructor with arguments that was not selected, and nothing was covered.
#[test]
fn objects_are_built_whatever_was_selected() {
    let folder = project(&[("lib/account.rb", ACCOUNT)]);
    let mut options = options(folder.path());
    options.choice.only = vec!["Account#withdraw".to_owned()];
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let file = &report.files[0];
    assert_eq!((file.methods, file.methods_covered), (1, 1), "{file:?}");
    assert_eq!(file.after.taken, file.after.branches, "{file:?}");
    let spec = fs::read_to_string(folder.path().join("spec/account_spec.rb")).unwrap();
    assert!(!spec.contains("describe \".new\""), "only what was selected: {spec}");
}

/// C4: methods that could not be called appeared nowhere, and the run succeeded.
#[test]
fn a_method_without_an_example_is_named_with_what_was_missing() {
    let source = "class Lab\n  def initialize(sample)\n    raise NotImplementedError, 'no samples here'\n  end\n\n  def result\n    1\n  end\nend\n\nclass Bench\n  def wait\n    sleep 5\n    1\n  end\n\n  def size\n    3\n  end\nend\n";
    let folder = project(&[("lib/lab.rb", source)]);
    let mut options = options(folder.path());
    options.choice.only = vec!["Lab#result".to_owned(), "Bench#*".to_owned()];
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(!report.is_clean(), "{report:?}");
    let found = reasons(&report);
    assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), ["Lab#result", "Bench#wait"]);
    let reason = found[0].1;
    assert!(reason.contains("could") && reason.contains("no samples here"), "{found:?}");
    assert!(found[1].1.contains("sleeps"), "{found:?}");
    let said = proctor_cover::text(&report);
    assert!(said.contains("no example for Bench#wait: "), "{said}");
    let path = folder.path().join("tmp/rspec_metadata/lib_lab.yml");
    let metadata = Metadata::read(&path).unwrap().unwrap();
    let errors = metadata.automation["errors"].to_string();
    assert!(errors.contains("no example for Lab#result"), "{errors}");
    // The cache remembers what was not reached: a second run does not make it a success.
    let again = run(&options, &mut |_| {}).unwrap();
    assert!(again.files[0].cached && !again.is_clean(), "{again:?}");
    assert_eq!(reasons(&again), found);
}

/// Nothing at all for a file is an error in the stage's answer.
#[test]
fn nothing_for_a_whole_file_is_an_error() {
    let source = "class Clock\n  def tick\n    sleep 9\n  end\nend\n";
    let folder = project(&[("lib/clock.rb", source)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(!report.is_clean());
    let answer = &report.answers["implement"][0];
    assert_eq!(answer["status"], "error", "{answer}");
    assert!(answer["details"].as_str().unwrap().contains("Clock#tick"), "{answer}");
    assert!(!folder.path().join("spec/clock_spec.rb").exists());
}

/// An observation that ends in the middle is no result.
#[test]
fn an_observation_that_broke_is_an_error() {
    // It ends the process that observes, and no other.
    let source =
        "exit!(7) if defined?(ProctorObserve)\n\nclass Bomb\n  def size\n    1\n  end\nend\n";
    let folder = project(&[("lib/bomb.rb", source)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(!report.is_clean(), "{report:?}");
    assert!(report.errors.iter().any(|one| one.contains("ended early")), "{report:?}");
}

fn plain_rspec(root: &std::path::Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new("rspec").args(arguments).current_dir(root).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// V16: a spec that needs `json` passed under our own programs, which load it, and failed for its user.
#[test]
fn what_the_source_forgot_to_require_is_required_by_the_spec() {
    let source = "class Label\n  def initialize(text)\n    @text = text\n  end\n\n  def to_data\n    @text.nil? ? nil : { text: @text }.to_json\n  end\n\n  def plain\n    @text.to_s\n  end\nend\n";
    let folder = project(&[("lib/label.rb", source)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let spec = fs::read_to_string(folder.path().join("spec/label_spec.rb")).unwrap();
    assert!(spec.contains("require 'json'"), "{spec}");
    for seed in 1..=3 {
        let (passed, said) = plain_rspec(folder.path(), &["--order", &format!("random:{seed}")]);
        assert!(passed, "{said}");
    }
}

/// The project's own `.rspec` counts: with it specs are verified, and what does not hold is dropped with a reason.
#[test]
fn specs_are_verified_with_the_options_of_the_project_and_every_drop_has_a_reason() {
    let source = "class Mode\n  def strict?\n    $strict_mode == :on\n  end\n\n  def double(number)\n    number.to_i * 2\n  end\nend\n";
    let folder = project(&[
        ("lib/mode.rb", source),
        (".rspec", "--require ./spec/strict.rb\n"),
        ("spec/strict.rb", "$strict_mode = :on\n"),
    ]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    let file = &report.files[0];
    let (passed, said) = plain_rspec(folder.path(), &[]);
    assert!(passed, "{said}");
    assert!(!file.dropped.is_empty(), "{file:?}");
    assert!(file.dropped.iter().all(|one| one.reason.contains("plain rspec")), "{file:?}");
    let path = folder.path().join("tmp/rspec_metadata/lib_mode.yml");
    let warnings = Metadata::read(&path).unwrap().unwrap().automation["warnings"].to_string();
    assert!(warnings.contains("dropped Mode#strict?"), "{warnings}");
}

/// Hand-written examples that fail under plain RSpec make the run fail, even if they pass where more is loaded.
#[test]
fn a_spec_that_fails_for_its_user_is_no_success() {
    let folder = project(&[
        (
            "lib/plain.rb",
            "class Plain\n  def size(list)\n    list.nil? ? 0 : list.length\n  end\nend\n",
        ),
        (
            "spec/plain_spec.rb",
            "require \"plain\"\n\nRSpec.describe Plain do\n  it \"is data\" do\n    expect([1].to_json).to eq(\"[1]\")\n  end\nend\n",
        ),
    ]);
    let mut options = options(folder.path());
    options.mode = Mode::All;
    let report = run(&options, &mut |_| {}).unwrap();
    assert_eq!(report.files[0].passed, Some(false), "{report:?}");
    assert!(!report.is_clean());
    let said = proctor_cover::text(&report);
    assert!(said.contains("spec/plain_spec.rb:4 failed: NoMethodError"), "{said}");
}
