//! Checks on what an agent did not report are errored, whatever they demand.

use std::sync::Arc;

use serde_json::{Value, json};

use super::driver::{Driver, Ran, answer, call, done, example};
use crate::capabilities::AgentReports;
use crate::engine::AgentAnswer;
use crate::format::AgentFields;

const HTTP: &str = r#"{"http": {"url": "u"}}"#;
const COMMAND: &str = r#"{"command": ["a"]}"#;

fn run(agent: &str, yaml: &str, answers: Vec<AgentAnswer>) -> Ran {
    let example = example(yaml);
    let fields: AgentFields = serde_json::from_str(agent).unwrap();
    let reports = Arc::new(AgentReports::of("shop", &fields, &example.parties));
    Driver { reports, ..Driver::with_agent(answers) }.run(example)
}

fn checked(agent: &str, assertion: &Value, answers: Vec<AgentAnswer>) -> Ran {
    let steps = json!([{"user": "Hi", "expect": [assertion]}]);
    run(agent, &format!("examples: [{{it: works, steps: {steps}}}]\n"), answers)
}

fn listed(text: &str) -> AgentAnswer {
    AgentAnswer { calls_listed: true, ..answer(text) }
}

/// V1: the agent refunds and says nothing of it.
#[test]
fn v1_tool_checks_on_an_agent_that_reports_no_calls_are_errored() {
    for assertion in [
        json!({"call_tool": "refund"}),
        json!({"not": {"call_tool": "refund"}}),
        json!({"called_tool": "refund"}),
        json!({"not": {"called_tool": {"name": "refund", "with": {"order": 7}}}}),
        json!({"call_tool": {"name": "refund", "times": 0}}),
        json!({"not": {"call_tool": {"name": "refund", "times": 1}}}),
        json!({"tool_order": ["search", "refund"]}),
        json!({"not": {"tool_order": ["search", "refund"]}}),
        json!({"grounded": {}}),
        json!({"not": {"grounded": {"from_tools": ["refund"]}}}),
        json!({"expression": "size(tool_calls) == 0"}),
        json!({"expression": "!tool_calls.exists(c, c.name == 'refund')"}),
        json!({"expression": "turns.all(t, t.tool_calls.all(c, c.name != 'refund'))"}),
        json!({"not": {"expression": "'refund' in turn.tool_calls"}}),
        json!({"expression": "tool_calls == []"}),
        json!({"not": {"expression": "turn.tool_calls == []"}}),
        json!({"expression": "turns[0].tool_calls != ['refund']"}),
    ] {
        for agent in [HTTP, COMMAND] {
            let ran = checked(agent, &assertion, vec![answer("Refunded.")]);
            assert_eq!(ran.status(), "errored (harness)", "{agent} {assertion}: {}", ran.message());
            let how_to_report_calls =
                if agent == HTTP { "add `made_calls: /pointer`" } else { "`\"tool_calls\": []`" };
            assert!(ran.message().contains(how_to_report_calls), "{assertion}: {}", ran.message());
        }
    }
}

#[test]
fn v1_checks_that_need_no_calls_are_decided_all_the_same() {
    for assertion in [
        json!({"match": "Refunded"}),
        json!({"expression": "turn_count == 1 || size(tool_calls) == 0"}),
        json!({"satisfy": "The agent is polite"}),
    ] {
        let ran = checked(HTTP, &assertion, vec![answer("Refunded.")]);
        assert_eq!(ran.status(), "passed", "{assertion}: {}", ran.message());
    }
}

/// A list of calls, be it empty, is evidence; a call that was seen is too.
#[test]
fn v1_a_program_says_with_each_answer_whether_it_lists_calls() {
    let not_called = json!({"not": {"call_tool": "refund"}});
    assert_eq!(checked(COMMAND, &not_called, vec![listed("Hi")]).status(), "passed");
    let made =
        AgentAnswer { tool_calls: vec![done("refund", json!({}), json!(1))], ..listed("Hi") };
    assert_eq!(checked(COMMAND, &not_called, vec![made.clone()]).status(), "failed (agent)");
    let yaml =
        "examples: [{it: works, steps: [{user: a}, {user: b}], expect: [{called_tool: refund}]}]";
    let ran = run(COMMAND, yaml, vec![made, answer("b")]);
    assert_eq!(ran.status(), "passed", "it was seen: {}", ran.message());
    let events = ran.of_type("AgentResponse");
    assert_eq!(
        (&events[0]["calls_listed"], &events[1]["calls_listed"]),
        (&Value::Null, &json!(false))
    );
    let yaml = "examples: [{it: works, steps: [{user: a}, {user: b}], expect: [{not: {called_tool: refund}}]}]";
    let ran = run(COMMAND, yaml, vec![listed("a"), answer("b")]);
    assert_eq!(ran.status(), "errored (harness)", "{}", ran.message());
}

#[test]
fn v1_without_tools_not_called_is_a_fact_and_a_call_is_an_error_of_the_agent() {
    let example = |check: &str| {
        format!("tools: none\nexamples: [{{it: works, steps: [{{user: a, expect: [{check}]}}]}}]\n")
    };
    let not_called = example("{not: {call_tool: refund}}");
    assert_eq!(run(HTTP, &not_called, vec![answer("Hi")]).status(), "passed");
    let called = example("{call_tool: refund}");
    assert_eq!(run(HTTP, &called, vec![answer("Hi")]).status(), "failed (agent)");
    let made =
        AgentAnswer { tool_calls: vec![done("refund", json!({}), json!(1))], ..listed("Hi") };
    let asked = AgentAnswer { pending_tool_calls: vec![call("refund", json!({}))], ..answer("") };
    for reported in [made, asked] {
        let ran = run(COMMAND, &not_called, vec![reported]);
        assert_eq!(ran.status(), "errored (agent)", "{}", ran.message());
        assert!(ran.message().contains("`tools: none`"), "{}", ran.message());
    }
}

#[test]
fn v1_triggers_and_stop_rules_on_calls_that_are_not_reported_are_errored() {
    let topics = "topics: {a: {next: b}, b: {triggers: [{call_tool: refund}]}}\nexamples: [{it: works, steps: [{user: a}], expect: [{not: {reached_topic: b}}]}]\n";
    let ran = run(HTTP, topics, vec![answer("Hi")]);
    assert_eq!(ran.status(), "errored (harness)", "{}", ran.message());
    assert!(ran.message().contains("made_calls"), "{}", ran.message());
    let condition = topics.replace("call_tool: refund", "condition: size(tool_calls) > 0");
    assert_eq!(run(HTTP, &condition, vec![answer("Hi")]).status(), "errored (harness)");
    let stop = "examples: [{it: works, steps: [{simulate: {goal: g, max_turns: 2, on_max_turns: fine, stop_when: [{call_tool: refund}]}}]}]\n";
    let ran = run(HTTP, stop, vec![answer("Hi"), answer("Ho")]);
    assert_eq!(ran.status(), "errored (harness)", "{}", ran.message());
}

/// Soft checks stay without a verdict; they decide nothing.
#[test]
fn v1_soft_checks_on_what_is_not_reported_have_no_verdict() {
    let steps = json!([{"user": "Hi", "evaluate": [{"not": {"call_tool": "refund"}}]}]);
    let ran =
        run(HTTP, &format!("examples: [{{it: works, steps: {steps}}}]\n"), vec![answer("Hi")]);
    assert_eq!(ran.status(), "passed", "{}", ran.message());
    assert_eq!(ran.of_type("EvaluationRecorded")[0]["passed"], Value::Null);
}

#[test]
fn calls_without_results_cannot_ground_anything() {
    let grounded = json!({"grounded": {"claims": ["prices"]}});
    let made = |done| AgentAnswer { tool_calls: vec![done], ..listed("It costs 5") };
    let bare = crate::transcript::DoneCall { result: None, ..done("price", json!({}), json!(1)) };
    let ran = checked(COMMAND, &grounded, vec![made(bare)]);
    assert_eq!(ran.status(), "errored (harness)", "{}", ran.message());
    assert!(ran.message().contains("without its result"), "{}", ran.message());
    let ran = checked(COMMAND, &grounded, vec![made(done("price", json!({}), json!(5)))]);
    assert_eq!(ran.status(), "passed", "{}", ran.message());
}
