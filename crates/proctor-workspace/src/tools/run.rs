//! `test_run`: the real orchestrator in the workspace, recorded.
//!
//! A run has three parts: `begin` (hold the workspace, check, write the run's folder), `execute` (start under
//! guard, wait, kill when its time is over or the caller gives up) and `conclude` (read what is left,
//! write the session and the result). What `conclude` needs is on disk after `begin`, so a run whose
//! server was killed is concluded by whoever looks at it next.

pub(crate) mod begin;
pub(crate) mod conclude;
mod detach;
pub(crate) mod environment;
mod execute;
pub(crate) mod folder;
mod repeat;

use std::collections::BTreeMap;
use std::path::PathBuf;

use proctor_process::Leaked;
use proctor_sandbox::LeftProcess;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{CallContext, Tools};
use crate::assertion::{self, Assertion};
use crate::cassette::{Cassette, Drift};
use crate::error::{ErrorKind, ToolError};
use crate::limits::{GivenLimits, RunLimits};
use crate::mock::MockResponse;
use crate::orchestrator::Backend;
pub use repeat::{AssertionRate, Flakiness};

pub(crate) const MOST_REPEATS: u32 = 100;

/// Stands for what another tool describes: a model pays for every schema it is shown.
type Object = serde_json::Map<String, serde_json::Value>;

/// Parameters of `test_run`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunParams {
    /// The workspace.
    pub workspace_id: String,
    /// The task or prompt for the orchestrator.
    pub task: String,
    /// Which model answers (default `mock`). Real ones need their program on PATH and credentials in `env`.
    #[serde(default)]
    pub backend: Backend,
    /// Most iterations (default: what the configuration says, else 5). The events of the last allowed one are emitted,
    /// never published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Most seconds (default: what the configuration says, else 300). The orchestrator notices it between calls; some
    /// seconds later it is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runtime_secs: Option<u64>,
    /// Environment variables for the run; nothing else is inherited. `null` passes on the server's own value,
    /// so that you need not know a secret to use it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<String>>,
    /// Scripted answers for this run only; without them those of `test_mock_backend` are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mock_responses: Option<Vec<MockResponse>>,
    /// Replay a cassette (from `test_inspect` with format `cassette`, as it was given) and report what drifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Object")]
    pub cassette: Option<Cassette>,
    /// Replay an earlier run of this workspace, by its number, and report what drifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_run: Option<u32>,
    /// Return at once and let the run go on by itself, also if this server ends. Poll with `test_inspect`
    /// (format `summary`), end it with `test_cleanup` and `force`.
    #[serde(default)]
    pub detach: bool,
    /// Run this many times from the same state of the workspace, to find flaky behaviour (default 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Judged after every repeat, in the form of `test_assert`; the result tells how often each held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Object>")]
    pub assertions: Vec<Assertion>,
    /// Refuse the run unless it can be confined completely (backend `mock` only). Without it, what this machine lacks is a warning.
    #[serde(default)]
    pub require_confinement: bool,
    /// Return the result also when the mock had too few responses, instead of an error.
    #[serde(default)]
    pub allow_exhausted: bool,
}

/// How the mock's script was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MockUse {
    /// How many responses were given.
    pub consumed: u32,
    /// How many there were.
    pub total: u32,
    /// How many calls found no response.
    pub refused: u32,
    /// Indices of responses that were never given: the test may need adjustment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconsumed: Vec<usize>,
}

/// A process that the run left behind; it has been killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftBehind {
    /// Its process id; of a confined run, the one that it had inside.
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

impl From<Leaked> for LeftBehind {
    fn from(leaked: Leaked) -> Self {
        Self { pid: leaked.pid, command: leaked.command }
    }
}

impl From<LeftProcess> for LeftBehind {
    fn from(left: LeftProcess) -> Self {
        Self { pid: left.pid, command: left.command }
    }
}

/// Result of `test_run`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The orchestrator's exit code; absent if a signal ended it or it still runs.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why it ended, in the orchestrator's terms (`CompletionPromise`, `MaxIterations` …), or in the harness's:
    /// `StartupError`, `UsageError`, `Killed`, `HarnessTimeout`, `HarnessCancelled`, `HarnessDiskLimit`, `HarnessLost`,
    /// `Exited`.
    pub termination_reason: String,
    /// Of a run that ended without saying why: exit code or signal, and the end of what it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_detail: Option<String>,
    /// The limits that held, each with where it came from: the call, the configuration, or the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RunLimits>,
    /// How many iterations began.
    pub iterations: u64,
    /// Seconds from start to end.
    pub elapsed_secs: f64,
    /// The session, one JSON record per line.
    pub session_file: PathBuf,
    /// How many records the session has.
    pub events_count: usize,
    /// The number of this run in its workspace, from 1.
    pub run: u32,
    /// The orchestrator that ran, with its version.
    pub orchestrator: String,
    /// How the mock's script was used; absent for a real model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mock: Option<MockUse>,
    /// Whether the run was cut off from the network.
    pub network_off: bool,
    /// Processes the run left behind; they have been killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<LeftBehind>,
    /// The run goes on by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub detached: bool,
    /// What differs from the cassette that was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// How often each assertion held over the repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flakiness: Option<Flakiness>,
    /// What you should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What to keep in mind about the texts in this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) params: RunParams,
    /// The workspace was put back to its state before an earlier run.
    pub(crate) restored: bool,
}

impl Request {
    fn new(params: RunParams) -> Result<Self, ToolError> {
        let repeat = params.repeat.unwrap_or(1);
        RunLimits::resolve(Self::limits_of(&params), GivenLimits::default(), None)?;
        if !(1..=MOST_REPEATS).contains(&repeat) {
            return Err(ToolError::invalid(format!("repeat must be between 1 and {MOST_REPEATS}")));
        }
        if params.cassette.is_some() && params.replay_run.is_some() {
            return Err(ToolError::invalid("give either cassette or replay_run, not both"));
        }
        if params.detach && repeat > 1 {
            return Err(ToolError::invalid("a detached run cannot be repeated"));
        }
        if params.require_confinement && params.backend != Backend::Mock {
            return Err(ToolError::new(
                ErrorKind::NotConfined,
                "a run with a real model is not confined, but require_confinement is set",
            )
            .hint("use backend \"mock\", or leave require_confinement out"));
        }
        environment::check(&params.env)?;
        assertion::check_all(&params.assertions)?;
        Ok(Self { params, restored: false })
    }

    fn limits_of(params: &RunParams) -> GivenLimits {
        GivenLimits {
            max_iterations: params.max_iterations.map(u64::from),
            max_runtime_secs: params.max_runtime_secs,
            ..GivenLimits::default()
        }
    }

    /// The limits of the call.
    pub(crate) fn limits(&self) -> GivenLimits {
        Self::limits_of(&self.params)
    }
}

impl Tools {
    /// Runs the orchestrator in a workspace and records what happens.
    pub async fn run(
        &self,
        params: RunParams,
        context: &CallContext,
    ) -> Result<RunResult, ToolError> {
        let request = Request::new(params)?;
        if request.params.detach {
            return self.detach(request).await;
        }
        if request.params.repeat.unwrap_or(1) > 1 || !request.params.assertions.is_empty() {
            return self.repeat(request, context).await;
        }
        let allow_exhausted = request.params.allow_exhausted;
        let result = self.run_once(request, context).await?;
        exhausted(result, allow_exhausted)
    }

    /// One run from begin to end; exhaustion is not yet an error.
    async fn run_once(
        &self,
        request: Request,
        context: &CallContext,
    ) -> Result<RunResult, ToolError> {
        let begun = self.blocking(move |tools| begin::begin(&tools.config, &request)).await?;
        let ended = execute::execute(&self.config, &begun, context).await?;
        self.blocking(move |tools| {
            conclude::conclude(&tools.config, &begun.place, begun.number, &ended)
        })
        .await
    }
}

/// A mock that had too little to say is an error of the test.
fn exhausted(result: RunResult, allowed: bool) -> Result<RunResult, ToolError> {
    let Some(mock) = result.mock.as_ref().filter(|mock| mock.refused > 0 && !allowed) else {
        return Ok(result);
    };
    let message = format!(
        "the mock was asked for more than it had: {} of {} responses consumed, refused calls: {}",
        mock.consumed, mock.total, mock.refused
    );
    let details = json!({"consumed": mock.consumed, "total": mock.total, "refused": mock.refused,
        "unconsumed": mock.unconsumed, "run": result.run, "result": result});
    Err(ToolError::new(ErrorKind::MockExhausted, message)
        .hint("add responses, or look at test_inspect with format \"calls\" to see why none fitted")
        .details(details))
}
