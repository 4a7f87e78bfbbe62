//! Agents over HTTP that are busy, and those that list the calls they made in a form of their own.

use axum::body::Body as HttpBody;
use axum::response::Response;
use proctor_events::{Body, ModelCall};
use serde_json::{Value, json};

use crate::in_language::scenario;
use crate::server::{Server, ok, status};
use crate::world::{FinishedConversation, World};

fn busy(code: u16, after: Option<&str>) -> Response {
    let response = Response::builder().status(code);
    let response = match after {
        Some(after) => response.header("retry-after", after),
        None => response,
    };
    response.body(HttpBody::from("not now")).unwrap()
}

fn call_of(ended: &FinishedConversation) -> &ModelCall {
    let call = ended.events.iter().find_map(|body| match body {
        Body::ModelCall(call) => Some(call),
        _ => None,
    });
    call.unwrap()
}

fn metadata(ended: &FinishedConversation) -> Value {
    let response = ended.events.iter().find_map(|body| match body {
        Body::AgentResponse(response) => Some(response),
        _ => None,
    });
    serde_json::to_value(&response.unwrap().metadata).unwrap()
}

/// The conversation with an agent that is busy at first, and the notes of the run.
async fn conduct(
    busy_at_first: impl Fn(usize) -> Option<Response> + Send + Sync + 'static,
    more: &str,
) -> (FinishedConversation, Vec<String>, usize) {
    let server = Server::start(move |_, before| {
        busy_at_first(before).unwrap_or_else(|| ok(&json!({"text": "Hello"})))
    })
    .await;
    let agent = format!("http: {{url: '{}'}}{more}", server.url());
    let text = scenario(&agent, &["Hi"], "{match: Hello}");
    let (mut ended, notes) = World::new().conduct_all(&text).await;
    (ended.remove(0), notes, server.seen().len())
}

#[tokio::test]
async fn a_busy_agent_is_waited_for_and_counted() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"; // long ago: at once
    let replies = [(429, Some("0")), (503, Some(date)), (429, Some("0.1"))];
    let busy_at_first =
        move |before: usize| replies.get(before).map(|(code, after)| busy(*code, *after));
    let (ended, notes, asked) = conduct(busy_at_first, "").await;
    assert_eq!((ended.status(), asked), ("passed", 4), "{}", ended.message());
    assert_eq!(call_of(&ended).tries, Some(4));
    let metadata = metadata(&ended);
    assert_eq!(metadata["tries"], 4);
    assert!(metadata["waited_ms"].as_f64().unwrap() >= 200.0, "{metadata}");
    let note = "agents were busy (status 429 or 503) and were waited for 3 times";
    assert!(notes.iter().any(|line| line.contains(note)), "{notes:?}");
}

#[tokio::test]
async fn a_busy_agent_that_does_not_say_for_how_long_is_tried_a_few_times() {
    let (ended, _, asked) = conduct(|before| (before < 2).then(|| busy(503, None)), "").await;
    assert_eq!((ended.status(), asked), ("passed", 3), "{}", ended.message());
    let (ended, _, asked) = conduct(|_| Some(busy(503, None)), "").await;
    assert_eq!((ended.status(), ended.fault(), asked), ("errored", "agent", 5));
    assert!(ended.message().contains("it was waited for 4 times before"), "{}", ended.message());
}

/// It would never be in time, so nothing is waited for.
#[tokio::test]
async fn a_wait_beyond_the_limit_of_the_turn_is_an_error_at_once() {
    let busy = |_| Some(busy(429, Some("3600")));
    let (ended, notes, asked) = conduct(busy, ", timeout: 30s").await;
    assert_eq!((ended.status(), ended.fault(), asked), ("errored", "agent", 1));
    let part = "it asks to be asked again after 3600 s (Retry-After), which is beyond the 30 s that a turn may take (`timeout`)";
    assert!(ended.message().contains(part), "{}", ended.message());
    assert!(!notes.iter().any(|note| note.contains("waited for")), "{notes:?}");
}

#[tokio::test]
async fn other_failures_are_results_of_the_agent() {
    for code in [500, 502, 404] {
        let (ended, _, asked) = conduct(move |_| Some(status(code, "no")), "").await;
        assert_eq!((ended.status(), asked), ("errored", 1), "{code}");
    }
}

/// Audit V1: calls that the agent made are known as made, in whatever form it lists them.
#[tokio::test]
async fn v1_calls_in_a_form_of_its_own_are_known_as_made() {
    let trace = json!([{"step": {"tool": "refund"}, "with": {"order": 7}, "out": "done"}]);
    let body = json!({"text": "Refunded", "trace": trace});
    let server = Server::start(move |_, _| ok(&body)).await;
    let conduct = |made_calls: &'static str, expect: &'static str| {
        let agent = format!("http: {{url: '{}'}}, made_calls: {made_calls}", server.url());
        async move { World::new().conduct(&scenario(&agent, &["Hi"], expect)).await }
    };
    let places = "{list: /trace, name: /step/tool, arguments: /with, result: /out}";
    let made = "{call_tool: {name: refund, with: {order: 7}, times: 1}}, {expression: \"tool_calls[0].result == 'done'\"}";
    let ended = conduct(places, made).await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
    let ended = conduct(places, "{not: {call_tool: refund}}").await;
    assert_eq!((ended.status(), ended.fault()), ("failed", "agent"), "{}", ended.message());
    for (made_calls, part) in [
        ("/trace", "has no name"),
        (
            "{list: /trace, name: /tool}",
            "tool call 1 has nothing at `/tool`, where `made_calls` says its name is",
        ),
        ("{list: /trace, name: /step/tool, arguments: /args}", "nothing at `/args`"),
        // Without a place, arguments that are under no usual name are unknown.
        ("{list: /trace, name: /step/tool}", "the arguments of `refund` are unknown"),
    ] {
        let ended =
            conduct(made_calls, "{not: {call_tool: {name: refund, with: {order: 7}}}}").await;
        assert_eq!(ended.status(), "errored", "{made_calls}: {}", ended.message());
        assert!(ended.message().contains(part), "{made_calls}: {}", ended.message());
    }
}
