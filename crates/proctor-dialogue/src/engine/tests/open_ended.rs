//! Conversations that are told how they go on.

use std::sync::Arc;

use proctor_events::{Body, EvaluationMode, Status};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::driver::{answer, call};
use crate::engine::{AgentAnswer, ConversationOutcome, Effect, Engine, Input, Next, ToolOutcome};
use crate::format::Assertion;
use crate::scenario::{Example, ExampleOrigin, OpenEnded};
use crate::transcript::Scope;
use proctor_yaml::read_value;

/// Drives an engine whose agent, blocks and tools are functions.
struct OpenEndedDriver {
    engine: Engine,
    events: Vec<String>,
    agent: fn(usize) -> Result<AgentAnswer, String>,
    block: fn(&str, &Value) -> Result<bool, String>,
    calls: usize,
}

fn example(definition: &str) -> Arc<Example> {
    let holds = OpenEnded::read(definition).unwrap_or_else(|problems| panic!("{problems:?}"));
    Arc::new(holds.example(ExampleOrigin::default()))
}

impl OpenEndedDriver {
    fn new(definition: &str) -> Self {
        let mut driver = Self {
            engine: Engine::open_ended(example(definition)),
            events: Vec::new(),
            agent: |_| Ok(answer("Hello")),
            block: |_, _| Ok(true),
            calls: 0,
        };
        let verdict = driver.drive(Input::Begin { marks: crate::MarkKey::new([1; 32]) });
        assert_eq!(verdict.status, Status::Passed);
        driver
    }

    fn drive(&mut self, first: Input) -> ConversationOutcome {
        let mut input = Some(first);
        while let Some(next) = input.take() {
            for effect in self.engine.step(next) {
                match effect {
                    Effect::Pause(verdict) | Effect::Finish(verdict) => return verdict,
                    effect => input = self.carry_out(effect).or(input),
                }
            }
        }
        panic!("it waits for nobody");
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Input> {
        Some(match effect {
            Effect::Emit(body) => {
                self.events.push(event_name(&body));
                return None;
            }
            Effect::CallAgent { id, .. } => {
                self.calls += 1;
                match (self.agent)(self.calls) {
                    Ok(answer) => Input::AgentAnswered { id, answer },
                    Err(message) => Input::AgentFailed { id, class: None, message },
                }
            }
            Effect::RunCheck { id, command, conversation } => {
                match (self.block)(&command[1], &conversation) {
                    Ok(passed) => Input::CheckResult { id, passed, message: None },
                    Err(message) => Input::CheckFailed { id, message },
                }
            }
            Effect::ExecuteTool { id, .. } => {
                let outcome =
                    ToolOutcome { result: Ok(json!("found")), duration_ms: None, metadata: None };
                Input::ToolResult { id, outcome }
            }
            Effect::AskSimulator { id, .. } => Input::SimulatorAnswered { id, text: "Hi".into() },
            other => panic!("{other:?}"),
        })
    }

    fn next(&mut self, next: Next) -> ConversationOutcome {
        self.drive(Input::Next(next))
    }

    fn say(&mut self, text: &str) -> ConversationOutcome {
        self.next(Next::Say { text: text.into(), metadata: None })
    }

    fn simulate(&mut self, simulate: &Value) -> ConversationOutcome {
        self.next(Next::Simulate(Box::new(read_value(simulate).unwrap())))
    }

    fn check(&mut self, assertion: &Value, mode: EvaluationMode) -> ConversationOutcome {
        let assertions = vec![read_value::<Assertion>(assertion).unwrap()];
        self.next(Next::Check { assertions, mode, scope: Scope::Turn(1) })
    }
}

fn event_name(body: &Body) -> String {
    let event = proctor_events::Event::new(body.clone());
    event.type_name().to_owned()
}

#[test]
fn it_pauses_after_every_stretch_and_a_failure_does_not_end_it() {
    let mut driver = OpenEndedDriver::new("{}");
    assert!(driver.engine.is_paused());
    assert_eq!(driver.say("Hi").status, Status::Passed);
    let failed = driver.check(&json!({"match": "Bye"}), EvaluationMode::Hard);
    assert_eq!((failed.status, failed.failures.len()), (Status::Failed, 1));
    assert_eq!(driver.check(&json!({"match": "Bye"}), EvaluationMode::Soft).status, Status::Passed);
    assert_eq!(
        driver.check(&json!({"match": "Hello"}), EvaluationMode::Hard).status,
        Status::Passed
    );
    driver.agent = |_| Err("gone".into());
    assert_eq!(driver.say("Again").status, Status::Errored);
    driver.agent = |_| Ok(answer("Back"));
    assert_eq!(driver.say("Once more").status, Status::Passed);
    assert_eq!(driver.engine.transcript().turns.len(), 3);
    assert_eq!(driver.next(Next::End).status, Status::Passed);
    assert!(driver.engine.is_finished());
}

#[test]
fn the_first_topic_is_told_with_its_first_turn_and_checked_once_at_the_end() {
    let definition = r#"{"topics": {"greet": {"expect": [{"$block": {"id": "b1", "description": "be kind"}}]}}}"#;
    let mut driver = OpenEndedDriver::new(definition);
    assert!(driver.events.is_empty());
    driver.say("Hi");
    assert_eq!(driver.events, ["UserMessage", "AgentResponse", "TopicChanged"]);
    driver.block = |_, _| Ok(false);
    let verdict = driver.next(Next::End);
    assert_eq!(verdict.status, Status::Failed);
    assert!(verdict.message.unwrap().contains("expected to be kind, but it gave false"));

    let mut driver = OpenEndedDriver::new(definition);
    driver.simulate(&json!({"goal": "x", "max_turns": 1, "on_max_turns": "fine", "stop_when": []}));
    assert_eq!(driver.events[driver.events.len() - 2..], ["InvariantEvaluated", "SimulationEnded"]);
    let before = driver.events.len();
    assert_eq!(driver.next(Next::End).status, Status::Passed);
    assert_eq!(driver.events.len(), before, "nothing has happened since the simulation");
}

#[test]
fn blocks_are_triggers_and_stop_conditions() {
    let definition = r#"{"topics": {
        "a": {"next": ["b", "c"], "triggers": [{"$block": {"id": "never"}}]},
        "b": {"triggers": [{"$block": {"id": "never"}}, {"$block": {"id": "never"}}]},
        "c": {"triggers": [{"user": "nothing"}, {"$block": {"id": "yes"}}]}}}"#;
    let mut driver = OpenEndedDriver::new(definition);
    driver.block = |id, _| Ok(id == "yes");
    driver.say("Hi");
    assert_eq!(driver.engine.transcript().topic(), Some("c"));

    let mut driver = OpenEndedDriver::new("{}");
    driver.block = |_, conversation| Ok(conversation["turn_count"] == 3);
    let simulate = json!({"goal": "x", "stop_when": [{"$block": {"id": "third"}}]});
    assert_eq!(driver.simulate(&simulate).status, Status::Passed);
    assert_eq!(driver.engine.transcript().turns.len(), 3);
    driver.block = |_, _| Err("it raised".into());
    let broken = driver.simulate(&simulate);
    assert_eq!(broken.status, Status::Errored);
    assert!(broken.message.unwrap().contains("a stop condition could not be run: it raised"));
}

#[test]
fn an_answer_can_end_its_turn_although_tools_are_pending() {
    let mut driver = OpenEndedDriver::new("{}");
    driver.agent = |calls| {
        let pending_tool_calls = if calls == 1 { vec![call("search", json!({}))] } else { vec![] };
        Ok(AgentAnswer { pending_tool_calls, ends_turn: true, ..answer("Let me look") })
    };
    driver.say("Hi");
    assert_eq!(driver.calls, 1);
    assert_eq!(
        driver.events,
        ["UserMessage", "AgentResponse", "ToolCallStarted", "ToolCallCompleted"]
    );
}

#[test]
fn descriptions_are_checked_when_they_are_read() {
    for (definition, problem) in [
        (r#"{"topics": {"a": {"next": "b"}}}"#, "topic `b` is not defined"),
        (r#"{"topics": {"a": {"next": "a"}}}"#, "leads to itself"),
        (r#"{"topics": {"a": {}, "b": {}}}"#, "topic `b` cannot be reached"),
        (r#"{"topic": {}}"#, "topic"),
        ("[", "not YAML"),
    ] {
        let problems = OpenEnded::read(definition).unwrap_err();
        assert!(problems.iter().any(|text| text.contains(problem)), "{problems:?}");
    }
}

proptest! {
    /// Whatever comes in whatever order, it pauses or ends after each, and never forgets a turn.
    #[test]
    fn it_always_comes_to_a_pause(steps in proptest::collection::vec(0_u8..6, 0..12)) {
        let mut driver = OpenEndedDriver::new(r#"{"topics": {"a": {"next": "b"}, "b": {"triggers": [{"$block": {"id": "x"}}]}}}"#);
        let mut turns = 0;
        for step in steps {
            match step {
                0 => { driver.say("Hi"); turns += 1; }
                1 => { driver.agent = |_| Err("gone".into()); driver.say("Hi"); turns += 1; driver.agent = |_| Ok(answer("Hello")); }
                2 => { driver.simulate(&json!({"goal": "x", "max_turns": 2, "on_max_turns": "fine", "stop_when": []})); turns += 2; }
                3 => { driver.check(&json!({"match": "Bye"}), EvaluationMode::Hard); }
                4 => { driver.block = |_, _| Err("broken".into()); driver.say("Hi"); turns += 1; driver.block = |_, _| Ok(true); }
                _ => { drop(driver.engine.step(Input::Cancel)); }
            }
            prop_assert!(driver.engine.is_paused());
            prop_assert_eq!(driver.engine.transcript().turns.len(), turns);
        }
        driver.next(Next::End);
        prop_assert!(driver.engine.is_finished());
    }
}
