//! Forwarding to a real server, recording, replay and drift. The real model is another endpoint of ours, reached by HTTP like any other.

use std::path::Path;
use std::sync::Arc;

use proctor_endpoint::{
    EndpointServer, Fault, Forward, OnDrift, OpenEndpoint, Recording, Replay, Source,
};
use proctor_llm::cassette::Tape;
use proctor_llm::wire::Protocol;
use proctor_llm::{
    Budget, Cost, Endpoint, ErrorKind, HttpModel, Layers, Price, PriceTable, UnknownPrice,
};
use proctor_redact::Redactor;
use serde_json::{Value, json};

use crate::client::{observed, post, texts};

/// The model behind this endpoint.
fn forward(real: &OpenEndpoint, protocol: Protocol, layers: Layers) -> Arc<Forward> {
    let endpoint = Endpoint::new(format!("{}/v1", real.url()), "real-model");
    let model = HttpModel::new(protocol.dialect(), endpoint).unwrap();
    Arc::new(Forward::new(Arc::new(model), layers))
}

fn body(text: &str, stream: bool) -> Value {
    json!({"model": "asked-for", "stream": stream, "max_tokens": 50, "messages": [{"role": "user", "content": text}], "input": text})
}

fn replaying(
    server: &EndpointServer,
    path: &Path,
    on_drift: OnDrift,
    ignore: &[&str],
) -> OpenEndpoint {
    let ignore = ignore.iter().map(|&place| place.to_owned()).collect();
    let tape = Arc::new(Tape::open(path, false, Redactor::default()).unwrap());
    let replay = Replay::new(tape, &["c.2".into(), "c.1".into()], ignore, on_drift);
    server.open("c.1", 1, Source::Replay(replay), Vec::new()).unwrap()
}

/// An endpoint that records what the real model answers.
fn recording(
    server: &EndpointServer,
    path: &Path,
    real: &OpenEndpoint,
    protocol: Protocol,
) -> OpenEndpoint {
    let tape = Arc::new(Tape::open(path, true, Redactor::default()).unwrap());
    let forward = forward(real, protocol, Layers::default());
    let source = Source::Record(forward, Recording::new(tape, "c.1".into()));
    server.open("c.1", 1, source, Vec::new()).unwrap()
}

/// Records two calls of a conversation; returns what the client received.
async fn record(
    server: &EndpointServer,
    path: &Path,
    protocol: Protocol,
    stream: bool,
) -> Vec<String> {
    let says = texts(&["first answer", "second answer"]);
    let real = server.open("real.1", 1, says, Vec::new()).unwrap();
    let endpoint = recording(server, path, &real, protocol);
    let url = format!("{}/v1{}", endpoint.url(), protocol.path());
    let mut received = Vec::new();
    for text in ["one", "two"] {
        let answer = post(&url, &body(text, stream)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.contains("real-model"), "{}", answer.body);
        received.push(answer.body);
    }
    assert_eq!(endpoint.close().not_recorded, None);
    received
}

#[tokio::test]
async fn what_was_recorded_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let server = EndpointServer::start().await.unwrap();
    for protocol in Protocol::ALL {
        for stream in [false, true] {
            let path = folder.path().join(format!("{}-{stream}.tape.jsonl", protocol.as_str()));
            let recorded = record(&server, &path, protocol, stream).await;
            let endpoint = replaying(&server, &path, OnDrift::Fail, &[]);
            let calls = observed(&endpoint);
            let url = format!("{}/v1{}", endpoint.url(), protocol.path());
            // Side by side, calls may come in another order.
            let second = post(&url, &body("two", stream)).await.body;
            let first = post(&url, &body("one", stream)).await.body;
            for (replayed, recorded) in [(first, &recorded[0]), (second, &recorded[1])] {
                if stream {
                    assert_eq!(replayed, *recorded);
                } else {
                    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                    assert_eq!(json(&replayed), json(recorded));
                }
            }
            let calls = calls.lock().unwrap();
            assert!(calls.iter().all(|call| call.cached && call.backend == "replay"));
            assert_eq!(calls[0].text, "second answer");
            assert!(endpoint.problem().is_none());
        }
    }
}

#[tokio::test]
async fn drift_is_refused_with_the_difference() {
    for protocol in Protocol::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tape.jsonl");
        let server = EndpointServer::start().await.unwrap();
        record(&server, &path, protocol, false).await;
        let endpoint = replaying(&server, &path, OnDrift::Fail, &[]);
        let url = format!("{}/v1{}", endpoint.url(), protocol.path());
        assert_eq!(post(&url, &body("another", false)).await.status, 400);
        let problem = endpoint.problem().unwrap();
        assert_eq!(problem.kind, ErrorKind::CassetteMiss);
        for part in [
            "/messages/0/content: recorded “one”, now “another”",
            "\n  - user: one\n  + user: another\n",
            "--record-tapes",
            "call 1",
        ] {
            assert!(problem.message.contains(part), "{part}: {}", problem.message);
        }
    }
}

#[tokio::test]
async fn drift_can_be_reported_or_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tape.jsonl");
    let server = EndpointServer::start().await.unwrap();
    record(&server, &path, Protocol::Messages, false).await;
    let endpoint = replaying(&server, &path, OnDrift::Report, &[]);
    let url = format!("{}/v1/messages", endpoint.url());
    let answer = post(&url, &body("another", false)).await;
    assert!(answer.status == 200 && answer.body.contains("first answer"), "{}", answer.body);
    let summary = endpoint.close();
    assert_eq!((summary.drift.len(), summary.left), (1, 1));
    let endpoint = replaying(&server, &path, OnDrift::Fail, &["/messages/0/content", "/input"]);
    let url = format!("{}/v1/messages", endpoint.url());
    assert_eq!(post(&url, &body("another", false)).await.status, 200);
    assert!(endpoint.problem().is_none() && endpoint.close().drift.is_empty());
}

#[tokio::test]
async fn more_calls_than_were_recorded_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tape.jsonl");
    let server = EndpointServer::start().await.unwrap();
    record(&server, &path, Protocol::ChatCompletions, false).await;
    let endpoint = replaying(&server, &path, OnDrift::Report, &[]);
    let url = format!("{}/v1/chat/completions", endpoint.url());
    for text in ["one", "two"] {
        assert_eq!(post(&url, &body(text, false)).await.status, 200);
    }
    assert_eq!(post(&url, &body("one", false)).await.status, 400);
    assert!(endpoint.problem().unwrap().message.contains("a call more than were recorded"));
}

#[tokio::test]
async fn budget_and_prices_hold_for_forwarded_calls() {
    let server = EndpointServer::start().await.unwrap();
    let real = server.open("real.1", 1, texts(&["first", "second"]), Vec::new()).unwrap();
    let price = ("real-model".to_owned(), Price::new(1000.0, 1000.0));
    let prices = Arc::new(PriceTable::with_overrides([price].into_iter().collect()));
    let budget = Arc::new(Budget::new(Cost::from_dollars(0.1), UnknownPrice::Refuse));
    let layers = Layers { prices: Some(prices), budget: Some(budget), ..Layers::default() };
    let source = Source::Forward(forward(&real, Protocol::ChatCompletions, layers));
    let endpoint = server.open("c.1", 1, source, Vec::new()).unwrap();
    let calls = observed(&endpoint);
    let url = format!("{}/v1/chat/completions", endpoint.url());
    assert_eq!(post(&url, &body("one", false)).await.status, 200);
    let message = json!([{"role": "user", "content": "a"}]);
    let large = json!({"model": "m", "max_tokens": 1_000_000, "messages": message});
    assert_eq!(post(&url, &large).await.status, 400);
    assert_eq!(endpoint.problem().unwrap().kind, ErrorKind::BudgetExhausted);
    let calls = calls.lock().unwrap();
    assert!(calls[0].cost_usd > Some(0.0) && calls[0].usage.is_some());
}

#[tokio::test]
async fn the_wrong_interface_for_a_model_is_named() {
    let server = EndpointServer::start().await.unwrap();
    let real = server.open("real.1", 1, texts(&["first"]), Vec::new()).unwrap();
    let source = Source::Forward(forward(&real, Protocol::Messages, Layers::default()));
    let endpoint = server.open("c.1", 1, source, Vec::new()).unwrap();
    let url = format!("{}/v1/chat/completions", endpoint.url());
    assert_eq!(post(&url, &body("one", false)).await.status, 400);
    let problem = endpoint.problem().unwrap().message;
    assert!(problem.contains("chat_completions") && problem.contains("anthropic"), "{problem}");
}

#[tokio::test]
async fn an_error_of_the_real_model_reaches_the_agent_and_the_tape() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tape.jsonl");
    let server = EndpointServer::start().await.unwrap();
    let faults = vec![Fault::Status(429, None)];
    let real = server.open("real.1", 1, texts(&["later"]), faults).unwrap();
    let endpoint = recording(&server, &path, &real, Protocol::Messages);
    let url = format!("{}/v1/messages", endpoint.url());
    assert_eq!(post(&url, &body("one", false)).await.status, 429);
    assert_eq!(post(&url, &body("one", false)).await.status, 200);
    assert!(endpoint.problem().is_none(), "the agent may try again");
    assert_eq!(endpoint.close().not_recorded, None);
    let endpoint = replaying(&server, &path, OnDrift::Fail, &[]);
    let url = format!("{}/v1/messages", endpoint.url());
    assert_eq!(post(&url, &body("one", false)).await.status, 429);
    assert_eq!(post(&url, &body("one", false)).await.status, 200);
}
