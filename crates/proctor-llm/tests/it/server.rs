//! A local model server that speaks both wire formats, and sockets that misbehave. Loopback only;
//! everything ends with the test that started it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What to do about it.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Pieces of the body, each after its pause.
    pub(crate) pieces: Vec<(Duration, String)>,
}

impl Reaction {
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            pieces: vec![(Duration::ZERO, body.into())],
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// A stream of events.
    pub(crate) fn events(events: &[(&str, Value)]) -> Self {
        let written = events.iter().map(|(name, data)| {
            let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
            let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
            (Duration::ZERO, format!("{name}data: {data}\n\n"))
        });
        let pieces = written.collect();
        Self { pieces, ..Self::new(200, "text/event-stream; charset=utf-8", "") }
    }

    /// The same, with a pause before each piece.
    pub(crate) fn dripping(mut self, pause: Duration) -> Self {
        self.pieces.iter_mut().for_each(|piece| piece.0 = pause);
        self
    }

    fn response(self) -> Response<Body> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        let pieces = stream::unfold(self.pieces.into_iter(), |mut pieces| async move {
            let (pause, piece) = pieces.next()?;
            tokio::time::sleep(pause).await;
            Some((Ok::<_, Infallible>(piece), pieces))
        });
        response.body(Body::from_stream(pieces)).unwrap()
    }
}

/// A server that is gone when it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// A server that reacts as it is told.
    pub(crate) async fn reacting(
        react: impl Fn(&Seen) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (seen_here, react) = (Arc::clone(&seen), Arc::new(react));
        let app = Router::new().fallback(move |request: Request<Body>| {
            let (seen, react) = (Arc::clone(&seen_here), Arc::clone(&react));
            async move {
                let (head, body) = request.into_parts();
                let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                let path = head.uri.to_string();
                let one = Seen { path, headers: head.headers, body };
                let reaction = react(&one);
                seen.lock().unwrap().push(one);
                reaction.response()
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, seen, task }
    }

    /// A server that always reacts the same.
    pub(crate) async fn fixed(reaction: Reaction) -> Self {
        Self::reacting(move |_| reaction.clone()).await
    }

    /// The model server: answers in the format of the address, checks what it is sent, says what
    /// it heard, and calls the first tool it is offered until it gets a result.
    pub(crate) async fn speaking() -> Self {
        Self::reacting(|seen| match seen.path.as_str() {
            "/v1/messages" => anthropic(seen),
            "/v1/chat/completions" => openai(&seen.body),
            _ => Reaction::json(404, &json!({"error": {"message": "no such path"}})),
        })
        .await
    }

    /// A socket that sends these bytes to whoever connects, and closes.
    pub(crate) async fn raw(bytes: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(bytes).await;
                let _ = socket.shutdown().await;
            }
        });
        Self { url, seen: Arc::default(), task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn anthropic(seen: &Seen) -> Reaction {
    let body = &seen.body;
    let complete = seen.header("anthropic-version") == "2023-06-01" && body["max_tokens"].is_u64();
    if !complete {
        let error = json!({"type": "invalid_request_error", "message": "incomplete"});
        return Reaction::json(400, &json!({"type": "error", "error": error}));
    }
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let result = last.pointer("/content/0/content").and_then(Value::as_str);
    let tool = body.pointer("/tools/0/name").filter(|_| result.is_none());
    let heard = result.or(last["content"].as_str()).unwrap_or_default();
    let usage = json!({"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": 3});
    let reason = if tool.is_some() { "tool_use" } else { "end_turn" };
    if body["stream"] != json!(true) {
        let block = match tool {
            Some(name) => {
                json!({"type": "tool_use", "id": "t1", "name": name, "input": {"q": "é"}})
            }
            None => json!({"type": "text", "text": format!("heard: {heard}")}),
        };
        let usage = json!({"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 3});
        return Reaction::json(
            200,
            &json!({"id": "m1", "type": "message", "role": "assistant",
            "model": "claude-x", "content": [block], "stop_reason": reason, "usage": usage}),
        );
    }
    let (block, deltas) = match tool {
        Some(name) => (
            json!({"type": "tool_use", "id": "t1", "name": name, "input": {}}),
            ["{\"q\":", "\"é\"}"]
                .map(|json| json!({"type": "input_json_delta", "partial_json": json})),
        ),
        None => (
            json!({"type": "text", "text": ""}),
            ["heard: ", heard].map(|text| json!({"type": "text_delta", "text": text})),
        ),
    };
    let delta =
        |index: usize| json!({"type": "content_block_delta", "index": 0, "delta": deltas[index]});
    Reaction::events(&[
        (
            "message_start",
            json!({"type": "message_start", "message": {"model": "claude-x", "usage": usage}}),
        ),
        ("ping", json!({"type": "ping"})),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
        ),
        ("content_block_delta", delta(0)),
        ("content_block_delta", delta(1)),
        ("content_block_stop", json!({"type": "content_block_stop", "index": 0})),
        (
            "message_delta",
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}),
        ),
        ("message_stop", json!({"type": "message_stop"})),
    ])
}

fn openai(body: &Value) -> Reaction {
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let heard = last["content"].as_str().unwrap_or_default();
    let tool = body.pointer("/tools/0/function/name").filter(|_| last["role"] != "tool");
    let usage = json!({"prompt_tokens": 14, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}});
    let reason = if tool.is_some() { "tool_calls" } else { "stop" };
    let call = |name: &Value, arguments: &str| json!({"index": 0, "id": "t1", "type": "function", "function": {"name": name, "arguments": arguments}});
    if body["stream"] != json!(true) {
        let message = match tool {
            Some(name) => {
                json!({"role": "assistant", "content": null, "tool_calls": [call(name, "{\"q\":\"é\"}")]})
            }
            None => json!({"role": "assistant", "content": format!("heard: {heard}")}),
        };
        return Reaction::json(
            200,
            &json!({"id": "c1", "object": "chat.completion", "model": "gpt-x",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}),
        );
    }
    let deltas = match tool {
        Some(name) => [
            json!({"tool_calls": [call(name, "{\"q\":")]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"é\"}"}}]}),
        ],
        None => [json!({"content": "heard: "}), json!({"content": heard})],
    };
    let chunk = |delta: &Value, reason: Option<&str>| json!({"model": "gpt-x", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    Reaction::events(&[
        ("", chunk(&json!({"role": "assistant", "content": ""}), None)),
        ("", chunk(&deltas[0], None)),
        ("", chunk(&deltas[1], None)),
        ("", chunk(&json!({}), Some(reason))),
        ("", json!({"model": "gpt-x", "choices": [], "usage": usage})),
        ("", json!("[DONE]")),
    ])
}
