//! Programs beside workers and agents: commands of models, tools and checks, tool servers, listings. They end with the proctor that
//! started them, together with what they started, however it ends.

use rustix::process::Signal;

use crate::env::{TestEnv, signal, wait_until};

/// Starts a process that leaves its group, says that it stands, and stays.
const STAY: &str =
    "setsid sleep 600 &\necho > standing.part\nmv standing.part standing\nsleep 600\n";

const AGENT: &str = "agent:\n  script:\n    - {when: Hello, say: {text: \"\", call: {tool: search, arguments: {}}}}\n    - {say: Done, then: repeat}\n";

/// Runs the command until it stands, kills it, and expects nothing to be left.
fn killed_while_standing(env: &TestEnv, what: &str, arguments: &[&str]) {
    let mut child = env.spawn(arguments);
    wait_until(what, || env.project.join("standing").exists());
    // Proctor, the guard, the shell and its two children.
    wait_until(what, || env.processes().len() >= 5);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    env.assert_no_process_left();
}

#[test]
fn programs_of_conversations_end_with_a_killed_proctor() {
    for (what, parts, check) in [
        ("a tool that is a command", "tools: {search: {command: [sh, stay.sh]}}", "{match: x}"),
        ("a tool server", "mcp: {s: {command: [sh, stay.sh]}}", "{match: x}"),
        ("a check", "tools: {search: {result: 1}}", "{command: [sh, stay.sh]}"),
        (
            "a judge that is a command",
            "tools: {search: {result: 1}}\nmodels: {judge: {command: [sh, stay.sh]}}",
            "{satisfy: Is polite}",
        ),
    ] {
        let env = TestEnv::new();
        env.write("stay.sh", STAY);
        let example =
            format!("examples: [{{it: stays, steps: [{{user: Hello, expect: [{check}]}}]}}]");
        env.write("a.scenario.yaml", &format!("describe: A\n{AGENT}{parts}\n{example}\n"));
        killed_while_standing(&env, what, &["run", "a.scenario.yaml"]);
    }
}

#[test]
fn a_listing_for_agents_ends_with_a_killed_proctor() {
    let env = TestEnv::with_spec("system('sh stay.sh')\n");
    env.write("stay.sh", STAY);
    killed_while_standing(&env, "a listing", &["tool", "list_examples", "{}"]);
}
