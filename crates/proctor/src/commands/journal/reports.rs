//! stats, timeline, retro: documents over entries, as text, Markdown, one HTML page or data.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use proctor_journal::render::{Document, Format};
use proctor_journal::retro::{retro as look_back, stats_document, week_of};
use proctor_journal::stats::stats as count;
use proctor_journal::timeline::timeline as days;
use proctor_journal::{Entry, Filter, FoundEntry};
use serde::Serialize;

use super::context::{JournalContext, now};
use super::entry_filter::{entries, filter};
use super::entry_text::Placed;
use crate::commands::journal::entry_filter::FilterArguments;
use crate::error::CommandError;
use crate::secrets;
use crate::terminal::Terminal;

/// How a document is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// For a terminal
    #[default]
    Text,
    /// For a file in a repository
    Markdown,
    /// One page that needs nothing else
    Html,
    /// For programs
    Json,
}

/// A document and where it goes.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PageFormat,

    /// Write it here (`-` is standard output)
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal stats
  proctor journal stats --domain debugging --since 30d --format json

Every rate comes with its n and a 95 % interval; below ten it says that there are too few to tell.")]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal timeline --since 7d
  proctor journal timeline --format html --output timeline.html")]
pub(crate) struct TimelineArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal retro                         this week, from Monday, UTC
  proctor journal retro --session current
  proctor journal retro --all --format markdown --output RETRO.md")]
pub(crate) struct RetroArguments {
    /// Not this week but everything
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    #[command(flatten)]
    pub(crate) page: Page,
}

pub(super) fn stats(
    arguments: &StatsArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let filter = filter(&arguments.filter, context)?;
    let numbers = JournalContext::value_of(context.journal.stats(&filter), terminal)?;
    deliver(&arguments.page, &stats_document(&numbers), &numbers, terminal)
}

pub(super) fn timeline(
    arguments: &TimelineArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let entries = entries(&arguments.filter, context, terminal)?;
    let data: Vec<Placed<'_>> = entries.iter().rev().map(Placed::new).collect();
    deliver(&arguments.page, &days(&entries), &data, terminal)
}

#[derive(Serialize)]
struct Retrospective<'a> {
    title: &'a str,
    stats: proctor_journal::stats::Stats,
    entries: Vec<&'a Entry>,
}

pub(super) fn retro(
    arguments: &RetroArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let mut filter = filter(&arguments.filter, context)?;
    let title = period(arguments, &mut filter);
    let found: Vec<FoundEntry> = JournalContext::value_of(context.journal.list(&filter), terminal)?;
    let entries: Vec<&Entry> = found.iter().map(|found| &found.entry).collect();
    let document = look_back(&title, &entries);
    let stats = count(entries.iter().copied());
    deliver(&arguments.page, &document, &Retrospective { title: &title, stats, entries }, terminal)
}

/// What the retrospective is about: this week, unless something else was asked for.
fn period(arguments: &RetroArguments, filter: &mut Filter) -> String {
    match (&filter.session, filter.since, filter.until) {
        _ if arguments.all => "everything".to_owned(),
        (Some(session), ..) => format!("session {session}"),
        (None, None, None) => {
            let (monday, end) = week_of(now().now);
            (filter.since, filter.until) = (Some(monday), Some(end));
            format!("week of {}", monday.civil().date())
        }
        (None, since, until) => {
            let since = since.map(|since| format!("since {since}"));
            let until = until.map(|until| format!("until {until}"));
            [since, until].into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
    }
}

fn deliver(
    page: &Page,
    document: &Document,
    data: &impl Serialize,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let text = match page.format {
        PageFormat::Text => document.render(Format::Text),
        PageFormat::Markdown => document.render(Format::Markdown),
        PageFormat::Html => document.render(Format::Html),
        PageFormat::Json => {
            serde_json::to_string_pretty(data).map_err(std::io::Error::from)? + "\n"
        }
    };
    put(&page.output, &text, terminal)
}

/// Writes a text to a file, or to standard output for `-`.
pub(super) fn put(path: &Path, text: &str, terminal: &mut Terminal) -> Result<(), CommandError> {
    if path == Path::new("-") {
        return terminal.print(text);
    }
    secrets::write_file(path, text)?;
    terminal.note(&format!("wrote {}", path.display()));
    Ok(())
}
