use std::collections::BTreeSet;

use super::*;
use crate::testing::{EVERYTHING, folded};

const TALK: &str = r#"{"event_type":"ExampleStarted","run_id":"r","example_id":"a","time":"2026-01-22T10:30:00Z","path":["Booking","books"],"file":"./a.yaml"}
{"event_type":"UserMessage","example_id":"a","time":"2026-01-22T10:30:00Z","turn_number":1,"text":"my secret wish"}
{"event_type":"ToolCallCompleted","example_id":"a","time":"2026-01-22T10:30:01Z","turn_number":1,"tool_name":"find","arguments":{"q":"secret"},"result":"secret","duration_ms":5}
{"event_type":"ModelCall","example_id":"a","purpose":"judge","backend":"anthropic","model":"m-1","input_tokens":10,"output_tokens":4}
{"event_type":"AgentResponse","example_id":"a","time":"2026-01-22T10:30:02Z","turn_number":1,"text":"a secret answer","duration_ms":900}
{"event_type":"EvaluationRecorded","example_id":"a","mode":"soft","name":"polite","passed":true,"score":0.9,"reasoning":"secret reasons"}
{"event_type":"ExampleFinished","example_id":"a","time":"2026-01-22T10:30:03Z","status":"passed","duration_ms":3000}"#;

fn spans(traces: &Value) -> &Vec<Value> {
    traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap()
}

fn attribute<'a>(holder: &'a Value, key: &str) -> Option<&'a Value> {
    let all = holder["attributes"].as_array().unwrap();
    all.iter().find(|attribute| attribute["key"] == key).map(|attribute| &attribute["value"])
}

#[test]
fn one_trace_per_attempt_with_a_span_for_everything() {
    let traces = otlp_traces(&folded(TALK), false);
    let names: Vec<&str> =
        spans(&traces).iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Booking > books", "invoke_agent", "execute_tool find", "chat m-1"]);
    let root = &spans(&traces)[0];
    assert_eq!(attribute(root, "test.case.result.status").unwrap()["stringValue"], "pass");
    assert_eq!(root["events"][0]["name"], "gen_ai.evaluation.result");
    let score = attribute(&root["events"][0], "gen_ai.evaluation.score.value").unwrap();
    assert_eq!(score["doubleValue"], 0.9);
    for span in &spans(&traces)[1..] {
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&root["traceId"], &root["spanId"]));
    }
    let tokens = attribute(&spans(&traces)[3], "gen_ai.usage.input_tokens").unwrap();
    assert_eq!(tokens["intValue"], "10");
}

#[test]
fn what_was_said_stays_here_unless_it_is_asked_for() {
    let run = folded(TALK);
    assert!(!otlp_traces(&run, false).to_string().contains("secret"));
    let with_content = otlp_traces(&run, true).to_string();
    for words in ["my secret wish", "a secret answer", "secret reasons", r#"{\"q\":\"secret\"}"#] {
        assert!(with_content.contains(words), "{words}: {with_content}");
    }
}

#[test]
fn ids_and_times_are_what_the_form_demands() {
    let traces = otlp_traces(&folded(EVERYTHING), true);
    let mut seen = BTreeSet::new();
    for span in spans(&traces) {
        let hex = |key: &str, length: usize| {
            let id = span[key].as_str().unwrap();
            assert!(id.len() == length && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
            id.to_owned()
        };
        assert!(seen.insert((hex("traceId", 32), hex("spanId", 16))), "two spans of one id");
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
    }
    assert_eq!(otlp_traces(&folded(EVERYTHING), true), traces, "the same ids every time");
}
