//! Saved conversations, judged again (D1 of the audit): with nothing changed, everything comes out the same.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proctor_converse::{
    Agent, AgentTurn, AttemptId, BoxFuture, Conversation, Failure, Parties, PartyAnswer, SavedCall,
    SavedConversation, SavedConversationBuilder, SavedConversations, Session, ToolSpec, Tools,
};
use proctor_dialogue::{
    AgentAnswer, ConversationOutcome, DoneCall, Example, ToolCall, ToolOutcome,
};
use proctor_events::{Body, Event, ExampleFinished, Exception, Status};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Collect, World};

/// Everything that a recording has to keep for a check to find the same again.
const SCENARIO: &str = r#"
describe: A
agent: {command: never started}
judge: {votes: 3}
models:
  judge: {verdicts: [{topic: two, seen: moved, because: so}, {topic: one, because: so}, {satisfied: false, seen: "rude|tool: b.* 3", because: bad}, {because: good}]}
  simulator: {script: [Go on, And then, One more]}
topics:
  one: {characteristic: first, next: [two], expect: [{expression: turn_count < 4}, {satisfy: The agent is kind}]}
  two: {characteristic: second, next: [one], evaluate: [{not: {match: rude}}]}
examples:
  - it: x
    steps:
      - user: Hi
        expect: [{not: {match: forbidden}}]
        evaluate: [{tool_order: [a, b]}, {cost_usd: {below: 1}}]
      - user: More
        evaluate: [{satisfy: The agent is polite}, {cost_usd: {below: 1}}]
      - simulate:
          goal: g
          max_turns: 3
          stop_when: [{response: bye}, goal_reached]
          every_turn: {expect: [{not: {called_tool: {name: b, with: {n: 7}}}}]}
        expect: [{expression: "tool_calls.all(c, c.result != 5)"}]
      - user: Last
    expect: [{latency_ms: {below: 60000}}]
"#;

/// An agent whose answers are chosen by numbers; what it does with ids is what programs do: it uses them again.
struct ChosenAgent(Arc<Mutex<std::vec::IntoIter<u8>>>);

impl Agent for ChosenAgent {
    fn open<'a>(&'a self, _: &'a AttemptId) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        let session: Box<dyn Session> = Box::new(Self(Arc::clone(&self.0)));
        Box::pin(std::future::ready(Ok(session)))
    }
}

impl Session for ChosenAgent {
    fn chat<'a>(&'a mut self, _: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        let choice = self.0.lock().unwrap().next().unwrap_or_default();
        let outcome = match choice {
            255 => Err(Failure::party("Broken", "HTTP 503")),
            choice => Ok(chosen_answer(choice)),
        };
        Box::pin(std::future::ready(PartyAnswer::plain(outcome)))
    }
}

fn chosen_answer(choice: u8) -> AgentAnswer {
    let call = |id: &str, name: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: json!({"n": choice % 8}),
    };
    let made = |id: &str, name: &str| DoneCall {
        call: call(id, name),
        result: Some(json!(choice)),
        ..DoneCall::default()
    };
    let texts = ["Hello", "rude", "moved", "bye", "Well", "forbidden", "So", ""];
    let base = AgentAnswer {
        text: texts[usize::from(choice / 8 % 8)].into(),
        cost_usd: (!choice.is_multiple_of(5)).then_some(f64::from(choice % 5) / 4.0),
        duration_ms: Some(f64::from(choice) + 0.123_456_7),
        ..AgentAnswer::default()
    };
    match choice % 11 {
        0 => AgentAnswer { tool_calls: vec![made("1", "a"), made("2", "b")], ..base },
        1 => AgentAnswer { tool_calls: vec![made("", "b")], ..base },
        2 => AgentAnswer { pending_tool_calls: vec![call("1", "a"), call("1", "b")], ..base },
        3 => AgentAnswer { pending_tool_calls: vec![call("", "b")], ..base },
        4 => AgentAnswer { pending_tool_calls: vec![call("1", "b")], ends_turn: true, ..base },
        5 => AgentAnswer {
            tool_calls: vec![made("1", "a")],
            pending_tool_calls: vec![call("1", "b"), call("2", "a")],
            ..base
        },
        _ => base,
    }
}

/// Tools that never answer the same twice.
#[derive(Default)]
struct CountingTools(AtomicUsize);

impl Tools for CountingTools {
    fn specs(&self) -> BoxFuture<'_, Result<Arc<[ToolSpec]>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new().into())))
    }

    fn call<'a>(
        &'a self,
        _: &'a ToolCall,
        _: &'a AttemptId,
    ) -> BoxFuture<'a, Result<ToolOutcome, Failure>> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        let result = match number {
            9 => return Box::pin(async { Err(Failure::party("Gone", "no such server")) }),
            number if number % 4 == 2 => Err(format!("not now ({number})")),
            number => Ok(json!(number)),
        };
        Box::pin(async move { Ok(ToolOutcome { result, duration_ms: Some(1.5), metadata: None }) })
    }
}

fn attempt_id(example: &Example) -> AttemptId {
    AttemptId { example: example.id.id.clone(), repeat: 1, attempt: 1 }
}

/// Conducts a conversation; what it emits goes through JSON, as in a recording.
fn conduct(example: &Arc<Example>, parties: Parties) -> (ConversationOutcome, Vec<Body>) {
    let mut conversation =
        Conversation::new(Arc::clone(example), Arc::new(parties), attempt_id(example));
    let mut sink = Collect::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let verdict = runtime.block_on(conversation.run(&mut sink));
    let recorded = sink.0.into_iter().filter(|body| !matches!(body, Body::ModelCall(_)));
    let through_json = |body| Event::from_json(&Event::new(body).to_json()).unwrap().body;
    (verdict, recorded.map(through_json).collect())
}

/// As the runner records a verdict.
fn finished(verdict: &ConversationOutcome) -> ExampleFinished {
    let told = matches!(verdict.status, Status::Failed | Status::Errored | Status::Inconclusive);
    let message = verdict.message.clone();
    let exception =
        Exception { message: message.clone().unwrap_or_default(), ..Exception::default() };
    ExampleFinished {
        status: verdict.status.clone(),
        fault: verdict.fault.clone(),
        exception: told.then_some(exception),
        message: message.filter(|_| !told),
        ..ExampleFinished::default()
    }
}

fn saved(verdict: &ConversationOutcome, events: &[Body]) -> SavedConversation {
    let mut builder = SavedConversationBuilder::default();
    for body in events {
        builder.add(body);
    }
    builder.finish(Some(&finished(verdict)))
}

fn parties(example: &Arc<Example>) -> Parties {
    let registry = World::new().registry(std::slice::from_ref(example));
    (**registry.parties_of(example).unwrap()).clone()
}

fn held(example: &Arc<Example>, choices: Vec<u8>) -> (ConversationOutcome, Vec<Body>) {
    let agent = Arc::new(ChosenAgent(Arc::new(Mutex::new(choices.into_iter()))));
    let tools = Arc::new(CountingTools::default());
    conduct(example, Parties { agent, tools, ..parties(example) })
}

fn judged_again(
    example: &Arc<Example>,
    conversation: SavedConversation,
) -> (ConversationOutcome, Vec<Body>) {
    let saved = Arc::new(SavedConversations::new([(attempt_id(example), conversation)]));
    let (agent, simulator, tools) = (saved.clone(), saved.clone(), saved);
    conduct(example, Parties { agent, simulator, tools, ..parties(example) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn d1_what_is_judged_again_with_nothing_changed_comes_out_the_same(
        choices in proptest::collection::vec(any::<u8>(), 0..24),
    ) {
        let example = World::examples(SCENARIO).remove(0);
        let (verdict, events) = held(&example, choices);
        let (again, same_events) = judged_again(&example, saved(&verdict, &events));
        prop_assert_eq!(&again, &verdict);
        let shown = |events: &[Body]| -> Vec<String> {
            events.iter().map(|body| Event::new(body.clone()).to_json()).collect()
        };
        prop_assert_eq!(shown(&same_events), shown(&events));
    }
}

/// The property is worth something only if its conversations end in many ways.
#[test]
fn the_conversations_of_the_property_end_in_many_ways() {
    let example = World::examples(SCENARIO).remove(0);
    let mut ends = std::collections::BTreeSet::new();
    for first in 0..=255_u8 {
        let mut next = u32::from(first);
        let choices = (0..24).map(|_| {
            next = next.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            u8::try_from(next >> 16 & 0xff).unwrap()
        });
        let (verdict, _) = held(&example, choices.collect());
        let fault = verdict.fault.map(|fault| fault.to_string());
        ends.insert(format!("{} {}", verdict.status, fault.unwrap_or_default()));
    }
    let (verdict, _) = held(&example, vec![0, 6, 6 + 11 * 2]);
    ends.insert(verdict.status.to_string());
    assert!(ends.len() >= 3, "{ends:?}");
    assert!(ends.contains("failed agent") && ends.contains("errored agent"), "{ends:?}");
}

fn simple(expect: &str) -> Arc<Example> {
    World::examples(&format!(
        "describe: A\nagent: {{script: [Hello, Bye]}}\nexamples: [{{it: x, steps: [{{user: a, expect: [{expect}]}}, {{user: b}}]}}]\n"
    ))
    .remove(0)
}

#[test]
fn d1_a_corrected_criterion_whose_conversation_is_too_short_is_inconclusive() {
    let wrong = simple("{match: Never}");
    let (verdict, events) = conduct(&wrong, parties(&wrong));
    assert_eq!(verdict.status, Status::Failed);
    let right = simple("{match: Hello}");
    let (again, _) = judged_again(&right, saved(&verdict, &events));
    let fault = again.fault.map(|fault| fault.to_string());
    assert_eq!((again.status, fault.as_deref()), (Status::Inconclusive, Some("harness")));
}

#[test]
fn d1_an_id_that_is_used_again_has_its_own_result_each_time() {
    let events = |turn: u32, result: Value| {
        let call = json!({"id": "1", "name": "a", "arguments": {}});
        [
            json!({"event_type": "UserMessage", "turn_number": turn, "text": "u", "source": "script"}),
            json!({"event_type": "AgentResponse", "turn_number": turn, "text": "", "tool_calls": [], "pending_tool_calls": [call]}),
            json!({"event_type": "ToolCallStarted", "turn_number": turn, "tool_call_id": "1", "tool_name": "a", "arguments": {}}),
            json!({"event_type": "ToolCallCompleted", "turn_number": turn, "tool_call_id": "1", "tool_name": "a", "result": result}),
            json!({"event_type": "AgentResponse", "turn_number": turn, "text": "t", "tool_calls": [], "pending_tool_calls": [], "cost_usd": 0.5}),
        ]
    };
    let mut builder = SavedConversationBuilder::default();
    for event in events(1, json!("first")).into_iter().chain(events(2, json!("second"))) {
        builder.add(&Event::from_json(&event.to_string()).unwrap().body);
    }
    let conversation =
        builder.finish(Some(&ExampleFinished { status: Status::Passed, ..Default::default() }));
    let answered = |result| {
        SavedCall::Answered(ToolOutcome {
            result: Ok(json!(result)),
            duration_ms: None,
            metadata: None,
        })
    };
    assert_eq!(conversation.tools["1"], [answered("first"), answered("second")]);
    let ends: Vec<bool> = conversation.answers.iter().map(|answer| answer.ends_turn).collect();
    assert_eq!(ends, [false; 4]);
    assert_eq!(conversation.answers[1].cost_usd, Some(0.5));
}

/// Recordings of older versions do not say it; a turn that went on without an answer does.
#[test]
fn d1_a_turn_that_ended_with_its_tools_ends_so_again() {
    let lines = [
        json!({"event_type": "UserMessage", "turn_number": 1, "text": "u"}),
        json!({"event_type": "AgentResponse", "turn_number": 1, "text": "", "tool_calls": [], "pending_tool_calls": [{"id": "1", "name": "a", "arguments": {}}]}),
        json!({"event_type": "ToolCallStarted", "turn_number": 1, "tool_call_id": "1", "tool_name": "a"}),
        json!({"event_type": "ToolCallCompleted", "turn_number": 1, "tool_call_id": "1", "tool_name": "a", "result": 1}),
    ];
    let ends = |status: Status, next: bool| {
        let mut builder = SavedConversationBuilder::default();
        let more = json!({"event_type": "UserMessage", "turn_number": 2, "text": "u"});
        for line in lines.iter().chain(next.then_some(&more)) {
            builder.add(&Event::from_json(&line.to_string()).unwrap().body);
        }
        let conversation = builder.finish(Some(&ExampleFinished { status, ..Default::default() }));
        conversation.answers[0].ends_turn
    };
    assert!(ends(Status::Passed, false));
    assert!(ends(Status::Cancelled, true));
    assert!(!ends(Status::Cancelled, false), "it was waiting for the agent");
}

/// A tool that could not be called ended the conversation, also where the turn was to end with its tools.
#[test]
fn d1_a_tool_that_failed_fails_again() {
    let example = World::examples(SCENARIO).remove(0);
    let (verdict, events) = held(&example, vec![102, 13, 189, 60, 123, 26]);
    assert_eq!(
        verdict.fault.as_ref().map(proctor_events::Fault::as_str),
        Some("tool"),
        "{verdict:?}"
    );
    let (again, same_events) = judged_again(&example, saved(&verdict, &events));
    assert_eq!((again, same_events), (verdict, events));
}

#[test]
fn d1_every_example_is_judged_as_often_as_it_was_held() {
    let at = |example: &str, repeat, attempt| {
        let example = proctor_events::ExampleId::new(example.to_owned());
        (AttemptId { example, repeat, attempt }, SavedConversation::default())
    };
    let saved =
        SavedConversations::new([at("a", 1, 1), at("b", 1, 1), at("b", 2, 1), at("b", 2, 2)]);
    let repeats = |id: &str| saved.repeats(&proctor_events::ExampleId::new(id.to_owned()));
    assert_eq!((repeats("a"), repeats("b"), repeats("c")), (Some(1), Some(2), None));
    assert_eq!(saved.most_attempts(), 2);
}
