//! Everything an operation can be refused for. Messages name the thing, the place and the way out.

use std::io;
use std::path::{Path, PathBuf};

use proctor_files::OwnFolderError;

use crate::capture::BadExpectation;
use crate::model::UnknownWord;

/// A step the state of the journal does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An entry is active already (the specification's `GHAPAlreadyActiveError`).
    #[error("entry {id} is already active: resolve or abandon it first")]
    AlreadyActive {
        /// The active entry.
        id: String,
    },
    /// The active entry was left by another session; it blocks a new one all the same.
    #[error("entry {id} was left active by {session_id}: adopt the orphan or abandon it first")]
    OrphanActive {
        /// The orphan.
        id: String,
        /// The session that left it.
        session_id: String,
    },
    /// There is no active entry (the specification's `NoActiveGHAPError`).
    #[error("no entry is active, so there is nothing to {operation}: create one first")]
    NoActive {
        /// What was asked for.
        operation: &'static str,
    },
    /// The only active entry belongs to another session.
    #[error(
        "cannot {operation} entry {id}: it belongs to {session_id}; adopt the orphan first, or abandon it"
    )]
    OrphanPending {
        /// What was asked for.
        operation: &'static str,
        /// The orphan.
        id: String,
        /// The session that left it.
        session_id: String,
    },
    /// A session id that may not be used.
    #[error("`{0}` cannot be a session id: use 1 to 128 of A-Z a-z 0-9 _ -")]
    SessionId(String),
    /// A stated confidence outside its range.
    #[error("confidence {0} is not a probability: use a number from 0 to 1")]
    Confidence(String),
}

/// Why an operation did not happen.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The state does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The journal's folder leads elsewhere, or belongs to another user.
    #[error(transparent)]
    NotOurs(#[from] OwnFolderError),
    /// A file is damaged and could not be set aside (`JournalCorruptedError`).
    #[error("{path} is damaged ({reason}) and could not be set aside: {source}")]
    Corrupted {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// Why it could not be moved.
        source: io::Error,
    },
    /// The system refused a file operation.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process holds the journal's lock for longer than the caller wants to wait.
    #[error("{path} is held by another process: try again")]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// The journal was written by a newer version.
    #[error(
        "{path} has format {found}, and this version writes format {known}: entries can be read; upgrade proctor to write"
    )]
    NewerFormat {
        /// The file that names the format.
        path: PathBuf,
        /// The format found.
        found: String,
        /// The newest format known here.
        known: u32,
    },
    /// A lane's name cannot be a folder name.
    #[error("`{0}` cannot be a lane: use 1 to 128 of A-Z a-z 0-9 _ -")]
    Lane(String),
    /// A check-in frequency of zero.
    #[error("the check-in frequency cannot be 0: use 1 or more")]
    Frequency,
    /// No entry has this id.
    #[error("no entry `{id}` in {dir}: `list` shows the ids")]
    NoSuchEntry {
        /// What was looked for.
        id: String,
        /// The journal.
        dir: PathBuf,
    },
    /// Several entries match an abbreviated id.
    #[error(
        "`{id}` matches {count} entries, for example {first} and {second}: give more of the id"
    )]
    Ambiguous {
        /// What was looked for.
        id: String,
        /// How many match.
        count: usize,
        /// One of them.
        first: String,
        /// Another.
        second: String,
    },
    /// A word outside a vocabulary.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// The entry has no expectation for the run.
    #[error("entry {id} has no expectation for the run: set one (pass, fail, exit:N or match:RE)")]
    NoExpectation {
        /// The entry.
        id: String,
    },
    /// The expectation stored with an entry cannot be read.
    #[error("the expectation of entry {id} cannot be read: {source}")]
    StoredExpectation {
        /// The entry.
        id: String,
        /// What is wrong with it.
        source: BadExpectation,
    },
    /// The home folder is not a project.
    #[error("{0} is the home folder, not a project: go to a project or name the journal's folder")]
    HomeFolder(PathBuf),
    /// An export of a newer version.
    #[error("the export has version {found}, and this version reads {known}: upgrade proctor")]
    NewerExport {
        /// The version found.
        found: u64,
        /// The newest version known here.
        known: u64,
    },
    /// A file that was asked to be restored is not an entry.
    #[error("{path} cannot be restored: {reason}")]
    NotRestorable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl JournalError {
    /// The name of the specification's error class this corresponds to, if any.
    pub const fn seed_name(&self) -> Option<&'static str> {
        match self {
            Self::Refused(Refusal::AlreadyActive { .. } | Refusal::OrphanActive { .. }) => {
                Some("GHAPAlreadyActiveError")
            }
            Self::Refused(Refusal::NoActive { .. } | Refusal::OrphanPending { .. }) => {
                Some("NoActiveGHAPError")
            }
            Self::Corrupted { .. } => Some("JournalCorruptedError"),
            _ => None,
        }
    }
}

/// Names the action and the path of a failed file operation.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, JournalError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, JournalError> {
        self.map_err(|source| JournalError::Io { action, path: path.to_owned(), source })
    }
}
