//! session: start, id, entries, end, and the counter of tool calls.

use clap::{Args, Subcommand};
use proctor_journal::{CHECK_IN, EntryPlace, FoundEntry};
use serde_json::{Value, json};

use super::context::{JournalContext, now};
use super::entry_text::table;
use crate::cli::Format;
use crate::env_vars;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal session start                 archives the one before
  proctor journal session check-in --every 10   is it time to look at the active entry?
  proctor journal session end                   abandons the active entry, archives the session

Agents with hooks need none of this: see `proctor journal hook --help`.")]
pub(crate) struct SessionArguments {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,

    /// What to print
    #[arg(long, value_enum, global = true, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Start a session; the id of the open one resumes it
    Start {
        /// Its id [default: `CLAUDE_CODE_SESSION_ID`, else a new one]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Print the open session's id
    Id,
    /// List the entries the open session has ended
    Entries,
    /// End the session: its active entry is abandoned, its entries are archived
    End {
        /// Only if this is the open session
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Print how many tool calls were counted
    Count {
        /// Count one more
        #[arg(long)]
        add: bool,
    },
    /// Say whether it is time to look at the active entry
    CheckIn {
        /// Tool calls between two check-ins
        #[arg(long, value_name = "N", default_value_t = CHECK_IN)]
        every: u64,
    },
    /// Set the count to zero
    Reset,
}

/// The same answer for programs and for people.
struct SessionAnswer {
    text: String,
    data: Value,
}

pub(super) fn run(
    arguments: &SessionArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let said = match &arguments.command {
        SessionCommand::Start { id } => start(id.as_deref(), context, terminal)?,
        SessionCommand::Id => {
            let id = context.journal.session_id()?;
            let text = id.clone().unwrap_or_else(|| "no session is open".to_owned());
            SessionAnswer { text, data: json!({ "session": id }) }
        }
        SessionCommand::Entries => entries(context, terminal)?,
        SessionCommand::End { id } => end(id.as_deref(), context, terminal)?,
        SessionCommand::Count { add } => count(*add, context, terminal)?,
        SessionCommand::CheckIn { every } => {
            let due = JournalContext::value_of(
                context.journal.should_check_in(*every, &now()),
                terminal,
            )?;
            let text = if due {
                "due: look at `proctor journal current`, then `session reset`"
            } else {
                "not due"
            };
            SessionAnswer { text: text.to_owned(), data: json!({ "due": due }) }
        }
        SessionCommand::Reset => {
            context.journal.reset_tool_count(&now())?;
            SessionAnswer { text: "0".to_owned(), data: json!({ "count": 0 }) }
        }
    };
    match arguments.format {
        Format::Json => terminal.json(&said.data),
        Format::Text => terminal.line(said.text.trim_end()),
    }
}

fn start(
    id: Option<&str>,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<SessionAnswer, CommandError> {
    let from_host = || env_vars::CLAUDE_CODE_SESSION_ID.get();
    let id = id.map(ToOwned::to_owned).or_else(from_host);
    let id =
        JournalContext::value_of(context.journal.start_session(id.as_deref(), &now()), terminal)?;
    let orphan =
        JournalContext::value_of(context.journal.orphan(&now()), terminal)?.map(|entry| entry.id);
    if let Some(orphan) = &orphan {
        terminal.warn(&format!(
            "an earlier session left {orphan} active: `proctor journal orphan adopt` or `proctor journal orphan abandon`"
        ));
    }
    Ok(SessionAnswer { text: id.clone(), data: json!({ "session": id, "orphan": orphan }) })
}

fn entries(
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<SessionAnswer, CommandError> {
    let entries = JournalContext::value_of(context.journal.session_entries(), terminal)?;
    let data = serde_json::to_value(&entries).map_err(std::io::Error::from)?;
    let lane = context.journal.lane_name().map(ToOwned::to_owned);
    let found: Vec<FoundEntry> = entries
        .into_iter()
        .map(|entry| FoundEntry { entry, lane: lane.clone(), place: EntryPlace::Session })
        .collect();
    let text = if found.is_empty() { "no entries".to_owned() } else { table(&found) };
    Ok(SessionAnswer { text, data })
}

fn end(
    id: Option<&str>,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<SessionAnswer, CommandError> {
    let ended = match id {
        Some(id) => {
            JournalContext::value_of(context.journal.end_session_if_named(id, &now()), terminal)?
        }
        None => Some(JournalContext::value_of(context.journal.end_session(&now()), terminal)?),
    };
    let Some(entries) = ended else {
        return Err(CommandError::refused(format_args!(
            "{} is not the open session",
            id.unwrap_or_default()
        ))
        .hint("`proctor journal session id` prints it"));
    };
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let text = format!("ended; {} of its entries are in the archive", ids.len());
    Ok(SessionAnswer { text, data: json!({ "entries": ids }) })
}

fn count(
    add: bool,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<SessionAnswer, CommandError> {
    let counted = if add {
        context.journal.increment_tool_count(&now())
    } else {
        context.journal.tool_count()
    };
    let count = JournalContext::value_of(counted, terminal)?;
    Ok(SessionAnswer { text: count.to_string(), data: json!({ "count": count }) })
}
