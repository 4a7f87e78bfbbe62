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
    assert_snapshot!(env.screen(&["run", "--ui", "grouped"]), @"
    --- stdout
    ▶ 1 example
    ▼ Greeting
      ✓ greets  [TIME]
          User: hello
          Agent: Hello! How can I help?

    1 example: 1 passed, finished in [TIME] (load [TIME])
    --- exit 0
    ");
}

#[test]
fn a_run_that_fails() {
    let env = scenario(&format!("{PASSES}{FAILS}"));
    assert_snapshot!(env.screen(&["run", "--ui", "grouped", "--concurrency", "1"]), @r#"
    --- stdout
    ▶ 2 examples
    ▼ Greeting
      ✓ greets  [TIME]
          User: hello
          Agent: Hello! How can I help?
      ✗ asks for the name  failed · [TIME]
          User: hello
          Agent: Hello! How can I help?
          ✗ turn 1: expected to match /name/, but the agent said "Hello! How can I help?"
          ./greeting.scenario.yaml:7

    Failures:

      1) Greeting > asks for the name
         ./greeting.scenario.yaml:6 · failed (fault: agent) · [TIME]
           turn 1: expected to match /name/, but the agent said "Hello! How can I help?"
         # ./greeting.scenario.yaml:7
         turn 1
           User   hello
           Agent  Hello! How can I help?

    Re-run:

      proctor run ./greeting.scenario.yaml:6  # Greeting > asks for the name

    2 examples: 1 passed, 1 failed, finished in [TIME] (load [TIME])
    --- exit 1
    "#);
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
    assert_snapshot!(env.screen(&["run", "--ui", "grouped", "-w", "1", "--schedule", "listed"]), @"
    --- stdout
    ▶ 4 examples, 1 worker
    ▼ Cart
      ✓ adds up  [TIME]
      ✗ is empty  failed · [TIME]
          expected `[1].empty?` to be truthy, got false
          ./spec/a_spec.rb:3:in `block (2 levels) in <top (required)>'
      ⏸ waits for the bank  pending: later · [TIME]
    [0] worker exited with 3
    ▼ Cart
      ✗ ends its process  crashed · [TIME]
          worker 0 exited with status 3

    Failures:

      1) Cart > is empty
         ./spec/a_spec.rb:3 · failed · [TIME] · worker 0
         Failure/Error: it('is empty') { expect([1]).to be_empty }
           expected `[1].empty?` to be truthy, got false
         # ./spec/a_spec.rb:3:in `block (2 levels) in <top (required)>'

      2) Cart > ends its process
         ./spec/a_spec.rb:5 · crashed · exit status 3 · [TIME] · worker 0
         worker 0 exited with status 3

    Pending:

      Cart > waits for the bank: later  ./spec/a_spec.rb:4

    Re-run:

      proctor run ./spec/a_spec.rb:3  # Cart > is empty
      proctor run ./spec/a_spec.rb:5  # Cart > ends its process

    4 examples: 1 passed, 1 failed, 1 crashed, 1 pending, finished in [TIME] (load [TIME]), 1 worker
    --- exit 1
    ");
}

#[test]
fn a_file_that_does_not_load() {
    let env = TestEnv::with_spec("RSpec.describe('Cart' do\n");
    let screen = env.screen(&["run", "--ui", "grouped"]);
    // The backtrace leads through RSpec and our library: where they are depends on the machine.
    let stable: Vec<&str> =
        screen.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    assert_snapshot!(stable.join("\n"), @"
    --- stdout
    ▶ 0 examples, 4 workers
    ✗ error (load): [HOME]/project/spec/a_spec.rb:1: syntax error, unexpected `do', expecting ')'

    Errors outside examples:

      1) load ./spec/a_spec.rb
         Failure/Error: __send__(method, file)

         SyntaxError:
           [HOME]/project/spec/a_spec.rb:1: syntax error, unexpected `do', expecting ')'
           RSpec.describe('Cart' do
                                 ^~

    0 examples: 1 error outside examples, finished in [TIME] (load [TIME]), did not load, 4 workers
    --- stderr
    warning: No examples found.
    --- exit 2
    ");
}

#[test]
fn a_scenario_with_mistakes() {
    let env = scenario(
        "  - it: greets\n    step: [{user: hello}]\n  - it: waits\n    steps: [{user: hello, expect: [{mach: Hello}]}]\n",
    );
    assert_snapshot!(env.screen(&["run"]), @"
    --- stdout
    ▶ 0 examples
    ✗ error (load): `greets` has no `steps`
    ✗ error (load): unknown key `step`
    ✗ error (load): unknown word `mach`

    Errors outside examples:

      1) load ./greeting.scenario.yaml:4:5
         `greets` has no `steps`
          4 |   - it: greets
            |     ^
            hint: add `- user: …` or `- simulate: …`, or `pending: reason`

      2) load ./greeting.scenario.yaml:5:5
         unknown key `step`
          5 |     step: [{user: hello}]
            |     ^
            hint: did you mean `steps`?

      3) load ./greeting.scenario.yaml:7:37
         unknown word `mach`
          7 |     steps: [{user: hello, expect: [{mach: Hello}]}]
            |                                     ^
            hint: did you mean `match`?

    0 examples: 3 errors outside examples, finished in [TIME] (load [TIME]), did not load
    --- exit 2
    ");
}

#[test]
fn nothing_to_run() {
    assert_snapshot!(TestEnv::new().screen(&["run"]), @"
    --- stderr
    error: there is nothing to run in [HOME]/project: no `spec` folder, no tests in `test`, no `*.scenario.yaml` or `*.workspace.yaml` file, no suite in proctor.toml
     hint: name files or folders, or see `proctor doctor`
    --- exit 2
    ");
}

#[test]
fn runs_and_one_of_them() {
    let env = scenario(&format!("{PASSES}{FAILS}"));
    assert_eq!(env.run(&["run", "--concurrency", "1"]).code, Some(1));
    assert_snapshot!(env.screen(&["runs"]), @"
    --- stdout
    [RUN]  [DATE]  failed  1 passed, 1 failed  [TIME]  run --concurrency 1
    --- exit 0
    ");
    assert_snapshot!(env.screen(&["show"]), @r#"
    --- stdout
    run [RUN] · [DATE] · failed · took [TIME]
    2 examples: 1 passed, 1 failed

    ✓ Greeting > greets  [TIME] · ./greeting.scenario.yaml:4
    ✗ Greeting > asks for the name  failed (fault: agent) · [TIME] · ./greeting.scenario.yaml:6
        turn 1
          User   hello
          Agent  Hello! How can I help?
        ✗ match /name/  pattern · turn 1
            turn 1: expected to match /name/, but the agent said "Hello! How can I help?"
        ExpectationFailed:
          turn 1: expected to match /name/, but the agent said "Hello! How can I help?"
          at ./greeting.scenario.yaml:7
    --- exit 0
    "#);
    assert_snapshot!(env.screen(&["validate", "last"]), @"
    --- stdout
    14 events in 1 run: complete, digest matches
    --- exit 0
    ");
}

#[test]
fn a_comparison_that_found_a_regression() {
    let env = scenario(PASSES);
    assert_eq!(env.run(&["run"]).code, Some(0));
    let text = env.read("greeting.scenario.yaml").replace("Hello! How", "Good day! How");
    env.write("greeting.scenario.yaml", &text);
    assert_eq!(env.run(&["run"]).code, Some(1));
    assert_snapshot!(env.screen(&["compare", "last~1", "last", "--gate"]), @"
    --- stdout
    before  last~1, run [RUN], [DATE], 1 example
    after   last, run [RUN], [DATE], 1 example

    Regression (1)
      ✗ Greeting > greets  1/1 → 0/1
          passed before, fails now; the agent's answers are scripted

    Criteria
      ? match /Hello/  1/1 → 0/1

    Duration: [TIME] → [TIME], typically × [FACTOR]; how much runs vary is known from three earlier runs on
    Suite: 100.0 % → 0.0 %, −100 points (−100 to −100); 1 pass less often, 0 more often (exact stratified test: worse p = 0.500, better p = 1.000): cannot tell
    ✗ regression: 1 regression, 0 improvements, 0 cannot be told, 0 without a change
    Gate: stop (exit code 1): 1 example got worse
    --- exit 1
    ");
}

#[test]
fn words_that_are_not_known() {
    let env = TestEnv::new();
    assert_snapshot!(env.screen(&["rnu"]), @"
    --- stderr
    error: unrecognized subcommand 'rnu'

      tip: a similar subcommand exists: 'runs'

    Usage: proctor [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(env.screen(&["run", "--wrkers", "2"]), @"
    --- stderr
    error: unexpected argument '--wrkers' found

      tip: a similar argument exists: '--workers'
      tip: to pass '--wrkers' as a value, use '-- --wrkers'

    Usage: proctor run --workers <N> [PATH]... [-- <OPTION>...]

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(env.screen(&["show", "nothing"]), @"
    --- stderr
    error: no recording `nothing`: not a file, not a run id, not a tag, not `last`; there are no runs here yet
    --- exit 2
    ");
    assert_snapshot!(env.screen(&["run", "no/such/file_spec.rb"]), @"
    --- stderr
    error: there is no file or folder `no/such/file_spec.rb`
     hint: paths are meant as seen from here, or from the project's root; `proctor list` shows what there is
    --- exit 2
    ");
}

#[test]
fn a_configuration_with_a_mistake() {
    let env = TestEnv::new();
    env.write("proctor.toml", "[run]\nworkrs = 2\n");
    assert_snapshot!(env.screen(&["run"]), @"
    --- stderr
    warning: [HOME]/project/proctor.toml: unknown key `run.workrs`; did you mean `workers`?
    error: there is nothing to run in [HOME]/project: no `spec` folder, no tests in `test`, no `*.scenario.yaml` or `*.workspace.yaml` file, no suite in proctor.toml
     hint: name files or folders, or see `proctor doctor`
    --- exit 2
    ");
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
    assert_snapshot!(env.screen(&create), @"
    --- stdout
    created [ENTRY]
    --- exit 0
    ");
    assert_snapshot!(env.screen(&["journal", "resolve", "confirmed", "--result", "it passes"]), @"
    --- stdout
    confirmed [ENTRY] (iteration 1, silver)
    --- exit 0
    ");
    assert_snapshot!(env.screen(&["journal", "list"]), @"
    --- stdout
    1 entry

    id                           created           status     tier    n  domain     lane  goal
    [ENTRY]  [DATE]  confirmed  silver  1  debugging  –     fix the cart
    --- exit 0
    ");
}
