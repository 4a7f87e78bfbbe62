//! Why the history cannot be used.

use std::io;
use std::path::PathBuf;

use proctor_record::StoreError;

/// Why the history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The database does not do what it should.
    #[error("cannot use {}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not as this program wrote it.
    #[error("cannot use {}: {why}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// How that shows.
        why: String,
    },
    /// Another process has put another file in its place.
    #[error("cannot use {}: another process replaced it several times", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The folder of runs cannot be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What helps against an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Looking at the file again, and using what is there now.
    Reopen,
    /// Making the file anew.
    Rebuild,
    /// Doing without the file.
    Memory,
}

impl HistoryError {
    /// What helps; `None` where the recordings themselves cannot be read.
    pub(crate) fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Database { source, .. } if is_refusal(source) => Some(Remedy::Memory),
            Self::Database { .. } => Some(Remedy::Rebuild),
            Self::Io { .. } => Some(Remedy::Memory),
            Self::Changed { .. } | Self::Replaced { .. } => Some(Remedy::Reopen),
            Self::Store(_) => None,
        }
    }

    /// The message without the path of the database.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Database { source, .. } => source.to_string(),
            Self::Changed { why, .. } => why.clone(),
            Self::Replaced { .. } => "another process replaced it several times".to_owned(),
            Self::Io { .. } | Self::Store(_) => self.to_string(),
        }
    }
}

/// Whether the system, or another process, stands in the way. Every other error of SQLite shows that the file does not hold
/// what this program wrote: a wrong type, a missing table, a broken constraint are damage as well.
fn is_refusal(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, FileLockingProtocolFailed,
        OperationInterrupted, OutOfMemory, PermissionDenied, ReadOnly, SystemIoFailure, TooBig,
    };
    error.sqlite_error_code().is_some_and(|code| {
        matches!(
            code,
            CannotOpen
                | DatabaseBusy
                | DatabaseLocked
                | DiskFull
                | FileLockingProtocolFailed
                | OperationInterrupted
                | OutOfMemory
                | PermissionDenied
                | ReadOnly
                | SystemIoFailure
                | TooBig
        )
    })
}
