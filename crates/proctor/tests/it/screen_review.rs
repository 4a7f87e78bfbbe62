//! The screen of a run on a real terminal: rows of conversations, and the failures after the end.

use crate::env::{TestEnv, wait_until};
use crate::tmux::Session;

const AGENT: &str =
    "agent: {script: [{when: hello, say: Hello! How can I help?}, {say: I do not know.}]}\n";
const PASSES: &str = "  - it: greets\n    steps: [{user: hello, expect: [{match: Hello}]}]\n";
const FAILS: &str =
    "  - it: asks for the name\n    steps: [{user: hello, expect: [{match: name}]}]\n";

fn project(examples: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("a.scenario.yaml", &format!("describe: Greeting\n{AGENT}examples:\n{examples}"));
    env
}

/// Runs `proctor` in the project, on a terminal that nobody takes for that of a coding agent or of CI.
fn terminal(env: &TestEnv, arguments: &str) -> Session {
    let command = env.command();
    let (program, folder) = (command.get_program().display(), command.get_current_dir().unwrap());
    let session = Session::start(&format!(
        "cd '{}' && env -i PATH=\"$PATH\" TERM=\"$TERM\" HOME='{}' '{program}' {arguments}",
        folder.display(),
        env.home().display(),
    ));
    session.expect("tmux is installed by ./check")
}

#[test]
fn what_failed_is_walked_through_and_run_again() {
    let env = project(&format!("{PASSES}{FAILS}"));
    let session = terminal(&env, "run --junit report.xml");
    session.wait_for("─ 1 failure ");
    session.wait_for("x X run again");
    assert!(session.is_full_screen());
    // The run is finished: its report is there, and another command sees its verdict.
    assert!(env.read("report.xml").contains("failures=\"1\""));
    assert!(env.run(&["runs"]).stdout.contains("failed"), "{}", env.run(&["runs"]).terminal());
    session.press(&["]"]);
    session.wait_for("run again: proctor run ./a.scenario.yaml:");
    session.press(&["x"]);
    // The second run has one example only.
    session.wait_for("1/1  100 %");
    session.wait_for("─ 1 failure ");
    session.press(&["q"]);
    session.press(&["q"]);
    session.wait_for("ended with 1");
    session.wait_for("1 example: 1 failed");
    session.expect_restored_and_end();
    let listed = env.run(&["runs"]).stdout;
    assert_eq!(listed.lines().filter(|line| line.contains("failed")).count(), 2, "{listed}");
}

#[test]
fn a_run_that_passed_gives_the_prompt_back() {
    let env = project(PASSES);
    let session = terminal(&env, "run");
    session.wait_for("ended with 0");
    session.wait_for("1 example: 1 passed");
    session.expect_restored_and_end();
}

#[test]
fn who_asked_for_the_screen_may_look_around_in_a_run_that_passed() {
    let env = project(PASSES);
    let session = terminal(&env, "run --ui interactive --junit report.xml");
    // The report is written between the screen of the run and the one that stays.
    wait_until("a report", || env.project.join("report.xml").exists());
    wait_until("the screen", || session.is_full_screen());
    session.wait_for("─ 1 conversation · 1 done ");
    session.press(&["Enter"]);
    session.wait_for("Agent  Hello! How can I help?");
    session.press(&["Escape"]);
    session.wait_for("─ 1 conversation · 1 done ");
    session.press(&["q"]);
    session.wait_for("ended with 0");
    session.expect_restored_and_end();
}

/// A terminal that is closed must not leave a process behind that looks for keys for ever.
#[test]
fn a_terminal_that_is_closed_ends_the_walk() {
    let env = project(FAILS);
    let session = terminal(&env, "run");
    session.wait_for("x X run again");
    drop(session);
    wait_until("the end of the process", || env.processes().is_empty());
}
