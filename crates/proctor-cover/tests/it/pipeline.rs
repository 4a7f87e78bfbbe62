//! From source to verified specs.

use std::fs;
use std::process::Command;

use proctor_cover::{Metadata, Mode, STAGES, run};

use crate::{options, project};

const CART: &str = "\
class Cart
  attr_reader :items

  def initialize
    @items = []
  end

  def add(name, price)
    raise ArgumentError, 'price must be positive' if price <= 0

    @items << [name, price]
    self
  end

  def total
    return 0 if items.empty?

    items.sum { |_, price| price }
  end
end
";

fn rspec(root: &std::path::Path, seed: u32) -> bool {
    let output = Command::new("rspec")
        .args(["--order", &format!("random:{seed}")])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    output.status.success()
}

#[test]
fn specs_pass_in_any_order_and_a_second_run_changes_nothing() {
    let folder = project(&[("lib/cart.rb", CART)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean());
    let file = &report.files[0];
    assert!(file.after.taken * 4 >= file.after.branches * 3, "{file:?}");
    assert!(file.killed * 3 >= file.faults * 2, "{file:?}");
    for seed in 1..4 {
        assert!(rspec(folder.path(), seed));
    }
    let spec = fs::read(folder.path().join("spec/cart_spec.rb")).unwrap();
    let metadata = fs::read(folder.path().join("tmp/rspec_metadata/lib_cart.yml")).unwrap();
    let again = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(again.files[0].cached);
    assert_eq!(fs::read(folder.path().join("spec/cart_spec.rb")).unwrap(), spec);
    assert_eq!(fs::read(folder.path().join("tmp/rspec_metadata/lib_cart.yml")).unwrap(), metadata);
    let read =
        Metadata::read(&folder.path().join("tmp/rspec_metadata/lib_cart.yml")).unwrap().unwrap();
    assert!(STAGES.iter().all(|(_, agent)| read.is_complete(agent)));
}

#[test]
fn a_single_stage_executes_nothing_and_runs_what_it_needs() {
    let folder = project(&[("lib/cart.rb", CART)]);
    let mut only = options(folder.path());
    only.from = Some("analyze".to_owned());
    only.to = Some("analyze".to_owned());
    let report = run(&only, &mut |_| {}).unwrap();
    assert!(report.answers.contains_key("analyze"));
    assert!(!folder.path().join("spec").exists());
}

#[test]
fn what_cannot_be_used_is_said_clearly() {
    let folder = project(&[("lib/broken.rb", "class A\n  def x(\nend\n")]);
    let stop = run(&options(folder.path()), &mut |_| {}).unwrap_err();
    assert!(stop.error.contains("lib/broken.rb"), "{stop:?}");
    assert!(stop.details.starts_with("lib/broken.rb:3:1: "), "{stop:?}");
    let empty = project(&[("lib/nothing.rb", "X = 1\n")]);
    assert!(
        run(&options(empty.path()), &mut |_| {}).unwrap_err().error.contains("no testable files")
    );
    let mut branch = options(empty.path());
    branch.mode = Mode::Branch;
    assert!(run(&branch, &mut |_| {}).unwrap_err().error.contains("not a git repository"));
    let failing = project(&[("lib/a.rb", "raise 'not today'\nclass A\n  def x; 1; end\nend\n")]);
    let report = run(&options(failing.path()), &mut |_| {}).unwrap();
    assert!(report.files[0].error.as_ref().unwrap().contains("not today"));
}
