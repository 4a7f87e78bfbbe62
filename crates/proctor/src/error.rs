//! The one error of the binary: what went wrong, its kind, its cause and the way out.
//!
//! A kind decides the exit code and the word in JSON; [`Kind::properties`] is the table. Errors of libraries become command errors by
//! `From`, which keeps them as the source; their messages are printed as they are.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use proctor_history::{BaselineError, HistoryError};
use proctor_mcp::ServeError;
use proctor_record::destinations::BadDestination;
use proctor_record::{LoadError, RecordError, ResolveError, StoreError};
use proctor_runner::{AlreadyStarted, BadPattern, UnusablePath};
use proctor_stream::RemoteError;
use proctor_tui::TuiError;
use serde_json::{Value, json};

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line asks for what cannot be done.
    Usage,
    /// proctor.toml or an environment variable says what cannot be used.
    Configuration,
    /// What was named does not exist.
    NotFound,
    /// A file was read and cannot be used.
    Input,
    /// A suite cannot be loaded.
    Suite,
    /// The state of a run or the journal does not allow it.
    Refused,
    /// The system refused something that is needed.
    System,
    /// Proctor contradicts itself.
    Bug,
    /// The reader of our output has gone away.
    BrokenPipe,
}

/// What follows from a kind.
struct KindProperties {
    exit_code: u8,
    /// The word for programs.
    name: &'static str,
}

impl Kind {
    const fn properties(self) -> KindProperties {
        let (exit_code, name) = match self {
            Self::Usage => (2, "usage"),
            Self::Configuration => (2, "configuration"),
            Self::NotFound => (2, "not_found"),
            Self::Input => (2, "input"),
            Self::Suite => (2, "suite"),
            Self::Refused => (2, "refused"),
            Self::System => (2, "system"),
            Self::Bug => (2, "bug"),
            Self::BrokenPipe => (0, "broken_pipe"),
        };
        KindProperties { exit_code, name }
    }
}

type Source = Box<dyn Error + Send + Sync>;

/// An error of a command. Its text is complete; the source is for programs and debuggers.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: Kind,
    message: String,
    hints: Vec<String>,
    source: Option<Source>,
}

impl CommandError {
    pub(crate) fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), hints: Vec::new(), source: None }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Kind::Usage, message)
    }

    pub(crate) fn configuration(message: impl fmt::Display) -> Self {
        Self::new(Kind::Configuration, message)
    }

    pub(crate) fn not_found(message: impl fmt::Display) -> Self {
        Self::new(Kind::NotFound, message)
    }

    pub(crate) fn input(message: impl fmt::Display) -> Self {
        Self::new(Kind::Input, message)
    }

    pub(crate) fn suite(message: impl fmt::Display) -> Self {
        Self::new(Kind::Suite, message)
    }

    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::new(Kind::Refused, message)
    }

    pub(crate) fn system(message: impl fmt::Display) -> Self {
        Self::new(Kind::System, message)
    }

    pub(crate) fn bug(message: impl fmt::Display) -> Self {
        Self::new(Kind::Bug, message)
    }

    /// An error of a library, printed as it is.
    pub(crate) fn caused(kind: Kind, error: impl Error + Send + Sync + 'static) -> Self {
        Self::new(kind, &error).with_source(error)
    }

    /// `cannot ACTION PATH: …`
    pub(crate) fn io(action: &str, path: &Path, error: io::Error) -> Self {
        let kind = match (action, error.kind()) {
            (_, io::ErrorKind::NotFound) => Kind::NotFound,
            ("read", io::ErrorKind::InvalidData) => Kind::Input,
            _ => Kind::System,
        };
        let message = format_args!("cannot {action} {}: {error}", path.display()).to_string();
        Self::new(kind, message).with_source(error)
    }

    /// Keeps what caused the error; the message must tell it already.
    pub(crate) fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
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
        ExitCode::from(self.kind.properties().exit_code)
    }

    /// The error for programs, as commands with `--format json` print it on standard error.
    pub(crate) fn to_json(&self) -> Value {
        let kind = self.kind.properties().name;
        json!({ "error": { "kind": kind, "message": self.message, "hints": self.hints } })
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CommandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

/// I/O errors without a path come from our own output and from starting threads and signals.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => Kind::BrokenPipe,
            _ => Kind::System,
        };
        Self::caused(kind, error)
    }
}

impl From<LoadError> for CommandError {
    fn from(error: LoadError) -> Self {
        let kind = match &error {
            LoadError::Io { source, .. } if source.kind() != io::ErrorKind::NotFound => {
                Kind::System
            }
            LoadError::Io { .. } | LoadError::NoSuchRun { .. } => Kind::NotFound,
            LoadError::Empty { .. } => Kind::Input,
        };
        Self::caused(kind, error)
    }
}

impl From<BaselineError> for CommandError {
    fn from(error: BaselineError) -> Self {
        let kind = match &error {
            BaselineError::Unknown { .. } => Kind::NotFound,
            BaselineError::Unusable { .. } => Kind::Input,
            BaselineError::NotWritten { .. } => Kind::System,
        };
        Self::caused(kind, error)
    }
}

/// Errors of libraries that are all of one kind.
macro_rules! classify {
    ($($error:ty => $kind:ident,)*) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                Self::caused(Kind::$kind, error)
            }
        }
    )*};
}

classify! {
    AlreadyStarted => Bug,
    BadDestination => Usage,
    BadPattern => Usage,
    HistoryError => System,
    UnusablePath => NotFound,
    RecordError => System,
    RemoteError => System,
    ResolveError => NotFound,
    ServeError => System,
    StoreError => System,
    TuiError => System,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exit codes and words are read by programs: a change here is a change of the interface.
    #[test]
    fn every_kind_has_its_exit_code_and_its_word() {
        let rows = [
            (CommandError::usage("--a and --b exclude each other"), 2, "usage"),
            (CommandError::configuration("proctor.toml: workers = x"), 2, "configuration"),
            (CommandError::not_found("no baseline `x`"), 2, "not_found"),
            (CommandError::input("a.jsonl contains no events"), 2, "input"),
            (CommandError::suite("the project cannot be loaded"), 2, "suite"),
            (CommandError::refused("an entry is active"), 2, "refused"),
            (CommandError::system("cannot start the runtime"), 2, "system"),
            (CommandError::bug("no command"), 2, "bug"),
            (CommandError::from(io::Error::from(io::ErrorKind::BrokenPipe)), 0, "broken_pipe"),
        ];
        for (error, code, word) in rows {
            assert_eq!(error.exit_code(), ExitCode::from(code), "{error}");
            let shown = error.hint("a way out").to_json();
            assert_eq!(shown["error"]["kind"], word);
            assert_eq!(shown["error"]["hints"], json!(["a way out"]));
            assert!(shown["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
        }
    }

    #[test]
    fn sources_are_kept_and_told_once() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = CommandError::io("write", Path::new("out.xml"), denied);
        assert_eq!(error.to_string(), "cannot write out.xml: permission denied");
        let source = Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::PermissionDenied));
        let lost = CommandError::from(ResolveError::NotFound { name: "x".into(), known: vec![] });
        assert_eq!(lost.to_json()["error"]["kind"], "not_found");
        assert!(matches!(Error::source(&lost), Some(source) if source.is::<ResolveError>()));
    }
}
