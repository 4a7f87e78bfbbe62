//! Agents under test behind a mapping of their own.

use std::time::Duration;

use proctor_llm::{
    ErrorKind, MappedAgent, Mapping, Message, Model, ModelError, Purpose, Request, StopReason,
    ToolCallPaths, Usage,
};
use proctor_redact::Secret;
use serde_json::{Value, json};

use crate::server::{Reaction, Server};

fn turn(text: &str) -> Request {
    Request::ask(Purpose::Agent, text).in_conversation("ex1#1")
}

async fn fails(mapping: Mapping) -> ModelError {
    MappedAgent::new(mapping).unwrap().ask(&turn("Hi")).await.unwrap_err()
}

#[tokio::test]
async fn a_turn_is_written_and_read_as_the_mapping_says() {
    let server = Server::fixed(Reaction::json(200, &json!({
        "reply": {"text": "Which day?"}, "count": {"in": 3, "out": 4},
        "actions": [{"call": "find", "with": {"town": "Ulm"}}, {"call": "log", "with": "{\"a\":1}", "key": "k"}],
    }))).await;
    let mapping = Mapping {
        url: format!("{}/bots/${{lane}}?turn=${{turn}}", server.url),
        method: "PUT".into(),
        headers: vec![("x-auth".into(), "Key ${token}".into())],
        body: Some(
            json!({"say": "${message}", "all": "${messages}", "note": "turn ${turn} of ${model}", "n": "${turn}", "sys": "${system}"}),
        ),
        text: Some("/reply/text".into()),
        tool_calls: Some(ToolCallPaths {
            list: "/actions".into(),
            id: "/key".into(),
            name: "/call".into(),
            arguments: "/with".into(),
        }),
        usage: Some(("/count/in".into(), "/count/out".into())),
        secrets: [("token".to_owned(), Secret::new("s3cret-token"))].into(),
        ..Mapping::new("venue", "")
    };
    let agent = MappedAgent::new(mapping).unwrap();
    let mut request = turn("Hello");
    request.conversation = "ex1".into();
    request.messages.extend([Message::assistant("Yes?"), Message::user("A venue in Ulm")]);
    let answer = agent.ask(&request).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("Which day?", "venue"));
    assert_eq!(answer.stop, StopReason::ToolUse);
    assert_eq!(answer.usage, Some(Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() }));
    let calls: Vec<_> = answer
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.clone()))
        .collect();
    assert_eq!(calls, [("call_0", "find", json!({"town": "Ulm"})), ("k", "log", json!({"a": 1}))]);
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.path.as_str(), seen.header("x-auth")),
        ("/bots/ex1?turn=2", "Key s3cret-token")
    );
    assert_eq!(
        seen.body,
        json!({
            "say": "A venue in Ulm", "note": "turn 2 of venue", "n": 2, "sys": null,
            "all": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "A venue in Ulm"}],
        })
    );
    assert!(!format!("{agent:?}").contains("s3cret"), "debug output shows the token");
}

#[tokio::test]
async fn what_an_agent_hands_out_is_given_back_in_the_same_conversation() {
    let server = Server::reacting(|seen| {
        let session = seen.body["session"].as_u64().unwrap_or(40);
        Reaction::json(200, &json!({"text": "ok", "session": session + 1}))
    })
    .await;
    let mapping = Mapping {
        body: Some(json!({"session": "${session}"})),
        remember: [("session".to_owned(), "/session".to_owned())].into(),
        ..Mapping::new("a", &server.url)
    };
    let agent = MappedAgent::new(mapping).unwrap();
    for conversation in ["one", "one", "two"] {
        agent.ask(&turn("Hi").in_conversation(conversation)).await.unwrap();
    }
    agent.forget("one");
    agent.ask(&turn("Hi").in_conversation("one")).await.unwrap();
    let sent: Vec<_> = server.seen().iter().map(|seen| seen.body["session"].clone()).collect();
    assert_eq!(sent, [Value::Null, json!(41), Value::Null, Value::Null]);
}

#[tokio::test]
async fn plain_text_is_an_answer_where_the_mapping_says_so() {
    let server = Server::fixed(Reaction::new(200, "text/plain", "just words")).await;
    let mapping = Mapping { text: None, ..Mapping::new("a", &server.url) };
    let answer = MappedAgent::new(mapping).unwrap().ask(&turn("Hi")).await.unwrap();
    assert_eq!(answer.text, "just words");
}

#[tokio::test]
async fn failures_name_the_agent() {
    let server = Server::fixed(Reaction::json(500, &json!({"detail": "broke"}))).await;
    let error = fails(Mapping::new("venue", &server.url)).await;
    assert_eq!(error.kind, ErrorKind::Overloaded);
    assert_eq!(
        error.message,
        format!("agent `venue` at {}/ failed on its side (HTTP 500): broke", server.url)
    );

    let server =
        Server::fixed(Reaction::json(200, &json!({"text": null, "problem": "no db"}))).await;
    let error = fails(Mapping::new("venue", &server.url)).await;
    assert!(error.message.contains("answered without anything at `/text`"), "{error}");
    assert!(error.message.contains("no db"), "it shows what came instead: {error}");
    let wrong = Mapping { text: Some("text".into()), ..Mapping::new("venue", &server.url) };
    let error = MappedAgent::new(wrong).unwrap_err();
    assert!(error.message.ends_with("`text` is not a JSON pointer; write `/text`"), "{error}");
    let error =
        fails(Mapping { error: Some("/problem".into()), ..Mapping::new("venue", &server.url) })
            .await;
    assert!(error.message.ends_with("reported an error: no db"), "{error}");

    let slow = Reaction::json(200, &json!({"text": "x"})).dripping(Duration::from_secs(5));
    let server = Server::fixed(slow).await;
    let error =
        fails(Mapping { timeout: Duration::from_millis(80), ..Mapping::new("venue", &server.url) })
            .await;
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
}

#[tokio::test]
async fn a_hole_in_a_template_is_not_sent() {
    let server = Server::fixed(Reaction::json(200, &json!({"text": "x"}))).await;
    let error =
        fails(Mapping { body: Some(json!("${nobody}")), ..Mapping::new("venue", &server.url) })
            .await;
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(
        error.message.starts_with("the mapping of agent `venue`: `${nobody}` is not defined"),
        "{error}"
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_streamed_answer_is_put_together_and_its_first_piece_timed() {
    let events = Reaction::events(&[
        ("start", json!({"session": 7})),
        ("word", json!({"say": "Which "})),
        ("word", json!({"say": "day?", "tool_calls": [{"name": "find"}]})),
        ("end", json!("[DONE]")),
    ]);
    let server = Server::fixed(events.dripping(Duration::from_millis(30))).await;
    let mapping = Mapping {
        delta: Some("/say".into()),
        tool_calls: Some(ToolCallPaths::default()),
        ..Mapping::new("venue", &server.url)
    };
    let answer = MappedAgent::new(mapping.clone()).unwrap().ask(&turn("Hi")).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.tool_calls.len()), ("Which day?", 1));
    let first = answer.timings.first_token.unwrap();
    assert!(
        first >= Duration::from_millis(55) && first < answer.timings.total,
        "{:?}",
        answer.timings
    );
    let error =
        fails(Mapping { delta: Some("/nothing".into()), tool_calls: None, ..mapping }).await;
    assert!(
        error.message.ends_with("streamed an answer without anything at `/nothing`"),
        "{error}"
    );
}
