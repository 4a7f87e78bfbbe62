//! session: start, id, entries, end, and the counter of tool calls.

use proctor_journal::{Found, Place};
use serde_json::{Value, json};

use super::desk::{Desk, now};
use super::errors::refused;
use super::show::table;
use crate::cli::Format;
use crate::cli::journal::{SessionArguments, SessionCommand};
use crate::env_vars;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// The same answer for programs and for people.
struct Said {
    text: String,
    data: Value,
}

pub(super) fn run(
    arguments: &SessionArguments,
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let said = match &arguments.command {
        SessionCommand::Start { id } => start(id.as_deref(), desk, terminal)?,
        SessionCommand::Id => {
            let id = desk.journal.session_id().map_err(refused)?;
            let text = id.clone().unwrap_or_else(|| "no session is open".to_owned());
            Said { text, data: json!({ "session": id }) }
        }
        SessionCommand::Entries => entries(desk, terminal)?,
        SessionCommand::End { id } => end(id.as_deref(), desk, terminal)?,
        SessionCommand::Count { add } => count(*add, desk, terminal)?,
        SessionCommand::CheckIn { every } => {
            let due = Desk::hear(desk.journal.should_check_in(*every, &now()), terminal)?;
            let text = if due {
                "due: look at `proctor journal current`, then `session reset`"
            } else {
                "not due"
            };
            Said { text: text.to_owned(), data: json!({ "due": due }) }
        }
        SessionCommand::Reset => {
            desk.journal.reset_tool_count(&now()).map_err(refused)?;
            Said { text: "0".to_owned(), data: json!({ "count": 0 }) }
        }
    };
    match arguments.format {
        Format::Json => terminal.json(&said.data),
        Format::Text => terminal.line(said.text.trim_end()),
    }
}

fn start(id: Option<&str>, desk: &Desk, terminal: &mut Terminal) -> Result<Said, CommandError> {
    let from_host = || env_vars::CLAUDE_CODE_SESSION_ID.get();
    let id = id.map(ToOwned::to_owned).or_else(from_host);
    let id = Desk::hear(desk.journal.start_session(id.as_deref(), &now()), terminal)?;
    let orphan = Desk::hear(desk.journal.orphan(&now()), terminal)?.map(|entry| entry.id);
    if let Some(orphan) = &orphan {
        terminal.warn(&format!(
            "an earlier session left {orphan} active: `proctor journal orphan adopt` or `proctor journal orphan abandon`"
        ));
    }
    Ok(Said { text: id.clone(), data: json!({ "session": id, "orphan": orphan }) })
}

fn entries(desk: &Desk, terminal: &mut Terminal) -> Result<Said, CommandError> {
    let entries = Desk::hear(desk.journal.session_entries(), terminal)?;
    let data = serde_json::to_value(&entries).map_err(std::io::Error::from)?;
    let lane = desk.journal.lane_name().map(ToOwned::to_owned);
    let found: Vec<Found> = entries
        .into_iter()
        .map(|entry| Found { entry, lane: lane.clone(), place: Place::Session })
        .collect();
    let text = if found.is_empty() { "no entries".to_owned() } else { table(&found) };
    Ok(Said { text, data })
}

fn end(id: Option<&str>, desk: &Desk, terminal: &mut Terminal) -> Result<Said, CommandError> {
    let ended = match id {
        Some(id) => Desk::hear(desk.journal.end_session_named(id, &now()), terminal)?,
        None => Some(Desk::hear(desk.journal.end_session(&now()), terminal)?),
    };
    let Some(entries) = ended else {
        return Err(CommandError::unusable(format_args!(
            "{} is not the open session",
            id.unwrap_or_default()
        ))
        .hint("`proctor journal session id` prints it"));
    };
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let text = format!("ended; {} of its entries are in the archive", ids.len());
    Ok(Said { text, data: json!({ "entries": ids }) })
}

fn count(add: bool, desk: &Desk, terminal: &mut Terminal) -> Result<Said, CommandError> {
    let counted =
        if add { desk.journal.increment_tool_count(&now()) } else { desk.journal.tool_count() };
    let count = Desk::hear(counted, terminal)?;
    Ok(Said { text: count.to_string(), data: json!({ "count": count }) })
}
