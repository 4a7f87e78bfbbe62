//! Things that went differently without going wrong. They travel with the answer, so that the
//! caller can tell its user; this crate logs nothing.

use std::fmt;
use std::path::PathBuf;

/// A remark that accompanies an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A text was too long.
    Truncated {
        /// The field.
        field: &'static str,
        /// Characters given.
        had: usize,
        /// Characters stored.
        kept: usize,
    },
    /// A file could not be understood and was set aside under another name.
    SetAside {
        /// The file.
        path: PathBuf,
        /// Where its bytes are now.
        kept_as: PathBuf,
        /// What was wrong with it.
        reason: String,
    },
    /// Lines that are not entries were passed over; they stay in the file.
    SkippedLines {
        /// The file.
        path: PathBuf,
        /// Line numbers, counted from 1.
        lines: Vec<usize>,
    },
    /// The tool counter was not a number.
    CounterUnreadable {
        /// What stood in the file.
        found: String,
    },
    /// The active entry had been resolved before a crash; it was cleared.
    AlreadyResolved {
        /// The entry.
        id: String,
    },
    /// Evidence that was moved out of an entry cannot be read back.
    EvidenceMissing {
        /// The entry.
        id: String,
        /// The file it should be in.
        path: PathBuf,
        /// How many pieces are not there.
        missing: u64,
    },
    /// The entry may be hard to learn from.
    Quality(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { field, had, kept } => {
                write!(f, "{field} had {had} characters and was cut to the first {kept}")
            }
            Self::SetAside { path, kept_as, reason } => write!(
                f,
                "{} could not be read ({reason}); its content is kept as {}",
                path.display(),
                kept_as.display()
            ),
            Self::SkippedLines { path, lines } => {
                let numbers: Vec<_> = lines.iter().map(ToString::to_string).collect();
                write!(f, "{}: not an entry, skipped: line {}", path.display(), numbers.join(", "))
            }
            Self::CounterUnreadable { found } => {
                write!(f, "the tool counter held `{found}`; counting from 0")
            }
            Self::AlreadyResolved { id } => {
                write!(f, "{id} was already resolved before an interruption; cleared")
            }
            Self::EvidenceMissing { id, path, missing } => write!(
                f,
                "{missing} pieces of evidence of {id} should be in {} and are not",
                path.display()
            ),
            Self::Quality(remark) => f.write_str(remark),
        }
    }
}

/// A value with the warnings that arose on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct WithWarnings<T> {
    /// The answer.
    pub value: T,
    /// Remarks for the caller.
    pub warnings: Vec<Warning>,
}

impl<T> WithWarnings<T> {
    /// Changes the answer and keeps the remarks.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> WithWarnings<U> {
        WithWarnings { value: change(self.value), warnings: self.warnings }
    }
}
