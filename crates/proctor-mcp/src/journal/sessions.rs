//! `ghap_orphan` and `ghap_session`: what lasts longer than one entry.

use proctor_journal::{CHECK_IN, Journal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::journal_error;
use super::view::{EntryChange, EntrySummary, EntryView, warning_texts};
use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::table::{Group, Hints, Tool, ToolDeclaration};
use proctor_tools::paging::page;

pub(super) fn tools() -> Vec<Tool> {
    let declare = |name, title, description| ToolDeclaration {
        name,
        title,
        group: Group::Journal,
        hints: Hints::REMOVES,
        description,
    };
    vec![
        declare(
            "ghap_orphan",
            "The entry an earlier session left",
            "The entry that an earlier session left active. `show` it, `adopt` it to go on with it, or `abandon` it with a reason. \
             As long as it is there, no new entry can be created in this lane.",
        )
        .with_blocking_handler(orphan),
        declare(
            "ghap_session",
            "Sessions and the tool counter",
            "Sessions group entries. `start` one when you begin work (the same id again resumes it), `id` tells the open one, `entries` lists what it resolved, \
             `end` archives it and abandons its active entry. `count` counts a tool call, `check_in` says whether it is time to look at the active entry, \
             `reset` sets the counter to zero.",
        )
        .with_blocking_handler(session),
    ]
}

/// What to do with the orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OrphanAction {
    /// Look at it.
    Show,
    /// Make it an entry of the open session.
    Adopt,
    /// Give it up.
    Abandon,
}

/// Parameters of `ghap_orphan`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OrphanParams {
    /// What to do.
    action: OrphanAction,
    /// Why it is given up; needed for `abandon`.
    #[serde(default)]
    reason: Option<String>,
    /// The lane.
    #[serde(default)]
    lane: Option<String>,
}

/// Answer of `ghap_orphan`.
#[derive(Debug, Serialize, JsonSchema)]
struct OrphanAnswer {
    /// Whether there was one.
    found: bool,
    /// The orphan in full, for `show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    orphan: Option<EntryView>,
    /// What became of it, for `adopt` and `abandon`.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryChange>,
}

fn orphan(engine: &Engine, given: OrphanParams) -> Result<OrphanAnswer, ToolError> {
    let journal = engine.journal(given.lane.as_deref())?;
    let moment = engine.moment();
    let done = match (given.action, given.reason) {
        (OrphanAction::Show, _) => {
            let orphan = journal.orphan(&moment).map_err(journal_error)?.value;
            let orphan = orphan.map(|entry| EntryView::new(&entry, journal.lane_name()));
            return Ok(OrphanAnswer { found: orphan.is_some(), orphan, entry: None });
        }
        (OrphanAction::Adopt, _) => journal.adopt_orphan(&moment),
        (OrphanAction::Abandon, Some(reason)) if !reason.trim().is_empty() => {
            journal.abandon_orphan(reason, &moment)
        }
        (OrphanAction::Abandon, _) => {
            return Err(ToolError::invalid("reason: say in a sentence why it is given up"));
        }
    };
    let done = done.map_err(journal_error)?;
    match done.value {
        Some(entry) => {
            let entry = EntryChange::new(&entry, journal.lane_name(), &done.warnings);
            Ok(OrphanAnswer { found: true, orphan: None, entry: Some(entry) })
        }
        None => Err(ToolError::new(kind::REFUSED, "no earlier session left an entry active")
            .hint("an entry of the open session is ended with ghap_resolve or ghap_abandon")),
    }
}

/// What to do about the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SessionAction {
    /// Start one, or resume it by its id.
    Start,
    /// Tell the open one.
    Id,
    /// List the entries it resolved.
    Entries,
    /// End it.
    End,
    /// Count one tool call.
    Count,
    /// Say whether it is time to look at the active entry.
    CheckIn,
    /// Set the counter to zero.
    Reset,
}

/// Parameters of `ghap_session`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionParams {
    /// What to do.
    action: SessionAction,
    /// The session's id, for `start` and `end`: letters, digits, `_`, `-`. `end` with another session's id does nothing and says so.
    #[serde(default)]
    id: Option<String>,
    /// For `check_in`: due after so many tool calls; 10 if not given.
    #[serde(default)]
    every: Option<u64>,
    /// The lane.
    #[serde(default)]
    lane: Option<String>,
    /// For `entries`: how many at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// For `entries`: where to go on.
    #[serde(default)]
    cursor: Option<String>,
}

/// Answer of `ghap_session`: what the action asked for.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct SessionAnswer {
    /// The open session; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The entry that an earlier session left active; see `ghap_orphan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    orphan: Option<String>,
    /// Entries, for `entries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<EntrySummary>>,
    /// How many entries were archived, for `end`.
    #[serde(skip_serializing_if = "Option::is_none")]
    archived: Option<u64>,
    /// The count of tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// Whether a check-in is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<bool>,
    /// Give this as `cursor` for the next entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What went differently without going wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn session(engine: &Engine, given: SessionParams) -> Result<SessionAnswer, ToolError> {
    let journal = engine.journal(given.lane.as_deref())?;
    match given.action {
        SessionAction::Start => start(engine, &journal, given.id.as_deref()),
        SessionAction::End => end(engine, &journal, given.id.as_deref()),
        SessionAction::Entries => entries(&journal, &given),
        SessionAction::Id => {
            Ok(SessionAnswer { session: journal.session_id().map_err(journal_error)?, ..open() })
        }
        SessionAction::Count => {
            let counted = journal.increment_tool_count(&engine.moment()).map_err(journal_error)?;
            let warnings = warning_texts(&counted.warnings);
            Ok(SessionAnswer { count: Some(counted.value), warnings, ..open() })
        }
        SessionAction::CheckIn => {
            let every = given.every.unwrap_or(CHECK_IN);
            let due = journal.should_check_in(every, &engine.moment()).map_err(journal_error)?;
            let count = journal.tool_count().map_err(journal_error)?.value;
            let warnings = warning_texts(&due.warnings);
            Ok(SessionAnswer { due: Some(due.value), count: Some(count), warnings, ..open() })
        }
        SessionAction::Reset => {
            journal.reset_tool_count(&engine.moment()).map_err(journal_error)?;
            Ok(SessionAnswer { count: Some(0), ..open() })
        }
    }
}

fn open() -> SessionAnswer {
    SessionAnswer::default()
}

fn start(engine: &Engine, journal: &Journal, id: Option<&str>) -> Result<SessionAnswer, ToolError> {
    let id = id.or(engine.host_session());
    let started = journal.start_session(id, &engine.moment()).map_err(journal_error)?;
    let orphan = journal.orphan(&engine.moment()).map_err(journal_error)?.value;
    Ok(SessionAnswer {
        session: Some(started.value),
        orphan: orphan.map(|entry| entry.id),
        warnings: warning_texts(&started.warnings),
        ..open()
    })
}

fn end(engine: &Engine, journal: &Journal, id: Option<&str>) -> Result<SessionAnswer, ToolError> {
    let moment = engine.moment();
    let ended = match id {
        Some(id) => journal.end_session_if_named(id, &moment).map_err(journal_error)?,
        None => journal.end_session(&moment).map_err(journal_error)?.map(Some),
    };
    let warnings = warning_texts(&ended.warnings);
    match ended.value {
        Some(entries) => {
            Ok(SessionAnswer { archived: Some(entries.len() as u64), warnings, ..open() })
        }
        None => Err(ToolError::new(
            kind::REFUSED,
            format_args!("{} is not the open session", id.unwrap_or_default()),
        )
        .hint("action `id` returns the open session")),
    }
}

fn entries(journal: &Journal, given: &SessionParams) -> Result<SessionAnswer, ToolError> {
    let listed = journal.session_entries().map_err(journal_error)?;
    let page = page(&listed.value, given.cursor.as_deref(), given.limit)?;
    let lane = journal.lane_name();
    Ok(SessionAnswer {
        session: journal.session_id().map_err(journal_error)?,
        entries: Some(page.items.iter().map(|entry| EntrySummary::new(entry, lane)).collect()),
        next: page.next,
        warnings: warning_texts(&listed.warnings),
        ..open()
    })
}
