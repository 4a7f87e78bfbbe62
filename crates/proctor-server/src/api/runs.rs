//! `/api/runs`: the runs there are.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use proctor_events::Status;
use proctor_history::{History, RunRow};
use proctor_record::RunFolder;
use serde::{Deserialize, Serialize};

use super::{Context, Query, blocking};
use crate::error::ApiError;
use crate::hub::{Run, RunState};
use crate::rows::{Header, Row};
use crate::server::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    limit: Option<usize>,
    before: Option<String>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Listed {
    runs: Vec<Listing>,
    /// The id to ask for next as `before`.
    more: Option<String>,
    total: usize,
    /// Whether runs can be started here.
    can_run: bool,
}

/// One run in a list.
#[derive(Serialize)]
struct Listing {
    id: String,
    state: RunState,
    started_at: Option<String>,
    finished_at: Option<String>,
    duration_ms: Option<f64>,
    exit_code: Option<i32>,
    planned: Option<u64>,
    counts: BTreeMap<String, u64>,
    cost_usd: Option<f64>,
    argv: Vec<String>,
    commit: Option<String>,
    dirty: Option<bool>,
    tags: Vec<String>,
}

pub(super) async fn list(
    State(shared): Context,
    Query(page): Query<Page>,
) -> Result<Json<Listed>, ApiError> {
    blocking(&shared, move |shared| listing(shared, &page)).await.map(Json)
}

fn listing(shared: &Shared, page: &Page) -> Result<Listed, ApiError> {
    let folders = shared.hub.folders()?;
    let limit = page.limit.unwrap_or(50).clamp(1, 500);
    let end = page
        .before
        .as_ref()
        .map_or(folders.len(), |before| folders.partition_point(|folder| folder.name() < *before));
    let begin = end.saturating_sub(limit);
    let known = known(shared);
    let runs = folders[begin..end].iter().rev().map(|folder| one_of(shared, folder, &known));
    Ok(Listed {
        runs: runs.collect(),
        more: (begin > 0).then(|| folders[begin].name()),
        total: folders.len(),
        can_run: shared.launcher.is_some(),
    })
}

/// Finished runs come from the index of the history; where that cannot be used, from their recordings.
fn known(shared: &Shared) -> BTreeMap<String, RunRow> {
    let rows = History::open(&shared.hub.store).and_then(|mut history| history.runs());
    rows.unwrap_or_default().into_iter().map(|row| (row.name.clone(), row)).collect()
}

fn one_of(shared: &Shared, folder: &RunFolder, known: &BTreeMap<String, RunRow>) -> Listing {
    match known.get(&folder.name()) {
        Some(row) if row.finished_at.is_some() => from_history(row),
        _ => {
            let run = shared.hub.open(folder);
            // A recording that cannot be read is listed all the same, with what its name tells.
            let _ = run.catch_up();
            from_recording(&run)
        }
    }
}

fn from_history(row: &RunRow) -> Listing {
    Listing {
        id: row.name.clone(),
        state: RunState::Finished,
        started_at: row.started_at.clone(),
        finished_at: row.finished_at.clone(),
        duration_ms: row.duration_ms,
        exit_code: row.exit_code,
        planned: row.counts.get("examples").copied(),
        counts: statuses(&row.counts),
        cost_usd: row.cost_usd,
        argv: row.argv.clone(),
        commit: row.commit.clone(),
        dirty: row.dirty,
        tags: row.tags.clone(),
    }
}

/// Only what is a status, and only where there are any.
fn statuses(counts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let is_status = |name: &str| Status::KNOWN.contains(&name) || name == "running";
    let kept = counts.iter().filter(|(name, count)| is_status(name) && **count > 0);
    kept.map(|(name, count)| (name.clone(), *count)).collect()
}

fn from_recording(run: &Run) -> Listing {
    let state = run.state();
    let info = run.info();
    let index = run.index();
    let header = &index.run.header;
    let started = header.started_at.or(info.as_ref().map(|info| info.started_at));
    let git = info.as_ref().and_then(|info| info.git.as_ref());
    Listing {
        id: run.name.clone(),
        state,
        started_at: started.map(|time| time.to_string()),
        finished_at: header.finished_at.map(|time| time.to_string()),
        duration_ms: header.duration_ms,
        exit_code: header.exit_code,
        planned: header.planned,
        counts: counts(&index.run.rows),
        cost_usd: Some(
            index.run.rows.iter().flat_map(|row| &row.attempts).map(|a| a.cost_usd).sum(),
        ),
        argv: info.as_ref().map(|info| info.argv.clone()).unwrap_or_default(),
        commit: git.map(|git| git.commit.clone()),
        dirty: git.map(|git| git.dirty),
        tags: info.map(|info| info.tags).unwrap_or_default(),
    }
}

/// Final statuses, once per repetition; those without one are `running`.
pub(super) fn counts(rows: &[Row]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for row in rows {
        for attempt in row.deciding() {
            let status = attempt.status.as_ref().map_or("running", |status| status.as_str());
            *counts.entry(status.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[derive(Serialize)]
pub(super) struct One {
    id: String,
    state: RunState,
    info: Option<proctor_record::RunInfo>,
    #[serde(flatten)]
    header: Header,
    counts: BTreeMap<String, u64>,
    examples: usize,
    /// Lines of the recording that could not be used.
    problems: u64,
}

pub(super) async fn one(
    State(shared): Context,
    Path(run): Path<String>,
) -> Result<Json<One>, ApiError> {
    blocking(&shared, move |shared| {
        let run = shared.hub.find(&run)?;
        let (state, info) = (run.state(), run.info());
        let index = run.index();
        Ok(Json(One {
            id: run.name.clone(),
            state,
            info,
            header: index.run.header.clone(),
            counts: counts(&index.run.rows),
            examples: index.run.rows.len(),
            problems: index.problems,
        }))
    })
    .await
}
