//! A driver in a few lines, with nothing but what the crate exports.

use std::sync::Arc;

use proctor_dialogue::{
    AgentAnswer, ConversationOutcome, Effect, Engine, Input, MarkKey, RowsError, parse,
};
use proctor_events::{Event, StableIds};

const SCENARIO: &str = "
describe: Echo agent
examples:
  - it: repeats what it hears
    steps:
      - user: hello
        expect: [{match: hello}]
      - user: goodbye
        expect: [{match: goodbye}, {not: {match: hello}}]
";

#[test]
fn an_echo_passes() {
    let file = parse(SCENARIO, "./echo.scenario.yaml").unwrap();
    let mut ids = StableIds::default();
    let examples = file.examples(&mut ids, &mut |_| Err(RowsError::UnknownEnding)).unwrap();
    let mut engine = Engine::new(Arc::new(examples[0].clone()));
    let mut input = Some(Input::Begin { marks: MarkKey::new([42; 32]) });
    let mut verdict: Option<ConversationOutcome> = None;
    let mut lines = Vec::new();
    while let Some(next) = input.take() {
        for effect in engine.step(next) {
            match effect {
                Effect::Emit(body) => lines.push(Event::new(body).about(&examples[0].id.id)),
                Effect::CallAgent { id, messages, .. } => {
                    let text = messages.last().unwrap().content.clone();
                    let answer = AgentAnswer { text, ..AgentAnswer::default() };
                    input = Some(Input::AgentAnswered { id, answer });
                }
                Effect::Finish(end) => verdict = Some(end),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(verdict.unwrap().status.as_str(), "passed");
    let types: Vec<&str> = lines.iter().map(Event::type_name).collect();
    assert_eq!(
        types,
        [
            "UserMessage",
            "AgentResponse",
            "EvaluationRecorded",
            "UserMessage",
            "AgentResponse",
            "EvaluationRecorded",
            "EvaluationRecorded"
        ]
    );
}

/// A driver may keep engines in tasks that move between threads.
#[test]
fn an_engine_can_be_sent() {
    fn sendable<T: Send>() {}
    sendable::<Engine>();
    sendable::<Effect>();
}
