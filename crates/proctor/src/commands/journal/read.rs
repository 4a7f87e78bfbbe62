//! current, list, show, search: looking at entries.

use clap::Args;
use proctor_journal::{FoundEntry, Match};
use proctor_text::shorten;
use serde::Serialize;

use super::context::{JournalContext, now};
use super::entry_filter::{FilterArguments, entries, filter};
use super::entry_text::{Placed, full, table};
use super::values::text;
use crate::cli::Format;
use crate::commands::journal::values::Printed;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal current --format json        {\"entry\": null, …} when none is active")]
pub(crate) struct CurrentArguments {
    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal list                          the newest twenty, of all lanes
  proctor journal list --status falsified --since 7d
  proctor journal list --needs-annotation --limit 0 --format json")]
pub(crate) struct ListEntriesArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    /// At most so many; 0 is all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal show a1b2c3      the end of an id is enough if only one entry has it")]
pub(crate) struct ShowEntryArguments {
    /// The entry's id, or enough of its start or end
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal search flaky cache --status falsified")]
pub(crate) struct SearchArguments {
    /// Words
    #[arg(required = true, value_name = "WORD", value_parser = text())]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    /// At most so many; 0 is all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Serialize)]
struct CurrentEntry<'a> {
    entry: Option<&'a proctor_journal::Entry>,
    orphan: bool,
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'a str>,
}

pub(super) fn current(
    arguments: &CurrentArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let current = JournalContext::value_of(context.journal.current(&now()), terminal)?;
    let session = context.journal.session_id()?;
    let lane = context.journal.lane_name();
    let orphan = current.as_ref().is_some_and(|current| current.orphan);
    if arguments.printed.format == Format::Json {
        let entry = current.as_ref().map(|current| &current.entry);
        return terminal.json(&CurrentEntry { entry, orphan, session, lane });
    }
    let Some(current) = current else { return terminal.line("no entry is active") };
    terminal.print(&full(&current.entry, lane))?;
    if orphan {
        terminal.line("\nan earlier session left it: `proctor journal orphan adopt` or `proctor journal orphan abandon`")?;
    }
    Ok(())
}

pub(super) fn list(
    arguments: &ListEntriesArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let mut entries = entries(&arguments.filter, context, terminal)?;
    let all = entries.len();
    cut(&mut entries, arguments.limit);
    if arguments.printed.format == Format::Json {
        return terminal.json(&entries.iter().map(Placed::new).collect::<Vec<_>>());
    }
    if entries.is_empty() {
        return terminal.line("no entries");
    }
    terminal.print(&table(&entries))?;
    if all > entries.len() {
        terminal.note(&format!("{} older ones are not shown: --limit 0", all - entries.len()));
    }
    Ok(())
}

pub(super) fn show(
    arguments: &ShowEntryArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let found = JournalContext::value_of(context.journal.show(&arguments.id), terminal)?;
    match arguments.printed.format {
        Format::Json => terminal.json(&Placed::new(&found)),
        Format::Text => terminal.print(&full(&found.entry, found.lane.as_deref())),
    }
}

#[derive(Serialize)]
struct Ranked<'a> {
    score: f64,
    #[serde(flatten)]
    placed: Placed<'a>,
}

impl<'a> Ranked<'a> {
    fn new(found: &'a Match) -> Self {
        Self { score: found.score, placed: Placed::new(&found.found) }
    }
}

pub(super) fn search(
    arguments: &SearchArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let wanted = filter(&arguments.filter, context)?;
    let limit = if arguments.limit == 0 { usize::MAX } else { arguments.limit };
    let words = arguments.words.join(" ");
    let matches =
        JournalContext::value_of(context.journal.search(&words, &wanted, limit), terminal)?;
    if arguments.printed.format == Format::Json {
        let ranked: Vec<Ranked<'_>> = matches.iter().map(Ranked::new).collect();
        return terminal.json(&ranked);
    }
    let found: Vec<FoundEntry> = matches.into_iter().map(|it| it.found).collect();
    if found.is_empty() {
        return terminal.line(&format!("no entry has `{}` in it", shorten(&words, 80)));
    }
    terminal.print(&table(&found))
}

/// Keeps at most so many; 0 keeps all.
fn cut<T>(items: &mut Vec<T>, limit: usize) {
    if limit > 0 {
        items.truncate(limit);
    }
}
