//! `/api/compare`, `/api/baselines`, `/api/history`, `/api/flaky`, `/api/search`: questions about several runs.

use axum::Json;
use axum::extract::State;
use proctor_compare::{Comparison, Rules};
use proctor_history::{
    BaselineError, FlakyExample, History, HistoryPoint, KnownExample, SearchQuery, SearchResult,
    SideError, Window, baselines as baselines_of, search_recording, search_runs,
};
use serde::{Deserialize, Serialize};

use super::{Context, Query, blocking, within};
use crate::error::ApiError;
use crate::run_names;
use crate::server::Shared;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompareQuery {
    before: String,
    after: String,
    /// «Not worse by more than so many points» is to be shown.
    margin: Option<f64>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

/// The same comparison as `proctor compare`.
pub(super) async fn compare(
    State(shared): Context,
    Query(sides): Query<CompareQuery>,
) -> Result<Json<Comparison>, ApiError> {
    blocking(&shared, move |shared| {
        let rules = match sides.margin {
            Some(points) => Rules::default().with_margin(points).ok_or_else(|| {
                ApiError::bad_request("a margin is a number of points above 0 and below 100")
            })?,
            None => Rules::default(),
        };
        let compared =
            shared.sides.compare(&shared.runs.store, &sides.before, &sides.after, &rules);
        Ok(Json(compared.map_err(refused)?.comparison))
    })
    .await
}

fn refused(error: SideError) -> ApiError {
    let unusable = |error: &dyn std::fmt::Display| {
        ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, error)
    };
    match error {
        SideError::Name(error) => run_names::to_api_error(error),
        SideError::Baseline(error @ BaselineError::Unknown { .. }) => {
            ApiError::not_found(format_args!("{error}. `proctor baseline bless RUN` makes one"))
        }
        SideError::Baseline(error) => unusable(&error),
        SideError::Recording(error) => unusable(&error),
    }
}

#[derive(Serialize)]
pub(super) struct Baselines {
    baselines: Vec<String>,
}

pub(super) async fn baselines(State(shared): Context) -> Result<Json<Baselines>, ApiError> {
    blocking(&shared, |shared| {
        let baselines = baselines_of(&shared.runs.store).into_keys().collect();
        Ok(Json(Baselines { baselines }))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryQuery {
    /// A stable id, the start of one, or words of a description.
    example: Option<String>,
    tag: Option<String>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

#[derive(Serialize)]
pub(super) struct HistoryAnswer {
    /// The example, if the history is that of one example.
    example: Option<KnownExample>,
    /// Newest run first.
    points: Vec<HistoryPoint>,
    /// Problems with the index or with recordings.
    notes: Vec<String>,
}

pub(super) async fn history(
    State(shared): Context,
    Query(about): Query<HistoryQuery>,
) -> Result<Json<HistoryAnswer>, ApiError> {
    blocking(&shared, move |shared| {
        let mut history = open(shared)?;
        let (example, points) = match (&about.example, &about.tag) {
            (Some(_), Some(_)) => {
                return Err(ApiError::bad_request("`example` and `tag` exclude each other"));
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
        Ok(Json(HistoryAnswer { example, points, notes: history.notes().to_vec() }))
    })
    .await
}

fn open(shared: &Shared) -> Result<History, ApiError> {
    History::open(&shared.runs.store).map_err(ApiError::internal)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlakyQuery {
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
    Query(recent): Query<FlakyQuery>,
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
pub(super) struct SearchParameters {
    q: String,
    run: Option<String>,
    limit: Option<usize>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

pub(super) async fn search(
    State(shared): Context,
    Query(words): Query<SearchParameters>,
) -> Result<Json<SearchResult>, ApiError> {
    blocking(&shared, move |shared| {
        let limit = within("limit", words.limit, 100, 1..=1000)?;
        let query = SearchQuery::parse(&words.q).map_err(ApiError::bad_request)?;
        let searched = match &words.run {
            None => search_runs(&shared.runs.store, &query, limit),
            Some(run) => {
                let folder = run_names::resolve(run, &shared.runs.store)?;
                search_recording(&folder.events_path(), &query, limit)
                    .map_err(ApiError::internal)?
            }
        };
        Ok(Json(searched))
    })
    .await
}
