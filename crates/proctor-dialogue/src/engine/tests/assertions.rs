//! Every judge-backed and custom assertion, both ways, hard and soft, in both modes.

use serde_json::{Value, json};

use super::driver::{Driver, answer, call, done, example, judge, judge_says, steps, verdicts};
use crate::engine::AgentAnswer;

fn judged_kinds() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"satisfy": "The agent is polite to guests"}), "The agent is polite to guests"),
        (json!({"grounded": {"claims": ["prices"]}}), "Claims that count: prices"),
        (json!({"forbidden_claims": ["it is free"]}), "- it is free"),
        (
            json!({"intent": {"name": "confirm", "described_as": "says yes"}}),
            "`confirm` (says yes)",
        ),
        (json!({"goal_achieved": "a venue is booked"}), "Goal: a venue is booked"),
    ]
}

fn agent() -> Driver {
    let mut driver = Driver::with_agent(vec![AgentAnswer {
        tool_calls: vec![done("search", json!({}), json!({"price": 90}))],
        ..answer("It costs 90.")
    }]);
    driver.simulator = [Ok("Hello".to_owned())].into();
    driver
}

/// A step in each mode; the simulation itself never asks the judge.
fn in_both_modes(key: &str, assertion: &Value) -> [Value; 2] {
    let mut scripted = json!({"user": "Hello"});
    scripted[key] = json!([assertion]);
    let mut simulated =
        json!({"simulate": {"goal": "g", "max_turns": 1, "stop_when": [], "on_max_turns": "fine"}});
    simulated[key] = json!([assertion]);
    [json!([scripted]), json!([simulated])]
}

#[test]
fn judged_assertions_follow_the_judge_in_both_modes() {
    for (assertion, shown) in judged_kinds() {
        for (asserted, agrees) in [(assertion.clone(), true), (json!({"not": assertion}), false)] {
            for conversation in in_both_modes("expect", &asserted) {
                let pass = agent().judged(judge(agrees)).run(steps(&conversation));
                assert_eq!(pass.status(), "passed", "{asserted}");
                let prompt = &pass.judge_prompts[0];
                assert!(prompt.contains(shown), "{prompt}");
                assert!(prompt.contains("It costs 90.") && prompt.contains(r#"{"price":90}"#));
                let fail = agent().judged(judge(!agrees)).run(steps(&conversation));
                assert_eq!(fail.status(), "failed (agent)", "{asserted}");
                assert!(fail.message().contains("as seen"), "{}", fail.message());
                let recorded = fail.of_type("EvaluationRecorded");
                assert_eq!(recorded[0]["reasoning"], "as seen");
                assert_eq!(recorded[0]["passed"], false);
            }
        }
    }
}

#[test]
fn soft_assertions_never_fail_an_example() {
    for (assertion, _) in judged_kinds() {
        for conversation in in_both_modes("evaluate", &assertion) {
            let ran = agent().judged(judge(false)).run(steps(&conversation));
            assert_eq!(ran.status(), "passed");
            assert_eq!(ran.of_type("EvaluationRecorded")[0]["mode"], "soft");
            assert_eq!(ran.of_type("EvaluationRecorded")[0]["passed"], false);
            let silent = agent().judged(Box::new(|_| Err("down".into()))).run(steps(&conversation));
            assert_eq!(silent.status(), "passed");
            assert_eq!(silent.of_type("EvaluationRecorded")[0].get("passed"), None);
            assert_eq!(silent.of_type("JudgeError").len(), 1);
        }
    }
}

#[test]
fn all_criteria_of_a_turn_are_one_question() {
    let example = example(
        r"
criteria:
  polite: {description: is polite, good: [Gladly!], bad: [{text: No., why: curt}]}
  clear: is clear
examples:
  - it: x
    steps: [{user: Hi, expect: [{satisfy: [polite, clear]}, {intent: greet}], evaluate: [{not: {satisfy: polite}}]}]
",
    );
    let ran = Driver::answering(&["Hello"]).run(example);
    assert_eq!(ran.judge_requests.len(), 1);
    assert_eq!(ran.judge_requests[0].items.len(), 4);
    assert!(ran.judge_prompts[0].contains("Does not satisfy it: \"No.\" — curt"));
    let names: Vec<_> =
        ran.of_type("EvaluationRecorded").iter().map(|e| e["name"].clone()).collect();
    assert_eq!(names, [json!("polite"), json!("clear"), Value::Null, json!("polite")]);
}

#[test]
fn votes_are_spent_on_failures() {
    let voted = |answers: &[bool]| {
        let example = example(
            "judge: {votes: 3}\nexamples: [{it: x, steps: [{user: Hi, expect: [{satisfy: Is it good}]}]}]",
        );
        let ran = Driver::answering(&["Hello"]).judged(judge_says(answers)).run(example);
        let metadata = ran.of_type("EvaluationRecorded")[0]["metadata"].clone();
        let votes: Vec<u32> = ran.judge_requests.iter().map(|request| request.vote).collect();
        assert!(
            votes.iter().copied().zip(0..).all(|(vote, number)| vote == number),
            "each vote is known as another one: {votes:?}"
        );
        (ran.status(), ran.judge_requests.len(), metadata["votes"].clone())
    };
    assert_eq!(voted(&[true]), ("passed".into(), 1, Value::Null));
    assert_eq!(
        voted(&[false, true, true]),
        ("passed".into(), 3, json!({"passed": 2, "failed": 1}))
    );
    assert_eq!(
        voted(&[false, false]),
        ("failed (agent)".into(), 2, json!({"passed": 0, "failed": 2}))
    );
    assert_eq!(voted(&[false, true, false]).0, "failed (agent)");
}

#[test]
fn a_failure_shows_turn_expected_and_actual() {
    let ran = Driver::answering(&["Hello", "No."]).run(steps(&json!([
        {"user": "Hi", "expect": [{"match": "Hello"}]},
        {"user": "Book", "expect": [{"call_tool": {"name": "book", "with": {"n": {"above": 3}}}}, {"match": "Yes"}]},
        {"user": "never said"},
    ])));
    insta::assert_snapshot!(ran.message(), @r#"
    turn 2: expected to call tool book with {n: above 3}, but no tool was called
    turn 2: expected to match /Yes/, but the agent said "No."
    "#);
    assert_eq!(ran.verdict.failures[0].turn, Some(2));
    assert_eq!(ran.of_type("UserMessage").len(), 2);
}

#[test]
fn commands_decide_by_their_exit() {
    for (passes, negated, status) in [
        (true, false, "passed"),
        (false, false, "failed (agent)"),
        (true, true, "failed (agent)"),
        (false, true, "passed"),
    ] {
        let command = json!({"command": ["./check", "--strict"]});
        let assertion = if negated { json!({"not": command}) } else { command };
        for conversation in in_both_modes("expect", &assertion) {
            let mut driver = agent();
            driver.check = Ok(passes);
            assert_eq!(driver.run(steps(&conversation)).status(), status);
        }
    }
    let mut driver = agent();
    driver.check = Err("no such file".into());
    let ran = driver.run(steps(&json!([{"user": "Hi", "expect": [{"command": "./check"}]}])));
    assert_eq!(ran.status(), "errored (harness)");
}

#[test]
fn the_stated_goal_is_that_of_the_simulation() {
    let ran = Driver::answering(&["Done."]).judged(judge(true)).run(steps(&json!([
        {"simulate": {"goal": "a venue in Rome", "max_turns": 2}, "expect": [{"goal_achieved": "stated"}]},
    ])));
    assert_eq!(ran.status(), "passed");
    assert!(ran.judge_prompts[1].contains("a venue in Rome"));
    let none = Driver::answering(&["Done."])
        .run(steps(&json!([{"user": "Hi", "expect": [{"goal_achieved": "stated"}]}])));
    assert_eq!(none.status(), "errored (harness)");
}

#[test]
fn a_mixed_judge_answer_fails_only_what_it_fails() {
    let ran = Driver::answering(&["Hello"])
        .judged(Box::new(|request| {
            Ok(verdicts(request, |question| !matches!(question, crate::JudgeQuestion::Intent(_))))
        }))
        .run(steps(&json!([{"user": "Hi", "expect": [{"satisfy": "It is a greeting"}, {"intent": "sell"}]}])));
    assert_eq!(ran.verdict.failures.len(), 1);
    assert!(ran.message().contains("have the intent sell"));
}

/// What is there to be recorded is recorded, also of a conversation that has failed before its end.
#[test]
fn soft_checks_are_made_after_a_hard_failure() {
    let recorded = |ran: &super::driver::Ran| -> Vec<String> {
        let shown = |event: &&Value| {
            let passed = &event["passed"];
            format!("{} {} {passed}", event["mode"], event["description"]).replace('"', "")
        };
        let kinds = ["EvaluationRecorded", "InvariantEvaluated"];
        let checks =
            ran.events.iter().filter(|e| kinds.iter().any(|kind| e["event_type"] == *kind));
        checks.map(|event| shown(&event)).collect()
    };
    let scripted = example(
        r"
topics: {talk: {expect: [{match: never}], evaluate: [{match: Hello}]}}
examples:
  - it: x
    steps:
      - {user: Hi, expect: [{match: Bye}], evaluate: [{match: Hello}]}
      - {user: never said, evaluate: [{match: never said}]}
    expect: [{turn_count: 9}]
    evaluate: [{turn_count: 1}, {turn_count: 2}]
",
    );
    let ran = Driver::answering(&["Hello"]).run(scripted);
    assert_eq!(ran.status(), "failed (agent)");
    assert_eq!(ran.verdict.failures.len(), 1, "{}", ran.message());
    assert_eq!(
        recorded(&ran),
        [
            "hard match /Bye/ false",
            "soft match /Hello/ true",
            "soft match /Hello/ true",
            "soft take 1 turns true",
            "soft take 2 turns false",
        ]
    );
    let simulated = example(
        r"
examples:
  - it: x
    steps:
      - simulate: {goal: g, every_turn: {expect: [{match: Bye}]}}
        expect: [{turn_count: 9}]
        evaluate: [{turn_count: 1}]
",
    );
    let ran = Driver::answering(&["Hello"]).saying(&["Hi"]).run(simulated);
    assert_eq!((ran.status().as_str(), ran.reason()), ("failed (agent)", "stop_condition"));
    assert_eq!(recorded(&ran), ["hard match /Bye/ false", "soft take 1 turns true"]);
    let ended = ran.events.iter().position(|e| e["event_type"] == "SimulationEnded").unwrap();
    assert_eq!(ended + 2, ran.events.len(), "the simulation is over before it is looked at");
    // An agent that broke gives nothing to look at.
    let broken = Driver { agent: [Err("gone".to_owned())].into(), ..Driver::default() };
    let ran = broken
        .run(example("examples: [{it: x, steps: [{user: Hi}], evaluate: [{turn_count: 1}]}]"));
    assert_eq!(recorded(&ran), [""; 0]);
}

/// The cost of a turn is the sum over its answers; one that does not say its part makes it unknown.
#[test]
fn d17_a_cost_that_is_partly_unknown_is_neither_low_nor_high() {
    let run = |first: Option<f64>, second: Option<f64>, check: &str| {
        let pending_request = AgentAnswer {
            pending_tool_calls: vec![call("a", json!({}))],
            cost_usd: first,
            ..answer("")
        };
        let last = AgentAnswer { cost_usd: second, ..answer("Done") };
        let expect: Value = serde_json::from_str(check).unwrap();
        Driver::with_agent(vec![pending_request, last])
            .run(steps(&json!([{"user": "Hi", "expect": [expect]}])))
            .status()
    };
    let below = r#"{"cost_usd": {"below": 1}}"#;
    assert_eq!(run(Some(0.25), Some(0.25), below), "passed");
    assert_eq!(run(Some(0.75), Some(0.75), below), "failed (agent)");
    for (first, second) in [(None, Some(0.25)), (Some(0.25), None), (None, None)] {
        assert_eq!(run(first, second, below), "errored (harness)");
        assert_eq!(run(first, second, &format!(r#"{{"not": {below}}}"#)), "errored (harness)");
    }
}
