//! `proctor mutate` where a verdict could say more than was shown: leftovers of other mutants, examples that fail now and then, files
//! that are left out, verdicts of earlier runs, and the tool for agents.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env::{TestEnv, assert_code, signal, wait_until};
use crate::mutate::{mutate, project, state};

/// A mutant leaves a file behind; the next example that finds it fails, and removes it. The mutant it failed with is innocent.
#[test]
fn what_another_mutant_has_left_behind_kills_nothing() {
    let env = project(
        "class Store\n  def initialize(path)\n    @path = path\n  end\n  def save(text)\n    File.write(@path, text)\n  end\n  def clear\n    File.delete(@path)\n    true\n  end\n  def double(number)\n    number * 2\n  end\nend\n",
        "PATH = File.join(__dir__, 'data.db')\nRSpec.describe Store do\n  it('saves') do\n    store = Store.new(PATH)\n    store.save('abc')\n    store.clear\n  end\n  it('doubles') do\n    dirty = File.exist?(PATH)\n    File.delete(PATH) if dirty\n    Store.new(PATH).double(3)\n    expect(dirty).to be false\n  end\nend\n",
    );
    let (_, report) = mutate(&env, &["-w", "1"]);
    // Nobody looks at the product, so these are alive, or nothing is said of them; killed they are not.
    for operator in ["change number", "exchange operator"] {
        let found = state(&report, 13, operator);
        assert!(found == "alive" || found == "unknown", "{operator}: {report:#}");
    }
}

/// An example that fails at random passes its controls often enough; twice with the same mutant it seldom fails.
#[test]
fn an_example_that_fails_once_with_a_mutant_and_not_again_kills_nothing() {
    // It fails in its fifth run: after two clean runs and before the controls, if the first mutant is the first to run.
    let env = project(
        "def one\n  1\nend\n",
        "COUNT = File.join(__dir__, 'count.db')\nRSpec.describe('a') do\n  it('is odd') do\n    one\n    File.write(COUNT, '.', mode: 'a')\n    expect(File.size(COUNT)).not_to eq 3\n  end\nend\n",
    );
    let (code, report) = mutate(&env, &["-w", "1"]);
    let all = report["mutants"].as_array().unwrap();
    let doubtful: Vec<&Value> = all.iter().filter(|it| it["state"] == "unknown").collect();
    assert_eq!((doubtful.len(), &report["counts"]["killed"]), (1, &json!(0)), "{report:#}");
    let reason = doubtful[0]["message"].as_str().unwrap();
    assert!(reason.contains("noticed once and not a second time"), "{reason}");
    assert_eq!(code, Some(0), "the others are alive: {report:#}");
}

#[test]
fn folders_below_lib_are_code_whatever_they_are_called_and_specs_are_not_mutated() {
    let env = TestEnv::new();
    env.write("lib/log/line.rb", "def line = 'a'\n");
    env.write("lib/coverage/spec/rate.rb", "def rate = 1\n");
    env.write("tmp/old.rb", "def old = 1\n");
    env.write("packages/a/lib/a.rb", "def a = 1\n");
    env.write("packages/a/spec/a_spec.rb", "def b = 1\n");
    env.write("spec/support/help.rb", "def help = 1\n");
    env.write("spec/a_spec.rb", "RSpec.describe('a') { it('b') { expect(1).to eq 1 } }\n");
    let listed = |arguments: &[&str]| {
        let ran = env.run(&[&["mutate", "--list", "--format", "json"], arguments].concat());
        let all: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.terminal()));
        let mut files: Vec<String> = all
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["file"].as_str().unwrap().to_owned())
            .collect();
        files.dedup();
        files
    };
    assert_eq!(listed(&[]), ["lib/coverage/spec/rate.rb", "lib/log/line.rb"]);
    assert_eq!(
        listed(&["."]),
        ["lib/coverage/spec/rate.rb", "lib/log/line.rb", "packages/a/lib/a.rb"]
    );
    assert_eq!(listed(&["lib/log"]), ["lib/log/line.rb"]);
    assert_eq!(listed(&["spec/support/help.rb"]), ["spec/support/help.rb"], "a file that is named");
}

#[test]
fn a_file_that_is_no_ruby_passes_no_gate() {
    let env = project("def one = 1\n", "RSpec.describe('a') { it('b') { expect(one).to eq 1 } }\n");
    env.write("lib/broken.rb", "def two(\n");
    let without_gate = env.run(&["mutate"]);
    assert_code(&without_gate, 0);
    assert!(without_gate.stderr.contains("lib/broken.rb"), "{}", without_gate.terminal());
    let gate = env.run(&["mutate", "--fail-below", "10"]);
    assert_code(&gate, 2);
    assert!(gate.stderr.contains("lib/broken.rb is no valid Ruby"), "{}", gate.terminal());
    assert_code(&env.run(&["mutate", "--fail-below", "10", "lib/code.rb"]), 0);
    let only = env.run(&["mutate", "lib/broken.rb"]);
    assert_code(&only, 2);
    assert!(only.stderr.contains("no valid Ruby"), "{}", only.terminal());
    // A template of a generator is no Ruby and no code.
    env.write("lib/generators/templates/broken.rb", "class <%= name %>\n");
    std::fs::remove_file(env.project.join("lib/broken.rb")).unwrap();
    assert_code(&env.run(&["mutate", "--fail-below", "10"]), 0);
}

#[test]
fn verdicts_of_earlier_runs_do_not_outlive_what_they_rest_on() {
    let env = project("def limit(path)\n  File.read(path).to_i > 5\nend\n", "");
    env.write("spec/support/a.limit", "7");
    env.write("spec/code_spec.rb", "require_relative '../lib/code'\nrequire_relative '../lib/log/rate'\nRSpec.describe('a') do\n  it('b') { expect(limit(File.join(__dir__, 'support', 'a.limit'))).to be(true) }\n  it('c') { expect(rate).to eq 1 }\nend\n");
    env.write("lib/log/rate.rb", "def rate = 1\n");
    let reused = |report: &Value| report["reused"].as_u64().unwrap();
    let (_, first) = mutate(&env, &[]);
    assert_eq!(reused(&first), 0);
    assert_eq!(state(&first, 2, "change number"), "alive", "{first:#}");
    let (_, same) = mutate(&env, &[]);
    assert_eq!(reused(&same), same["mutants"].as_array().unwrap().len() as u64, "{same:#}");
    env.write("spec/support/a.limit", "6");
    let (_, changed) = mutate(&env, &[]);
    assert_eq!(reused(&changed), 0, "{changed:#}");
    assert_eq!(state(&changed, 2, "change number"), "killed", "{changed:#}");
    env.write("lib/log/rate.rb", "def rate = 1 # the same\n");
    let (_, changed) = mutate(&env, &[]);
    assert_eq!(reused(&changed), 0, "{changed:#}");
}

#[test]
fn a_run_that_was_killed_goes_on_and_comes_to_the_same() {
    let code: String = (0..25).map(|it| format!("def m{it}\n  {it} + 1\nend\n")).collect();
    let looks: String = (0..25)
        .map(|it| format!("  it('m{it}') {{ sleep 0.1; expect(m{it}).to be > 0 }}\n"))
        .collect();
    let env = project(&code, &format!("RSpec.describe('a') do\n{looks}end\n"));
    let mut child = env.spawn(&["mutate", "-w", "1"]);
    let kept = env.project.join(".proctor/mutate/results.json");
    wait_until("verdicts that are kept", || kept.exists());
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    env.assert_no_process_left();
    let (_, resumed) = mutate(&env, &[]);
    let all = resumed["mutants"].as_array().unwrap().len() as u64;
    let reused = resumed["reused"].as_u64().unwrap();
    assert!(reused > 0 && reused < all, "{reused} of {all}");
    let (_, whole) = mutate(&env, &["--no-resume"]);
    assert_eq!(whole["reused"], 0);
    assert_eq!(resumed["counts"], whole["counts"]);
}

#[test]
fn an_agent_gets_what_no_example_notices_page_by_page() {
    let env = project(
        "def price(sum)\n  sum > 10 ? sum : 10\nend\ndef unused\n  1\nend\n",
        "RSpec.describe('price') { it('is at least ten') { expect(price(3)).to eq 10 } }\n",
    );
    let tool = |name: &str, arguments: &Value| env.run(&["tool", name, &arguments.to_string()]);
    let ran = tool("cover_mutate", &json!({ "limit": 2 }));
    assert_code(&ran, 0);
    let first: Value = serde_json::from_str(&ran.stdout).unwrap();
    let shown = first["mutants"].as_array().unwrap();
    assert_eq!(shown.len(), 2, "{first:#}");
    assert!(shown.iter().all(|it| it["state"] == "alive"), "{first:#}");
    assert_eq!(shown[0]["place"], "lib/code.rb:2");
    assert!(shown[0]["diff"].as_str().unwrap().starts_with("-  sum > 10"), "{first:#}");
    assert_eq!(shown[0]["looked"], json!(["price is at least ten (./spec/code_spec.rb:2)"]));
    assert_eq!(first["next"], "2");
    assert!(first["not_covered"].as_u64().unwrap() > 0 && first["score"].as_f64().unwrap() < 100.0);
    let refused = tool("cover_mutate", &json!({ "paths": ["../elsewhere"] }));
    assert_code(&refused, 1);
    env.write("spec/code_spec.rb", "RSpec.describe('a') { it('b') { expect(1).to eq 2 } }\n");
    let red = tool("cover_mutate", &json!({}));
    assert!(
        red.code != Some(0) && red.stderr.contains("fails without a mutant"),
        "{}",
        red.terminal()
    );
}

#[test]
fn a_suite_that_fails_only_with_a_context_hook_is_not_green() {
    let env = project(
        "def one = 1\n",
        "RSpec.describe('a') do\n  after(:context) { raise 'broken' }\n  it('b') { expect(one).to eq 1 }\nend\n",
    );
    let refused = env.run(&["mutate"]);
    assert_code(&refused, 2);
    assert!(refused.stderr.contains("errors without a mutant"), "{}", refused.terminal());
}
