//! `run_cancel`: ends a run.

use std::time::{Duration, Instant};

use proctor_record::control::ControlError;
use schemars::JsonSchema;
use serde::Deserialize;

use super::run_names;
use super::run_state::StateView;
use super::view::RunView;
use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::table::{Group, Hints, Tool, ToolDeclaration};

/// How long the call waits for the run's end.
const END_TIMEOUT: Duration = Duration::from_secs(4);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn tools() -> Vec<Tool> {
    let declaration = ToolDeclaration {
        name: "run_cancel",
        title: "Stop a run",
        group: Group::Runs,
        hints: Hints { idempotent: true, ..Hints::REMOVES },
        description: "Stop a run: nothing new starts, running examples get two seconds, the rest is reported as not run. With `now`, everything ends at once. \
             What was recorded stays. Answers when the run is over, or after a few seconds with state `stopping`.",
    };
    vec![declaration.with_blocking_handler(cancel)]
}

/// Parameters of `run_cancel`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelParams {
    /// The run: its id or the start of it. Must be given: there is no way back.
    run_id: String,
    /// End running examples at once instead of letting them finish within the grace.
    #[serde(default)]
    now: bool,
}

fn cancel(engine: &Engine, given: CancelParams) -> Result<RunView, ToolError> {
    let folder = run_names::resolve(&engine.store(), &given.run_id)?;
    let state = || engine.run_cache().with_current_run(&folder, |current| Ok(current.state));
    // The process of a run may outlive the end of its recording by a moment; there is nothing left to stop.
    let recorded = state()?;
    if recorded.is_over() {
        return Err(not_running(&folder.name(), recorded)?);
    }
    let asked = if given.now {
        proctor_record::control::kill(folder.path())
    } else {
        proctor_record::control::cancel(folder.path())
    };
    match asked {
        Ok(_) => {}
        Err(ControlError::NotLive) => return Err(not_running(&folder.name(), state()?)?),
        Err(error) => return Err(ToolError::new(kind::BUSY, error).hint("call again in a moment")),
    }
    let deadline = Instant::now() + END_TIMEOUT;
    loop {
        let view =
            engine.run_cache().with_current_run(&folder, |current| Ok(RunView::new(current)))?;
        if view.state.is_over() || Instant::now() >= deadline {
            return Ok(view);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn not_running(run: &str, state: StateView) -> Result<ToolError, ToolError> {
    let message = format!("run {run} is not live: it is {}", state_name(state)?);
    Ok(ToolError::new(kind::NOT_RUNNING, message).hint("run_results shows its results"))
}

fn state_name(state: StateView) -> Result<String, ToolError> {
    let value = serde_json::to_value(state).map_err(ToolError::io)?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}
