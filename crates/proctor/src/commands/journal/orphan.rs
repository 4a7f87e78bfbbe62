//! orphan: the entry that an earlier session left active.

use proctor_journal::Entry;
use serde::Serialize;

use super::desk::{Desk, now};
use super::show::{Changed, full};
use super::write::changed_text;
use crate::cli::Format;
use crate::cli::journal::{OrphanArguments, OrphanCommand};
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Serialize)]
struct Shown<'a> {
    orphan: Option<&'a Entry>,
}

pub(super) fn run(
    arguments: &OrphanArguments,
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let (verb, done) = match arguments.command.as_ref().unwrap_or(&OrphanCommand::Show) {
        OrphanCommand::Show => return show(arguments.format, desk, terminal),
        OrphanCommand::Adopt => ("adopted", desk.journal.adopt_orphan(&now())),
        OrphanCommand::Abandon { reason } => {
            ("abandoned", desk.journal.abandon_orphan(reason, &now()))
        }
    };
    let Some(entry) = Desk::hear(done, terminal)? else {
        return Err(CommandError::unusable("no earlier session left an entry active").hint(
            "an entry of the open session is ended with `proctor journal resolve` or `abandon`",
        ));
    };
    let changed = Changed::new(&entry, desk.journal.lane_name(), &[]);
    match arguments.format {
        Format::Json => terminal.json(&changed),
        Format::Text => terminal.print(&changed_text(&changed, verb)),
    }
}

fn show(format: Format, desk: &Desk, terminal: &mut Terminal) -> Result<(), CommandError> {
    let orphan = Desk::hear(desk.journal.orphan(&now()), terminal)?;
    match (format, &orphan) {
        (Format::Json, _) => terminal.json(&Shown { orphan: orphan.as_ref() }),
        (Format::Text, Some(entry)) => terminal.print(&full(entry, desk.journal.lane_name())),
        (Format::Text, None) => terminal.line("no earlier session left an entry active"),
    }
}
