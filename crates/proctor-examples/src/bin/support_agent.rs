//! `support-agent --port N`: the help desk over HTTP, on the loopback interface.
//!
//! * `POST /v1/chat/completions`: chat completions with tools; the caller calls the tools. Streams when asked to.
//! * `POST /chat`: an interface of its own, `{"session": null, "message": "…"}`; the agent keeps the session and uses the
//!   shop itself. A key is wanted here: `authorization: Bearer …`, the word given as `--key`.
//! * `GET /health`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use futures_util::stream;
use proctor_examples::support::wire::Completion;
use proctor_examples::support::{ChatMessage, Decision, Shop, decide};
use serde::Deserialize;
use serde_json::{Value, json};

/// How long the agent takes between two words of a stream.
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Default)]
struct AgentState {
    key: Option<String>,
    sessions: Mutex<HashMap<String, Session>>,
}

#[derive(Default)]
struct Session {
    messages: Vec<ChatMessage>,
    shop: Shop,
}

#[derive(Deserialize)]
struct Chat {
    session: Option<String>,
    message: String,
}

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).cloned()
    };
    let port: u16 = value("--port").ok_or("usage: support-agent --port N [--key WORD]")?.parse()?;
    let state = Arc::new(AgentState { key: value("--key"), ..AgentState::default() });
    let app = Router::new()
        .route("/health", get(|| async { "ok" }))
        .route("/v1/chat/completions", post(|body: Bytes| async move { completion(&body) }))
        .route("/chat", post(chat))
        .with_state(state);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, app).await?;
    Ok(())
}

fn answer(status: StatusCode, kind: &str, body: Body) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", kind).body(body);
    response.unwrap_or_else(|_| Response::new(Body::empty()))
}

fn json_answer(status: StatusCode, body: &Value) -> Response<Body> {
    answer(status, "application/json", body.to_string().into())
}

fn refused(status: StatusCode, message: &str) -> Response<Body> {
    json_answer(status, &json!({"error": {"message": message}}))
}

fn completion(body: &[u8]) -> Response<Body> {
    let request: Completion = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let decision = decide(&request.messages(), &request.tools());
    if !request.stream {
        return json_answer(StatusCode::OK, &request.body(&decision));
    }
    let pieces = stream::unfold(request.pieces(&decision).into_iter(), |mut pieces| async move {
        let piece = pieces.next()?;
        tokio::time::sleep(PAUSE).await;
        Some((Ok::<_, Infallible>(piece), pieces))
    });
    answer(StatusCode::OK, "text/event-stream", Body::from_stream(pieces))
}

async fn chat(
    State(state): State<Arc<AgentState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok());
    if let Some(key) = &state.key
        && shown != Some(&format!("Bearer {key}"))
    {
        return refused(StatusCode::UNAUTHORIZED, "a key is needed");
    }
    let Ok(Chat { session, message }) = serde_json::from_slice(&body) else {
        return refused(StatusCode::BAD_REQUEST, "`message` is missing");
    };
    let mut sessions = state.sessions.lock().unwrap_or_else(PoisonError::into_inner);
    let name = session.unwrap_or_else(|| format!("s{}", sessions.len() + 1));
    let session = sessions.entry(name.clone()).or_default();
    let text = session.answer(message);
    json_answer(StatusCode::OK, &json!({"session": name, "reply": {"text": text}}))
}

impl Session {
    /// Uses the shop until there is something to say.
    fn answer(&mut self, message: String) -> String {
        let tools: Vec<String> = Shop::tools().iter().map(|tool| tool.name.to_owned()).collect();
        self.messages.push(ChatMessage::User(message));
        loop {
            match decide(&self.messages, &tools) {
                Decision::Say(text) => {
                    self.messages.push(ChatMessage::Agent(text.clone()));
                    return text;
                }
                Decision::Call { tool, arguments } => {
                    let outcome = self.shop.call(tool, &arguments);
                    self.messages.push(ChatMessage::Tool { name: tool.to_owned(), outcome });
                }
            }
        }
    }
}
