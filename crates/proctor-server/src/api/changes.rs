//! `/api/compare`, `/api/history`, `/api/flaky`, `/api/search`: what runs say together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use proctor_compare::{Comparison, Rules, Side, compare as judge};
use proctor_history::{
    FlakyExample, History, Known, Point, Searched, Window, search_recording, search_runs,
};
use proctor_record::{RunChoice, RunStore, load};
use serde::{Deserialize, Serialize};

use super::{Context, Query, blocking, within};
use crate::error::ApiError;
use crate::names;
use crate::server::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sides {
    before: String,
    after: String,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

/// The very comparison that the terminal prints.
pub(super) async fn compare(
    State(shared): Context,
    Query(sides): Query<Sides>,
) -> Result<Json<Comparison>, ApiError> {
    blocking(&shared, move |shared| {
        let before = side(shared, &sides.before)?;
        let after = side(shared, &sides.after)?;
        // Without the history a comparison is only more careful.
        let records = History::open(&shared.hub.store)
            .and_then(|mut history| history.records(after.run_id.as_deref()))
            .unwrap_or_default();
        Ok(Json(judge(&before, &after, &records, &Rules::default())))
    })
    .await
}

fn side(shared: &Shared, name: &str) -> Result<Side, ApiError> {
    if let Some(baseline) = name.strip_prefix("baseline") {
        let name = match baseline.strip_prefix(':') {
            Some(name) => name,
            None if baseline.is_empty() => "default",
            None => return Err(ApiError::bad_request("a baseline is named `baseline:NAME`")),
        };
        return stored(&shared.hub.store, name);
    }
    let folder = names::resolve(name, &shared.hub.folders()?)?;
    let loaded = load(&folder.events_path(), &RunChoice::Last)
        .map_err(|error| ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, error))?;
    let side = Side::of(&loaded.run, name).about(folder.info().ok());
    Ok(Side { run_id: Some(folder.name()), ..side })
}

/// Names are looked up among the files there are, so none can lead elsewhere.
fn stored(store: &RunStore, name: &str) -> Result<Side, ApiError> {
    let known = stored_baselines(store);
    let path = known.get(name).ok_or_else(|| {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        ApiError::not_found(format_args!(
            "there is no baseline of that name; there are: {}. `proctor baseline bless RUN` makes one",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        ))
    })?;
    let text = std::fs::read_to_string(path).map_err(ApiError::internal)?;
    let mut side = Side::from_json(&text)
        .map_err(|error| ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, error))?;
    side.label = format!("baseline:{name}");
    Ok(side)
}

fn stored_baselines(store: &RunStore) -> BTreeMap<String, PathBuf> {
    let entries =
        std::fs::read_dir(store.folder().join("baselines")).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect()
}

#[derive(Serialize)]
pub(super) struct Baselines {
    baselines: Vec<String>,
}

pub(super) async fn baselines(State(shared): Context) -> Result<Json<Baselines>, ApiError> {
    blocking(&shared, |shared| {
        let baselines = stored_baselines(&shared.hub.store).into_keys().collect();
        Ok(Json(Baselines { baselines }))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    /// A stable id, the start of one, or words of a description.
    example: Option<String>,
    tag: Option<String>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Told {
    /// The example, where it is about one.
    example: Option<Known>,
    /// Newest run first.
    points: Vec<Point>,
    /// Trouble with the index or with recordings.
    notes: Vec<String>,
}

pub(super) async fn history(
    State(shared): Context,
    Query(about): Query<About>,
) -> Result<Json<Told>, ApiError> {
    blocking(&shared, move |shared| {
        let mut history = open(shared)?;
        let notes = history.notes().to_vec();
        let (example, points) = match (&about.example, &about.tag) {
            (Some(_), Some(_)) => {
                return Err(ApiError::bad_request("ask for an example or for a tag, not for both"));
            }
            (Some(text), None) => {
                let found = history.find(text).map_err(ApiError::internal)?;
                let example = found.into_iter().next().ok_or_else(|| {
                    ApiError::not_found(
                        "no recorded example has that id or those words in its description",
                    )
                })?;
                let points = history.example(&example.id).map_err(ApiError::internal)?;
                (Some(example), points)
            }
            (None, Some(tag)) => (None, history.tag(tag).map_err(ApiError::internal)?),
            (None, None) => (None, history.suite().map_err(ApiError::internal)?),
        };
        Ok(Json(Told { example, points, notes }))
    })
    .await
}

fn open(shared: &Shared) -> Result<History, ApiError> {
    History::open(&shared.hub.store).map_err(ApiError::internal)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recent {
    runs: Option<u64>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Flaky {
    flaky: Vec<FlakyExample>,
}

pub(super) async fn flaky(
    State(shared): Context,
    Query(recent): Query<Recent>,
) -> Result<Json<Flaky>, ApiError> {
    blocking(&shared, move |shared| {
        let window = recent.runs.map_or_else(Window::default, Window);
        let flaky = open(shared)?.flaky(window).map_err(ApiError::internal)?;
        Ok(Json(Flaky { flaky }))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    q: String,
    run: Option<String>,
    limit: Option<usize>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

pub(super) async fn search(
    State(shared): Context,
    Query(words): Query<Words>,
) -> Result<Json<Searched>, ApiError> {
    blocking(&shared, move |shared| {
        let limit = within("limit", words.limit, 100, 1..=1000)?;
        let searched = match &words.run {
            None => search_runs(&shared.hub.store, &words.q, limit),
            Some(run) => {
                let folder = names::resolve(run, &shared.hub.folders()?)?;
                search_recording(&folder.events_path(), &words.q, limit)
                    .map_err(ApiError::internal)?
            }
        };
        Ok(Json(searched))
    })
    .await
}
