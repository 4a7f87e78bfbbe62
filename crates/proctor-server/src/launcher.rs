//! The interface through which the server starts runs. The binary implements it with the runner.

use proctor_verdict::RunState;
use serde::{Deserialize, Serialize};

/// What a client asks to be run. Every field may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunRequest {
    /// Files, folders, `FILE:LINE`, relative to the project's root; empty means everything.
    pub paths: Vec<String>,
    /// Only examples whose stable id begins with one of these.
    pub example_ids: Vec<String>,
    /// Only examples with these tags.
    pub tags: Vec<String>,
    /// Only what did not pass in the last run.
    pub only_failures: bool,
    /// How many workers run at once.
    pub workers: Option<u32>,
    /// Stop after the first failure.
    pub fail_fast: bool,
    /// How often each example is run.
    pub repeat: Option<u32>,
    /// How often a failed example is tried again.
    pub retries: Option<u32>,
    /// The agent that all conversations are held with, instead of their own: one of [`Launcher::agents`].
    pub agent: Option<String>,
}

impl RunRequest {
    /// Refuses what could reach beyond the project.
    pub(crate) fn check(&self) -> Result<(), String> {
        for path in &self.paths {
            let parts = std::path::Path::new(path).components();
            let leaves = |part| {
                !matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
            };
            if path.is_empty() || path.starts_with('-') || path.contains('\0') {
                return Err(format!("`{}` is not a path", path.escape_debug()));
            }
            if parts.into_iter().any(leaves) {
                return Err(format!("`{path}` is outside the project"));
            }
        }
        match (self.workers, self.repeat, self.retries) {
            (Some(0 | 257..), _, _) => Err("workers is a number from 1 to 256".to_owned()),
            (_, Some(0 | 10_001..), _) => Err("repeat is a number from 1 to 10000".to_owned()),
            (_, _, Some(101..)) => Err("retries is a number from 0 to 100".to_owned()),
            _ => Ok(()),
        }
    }
}

/// How far the run is that was started last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaunchProgress {
    /// `running`, `passed`, `failed` or `cancelled`.
    pub status: String,
    /// Where it is, in the words of every other surface.
    pub state: RunState,
    /// Examples with a final status.
    pub completed: u64,
    /// Examples in all; 0 before discovery.
    pub total: u64,
    /// Examples that failed.
    pub failures: u64,
    /// The run.
    pub run_id: String,
    /// Why nothing ran, if nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl LaunchProgress {
    /// Whether it goes on.
    pub fn is_running(&self) -> bool {
        self.status == "running"
    }
}

/// Why a run was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A run is live already.
    #[error("run {0} is already in progress; wait for it, or cancel it with POST /specs/cancel")]
    Busy(String),
    /// It cannot be run.
    #[error("{0}")]
    Refused(String),
}

/// Starts runs, one at a time. Called from blocking threads.
pub trait Launcher: Send + Sync + 'static {
    /// Starts a run and returns its id once its recording exists.
    fn start(&self, request: &RunRequest) -> Result<String, LaunchError>;
    /// How far the last one is; `None` before the first.
    fn progress(&self) -> Option<LaunchProgress>;
    /// Stops the live run; false if there is none.
    fn cancel(&self) -> bool;
    /// The names of the agents that conversations can be held with instead of their own.
    fn agents(&self) -> Vec<String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_path(path: &str) -> Result<(), String> {
        RunRequest { paths: vec![path.to_owned()], ..RunRequest::default() }.check()
    }

    #[test]
    fn paths_stay_inside() {
        for fine in ["spec", "./spec/a_spec.rb:12", "spec/a_spec.rb[1:2]", "a b/c"] {
            assert_eq!(with_path(fine), Ok(()), "{fine}");
        }
        for bad in ["/etc/passwd", "../x", "spec/../../x", "", "-e", "--require=x", "a\0b"] {
            assert!(with_path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn unknown_fields_are_refused_by_name() {
        let error = serde_json::from_str::<RunRequest>(r#"{"path":["x"]}"#).unwrap_err();
        assert!(error.to_string().contains("unknown field `path`"), "{error}");
    }
}
