//! Why simulations end, and what that means.

use serde_json::{Value, json};

use super::driver::{Driver, Ran, answer, done, example, judge, judge_says, steps};
use crate::engine::AgentAnswer;

#[expect(clippy::needless_pass_by_value, reason = "literals read better at the call")]
fn simulate(settings: Value, driver: Driver) -> Ran {
    driver.run(steps(&json!([{"simulate": settings}])))
}

#[test]
fn the_goal_is_reached() {
    let ran = simulate(
        json!({"goal": "a venue", "max_turns": 5}),
        Driver::default().judged(judge_says(&[false, true])),
    );
    assert_eq!((ran.status().as_str(), ran.reason()), ("passed", "goal_reached"));
    assert_eq!(ran.of_type("SimulationEnded")[0]["turn_count"], 2);
    assert_eq!(ran.of_type("EvaluationRecorded").len(), 1);
}

#[test]
fn stop_rules_are_asked_in_their_written_order() {
    let settings = |rules: Value| json!({"goal": "g", "max_turns": 3, "stop_when": rules});
    let bye = || Driver::answering(&["bye"]).judged(judge(true));
    let first = simulate(settings(json!([{"response": "bye"}, "goal_reached"])), bye());
    assert_eq!((first.reason(), first.judge_requests.len()), ("stop_condition", 0));
    let second = simulate(settings(json!(["goal_reached", {"response": "bye"}])), bye());
    assert_eq!((second.reason(), second.judge_requests.len()), ("goal_reached", 1));
    let denied = simulate(
        settings(json!(["goal_reached", {"response": "bye"}])),
        Driver::answering(&["bye"]).judged(judge(false)),
    );
    assert_eq!((denied.reason(), denied.status().as_str()), ("stop_condition", "passed"));
}

#[test]
fn each_kind_of_stop_rule() {
    for rule in [
        json!({"response": "^Booked"}),
        json!({"user": "thanks"}),
        json!({"call_tool": {"name": "book", "with": {"n": 1}}}),
        json!({"condition": "turn_count >= 2"}),
    ] {
        let driver = Driver::with_agent(vec![
            answer("Where?"),
            AgentAnswer {
                tool_calls: vec![done("book", json!({"n": 1}), json!(1))],
                ..answer("Booked")
            },
        ])
        .saying(&["Hello", "thanks"]);
        let ran = simulate(json!({"goal": "g", "stop_when": [rule]}), driver);
        assert_eq!(ran.reason(), "stop_condition");
        assert_eq!(ran.of_type("SimulationEnded")[0]["turn_count"], 2, "{rule}");
    }
}

#[test]
fn nothing_stops_before_the_least_number_of_turns() {
    let ran = simulate(
        json!({"goal": "g", "min_turns": 3, "stop_when": [{"response": "Well"}, "goal_reached"]}),
        Driver::default(),
    );
    assert_eq!(ran.of_type("SimulationEnded")[0]["turn_count"], 3);
    assert!(ran.judge_requests.is_empty());
}

#[test]
fn running_out_of_turns_asks_the_judge_before_it_is_a_failure() {
    let settings = json!({"goal": "a venue", "max_turns": 2, "stop_when": []});
    let reached = simulate(settings.clone(), Driver::default().judged(judge(true)));
    assert_eq!((reached.status().as_str(), reached.judge_requests.len()), ("passed", 1));
    let missed = simulate(settings, Driver::default().judged(judge(false)));
    assert_eq!((missed.status().as_str(), missed.reason()), ("failed (agent)", "max_turns"));
    assert!(missed.message().contains("\"a venue\" to be reached within 2 turns"));
    assert!(missed.message().contains("as seen"));
    let asked_already =
        simulate(json!({"goal": "g", "max_turns": 2}), Driver::default().judged(judge(false)));
    assert_eq!(asked_already.judge_requests.len(), 2, "once a turn, not again at the limit");
}

#[test]
fn running_out_of_turns_can_be_what_was_wanted() {
    let ran = simulate(
        json!({"goal": "a discount", "max_turns": 2, "stop_when": [], "on_max_turns": "fine"}),
        Driver::default().judged(judge(false)),
    );
    assert_eq!((ran.status().as_str(), ran.reason()), ("passed", "max_turns"));
}

#[test]
fn time_runs_out() {
    let driver = Driver { judge: judge(false), late_at_call: Some(2), ..Driver::default() };
    let ran = simulate(json!({"goal": "g", "timeout": "30s"}), driver);
    assert_eq!((ran.status().as_str(), ran.reason()), ("errored (agent)", "timeout"));
    assert_eq!(ran.message(), "turn 2: the simulation took longer than 30s, waiting for the agent");
}

#[test]
fn something_breaks() {
    let simulator = [Err("model overloaded".to_owned())].into();
    let driver = Driver { simulator, ..Driver::default() };
    let ran = simulate(json!({"goal": "g"}), driver);
    assert_eq!((ran.status().as_str(), ran.reason()), ("inconclusive (simulator)", "error"));
    let ran = simulate(json!({"goal": "g"}), Driver::default().saying(&["", " \"\" ", "user:"]));
    assert_eq!(ran.status(), "inconclusive (simulator)");
    assert_eq!(ran.simulator_prompts.len(), 3);
    let ran =
        simulate(json!({"goal": "g"}), Driver::default().judged(Box::new(|_| Err("down".into()))));
    assert_eq!((ran.status().as_str(), ran.reason()), ("inconclusive (judge)", "error"));
}

#[test]
fn every_turn_is_checked_and_the_first_failure_ends_it() {
    let ran = simulate(
        json!({"goal": "g", "stop_when": [], "every_turn": {"expect": [{"not": {"match": "free"}}]}}),
        Driver::answering(&["Hello", "It is free", "never"]),
    );
    assert_eq!((ran.status().as_str(), ran.reason()), ("failed (agent)", "stop_condition"));
    assert!(ran.message().starts_with("turn 2: expected to not match /free/"), "{}", ran.message());
    assert_eq!(ran.of_type("AgentResponse").len(), 2);
}

#[test]
fn scripted_and_simulated_turns_mix() {
    let ran = Driver::answering(&["one", "two", "three"]).judged(judge(true)).run(steps(&json!([
        {"user": "Hi", "expect": [{"match": "one"}]},
        {"simulate": {"goal": "g"}, "expect": [{"turn_count": 2}, {"match": "two"}]},
        {"user": "Bye", "expect": [{"match": "three"}]},
    ])));
    assert_eq!(ran.status(), "passed");
    let sources: Vec<&Value> =
        ran.of_type("UserMessage").iter().map(|event| &event["source"]).collect();
    assert_eq!(sources, ["script", "simulator", "script"]);
    assert!(ran.simulator_prompts[0].contains("You: Hi\nAgent: one"));
}

#[test]
fn d14_votes_hold_for_goals() {
    let voted = |limit: u32, answers: &[bool]| {
        let example = example(&format!(
            "judge: {{votes: 3}}\nexamples: [{{it: x, steps: [{{simulate: {{goal: g, max_turns: {limit}}}}}]}}]\n"
        ));
        let ran = Driver::default().judged(judge_says(answers)).run(example);
        let goal = ran.of_type("EvaluationRecorded").last().unwrap()["metadata"]["votes"].clone();
        (ran.status(), ran.judge_requests.len(), goal)
    };
    let votes = |passed: u32, failed: u32| json!({"passed": passed, "failed": failed});
    assert_eq!(voted(1, &[true]), ("passed".into(), 1, json!(null)));
    assert_eq!(voted(1, &[false, true, true]), ("passed".into(), 3, votes(2, 1)));
    assert_eq!(voted(1, &[false, false]), ("failed (agent)".into(), 2, votes(0, 2)));
    assert_eq!(voted(2, &[false, true, false, true]), ("passed".into(), 4, json!(null)));
}
