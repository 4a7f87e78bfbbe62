//! `/api/journal`: hypotheses and their outcomes.
//!
//! The journal is read, never written: from here nothing can be changed. Rows are short; one entry comes whole, with all
//! its evidence.

use axum::Json;
use axum::extract::State;
use proctor_journal::stats::Stats;
use proctor_journal::{
    ConfidenceTier, Domain, Entry, EntryPlace, Filter, FoundEntry, Journal, JournalError, Match,
    UtcTime, Warning, WithWarnings,
};
use proctor_text::truncate;
use serde::{Deserialize, Serialize};

use super::{Context, Path, Query, blocking, within};
use crate::error::ApiError;
use crate::server::Shared;

/// How many characters of a text a row shows.
const SHORT: usize = 280;

/// Which entries. Every field may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryFilter {
    /// Words; the entries that have them come best first.
    q: Option<String>,
    domain: Option<String>,
    strategy: Option<String>,
    /// `active`, or how it ended.
    status: Option<String>,
    tier: Option<String>,
    lane: Option<String>,
    session: Option<String>,
    since: Option<String>,
    until: Option<String>,
    /// Only falsified entries without an explanation.
    #[serde(default)]
    unexplained: bool,
    offset: Option<usize>,
    limit: Option<usize>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

impl EntryFilter {
    fn filter(&self) -> Result<Filter, ApiError> {
        let ended = self.status.as_deref().filter(|status| *status != "active");
        let is_active = self.status.is_some() && ended.is_none();
        Ok(Filter {
            lane: self.lane.clone(),
            domain: word(self.domain.as_deref())?,
            strategy: word(self.strategy.as_deref())?,
            status: word(ended)?,
            tier: word(self.tier.as_deref())?,
            active: is_active.then_some(true),
            session: self.session.clone(),
            since: word(self.since.as_deref())?,
            until: word(self.until.as_deref())?,
            needs_annotation: self.unexplained,
            limit: None,
        })
    }
}

fn word<T: std::str::FromStr<Err: std::fmt::Display>>(
    text: Option<&str>,
) -> Result<Option<T>, ApiError> {
    text.map(str::parse).transpose().map_err(ApiError::bad_request)
}

#[derive(Serialize)]
pub(super) struct Rows {
    entries: Vec<Row>,
    /// How many there are; with words, how many were looked for and found.
    total: usize,
    /// Whether there are more behind the last one.
    more: bool,
    /// The journal's lanes.
    lanes: Vec<String>,
    /// The kinds of work there are.
    domains: Vec<&'static str>,
    /// Problems with the files of the journal.
    warnings: Vec<String>,
}

/// An entry in a list.
#[derive(Serialize)]
struct Row {
    id: String,
    lane: Option<String>,
    place: &'static str,
    session: String,
    created_at: UtcTime,
    ended_at: Option<UtcTime>,
    domain: &'static str,
    strategy: &'static str,
    status: &'static str,
    tier: Option<&'static str>,
    iterations: u64,
    goal: String,
    hypothesis: String,
    prediction: String,
    result: Option<String>,
    surprise: Option<String>,
    confidence: Option<f64>,
    auto_captured: bool,
    needs_annotation: bool,
    evidence: u64,
    /// How well it fits the words.
    score: Option<f64>,
}

impl Row {
    fn new(found: FoundEntry, score: Option<f64>) -> Self {
        let FoundEntry { entry, lane, place } = found;
        let moved = entry.evidence_moved.as_ref().map_or(0, |moved| moved.count);
        Self {
            place: place_word(&place),
            session: truncate(&entry.session_id, SHORT),
            created_at: entry.created_at,
            ended_at: entry.outcome.as_ref().map(|outcome| outcome.captured_at),
            domain: entry.domain.as_str(),
            strategy: entry.strategy.as_str(),
            status: status_word(&entry),
            tier: entry.confidence_tier.map(ConfidenceTier::as_str),
            iterations: entry.iteration_count,
            goal: truncate(&entry.goal, SHORT),
            hypothesis: truncate(&entry.hypothesis, SHORT),
            prediction: truncate(&entry.prediction, SHORT),
            result: entry.outcome.as_ref().map(|outcome| truncate(&outcome.result, SHORT)),
            surprise: entry.surprise.as_deref().map(|text| truncate(text, SHORT)),
            confidence: entry.confidence,
            auto_captured: entry.is_auto_captured(),
            needs_annotation: entry.needs_annotation(),
            evidence: entry.evidence.len() as u64 + moved,
            id: entry.id,
            lane,
            score,
        }
    }
}

fn place_word(place: &EntryPlace) -> &'static str {
    match place {
        EntryPlace::Active => "active",
        EntryPlace::Session => "session",
        EntryPlace::Archive(_) => "archive",
    }
}

fn status_word(entry: &Entry) -> &'static str {
    entry.status().map_or("active", |status| status.as_str())
}

pub(super) async fn list(
    State(shared): Context,
    Query(choice): Query<EntryFilter>,
) -> Result<Json<Rows>, ApiError> {
    blocking(&shared, move |shared| {
        let journal = journal(shared)?;
        let filter = choice.filter()?;
        let offset = within("offset", choice.offset, 0, 0..=1_000_000)?;
        let limit = within("limit", choice.limit, 100, 1..=1000)?;
        let words = choice.q.as_deref().map(str::trim).filter(|words| !words.is_empty());
        let (mut entries, total, warnings) = if let Some(words) = words {
            // One more than is shown, to know whether there are more.
            let wanted = offset.saturating_add(limit).saturating_add(1);
            let WithWarnings { value, warnings } =
                journal.search(words, &filter, wanted).map_err(refused)?;
            let total = value.len();
            let row = |Match { score, found }| Row::new(found, Some(score));
            (value.into_iter().skip(offset).map(row).collect::<Vec<_>>(), total, warnings)
        } else {
            let WithWarnings { value: (found, total), warnings } =
                journal.page(&filter, offset, limit).map_err(refused)?;
            (found.into_iter().map(|found| Row::new(found, None)).collect(), total, warnings)
        };
        entries.truncate(limit);
        Ok(Json(Rows {
            more: total > offset.saturating_add(entries.len()),
            entries,
            total,
            lanes: journal.lanes().map_err(refused)?,
            domains: Domain::ALL.iter().map(|domain| domain.as_str()).collect(),
            warnings: warning_texts(&warnings),
        }))
    })
    .await
}

#[derive(Serialize)]
pub(super) struct EntryDetails {
    lane: Option<String>,
    place: &'static str,
    entry: Entry,
    warnings: Vec<String>,
}

pub(super) async fn one(
    State(shared): Context,
    Path(id): Path<String>,
) -> Result<Json<EntryDetails>, ApiError> {
    blocking(&shared, move |shared| {
        let journal = journal(shared)?;
        let found = journal.show(&id).map_err(refused)?.value;
        let WithWarnings { value, warnings } =
            journal.with_moved_evidence(found).map_err(refused)?;
        let FoundEntry { entry, lane, place } = value;
        Ok(Json(EntryDetails {
            lane,
            place: place_word(&place),
            entry,
            warnings: warning_texts(&warnings),
        }))
    })
    .await
}

pub(super) async fn stats(
    State(shared): Context,
    Query(choice): Query<EntryFilter>,
) -> Result<Json<Stats>, ApiError> {
    blocking(&shared, move |shared| {
        let numbers = journal(shared)?.stats(&choice.filter()?).map_err(refused)?;
        Ok(Json(numbers.value))
    })
    .await
}

fn journal(shared: &Shared) -> Result<Journal, ApiError> {
    let folder = shared.journal.as_ref();
    folder.map(Journal::at).ok_or_else(|| ApiError::not_found("this server has no journal"))
}

fn refused(error: JournalError) -> ApiError {
    match error {
        JournalError::NoSuchEntry { .. } => ApiError::not_found(
            "no entry has that id; part of an id is enough if only one entry has it",
        ),
        ambiguous @ JournalError::Ambiguous { .. } => ApiError::bad_request(ambiguous),
        other => ApiError::internal(other),
    }
}

fn warning_texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}
