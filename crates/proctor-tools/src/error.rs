//! Why a tool call failed: a kind for programs, a message and hints that a model can act on.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

/// The kinds of errors, for programs.
pub mod kind {
    /// A parameter is missing, unknown, of the wrong type, or makes no sense.
    pub const INVALID_ARGUMENT: &str = "invalid_argument";
    /// No tool has this name.
    pub const UNKNOWN_TOOL: &str = "unknown_tool";
    /// No run has this id.
    pub const UNKNOWN_RUN: &str = "unknown_run";
    /// No example has this id or name.
    pub const UNKNOWN_EXAMPLE: &str = "unknown_example";
    /// The state does not allow it.
    pub const REFUSED: &str = "refused";
    /// The run has ended.
    pub const NOT_RUNNING: &str = "not_running";
    /// The run did not start.
    pub const NOT_STARTED: &str = "not_started";
    /// The answer takes longer than a call may; call again.
    pub const NOT_READY: &str = "not_ready";
    /// Another process holds what is needed.
    pub const BUSY: &str = "busy";
    /// The caller cancelled the call.
    pub const CANCELLED: &str = "cancelled";
    /// A system call failed.
    pub const IO: &str = "io";
}

/// Why a tool call failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolError {
    /// One of [`kind`], or a kind of the crate that declares the tool.
    pub kind: String,
    /// What is wrong, and where.
    pub message: String,
    /// Possible next steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The same as data: known ids, counts.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl ToolError {
    /// An error with a message.
    pub fn new(kind: impl Into<String>, message: impl fmt::Display) -> Self {
        Self {
            kind: kind.into(),
            message: message.to_string(),
            hints: Vec::new(),
            details: Value::Null,
        }
    }

    /// An invalid parameter.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self::new(kind::INVALID_ARGUMENT, message)
    }

    /// A system call failed.
    pub fn io(message: impl fmt::Display) -> Self {
        Self::new(kind::IO, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds data.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// The error as clients get it, over MCP and on standard error.
    pub fn to_json(&self) -> Value {
        json!({ "error": self })
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}
