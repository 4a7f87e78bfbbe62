//! The wire formats, as pure functions between [`Request`], JSON and [`AnswerParts`].
//!
//! A dialect encodes a request, decodes a whole body, and folds the events of a stream. None of
//! it touches a socket; the transport feeds it and adds times.

mod anthropic;
mod openai;
mod protocol;
mod responses;

use proctor_text::shorten;
use serde_json::{Map, Value};

use crate::answer::{StopReason, Usage};
use crate::error::ErrorKind;
use crate::request::{Request, ToolCall};
use crate::sse::SseEvent;

pub use self::protocol::Protocol;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic's messages.
    Anthropic,
    /// Chat completions, as `OpenAI` and the many that copy it speak them.
    OpenAi,
}

/// How a request is written, beyond what is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodeOptions<'a> {
    /// The model's name.
    pub model: &'a str,
    /// Whether to ask for a stream.
    pub stream: bool,
    /// Whether `max_completion_tokens` is the name of the output limit (chat completions only;
    /// newer models of `OpenAI` refuse the old name, most copies know only that).
    pub completion_limit: bool,
    /// Further members of the body; they win.
    pub extra: &'a Map<String, Value>,
}

/// The content of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerParts {
    /// The words.
    pub text: String,
    /// Tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// The model that answered; empty where it did not say.
    pub model: String,
    /// Why it stopped.
    pub stop: StopReason,
}

/// What a body or stream turned out to be instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFault {
    /// The sort of failure.
    pub kind: ErrorKind,
    /// What is wrong.
    pub message: String,
}

impl WireFault {
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Malformed, message: message.into() }
    }

    pub(crate) fn truncated(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Truncated, message: message.into() }
    }
}

/// What an event of a stream meant for the one who waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStep {
    /// It carried content: words, or part of a tool call.
    pub content: bool,
    /// It was the last one.
    pub done: bool,
}

/// Folds the events of one streamed answer.
pub trait StreamDecoder: Send {
    /// Takes one event.
    fn event(&mut self, event: &SseEvent) -> Result<StreamStep, WireFault>;

    /// Ends the stream and gives the answer, if it was complete.
    fn finish(self: Box<Self>) -> Result<AnswerParts, WireFault>;
}

impl Dialect {
    /// The body to send.
    pub fn encode(self, request: &Request, options: &EncodeOptions<'_>) -> Value {
        let mut body = match self {
            Self::Anthropic => anthropic::encode(request, options),
            Self::OpenAi => openai::encode(request, options),
        };
        body.extend(options.extra.iter().map(|(name, value)| (name.clone(), value.clone())));
        Value::Object(body)
    }

    /// The answer in a whole body.
    pub fn decode(self, body: &Value) -> Result<AnswerParts, WireFault> {
        if let Some(fault) = fault_in(body) {
            return Err(fault);
        }
        match self {
            Self::Anthropic => anthropic::decode(body),
            Self::OpenAi => openai::decode(body),
        }
    }

    /// A fresh fold for a streamed answer.
    pub fn stream_decoder(self) -> Box<dyn StreamDecoder> {
        match self {
            Self::Anthropic => Box::new(anthropic::AnthropicStreamDecoder::default()),
            Self::OpenAi => Box::new(openai::OpenAiStreamDecoder::default()),
        }
    }
}

/// The messages of a chat in the shape of chat completions, for mappings of agents.
pub fn chat_messages(request: &Request) -> Value {
    openai::messages(request)
}

/// The tools on offer in the shape of chat completions.
pub fn chat_tools(request: &Request) -> Value {
    openai::tools(request)
}

/// What an error body says, in either format or the likes of them.
pub(crate) fn error_text(body: &Value) -> Option<String> {
    let error = body.get("error").filter(|error| !error.is_null());
    let candidates = [
        error.and_then(|error| error.get("message")),
        error,
        body.get("message"),
        body.get("detail"),
    ];
    let words = candidates.into_iter().flatten().find_map(Value::as_str)?;
    Some(shorten(words, 300))
}

/// An error where an answer was expected: inside a stream, or in a body sent as a success.
fn fault_in(body: &Value) -> Option<WireFault> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let word = error.get("type").or_else(|| error.get("code")).and_then(Value::as_str);
    let kind = match word.unwrap_or_default() {
        "overloaded_error" | "api_error" | "server_error" => ErrorKind::Overloaded,
        "rate_limit_error" | "rate_limit_exceeded" => ErrorKind::RateLimited,
        "insufficient_quota" | "billing_error" => ErrorKind::QuotaExhausted,
        "authentication_error" | "permission_error" | "invalid_api_key" => ErrorKind::Refused,
        "not_found_error" | "model_not_found" => ErrorKind::NotFound,
        "invalid_request_error" => ErrorKind::BadRequest,
        _ => ErrorKind::Malformed,
    };
    let words = error_text(body).unwrap_or_else(|| shorten(&error.to_string(), 300));
    Some(WireFault { kind, message: format!("answered with an error: {words}") })
}

/// The data of an event as JSON.
fn event_json(event: &SseEvent) -> Result<Value, WireFault> {
    serde_json::from_str(&event.data).map_err(|problem| {
        let shown = shorten(&event.data, 80);
        WireFault::malformed(format!("sent an event that is not JSON ({problem}): {shown}"))
    })
}

/// Arguments as a model wrote them: JSON, nothing (no arguments), or text that is neither.
fn arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn string_at(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn count_at(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
mod tests;
