//! Models over HTTP: both wire formats, streamed or not.
//!
//! The transport is in [`transport`], the wording of failures in [`failure`]; what is sent and
//! understood is decided by the [`Dialect`]. This file joins them.

mod endpoint;
mod failure;
mod forward;
mod post;
mod transport;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

pub use endpoint::{Endpoint, WallClock};
pub(crate) use failure::Peer;
pub use failure::parse_retry_after;
pub use forward::ForwardedCall;
pub use post::{JsonEndpoint, JsonReplies};
pub(crate) use transport::{HttpCall, ResponseBody, Transport};

use proctor_redact::{Redactor, Secret};

use crate::answer::{Answer, Timings};
use crate::canonical::{request_hash, sorted};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Billing, Identity, Model, ModelFuture};
use crate::request::Request;
use crate::sse::SseDecoder;
use crate::wire::{AnswerParts, Dialect, EncodeOptions, WireFault};

/// A model behind an HTTP endpoint.
pub struct HttpModel {
    dialect: Dialect,
    endpoint: Endpoint,
    identity: Identity,
    transport: Transport,
    peer: Peer,
    headers: Vec<(String, Secret)>,
    address: String,
}

/// The headers with that of the trace that the request belongs to.
pub(crate) fn with_traceparent<'a>(
    headers: &'a [(String, Secret)],
    request: &Request,
) -> Cow<'a, [(String, Secret)]> {
    let Some(traceparent) = &request.traceparent else { return Cow::Borrowed(headers) };
    let mut headers = headers.to_vec();
    headers.push(("traceparent".to_owned(), Secret::new(traceparent)));
    Cow::Owned(headers)
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "HttpModel({} at {})", self.identity.model, self.peer.name)
    }
}

impl HttpModel {
    /// A model behind an endpoint that speaks this dialect.
    pub fn new(dialect: Dialect, endpoint: Endpoint) -> Result<Self, ModelError> {
        let address = endpoint.address(dialect);
        let transport = Transport::new(&address, endpoint.proxy.as_ref())?;
        let secrets = endpoint.key.iter().chain(endpoint.headers.iter().map(|(_, value)| value));
        let peer = Peer {
            name: transport.shown().to_owned(),
            redactor: Redactor::new(secrets.cloned()),
            has_key: endpoint.key.is_some(),
            key_hint: endpoint.key_hint.clone(),
            clock: endpoint.clock.clone(),
        };
        let backend = if dialect == Dialect::Anthropic { "anthropic" } else { "openai" };
        let headers = headers(dialect, &endpoint);
        let identity = Identity {
            backend,
            model: endpoint.model.clone(),
            billing: Billing::ByTokens,
            fingerprint: fingerprint(&address, &headers, &endpoint),
        };
        Ok(Self { dialect, endpoint, identity, transport, peer, headers, address })
    }

    /// An agent under test that speaks this dialect.
    pub fn agent(dialect: Dialect, endpoint: Endpoint) -> Result<Self, ModelError> {
        let mut agent = Self::new(dialect, endpoint)?;
        agent.identity.backend = "agent";
        agent.identity.billing = Billing::Elsewhere;
        agent.peer.name = format!("agent at {}", agent.peer.name);
        Ok(agent)
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ModelError> {
        if self.endpoint.needs_key() && self.endpoint.key.is_none() {
            return Err(self.peer.missing_key_error());
        }
        let options = EncodeOptions {
            model: &self.endpoint.model,
            stream: self.endpoint.stream,
            completion_limit: self.endpoint.url.contains("api.openai.com"),
            extra: &self.endpoint.extra,
        };
        let headers = with_traceparent(&self.headers, request);
        let call = HttpCall {
            method: "POST",
            url: &self.address,
            headers: &headers,
            body: Some(self.dialect.encode(request, &options).to_string()),
            idle_timeout: self.endpoint.idle_timeout,
            max_bytes: self.endpoint.max_bytes,
        };
        let began = Instant::now();
        let limit = self.endpoint.timeout;
        let outcome = tokio::time::timeout(limit, self.exchange(call, began)).await;
        let (parts, raw, first_token) = outcome.map_err(|_| self.peer.timeout_error(limit))??;
        let model = if parts.model.is_empty() { &self.endpoint.model } else { &parts.model };
        Ok(Answer {
            model: model.clone(),
            text: parts.text,
            tool_calls: parts.tool_calls,
            usage: parts.usage,
            stop: parts.stop,
            timings: Timings { total: began.elapsed(), first_token },
            raw: self.peer.redactor.redact_text(&raw).into_owned(),
            cached: false,
            tries: 1,
            waited: Duration::ZERO,
            cost: None,
        })
    }

    async fn exchange(
        &self,
        call: HttpCall<'_>,
        began: Instant,
    ) -> Result<(AnswerParts, String, Option<Duration>), ModelError> {
        let mut body = self.transport.send(call, &self.peer).await?;
        if body.is_event_stream() {
            let mut stream = StreamedAnswer::new(self.dialect, self.endpoint.max_bytes);
            let ended = self.read_stream(&mut stream, &mut body, began).await;
            let raw = String::from_utf8_lossy(&stream.raw).into_owned();
            ended?;
            let parts = stream.finish().map_err(|fault| self.peer.fault(fault))?;
            return Ok((parts.0, raw, parts.1));
        }
        let text = body.text(&self.peer).await?;
        let value = self.peer.json(&text, &body.content_type)?;
        let parts = self.dialect.decode(&value).map_err(|fault| self.peer.fault(fault))?;
        Ok((parts, text, None))
    }

    async fn read_stream(
        &self,
        stream: &mut StreamedAnswer,
        body: &mut ResponseBody,
        began: Instant,
    ) -> Result<(), ModelError> {
        while let Some(piece) = body.piece(&self.peer).await? {
            if stream.take(&piece, began).map_err(|fault| self.peer.fault(fault))? {
                body.drain().await;
                break;
            }
        }
        Ok(())
    }
}

fn headers(dialect: Dialect, endpoint: &Endpoint) -> Vec<(String, Secret)> {
    let mut headers = vec![("content-type".to_owned(), Secret::new("application/json"))];
    if dialect == Dialect::Anthropic {
        headers.push(("anthropic-version".into(), Secret::new("2023-06-01")));
    }
    if let Some(key) = &endpoint.key {
        headers.push(match dialect {
            Dialect::Anthropic => ("x-api-key".into(), key.clone()),
            Dialect::OpenAi => {
                ("authorization".into(), Secret::new(format!("Bearer {}", key.reveal())))
            }
        });
    }
    // Those of the configuration come last, and win.
    headers.extend(endpoint.headers.iter().cloned());
    headers
}

/// Headers and key may decide who answers, as behind a gateway; a digest of them shows nothing.
fn fingerprint(address: &str, headers: &[(String, Secret)], endpoint: &Endpoint) -> String {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name, value.reveal())).collect();
    let proxy = endpoint.proxy.as_ref().map(Secret::reveal);
    let all = json!({"url": address, "headers": headers, "extra": endpoint.extra, "proxy": proxy});
    request_hash(&sorted(&all))
}

/// An answer that is being streamed.
struct StreamedAnswer {
    decoder: SseDecoder,
    fold: Box<dyn crate::wire::StreamDecoder>,
    first_token: Option<Duration>,
    raw: Vec<u8>,
}

impl StreamedAnswer {
    fn new(dialect: Dialect, max_bytes: usize) -> Self {
        Self {
            decoder: SseDecoder::new(max_bytes),
            fold: dialect.stream_decoder(),
            first_token: None,
            raw: Vec::new(),
        }
    }

    /// Takes a piece; says whether the answer is complete.
    fn take(&mut self, piece: &[u8], began: Instant) -> Result<bool, WireFault> {
        self.raw.extend_from_slice(piece);
        let pushed = self.decoder.push(piece);
        pushed.map_err(|problem| WireFault::malformed(problem.to_string()))?;
        while let Some(event) = self.decoder.next_event() {
            let step = self.fold.event(&event)?;
            if step.content && self.first_token.is_none() {
                self.first_token = Some(began.elapsed());
            }
            if step.done {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn finish(mut self) -> Result<(AnswerParts, Option<Duration>), WireFault> {
        // A last event without its blank line counts only if it can be read.
        if let Some(event) = self.decoder.finish() {
            let truncated_error =
                |_| WireFault::truncated("ended the stream in the middle of an event");
            self.fold.event(&event).map_err(truncated_error)?;
        }
        Ok((self.fold.finish()?, self.first_token))
    }
}

impl Model for HttpModel {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            if request.messages.is_empty() {
                let message = "a request needs at least one message";
                return Err(ModelError::new(ErrorKind::BadRequest, message));
            }
            self.answer(request).await
        })
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}
