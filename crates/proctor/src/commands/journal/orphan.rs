//! orphan: the entry that an earlier session left active.

use clap::{Args, Subcommand};
use proctor_journal::Entry;
use serde::Serialize;

use super::context::{JournalContext, now};
use super::edit::changed_text;
use super::entry_text::{Changed, full};
use super::values::text;
use crate::cli::Format;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal orphan                        is there one?
  proctor journal orphan adopt                  go on with it in this session
  proctor journal orphan abandon 'a crash ended it'")]
pub(crate) struct OrphanArguments {
    #[command(subcommand)]
    pub(crate) command: Option<OrphanCommand>,

    /// What to print
    #[arg(long, value_enum, global = true, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrphanCommand {
    /// Show it
    Show,
    /// Take it over into this session
    Adopt,
    /// Give it up, into the archive of the session that left it
    Abandon {
        /// Why
        #[arg(
            default_value = "left by an earlier session",
            value_parser = text(),
            allow_hyphen_values = true
        )]
        reason: String,
    },
}

#[derive(Serialize)]
struct Shown<'a> {
    orphan: Option<&'a Entry>,
}

pub(super) fn run(
    arguments: &OrphanArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let (verb, done) = match arguments.command.as_ref().unwrap_or(&OrphanCommand::Show) {
        OrphanCommand::Show => return show(arguments.format, context, terminal),
        OrphanCommand::Adopt => ("adopted", context.journal.adopt_orphan(&now())),
        OrphanCommand::Abandon { reason } => {
            ("abandoned", context.journal.abandon_orphan(reason, &now()))
        }
    };
    let Some(entry) = JournalContext::value_of(done, terminal)? else {
        return Err(CommandError::refused("no earlier session left an entry active").hint(
            "an entry of the open session is ended with `proctor journal resolve` or `abandon`",
        ));
    };
    let changed = Changed::new(&entry, context.journal.lane_name(), &[]);
    match arguments.format {
        Format::Json => terminal.json(&changed),
        Format::Text => terminal.print(&changed_text(&changed, verb)),
    }
}

fn show(
    format: Format,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let orphan = JournalContext::value_of(context.journal.orphan(&now()), terminal)?;
    match (format, &orphan) {
        (Format::Json, _) => terminal.json(&Shown { orphan: orphan.as_ref() }),
        (Format::Text, Some(entry)) => terminal.print(&full(entry, context.journal.lane_name())),
        (Format::Text, None) => terminal.line("no earlier session left an entry active"),
    }
}
