//! Suites whose project has a database: workers see what a single `rspec` sees.

use crate::env::TestEnv;

/// Everything is made when the project is loaded: the table, and a row that every example relies on.
const HELPER: &str = r#"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:words) { |t| t.string :text } }
class Word < ActiveRecord::Base; end
Word.create!(text: "seed")
RSpec.configure do |config|
  config.around { |example| ActiveRecord::Base.transaction { example.run; raise ActiveRecord::Rollback } }
end
"#;

const SPEC: &str = r#"
require "spec_helper"
RSpec.describe "words" do
  6.times do |n|
    it "are the seed and number #{n}" do
      Word.create!(text: "number #{n}")
      expect(Word.order(:id).pluck(:text)).to eq(["seed", "number #{n}"])
    end
  end

  it "have no other table" do
    expect { ActiveRecord::Base.connection.execute("SELECT * FROM others") }.to raise_error(ActiveRecord::StatementInvalid)
  end
end
"#;

/// `ActiveRecord` forgets its connections in a forked process, and with them what is in memory: every example failed.
#[test]
fn a_database_in_memory_is_there_in_every_worker() {
    let env = TestEnv::new();
    env.write("spec/spec_helper.rb", HELPER);
    env.write("spec/words_spec.rb", SPEC);
    for more in [&["-w", "1"][..], &["-w", "3"], &["-w", "2", "--no-preload"]] {
        let arguments = [&["run", "--ui", "grouped"], more].concat();
        let ran = env.run(&arguments);
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.terminal());
        assert!(ran.stdout.contains("7 examples: 7 passed"), "{more:?}: {}", ran.terminal());
        // Threads of ActiveRecord itself are no reason to warn.
        assert!(!ran.terminal().contains("unsafe"), "{more:?}: {}", ran.terminal());
    }
    env.assert_no_process_left();
}

/// With `--no-preload` the error of a hook was counted and lost: the run said only that something had not arrived.
#[test]
fn an_error_in_a_hook_of_a_worker_is_shown_however_the_project_is_loaded() {
    let env = TestEnv::with_spec(
        "Proctor.after_fork { raise \"no table for worker\" }\nRSpec.describe('a') { it('b') {} }\n",
    );
    for more in [&[][..], &["--no-preload"]] {
        let arguments = [&["run", "-w", "1", "--ui", "grouped"], more].concat();
        let ran = env.run(&arguments);
        assert_ne!(ran.code, Some(0));
        assert!(ran.stdout.contains("no table for worker"), "{more:?}: {}", ran.terminal());
        assert!(
            ran.stdout.contains("1 example: 1 not run, 1 error"),
            "{more:?}: {}",
            ran.terminal()
        );
    }
    env.assert_no_process_left();
}
