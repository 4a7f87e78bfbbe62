//! A local server that speaks both wire formats and does as it is told.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};

/// What came in: path, headers, body.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    /// Everything the model was told, as one text.
    pub(crate) fn prompt(&self) -> String {
        let mut text = self.body["system"].as_str().unwrap_or_default().to_owned();
        for message in self.body["messages"].as_array().into_iter().flatten() {
            text += "\n";
            text += &message["content"].as_str().map_or_else(
                || message["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
                str::to_owned,
            );
        }
        text
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

type Answer = dyn Fn(Seen, usize) -> Answering + Send + Sync;
type Answering = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers every request by this function, which is told how many came before.
    pub(crate) async fn start(
        answer: impl Fn(&Seen, usize) -> Response + Send + Sync + 'static,
    ) -> Self {
        Self::serve(Arc::new(move |seen, before| {
            Box::pin(std::future::ready(answer(&seen, before)))
        }))
        .await
    }

    /// Answers every request by this function, which may take its time.
    pub(crate) async fn start_slow<F: Future<Output = Response> + Send + 'static>(
        answer: impl Fn(Seen) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::serve(Arc::new(move |seen, _| Box::pin(answer(seen)))).await
    }

    async fn serve(answer: Arc<Answer>) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let kept = Arc::clone(&seen);
        let app = Router::new().fallback(move |request: Request| {
            let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
            async move {
                let (parts, body) = request.into_parts();
                let bytes = to_bytes(body, 1 << 20).await.unwrap_or_default();
                let headers = parts.headers.iter();
                let one = Seen {
                    path: parts.uri.path().to_owned(),
                    headers: headers
                        .map(|(name, value)| {
                            (name.to_string(), value.to_str().unwrap_or("").to_owned())
                        })
                        .collect(),
                    body: serde_json::from_slice(&bytes).unwrap_or_default(),
                };
                let before = {
                    let mut all = kept.lock().unwrap();
                    all.push(one.clone());
                    all.len() - 1
                };
                answer(one, before).await
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

pub(crate) fn status(code: u16, body: &str) -> Response {
    Response::builder()
        .status(code)
        .header("content-type", "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap()
}

pub(crate) fn ok(body: &Value) -> Response {
    status(200, &body.to_string())
}

/// A chat completion that says this.
pub(crate) fn says(text: &str) -> Response {
    ok(&json!({
        "model": "test-model",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }))
}

/// A chat completion that asks for a tool.
pub(crate) fn calls(id: &str, tool: &str, arguments: &Value) -> Response {
    let call = json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}});
    ok(&json!({
        "model": "test-model",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [call]}}],
    }))
}

/// The answer of a judge to all questions of a prompt.
pub(crate) fn verdict(prompt: &str, satisfied: bool, why: &str) -> Response {
    let ids = prompt.lines().filter_map(|line| line.strip_prefix("## ")?.split(':').next());
    let answers: Vec<Value> =
        ids.map(|id| json!({"id": id, "satisfied": satisfied, "reasoning": why})).collect();
    says(&json!({"mark": mark(prompt), "answers": answers}).to_string())
}

/// The mark that a judge's prompt asks for in the answer.
pub(crate) fn mark(prompt: &str) -> &str {
    prompt.split("{\"mark\": \"").nth(1).unwrap_or_default().split('"').next().unwrap_or_default()
}

/// A streamed chat completion.
pub(crate) fn streams(words: &[&str]) -> Response {
    let mut text = String::new();
    for word in words {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": word}}]});
        text += &format!("data: {chunk}\n\n");
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    text += &format!("data: {end}\n\ndata: [DONE]\n\n");
    Response::builder().header("content-type", "text/event-stream").body(Body::from(text)).unwrap()
}

/// Messages as a stream of events.
pub(crate) fn events(messages: &[Value]) -> Response {
    let text: String =
        messages.iter().map(|message| format!("event: message\ndata: {message}\n\n")).collect();
    Response::builder().header("content-type", "text/event-stream").body(Body::from(text)).unwrap()
}
