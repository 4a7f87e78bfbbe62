//! Errors of tools, with what a model or a person can do about them.
//!
//! One error type for all tools: a kind for programs, a message that names the thing and the place, a
//! hint that says the way out, and details as data.

use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What sort of mistake it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A parameter is missing, of the wrong type or makes no sense.
    InvalidArgument,
    /// No workspace has this id; the known ids are in the details.
    UnknownWorkspace,
    /// A workspace has this id already.
    AlreadyExists,
    /// Somebody else is using the workspace right now.
    Busy,
    /// Nothing has run in this workspace yet, or not under this number.
    NoRun,
    /// A snapshot of this name does not exist.
    UnknownSnapshot,
    /// A path leaves the workspace, or a name is reserved.
    NotAllowed,
    /// A run could not be confined: not at all, or not as its caller requires.
    NotConfined,
    /// A program that is needed is not there.
    MissingProgram,
    /// A real backend was asked for without its credentials.
    MissingCredentials,
    /// The run asked the mock for more responses than there were.
    MockExhausted,
    /// A line of a session file cannot be read.
    CorruptSession,
    /// It does not fit into an answer.
    TooLarge,
    /// The caller gave up.
    Cancelled,
    /// The machine would not do it.
    Io,
}

/// Why a tool call failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    /// What sort of mistake it is.
    pub kind: ErrorKind,
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The same as data: known ids, counts, results that exist all the same.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl ToolError {
    /// An error with a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, details: Value::Null }
    }

    /// A parameter makes no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// The machine refused something about a path.
    pub fn io(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("cannot {doing} {}: {error}", path.display()))
    }

    /// Adds the way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds data.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ToolError {}

impl From<ToolError> for proctor_tools::ToolError {
    fn from(error: ToolError) -> Self {
        let kind = serde_json::to_value(error.kind).unwrap_or_default();
        let kind = kind.as_str().unwrap_or(proctor_tools::kind::IO);
        let same = Self::new(kind, &error.message).details(error.details);
        match error.hint {
            Some(hint) => same.hint(hint),
            None => same,
        }
    }
}
