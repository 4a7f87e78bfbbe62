//! Whatever happens, in whatever order: it ends, once, with well-formed events, and never with a pass that
//! the judge did not give.

use std::collections::BTreeSet;
use std::sync::Arc;

use proctor_events::{Body, Status};
use proptest::prelude::*;
use serde_json::json;

use super::driver::{answer, call, done, example, verdicts};
use crate::engine::{
    AgentAnswer, ConversationOutcome, Effect, Engine, Input, RequestId, ToolOutcome,
};
use crate::judge::{JudgeQuestion, JudgeRequest};
use crate::scenario::Example;

const MAX_TURNS: u32 = 4;

fn sample() -> Arc<Example> {
    example(&format!(
        r"
judge: {{votes: 3, retries: 1}}
topics:
  one: {{characteristic: first, next: [two], expect: [{{not: {{match: forbidden}}}}, {{satisfy: The agent is kind}}]}}
  two: {{characteristic: second, next: [one], evaluate: [{{satisfy: It is good enough}}]}}
examples:
  - it: x
    steps:
      - user: Hi
        expect: [{{satisfy: The agent greets}}, {{match: e}}]
        evaluate: [{{command: ./check}}]
      - simulate:
          goal: g
          max_turns: {MAX_TURNS}
          timeout: 10s
          stop_when: [{{response: bye}}, goal_reached]
          every_turn: {{evaluate: [{{intent: help}}]}}
        expect: [{{not: {{satisfy: The agent is rude}}}}, {{command: ./check}}]
    expect: [{{goal_achieved: stated}}]
"
    ))
}

/// What is open, as the driver sees it.
enum Open {
    Simulator,
    Agent,
    Tool,
    Judge(Box<JudgeRequest>),
    Check,
    Deadline,
}

#[derive(Default)]
struct Model {
    open: Vec<(RequestId, Open)>,
    events: Vec<Body>,
    verdicts: Vec<ConversationOutcome>,
    cancelled: bool,
}

impl Model {
    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            assert!(self.verdicts.is_empty(), "nothing follows the verdict: {effect:?}");
            match effect {
                Effect::Emit(body) => self.events.push(body),
                Effect::AskSimulator { id, .. } => self.open.push((id, Open::Simulator)),
                Effect::CallAgent { id, .. } => self.open.push((id, Open::Agent)),
                Effect::ExecuteTool { id, .. } => self.open.push((id, Open::Tool)),
                Effect::AskJudge { id, request } => self.open.push((id, Open::Judge(request))),
                Effect::RunCheck { id, .. } => self.open.push((id, Open::Check)),
                Effect::SetDeadline { id, .. } => self.open.push((id, Open::Deadline)),
                Effect::ClearDeadline { id } => self.open.retain(|(open, _)| *open != id),
                Effect::Finish(verdict) => self.verdicts.push(verdict),
                Effect::Pause(verdict) => panic!("a scripted conversation paused: {verdict:?}"),
            }
        }
    }

    /// Answers one open question; `choice` says which and how.
    fn answer(&mut self, choice: u8) -> Input {
        let waiting: Vec<usize> = (0..self.open.len())
            .filter(|index| !matches!(self.open[*index].1, Open::Deadline))
            .collect();
        let how = choice / 8;
        if how == 31 {
            self.cancelled = true;
            return Input::Cancel;
        }
        if how == 30 || waiting.is_empty() {
            let id = self.open.first().map_or(RequestId(0), |(id, _)| *id);
            return Input::DeadlineReached { id };
        }
        let index = waiting[usize::from(choice % 8) % waiting.len()];
        let (id, open) = self.open.remove(index);
        input(id, &open, how)
    }
}

fn input(id: RequestId, open: &Open, how: u8) -> Input {
    let message = "broken".to_owned();
    match open {
        Open::Simulator if how == 0 => Input::SimulatorFailed { id, message },
        Open::Simulator if how < 4 => Input::SimulatorAnswered { id, text: " ".into() },
        Open::Simulator => Input::SimulatorAnswered { id, text: "Go on".into() },
        Open::Agent if how == 0 => Input::AgentFailed { id, class: None, message },
        Open::Agent => Input::AgentAnswered { id, answer: agent(how) },
        Open::Tool if how == 0 => Input::ToolFailed { id, message },
        Open::Tool => {
            let result = if how < 4 { Err("no".into()) } else { Ok(json!(1)) };
            Input::ToolResult {
                id,
                outcome: ToolOutcome { result, duration_ms: None, metadata: None },
            }
        }
        Open::Judge(_) if how == 0 => Input::JudgeFailed { id, message },
        Open::Judge(_) if how < 4 => Input::JudgeAnswered { id, text: "pass: true".into() },
        Open::Judge(request) => Input::JudgeAnswered {
            id,
            text: verdicts(request, |question| well(how) != about_rudeness(question)),
        },
        Open::Check if how == 0 => Input::CheckFailed { id, message },
        Open::Check => Input::CheckResult { id, passed: well(how), message: None },
        Open::Deadline => Input::DeadlineReached { id },
    }
}

/// Whether a judge or a check is content.
fn well(how: u8) -> bool {
    !how.is_multiple_of(4)
}

fn about_rudeness(question: &JudgeQuestion) -> bool {
    matches!(question, JudgeQuestion::Criterion(criterion) if criterion.description.contains("rude"))
}

/// The model is worth something only if it can pass.
#[test]
fn it_passes_when_everybody_does_well() {
    let mut engine = Engine::new(sample());
    let mut model = Model::default();
    model.take(engine.step(Input::Begin { marks: crate::MarkKey::new([3; 32]) }));
    while !engine.is_finished() {
        let input = model.answer(9 * 8);
        model.take(engine.step(input));
    }
    assert_eq!(model.verdicts[0].status, Status::Passed, "{:?}", model.verdicts);
}

fn agent(how: u8) -> AgentAnswer {
    match how {
        1..=3 => AgentAnswer {
            pending_tool_calls: vec![call("a", json!({})), call("b", json!({}))],
            ..answer("")
        },
        4..=6 => AgentAnswer { tool_calls: vec![done("c", json!({}), json!(1))], ..answer("Hey") },
        7 => answer("bye"),
        8 => answer("forbidden"),
        _ => answer("Well then"),
    }
}

/// The rules that every stream of events keeps.
fn well_formed(events: &[Body]) {
    let mut turn = 0;
    let mut answered = 0;
    let mut simulating: Option<u32> = None;
    let mut topic: Option<String> = None;
    let mut calls = BTreeSet::new();
    for event in events {
        match event {
            Body::UserMessage(message) => {
                assert_eq!(message.turn_number, turn + 1);
                assert_eq!(answered, turn, "every turn but the last is answered");
                turn = message.turn_number;
                simulating = simulating.map(|count| count + 1);
            }
            Body::AgentResponse(response) => {
                assert_eq!(response.turn_number, turn);
                answered = turn;
            }
            Body::ToolCallStarted(call) => assert!(calls.insert(call.tool_call_id.clone())),
            Body::ToolCallCompleted(call) => assert!(calls.contains(&call.tool_call_id)),
            Body::TopicChanged(change) => {
                assert_eq!(change.from_topic, topic);
                topic = Some(change.to_topic.clone());
            }
            Body::SimulationStarted(_) => {
                assert!(simulating.is_none());
                simulating = Some(0);
            }
            Body::SimulationEnded(ended) => {
                assert_eq!(simulating.take(), Some(ended.turn_count));
                assert!(ended.turn_count <= MAX_TURNS);
            }
            _ => {}
        }
    }
    assert!(simulating.is_none(), "a simulation that began has ended");
}

/// Whether a hard check failed, whether one has no answer, and how many have one.
fn hard_verdicts(events: &[Body]) -> (bool, bool, u64) {
    let mut failed = false;
    let mut open = false;
    let mut answered = 0;
    for event in events {
        let passed = match event {
            Body::EvaluationRecorded(recorded) if recorded.mode.as_str() == "hard" => {
                recorded.passed
            }
            Body::InvariantEvaluated(checked)
                if checked.mode.as_ref().is_some_and(|mode| mode.as_str() == "hard") =>
            {
                Some(checked.passed)
            }
            _ => continue,
        };
        failed |= passed == Some(false);
        open |= passed.is_none();
        answered += u64::from(passed.is_some());
    }
    (failed, open, answered)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn it_always_ends_with_one_verdict(choices in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut engine = Engine::new(sample());
        let mut model = Model::default();
        model.take(engine.step(Input::Begin { marks: crate::MarkKey::new([3; 32]) }));
        let mut steps = 0;
        let mut choices = choices.into_iter();
        while !engine.is_finished() {
            // When the choices run out, everybody answers as one would wish.
            let input = model.answer(choices.next().unwrap_or(9 * 8));
            model.take(engine.step(input));
            steps += 1;
            prop_assert!(steps < 2000, "it never ends");
        }
        prop_assert_eq!(model.verdicts.len(), 1);
        for _ in 0..3 {
            let late = model.answer(80);
            prop_assert!(engine.step(late).is_empty());
        }
        well_formed(&model.events);
        let verdict = &model.verdicts[0];
        let (failed, open, answered) = hard_verdicts(&model.events);
        prop_assert_eq!(verdict.checks, answered, "{:?}", verdict);
        prop_assert_eq!(verdict.status == Status::Failed, failed, "{:?}", verdict);
        if verdict.status == Status::Passed {
            prop_assert!(!open && !model.cancelled);
            prop_assert!(verdict.fault.is_none());
        } else {
            prop_assert!(verdict.message.is_some());
        }
        // Without the judge neither topics nor goals are known.
        let lost = model.events.iter().any(|event| {
            matches!(event, Body::JudgeError(error) if error.operation.as_deref() != Some("evaluation"))
        });
        prop_assert!(!lost || verdict.status == Status::Inconclusive);
        let broke = model.events.iter().any(|event| matches!(event, Body::AgentError(_)));
        prop_assert!(!broke || verdict.status == Status::Errored);
    }
}
