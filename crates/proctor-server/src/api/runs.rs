//! `/api/runs`: the runs there are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use proctor_events::Status;
use proctor_history::{History, RunRow};
use proctor_record::control::ControlError;
use proctor_record::{RunData, RunFolder};
use proctor_verdict::{Counts, RunState};
use serde::{Deserialize, Serialize};

use super::{Context, Path, Query, blocking, within};
use crate::error::ApiError;
use crate::open_runs::OpenRun;
use crate::recorded_end::RecordedEnd;
use crate::rows::{Header, known_examples};
use crate::run_names;
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
    /// Whether runs that go on can be stopped from here.
    can_stop: bool,
    /// The agents that conversations can be held with instead of their own.
    agents: Vec<String>,
}

/// One run in a list.
#[derive(Serialize)]
struct Listing {
    id: String,
    state: RunState,
    /// `passed` or `failed`; absent where the run did not finish.
    verdict: Option<String>,
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
    let asked = Arc::clone(&shared);
    blocking(&shared, move |_| listing(&asked, &page)).await.map(Json)
}

fn listing(shared: &Arc<Shared>, page: &Page) -> Result<Listed, ApiError> {
    let folders = shared.runs.folders()?;
    let limit = within("limit", page.limit, 50, 1..=500)?;
    let end = page
        .before
        .as_ref()
        .map_or(folders.len(), |before| folders.partition_point(|folder| folder.name() < *before));
    let begin = end.saturating_sub(limit);
    let shown = &folders[begin..end];
    let known = known(shared, shown);
    let runs: Vec<Listing> =
        shown.iter().rev().map(|folder| listing_of(shared, folder, &known)).collect();
    if runs.iter().any(|run| run.state.is_over() && !known.contains_key(&run.id)) {
        update_history(shared);
    }
    Ok(Listed {
        runs,
        more: (begin > 0).then(|| folders[begin].name()),
        total: folders.len(),
        can_run: shared.launcher.is_some(),
        can_stop: shared.stops_runs,
        agents: shared.launcher.as_ref().map(|launcher| launcher.agents()).unwrap_or_default(),
    })
}

/// Up-to-date rows of these runs from the history. Reads no recording.
fn known(shared: &Shared, folders: &[RunFolder]) -> BTreeMap<String, Option<RunRow>> {
    let rows = History::open_without_sync(&shared.runs.store)
        .and_then(|mut history| history.unchanged_rows(folders));
    rows.unwrap_or_default()
}

/// Updates the history in the background; the next request gets more from it.
fn update_history(shared: &Arc<Shared>) {
    if shared.indexing.swap(true, Ordering::SeqCst) {
        return;
    }
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || {
        // Requests for the history itself report the error.
        let _ = History::open(&shared.runs.store);
        shared.indexing.store(false, Ordering::SeqCst);
    });
}

/// One run of a list: from the index; from the end of its recording; or, while it goes on, from what was read of it so far.
fn listing_of(
    shared: &Shared,
    folder: &RunFolder,
    known: &BTreeMap<String, Option<RunRow>>,
) -> Listing {
    match known.get(&folder.name()) {
        Some(Some(row)) if row.finished_at.is_some() => {
            return from_history(row, row.run_state(false));
        }
        Some(Some(row)) if !folder.is_live() => return from_history(row, RunState::Died),
        _ => {}
    }
    if let Ok(Some(ending)) = RecordedEnd::find(&folder.events_path()) {
        return from_recorded_end(folder, &ending);
    }
    if !folder.is_live() {
        return Listing { state: RunState::Died, ..from_info(folder) };
    }
    let run = shared.runs.open(folder);
    // A recording that cannot be read is listed all the same, with what its name tells.
    let _ = run.catch_up();
    from_recording(&run)
}

fn from_history(row: &RunRow, state: RunState) -> Listing {
    Listing {
        id: row.name.clone(),
        state,
        verdict: row.verdict.clone(),
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

/// The listing from `run.json` alone.
fn from_info(folder: &RunFolder) -> Listing {
    let info = folder.info().ok();
    let git = info.as_ref().and_then(|info| info.git.as_ref());
    Listing {
        id: folder.name(),
        state: RunState::Loading,
        verdict: None,
        started_at: info.as_ref().map(|info| info.started_at.to_string()),
        finished_at: None,
        duration_ms: None,
        exit_code: None,
        planned: None,
        counts: BTreeMap::new(),
        cost_usd: None,
        commit: git.map(|git| git.commit.clone()),
        dirty: git.map(|git| git.dirty),
        argv: info.as_ref().map(|info| info.argv.clone()).unwrap_or_default(),
        tags: info.map(|info| info.tags).unwrap_or_default(),
    }
}

fn from_recorded_end(folder: &RunFolder, ending: &RecordedEnd) -> Listing {
    let interrupted = folder.info().is_ok_and(|info| info.interrupted);
    let verdict = ending.verdict(interrupted);
    Listing {
        state: verdict.state(),
        verdict: verdict.final_word().map(ToOwned::to_owned),
        planned: Some(ending.example_count()),
        counts: statuses(&ending.counts()),
        finished_at: ending.time(),
        duration_ms: ending.duration_ms(),
        exit_code: verdict.exit_code().map(i32::from),
        ..from_info(folder)
    }
}

/// The counts that are statuses and not zero.
fn statuses(counts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let further = ["running", "flaky", "within_rate", "unchecked"];
    let is_status = |name: &str| Status::KNOWN.contains(&name) || further.contains(&name);
    let kept = counts.iter().filter(|(name, count)| is_status(name) && **count > 0);
    kept.map(|(name, count)| (name.clone(), *count)).collect()
}

fn from_recording(run: &OpenRun) -> Listing {
    let verdict = run.verdict();
    let info = run.info();
    let recording = run.recording();
    let seen = recording.run();
    let started = seen.started_at.or(info.as_ref().map(|info| info.started_at));
    let git = info.as_ref().and_then(|info| info.git.as_ref());
    Listing {
        id: run.name.clone(),
        state: verdict.state(),
        verdict: verdict.final_word().map(ToOwned::to_owned),
        started_at: started.map(|time| time.to_string()),
        finished_at: seen.finished_at.map(|time| time.to_string()),
        duration_ms: seen.duration_ms.map(proctor_events::Millis::get),
        exit_code: verdict.exit_code().map(i32::from),
        planned: seen.planned,
        counts: counts(&run.counts(&recording, verdict.is_over())),
        cost_usd: Some(cost(seen)),
        argv: info.as_ref().map(|info| info.argv.clone()).unwrap_or_default(),
        commit: git.map(|git| git.commit.clone()),
        dirty: git.map(|git| git.dirty),
        tags: info.map(|info| info.tags).unwrap_or_default(),
    }
}

/// What model calls within examples have cost so far.
fn cost(run: &RunData) -> f64 {
    let attempts = run.examples.iter().flat_map(|example| &example.attempts);
    attempts.filter_map(|attempt| attempt.tally().cost_usd).sum()
}

/// The verdicts of the examples, counted; what did not occur is left out.
fn counts(counts: &Counts) -> BTreeMap<String, u64> {
    let counts = serde_json::to_value(counts).unwrap_or_default();
    let all: BTreeMap<String, u64> = serde_json::from_value(counts).unwrap_or_default();
    statuses(&all)
}

#[derive(Serialize)]
pub(super) struct RunDetails {
    id: String,
    state: RunState,
    /// `passed` or `failed`; absent where the run did not finish.
    verdict: Option<&'static str>,
    /// What stopped it before its end.
    stopped_by: Option<String>,
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
) -> Result<Json<RunDetails>, ApiError> {
    blocking(&shared, move |shared| {
        let run = shared.runs.find(&run)?;
        let (verdict, info) = (run.verdict(), run.info());
        let over = verdict.is_over();
        let recording = run.recording();
        Ok(Json(RunDetails {
            id: run.name.clone(),
            state: verdict.state(),
            verdict: verdict.final_word(),
            stopped_by: verdict.stopped_by().map(ToString::to_string),
            info,
            header: Header {
                exit_code: verdict.exit_code().map(i32::from),
                ..Header::of(recording.run())
            },
            counts: counts(&run.counts(&recording, over)),
            examples: known_examples(recording.run()).count(),
            problems: recording.unusable_lines(),
        }))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelQuery {
    /// End it now instead of letting running examples finish.
    #[serde(default)]
    now: bool,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Stopped {
    status: &'static str,
    run_id: String,
}

/// Stops a run through its control socket, whichever process started it.
pub(super) async fn cancel(
    State(shared): Context,
    Path(run): Path<String>,
    Query(how): Query<CancelQuery>,
) -> Result<Json<Stopped>, ApiError> {
    blocking(&shared, move |shared| {
        if !shared.stops_runs {
            return Err(ApiError::new(
                StatusCode::CONFLICT,
                "this server is read-only and cannot stop runs",
            ));
        }
        let folder = run_names::resolve(&run, &shared.runs.store)?;
        let asked = if how.now {
            proctor_record::control::kill(folder.path())
        } else {
            proctor_record::control::cancel(folder.path())
        };
        let status = match asked {
            Ok(_) => "cancelled",
            Err(ControlError::NotLive) => "not_running",
            Err(silent @ ControlError::NoReply(_)) => {
                return Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, silent));
            }
            Err(refused @ ControlError::Refused(_)) => {
                return Err(ApiError::new(StatusCode::CONFLICT, refused));
            }
        };
        Ok(Json(Stopped { status, run_id: folder.name() }))
    })
    .await
}
