//! What the tools need to know about the machine they run on. Plain values, filled in by the binary,
//! which alone reads the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use proctor_process::GuardCommand;
use proctor_redact::Redactor;

use crate::confined::Sandbox;

/// A program with leading arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its absolute path.
    pub path: PathBuf,
    /// Arguments that come before all others.
    pub args: Vec<String>,
}

impl Program {
    /// A program with leading arguments.
    pub fn new<A: Into<String>>(
        path: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self { path: path.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// The whole command line with further arguments.
    pub(crate) fn with<A: Into<String>>(&self, more: impl IntoIterator<Item = A>) -> Vec<String> {
        let mut argv = vec![self.path.to_string_lossy().into_owned()];
        argv.extend(self.args.iter().cloned());
        argv.extend(more.into_iter().map(Into::into));
        argv
    }
}

/// Bounds that keep a bad test from hurting its machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes kept of each output stream of a run.
    pub output_bytes: u64,
    /// Largest file that a run may write; larger writes fail inside the run.
    pub file_bytes: u64,
    /// Bytes that a mock run may add to its workspace; one that adds more is ended.
    pub workspace_bytes: u64,
    /// Files and folders that a mock run may add to its workspace; one that adds more is ended.
    pub workspace_files: u64,
    /// Largest file that is read for an assertion or kept in a snapshot.
    pub read_bytes: u64,
    /// Most text of one field of an answer.
    pub field_bytes: usize,
    /// Most text of one answer.
    pub answer_bytes: usize,
    /// How long after its own time limit a run is killed.
    pub grace: Duration,
    /// How old an unused workspace must be to be cleaned up at start.
    pub stale_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 10 * 1024 * 1024,
            file_bytes: 1024 * 1024 * 1024,
            workspace_bytes: 2 * 1024 * 1024 * 1024,
            workspace_files: 200_000,
            read_bytes: 64 * 1024 * 1024,
            field_bytes: 64 * 1024,
            answer_bytes: 1024 * 1024,
            grace: Duration::from_secs(10),
            stale_after: Duration::from_hours(24),
        }
    }
}

/// Everything the tools need to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where workspaces are registered: a folder in the user's state folder.
    pub state: PathBuf,
    /// Where workspaces are made: the system's temporary folder.
    pub temp: PathBuf,
    /// The program that guards process trees.
    pub guard: GuardCommand,
    /// The program that calls [`crate::mock::main`]: mock model, hooks, launcher of runs with a real model.
    pub mock: Program,
    /// How mock runs are confined.
    pub sandbox: Sandbox,
    /// The program that executes detached runs: it is given the path of an order file and must
    /// call [`crate::Tools::execute_order`]. Without it `detach` is refused.
    pub detached: Option<Program>,
    /// The `ralph` program, if one was configured or found.
    pub ralph: Option<PathBuf>,
    /// Where programs are looked for, in the form of `PATH`.
    pub path: OsString,
    /// Variables that a run may inherit when its `env` names them with `null`.
    pub inheritable: BTreeMap<String, String>,
    /// Bounds.
    pub limits: Limits,
    /// Removes secrets from sessions, outputs and logs of calls. Fixtures and snapshots hold files byte for byte.
    pub redactor: Redactor,
}

impl Config {
    /// The first program of this name on the configured path.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|path| is_executable(path))
    }
}

pub(crate) fn is_executable(path: &std::path::Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
