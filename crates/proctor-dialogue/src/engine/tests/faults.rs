//! Whose fault it was. A broken model never counts against the agent.

use serde_json::json;

use super::driver::{Driver, answer, call, example, judge, steps};
use crate::engine::{AgentAnswer, Effect, Engine, Input, MAX_TOOL_ROUNDS, RequestId};

fn judged() -> serde_json::Value {
    json!([{"user": "Hi", "expect": [{"satisfy": "It is polite"}]}])
}

#[test]
fn an_unusable_judge_is_asked_again_and_then_inconclusive() {
    let ran = Driver::answering(&["Hello"])
        .judged(Box::new(|_| Ok("satisfied: true, pass, passed!".into())))
        .run(steps(&judged()));
    assert_eq!(ran.status(), "inconclusive (judge)");
    assert_eq!(ran.judge_requests.len(), 3);
    assert_eq!(ran.of_type("JudgeError").len(), 1);
    assert_eq!(ran.of_type("EvaluationRecorded")[0].get("passed"), None);
    assert!(ran.message().contains("asked 3 times"), "{}", ran.message());
}

#[test]
fn a_usable_second_answer_counts() {
    let mut first = true;
    let mut good = judge(true);
    let ran =
        Driver::answering(&["Hello"])
            .judged(Box::new(move |request| {
                if std::mem::take(&mut first) { Ok("hm".into()) } else { good(request) }
            }))
            .run(steps(&judged()));
    assert_eq!(ran.status(), "passed");
    assert!(ran.of_type("JudgeError").is_empty());
}

#[test]
fn an_unreachable_judge_is_inconclusive_but_a_seen_failure_stays_one() {
    let down = || -> super::driver::Judge { Box::new(|_| Err("connection refused".into())) };
    let ran = Driver::answering(&["Hello"]).judged(down()).run(steps(&judged()));
    assert_eq!(ran.status(), "inconclusive (judge)");
    let both = json!([{"user": "Hi", "expect": [{"satisfy": "It is polite"}, {"match": "bye"}]}]);
    let ran = Driver::answering(&["Hello"]).judged(down()).run(steps(&both));
    assert_eq!(ran.status(), "failed (agent)");
}

#[test]
fn an_agent_that_breaks_is_errored() {
    let agent = [Err("HTTP 503 from http://localhost".to_owned())].into();
    let driver = Driver { agent, ..Driver::default() };
    let ran = driver.run(steps(&json!([{"user": "Hi"}, {"user": "there"}])));
    assert_eq!(ran.status(), "errored (agent)");
    assert_eq!(ran.message(), "turn 1: HTTP 503 from http://localhost");
    assert_eq!(ran.of_type("AgentError")[0]["turn_number"], 1);
}

#[test]
fn too_many_rounds_of_tools_are_the_agents_fault() {
    let pending_request = || AgentAnswer {
        pending_tool_calls: vec![call("again", json!({}))],
        ..AgentAnswer::default()
    };
    let ran = Driver::with_agent((0..20).map(|_| pending_request()).collect())
        .run(steps(&json!([{"user": "Hi"}])));
    assert_eq!(ran.status(), "errored (agent)");
    assert_eq!(ran.of_type("ToolCallStarted").len(), MAX_TOOL_ROUNDS as usize);
    let fine = Driver::with_agent((0..8).map(|_| pending_request()).collect()).run(steps(
        &json!([{"user": "Hi", "expect": [{"call_tool": {"name": "again", "times": 8}}]}]),
    ));
    assert_eq!(fine.status(), "passed");
}

#[test]
fn a_tool_that_says_no_is_told_and_one_that_breaks_is_errored() {
    let pending_request =
        || AgentAnswer { pending_tool_calls: vec![call("book", json!({}))], ..answer("") };
    let mut driver = Driver::with_agent(vec![pending_request(), answer("Sorry")]);
    driver.tool = Ok(Err("fully booked".into()));
    let ran = driver.run(steps(&json!([{"user": "Hi", "expect": [{"match": "Sorry"}]}])));
    assert_eq!(ran.status(), "passed");
    assert_eq!(ran.agent_calls[1][2]["content"], "error: fully booked");
    let mut driver = Driver::with_agent(vec![pending_request()]);
    driver.tool = Err("no such server".into());
    let ran = driver.run(steps(&json!([{"user": "Hi"}])));
    assert_eq!(ran.status(), "errored (tool)");
    assert_eq!(ran.of_type("ToolCallCompleted")[0]["error"], "no such server");
}

#[test]
fn a_broken_expression_is_the_harness() {
    let ran = Driver::answering(&["Hello"])
        .run(steps(&json!([{"user": "Hi", "expect": [{"expression": "turns[7].agent == ''"}]}])));
    assert_eq!(ran.status(), "errored (harness)");
}

#[test]
fn a_pending_example_is_finished_at_once() {
    let ran = Driver::default().run(example("examples: [{it: x, pending: not yet}]"));
    assert_eq!(ran.status(), "pending");
    assert_eq!(ran.message(), "not yet");
    assert!(ran.events.is_empty());
}

#[test]
fn cancelling_ends_it_and_late_answers_do_nothing() {
    let mut engine = Engine::new(steps(&json!([{"user": "Hi"}])));
    let effects = engine.step(Input::Begin { marks: crate::MarkKey::new([1; 32]) });
    let Some(Effect::CallAgent { id, .. }) = effects.last() else { panic!("{effects:?}") };
    assert!(
        engine
            .step(Input::AgentFailed { id: RequestId(99), class: None, message: "x".into() })
            .is_empty()
    );
    assert!(engine.step(Input::Begin { marks: crate::MarkKey::new([2; 32]) }).is_empty());
    let effects = engine.step(Input::Cancel);
    let [Effect::Finish(verdict)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(verdict.status.as_str(), "cancelled");
    assert!(engine.step(Input::AgentAnswered { id: *id, answer: answer("late") }).is_empty());
}
