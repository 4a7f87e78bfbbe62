//! Errors of the journal as errors of tools, with hints that name the tools.

use proctor_journal::{JournalError, Refusal};

use crate::error::{ToolError, kind};

/// An error of the journal as an error of a tool, with hints.
pub(crate) fn journal_error(error: JournalError) -> ToolError {
    let kind = match &error {
        JournalError::Io { .. } | JournalError::Corrupted { .. } => kind::IO,
        JournalError::Busy { .. } => kind::BUSY,
        JournalError::Lane(_) | JournalError::Frequency | JournalError::Word(_) => {
            kind::INVALID_ARGUMENT
        }
        _ => kind::REFUSED,
    };
    hints(&error).iter().fold(ToolError::new(kind, &error), |error, hint| error.hint(*hint))
}

fn hints(error: &JournalError) -> &'static [&'static str] {
    match error {
        JournalError::Refused(Refusal::AlreadyActive { .. }) => &[
            "see it with ghap_current",
            "end it with ghap_resolve or ghap_abandon; if only your belief changed, use ghap_update",
            "to work beside another agent, use a lane of your own: the parameter `lane`",
        ],
        JournalError::Refused(Refusal::OrphanActive { .. } | Refusal::OrphanPending { .. }) => {
            &["ghap_orphan with action `adopt` goes on with it; with action `abandon` gives it up"]
        }
        JournalError::Refused(Refusal::NoActive { .. }) => {
            &["ghap_create makes an entry; another lane's entry needs the parameter `lane`"]
        }
        JournalError::NoSuchEntry { .. } => &["ghap_search shows the ids"],
        JournalError::HomeFolder(_) => {
            &["start the server in the project's folder, or with `proctor --root FOLDER mcp`"]
        }
        JournalError::Busy { .. } => &["call again in a moment"],
        JournalError::Corrupted { .. } | JournalError::NotRestorable { .. } => {
            &["`proctor journal doctor` says what is wrong with the files"]
        }
        _ => &[],
    }
}
