//! Calls that go on to a real model, and their recording.

use std::sync::Arc;

use proctor_llm::cassette::{Outcome, Tape};
use proctor_llm::wire::Protocol;
use proctor_llm::{
    Answer, ForwardedCall, HttpModel, Layers, Message, ModelError, Purpose, Request, Role,
};
use serde_json::{Value, json};

use crate::answer::Reply;
use crate::conversation::Answered;
use crate::replay::{asked, read_parts};

/// A real model that calls are forwarded to. Limits, retries, prices, budget and cache are the layers'.
#[derive(Clone)]
pub struct Forward {
    model: Arc<HttpModel>,
    layers: Layers,
}

impl std::fmt::Debug for Forward {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Forward({:?})", self.model)
    }
}

/// One call of a conversation.
pub(crate) struct ForwardRequest<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) body: &'a Value,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) prompt: &'a str,
    pub(crate) conversation: &'a str,
    pub(crate) repeat: u32,
}

impl Forward {
    /// Forwards to this model.
    pub fn new(model: Arc<HttpModel>, layers: Layers) -> Self {
        Self { model, layers }
    }

    /// The answer, and what a tape keeps of it.
    pub(crate) async fn ask(
        &self,
        call: ForwardRequest<'_>,
    ) -> Result<(Answered, Value), ModelError> {
        let ForwardRequest { protocol, body, headers, prompt, conversation, repeat } = call;
        let forwarded = ForwardedCall::new(&self.model, protocol, body, headers)?;
        let limits = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
        let limit = limits.iter().find_map(|limit| body[limit].as_u64());
        // What is asked is the body; this says how large it is, and whose answers the cache keeps apart.
        let request = Request {
            messages: vec![Message { role: Role::User, ..Message::user(prompt) }],
            max_tokens: limit.and_then(|limit| u32::try_from(limit).ok()),
            purpose: Purpose::Agent,
            conversation: conversation.to_owned(),
            repeat,
            ..Request::default()
        };
        let Answer { text, cost, cached, tries, model, .. } =
            self.layers.clone().wrap(forwarded).ask(&request).await?;
        let is_stream = !text.trim_start().starts_with('{');
        let kept = if is_stream {
            Value::from(text.as_str())
        } else {
            serde_json::from_str(&text).unwrap_or_else(|_| text.as_str().into())
        };
        let cost_usd = cost.map(proctor_llm::Cost::dollars);
        let parts = read_parts(protocol, &kept)?;
        let reply = if is_stream {
            Reply::received_stream(&text)
        } else {
            Reply { status: 200, headers: Vec::new(), is_stream: false, pieces: vec![text] }
        };
        let recorded = json!({"body": kept, "cost_usd": cost_usd});
        let answered = Answered {
            reply,
            whole: Some(kept),
            text: parts.text,
            tool_calls: parts.tool_calls,
            usage: parts.usage,
            model,
            cost_usd,
            cached,
            tries: Some(tries),
        };
        Ok((answered, recorded))
    }
}

/// The calls of one conversation, which are written to a tape when it is over.
#[derive(Debug)]
pub struct Recording {
    tape: Arc<Tape>,
    conversation: String,
    calls: Vec<Option<(Value, Outcome)>>,
    /// Whether a call failed on our side: then the tape keeps what it has.
    is_unusable: bool,
}

impl Recording {
    /// A recording of a conversation under this name.
    pub fn new(tape: Arc<Tape>, conversation: String) -> Self {
        Self { tape, conversation, calls: Vec::new(), is_unusable: false }
    }

    /// Takes the place of a call that is being made: calls are replayed in this order, however they end.
    pub(crate) fn begin(&mut self) -> usize {
        self.calls.push(None);
        self.calls.len() - 1
    }

    pub(crate) fn complete(
        &mut self,
        place: usize,
        protocol: Protocol,
        body: &Value,
        outcome: &Result<(Answered, Value), ModelError>,
    ) {
        let outcome = match outcome {
            Ok((_, recorded)) => Outcome::Answer(recorded.clone()),
            Err(error) if error.kind.is_from_peer() => Outcome::Error(error.clone()),
            Err(_) => {
                self.is_unusable = true;
                return;
            }
        };
        if let Some(call) = self.calls.get_mut(place) {
            *call = Some((asked(protocol, body), outcome));
        }
    }

    /// Writes the calls that have ended.
    pub(crate) fn write(&mut self) -> Result<(), ModelError> {
        let calls: Vec<_> = std::mem::take(&mut self.calls).into_iter().flatten().collect();
        if calls.is_empty() || self.is_unusable {
            return Ok(());
        }
        self.tape.replace(&self.conversation, calls)
    }
}
