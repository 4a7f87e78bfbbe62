//! What can go wrong with a tool, told so that a model can act on it.

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
    /// The run is over, so nothing can be done to it.
    pub const NOT_RUNNING: &str = "not_running";
    /// The run did not start.
    pub const NOT_STARTED: &str = "not_started";
    /// It takes longer than a call may: ask again.
    pub const NOT_READY: &str = "not_ready";
    /// Somebody else holds what is needed right now.
    pub const BUSY: &str = "busy";
    /// The caller gave up.
    pub const CANCELLED: &str = "cancelled";
    /// The machine would not do it.
    pub const IO: &str = "io";
}

/// Why a tool call failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolError {
    /// What sort of mistake it is; one of [`kind`], or one of the workspaces' own.
    pub kind: String,
    /// What is wrong, and where.
    pub message: String,
    /// What to do about it.
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

    /// A parameter makes no sense.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self::new(kind::INVALID_ARGUMENT, message)
    }

    /// The machine would not do it.
    pub fn io(message: impl fmt::Display) -> Self {
        Self::new(kind::IO, message)
    }

    /// Adds a way out.
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

    /// The form in which it is told, over MCP and on standard error alike.
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
