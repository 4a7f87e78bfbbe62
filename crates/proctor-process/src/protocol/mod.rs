//! The worker protocol as types: names, messages, encoding. The page is `docs/protocol.md`.
//!
//! Pure. A message keeps its line as received ([`Body`]) and is parsed into the caller's type on
//! demand, so unknown keys survive. The one exception is an event, by far the most frequent message: [`classify`] splits its
//! payload into fields on the way ([`EventFields`]), so that no part of the line is scanned a second time. Encoding puts the
//! payload's own keys next to the envelope's, in one object. This module does no I/O and holds no state.

mod encode;
mod event_fields;
mod names;

pub use encode::EncodeError;
pub(crate) use encode::{error_line, notification_line, reply_line, request_line};
pub use event_fields::EventFields;
use event_fields::{EventName, PayloadFields};
pub use names::{action, code, kind, var};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The version of the protocol that this crate speaks.
pub const VERSION: u32 = 1;
/// The longest line, line feed excluded, unless configured otherwise.
pub const MAX_LINE: usize = 8 * 1024 * 1024;

/// A message as it was received: one JSON object, parsed when asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body(Box<str>);

impl Body {
    pub(crate) fn new(line: &str) -> Self {
        Self(line.into())
    }

    /// The line, without its line feed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the object into a type; envelope keys are there too.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The object as a value tree, `Null` should it not parse.
    pub fn value(&self) -> serde_json::Value {
        self.parse().unwrap_or_default()
    }
}

impl From<&str> for Body {
    fn from(line: &str) -> Self {
        Self::new(line)
    }
}

/// A successful reply.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The whole message.
    pub body: Body,
}

/// A message that needs no answer.
#[derive(Debug, Clone)]
pub struct Notification {
    /// Its `type`, empty if it had none.
    pub kind: Box<str>,
    /// The whole message.
    pub body: Body,
    /// Name and fields of the event, if the message has `event_type` and an object as `payload`.
    pub event: Option<EventFields>,
}

/// A request of the other side.
#[derive(Debug, Clone)]
pub struct IncomingRequest {
    /// The other side's id.
    pub id: Box<str>,
    /// What is asked for.
    pub action: Box<str>,
    /// The whole message.
    pub body: Body,
}

/// The `error` member of a failed reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ReplyError {
    /// A short word for programs; see [`code`].
    #[serde(default = "failed_code")]
    pub code: String,
    /// A sentence for people.
    #[serde(default)]
    pub message: String,
    /// More detail, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

fn failed_code() -> String {
    code::FAILED.to_owned()
}

impl ReplyError {
    /// An error without further data.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), data: None }
    }

    /// The answer to an action that is not known.
    pub fn unknown_action(action: &str) -> Self {
        Self::new(code::UNKNOWN_ACTION, format!("no action {action:?}"))
    }

    /// An action was tried and failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(code::FAILED, message)
    }

    /// Reads whatever a worker put there; a bare string becomes the message.
    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        serde_json::from_str(raw.get()).unwrap_or_else(|_| {
            let text = serde_json::from_str::<String>(raw.get());
            Self::failed(text.unwrap_or_else(|_| raw.get().to_owned()))
        })
    }
}

/// What a line is, by its envelope.
#[derive(Debug)]
pub enum Message<'a> {
    /// Has `reply_to`.
    Reply {
        /// The request it answers.
        to: Cow<'a, str>,
        /// The `error` member, if the request failed.
        error: Option<&'a RawValue>,
    },
    /// Has `id` and `action`.
    Request {
        /// The sender's id.
        id: Cow<'a, str>,
        /// What is asked for.
        action: Cow<'a, str>,
    },
    /// Has an `id`, but neither `action` nor `type`: a request that cannot be understood.
    Unclear {
        /// The sender's id.
        id: Cow<'a, str>,
    },
    /// Anything else; `id` may be an ordinary field of it.
    Notification {
        /// The `type`, if there is one.
        kind: Cow<'a, str>,
        /// Name and fields of the event, if the message has `event_type` and an object as `payload`.
        event: Option<EventFields>,
    },
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    reply_to: Option<Text<'a>>,
    #[serde(borrow)]
    action: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    event_type: EventName<'a>,
    #[serde(borrow, default)]
    payload: PayloadFields<'a>,
}

/// Why a line is not a message.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Valid or not, it does not begin with `{`.
    #[error("not a json object")]
    NotAnObject,
    /// Not JSON, or an envelope key has the wrong type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Tells what kind of message a line is, reading only the envelope.
pub fn classify(line: &str) -> Result<Message<'_>, Malformed> {
    if !line.trim_start().starts_with('{') {
        return Err(Malformed::NotAnObject);
    }
    let envelope: Envelope<'_> = serde_json::from_str(line)?;
    if let Some(Text(to)) = envelope.reply_to {
        return Ok(Message::Reply { to, error: envelope.error });
    }
    Ok(match (envelope.id, envelope.action, envelope.kind) {
        (Some(Text(id)), Some(Text(action)), _) => Message::Request { id, action },
        (Some(Text(id)), None, None) => Message::Unclear { id },
        (_, _, kind) => Message::Notification {
            kind: kind.map_or(Cow::Borrowed(""), |kind| kind.0),
            event: EventFields::new(envelope.event_type, envelope.payload),
        },
    })
}

/// The host's `hello`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    /// The version the host speaks.
    pub protocol: u32,
    /// Who is asking.
    pub host: HostInfo,
}

/// Name and version of the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostInfo {
    /// For instance `proctor`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The worker's answer to `hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerHello {
    /// The version the worker speaks.
    pub protocol: u32,
    /// What it is.
    #[serde(default)]
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// Its process id, as it sees it.
    #[serde(default)]
    pub pid: Option<u32>,
    /// What it can do beyond the two actions every worker has.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

/// Which stream a connection to the socket path carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamName {
    /// Messages.
    Rpc,
    /// Raw bytes of the worker's standard output.
    Stdout,
    /// Raw bytes of the worker's standard error.
    Stderr,
}

/// The first line on a connection to the socket path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConnectLine {
    /// Always `connect`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `RPC_TOKEN`.
    pub token: String,
    /// What this connection carries.
    pub stream: StreamName,
    /// The worker's stable number.
    pub slot: u32,
    /// Counts the processes that have had this slot.
    #[serde(default)]
    pub generation: u32,
    /// The worker's process id, as it sees it.
    #[serde(default)]
    pub pid: Option<u32>,
}

/// Payload of the notification that a request is no longer waited for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CancelRequest<'a> {
    #[serde(borrow)]
    pub(crate) id: Cow<'a, str>,
}

/// Payload of a notification about the run.
#[derive(Debug, Serialize)]
pub(crate) struct EventPayload<'a, T: ?Sized> {
    pub(crate) event_type: &'a str,
    pub(crate) payload: &'a T,
}

#[cfg(test)]
mod tests;
