//! How many checks decided an attempt: only those that were answered and could have failed it.

use serde_json::{Value, json};

use super::driver::{Driver, Ran, example, judge, judge_says, steps};

fn checks(ran: &Ran) -> (String, u64) {
    (ran.status(), ran.verdict.checks)
}

fn scripted(steps_of: &Value, driver: Driver) -> (String, u64) {
    checks(&driver.run(steps(steps_of)))
}

#[test]
fn a_conversation_without_assertions_checks_nothing() {
    let passed = scripted(&json!([{"user": "Hi"}]), Driver::answering(&["Hello"]));
    assert_eq!(passed, ("passed".to_owned(), 0));
}

#[test]
fn soft_checks_do_not_count_whatever_they_say() {
    let soft = json!([{"user": "Hi", "evaluate": [{"match": "Hello"}, {"match": "no"}, {"satisfy": "Is kind"}]}]);
    let driver = || Driver::answering(&["Hello"]);
    assert_eq!(scripted(&soft, driver().judged(judge(true))), ("passed".to_owned(), 0));
    assert_eq!(scripted(&soft, driver().judged(judge(false))), ("passed".to_owned(), 0));
    let broken = driver().judged(Box::new(|_| Err("down".into())));
    assert_eq!(scripted(&soft, broken), ("passed".to_owned(), 0));
}

#[test]
fn hard_checks_count_each_time_they_are_made() {
    let two = json!([
        {"user": "Hi", "expect": [{"match": "one"}, {"not": {"match": "zero"}}], "evaluate": [{"match": "x"}]},
        {"user": "Bye", "expect": [{"satisfy": ["Is kind", "Is short"]}, {"command": "./check"}]},
    ]);
    let driver = Driver::answering(&["one", "two"]).judged(judge(true));
    assert_eq!(scripted(&two, driver), ("passed".to_owned(), 5));
    let every = json!([{"simulate": {
        "goal": "g", "max_turns": 3, "stop_when": [], "on_max_turns": "fine", "every_turn": {"expect": [{"not": {"match": "free"}}]},
    }}]);
    assert_eq!(scripted(&every, Driver::default()), ("passed".to_owned(), 3));
}

#[test]
fn checks_without_an_answer_do_not_count() {
    let judged = json!([{"user": "Hi", "expect": [{"satisfy": "Is kind"}, {"match": "Hello"}]}]);
    let silent = Driver::answering(&["Hello"]).judged(Box::new(|_| Err("down".into())));
    assert_eq!(scripted(&judged, silent), ("inconclusive (judge)".to_owned(), 1));
    let command = json!([{"user": "Hi", "expect": [{"command": "./check"}]}]);
    let missing = Driver { check: Err("no such file".into()), ..Driver::answering(&["Hello"]) };
    assert_eq!(scripted(&command, missing), ("errored (harness)".to_owned(), 0));
}

#[test]
fn a_failed_check_counts_and_what_it_cuts_short_does_not() {
    let steps_of = json!([
        {"user": "Hi", "expect": [{"match": "no"}]},
        {"user": "Bye", "expect": [{"match": "never"}]},
    ]);
    let failed = scripted(&steps_of, Driver::answering(&["Hello", "Bye"]));
    assert_eq!(failed, ("failed (agent)".to_owned(), 1));
}

#[test]
fn a_goal_counts_where_missing_it_would_fail() {
    let simulate =
        |settings: Value, driver: Driver| scripted(&json!([{"simulate": settings}]), driver);
    let goal = json!({"goal": "g", "max_turns": 2});
    let reached = Driver::default().judged(judge_says(&[false, true]));
    assert_eq!(simulate(goal.clone(), reached), ("passed".to_owned(), 1), "once, not once a turn");
    let missed = Driver::default().judged(judge(false));
    assert_eq!(simulate(goal, missed), ("failed (agent)".to_owned(), 1));
    // It may run out of turns, so that a goal that is reached is a reason to stop and no more.
    let fine = json!({"goal": "g", "max_turns": 2, "on_max_turns": "fine"});
    let reached = Driver::default().judged(judge(true));
    assert_eq!(simulate(fine, reached), ("passed".to_owned(), 0));
    // Another rule ended it before the goal was reached, and nobody held that against it.
    let stopped = json!({"goal": "g", "stop_when": ["goal_reached", {"response": "bye"}]});
    let driver = Driver::answering(&["bye"]).judged(judge(false));
    assert_eq!(simulate(stopped, driver), ("passed".to_owned(), 0));
}

#[test]
fn invariants_count_in_topics_that_were_entered() {
    let topics = r"
topics:
  start: {characteristic: begins, next: [booking]}
  booking: {characteristic: books, triggers: [{response: '^Booked'}], expect: [{match: table}]}
examples: [{it: works, steps: [{user: Hi}]}]
";
    let of = |text: &str| {
        // The judge keeps the conversation where it is.
        let stays: super::driver::Judge = Box::new(|request| {
            let answers: Vec<Value> = request
                .items
                .iter()
                .map(|item| json!({"id": item.id, "reasoning": "r", "topic": "start"}))
                .collect();
            Ok(json!({"mark": request.mark, "answers": answers}).to_string())
        });
        checks(&Driver::answering(&[text]).judged(stays).run(example(topics)))
    };
    assert_eq!(of("Booked a table"), ("passed".to_owned(), 1));
    assert_eq!(of("Well"), ("passed".to_owned(), 0), "the invariant was never looked at");
}

#[test]
fn a_pending_example_checks_nothing() {
    let pending = example(
        "examples: [{it: works, pending: later, steps: [{user: Hi, expect: [{match: x}]}]}]\n",
    );
    assert_eq!(checks(&Driver::default().run(pending)), ("pending".to_owned(), 0));
}
