//! Tool servers, tools, command models and HTTP agents with `sandbox:` in a scenario, through the binary: each tries what agents try
//! (`sandboxed_agent.py`), first without the sandbox, where every attempt must succeed.

use crate::env::Ran;
use crate::sandboxed_agents::{ALL, Stage};

/// An agent that calls the tool `escape` and repeats what it answers.
const CALLER: &str = "agent:\n  script:\n    - {when: nothing got out, say: it was held}\n    - {when: got out, say: it got out}\n    \
                      - {when: escape, say: {text: '', call: {tool: escape, arguments: {}}}}\n";
const EXAMPLE: &str =
    "examples: [{it: is held, steps: [{user: escape, expect: [{match: '^it was held$'}]}]}]\n";

fn run(scenario: &str, sandbox: &str) -> (Stage, Ran) {
    let stage = Stage::with_scenario(&scenario.replace("@SANDBOX@", sandbox));
    let ran = stage.env.run(&["run"]);
    (stage, ran)
}

/// Confined it is held; unconfined it reaches everything.
fn assert_held(scenario: &str) {
    let (stage, ran) = run(scenario, "false");
    let said = ran.terminal();
    assert_eq!(ran.code, Some(1), "{said}");
    let recorded = std::fs::read_to_string(stage.env.events_path().unwrap()).unwrap();
    assert!(recorded.contains(&format!("got out: {ALL}")), "{said}");
    assert_eq!(stage.text("other/outside.txt"), "written by the agent");
    stage.env.assert_no_process_left();
    let (stage, ran) = run(scenario, "true");
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    stage.assert_untouched();
}

#[test]
fn a_tool_server_is_held() {
    let server = "mcp: {prison: {command: [python3, agent.py, mcp], sandbox: @SANDBOX@}}\n";
    assert_held(&format!("describe: A server\n{CALLER}{server}{EXAMPLE}"));
}

#[test]
fn a_tool_is_held() {
    let tool = "tools: {escape: {command: [python3, agent.py, tool], sandbox: @SANDBOX@, description: Tries, parameters: {type: object}}}\n";
    assert_held(&format!("describe: A tool\n{CALLER}{tool}{EXAMPLE}"));
}

#[test]
fn a_command_model_is_held() {
    assert_held(
        "describe: A model\n\
         agent: {script: [{when: nothing got out, say: it was held}, {when: got out, say: it got out}]}\n\
         models:\n  simulator: {command: [python3, agent.py, model], sandbox: @SANDBOX@}\n  \
         judge: {verdicts: [{about: goal, satisfied: false, because: not yet}]}\n\
         examples:\n  - it: is held\n    steps:\n      - simulate: {goal: get out, max_turns: 1, on_max_turns: fine}\n        \
         expect: [{match: '^it was held$'}]\n",
    );
}

/// A server has this machine's network, since it is reached over it, and nothing else.
#[test]
fn an_http_agent_is_held_but_for_its_network() {
    let scenario = "describe: A server\n\
        agent:\n  command: [python3, agent.py, http, \"${port}\"]\n  ready: {url: /, within: 60s}\n  sandbox: @SANDBOX@\n  \
        http: {url: \"http://127.0.0.1:${port}/chat\", body: {message: \"${message}\"}, text: /reply}\n\
        examples: [{it: is held, steps: [{user: escape, expect: [{match: '^got out: connect to loopback$'}]}]}]\n";
    let (stage, ran) = run(scenario, "false");
    let said = ran.terminal();
    assert_eq!(ran.code, Some(1), "{said}");
    let recorded = std::fs::read_to_string(stage.env.events_path().unwrap()).unwrap();
    assert!(recorded.contains(&format!("got out: {ALL}")), "{said}");
    stage.env.assert_no_process_left();
    let (stage, ran) = run(scenario, "true");
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    stage.assert_untouched();
}
