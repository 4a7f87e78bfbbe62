//! Whole terminals, as a user sees them: what is printed, in which order, and the exit code.
//!
//! Times, ids and paths of the machine are replaced (`TestEnv::screen`). `cargo insta test -p proctor --accept` writes the snapshots anew; read the difference
//! as the user would.

use insta::assert_snapshot;

use crate::env::TestEnv;

const AGENT: &str = "agent: {script: [{when: hello, say: Hello! How can I help?}, {say: Done.}]}\n";

fn scenario(examples: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "greeting.scenario.yaml",
        &format!("describe: Greeting\n{AGENT}examples:\n{examples}"),
    );
    env
}

const PASSES: &str = "  - it: greets\n    steps: [{user: hello, expect: [{match: Hello}]}]\n";
const FAILS: &str =
    "  - it: asks for the name\n    steps: [{user: hello, expect: [{match: name}]}]\n";

#[test]
fn a_run_that_passes() {
    let env = scenario(PASSES);
    assert_snapshot!(env.screen(&["run", "--ui", "grouped"]), @"");
}

#[test]
fn a_run_that_fails() {
    let env = scenario(&format!("{PASSES}{FAILS}"));
    assert_snapshot!(env.screen(&["run", "--ui", "grouped", "--concurrency", "1"]), @"");
}

#[test]
fn an_rspec_run_with_every_kind_of_result() {
    let env = TestEnv::with_spec(
        "RSpec.describe('Cart') do
  it('adds up') { expect(1 + 1).to eq(2) }
  it('is empty') { expect([1]).to be_empty }
  it('waits for the bank') { skip 'later' }
  it('ends its process') { exit!(3) }
end
",
    );
    assert_snapshot!(env.screen(&["run", "--ui", "grouped", "-w", "1", "--schedule", "listed"]), @"");
}

#[test]
fn a_file_that_does_not_load() {
    let env = TestEnv::with_spec("RSpec.describe('Cart' do\n");
    assert_snapshot!(env.screen(&["run", "--ui", "grouped"]), @"");
}

#[test]
fn a_scenario_with_mistakes() {
    let env = scenario(
        "  - it: greets\n    step: [{user: hello}]\n  - it: waits\n    steps: [{user: hello, expect: [{mach: Hello}]}]\n",
    );
    assert_snapshot!(env.screen(&["run"]), @"");
}

#[test]
fn nothing_to_run() {
    assert_snapshot!(TestEnv::new().screen(&["run"]), @"");
}

#[test]
fn runs_and_one_of_them() {
    let env = scenario(&format!("{PASSES}{FAILS}"));
    assert_eq!(env.run(&["run", "--concurrency", "1"]).code, Some(1));
    assert_snapshot!(env.screen(&["runs"]), @"");
    assert_snapshot!(env.screen(&["show"]), @"");
    assert_snapshot!(env.screen(&["validate", "last"]), @"");
}

#[test]
fn a_comparison_that_found_a_regression() {
    let env = scenario(PASSES);
    assert_eq!(env.run(&["run"]).code, Some(0));
    let text = env.read("greeting.scenario.yaml").replace("Hello! How", "Good day! How");
    env.write("greeting.scenario.yaml", &text);
    assert_eq!(env.run(&["run"]).code, Some(1));
    assert_snapshot!(env.screen(&["compare", "last~1", "last", "--gate"]), @"");
}

#[test]
fn words_that_are_not_known() {
    let env = TestEnv::new();
    assert_snapshot!(env.screen(&["rnu"]), @"");
    assert_snapshot!(env.screen(&["run", "--wrkers", "2"]), @"");
    assert_snapshot!(env.screen(&["show", "nothing"]), @"");
    assert_snapshot!(env.screen(&["run", "no/such/file_spec.rb"]), @"");
}

#[test]
fn a_configuration_with_a_mistake() {
    let env = TestEnv::new();
    env.write("proctor.toml", "[run]\nworkrs = 2\n");
    assert_snapshot!(env.screen(&["run"]), @"");
}

#[test]
fn an_entry_of_the_journal_from_start_to_end() {
    let env = TestEnv::new();
    let create = [
        "journal",
        "create",
        "--goal",
        "fix the cart",
        "--hypothesis",
        "the sum is rounded twice",
        "--action",
        "round once",
        "--prediction",
        "the spec passes",
        "--domain",
        "debugging",
        "--strategy",
        "read-the-error",
    ];
    assert_snapshot!(env.screen(&create), @"");
    assert_snapshot!(env.screen(&["journal", "resolve", "--status", "confirmed", "--result", "it passes"]), @"");
    assert_snapshot!(env.screen(&["journal", "list"]), @"");
}
