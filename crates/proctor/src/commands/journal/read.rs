//! current, list, show, search: looking at entries.

use proctor_journal::search::search as find;
use serde::Serialize;

use super::desk::{Desk, now};
use super::filter::entries;
use super::show::{Placed, full, table};
use crate::cli::Format;
use crate::cli::journal::{
    CurrentArguments, ListEntriesArguments, SearchArguments, ShowEntryArguments,
};
use crate::error::CommandError;
use crate::terminal::Terminal;

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
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let current = Desk::hear(desk.journal.current(&now()), terminal)?;
    let session = desk.journal.session_id().map_err(super::errors::refused)?;
    let lane = desk.journal.lane_name();
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
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let mut entries = entries(&arguments.filter, desk, terminal)?;
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
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let found = Desk::hear(desk.journal.show(&arguments.id), terminal)?;
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

pub(super) fn search(
    arguments: &SearchArguments,
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let entries = entries(&arguments.filter, desk, terminal)?;
    let mut hits = find(&arguments.words.join(" "), entries.iter().map(|found| &found.entry));
    cut(&mut hits, arguments.limit);
    let hits = hits.iter().filter_map(|hit| Some((hit.score, entries.get(hit.index)?)));
    if arguments.printed.format == Format::Json {
        let ranked = hits.map(|(score, found)| Ranked { score, placed: Placed::new(found) });
        return terminal.json(&ranked.collect::<Vec<_>>());
    }
    let found: Vec<_> = hits.map(|(_, found)| found.clone()).collect();
    if found.is_empty() {
        let words = arguments.words.join(" ");
        return terminal.line(&format!("no entry has `{}` in it", super::show::brief(&words, 80)));
    }
    terminal.print(&table(&found))
}

/// Keeps at most so many; 0 keeps all.
fn cut<T>(items: &mut Vec<T>, limit: usize) {
    if limit > 0 {
        items.truncate(limit);
    }
}
