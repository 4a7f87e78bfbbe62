//! `/specs/…`: starting, watching and stopping runs.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{Context, blocking};
use crate::error::ApiError;
use crate::launcher::{LaunchError, RunRequest};

/// Starts a run. An empty body means everything; a bare list is a list of paths.
pub(super) async fn run(
    State(shared): Context,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ApiError> {
    let body = body.map_err(|problem| match problem.status() {
        StatusCode::BAD_REQUEST => ApiError::new(StatusCode::REQUEST_TIMEOUT, problem.body_text()),
        status => ApiError::new(status, problem.body_text()),
    })?;
    let request = read(&body)?;
    request.check().map_err(ApiError::bad_request)?;
    blocking(&shared, move |shared| {
        let launcher = shared.launcher.as_ref().ok_or_else(cannot_start_runs)?;
        if let Some(agent) = request.agent.as_ref().filter(|name| !launcher.agents().contains(name))
        {
            return Err(unknown_agent(agent, &launcher.agents()));
        }
        let run_id = launcher.start(&request).map_err(|error| match error {
            LaunchError::Busy(_) => ApiError::new(StatusCode::CONFLICT, error),
            LaunchError::Refused(_) => ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error),
        })?;
        Ok(Json(json!({ "status": "started", "run_id": run_id })))
    })
    .await
}

fn read(body: &[u8]) -> Result<RunRequest, ApiError> {
    if body.trim_ascii().is_empty() {
        return Ok(RunRequest::default());
    }
    let wrong = |error: serde_json::Error| {
        ApiError::bad_request(format_args!("malformed request body: {error}"))
    };
    if body.trim_ascii_start().starts_with(b"[") {
        let paths = serde_json::from_slice(body).map_err(wrong)?;
        return Ok(RunRequest { paths, ..RunRequest::default() });
    }
    serde_json::from_slice(body).map_err(wrong)
}

pub(super) async fn progress(State(shared): Context) -> Result<Json<Value>, ApiError> {
    blocking(&shared, |shared| {
        let progress = shared.launcher.as_ref().and_then(|launcher| launcher.progress());
        match progress {
            None => Ok(Json(json!({ "status": "idle" }))),
            Some(progress) => serde_json::to_value(progress).map(Json).map_err(ApiError::internal),
        }
    })
    .await
}

pub(super) async fn cancel(State(shared): Context) -> Result<Json<Value>, ApiError> {
    blocking(&shared, |shared| {
        let cancelled = shared.launcher.as_ref().is_some_and(|launcher| launcher.cancel());
        Ok(Json(json!({ "status": if cancelled { "cancelled" } else { "not_running" } })))
    })
    .await
}

fn unknown_agent(name: &str, known: &[String]) -> ApiError {
    let known = if known.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are: {}", known.join(", "))
    };
    let message = format!("there is no [agents.{name}] in proctor.toml; {known}");
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, message)
}

fn cannot_start_runs() -> ApiError {
    ApiError::new(
        StatusCode::CONFLICT,
        "this server is read-only; `proctor serve` starts one that can run examples",
    )
}
