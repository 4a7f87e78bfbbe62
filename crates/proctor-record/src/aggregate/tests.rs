use proctor_events::{
    AgentResponse, Json, Millis, Progress, SimulationEnded, SimulationStarted, TerminationReason,
    ToolCallCompleted, ToolCallStarted, TopicChanged, UserMessage,
};
use proptest::prelude::*;

use super::*;
use crate::reader::{Entry, Reader};
use crate::tally::Tally;

fn fold(events: &[Event]) -> RunData {
    let mut aggregator = Aggregator::default();
    for event in events {
        aggregator.apply(event);
    }
    aggregator.into_run()
}

fn lines(text: &str) -> RunData {
    let mut aggregator = Aggregator::default();
    for entry in Reader::new(text.as_bytes()) {
        match entry {
            Entry::Event { event, .. } => aggregator.apply(&event),
            Entry::Problem(problem) => panic!("{problem}"),
        }
    }
    aggregator.into_run()
}

/// The data flow of the observer design, section 10, folded.
#[test]
fn the_flow_of_the_seed() {
    let run = lines(include_str!("../../tests/seed_flow.jsonl"));
    let example = &run.examples[0];
    assert_eq!(example.title(), "BookingAgent > books venue");
    let attempt = &example.attempts[0];
    assert_eq!(attempt.status, Some(Status::Passed));
    assert_eq!(attempt.duration_ms, Some(Millis::new(4523.0)));
    let conversation = attempt.conversation.as_ref().unwrap();
    assert_eq!(
        conversation.simulations[0].termination_reason,
        Some(TerminationReason::StopCondition)
    );
    let turn = &conversation.turns[0];
    assert_eq!(turn.user.as_ref().unwrap().text, "Hi, I need a venue");
    assert_eq!(turn.responses[0].pending_tool_calls.len(), 1);
    assert_eq!(turn.tool_calls[0].result.as_ref().unwrap().text(), "\"Found 3 venues\"");
    assert_eq!(turn.topic.as_deref(), Some("greeting"));
    assert_eq!(attempt.evaluations[0].passed, Some(true));
    assert_eq!(run.summary().passed, 1);
    assert!(run.finished_at.is_some());
}

/// An example without a description gets one while it runs; a second attempt in the same worker no longer says it at its start.
#[test]
fn a_generated_description_ends_the_chain() {
    let started = r#"{"event_type":"ExampleStarted","example_id":"a","path":["Stack"],"description":"example at ./a_spec.rb:3","full_description":"Stack ","attempt":N}
"#;
    let finished = r#"{"event_type":"ExampleFinished","example_id":"a","status":"failed","description":"is expected to NAME","full_description":"Stack is expected to NAME","attempt":N}
"#;
    let started = |attempt: &str| started.replace('N', attempt);
    let finished = |attempt: &str, name: &str| {
        finished.replace("NAME", name).replace(":N", &format!(":{attempt}"))
    };
    let title = |text: &str| {
        let run = lines(text);
        (run.examples[0].title(), run.examples[0].description.clone().unwrap())
    };
    let mut text = started("1");
    assert_eq!(title(&text), ("Stack".into(), "example at ./a_spec.rb:3".into()));
    text += &finished("1", "be empty");
    let named = ("Stack > is expected to be empty".into(), "is expected to be empty".into());
    assert_eq!(title(&text), named);
    text += &started("2");
    assert_eq!(title(&text), named);
    text += r#"{"event_type":"ExampleFinished","example_id":"a","status":"passed","attempt":2}"#;
    text += "\n";
    assert_eq!(title(&text), named);
    text += &finished("3", "eq 4");
    assert_eq!(title(&text).0, "Stack > is expected to eq 4", "the last name counts");
}

#[test]
fn the_topic_of_a_turn_is_the_one_it_ends_in_and_carries_on() {
    let mut events: Vec<Event> = Vec::new();
    for number in 1..=3 {
        let text = format!("turn {number}");
        events.push(UserMessage { turn_number: number, text, ..Default::default() }.into());
        if number == 2 {
            let to_topic = "booking".into();
            events.push(TopicChanged { turn_number: 2, to_topic, ..Default::default() }.into());
        }
    }
    let run = fold(&events);
    let turns = &run.examples[0].attempts[0].conversation.as_ref().unwrap().turns;
    let topics: Vec<Option<&str>> = turns.iter().map(|turn| turn.topic.as_deref()).collect();
    assert_eq!(topics, [None, Some("booking"), Some("booking")]);
}

#[test]
fn same_named_tool_calls_are_paired_by_id() {
    let started = |id: &str| {
        Event::from(ToolCallStarted {
            turn_number: 1,
            tool_call_id: Some(id.into()),
            tool_name: "search".into(),
            ..Default::default()
        })
    };
    let completed = |id: &str, error: &str| {
        Event::from(ToolCallCompleted {
            turn_number: 1,
            tool_call_id: Some(id.into()),
            tool_name: "search".into(),
            error: Some(error.into()),
            ..Default::default()
        })
    };
    let run = fold(&[started("a"), started("b"), completed("b", "B"), completed("a", "A")]);
    let calls = &run.examples[0].attempts[0].conversation.as_ref().unwrap().turns[0].tool_calls;
    let pairs: Vec<_> = calls.iter().map(|c| (c.id.as_deref(), c.error.as_deref())).collect();
    assert_eq!(pairs, [(Some("a"), Some("A")), (Some("b"), Some("B"))]);
}

#[test]
fn a_pass_after_a_failure_is_flaky_and_counts_once() {
    let finished = |attempt, status| {
        let event = Event::from(ExampleFinished { status, ..Default::default() });
        event.about(&"x".into()).in_attempt(1, attempt)
    };
    let summary = fold(&[finished(1, Status::Failed), finished(2, Status::Passed)]).summary();
    assert_eq!((summary.examples, summary.passed, summary.flaky), (1, 1, 1));
    assert_eq!((summary.failed, summary.attempts), (0, 2));
}

#[test]
fn long_output_keeps_its_end() {
    let log =
        |n: usize| Event::from(WorkerLog { line: n.to_string(), stream: None }).about(&"x".into());
    let events: Vec<Event> = (0..MAX_LOG_LINES * 3).map(log).collect();
    let run = fold(&events);
    let attempt = &run.examples[0].attempts[0];
    assert!(attempt.output.len() <= MAX_LOG_LINES);
    assert_eq!(attempt.output.last().unwrap().line, (MAX_LOG_LINES * 3 - 1).to_string());
    assert_eq!(attempt.output.len() as u64 + attempt.output_dropped, events.len() as u64);
}

fn lifecycle() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(SuiteStarted { seed: Some(7), ..Default::default() }.into()),
        Just(SuiteFinished { example_count: 2, ..Default::default() }.into()),
        Just(ExampleStarted { path: vec!["A".into(), "b".into()], ..Default::default() }.into()),
        prop::sample::select(Status::KNOWN).prop_map(|word| ExampleFinished {
            status: word.into(),
            ..Default::default()
        }
        .into()),
        Just(WorkerStarted::default().into()),
        ".{0,8}".prop_map(|line| WorkerLog { line, stream: None }.into()),
        Just(ModelCall { cost_usd: Some(0.1), ..Default::default() }.into()),
        Just(Progress::default().into()),
    ]
}

fn conversation() -> impl Strategy<Value = Event> {
    let topic = prop::sample::select(vec!["greeting", "booking"]);
    let tool = prop::option::of(prop::sample::select(vec!["t1", "t2"]));
    let parts = (0_u32..4, ".{0,8}", topic, tool, 0..9);
    parts.prop_map(|(turn_number, text, topic, tool, kind)| {
        let (tool_call_id, tool_name) = (tool.map(Into::into), "s".to_owned());
        match kind {
            0 => UserMessage { turn_number, text, ..Default::default() }.into(),
            1 => {
                let call = Json::from(serde_json::json!({"name": "t1", "arguments": {"q": 1.5}}));
                AgentResponse { turn_number, text, tool_calls: vec![call], ..Default::default() }
                    .into()
            }
            2 => TopicChanged { turn_number, to_topic: topic.into(), ..Default::default() }.into(),
            3 => ToolCallStarted { turn_number, tool_call_id, tool_name, arguments: None }.into(),
            4 => ToolCallCompleted { turn_number, tool_call_id, tool_name, ..Default::default() }
                .into(),
            5 => SimulationStarted::default().into(),
            6 => SimulationEnded::default().into(),
            7 => EvaluationRecorded { score: Some(0.3), ..Default::default() }.into(),
            _ => AgentError { message: text, ..Default::default() }.into(),
        }
    })
}

fn stream() -> impl Strategy<Value = Vec<Event>> {
    let id = prop::option::of(prop::sample::select(vec!["one", "two"]));
    let one = (prop_oneof![lifecycle(), conversation()], id, 1_u32..3, 1_u32..3, 0_u32..3)
        .prop_map(|(mut event, id, repeat, attempt, worker)| {
            event.example_id = id.map(ExampleId::from);
            event.in_attempt(repeat, attempt).from_worker(worker)
        });
    prop::collection::vec(one, 0..40).prop_map(|mut events| {
        for (seq, event) in (1..).zip(&mut events) {
            (event.v, event.seq, event.run_id) = (Some(1), Some(seq), Some("r".into()));
        }
        events
    })
}

proptest! {
    /// Replay is live: folding what was written gives what folding the events gave.
    #[test]
    fn folding_a_recording_equals_folding_live(events in stream()) {
        let text: String = events.iter().map(|event| event.to_json() + "\n").collect();
        prop_assert_eq!(lines(&text), fold(&events));
    }

    /// Every example that has an event is counted exactly once; what never ran is no attempt.
    #[test]
    fn the_summary_adds_up(events in stream()) {
        let run = fold(&events);
        let s = run.summary();
        let parts = s.passed + s.failed + s.pending + s.inconclusive + s.errored + s.crashed
            + s.timed_out + s.cancelled + s.not_run + s.running;
        prop_assert_eq!(parts, s.examples);
        prop_assert!(s.examples <= s.attempts + s.not_run && s.examples <= s.repetitions);
    }

    /// An outline says of every attempt what the whole says of it, and keeps nothing that was said.
    #[test]
    fn an_outline_has_the_numbers_of_the_whole(events in attempts()) {
        let (whole, outline) = (fold(&events), outlined(&events));
        prop_assert_eq!(numbers(&whole), numbers(&outline));
        for attempt in outline.examples.iter().flat_map(|example| &example.attempts) {
            prop_assert!(attempt.conversation.is_none() && attempt.evaluations.is_empty());
            prop_assert!(attempt.model_calls.is_empty() && attempt.output.is_empty());
        }
    }

    /// In whatever order things come, an outline agrees about results, checks, models and topics.
    #[test]
    fn an_outline_bears_any_order(events in stream()) {
        let (whole, outline) = (fold(&events), outlined(&events));
        prop_assert_eq!(whole.summary(), outline.summary());
        prop_assert_eq!(whole.event_count, outline.event_count);
        let all = |run: &RunData| -> Vec<Tally> {
            let attempts = run.examples.iter().flat_map(|example| &example.attempts);
            attempts.map(|attempt| Tally { tool_calls: 0, ..attempt.tally().into_owned() }).collect()
        };
        prop_assert_eq!(all(&whole), all(&outline));
    }
}

fn outlined(events: &[Event]) -> RunData {
    let mut aggregator = Aggregator::outline();
    for event in events {
        aggregator.apply(event);
    }
    aggregator.into_run()
}

/// Everything that rows and comparisons show.
fn numbers(run: &RunData) -> Vec<String> {
    let mut all = vec![format!("{:?}", run.summary())];
    for example in &run.examples {
        for attempt in &example.attempts {
            let message =
                attempt.exception.as_ref().map(|e| &e.message).or(attempt.message.as_ref());
            all.push(format!(
                "{:?} {} {} {} {:?} {:?} {} {} {:?} {message:?} {:?}",
                example.id,
                example.title(),
                attempt.repeat,
                attempt.attempt,
                attempt.status,
                attempt.worker,
                attempt.flaky,
                attempt.is_final,
                attempt.duration_ms,
                attempt.tally()
            ));
        }
    }
    all
}

/// Attempts that begin, go on and end, as suites tell them.
fn attempts() -> impl Strategy<Value = Vec<Event>> {
    let call = Just(Event::from(ModelCall {
        cost_usd: Some(0.1),
        input_tokens: Some(3),
        ..Default::default()
    }));
    let log = ".{0,8}".prop_map(|line| Event::from(WorkerLog { line, stream: None }));
    let content =
        prop::collection::vec(prop_oneof![8 => conversation(), 1 => call, 1 => log], 0..12);
    let id = prop::sample::select(vec!["one", "two"]);
    let one = (id, 1_u32..3, content, prop::sample::select(Status::KNOWN));
    prop::collection::vec(one, 0..6).prop_map(|all| {
        let mut events = Vec::new();
        for (attempt, (id, repeat, content, status)) in (1..).zip(all) {
            let start = ExampleStarted { path: vec!["A".into(), id.into()], ..Default::default() };
            let message = Some(status.repeat(3));
            let end = ExampleFinished { status: status.into(), message, ..Default::default() };
            let all = std::iter::once(start.into()).chain(content).chain([end.into()]);
            events.extend(all.map(|event: Event| {
                event.about(&id.into()).in_attempt(repeat, attempt).from_worker(attempt % 3)
            }));
        }
        events
    })
}

#[test]
fn an_example_that_is_missing_from_a_recording_fails_the_run() {
    let start = r#"{"event_type":"SuiteStarted","example_count":2,"repetition_count":2}"#;
    let result = |id: &str| {
        format!(r#"{{"event_type":"ExampleFinished","example_id":"{id}","status":"passed"}}"#)
    };
    let end = r#"{"event_type":"SuiteFinished","example_count":2,"failure_count":0,"exit_code":0,"state":"finished","repetition_count":2}"#;
    let run = |ids: &[&str]| {
        let results: Vec<String> = ids.iter().map(|id| result(id)).collect();
        lines(&format!("{start}\n{}\n{end}", results.join("\n")))
    };
    let mut whole = run(&["a", "b"]);
    assert_eq!(whole.verdict().word(), "passed");
    whole.select(|example| example.id == Some("a".into()));
    assert_eq!((whole.examples.len(), whole.verdict().word()), (1, "passed"), "it was there");
    let mut short = run(&["a"]);
    assert_eq!((short.verdict().word(), short.verdict().exit_code()), ("failed", Some(1)));
    short.select(|_| true);
    assert_eq!(short.verdict().word(), "failed");
}
