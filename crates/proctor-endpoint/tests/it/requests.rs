//! What is answered, what is refused, and what is seen of it.

use proctor_endpoint::{CallRequested, EndpointServer, Script, ScriptedAnswer, Source};
use proctor_llm::Usage;
use proctor_llm::wire::Protocol;
use serde_json::{Value, json};

use crate::client::{item, observed, post, scripted, send, texts};

fn asked(protocol: Protocol, stream: bool, text: &str) -> Value {
    let message = json!([{"role": "user", "content": text}]);
    match protocol {
        Protocol::Responses => json!({"model": "m", "input": message, "stream": stream}),
        _ => json!({"model": "m", "messages": message, "stream": stream, "max_tokens": 10}),
    }
}

#[tokio::test]
async fn each_interface_is_answered_whole_and_streamed() {
    let server = EndpointServer::start().await.unwrap();
    for protocol in Protocol::ALL {
        for stream in [false, true] {
            let arguments = json!({"day": "Monday"});
            let call = CallRequested { id: String::new(), name: "hours".into(), arguments };
            let usage = Some(Usage { input_tokens: 11, output_tokens: 3, ..Usage::default() });
            let answer =
                ScriptedAnswer { text: "Let me look.".into(), tool_calls: vec![call], usage };
            let script = Source::Script(Script::new(vec![item(answer)]));
            let endpoint = server.open("c.1", 1, script, Vec::new()).unwrap();
            let calls = observed(&endpoint);
            let url = format!("{}/v1{}", endpoint.url(), protocol.path());
            let received = post(&url, &asked(protocol, stream, "When?")).await;
            assert_eq!(received.status, 200, "{}", received.body);
            let parts = if stream {
                assert!(received.head.contains("text/event-stream") && received.is_complete);
                protocol.decode_stream(&received.body)
            } else {
                protocol.decode(&received.json())
            };
            let parts = parts.unwrap();
            assert_eq!((parts.text.as_str(), parts.model.as_str()), ("Let me look.", "m"));
            assert_eq!(parts.tool_calls[0].arguments, json!({"day": "Monday"}));
            let calls = calls.lock().unwrap();
            assert_eq!(calls.len(), 1);
            assert_eq!((calls[0].protocol, calls[0].prompt.as_str()), (protocol, "user: When?"));
            assert_eq!((calls[0].text.as_str(), calls[0].usage), ("Let me look.", usage));
            assert_eq!(calls[0].tool_calls[0].name, "hours");
            assert_eq!(calls[0].error, None);
        }
    }
}

#[tokio::test]
async fn a_script_that_is_used_up_refuses_and_says_so() {
    let endpoint = scripted(&["one"], Vec::new()).await;
    let url = format!("{}/v1/chat/completions", endpoint.url());
    assert_eq!(post(&url, &asked(Protocol::ChatCompletions, false, "a")).await.status, 200);
    assert!(endpoint.problem().is_none());
    let refused = post(&url, &asked(Protocol::ChatCompletions, false, "b")).await;
    assert_eq!(refused.status, 400);
    assert!(refused.head.contains("x-should-retry: false"), "{}", refused.head);
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("all of its answers are used") && message.contains("user: b"),
        "{message}"
    );
    assert_eq!(endpoint.problem().unwrap().message, message);
    endpoint.has_problem().await;
    assert_eq!(endpoint.close().calls, 2);
}

#[tokio::test]
async fn tokens_that_are_not_scripted_are_estimated_for_the_client_alone() {
    let endpoint = scripted(&["one"], Vec::new()).await;
    let calls = observed(&endpoint);
    let url = format!("{}/v1/messages", endpoint.url());
    let received = post(&url, &asked(Protocol::Messages, false, "a")).await;
    assert!(received.json()["usage"]["input_tokens"].as_u64() > Some(0));
    assert_eq!(calls.lock().unwrap()[0].usage, None);
}

#[tokio::test]
async fn malformed_requests_are_refused_in_the_words_of_the_interface() {
    let endpoint = scripted(&["one"], Vec::new()).await;
    let messages = format!("{}/v1/messages", endpoint.url());
    let refused = send("POST", &messages, "", "not json").await;
    assert_eq!((refused.status, &refused.json()["type"]), (400, &json!("error")));
    let compressed = send("POST", &messages, "content-encoding: gzip\r\n", "{}").await;
    assert_eq!(compressed.status, 415);
    let chat = format!("{}/v1/chat/completions", endpoint.url());
    assert_eq!(send("POST", &chat, "", "[1]").await.status, 400);
    // None of them was a call.
    assert_eq!(post(&chat, &asked(Protocol::ChatCompletions, false, "a")).await.status, 200);
    assert_eq!(endpoint.close().calls, 1);
}

#[tokio::test]
async fn other_paths_are_refused_and_remembered() {
    let endpoint = scripted(&["one"], Vec::new()).await;
    let embeddings = format!("{}/v1/embeddings", endpoint.url());
    let refused = post(&embeddings, &json!({"input": "a"})).await;
    assert_eq!(refused.status, 404);
    assert!(refused.body.contains("/chat/completions"), "{}", refused.body);
    let models = send("GET", &format!("{}/v1/models", endpoint.url()), "", "").await;
    assert_eq!(models.json()["data"][0]["id"], "scripted");
    assert_eq!(send("HEAD", endpoint.url(), "", "").await.status, 200);
    let count = format!("{}/v1/messages/count_tokens", endpoint.url());
    let count = post(&count, &json!({"messages": []})).await;
    assert!(count.json()["input_tokens"].as_u64() > Some(0));
    let summary = endpoint.close();
    assert_eq!((summary.calls, summary.refused), (0, vec!["POST /v1/embeddings".to_owned()]));
}

#[tokio::test]
async fn a_client_is_known_by_its_key_where_it_does_not_know_the_path() {
    let endpoint = scripted(&["one", "two"], Vec::new()).await;
    let host = endpoint.url().rsplit_once('/').unwrap().0;
    let body = asked(Protocol::ChatCompletions, false, "a").to_string();
    let chat = format!("{host}/v1/chat/completions");
    let bearer = format!("authorization: Bearer {}\r\n", endpoint.key());
    assert_eq!(send("POST", &chat, &bearer, &body).await.status, 200);
    let key = format!("x-api-key: {}\r\n", endpoint.key());
    assert_eq!(send("POST", &format!("{host}/v1/messages"), &key, &body).await.status, 200);
    assert_eq!(send("POST", &chat, "authorization: Bearer sk-other\r\n", &body).await.status, 401);
    assert_eq!(send("POST", &chat, "", &body).await.status, 401);
}

#[tokio::test]
async fn an_endpoint_ends_with_its_conversation() {
    let server = EndpointServer::start().await.unwrap();
    let endpoint = server.open("c.1", 1, texts(&["one"]), Vec::new()).unwrap();
    let url = format!("{}/v1/chat/completions", endpoint.url());
    assert_eq!(endpoint.close().calls, 0);
    let refused = post(&url, &asked(Protocol::ChatCompletions, false, "a")).await;
    assert_eq!(refused.status, 401);
    assert!(refused.body.contains("ends with it"), "{}", refused.body);
}
