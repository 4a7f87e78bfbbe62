//! Recordings as tests draw them: events of several examples, repetitions, attempts, workers and runs, in any order, with lines that are no events.
//! Tests of other crates include this file.

use proptest::prelude::*;

/// Bodies of events; `~` is replaced by a number.
const BODIES: &[&str] = &[
    r#""event_type":"SuiteStarted","seed":~,"example_count":3,"policy":{"flaky_fails":true}"#,
    r#""event_type":"ExampleStarted","path":["A","b~"],"file":"./a_spec.rb","location":"./a_spec.rb:~","tags":[],"pass_rate":0.5"#,
    r#""event_type":"ExampleFinished","status":"passed","final":true,"checks":~"#,
    r#""event_type":"ExampleFinished","status":"failed","final":false,"exception":{"message":"m~"}"#,
    r#""event_type":"ExampleFinished","status":"errored","fault":"judge","description":"late ~""#,
    r#""event_type":"ExampleFailed","message":"older","duration":0.~"#,
    r#""event_type":"UserMessage","turn_number":~,"text":"hi ~""#,
    r#""event_type":"AgentResponse","turn_number":1,"text":"yes\n~""#,
    r#""event_type":"ToolCallStarted","turn_number":1,"tool_call_id":"~","tool_name":"t""#,
    r#""event_type":"ToolCallCompleted","turn_number":1,"tool_call_id":"~","tool_name":"t","result":{"a":[~]}"#,
    r#""event_type":"TopicChanged","turn_number":1,"to_topic":"t~""#,
    r#""event_type":"EvaluationRecorded","mode":"hard","passed":true,"score":0.~"#,
    r#""event_type":"InvariantEvaluated","passed":false,"description":"~""#,
    r#""event_type":"ModelCall","cost_usd":0.~,"purpose":"agent""#,
    r#""event_type":"WorkerLog","line":"line ~","stream":"stderr""#,
    r#""event_type":"WorkerStarted","pid":~"#,
    r#""event_type":"WorkerExited","expected":false"#,
    r#""event_type":"ErrorOutsideExample","message":"outside ~""#,
    r#""event_type":"JudgeError","message":"judge ~""#,
    r#""event_type":"AgentError","message":"agent ~""#,
    r#""event_type":"SimulationStarted","goal":"g~""#,
    r#""event_type":"SimulationEnded","turn_count":~,"termination_reason":"goal_met""#,
    r#""event_type":"Progress","completed":1,"total":2,"failures":~"#,
    r#""event_type":"GroupStarted","path":["A"]"#,
    r#""event_type":"FromTheFuture","x":~"#,
    r#""event_type":"ExampleStarted","suite":"workspace","path":["W","<~>&\"]]>\n      },\n"],"location":"./b_spec.rb:1""#,
    r#""event_type":"EvaluationRecorded","mode":"soft","evaluation_type":"workspace_coverage","metadata":{"topics":{"covered":["t~"],"missing":["u"]}}"#,
    r#""event_type":"EvaluationRecorded","mode":"hard","description":"held","passed":false,"failure_message":"`~` | </testcase>\n""#,
    r#""event_type":"ExampleFinished","status":"pending","message":"later ~","file":"./c_spec.rb""#,
    r#""event_type":"ExampleFinished","status":"passed","flaky":true,"duration_ms":~"#,
    r#""event_type":"ExampleFinished","status":"crashed","signal":~,"output_tail":["\u001b[31m~"]"#,
    r#""event_type":"SuiteFinished","example_count":3,"failure_count":0,"exit_code":0,"state":"finished""#,
];

/// A line of a recording.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    /// Body, number in it, example, repetition, worker, run.
    Event(usize, u8, Option<u8>, Option<u8>, Option<u8>, Option<u8>),
    Broken,
    Blank,
}

pub(crate) fn line() -> impl Strategy<Value = Line> {
    let some = |limit: u8| prop::option::weighted(0.9, 0..limit);
    let event = (0..BODIES.len(), 1..9_u8, some(4), some(2), some(3), some(2));
    prop_oneof![
        30 => event.prop_map(|(body, number, example, repeat, worker, run)| {
            Line::Event(body, number, example, repeat, worker, run.map(|run| run / 2))
        }),
        1 => Just(Line::Broken),
        1 => Just(Line::Blank),
    ]
}

/// The text of these lines.
pub(crate) fn written(lines: &[Line]) -> String {
    let mut text = String::new();
    for (place, line) in lines.iter().enumerate() {
        match line {
            Line::Broken => text += "{\"event_type\":oops\n",
            Line::Blank => text += "\r\n",
            Line::Event(body, number, example, repeat, worker, run) => {
                let field = |name: &str, value: Option<u8>| {
                    value.map(|value| format!("\"{name}\":\"{value}\",")).unwrap_or_default()
                };
                let count = |name: &str, value: Option<u8>| {
                    value.map(|value| format!("\"{name}\":{},", value + 1)).unwrap_or_default()
                };
                // A third says nothing: first attempts.
                let attempt = number.checked_rem(3).filter(|attempt| *attempt > 0);
                text += &format!(
                    "{{\"v\":1,\"seq\":{},{}\"time\":\"2026-01-22T10:30:00.{place:06}Z\",{}{}{}{}{}}}\n",
                    place + 1,
                    field("run_id", *run),
                    field("example_id", *example),
                    count("repeat", *repeat),
                    count("attempt", attempt),
                    count("worker", *worker),
                    BODIES[*body].replace('~', &number.to_string()),
                );
            }
        }
    }
    text
}
