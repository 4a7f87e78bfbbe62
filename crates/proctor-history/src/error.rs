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
    /// The folder of runs cannot be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl HistoryError {
    /// Whether the file must be replaced.
    pub(crate) fn is_damaged_file(&self) -> bool {
        matches!(self, Self::Database { source, .. } if is_damage(source))
    }
}

/// Whether the error means that the file is damaged or no database.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            // A table that is not there, or has other columns, is not ours either.
            let foreign = message.as_deref().is_some_and(|message| {
                message.starts_with("no such table") || message.starts_with("no such column")
            });
            matches!(failure.code, DatabaseCorrupt | NotADatabase) || foreign
        }
        rusqlite::Error::SqlInputError { msg, .. } => {
            msg.starts_with("no such table") || msg.starts_with("no such column")
        }
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..) => {
            true
        }
        _ => false,
    }
}
