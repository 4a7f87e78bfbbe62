use serde_json::json;

use super::*;
use crate::request::{Message, ToolChoice, ToolResult, ToolSpec};

fn conversation() -> Request {
    let call = ToolCall { id: "c1".into(), name: "find".into(), arguments: json!({"town": "Ulm"}) };
    let result = ToolResult { call_id: "c1".into(), content: "two".into(), is_error: true };
    Request {
        system: Some("Be brief.".into()),
        messages: vec![
            Message::user("A venue?"),
            Message::calls("", vec![call]),
            Message { text: "and?".into(), ..Message::results(vec![result]) },
        ],
        tools: vec![ToolSpec {
            name: "find".into(),
            description: "Finds.".into(),
            input_schema: json!({"type": "object"}),
        }],
        tool_choice: ToolChoice::Named("find".into()),
        max_tokens: Some(50),
        temperature: Some(0.5),
        seed: Some(7),
        stop: vec!["END".into()],
        ..Request::default()
    }
}

fn encode(dialect: Dialect, stream: bool) -> Value {
    let extra = json!({"extra": 1});
    let extra = extra.as_object().unwrap();
    let options = EncodeOptions { model: "m", stream, completion_limit: false, extra };
    dialect.encode(&conversation(), &options)
}

#[test]
fn anthropic_is_written_as_documented() {
    assert_eq!(
        encode(Dialect::Anthropic, true),
        json!({
            "model": "m", "max_tokens": 50, "system": "Be brief.", "temperature": 0.5,
            "stop_sequences": ["END"], "stream": true, "extra": 1,
            "tools": [{"name": "find", "description": "Finds.", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "tool", "name": "find"},
            "messages": [
                {"role": "user", "content": "A venue?"},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c1", "name": "find", "input": {"town": "Ulm"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "two", "is_error": true},
                    {"type": "text", "text": "and?"}]},
            ],
        })
    );
}

#[test]
fn chat_completions_are_written_as_documented() {
    assert_eq!(
        encode(Dialect::OpenAi, true),
        json!({
            "model": "m", "max_tokens": 50, "temperature": 0.5, "seed": 7, "stop": ["END"],
            "stream": true, "stream_options": {"include_usage": true}, "extra": 1,
            "tools": [{"type": "function", "function":
                {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}}],
            "tool_choice": {"type": "function", "function": {"name": "find"}},
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "A venue?"},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
                    "function": {"name": "find", "arguments": "{\"town\":\"Ulm\"}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "two"},
                {"role": "user", "content": "and?"},
            ],
        })
    );
    let plain = encode(Dialect::OpenAi, false);
    assert!(plain.get("stream").is_none() && plain.get("stream_options").is_none());
}

fn fold(dialect: Dialect, events: &[&str]) -> Result<AnswerParts, WireFault> {
    let mut fold = dialect.stream_decoder();
    for data in events {
        fold.event(&SseEvent { name: String::new(), data: (*data).into() })?;
    }
    fold.finish()
}

#[test]
fn tool_calls_come_in_pieces() {
    let expected = [ToolCall { id: "c1".into(), name: "find".into(), arguments: json!({"a": 1}) }];
    let parts = fold(Dialect::Anthropic, &[
        r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1,"cache_read_input_tokens":4}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"find","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":12}}"#,
        r#"{"type":"message_stop"}"#,
    ]).unwrap();
    assert_eq!(
        (&parts.tool_calls[..], parts.text.as_str(), &parts.stop),
        (&expected[..], "", &StopReason::ToolUse)
    );
    let usage = parts.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (9, 12, 4));
    let parts = fold(Dialect::OpenAi, &[
        r#"{"model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"find","arguments":"{\"a\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        "[DONE]",
    ]).unwrap();
    assert_eq!((&parts.tool_calls[..], &parts.stop), (&expected[..], &StopReason::ToolUse));
    let usage = parts.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (5, 3, 4));
}

#[test]
fn streams_that_go_wrong_are_told_apart() {
    let kind = |dialect, events: &[&str]| fold(dialect, events).unwrap_err().kind;
    let start = r#"{"type":"message_start","message":{"model":"m"}}"#;
    assert_eq!(kind(Dialect::Anthropic, &[start]), ErrorKind::Truncated);
    assert_eq!(kind(Dialect::Anthropic, &[start, "{"]), ErrorKind::Malformed);
    let orphan = r#"{"type":"content_block_delta","index":3,"delta":{"text":"x"}}"#;
    assert_eq!(kind(Dialect::Anthropic, &[orphan]), ErrorKind::Malformed);
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(kind(Dialect::Anthropic, &[start, error]), ErrorKind::Overloaded);
    let piece = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    assert_eq!(kind(Dialect::OpenAi, &[piece]), ErrorKind::Truncated);
    let error = r#"{"error":{"code":"rate_limit_exceeded","message":"slow"}}"#;
    assert_eq!(kind(Dialect::OpenAi, &[piece, error]), ErrorKind::RateLimited);
    let ended = r#"{"choices":[{"delta":{"content":"b"},"finish_reason":"length"}]}"#;
    let parts = fold(Dialect::OpenAi, &[piece, ended]).unwrap();
    assert_eq!((parts.text.as_str(), parts.stop), ("ab", StopReason::MaxTokens));
}

#[test]
fn bodies_of_another_shape_are_malformed() {
    for body in [
        json!({}),
        json!([]),
        json!({"content": "text"}),
        json!({"choices": []}),
        json!({"choices": [{}]}),
        json!(null),
    ] {
        for dialect in [Dialect::Anthropic, Dialect::OpenAi] {
            assert_eq!(dialect.decode(&body).unwrap_err().kind, ErrorKind::Malformed, "{body}");
        }
    }
    let inside = json!({"error": {"type": "authentication_error", "message": "no"}});
    assert_eq!(Dialect::Anthropic.decode(&inside).unwrap_err().kind, ErrorKind::Refused);
    assert_eq!(error_text(&json!({"error": "plain"})).unwrap(), "plain");
    assert_eq!(error_text(&json!({"detail": "other"})).unwrap(), "other");
}

#[test]
fn arguments_that_are_no_json_are_kept_as_text() {
    assert_eq!(arguments(""), json!({}));
    assert_eq!(arguments("{\"a\":"), json!("{\"a\":"));
    let message = |arguments: Value| {
        json!({"choices": [{"message": {"content": [{"type": "text", "text": "x"}],
        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": arguments}}]}}]})
    };
    let parts = Dialect::OpenAi.decode(&message(json!({"a": 1}))).unwrap();
    assert_eq!(
        (parts.tool_calls[0].arguments.clone(), parts.text.as_str()),
        (json!({"a": 1}), "x")
    );
}
