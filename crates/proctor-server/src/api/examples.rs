//! `/api/runs/{run}/examples` and `/events`: what happened in a run.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use proctor_events::Event;
use proctor_record::{Aggregator, EventFilter, Example};
use serde::{Deserialize, Serialize};

use super::{Context, Path, Query, blocking, listed, within};
use crate::error::ApiError;
use crate::rows::{Row, known_examples, mentions};
use proctor_verdict::{ExampleVerdict, RunState};

/// The most events in one answer.
const MOST_EVENTS: usize = 5_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExampleFilter {
    /// Only examples with this status.
    status: Option<String>,
    /// Only examples whose description, file or id contains this.
    q: Option<String>,
    offset: Option<usize>,
    limit: Option<usize>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

#[derive(Serialize)]
struct ExampleList<'a> {
    state: RunState,
    /// The rows show the run up to this event; `since` goes on from here.
    last_seq: u64,
    total: usize,
    rows: Vec<Row<'a>>,
}

pub(super) async fn list(
    State(shared): Context,
    Path(run): Path<String>,
    Query(choice): Query<ExampleFilter>,
) -> Result<Response, ApiError> {
    let text = blocking(&shared, move |shared| {
        let run = shared.runs.find(&run)?;
        let state = run.state();
        let recording = run.recording();
        let query = choice.q.as_deref().unwrap_or_default().to_lowercase();
        // Verdicts are made only of those that are shown, unless they choose.
        let seen = recording.run();
        let over = state.is_over();
        let matching: Vec<&Example> = known_examples(seen)
            .filter(|example| query.is_empty() || mentions(example, &query))
            .filter(|example| {
                let status = choice.status.as_deref();
                status.is_none_or(|status| Row::of(example, seen, over).has_status(status))
            })
            .collect();
        let total = matching.len();
        let part = matching.into_iter().skip(choice.offset.unwrap_or_default());
        let part = part.take(choice.limit.unwrap_or(usize::MAX));
        let rows = part.map(|example| Row::of(example, seen, over)).collect();
        let answer = ExampleList { state, last_seq: recording.last_seq(), total, rows };
        serde_json::to_string(&answer).map_err(ApiError::internal)
    })
    .await?;
    Ok(json(text))
}

fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

#[derive(Serialize)]
struct ExampleDetails {
    run: String,
    last_seq: u64,
    verdict: ExampleVerdict,
    example: Example,
}

pub(super) async fn one(
    State(shared): Context,
    Path((run, example)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let wanted = example.clone();
    let run = blocking(&shared, move |shared| {
        let run = shared.runs.find(&run)?;
        let known = run.recording().has_example(&wanted);
        known
            .then_some(run)
            .ok_or_else(|| ApiError::not_found("this run has no example with that id"))
    })
    .await?;
    let wanted = EventFilter { examples: vec![example], types: Vec::new() };
    let mut folded = Aggregator::default();
    let (mut from, end, last_seq) = {
        let recording = run.recording();
        (0, recording.event_count(), recording.last_seq())
    };
    while from < end {
        let (events, next) = run.read(from, &wanted, 1000).await.map_err(ApiError::internal)?;
        for sent in events.iter().filter(|sent| sent.seq <= last_seq) {
            // Every line that is sent was an event when it was read.
            if let Ok(event) = Event::from_json(&sent.text) {
                folded.apply(&event);
            }
        }
        from = next;
    }
    let example = folded.into_run().examples.into_iter().next();
    let example =
        example.ok_or_else(|| ApiError::internal("the recording has changed; ask again"))?;
    let over = {
        let run = Arc::clone(&run);
        blocking(&shared, move |_| Ok(run.state().is_over())).await?
    };
    let verdict = example.verdict(over);
    let answer = ExampleDetails { run: run.name.clone(), last_seq, verdict, example };
    Ok(json(serde_json::to_string(&answer).map_err(ApiError::internal)?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    since: Option<u64>,
    limit: Option<usize>,
    example: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, rename = "token")]
    _token: Option<String>,
}

pub(super) async fn events(
    State(shared): Context,
    Path(run): Path<String>,
    Query(cursor): Query<EventQuery>,
) -> Result<Response, ApiError> {
    let run = blocking(&shared, move |shared| shared.runs.find(&run)).await?;
    let state = {
        let run = Arc::clone(&run);
        blocking(&shared, move |_| Ok(run.state())).await?
    };
    let limit = within("limit", cursor.limit, 1000, 1..=MOST_EVENTS)?;
    let wanted = EventFilter {
        examples: listed(cursor.example.as_deref()),
        types: listed(cursor.kind.as_deref()),
    };
    let mut since = cursor.since.unwrap_or_default();
    let (mut from, end, last) = {
        let recording = run.recording();
        (recording.place_after(since), recording.event_count(), recording.last_seq())
    };
    let mut found: Vec<Arc<str>> = Vec::new();
    while from < end && found.len() < limit {
        let (events, next) =
            run.read(from, &wanted, limit - found.len()).await.map_err(ApiError::internal)?;
        if let Some(sent) = events.last() {
            since = sent.seq;
        }
        found.extend(events.into_iter().map(|sent| sent.text));
        from = next;
    }
    let more = from < end;
    // A client that has received everything resumes after the newest event, filtered out or not.
    let next_since = if more { since } else { last.max(since) };
    let texts: Vec<&str> = found.iter().map(|text| &**text).collect();
    let state = serde_json::to_string(&state).map_err(ApiError::internal)?;
    Ok(json(format!(
        "{{\"events\":[{}],\"next_since\":{next_since},\"more\":{more},\"state\":{state}}}",
        texts.join(",")
    )))
}
