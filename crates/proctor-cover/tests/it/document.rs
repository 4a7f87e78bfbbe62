//! The pipeline's document to the letter (C3, C11): switched-off behaviours, the skeleton, stages alone, unreadable files, packages.

use std::fs;
use std::process::Command;

use proctor_cover::{Metadata, Mode, run};

use crate::{options, project};

const FARE: &str = "\
class Fare
  def price(age)
    return 0 if age < 6
    return 5 if age < 18

    10
  end
end
";

fn read(folder: &tempfile::TempDir, path: &str) -> String {
    fs::read_to_string(folder.path().join(path)).unwrap()
}

#[test]
fn a_behaviour_that_was_switched_off_is_not_implemented() {
    let folder = project(&[("lib/fare.rb", FARE)]);
    let mut only = options(folder.path());
    only.to = Some("analyze".to_owned());
    run(&only, &mut |_| {}).unwrap();
    let path = folder.path().join("tmp/rspec_metadata/lib_fare.yml");
    let mut metadata = Metadata::read(&path).unwrap().unwrap();
    let five = metadata.behaviors.iter_mut().find(|one| one.description.contains('5')).unwrap();
    five.enabled = false;
    metadata.write(&path).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let spec = read(&folder, "spec/fare_spec.rb");
    assert!(spec.contains("eq(10)") && spec.contains("eq(0)"), "{spec}");
    assert!(!spec.contains("eq(5)"), "{spec}");
}

/// "0 of 1 methods" and nothing else was said.
#[test]
fn a_method_whose_behaviours_are_all_switched_off_is_named() {
    let folder = project(&[("lib/fare.rb", FARE)]);
    let mut only = options(folder.path());
    only.to = Some("analyze".to_owned());
    run(&only, &mut |_| {}).unwrap();
    let path = folder.path().join("tmp/rspec_metadata/lib_fare.yml");
    let mut metadata = Metadata::read(&path).unwrap().unwrap();
    for behavior in &mut metadata.behaviors {
        behavior.enabled = false;
    }
    metadata.write(&path).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    let said = proctor_cover::text(&report);
    assert!(
        said.contains("Fare#price: no example, since its behaviours are switched off"),
        "{said}"
    );
}

#[test]
fn the_architect_leaves_a_skeleton_that_the_implementer_fills() {
    let folder = project(&[("lib/fare.rb", FARE)]);
    let mut only = options(folder.path());
    only.from = Some("architect".to_owned());
    only.to = Some("architect".to_owned());
    // On a fresh tree the stages before it are run first.
    let report = run(&only, &mut |_| {}).unwrap();
    assert!(report.answers.contains_key("architect"), "{report:?}");
    // "0 files: 0 of 0 methods" says that nothing was done.
    assert!(proctor_cover::text(&report).starts_with("architect: 1 file done"), "{report:?}");
    let skeleton = read(&folder, "spec/fare_spec.rb");
    assert!(skeleton.contains("{SETUP_CODE}") && skeleton.contains("{EXPECTATION}"), "{skeleton}");
    let output = Command::new("rspec").current_dir(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("3 pending"), "{said}");
    // What people wrote into the file stays, and a second time nothing is added.
    run(&only, &mut |_| {}).unwrap();
    assert_eq!(read(&folder, "spec/fare_spec.rb"), skeleton);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let spec = read(&folder, "spec/fare_spec.rb");
    assert!(!spec.contains("{EXPECTATION}") && spec.contains("eq(10)"), "{spec}");
}

#[test]
fn a_stage_that_executes_code_says_the_command_that_must_come_first() {
    let folder = project(&[("lib/fare.rb", FARE)]);
    let mut only = options(folder.path());
    only.from = Some("review".to_owned());
    only.to = Some("review".to_owned());
    let stop = run(&only, &mut |_| {}).unwrap_err();
    assert!(stop.suggestion.contains("`proctor cover lib/fare.rb`"), "{stop:?}");
}

#[test]
fn a_file_that_is_no_ruby_costs_itself_only() {
    let folder = project(&[("lib/broken.rb", "class A\n  def x(\nend\n"), ("lib/fare.rb", FARE)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(!report.is_clean(), "{report:?}");
    let of = |path: &str| report.files.iter().find(|file| file.source == path).unwrap();
    assert!(
        of("lib/broken.rb").error.as_ref().unwrap().contains("lib/broken.rb:3:1"),
        "{report:?}"
    );
    assert!(of("lib/fare.rb").error.is_none() && of("lib/fare.rb").examples > 0, "{report:?}");
}

#[test]
fn specs_of_a_package_stay_with_it() {
    let folder = project(&[("packages/tickets/lib/tickets/fare.rb", FARE)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let path = "packages/tickets/spec/tickets/fare_spec.rb";
    assert_eq!(report.files[0].spec, path);
    for (place, spec) in [(".", path), ("packages/tickets", "spec/tickets/fare_spec.rb")] {
        let output = Command::new("rspec")
            .arg(spec)
            .current_dir(folder.path().join(place))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// `all` left out the packages of a repository that has code of its own, and said nothing.
#[test]
fn everything_includes_the_packages_beside_the_code_of_the_root() {
    let root = "module Root\n  def self.version\n    '1'\n  end\nend\n";
    let folder = project(&[
        ("lib/root.rb", root),
        ("packages/tickets/lib/tickets/fare.rb", FARE),
        ("packages/tickets/tickets.gemspec", ""),
        ("examples/tickets/lib/other.rb", FARE),
    ]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let specs: Vec<&str> = report.files.iter().map(|file| file.spec.as_str()).collect();
    assert_eq!(specs, ["spec/root_spec.rb", "packages/tickets/spec/tickets/fare_spec.rb"]);
}

#[test]
fn the_kind_of_project_stands_in_the_metadata() {
    let kinds: &[(&[(&str, &str)], &str)] = &[
        (&[("fare.gemspec", "")], "library"),
        (&[("Gemfile", "gem \"rails\", \"~> 6.1\"\n")], "rails"),
        (&[("Gemfile", "gem 'sinatra'\n")], "web"),
        (&[("Gemfile", "gem \"rails-html-sanitizer\"\n")], "library"),
    ];
    for (files, kind) in kinds {
        let mut all: Vec<(&str, &str)> = vec![("lib/fare.rb", FARE)];
        all.extend(files.iter().copied());
        let folder = project(&all);
        let mut only = options(folder.path());
        only.to = Some("discover".to_owned());
        run(&only, &mut |_| {}).unwrap();
        let path = folder.path().join("tmp/rspec_metadata/lib_fare.yml");
        assert_eq!(Metadata::read(&path).unwrap().unwrap().project_type, *kind, "{files:?}");
    }
}

#[test]
fn a_source_in_another_encoding_is_covered() {
    let folder = project(&[]);
    fs::create_dir(folder.path().join("lib")).unwrap();
    let mut source =
        b"# encoding: iso-8859-1\nclass Latin\n  def greet(name)\n    return \"caf".to_vec();
    source.push(0xe9);
    source.extend_from_slice(b"\" if name == \"");
    source.push(0xe9);
    source.extend_from_slice(b"\"\n\n    \"hello\"\n  end\nend\n");
    fs::write(folder.path().join("lib/latin.rb"), source).unwrap();
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean() && report.warnings.is_empty(), "{report:?}");
    assert_eq!(report.files[0].after.taken, report.files[0].after.branches, "{report:?}");
    let spec = read(&folder, "spec/latin_spec.rb");
    assert!(spec.contains(".encode('ISO-8859-1')"), "{spec}");
}

#[test]
fn a_class_without_testable_methods_is_skipped_and_that_is_a_success() {
    let source = "class Hidden\n  LIMIT = 3\n\n  private\n\n  def secret\n    1\n  end\nend\n";
    let folder = project(&[("lib/hidden.rb", source)]);
    let mut only = options(folder.path());
    only.mode = Mode::Paths(vec!["lib/hidden.rb".into()]);
    let report = run(&only, &mut |_| {}).unwrap();
    assert!(report.is_clean() && report.files.is_empty(), "{report:?}");
    let answer = &report.answers["analyze"][0];
    assert_eq!(answer["status"], "skip", "{answer}");
    assert_eq!(answer["skip_reason"], "No testable methods found");
    let path = folder.path().join("tmp/rspec_metadata/lib_hidden.yml");
    let metadata = Metadata::read(&path).unwrap().unwrap();
    for agent in ["code_analyzer", "isolation_decider", "test_architect", "test_reviewer"] {
        assert!(metadata.is_complete(agent), "{agent}: {metadata:?}");
        assert_eq!(metadata.automation[&format!("{agent}_skipped")], true);
        assert_eq!(
            metadata.automation[&format!("{agent}_skip_reason")],
            "No testable methods found"
        );
    }
    // Each stage alone says the same.
    for stage in ["analyze", "isolate", "architect", "implement"] {
        only.from = Some(stage.to_owned());
        only.to = Some(stage.to_owned());
        assert!(run(&only, &mut |_| {}).unwrap().is_clean(), "{stage}");
    }
    assert!(!folder.path().join("spec").exists());
}

#[test]
fn a_terminal_branch_without_a_context_is_a_violation_of_rule_5() {
    let source = "\
class Fare
  def price(age)
    check(age)
    return 0 if age < 6

    age < 18 ? 5 : 10
  end

  private

  def check(age)
    raise ArgumentError, 'no age' if age.nil?
  end
end
";
    let folder = project(&[("lib/fare.rb", source)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    // What is written here has contexts for all of them.
    assert!(report.is_clean() && report.files[0].violations.is_empty(), "{report:?}");
    // Somebody writes a spec that names every situation in a comment, and shows one.
    let spec = "\
require \"fare\"

RSpec.describe Fare do
  describe \"#price\" do
    it \"is cheaper for children\" do
      expect(described_class.new.price(10)).to eq(5)
    end
  end
end
";
    fs::write(folder.path().join("spec/fare_spec.rb"), spec).unwrap();
    let mut only = options(folder.path());
    (only.from, only.to) = (Some("review".to_owned()), Some("review".to_owned()));
    let report = run(&only, &mut |_| {}).unwrap();
    let found: Vec<String> = report.files[0]
        .violations
        .iter()
        .map(|one| format!("{} {} {}", one["rule"], one["location"], one["description"]))
        .collect();
    let expected = [
        "5 \"spec/fare_spec.rb:4\" \"missing terminal branch context: #price when age is less than 6 (line 4)\"",
        "5 \"spec/fare_spec.rb:4\" \"missing terminal branch context: #price when age is at least 18 (line 6)\"",
        "5 \"spec/fare_spec.rb:4\" \"missing terminal branch context: #price when age is nil (line 12)\"",
    ];
    assert_eq!(found, expected);
}

#[test]
fn side_effects_and_branches_of_private_methods_stand_where_they_happen() {
    let source = "\
class Checkout
  def initialize(orders)
    @orders = orders
  end

  def call(order)
    return :empty if order.items.empty?

    if PaymentGateway.charge(order.total)
      confirm(order)
    else
      Webhook.payment_failed(order.id)
      :declined
    end
  end

  private

  def confirm(order)
    OrderMailer.receipt(order).deliver_later if order.email?
    :paid
  end
end
";
    let folder = project(&[("lib/checkout.rb", source)]);
    let mut only = options(folder.path());
    only.to = Some("architect".to_owned());
    run(&only, &mut |_| {}).unwrap();
    let path = folder.path().join("tmp/rspec_metadata/lib_checkout.yml");
    let metadata = Metadata::read(&path).unwrap().unwrap();
    let call = metadata.methods.iter().find(|one| one.name == "call").unwrap();
    assert_eq!(call.dependencies, ["PaymentGateway", "Webhook", "OrderMailer"]);
    let effects: Vec<String> = call
        .side_effects
        .iter()
        .map(|one| {
            let values = one.when_parent.clone().unwrap_or_default().join("/");
            format!("{} under {} {values}", one.behavior_id, one.depends_on.as_deref().unwrap())
        })
        .collect();
    let expected = [
        "sends_payment_failed_webhook under payment_gateway_charge_result false",
        "sends_receipt_email under order_email true",
    ];
    assert_eq!(effects, expected);
    let structure = metadata.structure.unwrap();
    let method = &structure["methods"].as_array().unwrap()[1];
    let skeleton = serde_json::json!([
        { "name": "when order items is not empty", "children": [
            { "name": "with payment gateway charge succeeds", "children": [
                { "name": "with order is email", "leaf": true, "examples": ["sends receipt email", "returns :paid"] },
                { "name": "with order is not email", "leaf": true, "examples": ["returns :paid"] },
            ] },
            { "name": "with payment gateway charge fails", "terminal": true, "examples": ["sends payment failed webhook", "returns :declined"] },
        ] },
        { "name": "when order items is empty", "terminal": true, "examples": ["returns :empty"] },
    ]);
    assert_eq!(method["contexts"], skeleton, "{method:#}");
}
