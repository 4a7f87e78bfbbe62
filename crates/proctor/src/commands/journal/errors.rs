//! Errors of the journal as errors of commands: their kinds, and the way out in the words of this command line.

use proctor_journal::{JournalError, Refusal};

use crate::error::{CommandError, Kind};

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        let hints = hints(&error);
        hints.iter().fold(Self::caused(kind(&error), error), |error, hint| error.hint(*hint))
    }
}

fn kind(error: &JournalError) -> Kind {
    match error {
        JournalError::Io { .. } | JournalError::Busy { .. } => Kind::System,
        JournalError::Corrupted { .. }
        | JournalError::NewerFormat { .. }
        | JournalError::NewerExport { .. }
        | JournalError::StoredExpectation { .. } => Kind::Input,
        JournalError::NoSuchEntry { .. } => Kind::NotFound,
        JournalError::HomeFolder(_) => Kind::Configuration,
        JournalError::Lane(_)
        | JournalError::Frequency
        | JournalError::Ambiguous { .. }
        | JournalError::Word(_) => Kind::Usage,
        JournalError::Refused(_)
        | JournalError::NotOurs(_)
        | JournalError::NoExpectation { .. }
        | JournalError::NotRestorable { .. } => Kind::Refused,
    }
}

fn hints(error: &JournalError) -> &'static [&'static str] {
    match error {
        JournalError::Refused(Refusal::AlreadyActive { .. }) => &[
            "see it: `proctor journal current`",
            "end it: `proctor journal resolve confirmed|falsified --result TEXT`, or `proctor journal abandon REASON`",
            "to work beside another agent, use a lane of your own: `--lane NAME`",
        ],
        JournalError::Refused(Refusal::OrphanActive { .. } | Refusal::OrphanPending { .. }) => &[
            "go on with it: `proctor journal orphan adopt`; give it up: `proctor journal orphan abandon`",
        ],
        JournalError::Refused(Refusal::NoActive { .. }) => {
            &["`proctor journal create --help` shows how; another lane's entry needs `--lane NAME`"]
        }
        JournalError::NoSuchEntry { .. } => &[
            "`proctor journal list` shows the ids; an entry of a lane is changed with `--lane NAME`",
        ],
        JournalError::NoExpectation { .. } => &["for example `--expect pass`"],
        JournalError::HomeFolder(_) => &["`--dir FOLDER` names the journal's folder"],
        JournalError::Corrupted { .. } | JournalError::NotRestorable { .. } => {
            &["`proctor journal doctor` says what is wrong with the files"]
        }
        _ => &[],
    }
}
