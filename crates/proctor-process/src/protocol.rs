//! The worker protocol as types: names, messages, encoding. The page is `docs/protocol.md`.
//!
//! Pure. A message keeps its line as received ([`Body`]) and is parsed into the caller's type on
//! demand, so a payload is read once and unknown keys survive. Encoding puts the payload's own
//! keys next to the envelope's, in one object. This module does no I/O and holds no state.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The version of the protocol that this crate speaks.
pub const VERSION: u32 = 1;
/// The longest line, line feed excluded, unless configured otherwise.
pub const MAX_LINE: usize = 8 * 1024 * 1024;

/// Names of actions that this crate itself sends or answers.
pub mod action {
    /// First request of the host: protocol version and names.
    pub const HELLO: &str = "hello";
    /// Asks the worker to reply and exit with 0.
    pub const SHUTDOWN: &str = "__shutdown__";
}

/// Types of notifications that this crate itself sends or reads.
pub mod kind {
    /// First line on a connection to the socket path.
    pub const CONNECT: &str = "connect";
    /// The sender no longer waits for a request.
    pub const CANCEL_REQUEST: &str = "cancel_request";
    /// An event of the run.
    pub const EVENT: &str = "event";
    /// A diagnostic about the worker itself.
    pub const LOG: &str = "log";
}

/// Codes of failed replies.
pub mod code {
    /// The action is not known.
    pub const UNKNOWN_ACTION: &str = "unknown_action";
    /// The request lacks something or has it in the wrong form.
    pub const BAD_REQUEST: &str = "bad_request";
    /// The action was tried and failed.
    pub const FAILED: &str = "failed";
    /// The request was cancelled before it was done.
    pub const CANCELLED: &str = "cancelled";
    /// None of the offered protocol versions is spoken.
    pub const UNSUPPORTED_PROTOCOL: &str = "unsupported_protocol";
    /// The answer would be longer than a line may be.
    pub const TOO_LARGE: &str = "too_large";
    /// Too many requests are open; nothing was done, ask again later.
    pub const BUSY: &str = "busy";
}

/// Environment variables a worker looks at.
pub mod var {
    /// Path of the socket to connect to.
    pub const RPC_SOCKET_PATH: &str = "RPC_SOCKET_PATH";
    /// Secret for the connect line.
    pub const RPC_TOKEN: &str = "RPC_TOKEN";
    /// Number of an inherited, connected socket.
    pub const RPC_SOCKET_FD: &str = "RPC_SOCKET_FD";
    /// Index of a worker within its group.
    pub const WORKER_INDEX: &str = "WORKER_INDEX";
}

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
        (_, _, kind) => {
            Message::Notification { kind: kind.map_or(Cow::Borrowed(""), |kind| kind.0) }
        }
    })
}

/// A payload that cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The payload serialised to something else than an object (or nothing).
    #[error(
        "a payload must be a json object, a struct or `()`, because its keys join the envelope's"
    )]
    NotAnObject,
    /// The payload uses an envelope key.
    #[error("a payload may not have the key {key:?}, it belongs to the envelope; rename it")]
    ReservedKey {
        /// The key.
        key: &'static str,
    },
    /// The message is longer than a line may be.
    #[error("the message has {len} bytes, a line may have {limit}; send it in parts")]
    TooLong {
        /// Length of the encoded line.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The payload's own serialisation failed.
    #[error("the payload cannot be written as json: {0}")]
    Json(#[from] serde_json::Error),
}

/// One encoded line, line feed included.
pub(crate) type Line = Vec<u8>;

/// Encodes a request.
pub(crate) fn request_line<T: Serialize + ?Sized>(
    id: &str,
    action: &str,
    payload: &T,
    limit: usize,
) -> Result<Line, EncodeError> {
    let mut line = Vec::with_capacity(128);
    head(&mut line, b"{\"id\":", id)?;
    head(&mut line, b",\"action\":", action)?;
    let at = line.len();
    serde_json::to_writer(&mut line, payload)?;
    finish(line, at, &["id", "action", "reply_to"], limit)
}

/// Encodes a successful reply.
pub(crate) fn reply_line<T: Serialize + ?Sized>(
    to: &str,
    payload: &T,
    limit: usize,
) -> Result<Line, EncodeError> {
    let mut line = Vec::with_capacity(128);
    head(&mut line, b"{\"reply_to\":", to)?;
    let at = line.len();
    serde_json::to_writer(&mut line, payload)?;
    finish(line, at, &["reply_to", "error"], limit)
}

/// Encodes a failed reply. Falls back to a bare one rather than to none.
pub(crate) fn error_line(to: &str, error: &ReplyError, limit: usize) -> Line {
    #[derive(Serialize)]
    struct Failed<'a> {
        reply_to: &'a str,
        error: &'a ReplyError,
    }
    let full = serde_json::to_vec(&Failed { reply_to: to, error });
    match full {
        Ok(mut line) if line.len() <= limit => {
            line.push(b'\n');
            line
        }
        _ => {
            let short = ReplyError::new(code::TOO_LARGE, "the error does not fit a line");
            let mut line =
                serde_json::to_vec(&Failed { reply_to: to, error: &short }).unwrap_or_default();
            line.push(b'\n');
            line
        }
    }
}

/// Encodes a notification and appends it to `line`.
pub(crate) fn notification_line<T: Serialize + ?Sized>(
    kind: &str,
    payload: &T,
    limit: usize,
) -> Result<Line, EncodeError> {
    let mut line = Vec::with_capacity(128);
    head(&mut line, b"{\"type\":", kind)?;
    let at = line.len();
    serde_json::to_writer(&mut line, payload)?;
    let reserved: &[&'static str] =
        if kind == self::kind::CANCEL_REQUEST { &["type"] } else { &["type", "id", "reply_to"] };
    finish(line, at, reserved, limit)
}

fn head(line: &mut Line, key: &[u8], value: &str) -> Result<(), EncodeError> {
    line.extend_from_slice(key);
    Ok(serde_json::to_writer(line, value)?)
}

/// Joins the payload at `at` to the envelope before it and ends the line.
fn finish(
    mut line: Line,
    at: usize,
    reserved: &[&'static str],
    limit: usize,
) -> Result<Line, EncodeError> {
    check_reserved(&line[at..], reserved)?;
    let first_key = line[at..].iter().skip(1).find(|byte| !byte.is_ascii_whitespace());
    match (line[at..].first(), first_key) {
        (Some(b'{'), Some(b'"')) => line[at] = b',',
        (Some(b'{' | b'n'), _) => {
            line.truncate(at);
            line.push(b'}');
        }
        _ => return Err(EncodeError::NotAnObject),
    }
    // Only a pretty-printed raw value has line feeds, between tokens: a space is as good.
    for byte in &mut line[at..] {
        if *byte == b'\n' {
            *byte = b' ';
        }
    }
    if line.len() > limit {
        return Err(EncodeError::TooLong { len: line.len(), limit });
    }
    line.push(b'\n');
    Ok(line)
}

/// Most payloads do not even contain the word; only then are the top-level keys looked at.
fn check_reserved(payload: &[u8], reserved: &[&'static str]) -> Result<(), EncodeError> {
    for key in reserved {
        let quoted = format!("\"{key}\":");
        if contains(payload, quoted.as_bytes()) && has_key(payload, key) {
            return Err(EncodeError::ReservedKey { key });
        }
    }
    Ok(())
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    // Serialised JSON is UTF-8, and `str::contains` is far faster than comparing windows.
    match (std::str::from_utf8(haystack), std::str::from_utf8(needle)) {
        (Ok(haystack), Ok(needle)) => haystack.contains(needle),
        _ => false,
    }
}

fn has_key(payload: &[u8], key: &str) -> bool {
    let object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(payload);
    object.is_ok_and(|object| object.contains_key(key))
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
