//! Golden transcripts: every event of a scripted, a simulated and a mixed example.

use serde_json::json;

use super::driver::{Driver, answer, call, done, example};
use crate::engine::AgentAnswer;

#[test]
fn a_scripted_example() {
    let example = example(
        r"
criteria: {polite: The agent is polite}
examples:
  - it: books
    steps:
      - user: Find me a venue
        expect: [{call_tool: {name: search, with: {city: Rome}}}, {satisfy: polite}]
      - user: Book it
        metadata: {mood: hurried}
        expect: [{match: booked}, {not: {match: sorry}}]
        evaluate: [{latency_ms: {at_most: 5}}]
    expect: [{tool_order: [search, book]}]
",
    );
    let ran = Driver::with_agent(vec![
        AgentAnswer {
            tool_calls: vec![done("search", json!({"city": "Rome"}), json!([1, 2]))],
            ..answer("I found two.")
        },
        AgentAnswer {
            pending_tool_calls: vec![call("book", json!({"id": 1}))],
            ..answer("One moment.")
        },
        answer("It is booked."),
    ])
    .run(example);
    assert_eq!(ran.status(), "passed");
    insta::assert_snapshot!(ran.lines());
    insta::assert_snapshot!(serde_json::to_string_pretty(&ran.agent_calls.last()).unwrap());
}

#[test]
fn a_simulated_example() {
    let example = example(
        r"
topics:
  greeting: {next: booking, expect: [{match: Hello}]}
  booking: {triggers: [{response: '(?i)book'}], evaluate: [{not: {match: sorry}}]}
examples:
  - it: books
    steps:
      - user: Hi
      - simulate: {goal: a venue, max_turns: 4, timeout: 30s}
        expect: [{reached_topic: booking}]
",
    );
    let ran = Driver::answering(&["Hello!", "Where?", "Booked."])
        .saying(&["User: I want a venue", "\"In Rome\""])
        .judged(super::driver::judge_says(&[false, true]))
        .run(example);
    assert_eq!(ran.status(), "passed");
    insta::assert_snapshot!(ran.lines());
}
