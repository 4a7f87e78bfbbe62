//! `proctor mutate` from outside: what counts as killed, and what must not.

use serde_json::Value;

use crate::env::{TestEnv, assert_code, repository};

/// A project with one library file and one spec file.
pub(crate) fn project(code: &str, spec: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("lib/code.rb", code);
    env.write("spec/code_spec.rb", &format!("require_relative '../lib/code'\n{spec}"));
    env
}

pub(crate) fn mutate(env: &TestEnv, more: &[&str]) -> (Option<i32>, Value) {
    let workers: &[&str] = if more.contains(&"-w") { &[] } else { &["-w", "2"] };
    let ran = env.run(&[&["mutate", "--format", "json"], workers, more].concat());
    let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.terminal()));
    env.assert_no_process_left();
    (ran.code, report)
}

/// The mutants of a line with this operator.
fn of(report: &Value, line: u64, operator: &str) -> Vec<Value> {
    let all = report["mutants"].as_array().unwrap().iter();
    all.filter(|it| it["line"] == line && it["operator"] == operator).cloned().collect()
}

pub(crate) fn state(report: &Value, line: u64, operator: &str) -> String {
    let found = of(report, line, operator);
    assert!(!found.is_empty(), "{line} {operator}: {report:#}");
    found[0]["state"].as_str().unwrap().to_owned()
}

const PRICE: &str = "class Price\n  LIMIT = 100\n  def initialize(amount)\n    @amount = amount\n  end\n  def cheap?\n    @amount < LIMIT\n  end\n  def unused\n    7\n  end\n  def wait\n    n = @amount\n    n -= 1 while n > 0\n    n\n  end\n  def leave\n    exit!(9) if @amount > 5\n    :stays\n  end\nend\n";

#[test]
fn verdicts_are_told_apart_with_diff_and_examples() {
    let env = project(
        PRICE,
        "RSpec.describe Price do\n  it('is cheap') { expect(Price.new(99)).to be_cheap }\n  it('is dear') { expect(Price.new(200)).not_to be_cheap }\n  it('waits') { expect(Price.new(3).wait).to eq 0 }\n  it('stays') { expect(Price.new(1).leave).to eq :stays }\nend\n",
    );
    let (code, report) = mutate(&env, &["--time-floor", "500ms"]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(state(&report, 7, "remove statement"), "killed");
    assert_eq!(state(&report, 7, "exchange operator"), "alive", "{report:#}");
    // A constant is in force only if its file is loaded with it.
    let limit = &of(&report, 2, "change number")[0];
    assert_eq!((&limit["state"], &limit["mode"]), (&"alive".into(), &"fresh".into()), "{limit:#}");
    assert_eq!(state(&report, 10, "change number"), "not_covered");
    let slow = of(&report, 14, "exchange operator");
    assert!(slow.iter().any(|it| it["killed_by"] == "time_out"), "{slow:#?}");
    let crashed = of(&report, 18, "force condition");
    assert!(crashed.iter().any(|it| it["killed_by"] == "crash"), "{crashed:#?}");
    let alive = &of(&report, 7, "exchange operator")[0];
    assert!(
        alive["diff"].as_str().unwrap().contains("-    @amount < LIMIT\n+    @amount <= LIMIT")
    );
    assert_eq!(alive["looked"].as_array().unwrap().len(), 2, "{alive:#}");
    assert_eq!(report["counts"]["unknown"], 0, "{report:#}");
}

#[test]
fn a_suite_that_is_not_green_or_runs_nothing_is_refused() {
    let red = project(
        "def one = 1\n",
        "RSpec.describe('a') { it('fails') { expect(one).to eq 2 }; it('passes') { expect(one).to eq 1 } }\n",
    );
    let refused = red.run(&["mutate"]);
    assert_code(&refused, 2);
    assert!(
        refused.stderr.contains("one example fails without a mutant: a fails"),
        "{}",
        refused.terminal()
    );
    let (code, report) = mutate(&red, &["--exclude-failing"]);
    assert_eq!(
        (code, &report["counts"]["killed"]),
        (Some(0), &report["mutants"].as_array().unwrap().len().into()),
        "{report:#}"
    );
    let pending = project("def one = 1\n", "RSpec.describe('a') { it('later') }\n");
    let refused = pending.run(&["mutate"]);
    assert_code(&refused, 2);
    assert!(refused.stderr.contains("no example ran"), "{}", refused.terminal());
    let empty = project("def one = 1\n", "");
    assert_code(&empty.run(&["mutate"]), 2);
}

#[test]
fn what_cannot_be_evaluated_again_is_loaded_anew_and_not_called_killed() {
    // A captured method, a refinement, a wrapper, a block: each would be wrong or harmless if only a `def` were evaluated again.
    let env = project(
        "# frozen_string_literal: true\nmodule Wrap\n  def wrap(name)\n    old = instance_method(name)\n    define_method(name) { old.bind_call(self) + 0 }\n  end\nend\nclass A\n  extend Wrap\n  def two\n    2\n  end\n  wrap :two\n  define_method(:three) { 3 }\n  def text = 'abc'\n  KEPT = new.method(:text)\n  class << self\n    private def secret = 5\n    def open = secret\n  end\n  @@seen = 6\n  def seen = @@seen * 1\nend\n",
        "RSpec.describe A do\n  it('a') { expect(A.new.two).to be > 1 }\n  it('b') { expect(A.new.three).to be > 2 }\n  it('c') { expect(A::KEPT.call).to be_frozen }\n  it('d') { expect { A.secret }.to raise_error(NoMethodError) }\n  it('e') { expect(A.open).to be > 4 }\n  it('f') { expect(A.new.seen).to eq 6 }\nend\n",
    );
    let (_, report) = mutate(&env, &[]);
    // 2 becomes 3 and 3 becomes 4: no example notices, and the mutants are really there.
    assert_eq!(state(&report, 11, "change number"), "alive", "{report:#}");
    assert_eq!(state(&report, 11, "remove statement"), "killed", "{report:#}");
    assert_eq!(state(&report, 14, "change number"), "alive", "{report:#}");
    assert_eq!(state(&report, 15, "change string"), "alive", "{report:#}");
    assert_eq!(state(&report, 18, "change number"), "alive", "{report:#}");
    assert_eq!(of(&report, 18, "change number")[0]["mode"], "fork", "{report:#}");
    assert_eq!(state(&report, 22, "exchange operator"), "alive", "{report:#}");
    assert_eq!(report["counts"]["unknown"], 0, "{report:#}");
}

#[test]
fn an_example_that_fails_now_and_then_kills_nothing_for_good() {
    // It passes in both clean runs and fails in every later process.
    let env = project(
        "def one\n  x = 1\n  x\nend\n",
        "COUNT = File.join(__dir__, 'count')\nRSpec.describe('a') do\n  it('is flaky') do\n    one\n    File.write(COUNT, '.', mode: 'a')\n    expect(File.size(COUNT)).to be < 3\n  end\nend\n",
    );
    let ran = env.run(&["mutate", "-w", "1", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let killed = report["counts"]["killed"].as_u64().unwrap_or(0);
    assert_eq!(killed, 0, "{}", ran.terminal());
    assert!(report["counts"]["unknown"].as_u64().unwrap() > 0, "{report:#}");
    assert_code(&ran, 2);
}

#[test]
fn only_changed_lines_are_mutated_and_marks_and_gates_work() {
    let env = project(
        "def one\n  1\nend\ndef two\n  2\nend\n",
        "RSpec.describe('a') { it('b') { expect(one + two).to be > 0 } }\n",
    );
    let git = |arguments: &[&str]| {
        let base = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let mut git = std::process::Command::new("git");
        let ran = git.args(base).args(arguments).current_dir(&env.project).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "a"]);
    let nothing = env.run(&["mutate", "--since", "HEAD", "--fail-below", "100"]);
    assert_code(&nothing, 0);
    assert!(nothing.stdout.contains("no changed line"), "{}", nothing.terminal());
    env.write("lib/code.rb", "def one\n  1\nend\ndef two\n  3 # proctor:equivalent(change number) only its sign counts\nend\n");
    let (code, report) = mutate(&env, &["--since", "HEAD", "--fail-below", "100"]);
    let lines: Vec<u64> = report["mutants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["line"].as_u64().unwrap())
        .collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| *line == 5), "{report:#}");
    assert_eq!(state(&report, 5, "change number"), "equivalent");
    assert_eq!(code, Some(0), "{report:#}");
    assert_code(&env.run(&["mutate", "--since", "nowhere"]), 2);
    let files = ["--junit", "m.xml", "--json", "m.json", "--html", "m.html"];
    let ran = env.run(&[&["mutate", "--fail-below", "99"], &files[..]].concat());
    assert_code(&ran, 1);
    let read = |name: &str| std::fs::read_to_string(env.project.join(name)).unwrap();
    assert!(read("m.xml").contains("<failure message=\"alive\""), "{}", read("m.xml"));
    assert!(read("m.html").contains("<del>-  1</del>"), "{}", read("m.html"));
    assert!(read("m.html").contains("is below 99 %"), "{}", read("m.html"));
    // Every report says what the exit code says: without a gate nothing has failed.
    assert!(read("m.json").contains("\"reason\": \"too_low\""), "{}", read("m.json"));
    let ungated = env.run(&[&["mutate"], &files[..]].concat());
    assert_code(&ungated, 0);
    let has_failed = |xml: &str| xml.contains("<failure") || xml.contains("<error");
    assert!(!has_failed(&read("m.xml")), "{}", read("m.xml"));
    assert!(read("m.xml").contains("<skipped message=\"alive\""), "{}", read("m.xml"));
    assert!(!read("m.html").contains("is below") && !read("m.json").contains("too_low"));
    let ran = env.run(&[&["mutate", "--fail-below", "99"], &files[..]].concat());
    assert_code(&ran, 1);
    assert!(read("m.json").contains("\"not_covered\": 0"));
    // The second run needs none of it again; a changed spec invalidates everything.
    let (_, again) = mutate(&env, &[]);
    assert!(again["reused"].as_u64().unwrap() > 0, "{again:#}");
    env.write(
        "spec/code_spec.rb",
        "require_relative '../lib/code'\nRSpec.describe('a') { it('b') { expect(one).to eq 1 } }\n",
    );
    let (_, changed) = mutate(&env, &[]);
    assert_eq!(changed["reused"], 0, "{changed:#}");
    assert_eq!(state(&changed, 2, "change number"), "killed");
}

/// The sample of the page, as printed.
#[test]
fn the_sample_of_the_page_comes_out_as_printed() {
    let page = std::fs::read_to_string(repository().join("docs/mutate.md")).unwrap();
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let block = |kind: &str, name: &str| {
        let found =
            blocks.iter().find(|it| it.starts_with(&format!("{kind}\n")) && it.contains(name));
        found
            .unwrap_or_else(|| panic!("no {kind} block with {name}"))
            .split_once('\n')
            .unwrap()
            .1
            .to_owned()
    };
    let env = TestEnv::new();
    env.write("lib/price.rb", &block("ruby", "class Price"));
    env.write("spec/price_spec.rb", &block("ruby", "RSpec.describe Price"));
    let ran = env.run(&["mutate", "lib/price.rb", "-w", "1"]);
    assert_eq!(ran.stdout, block("text", "Alive:"), "{}", ran.terminal());
}
