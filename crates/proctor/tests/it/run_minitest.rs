//! Minitest through the real binary: nothing that did not run is green, results are those of plain Minitest.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::env::{Ran, TestEnv, assert_code};

/// A project with one test file whose class has this body.
fn with_tests(body: &str) -> TestEnv {
    with_file(&format!("class CartTest < Minitest::Test\n{body}\nend\n"))
}

fn with_file(text: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("test/cart_test.rb", &format!("require \"minitest/autorun\"\n{text}"));
    env
}

/// Fails unless the run ended with this code and said this.
#[track_caller]
fn assert_run_printed(ran: &Ran, code: i32, text: &str) {
    assert_code(ran, code);
    assert!(ran.terminal().contains(text), "no {text:?} in:\n{}", ran.terminal());
}

const PASSES: &str = "def test_passes; assert true; end";

#[test]
fn tests_that_are_defined_during_the_run_fail_it() {
    let late = [
        "def test_a; assert true; OtherTest.define_method(:test_late) { flunk }; end",
        "def test_a; assert true; Object.const_set(:LateTest, Class.new(Minitest::Test) { def test_late; flunk; end }); end",
    ];
    for (body, workers) in late.into_iter().zip(["1", "4"]) {
        let env = with_file(&format!(
            "class CartTest < Minitest::Test\n{body}\nend\nclass OtherTest < Minitest::Test; {PASSES}; end"
        ));
        let ran = env.run(&["run", "-w", workers]);
        assert_run_printed(&ran, 1, "1 test was defined while the suite ran and never ran");
        assert!(ran.terminal().contains("test_late"), "{}", ran.terminal());
    }
}

#[test]
fn an_anonymous_class_that_a_test_makes_for_itself_is_not_meant_to_run() {
    let env = with_tests(
        "def test_a; assert Class.new(Minitest::Test) { def test_x; flunk; end }.new('test_x').run.failure; end",
    );
    assert_code(&env.run(&["run"]), 0);
}

#[test]
fn a_test_that_ends_its_process_is_crashed_and_the_others_run() {
    for ending in ["exit 0", "exit! 0", "abort 'no'", "Process.kill(:KILL, $$); sleep"] {
        let env = with_tests(&format!("{PASSES}\ndef test_ends; assert true; {ending}; end"));
        let ran = env.run(&["run", "-w", "1"]);
        assert_code(&ran, 1);
        let recorded = env.recorded();
        recorded.assert_accounted(2);
        assert_eq!(recorded.result("test_ends").event["status"], "crashed", "{ending}");
        assert_eq!(recorded.result("test_passes").event["status"], "passed", "{ending}");
        env.assert_no_process_left();
    }
}

#[test]
fn a_class_that_does_not_run_its_tests_is_no_pass() {
    let env = with_tests(&format!("def self.run(reporter, options = {{}}); end\n{PASSES}"));
    let ran = env.run(&["run"]);
    assert_run_printed(
        &ran,
        1,
        "CartTest.run gave 0 results for CartTest#test_passes instead of one",
    );
}

#[test]
fn hooks_around_a_class_run_for_each_of_its_tests() {
    let env = with_tests(
        "def self.run(*); @ready = true; super; ensure; @ready = false; end
         def self.with_info_handler(*); $around = true; super; end
         class << self; attr_reader :ready; end
         parallelize_me!
         def test_a; assert self.class.ready && $around; end
         def test_b; assert self.class.ready; end",
    );
    assert_run_printed(&env.run(&["run", "-w", "2"]), 0, "2 examples: 2 passed");
}

/// Plain Minitest counts it as a skip and exits with 0.
#[test]
fn a_test_that_skips_and_then_breaks_is_failed() {
    let env = with_tests("def test_a; skip 'later'; end\ndef teardown; raise 'boom'; end");
    let ran = env.run(&["run"]);
    assert_run_printed(&ran, 1, "boom");
    assert_eq!(env.recorded().result("test_a").event["status"], "failed");
}

#[test]
fn tests_that_fork_count_once() {
    let env = with_tests(
        "def test_block; Process.wait(fork { }); assert $?.success?; end
         def test_returns; if (pid = fork); Process.wait(pid); assert true; else; flunk; end; end
         def test_exits; if (pid = fork); Process.wait(pid); assert true; else; exit; end; end",
    );
    env.write("test/other_test.rb", "Minitest.after_run { File.write('after', \"x\", mode: 'a') }");
    let ran = env.run(&["run", "-w", "1"]);
    assert_run_printed(&ran, 0, "3 examples: 3 passed");
    assert_eq!(env.read("after"), "x", "after_run blocks run once, in the process that loads");
}

#[test]
fn tests_that_want_to_run_in_parallel_are_run() {
    let env = with_tests(
        "parallelize_me!\ndef test_a; assert true; end\ndef test_b; assert_equal 1, 2; end",
    );
    let ran = env.run(&["run"]);
    assert_run_printed(&ran, 1, "2 examples: 1 passed, 1 failed");
}

#[test]
fn what_cannot_be_loaded_or_found_is_exit_code_2() {
    let wrong = [
        ("class CartTest <", "syntax error"),
        ("raise 'boom'", "boom"),
        ("require 'no_such_library'", "no_such_library"),
        ("exit 0", "exit"),
        ("exit! 0", "before it was through"),
        ("", "no test is defined in 1 file (./test/cart_test.rb)"),
        (
            "require 'test/unit'\nclass UnitTest < Test::Unit::TestCase; def test_a; end; end",
            "no test is defined",
        ),
        ("class CartTest < Minitest::Test; def check_a; end; end", "no example was found"),
    ];
    for (text, said) in wrong {
        let env = with_file(text);
        assert_run_printed(&env.run(&["run"]), 2, said);
    }
    let env = with_tests(PASSES);
    assert_run_printed(
        &env.run(&["run", "--", "-n", "/nothing/"]),
        2,
        "no example was found (minitest)",
    );
    assert_run_printed(&env.run(&["run", "--", "--bogus"]), 2, "invalid option: --bogus");
    assert_run_printed(
        &env.run(&["run", "test/cart_test.rb:1"]),
        2,
        "there is no test at ./test/cart_test.rb:1",
    );
    assert_run_printed(&env.run(&["run", "test/none_test.rb"]), 2, "there is no file or folder");
}

#[test]
fn a_project_that_runs_its_tests_while_it_loads_does_not_run_them_unheard() {
    let env = with_file(
        "class CartTest < Minitest::Test; def test_a; File.write('ran', 'x', mode: 'a'); flunk; end; end\nMinitest.run",
    );
    assert_code(&env.run(&["run"]), 1);
    assert_eq!(env.read("ran"), "x");
}

#[test]
fn an_after_run_block_that_fails_fails_the_run() {
    for block in ["exit 3", "raise 'boom'"] {
        let env = with_tests(&format!("{PASSES}\nMinitest.after_run {{ {block} }}"));
        assert_run_printed(&env.run(&["run"]), 1, "at_exit");
    }
}

const EVERYTHING: &str = r#"
require "test_helper"
class CartTest < Minitest::Test
  def setup; @cart = []; end
  def test_passes; puts "hello"; assert_empty @cart; refute_nil @cart; end
  def test_fails; assert_equal [1], @cart, "cart"; end
  def test_errors; raise KeyError, "nobody"; end
  def test_skips; skip "later"; end
  def test_unchecked; end
  def test_in_helper; assert_small 7; end
  def test_two_problems; assert_equal 1, 2; end
  def teardown; raise ArgumentError, "teardown" if name == "test_two_problems"; end
end
class SortedTest < Minitest::Test
  i_suck_and_my_tests_are_order_dependent!
  @@seen = []
  def test_1; @@seen << 1; assert_equal [1], @@seen; end
  def test_2; @@seen << 2; assert_equal [1, 2], @@seen; end
end
module Shared; def test_shared; assert self.class.name; end; end
class OneTest < Minitest::Test; include Shared; end
class TwoTest < Minitest::Test; include Shared; end
describe "Cart" do
  before { @items = [] }
  it("is empty") { _(@items).must_be_empty }
  it("is not implemented")
  describe "with items" do
    it("has items") { _(@items).wont_be_empty }
    it("compares a/b/c") { _(1).must_equal 1 }
  end
end
"#;

const HELPER: &str = r#"
require "minitest/autorun"
class Minitest::Test
  def assert_small(number) = assert_operator(number, :<, 5)
end
"#;

fn with_everything() -> TestEnv {
    let env = TestEnv::new();
    env.write("test/cart_test.rb", EVERYTHING);
    env.write("test/test_helper.rb", HELPER);
    env
}

/// Prints a line of JSON for each result of plain Minitest.
const DUMP: &str = r##"
require "json"
require "minitest"
module Minitest
  class Dump < AbstractReporter
    def record(result)
      error = result.failure&.error
      line = { name: "#{result.klass}##{result.name}", code: result.result_code, checks: result.assertions }
      line[:error] = [error.class.name, error.message] if error
      File.write("plain.jsonl", JSON.generate(line) + "\n", mode: "a")
    end
  end
  def self.plugin_dump_init(_options) = reporter << Dump.new
end
Minitest.extensions << "dump"
"##;

fn plain(env: &TestEnv, seed: &str) -> Vec<Value> {
    env.write("dump.rb", DUMP);
    let output = Command::new("ruby")
        .args(["-Itest", "-r./dump.rb", "test/cart_test.rb", "--seed", seed])
        .current_dir(&env.project)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    env.read("plain.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What both say of a test: status, checks, class and message of what went wrong.
type Outcome = (String, Value, Option<Value>);

#[test]
fn results_are_those_of_plain_minitest() {
    let env = with_everything();
    let reference = plain(&env, "7");
    let expected: BTreeMap<String, Outcome> = reference
        .iter()
        .map(|result| {
            let status = match result["code"].as_str().unwrap() {
                "." => "passed",
                "S" => "pending",
                _ => "failed",
            };
            let error = (status == "failed").then(|| result["error"].clone());
            let name = result["name"].as_str().unwrap().to_owned();
            (name, (status.to_owned(), result["checks"].clone(), error))
        })
        .collect();
    assert_eq!(expected.len(), 15);
    for way in [&["-w", "1"][..], &["-w", "4"], &["-w", "2", "--no-preload"]] {
        let ran = env.run(&[&["run", "--seed", "7"], way].concat());
        assert_code(&ran, 1);
        let recorded = env.recorded();
        recorded.assert_accounted(15);
        let ours: BTreeMap<String, Outcome> = recorded
            .of("ExampleFinished")
            .map(|event| {
                let status = event["status"].as_str().unwrap().to_owned();
                let exception = &event["exception"];
                let error = exception.is_object().then(|| {
                    Value::from(vec![exception["class"].clone(), exception["message"].clone()])
                });
                let start = recorded.starts()[event["example_id"].as_str().unwrap()].clone();
                (minitest_name(&start), (status, event["checks"].clone(), error))
            })
            .collect();
        assert_eq!(ours, expected, "{way:?}\n{}", ran.terminal());
        assert_eq!(recorded.output("CartTest#test_passes", "stdout"), ["hello"]);
        if way == ["-w", "1"] {
            let order: Vec<String> = recorded.of("ExampleStarted").map(minitest_name).collect();
            let plain: Vec<&str> =
                reference.iter().map(|result| result["name"].as_str().unwrap()).collect();
            assert_eq!(order, plain, "the same seed gives the same order");
        }
        env.assert_complete();
        env.assert_no_process_left();
    }
    let failed = env.recorded().result("CartTest#test_in_helper").event;
    let line = 1 + EVERYTHING.lines().position(|line| line.contains("test_in_helper")).unwrap();
    assert_eq!(failed["exception"]["project_line"], format!("./test/cart_test.rb:{line}"));
    let both = env.recorded().result("test_two_problems").event;
    assert_eq!(both["exception"]["failures"][1]["class"], "ArgumentError", "{both}");
    let unwritten = env.recorded().result("is not implemented").event;
    let place =
        env.recorded().starts()[unwritten["example_id"].as_str().unwrap()]["location"].clone();
    let line = 1 + EVERYTHING.lines().position(|line| line.contains("not implemented")).unwrap();
    assert_eq!(place, format!("./test/cart_test.rb:{line}"), "not a line of Minitest");
    let skipped = env.recorded().result("CartTest#test_skips").event;
    assert_eq!(skipped["message"], "later", "{skipped}");
}

/// The name under which Minitest reports a test: numbers of `it` stand in its method, not in our description.
fn minitest_name(start: &Value) -> String {
    let path: Vec<&str> =
        start["path"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let (own, groups) = path.split_last().unwrap();
    let numbers = [
        ("is empty", "test_0001_"),
        ("is not implemented", "test_0002_"),
        ("has items", "test_0001_"),
        ("compares a/b/c", "test_0002_"),
    ];
    let number = numbers.iter().find(|(name, _)| name == own).map_or("", |(_, number)| number);
    format!("{}#{number}{own}", groups.join("::"))
}

#[test]
fn a_hang_is_timed_out_and_the_others_run() {
    let env = with_tests(&format!("{PASSES}\ndef test_hangs; sleep; end"));
    for workers in ["1", "4"] {
        let ran = env.run(&["run", "-w", workers, "--timeout", "1s"]);
        assert_code(&ran, 1);
        let recorded = env.recorded();
        recorded.assert_accounted(2);
        assert_eq!(recorded.result("test_hangs").event["status"], "timed_out");
        assert_eq!(recorded.result("test_passes").event["status"], "passed");
        env.assert_no_process_left();
    }
}

#[test]
fn retries_and_repeats_run_a_test_again() {
    let env = with_tests(
        "def test_a; assert File.exist?('ran'), 'first time'; ensure; File.write('ran', ''); end",
    );
    let ran = env.run(&["run", "--retries", "1"]);
    assert_run_printed(&ran, 0, "1 flaky");
    let ran = env.run(&["run", "--repeat", "3"]);
    assert_code(&ran, 0);
    assert_eq!(env.recorded().count("ExampleFinished"), 3);
}

#[test]
fn tests_are_selected_like_any_other_examples() {
    let env = with_everything();
    env.write("test/models/test_other.rb", "require 'test_helper'\nclass OtherTest < Minitest::Test; def test_x; assert true; end; end");
    let chosen = |arguments: &[&str]| {
        let ran = env.run(&[&["list", "--format", "json"], arguments].concat());
        assert_code(&ran, 0);
        let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
        let mut names: Vec<String> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|example| example["full_description"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(chosen(&[]).len(), 16);
    assert_eq!(chosen(&["test/models"]), ["OtherTest#test_x"]);
    assert_eq!(chosen(&["test/models/test_other.rb"]), ["OtherTest#test_x"]);
    assert_eq!(chosen(&["test/cart_test.rb:5"]), ["CartTest#test_passes"]);
    assert_eq!(chosen(&["-e", "with items"]).len(), 2);
    assert_eq!(chosen(&["-e", "/#test_[12]$/"]), ["SortedTest#test_1", "SortedTest#test_2"]);
    assert_eq!(chosen(&["--tag", "~slow", "-e", "OtherTest"]).len(), 1);
    assert_eq!(
        chosen(&["--", "-n", "test_shared"]),
        ["OneTest#test_shared", "TwoTest#test_shared"]
    );
    assert_eq!(chosen(&["--", "-e", "/^test_[^x]/"]), ["OtherTest#test_x"]);
    assert_code(&env.run(&["list", "--", "-e", "/^test/"]), 2);
    let mut shards = [chosen(&["--shard", "1/2"]), chosen(&["--shard", "2/2"])].concat();
    shards.sort();
    assert_eq!(shards, chosen(&[]));
}

#[test]
fn ids_do_not_change_when_tests_are_added_or_moved() {
    let env = with_file(
        "describe('Cart') do\nit('b') { _(1).must_equal 1 }\nit('same') { _(1).must_equal 1 }\nit('same') { flunk }\nend",
    );
    let ids = || -> BTreeMap<String, String> {
        let ran = env.run(&["run", "-w", "2"]);
        assert_code(&ran, 1);
        let recorded = env.recorded();
        let starts = recorded.starts();
        starts
            .iter()
            .map(|(id, start)| {
                let place = start["location"].as_str().unwrap().rsplit(':').next().unwrap();
                (format!("{} {place}", start["description"].as_str().unwrap()), (*id).to_owned())
            })
            .collect()
    };
    let before = ids();
    assert_eq!(before.len(), 3, "examples of one name are told apart: {before:?}");
    env.write(
        "test/cart_test.rb",
        "require \"minitest/autorun\"\ndescribe('Cart') do\nit('new') { _(1).must_equal 1 }\nit('b') { _(1).must_equal 1 }\nit('same') { _(1).must_equal 1 }\nit('same') { flunk }\nend",
    );
    let after = ids();
    let kept: Vec<&String> =
        before.values().filter(|id| after.values().any(|new| new == *id)).collect();
    assert_eq!((after.len(), kept.len()), (4, 3), "{before:?} {after:?}");
}

#[test]
fn a_test_that_another_replaces_is_named() {
    let env = with_tests("def test_a; flunk; end");
    env.write(
        "test/other_test.rb",
        "require \"minitest/autorun\"\nclass CartTest < Minitest::Test\n  def test_a; assert true; end\nend\n",
    );
    let ran = env.run(&["run"]);
    assert_run_printed(
        &ran,
        0,
        "CartTest#test_a is defined twice: the test at ./test/cart_test.rb:3 is replaced by the one at ./test/other_test.rb:3 and never runs",
    );
}

#[test]
fn a_project_may_have_specs_and_tests() {
    let env = with_tests(PASSES);
    env.write("spec/a_spec.rb", "RSpec.describe('A') { it('fails') { expect(1).to eq(2) } }");
    let ran = env.run(&["run", "-w", "2"]);
    assert_run_printed(&ran, 1, "2 examples: 1 passed, 1 failed");
    assert_code(&env.run(&["run", "--suite", "minitest"]), 0);
    assert_code(&env.run(&["run", "--suite", "rspec", "--", "--order", "random"]), 1);
    assert_code(&env.run(&["run", "test"]), 0);
}
