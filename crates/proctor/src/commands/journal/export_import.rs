//! export and import: entries as lines of JSON.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use proctor_journal::exchange::{ImportResult, export as written};
use serde_json::json;

use super::context::{JournalContext, now};
use super::entry_filter::{FilterArguments, entries};
use super::reports::put;
use crate::cli::Format;
use crate::commands::journal::values::Printed;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal export --output journal.jsonl")]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    /// Write it here (`-` is standard output)
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal import journal.jsonl
  proctor journal import ~/.clams/journal/session_entries.jsonl     the original collector's files

Adds what is missing and changes nothing that is there: importing twice is importing once.")]
pub(crate) struct ImportArguments {
    /// The file (`-` is standard input)
    pub(crate) path: PathBuf,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

pub(super) fn export(
    arguments: &ExportArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let entries = entries(&arguments.filter, context, terminal)?
        .into_iter()
        .map(|found| JournalContext::value_of(context.journal.with_moved_evidence(found), terminal))
        .collect::<Result<Vec<_>, _>>()?;
    let text = written(&entries, &now())?;
    put(&arguments.output, &text, terminal)
}

pub(super) fn import(
    arguments: &ImportArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let bytes =
        read(&arguments.path).map_err(|error| CommandError::io("read", &arguments.path, error))?;
    let report = JournalContext::value_of(context.journal.import(&bytes, &now()), terminal)?;
    let ImportResult { added, known, conflicting, active, unreadable } = &report;
    if added.is_empty() && known.is_empty() && conflicting.is_empty() && active.is_empty() {
        return Err(CommandError::input(format_args!(
            "{} holds no entry",
            arguments.path.display()
        ))
        .hint("it should be what `proctor journal export` writes, or a file of a journal"));
    }
    if arguments.printed.format == Format::Json {
        return terminal.json(&json!({
            "added": added, "known": known, "conflicting": conflicting, "active": active,
            "unreadable_lines": unreadable,
        }));
    }
    remarks(&report, terminal);
    terminal.line(&format!("added {}, already here {}", added.len(), known.len()))
}

fn remarks(report: &ImportResult, terminal: &mut Terminal) {
    if !report.conflicting.is_empty() {
        let ids = report.conflicting.join(", ");
        terminal.warn(&format!("different here and there, kept as they are here: {ids}"));
    }
    if !report.active.is_empty() {
        let ids = report.active.join(", ");
        terminal.warn(&format!("still active where they come from, not taken over: {ids}"));
    }
    if !report.unreadable.is_empty() {
        let lines: Vec<String> = report.unreadable.iter().map(ToString::to_string).collect();
        terminal.warn(&format!("not an entry, left out: line {}", lines.join(", ")));
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return std::fs::read(path);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
