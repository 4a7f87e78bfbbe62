//! What can go wrong when a model is asked, classified so that others can decide.
//!
//! The kind decides (retry, fault, exit); the message is for people: lower case, says what
//! happened and the way out, and never holds a key: the code that makes one redacts it first.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What sort of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No connection, or it broke before an answer.
    Unreachable,
    /// No (complete) answer in time.
    Timeout,
    /// The key is not accepted or not allowed to do this.
    Refused,
    /// Too many requests or tokens; later it may work.
    RateLimited,
    /// The account has nothing left; waiting does not help.
    QuotaExhausted,
    /// The provider is overloaded or failed on its side.
    Overloaded,
    /// The request itself is wrong.
    BadRequest,
    /// No such address or model.
    NotFound,
    /// The answer cannot be understood.
    Malformed,
    /// The answer broke off.
    Truncated,
    /// The next call would exceed the run's budget.
    BudgetExhausted,
    /// A key is needed and none was given.
    NoKey,
    /// The cassette has no answer to this request.
    CassetteMiss,
    /// The script has no (more) reply to this request.
    ScriptExhausted,
    /// The command could not be started or failed.
    CommandFailed,
    /// A cache or cassette file cannot be read or written.
    Storage,
    /// The configuration cannot work.
    Config,
}

impl ErrorKind {
    /// Whether the same request may succeed later without a change of configuration.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::Timeout
                | Self::RateLimited
                | Self::Overloaded
                | Self::Malformed
                | Self::Truncated
        )
    }

    /// Whether the peer caused it. What we refused ourselves is not worth recording.
    pub fn is_from_peer(self) -> bool {
        !matches!(
            self,
            Self::BudgetExhausted
                | Self::NoKey
                | Self::CassetteMiss
                | Self::ScriptExhausted
                | Self::Storage
                | Self::Config
        )
    }
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ModelError {
    /// What sort of failure.
    pub kind: ErrorKind,
    /// What happened, for a person.
    pub message: String,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the peer asked us to wait.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
    /// How often it was tried.
    #[serde(default = "one")]
    pub tries: u32,
}

impl ModelError {
    /// A failure of one try.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, tries: 1 }
    }
}

fn one() -> u32 {
    1
}
