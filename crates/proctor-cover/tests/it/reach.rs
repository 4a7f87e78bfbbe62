//! What has to be there before methods can be called at all: frameworks that a library leaves to the application, classes that
//! suit a module, tables of a library's models.

use std::fs;
use std::path::Path;
use std::process::Command;

use proctor_cover::{Report, run};

use crate::{holds, options, project};

fn cover(folder: &Path) -> Report {
    let mut options = options(folder);
    options.effort.tries = 300;
    run(&options, &mut |_| {}).unwrap()
}

fn spec(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join("spec").join(path)).unwrap_or_default()
}

fn assert_plain_rspec_passes(folder: &Path) {
    for seed in ["random:3", "random:11"] {
        let output =
            Command::new("rspec").args(["--order", seed]).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Every branch of a file is taken by specs that hold.
fn assert_reached(folder: &Path, report: &Report, path: &str) {
    let text = proctor_cover::text(report);
    assert!(holds(report), "{text}");
    let file = report.files.iter().find(|file| file.source == path).unwrap();
    assert_eq!(file.after.taken, file.after.branches, "{text}");
    assert!(file.examples > 0, "{text}");
    assert_plain_rspec_passes(folder);
}

/// The library says `mattr_accessor` and `present?` and requires nothing: applications have Rails.
#[test]
fn frameworks_that_applications_load_are_loaded() {
    let folder = project(&[
        (
            "lib/kitchen.rb",
            "require \"kitchen/menu\"\n\nmodule Kitchen\n  mattr_accessor(:name) { \"home\" }\n\n  def self.env = Rails.env\nend\n",
        ),
        (
            "lib/kitchen/menu.rb",
            "module Kitchen\n  class Menu\n    def title(text)\n      text.present? ? text.squish : \"Menu\"\n    end\n  end\nend\n",
        ),
    ]);
    let report = cover(folder.path());
    assert_reached(folder.path(), &report, "lib/kitchen/menu.rb");
    let text = spec(folder.path(), "kitchen/menu_spec.rb");
    assert!(text.contains("require 'active_support/all'\nrequire 'kitchen'"), "{text}");
}

/// What works without a framework does not get one: the file only asks whether it is there.
#[test]
fn frameworks_that_are_asked_for_are_left_out() {
    let folder = project(&[(
        "lib/clock.rb",
        "class Clock\n  def zone(name)\n    return \"rails\" if defined?(Rails)\n\n    name.empty? ? \"UTC\" : name\n  end\nend\n",
    )]);
    let report = cover(folder.path());
    assert!(holds(&report), "{}", proctor_cover::text(&report));
    let text = spec(folder.path(), "clock_spec.rb");
    assert!(!text.contains("require \"rails\""), "{text}");
}

/// A module needs what its host has, an attribute of a class included.
#[test]
fn a_module_is_tried_in_classes_that_include_it() {
    let folder = project(&[
        (
            "lib/steps.rb",
            "module Steps\n  def self.included(base)\n    base.extend(ClassMethods)\n    base.instance_variable_set(:@steps, [])\n  end\n\n  module ClassMethods\n    def step(name, at: nil)\n      at ? @steps.insert([at, @steps.length].min, name) : @steps << name\n      @steps.dup\n    end\n  end\n\n  def label\n    ready? ? \"ready: #{recipe.upcase}\" : \"waiting\"\n  end\nend\n",
        ),
        (
            "lib/cook.rb",
            "require \"steps\"\n\nclass Cook\n  include Steps\n\n  attr_accessor :recipe\n\n  def ready? = !recipe.nil?\nend\n",
        ),
    ]);
    let report = cover(folder.path());
    assert_reached(folder.path(), &report, "lib/steps.rb");
    let text = spec(folder.path(), "steps_spec.rb");
    assert!(text.contains("Cook"), "{text}");
}

/// The tables are what the generator of the library writes for applications.
#[test]
fn models_of_a_library_get_the_tables_of_its_generator() {
    let folder = project(&[
        (
            "lib/ledger.rb",
            "require \"active_record\"\nrequire \"ledger/entry\"\n\nmodule Ledger\nend\n",
        ),
        (
            "lib/ledger/entry.rb",
            "module Ledger\n  class Entry < ActiveRecord::Base\n    self.table_name = \"ledger_entries\"\n    validates :label, presence: true\n\n    def kind\n      cents.negative? ? :debit : :credit\n    end\n  end\nend\n",
        ),
        (
            "lib/generators/ledger/templates/migration.rb.erb",
            "class CreateLedger < ActiveRecord::Migration<%= version %>\n  def change\n    create_table :ledger_entries do |t|\n      t.string :label, null: false\n      t.integer :cents, null: false, default: 0\n      <%= extra %>\n    end\n  end\nend\n",
        ),
    ]);
    let report = cover(folder.path());
    assert_reached(folder.path(), &report, "lib/ledger/entry.rb");
    let text = spec(folder.path(), "support/in_memory_database.rb");
    assert!(text.contains("create_table :ledger_entries") && !text.contains("<%"), "{text}");
    assert!(spec(folder.path(), "ledger/entry_spec.rb").contains("requires a label"), "{text}");
}

/// What must be configured first is configured.
#[test]
fn a_library_is_configured_before_it_is_used() {
    let folder = project(&[
        (
            "lib/postbox.rb",
            "require \"postbox/letter\"\n\nmodule Postbox\n  class << self\n    attr_reader :limit\n\n    def configure\n      @limit = 10\n      yield self if block_given?\n    end\n  end\nend\n",
        ),
        (
            "lib/postbox/letter.rb",
            "module Postbox\n  class Letter\n    def postage(grams)\n      grams > Postbox.limit ? :heavy : :light\n    end\n  end\nend\n",
        ),
    ]);
    let report = cover(folder.path());
    assert_reached(folder.path(), &report, "lib/postbox/letter.rb");
}
