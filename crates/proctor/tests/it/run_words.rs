//! What a run says of things that went another way than its user may think: each once, with the way out.

use serde_json::Value;

use crate::env::{Ran, TestEnv};

fn finished(env: &TestEnv) -> Vec<Value> {
    let events = std::fs::read_to_string(env.events_path().unwrap()).unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event_type"] == "ExampleFinished").collect()
}

fn times(ran: &Ran, words: &str) -> usize {
    ran.terminal().matches(words).count()
}

#[test]
fn a_dry_run_passes_nothing() {
    let env = TestEnv::with_spec(
        "RSpec.describe('A') do
           before { raise 'never' }
           it('b') { raise 'never' }
           it('c') { File.write('ran', '') }
           xit('d') {}
         end\n",
    );
    for more in [&[][..], &["--no-preload"]] {
        let ran = env.run(&[&["run", "--ui", "grouped"], more, &["--", "--dry-run"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        assert!(ran.stdout.contains("b  pending: dry run"), "{}", ran.terminal());
        assert!(ran.stdout.contains("3 examples: 3 pending"), "{}", ran.terminal());
        assert_eq!(times(&ran, "dry run: no example is run"), 1, "{}", ran.terminal());
        assert!(!env.project.join("ran").exists());
        let told: Vec<(Value, Value)> = finished(&env)
            .iter()
            .map(|event| (event["status"].clone(), event["message"].clone()))
            .collect();
        assert!(told.iter().all(|(status, _)| status == "pending"), "{told:?}");
        assert_eq!(told.iter().filter(|(_, reason)| reason == "dry run").count(), 2, "{told:?}");
    }
    assert!(env.run(&["runs"]).stdout.contains("  0 passed, 3 pending"));
    // Nothing was learned about how long they take.
    assert!(
        !env.read(".proctor/timings.json").contains("0."),
        "{}",
        env.read(".proctor/timings.json")
    );
    // The same in a file, as projects have it.
    env.write(".rspec", "--dry-run\n");
    assert!(env.run(&["run"]).stdout.contains("3 pending"));
}

#[test]
fn formatters_that_are_not_used_are_named_once() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') {} }\n");
    env.write("lib/own_formatter.rb", "class OwnFormatter; end\n");
    env.write(
        ".rspec",
        "--require ./lib/own_formatter\n--format OwnFormatter\n--format documentation\n",
    );
    for more in [&[][..], &["--no-preload"]] {
        let ran = env.run(&[&["run"], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        let note = "not used: RSpec formatter OwnFormatter (it would write to standard output: give it a file with `--out`";
        assert_eq!((times(&ran, note), times(&ran, "not used")), (1, 1), "{}", ran.terminal());
    }
    // Those that only choose how a terminal looks are not missed.
    env.write(".rspec", "--format documentation\n");
    assert_eq!(times(&env.run(&["run"]), "not used"), 0);
    // Code can ask for one too.
    env.write("spec/b_spec.rb", "RSpec.configure { |c| c.add_formatter 'html' }\n");
    assert_eq!(times(&env.run(&["run"]), "not used: RSpec formatter html "), 1);
}

#[test]
fn a_bundle_that_cannot_be_had_is_said_once_in_bundlers_words() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') {} }\n");
    env.write("Gemfile", "gem 'rspec'\ngem 'no-such-gem-at-all', '99.0'\n");
    for ui in ["interleaved", "grouped", "quiet", "terse"] {
        let ran = env.run(&["run", "--ui", ui]);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert_eq!(times(&ran, "no-such-gem-at-all"), 1, "{ui}: {}", ran.terminal());
        assert!(
            ran.stderr
                .contains("`bundle install` mends it; PROCTOR_BUNDLER=0 runs without Bundler"),
            "{}",
            ran.terminal()
        );
        for internal in ["pid", "answered", "proctor-rspec", "0 examples"] {
            assert!(!ran.terminal().contains(internal), "{ui}: {}", ran.terminal());
        }
    }
    // It is in the recording, for those who look later.
    assert!(env.run(&["show", "last"]).stdout.contains("no-such-gem-at-all"));
    let without = env.command().env("PROCTOR_BUNDLER", "0").arg("run").output().unwrap();
    assert!(without.status.success());
    env.write("Gemfile", "gem 'rspec\n");
    let broken = env.run(&["run"]);
    assert!(
        broken.stderr.contains("mend the Gemfile") && times(&broken, "Gemfile:") < 3,
        "{}",
        broken.terminal()
    );
}

#[test]
fn the_same_error_of_an_example_and_its_hook_is_told_once() {
    let env = TestEnv::with_spec(
        "RSpec.describe('A') do
           after { raise 'the disk is full' }
           it('b') { raise 'the disk is full' }
         end
         RSpec.describe('C') do
           after { raise 'the second' }
           it('d') { raise 'the first' }
         end\n",
    );
    for ui in ["grouped", "interleaved"] {
        let ran = env.run(&["run", "--ui", ui, "-w", "1"]);
        let live = ran.stdout.split("Failures:").next().unwrap();
        assert_eq!(live.matches("the disk is full").count(), 1, "{ui}: {live}");
        assert!(live.contains("the disk is full (2 times)"), "{ui}: {live}");
        assert!(live.contains("the first") && live.contains("the second"), "{ui}: {live}");
        assert_eq!(live.matches("times").count(), 1, "{ui}: {live}");
    }
}

/// It stays where it is, as far as that is possible: the folder can then be named.
#[test]
fn a_current_folder_that_is_gone_is_named() {
    let env = TestEnv::with_spec(
        "require 'fileutils'
         RSpec.describe('A') do
           it('b') { FileUtils.mkdir_p('gone'); Dir.chdir('gone'); Dir.rmdir('../gone'); File.read('x') }
         end\n",
    );
    let ran = env.run(&["run"]);
    let gone = "The worker's current folder [HOME]/project/gone vanished while the example ran";
    assert_eq!(times(&ran, gone), 2, "live and in the summary: {}", ran.terminal());
}

/// As suites do that share one temporary folder and empty it before each example.
#[test]
fn a_current_folder_that_another_worker_removed_is_named() {
    let env = TestEnv::with_spec(
        "require 'fileutils'
         def settle(name) = (sleep 0.005 until File.exist?(name))
         RSpec.describe('Stays in the folder') do
           it('b') do
             root = Dir.pwd
             FileUtils.mkdir_p('tmp/shared')
             Dir.chdir('tmp/shared') do
               FileUtils.touch(\"#{root}/inside\")
               settle(\"#{root}/removed\")
               File.expand_path('x')
             end
           end
         end\n",
    );
    env.write(
        "spec/b_spec.rb",
        "RSpec.describe('Empties it') do
           it('c') { settle('inside'); FileUtils.rm_rf('tmp/shared'); FileUtils.touch('removed') }
           it('d') { expect(Dir.pwd).to eq(File.realpath('.')) }
         end\n",
    );
    let ran = env.run(&["run", "-w", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("3 examples: 2 passed, 1 failed"), "{}", ran.terminal());
    let failed = finished(&env).into_iter().find(|event| event["status"] == "failed").unwrap();
    let message = failed["exception"]["message"].as_str().unwrap();
    assert!(message.starts_with("No such file or directory - getcwd"), "{message}");
    for words in ["current folder vanished", "another worker", "-w 1", "TEST_ENV_NUMBER"] {
        assert!(message.contains(words), "{words}: {message}");
        assert!(ran.stdout.contains(words), "{words}: {}", ran.terminal());
    }
}
