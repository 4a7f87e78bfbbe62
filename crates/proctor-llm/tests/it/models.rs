//! Both wire formats, streamed and whole, with tools both ways.

use std::time::Duration;

use proctor_llm::wire::Dialect;
use proctor_llm::{
    Answer, Endpoint, HttpModel, Message, Model, Purpose, Request, StopReason, ToolCall,
    ToolResult, ToolSpec, Usage,
};
use proctor_redact::Secret;
use serde_json::json;

use crate::server::{Reaction, Server};

const BOTH: [Dialect; 2] = [Dialect::Anthropic, Dialect::OpenAi];

fn endpoint(server: &Server, stream: bool) -> Endpoint {
    let key = Some(Secret::new("test-key-123"));
    Endpoint { key, stream, ..Endpoint::new(format!("{}/v1/", server.url), "m") }
}

async fn ask(dialect: Dialect, endpoint: Endpoint, request: &Request) -> Answer {
    HttpModel::new(dialect, endpoint).unwrap().ask(request).await.unwrap()
}

#[tokio::test]
async fn words_go_both_ways_streamed_or_not() {
    let server = Server::speaking().await;
    let request =
        Request { temperature: Some(0.0), ..Request::ask(Purpose::Judge, "Grüße 😀") };
    for dialect in BOTH {
        for stream in [false, true] {
            let answer =
                ask(dialect, endpoint(&server, stream), &request.clone().with_system("Hi")).await;
            assert_eq!(answer.text, "heard: Grüße 😀");
            assert_eq!(answer.stop, StopReason::End);
            let usage = Usage {
                input_tokens: 11,
                output_tokens: 7,
                cache_read_tokens: 3,
                cache_write_tokens: 0,
            };
            assert_eq!(answer.usage, Some(usage));
            assert!(answer.model.ends_with("-x"), "{}", answer.model);
            assert_eq!(answer.timings.first_token.is_some(), stream);
            assert!(answer.timings.first_token.unwrap_or_default() <= answer.timings.total);
            assert_eq!((answer.tries, answer.cached), (1, false));
            assert!(answer.raw.contains("heard: "));
        }
    }
    let seen = server.seen();
    assert_eq!(
        (seen[0].header("x-api-key"), seen[0].header("authorization")),
        ("test-key-123", "")
    );
    assert_eq!(
        (seen[2].header("authorization"), seen[2].header("x-api-key")),
        ("Bearer test-key-123", "")
    );
    assert_eq!(seen[0].body["system"], "Hi");
    assert_eq!(seen[2].body["messages"][0], json!({"role": "system", "content": "Hi"}));
}

#[tokio::test]
async fn tools_go_both_ways_streamed_or_not() {
    let server = Server::speaking().await;
    let tool = ToolSpec {
        name: "find".into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
    };
    let asked = Request { tools: vec![tool], ..Request::ask(Purpose::Agent, "Find!") };
    for dialect in BOTH {
        for stream in [false, true] {
            let answer = ask(dialect, endpoint(&server, stream), &asked).await;
            let call =
                ToolCall { id: "t1".into(), name: "find".into(), arguments: json!({"q": "é"}) };
            assert_eq!((&answer.tool_calls, &answer.stop), (&vec![call], &StopReason::ToolUse));
            let mut next = asked.clone();
            next.messages.push(Message::calls(answer.text, answer.tool_calls));
            let result =
                ToolResult { call_id: "t1".into(), content: "two venues".into(), is_error: false };
            next.messages.push(Message::results(vec![result]));
            let answer = ask(dialect, endpoint(&server, stream), &next).await;
            assert_eq!(answer.text, "heard: two venues", "{dialect:?} {stream}");
        }
    }
}

#[tokio::test]
async fn the_first_token_is_timed_apart_from_the_last() {
    let chunk = |text: &str| json!({"choices": [{"delta": {"content": text}}]});
    let events = Reaction::events(&[
        ("", chunk("a")),
        ("", chunk("b")),
        ("", chunk("c")),
        ("", json!("[DONE]")),
    ]);
    let server = Server::fixed(events.dripping(Duration::from_millis(60))).await;
    let answer =
        ask(Dialect::OpenAi, endpoint(&server, true), &Request::ask(Purpose::Agent, "?")).await;
    assert_eq!(answer.text, "abc");
    let first = answer.timings.first_token.unwrap();
    assert!(first >= Duration::from_millis(55), "{first:?}");
    assert!(answer.timings.total >= first + Duration::from_millis(110), "{:?}", answer.timings);
}

#[tokio::test]
async fn a_server_that_does_not_stream_or_name_its_type_is_understood() {
    let body = json!({"choices": [{"message": {"content": "plain"}}]});
    for content_type in ["application/json", "text/plain"] {
        let server = Server::fixed(Reaction::new(200, content_type, body.to_string())).await;
        let answer =
            ask(Dialect::OpenAi, endpoint(&server, true), &Request::ask(Purpose::Agent, "?")).await;
        assert_eq!(
            (answer.text.as_str(), answer.model.as_str(), answer.usage),
            ("plain", "m", None)
        );
    }
}

#[tokio::test]
async fn headers_and_members_of_the_configuration_win() {
    let server = Server::speaking().await;
    let mut own = endpoint(&server, false);
    own.headers = vec![
        ("authorization".into(), Secret::new("Token other")),
        ("x-team".into(), Secret::new("blue")),
    ];
    own.extra = json!({"reasoning_effort": "low", "model": "m2"}).as_object().unwrap().clone();
    ask(
        Dialect::OpenAi,
        own,
        &Request { max_tokens: Some(9), ..Request::ask(Purpose::Agent, "?") },
    )
    .await;
    let seen = &server.seen()[0];
    assert_eq!((seen.header("authorization"), seen.header("x-team")), ("Token other", "blue"));
    assert_eq!(seen.body["reasoning_effort"], "low");
    assert_eq!(seen.body["model"], "m2");
    assert_eq!(seen.body["max_tokens"], 9);
}

#[tokio::test]
async fn one_model_serves_many_at_once() {
    let server = Server::speaking().await;
    let model = HttpModel::new(Dialect::OpenAi, endpoint(&server, true)).unwrap();
    let model = std::sync::Arc::new(model);
    let asks = (0..50).map(|number| {
        let model = std::sync::Arc::clone(&model);
        let request = Request::ask(Purpose::Agent, number.to_string());
        tokio::spawn(async move { model.ask(&request).await.unwrap().text })
    });
    for (number, ask) in asks.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(ask.await.unwrap(), format!("heard: {number}"));
    }
}
