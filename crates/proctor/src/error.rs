//! The one error of the binary: what went wrong, which exit code follows, and the way out.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Classes of errors; each has an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line, the configuration or the input cannot be used.
    Unusable,
    /// The reader of our output has gone away.
    BrokenPipe,
    /// The system refused something we need.
    System,
}

/// An error of a command.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: Kind,
    message: String,
    hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn unusable(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Unusable, message: message.to_string(), hints: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.kind == Kind::BrokenPipe
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::BrokenPipe => ExitCode::SUCCESS,
            Kind::Unusable | Kind::System => ExitCode::from(2),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// I/O errors that reach the top come from our own output; files are reported by their libraries.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => Kind::BrokenPipe,
            _ => Kind::System,
        };
        Self { kind, message: error.to_string(), hints: Vec::new() }
    }
}
