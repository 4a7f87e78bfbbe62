//! Stored objects (ActiveRecord): where the database of examples comes from, and what is shown of models and services.
//! `tests/fixtures/records/shop` has `app/` and `db/schema.rb` and nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use proctor_cover::{Report, run};

use crate::golden::copy;
use crate::{options, project};

const MODEL: &str = "\
class Note < ActiveRecord::Base
  validates :title, presence: true

  def shout
    loud? ? title.upcase : title
  end
end
";

const HELPER: &str = "\
require 'active_record'
ActiveRecord::Base.establish_connection(adapter: 'sqlite3', database: ':memory:')
ActiveRecord::Migration.verbose = false
ActiveRecord::Schema.define { create_table(:notes) { |t| t.string :title, null: false; t.boolean :loud, default: false } }
";

fn cover(folder: &Path) -> Report {
    let mut options = options(folder);
    options.effort.tries = 300;
    run(&options, &mut |_| {}).unwrap()
}

fn assert_plain_rspec_passes(folder: &Path) {
    for seed in ["random:3", "random:11"] {
        let output =
            Command::new("rspec").args(["--order", seed]).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Nothing can be stored, so nothing is shown, and the report says what is missing.
#[test]
fn a_model_without_a_table_is_no_success() {
    let folder = project(&[("app/models/note.rb", MODEL)]);
    let report = cover(folder.path());
    assert!(!report.is_clean());
    let text = proctor_cover::text(&report);
    assert!(
        text.contains("ActiveRecord is not loaded") || text.contains("no table for Note"),
        "{text}"
    );
    assert!(!folder.path().join("spec/support/in_memory_database.rb").exists());
}

/// The project's tests use another database, which cannot be had here: it is not exchanged for SQLite behind the user's back.
#[test]
fn a_helper_that_connects_to_another_database_is_not_overruled() {
    let helper = "require \"active_record\"\nActiveRecord::Base.establish_connection(adapter: \"mysql2\", database: \"notes\")\n";
    let schema = "ActiveRecord::Schema.define { create_table(:notes) { |t| t.string :title } }\n";
    let folder = project(&[
        ("app/models/note.rb", MODEL),
        ("spec/spec_helper.rb", helper),
        ("db/schema.rb", schema),
    ]);
    let report = cover(folder.path());
    let text = proctor_cover::text(&report);
    assert!(!report.is_clean() && text.contains("mysql2"), "{text}");
    assert!(!folder.path().join("spec/support/in_memory_database.rb").exists(), "{text}");
}

/// The helper connects but leaves rows behind: only what is missing is added.
#[test]
fn a_helper_that_connects_is_used_and_rolled_back() {
    let folder = project(&[("app/models/note.rb", MODEL), ("spec/spec_helper.rb", HELPER)]);
    let report = cover(folder.path());
    assert!(report.is_clean(), "{}", proctor_cover::text(&report));
    assert!(folder.path().join("spec/support/rollback.rb").is_file());
    assert!(!folder.path().join("spec/support/in_memory_database.rb").exists());
    let text = fs::read_to_string(folder.path().join("spec/models/note_spec.rb")).unwrap();
    for part in ["require 'spec_helper'", "requires a title", "errors[:title]", "#shout"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_plain_rspec_passes(folder.path());
    let metadata = folder.path().join("tmp/rspec_metadata/app_models_note.yml");
    let metadata = fs::read_to_string(metadata).unwrap();
    for part in ["db: real", "type: model", "SQLite in memory"] {
        assert!(metadata.contains(part), "{part} in {metadata}");
    }
}

/// Models with rules, callbacks, scopes, associations and a service with a transaction, in a bare `app/`.
#[test]
fn models_and_a_service_in_a_bare_app_folder() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records/shop");
    copy(&fixture, folder.path());
    let report = cover(folder.path());
    assert!(report.is_clean(), "{}", proctor_cover::text(&report));
    let taken: u64 = report.files.iter().map(|file| file.after.taken).sum();
    let all: u64 = report.files.iter().map(|file| file.after.branches).sum();
    assert!(taken * 100 >= all * 85, "{taken} of {all}: {}", proctor_cover::text(&report));
    let order = fs::read_to_string(folder.path().join("spec/models/order_spec.rb")).unwrap();
    for part in ["contain_exactly(", "order.reload).to have_attributes(", "errors[:discount_cents]"]
    {
        assert!(order.contains(part), "{part} in {order}");
    }
    assert_plain_rspec_passes(folder.path());
}
