use super::*;
use crate::testing::folded;

const TALK: &str = r#"{"event_type":"ExampleStarted","run_id":"r","example_id":"a","path":["Booking","books"]}
{"event_type":"UserMessage","example_id":"a","time":"2026-01-22T10:30:00Z","turn_number":1,"text":"Hi","source":"simulator"}
{"event_type":"ToolCallStarted","example_id":"a","turn_number":1,"tool_call_id":"c1","tool_name":"find","arguments":{"n":1}}
{"event_type":"ToolCallCompleted","example_id":"a","turn_number":1,"tool_call_id":"c1","tool_name":"find","arguments":{"n":1},"result":["x"]}
{"event_type":"ToolCallCompleted","example_id":"a","turn_number":1,"tool_name":"ping","arguments":7,"error":"no"}
{"event_type":"ModelCall","example_id":"a","purpose":"agent","model":"m-1","input_tokens":10,"output_tokens":4,"cost_usd":0.5}
{"event_type":"ModelCall","example_id":"a","purpose":"judge","model":"j","input_tokens":99}
{"event_type":"AgentResponse","example_id":"a","turn_number":1,"text":"Booked"}
{"event_type":"EvaluationRecorded","example_id":"a","mode":"hard","name":"books","passed":true,"score":0.9}
{"event_type":"ExampleFinished","example_id":"a","status":"passed"}
{"event_type":"ExampleFinished","example_id":"silent","status":"passed"}"#;

#[test]
fn a_conversation_with_tools() {
    let text = serde_json::to_string_pretty(&trajectories(&folded(TALK))).unwrap();
    insta::assert_snapshot!(text);
}
