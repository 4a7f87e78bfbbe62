//! Orchestrators: the programs under test, behind one small seam.
//!
//! An [`Adapter`] knows how one orchestrator, in the versions it was measured with, is configured, started
//! and read. Everything else in this crate knows only this trait. [`ralph`] is the first adapter;
//! [`generic`] runs any command and proves that the seam holds.

pub(crate) mod backend;
pub(crate) mod generic;
pub(crate) mod ralph;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::beneath::Root;
use crate::config::Config;
use crate::error::ToolError;
use crate::session::merge::Sources;
use crate::topic;

pub use backend::Backend;
pub use generic::GenericCommand;

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

/// A hat: a role that the orchestrator gives to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hat {
    pub(crate) id: String,
    pub(crate) triggers: Vec<String>,
    pub(crate) publishes: Vec<String>,
}

/// Who listens to what, as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Topology {
    pub(crate) hats: Vec<Hat>,
    /// Who gets what nobody else wants.
    pub(crate) coordinator: String,
    /// Topics that end the loop; they are consumed, not published.
    pub(crate) completion: Vec<String>,
}

impl Topology {
    /// The hats that listen to a topic, the one that gets it first: ralph asks them in the order of their
    /// names. What nobody listens to is the coordinator's.
    pub(crate) fn targets(&self, name: &str) -> Vec<String> {
        if self.completion.iter().any(|topic| topic == name) || name == "loop.terminate" {
            return Vec::new();
        }
        let listens = |hat: &&Hat| hat.triggers.iter().any(|trigger| topic::matches(trigger, name));
        let mut listening: Vec<String> =
            self.hats.iter().filter(listens).map(|hat| hat.id.clone()).collect();
        listening.sort();
        if listening.is_empty() && !self.coordinator.is_empty() {
            return vec![self.coordinator.clone()];
        }
        listening
    }

    /// Every name that a response may be scripted for; `None` where the orchestrator knows no hats.
    pub(crate) fn hat_names(&self) -> Option<Vec<String>> {
        if self.coordinator.is_empty() {
            return None;
        }
        let hats = self.hats.iter().map(|hat| hat.id.clone());
        Some(hats.chain([self.coordinator.clone()]).collect())
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
    pub(crate) max_iterations: u32,
    pub(crate) max_runtime_secs: u64,
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
pub(crate) struct Remains<'a> {
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
    /// Writes configuration and says what to start.
    fn prepare(&self, plan: &Plan<'_>) -> Result<Prepared, ToolError>;
    /// Reads what the run left behind.
    fn collect(&self, remains: &Remains<'_>) -> Collected;
    /// The ways in which it says that it may end.
    fn endings(&self) -> &'static [&'static str];
    /// The path of its scratchpad in the workspace.
    fn scratchpad(&self) -> &'static str {
        ".agent/scratchpad.md"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hats_listen_in_the_order_of_their_names_and_the_coordinator_gets_the_rest() {
        let hat = |id: &str, trigger: &str| Hat {
            id: id.to_owned(),
            triggers: vec![trigger.to_owned()],
            publishes: Vec::new(),
        };
        let mut topology = Topology {
            hats: vec![hat("star", "*"), hat("builder", "build.*")],
            coordinator: "ralph".to_owned(),
            completion: vec!["LOOP_COMPLETE".to_owned()],
        };
        assert_eq!(topology.targets("build.task"), ["builder", "star"]);
        assert_eq!(topology.targets("other"), ["star"]);
        assert!(topology.targets("LOOP_COMPLETE").is_empty());
        topology.hats.remove(0);
        assert_eq!(topology.targets("other"), ["ralph"]);
    }
}
