//! Everything a peer can do wrong, and the words for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use proctor_llm::wire::Dialect;
use proctor_llm::{
    Endpoint, ErrorKind, HttpModel, Jitter, Model, ModelError, Purpose, Request, RetryPolicy,
    RetryingModel, WallClock,
};
use proctor_redact::Secret;
use serde_json::json;

use crate::server::{Reaction, Server};

fn endpoint(url: &str) -> Endpoint {
    let key = Some(Secret::new("test-key-123"));
    let hint = "set EXAM_KEY".into();
    Endpoint { key, key_hint: hint, stream: true, ..Endpoint::new(url, "m") }
}

async fn fails(dialect: Dialect, endpoint: Endpoint) -> ModelError {
    let request = Request::ask(Purpose::Judge, "good?");
    HttpModel::new(dialect, endpoint).unwrap().ask(&request).await.unwrap_err()
}

/// The error, with the server's address replaced.
async fn refusal(reaction: Reaction) -> (ModelError, String) {
    let server = Server::fixed(reaction).await;
    let error = fails(Dialect::OpenAi, endpoint(&server.url)).await;
    let words = error.message.replace(&server.url, "URL");
    (error, words)
}

#[tokio::test]
async fn statuses_are_classified_and_explained() {
    use ErrorKind as K;
    let said = json!({"error": {"message": "the words of the server"}});
    let expected = [
        (400, K::BadRequest, "does not accept the request"),
        (401, K::Refused, "rejected the API key; set EXAM_KEY"),
        (402, K::QuotaExhausted, "requires payment"),
        (403, K::Refused, "does not allow this request with this API key"),
        (404, K::NotFound, "knows no such address or model"),
        (302, K::NotFound, "points to another address; use that one"),
        (408, K::Timeout, "gave up waiting for the request"),
        (413, K::BadRequest, "does not accept the request"),
        (429, K::RateLimited, "says that requests come too fast"),
        (500, K::Overloaded, "failed on its side"),
        (503, K::Overloaded, "is overloaded"),
        (529, K::Overloaded, "is overloaded"),
    ];
    for (status, kind, words) in expected {
        let (error, message) = refusal(Reaction::json(status, &said)).await;
        assert_eq!((error.kind, error.status), (kind, Some(status)));
        let whole =
            format!("URL/chat/completions {words} (HTTP {status}): the words of the server");
        assert_eq!(message, whole);
    }
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_no_rate_limit() {
    let body = json!({"error": {"code": "insufficient_quota", "message": "pay"}});
    assert_eq!(refusal(Reaction::json(429, &body)).await.0.kind, ErrorKind::QuotaExhausted);
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_milliseconds_and_date() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    for (name, value, expected) in [
        ("retry-after", "7", Duration::from_secs(7)),
        ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT", Duration::from_secs(30)),
        ("retry-after-ms", "250", Duration::from_millis(250)),
    ] {
        let server = Server::fixed(Reaction::json(429, &json!({})).with(name, value)).await;
        let clock = WallClock::new(move || now);
        let error = fails(Dialect::Anthropic, Endpoint { clock, ..endpoint(&server.url) }).await;
        assert_eq!(error.retry_after, Some(expected), "{value}");
    }
}

#[tokio::test]
async fn a_429_is_waited_out_as_asked() {
    let asked = AtomicU32::new(0);
    let server = Server::reacting(move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            return Reaction::json(429, &json!({})).with("retry-after", "0.2");
        }
        Reaction::json(200, &json!({"choices": [{"message": {"content": "now"}}]}))
    })
    .await;
    let model = HttpModel::new(Dialect::OpenAi, endpoint(&server.url)).unwrap();
    let model = RetryingModel::new(Arc::new(model), RetryPolicy::default(), Jitter::seeded(1));
    let began = Instant::now();
    let answer = model.ask(&Request::ask(Purpose::Judge, "?")).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.tries), ("now", 2));
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn bodies_that_are_no_answers_are_malformed() {
    let page = "<html><body>\n<h1>Welcome</h1></body></html>";
    let cases = [
        (
            Reaction::new(200, "text/html", page),
            "answered with text/html that is not JSON (expected value at line 1 column 1): <html><body> <h1>Welcome</h1></body></html>",
        ),
        (Reaction::new(200, "application/json", ""), "answered with an empty body"),
        (
            Reaction::new(200, "application/json", "{\"a\": nope}"),
            "answered with application/json that is not JSON (expected ident at line 1 column 8): {\"a\": nope}",
        ),
        (Reaction::json(200, &json!({"ok": true})), "answered without `choices`"),
        (
            Reaction::events(&[("", json!("not json"))]),
            "sent an event that is not JSON (expected ident at line 1 column 2): not json",
        ),
    ];
    for (reaction, words) in cases {
        let (error, message) = refusal(reaction).await;
        assert_eq!(error.kind, ErrorKind::Malformed, "{message}");
        assert_eq!(message, format!("URL/chat/completions {words}"));
    }
}

#[tokio::test]
async fn answers_that_break_off_are_truncated() {
    let piece = json!({"choices": [{"delta": {"content": "half a"}}]});
    let cases = [
        (Reaction::events(&[("", piece)]), "ended the stream before the end of its answer"),
        (
            Reaction::new(200, "text/event-stream", "data: {\"choices\":[{\"del"),
            "ended the stream in the middle of an event",
        ),
        (
            Reaction::new(200, "application/json", "{\"choices\":[{\"mess"),
            "sent an incomplete answer: {\"choices\":[{\"mess",
        ),
    ];
    for (reaction, words) in cases {
        let (error, message) = refusal(reaction).await;
        assert_eq!(error.kind, ErrorKind::Truncated, "{message}");
        assert_eq!(message, format!("URL/chat/completions {words}"));
    }
    for bytes in [
        &b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"a\":"[..],
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n8\r\ndata: {\"",
    ] {
        let server = Server::raw(bytes).await;
        let error = fails(Dialect::Anthropic, endpoint(&server.url)).await;
        assert_eq!(error.kind, ErrorKind::Truncated, "{error}");
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_the_error() {
    let start = json!({"type": "message_start", "message": {"model": "m"}});
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let server =
        Server::fixed(Reaction::events(&[("message_start", start), ("error", error)])).await;
    let error = fails(Dialect::Anthropic, endpoint(&server.url)).await;
    assert_eq!(error.kind, ErrorKind::Overloaded);
    assert!(error.message.ends_with("/v1/messages answered with an error: Overloaded"), "{error}");
}

#[tokio::test]
async fn peers_that_are_not_there_are_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = fails(Dialect::OpenAi, endpoint(&url)).await;
    assert_eq!(error.kind, ErrorKind::Unreachable);
    let message = error.message.replace(&url, "URL");
    assert!(message.starts_with("URL/chat/completions cannot be reached: "), "{message}");
    assert!(message.contains("refused"), "{message}");
    let server = Server::raw(b"").await;
    let error = fails(Dialect::OpenAi, endpoint(&server.url)).await;
    assert_eq!(error.kind, ErrorKind::Unreachable);
    assert!(error.message.contains("closed the connection without an answer"), "{error}");
    let server = Server::raw(b"SSH-2.0-OpenSSH_9.2\r\n").await;
    let error = fails(Dialect::OpenAi, endpoint(&server.url)).await;
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
}

#[tokio::test]
async fn slow_peers_run_into_the_limit_that_fits() {
    let chunk = json!({"choices": [{"delta": {"content": "x"}}]});
    let drip = Reaction::events(&[
        ("", chunk.clone()),
        ("", chunk.clone()),
        ("", chunk.clone()),
        ("", chunk),
    ])
    .dripping(Duration::from_millis(120));
    let server = Server::fixed(drip).await;
    let short = Duration::from_millis(200);
    let error = fails(Dialect::OpenAi, Endpoint { timeout: short, ..endpoint(&server.url) }).await;
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.ends_with("did not finish its answer within 0.2 s"), "{error}");
    let shorter = Duration::from_millis(50);
    let error =
        fails(Dialect::OpenAi, Endpoint { idle_timeout: shorter, ..endpoint(&server.url) }).await;
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.ends_with("sent nothing for 0.05 s"), "{error}");
}

#[tokio::test]
async fn floods_are_cut_off() {
    for reaction in [
        Reaction::new(200, "application/json", "x".repeat(5000)),
        Reaction::new(200, "text/event-stream", "data: ".to_owned() + &"x".repeat(5000)),
    ] {
        let server = Server::fixed(reaction).await;
        let error =
            fails(Dialect::OpenAi, Endpoint { max_bytes: 1000, ..endpoint(&server.url) }).await;
        assert_eq!(error.kind, ErrorKind::Malformed, "{error}");
        assert!(error.message.contains("1000 bytes"), "{error}");
    }
}

#[tokio::test]
async fn a_missing_key_is_noticed_before_anything_is_sent() {
    let error = fails(Dialect::Anthropic, Endpoint::anthropic("m", None)).await;
    assert_eq!(error.kind, ErrorKind::NoKey);
    assert_eq!(
        error.message,
        "https://api.anthropic.com/v1/messages needs an API key, and none is set; set ANTHROPIC_API_KEY"
    );
    let error = fails(Dialect::OpenAi, Endpoint::openai("m", None)).await;
    assert_eq!(
        error.message,
        "https://api.openai.com/v1/chat/completions needs an API key, and none is set; set OPENAI_API_KEY"
    );
    let server = Server::fixed(Reaction::json(401, &json!({}))).await;
    let error = fails(Dialect::OpenAi, Endpoint { key: None, ..endpoint(&server.url) }).await;
    assert!(
        error.message.contains("needs an API key, and none is set; set EXAM_KEY (HTTP 401)"),
        "{error}"
    );
}

#[tokio::test]
async fn requests_and_addresses_that_cannot_work_are_refused_here() {
    for url in ["localhost:80", "ftp://x", "not an address", ""] {
        let error = HttpModel::new(Dialect::OpenAi, Endpoint::new(url, "m")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config, "{error}");
    }
    let model = HttpModel::new(Dialect::OpenAi, endpoint("http://127.0.0.1:1")).unwrap();
    let error = model.ask(&Request::default()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::BadRequest, "a request needs at least one message")
    );
    let bad = Endpoint {
        headers: vec![("bad name".into(), Secret::new("x"))],
        ..endpoint("http://127.0.0.1:1")
    };
    assert_eq!(fails(Dialect::OpenAi, bad).await.kind, ErrorKind::Config);
    let bad = Endpoint { key: Some(Secret::new("line\nbreak")), ..endpoint("http://127.0.0.1:1") };
    let error = fails(Dialect::OpenAi, bad).await;
    assert!(error.kind == ErrorKind::Config && !error.message.contains("break"), "{error}");
}

#[tokio::test]
async fn a_peer_without_tls_is_unreachable_over_https() {
    let server = Server::raw(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let url = server.url.replace("http://", "https://user:word-of-honour@");
    let endpoint = Endpoint::new(format!("{url}/v1?key=word-of-honour"), "m");
    assert!(!format!("{endpoint:?}").contains("honour"), "{endpoint:?}");
    let error = fails(Dialect::OpenAi, endpoint).await;
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
    assert!(!format!("{error:?}").contains("honour"), "{error:?}");
}

#[tokio::test]
async fn an_agent_that_fails_is_called_one() {
    let server = Server::fixed(Reaction::json(500, &json!({}))).await;
    let agent = HttpModel::agent(Dialect::OpenAi, endpoint(&server.url)).unwrap();
    let error = agent.ask(&Request::ask(Purpose::Agent, "Hi")).await.unwrap_err();
    let words =
        format!("agent at {}/chat/completions failed on its side (HTTP 500): {{}}", server.url);
    assert_eq!(error.message, words);
}
