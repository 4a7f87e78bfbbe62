//! A tool server at an address: «streamable HTTP» of the Model Context Protocol.
//!
//! Every message is a POST. The answer is one JSON text, or a stream of events of which one is the answer; what the
//! server asks meanwhile is answered by a POST of its own. A session that the server has forgotten (404) is begun anew
//! by the next request; so is one whose server could not be reached.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proctor_llm::{ErrorKind, JsonEndpoint, JsonReplies, ModelError};
use proctor_redact::Secret;
use serde_json::Value;

use super::{Answer, END_TIMEOUT, ServerError, read_reply, reply_to_server_request, request};

const SESSION: &str = "mcp-session-id";

/// A session with the server.
pub(super) struct HttpSession {
    endpoint: JsonEndpoint,
    /// What the server calls the session, and the version it speaks.
    negotiated: Mutex<NegotiatedSession>,
    last_id: AtomicU64,
    over: AtomicBool,
}

#[derive(Debug, Clone, Default)]
struct NegotiatedSession {
    session: Option<String>,
    version: Option<String>,
}

impl HttpSession {
    pub(super) fn new(url: &str, headers: Vec<(String, Secret)>) -> Result<Self, ServerError> {
        let endpoint = JsonEndpoint::new(url, headers).map_err(ServerError::Http)?;
        Ok(Self {
            endpoint,
            negotiated: Mutex::default(),
            last_id: AtomicU64::new(0),
            over: AtomicBool::new(false),
        })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(super) fn set_version(&self, version: &str) {
        self.negotiated.lock().unwrap_or_else(PoisonError::into_inner).version =
            Some(version.to_owned());
    }

    pub(super) async fn ask(
        &self,
        method: &str,
        params: &Value,
        within: Duration,
    ) -> Result<Answer, ServerError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let exchange = self.exchange(id, request(id, method, params), within);
        match tokio::time::timeout(within, exchange).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.server_error(error)),
            Err(_) => Err(ServerError::TooSlow { method: method.to_owned(), within }),
        }
    }

    /// Sends a notification. Errors are ignored: the next request reports them.
    pub(super) async fn notify(&self, message: &Value) {
        if let Ok(mut replies) = self.post(message, END_TIMEOUT).await {
            let _ = replies.next().await;
        }
    }

    pub(super) async fn end(&self) {
        // Only a server that assigned a session id expects `DELETE`.
        if self.negotiated().session.is_some() {
            let _ = self.endpoint.send("DELETE", &self.headers(), None, END_TIMEOUT).await;
        }
    }

    async fn exchange(
        &self,
        id: u64,
        message: Value,
        within: Duration,
    ) -> Result<Answer, ModelError> {
        let mut replies = self.post(&message, within).await?;
        if let Some(session) = replies.header(SESSION) {
            self.negotiated.lock().unwrap_or_else(PoisonError::into_inner).session =
                Some(session.to_owned());
        }
        while let Some(text) = replies.next().await? {
            let Ok(message) = serde_json::from_str::<Value>(&text) else {
                let shown = proctor_text::shorten(&text, 120);
                let what = format!("answered with something that is not JSON: {shown}");
                return Err(ModelError::new(ErrorKind::Malformed, what));
            };
            if message.get("method").is_some() {
                if let Some(answer) = reply_to_server_request(&message) {
                    self.notify(&answer).await;
                }
            } else if message["id"].as_u64() == Some(id) {
                return Ok(read_reply(&message));
            }
        }
        Err(ModelError::new(ErrorKind::Truncated, "ended its answer without a result".to_owned()))
    }

    async fn post(&self, message: &Value, within: Duration) -> Result<JsonReplies<'_>, ModelError> {
        self.endpoint.send("POST", &self.headers(), Some(message.to_string()), within).await
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        let NegotiatedSession { session, version } = self.negotiated();
        headers.extend(session.map(|session| (SESSION, session)));
        headers.extend(version.map(|version| ("mcp-protocol-version", version)));
        headers
    }

    fn negotiated(&self) -> NegotiatedSession {
        self.negotiated.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn server_error(&self, error: ModelError) -> ServerError {
        if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Unreachable) {
            self.over.store(true, Ordering::Relaxed);
        }
        match error.kind {
            ErrorKind::NotFound if self.negotiated().session.is_some() => {
                ServerError::SessionUnknown
            }
            _ => ServerError::Http(error),
        }
    }
}
