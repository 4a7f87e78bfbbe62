//! Isolated workspaces in which an orchestrator is set up, run against a scripted model, and checked.
//!
//! Purpose: the eight test tools ([`Tools`], declared for agents by [`agent_tools`]), the scripted model ([`mock`]), and the
//! suite kind `*.workspace.yaml` ([`mod@file`]). What this crate must not know: MCP, terminals, events and
//! examples of the runner. It never prints and never reads the environment; the binary passes in what
//! it needs to know ([`Config`]).
//!
//! Isolation is by construction: a folder, a home and a configuration of its own for every workspace, an
//! environment of nothing but what was named, a ceiling for git, a guard for the process tree, a sandbox
//! (`proctor-sandbox`) for mock runs, paths that are resolved beneath the workspace by the kernel itself, and an
//! allow-list of real models.

mod assertion;
mod cassette;
mod config;
mod confined;
pub mod contained_path;
mod coverage;
mod disk;
mod error;
pub mod file;
#[doc(hidden)]
pub mod fuzzing;
mod glob;
mod limits;
pub mod mock;
mod orchestrator;
mod registry;
mod session;
mod snapshot;
mod tools;
pub mod topic;

pub use assertion::{Assertion, AssertionError, AssertionResult, QueryError};
pub use cassette::{Cassette, CassetteCall, Difference, Drift};
pub use config::{Config, Limits, Program};
pub use confined::Sandbox;
pub use coverage::{Coverage, Reached};
pub use error::{ErrorKind, ToolError};
pub use glob::{FilePatternError, FilePatterns};
pub use limits::{LimitSource, RunLimit, RunLimits};
pub use mock::log::ModelCall;
pub use mock::{MockEvent, MockResponse};
pub use orchestrator::{Backend, GenericCommand, Orchestrator};
pub use session::{Filter, SessionRecord, Summary, TimelineEntry};
pub use snapshot::diff::{FileDiff, Hunk};
pub use tools::assert::{AssertParams, AssertResult};
pub use tools::cleanup::{CleanupParams, CleanupResult};
pub use tools::diff::{DiffCounts, DiffParams, DiffResult};
pub use tools::inspect::{Format, InspectParams, InspectResult};
pub use tools::mock_backend::{MockBackendParams, MockBackendResult};
pub use tools::run::{AssertionRate, Flakiness, LeftBehind, MockUse, RunParams, RunResult};
pub use tools::setup::{SetupParams, SetupResult};
pub use tools::snapshot::{OtherFile, SnapshotParams, SnapshotResult};
pub use tools::{CallContext, Progress, ProgressSink, Tools, agent_tools};
