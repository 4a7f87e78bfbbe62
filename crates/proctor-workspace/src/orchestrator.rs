//! Orchestrators: the programs under test, behind one small seam.
//!
//! An [`Adapter`] knows how one orchestrator, in the versions it was measured with, is configured, started
//! and read. Everything else in this crate knows only this trait. [`ralph`] is the first adapter;
//! [`generic`] runs any command and proves that the seam holds.

pub(crate) mod backend;
pub(crate) mod generic;
pub(crate) mod ralph;
mod topology;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Config;
use crate::contained_path::Root;
use crate::error::ToolError;
use crate::limits::{GivenLimits, RunLimits};
use crate::session::merge::Sources;

pub use backend::Backend;
pub use generic::GenericCommand;
pub(crate) use topology::{Hat, Topology};

/// Which orchestrator a workspace is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Orchestrator {
    /// Ralph Orchestrator, the default.
    #[default]
    Ralph,
    /// Any command: judged by its exit code, files and output.
    Generic(GenericCommand),
}

impl Orchestrator {
    pub(crate) fn adapter(&self) -> Box<dyn Adapter> {
        match self {
            Self::Ralph => Box::new(ralph::Ralph),
            Self::Generic(command) => Box::new(generic::Generic(command.clone())),
        }
    }
}

/// A run to be prepared.
pub(crate) struct Plan<'a> {
    pub(crate) config: &'a Config,
    pub(crate) root: &'a Root,
    /// The run's folder in the registry.
    pub(crate) folder: &'a Path,
    pub(crate) user_config: &'a Value,
    pub(crate) scratchpad: Option<&'a str>,
    pub(crate) task: &'a str,
    pub(crate) backend: Backend,
    pub(crate) limits: &'a RunLimits,
}

/// A run that can be started.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(String, OsString)>,
    /// A file in the workspace that asks the orchestrator to stop.
    pub(crate) stop_file: Option<String>,
    /// Where the mock puts events if the orchestrator does not tell it.
    pub(crate) events_file: Option<PathBuf>,
    /// Restored by a hook before the loop starts: path and content.
    pub(crate) scratchpad: Option<(String, String)>,
    /// Whatever `collect` needs to know about the state before the run.
    pub(crate) cursor: Value,
    pub(crate) warnings: Vec<String>,
}

/// What an orchestrator left behind.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) sources: Sources,
    /// Why it ended, in the seed's words; `None` if it did not say.
    pub(crate) reason: Option<String>,
    /// Who said so.
    pub(crate) reason_origin: &'static str,
    pub(crate) iterations: u64,
    pub(crate) warnings: Vec<String>,
}

/// What is read after a run.
pub(crate) struct RunOutputs<'a> {
    pub(crate) root: &'a Root,
    pub(crate) folder: &'a Path,
    pub(crate) cursor: &'a Value,
    pub(crate) topology: Topology,
    pub(crate) read_bytes: u64,
}

/// How one orchestrator is driven.
pub(crate) trait Adapter: Send + Sync {
    /// The orchestrator as it is installed, and a warning if this adapter was not measured with it.
    fn installed(&self, config: &Config) -> Result<(String, Option<String>), ToolError>;
    /// Who listens to what.
    fn topology(
        &self,
        root: &Root,
        user_config: &Value,
        backend: Backend,
    ) -> Result<Topology, ToolError>;
    /// The limits that the configuration gives, and the default of `max_consecutive_failures`; `None` where the
    /// orchestrator has no such limit.
    fn limits(
        &self,
        root: &Root,
        user_config: &Value,
        backend: Backend,
    ) -> Result<(GivenLimits, Option<u64>), ToolError>;
    /// Writes configuration and says what to start.
    fn prepare(&self, plan: &Plan<'_>) -> Result<Prepared, ToolError>;
    /// Reads what the run left behind.
    fn collect(&self, outputs: &RunOutputs<'_>) -> Collected;
    /// The ways in which it says that it may end.
    fn endings(&self) -> &'static [&'static str];
    /// The path of its scratchpad in the workspace.
    fn scratchpad(&self) -> &'static str {
        ".agent/scratchpad.md"
    }
}
