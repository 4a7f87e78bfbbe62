//! Sending on a request that somebody else has written: an agent under test, which speaks to its model through us.
//!
//! The body goes on as it came, but for the name of the model and the members that the model's description adds. The answer comes back as
//! it was received, so that nothing is lost that this crate has no words for; what it holds is read beside it, for prices and records.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{HttpCall, HttpModel};
use crate::answer::{Answer, Timings};
use crate::canonical::{request_hash, sorted};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Identity, Model, ModelFuture};
use crate::request::Request;
use crate::wire::{Dialect, Protocol};
use proctor_redact::Secret;

/// One request of an agent to a model. A model itself, so that limits, budget, cache and retries hold for it; the request that it is asked
/// with only says how large it is.
///
/// The text of its [`Answer`] is the whole body as it was received.
pub struct ForwardedCall {
    model: Arc<HttpModel>,
    protocol: Protocol,
    address: String,
    headers: Vec<(String, Secret)>,
    body: String,
    identity: Identity,
}

impl ForwardedCall {
    /// A call with this body; `headers` are those of the agent that say which version of the interface it speaks.
    pub fn new(
        model: &Arc<HttpModel>,
        protocol: Protocol,
        body: &Value,
        headers: Vec<(String, String)>,
    ) -> Result<Self, ModelError> {
        if model.dialect != protocol.dialect() {
            let described = match model.dialect {
                Dialect::Anthropic => "anthropic",
                Dialect::OpenAi => "openai",
            };
            let message = format!(
                "the agent speaks the interface `{}`, and the model that its calls go to is described with `{described}:`; name a model of the other provider under `forward:`",
                protocol.as_str()
            );
            return Err(ModelError::new(ErrorKind::Config, message));
        }
        let mut body = body.clone();
        body["model"] = model.endpoint.model.as_str().into();
        for (name, value) in &model.endpoint.extra {
            body[name] = value.clone();
        }
        let address = address(&model.address, protocol);
        let key = json!([model.identity.fingerprint, address, headers, sorted(&body)]);
        let identity = Identity { fingerprint: request_hash(&key), ..model.identity.clone() };
        // Those of the description come last, and win.
        let own = model.headers.iter();
        let others =
            headers.into_iter().filter(|(name, _)| !own.clone().any(|(own, _)| own == name));
        let mut headers: Vec<(String, Secret)> =
            others.map(|(name, value)| (name, Secret::new(value))).collect();
        headers.extend(model.headers.iter().cloned());
        let (model, body) = (Arc::clone(model), body.to_string());
        Ok(Self { model, protocol, address, headers, body, identity })
    }

    async fn send(&self) -> Result<Answer, ModelError> {
        let (endpoint, peer) = (&self.model.endpoint, &self.model.peer);
        if endpoint.needs_key() && endpoint.key.is_none() {
            return Err(peer.missing_key_error());
        }
        let call = HttpCall {
            method: "POST",
            url: &self.address,
            headers: &self.headers,
            body: Some(self.body.clone()),
            idle_timeout: endpoint.idle_timeout,
            max_bytes: endpoint.max_bytes,
        };
        let began = Instant::now();
        let exchange = async {
            let mut body = self.model.transport.send(call, peer).await?;
            let is_stream = body.is_event_stream();
            let text = body.text(peer).await?;
            let parts = if is_stream {
                self.protocol.decode_stream(&text)
            } else {
                self.protocol.decode(&peer.json(&text, &body.content_type)?)
            };
            Ok((text, parts.map_err(|fault| peer.fault(fault))?))
        };
        let limit = endpoint.timeout;
        let exchanged = tokio::time::timeout(limit, exchange).await;
        let (text, parts) = exchanged.map_err(|_| peer.timeout_error(limit))??;
        let model = if parts.model.is_empty() { endpoint.model.clone() } else { parts.model };
        Ok(Answer {
            text,
            tool_calls: parts.tool_calls,
            usage: parts.usage,
            model,
            stop: parts.stop,
            timings: Timings { total: began.elapsed(), first_token: None },
            tries: 1,
            ..Answer::default()
        })
    }
}

impl std::fmt::Debug for ForwardedCall {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ForwardedCall({} to {:?})", self.protocol.as_str(), self.model)
    }
}

impl Model for ForwardedCall {
    fn ask<'a>(&'a self, _: &'a Request) -> ModelFuture<'a> {
        Box::pin(self.send())
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}

/// The address for this interface beside the one that the model is asked at.
fn address(asked_at: &str, protocol: Protocol) -> String {
    if protocol != Protocol::Responses {
        return asked_at.to_owned();
    }
    let (path, query) = asked_at
        .split_once('?')
        .map_or((asked_at, String::new()), |(path, query)| (path, format!("?{query}")));
    let base = path.strip_suffix(Protocol::ChatCompletions.path()).unwrap_or(path);
    let tail = if base.ends_with(protocol.path()) { "" } else { protocol.path() };
    format!("{base}{tail}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_asked_for_beside_chat_completions() {
        let of = |asked_at| address(asked_at, Protocol::Responses);
        assert_eq!(of("http://h/v1/chat/completions"), "http://h/v1/responses");
        assert_eq!(of("http://h/v1/chat/completions?v=2"), "http://h/v1/responses?v=2");
        let same = "http://h/v1/messages";
        assert_eq!(address(same, Protocol::Messages), same);
    }
}
