//! Topics: classification order, invariants on leaving, visits that add up.

use serde_json::json;

use super::driver::{Driver, answer, done, example, judge_says};

const GRAPH: &str = r"
topics:
  greeting:
    characteristic: says hello
    next: [search, booking]
    triggers: [{user: '^Hi'}]
    expect: [{match: Hello}, {not: {match: price}}]
  search: {characteristic: looks for venues, next: [greeting], triggers: [{call_tool: find}]}
  booking: {characteristic: books, triggers: [{response: '^Booked'}]}
";

fn run(steps: &str, answers: &[&str], driver: impl FnOnce(Driver) -> Driver) -> super::driver::Ran {
    let yaml = format!("{GRAPH}examples: [{{it: x, steps: {steps}}}]\n");
    driver(Driver::answering(answers)).run(example(&yaml))
}

fn moves(ran: &super::driver::Ran) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    ran.of_type("TopicChanged")
        .iter()
        .map(|event| {
            format!(
                "{}: {} → {} ({})",
                event["turn_number"],
                text(&event["from_topic"]),
                text(&event["to_topic"]),
                text(&event["trigger"])
            )
        })
        .collect()
}

#[test]
fn the_current_topic_then_successors_then_the_judge() {
    let ran = run(
        "[{user: Hi}, {user: Go on}, {user: Hm}]",
        &["Hello, Booked", "Booked", "Well"],
        |driver| driver,
    );
    assert_eq!(
        moves(&ran),
        ["0: - → greeting (initial)", "2: greeting → booking (trigger_match)"],
        "the first turn stays by the current topic's own trigger"
    );
    assert!(ran.judge_requests.is_empty(), "booking leads nowhere");
    let judged = run("[{user: Hm}]", &["Hello?"], |driver| driver);
    assert_eq!(moves(&judged)[1], "1: greeting → booking (judge_classification)");
    let prompt = &judged.judge_prompts[0];
    assert!(
        prompt.contains("- `greeting`: says hello") && prompt.contains("- `search`"),
        "{prompt}"
    );
}

#[test]
fn invariants_are_checked_on_leaving_and_at_the_end() {
    let ran = run("[{user: Hi}, {user: Go}]", &["Hello", "Booked"], |driver| driver);
    assert_eq!(ran.status(), "passed");
    assert_eq!(ran.of_type("InvariantEvaluated").len(), 2);
    let ran =
        run("[{user: Hi}, {user: Go}, {user: never}]", &["The price", "Booked"], |driver| driver);
    assert_eq!(ran.status(), "failed (agent)");
    assert_eq!(ran.of_type("UserMessage").len(), 2, "leaving the topic ended it");
    let stays = run("[{user: Hi}]", &["Good day"], |driver| driver);
    insta::assert_snapshot!(stays.message(), @r#"topic `greeting` (turns 1): expected to match /Hello/, but the agent said "Good day""#);
}

/// The judge moves to search and back; the second visit's turn counts with the first's.
#[test]
fn all_visits_of_a_topic_count() {
    let mut topics = ["search", "greeting", "booking"].iter();
    let judge = move |request: &crate::JudgeRequest| {
        let topic = topics.next().unwrap();
        Ok(json!({"mark": request.mark, "answers": [{"id": request.items[0].id, "reasoning": "r", "topic": topic}]})
            .to_string())
    };
    let ran = run(
        "[{user: Hi}, {user: a}, {user: b}, {user: c}]",
        &["Hello", "Venues", "The price is 5", "Done"],
        |driver| driver.judged(Box::new(judge)),
    );
    assert_eq!(ran.status(), "failed (agent)");
    assert!(ran.message().starts_with("topic `greeting` (turns 1, 3)"), "{}", ran.message());
}

#[test]
fn topics_can_be_asserted_now_reached_and_in_order() {
    let steps = "[{user: Hi, expect: [{topic: greeting}, {not: {reached_topic: booking}}]}, \
        {user: Go, expect: [{topic: booking}, {reached_topic: greeting}, {topic_history: [greeting, booking]}]}]";
    assert_eq!(run(steps, &["Hello", "Booked"], |driver| driver).status(), "passed");
}

#[test]
fn an_answer_that_names_no_topic_is_unusable() {
    let ran = run("[{user: Hm}]", &["Hello"], |driver| {
        driver.judged(Box::new(|request| {
            Ok(json!({"mark": request.mark, "answers": [{"id": request.items[0].id, "reasoning": "r", "topic": "x"}]}).to_string())
        }))
    });
    assert_eq!(ran.status(), "inconclusive (judge)");
    assert_eq!(ran.of_type("JudgeError")[0]["operation"], "topic classification");
}

#[test]
fn an_invariant_nobody_could_judge_is_neither_kept_nor_broken() {
    let yaml = r"
topics: {only: {expect: [{satisfy: The agent is kind}]}}
examples: [{it: x, steps: [{user: Hi}]}]
";
    let ran = Driver::default().judged(Box::new(|_| Err("down".into()))).run(example(yaml));
    assert_eq!(ran.status(), "inconclusive (judge)");
    assert!(ran.of_type("InvariantEvaluated").is_empty());
    assert_eq!(ran.of_type("EvaluationRecorded")[0].get("passed"), None);
}

#[test]
fn turns_and_conditions_trigger() {
    let yaml = r"
topics:
  a: {next: [b]}
  b: {next: [c], triggers: [{turns_in: {topic: a, count: 2}}]}
  c: {triggers: [{condition: turn_count == 4}]}
examples: [{it: x, steps: [{user: '1'}, {user: '2'}, {user: '3'}, {user: '4'}]}]
";
    let ran = Driver::default().judged(judge_says(&[])).run(example(yaml));
    assert_eq!(
        moves(&ran),
        ["0: - → a (initial)", "3: a → b (trigger_match)"],
        "b's own trigger still holds in turn 4, so it stays"
    );
}

/// Two turns in `first`, then one that leaves it. What the checks of `first` see must not change with that turn.
fn leaving(check: &str) -> super::driver::Ran {
    let example = example(&format!(
        r"
topics:
  first: {{next: second, expect: [{check}]}}
  second: {{triggers: [{{response: moved}}]}}
examples:
  - it: x
    steps: [{{user: a}}, {{user: b}}, {{user: c}}]
"
    ));
    let mut last = answer("moved");
    last.tool_calls = vec![done("late", json!({}), json!(1))];
    Driver::with_agent(vec![answer("one"), answer("two"), last]).run(example)
}

#[test]
fn d7_checks_of_a_topic_see_their_topic_only() {
    for holds in [
        "{turn_count: 2}",
        "{expression: turn_count == 2}",
        "{expression: turn.agent == 'two' && turn.number == 2}",
        "{expression: 'turns.all(t, t.topic == ''first'')'}",
        "{expression: tool_calls.size() == 0}",
        "{expression: topic == 'first' && topics.size() == 1}",
        "{topic: first}",
        "{not: {called_tool: late}}",
        "{not: {call_tool: late}}",
        "{not: {reached_topic: second}}",
        "{topic_history: [first]}",
        "{not: {match: moved}}",
    ] {
        assert_eq!(leaving(holds).status(), "passed", "{holds}: {}", leaving(holds).message());
        let turned = match holds.strip_prefix("{not: ").and_then(|rest| rest.strip_suffix('}')) {
            Some(positive) => positive.to_owned(),
            None => format!("{{not: {holds}}}"),
        };
        assert_eq!(leaving(&turned).status(), "failed (agent)", "{turned}");
    }
}

#[test]
fn d7_commands_and_judges_of_a_topic_see_their_topic_only() {
    let ran = leaving("{satisfy: The agent is kind}");
    let numbers = |turns: &[crate::transcript::Turn]| {
        turns.iter().map(|turn| turn.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&ran.judge_requests[0].turns), [1, 2]);
    let ran = leaving("{command: [look]}");
    let seen = &ran.checked[0];
    assert_eq!((&seen["turn_count"], &seen["turn"]["number"]), (&json!(2), &json!(2)));
    assert_eq!(seen["topic"], "first");
}

#[test]
fn d14_votes_hold_for_topics() {
    let classified = |answers: &'static [&'static str]| {
        let example = example(
            r"
judge: {votes: 3}
topics:
  first: {characteristic: begins, next: [second, third]}
  second: {characteristic: goes on}
  third: {characteristic: goes elsewhere}
examples: [{it: x, steps: [{user: a}]}]
",
        );
        let mut answers = answers.iter();
        let ran = Driver::answering(&["Hello"])
            .judged(Box::new(move |request| {
                let topic = answers.next().ok_or("asked too often")?;
                let id = &request.items[0].id;
                Ok(json!({"mark": request.mark, "answers": [{"id": id, "reasoning": "r", "topic": topic}]}).to_string())
            }))
            .run(example);
        let moved = ran.of_type("TopicChanged").last().unwrap()["to_topic"].clone();
        (ran.judge_requests.len(), moved)
    };
    assert_eq!(classified(&["second", "second"]), (2, json!("second")));
    assert_eq!(classified(&["second", "first", "first"]), (3, json!("first")));
    assert_eq!(classified(&["second", "third", "second"]), (3, json!("second")));
    assert_eq!(classified(&["second", "third", "first"]), (3, json!("first")), "it stays");
}
