//! Suites: sources of examples, and of workers that can run them.

pub(crate) mod capabilities;
mod command;
pub(crate) mod dialogue;
mod files;
mod filter;
pub(crate) mod library;
pub(crate) mod listing;
pub(crate) mod rspec;
pub(crate) mod workspace;

use std::path::PathBuf;
use std::sync::Arc;

use proctor_process::{GuardCommand, Leaked};

use crate::example::{Discovery, OutsideError};
use crate::worker_link::{BoxFuture, LinkFactory};

pub(crate) use capabilities::unchecked_is_unknown;
pub use capabilities::{Reported, SUITE_CAPABILITIES, SuiteCapabilities, SuiteKind};
pub use command::CommandSuite;
pub use dialogue::{DialogueSuite, ScenarioFile};
pub use files::{ExampleFiles, MissingPath};
pub use filter::{BadPattern, ExampleFilter};
pub use rspec::{RspecRequest, RspecSuite};
pub use workspace::WorkspaceSuite;

/// Why a suite cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SuiteError {
    /// What went wrong.
    pub message: String,
    /// What its programs printed.
    pub output: Vec<String>,
}

/// What every suite needs besides its own settings.
#[derive(Debug, Clone)]
pub struct SuiteEnvironment {
    /// The project's root: where workers run.
    pub root: PathBuf,
    /// The program that guards process trees.
    pub guard: GuardCommand,
    /// Where unpacked files may be kept.
    pub cache: PathBuf,
    /// A short path for sockets.
    pub sockets: PathBuf,
    /// How many slots a suite has that leaves their number to the run.
    pub workers: u32,
    /// The number of the first slot of the suite that is being opened; slots are numbered over all suites of a run.
    pub first_slot: u32,
    /// Receives notices for a person who waits for a suite to load.
    pub load_notices: LoadNotices,
}

type Notify = dyn Fn(&str) + Send + Sync;

/// Where notices go while suites load; dropped by default.
#[derive(Clone, Default)]
pub struct LoadNotices(Option<Arc<Notify>>);

impl LoadNotices {
    /// Notices go to this function.
    pub fn new(notify: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(notify)))
    }

    pub(crate) fn notify(&self, text: &str) {
        if let Some(notify) = &self.0 {
            notify(text);
        }
    }
}

impl std::fmt::Debug for LoadNotices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "received" } else { "dropped" })
    }
}

/// A suite to be run.
#[derive(Debug, Clone)]
pub enum Suite {
    /// RSpec.
    Rspec(RspecSuite),
    /// Any program that speaks the worker protocol.
    Command(CommandSuite),
    /// Conversations, conducted in this process.
    Dialogue(Box<DialogueSuite>),
    /// Tests of an orchestrator, each in a workspace of its own.
    Workspace(Box<WorkspaceSuite>),
}

/// A suite that has been listed and whose slots can be served.
pub(crate) struct OpenedSuite {
    pub(crate) discovery: Discovery,
    /// Makes the link of each of its slots.
    pub(crate) links: LinkFactory,
    /// How many slots it has; as many as the run has workers when absent.
    pub(crate) slots: Option<u32>,
    /// Ends what the suite itself has started; at once if told so.
    pub(crate) finish: Box<dyn FnOnce(bool) -> BoxFuture<SuiteEnd> + Send>,
}

/// What a suite left when it ended.
#[derive(Debug, Default)]
pub(crate) struct SuiteEnd {
    pub(crate) leaked: Vec<Leaked>,
    pub(crate) errors: Vec<OutsideError>,
    pub(crate) output: Vec<String>,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

impl Suite {
    /// What kind of suite it is.
    pub fn kind(&self) -> SuiteKind {
        match self {
            Self::Rspec(_) => SuiteKind::Rspec,
            Self::Command(_) => SuiteKind::Program,
            Self::Dialogue(_) => SuiteKind::Scenario,
            Self::Workspace(_) => SuiteKind::Workspace,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Rspec(_) => "rspec",
            Self::Command(suite) => &suite.name,
            Self::Dialogue(_) => dialogue::NAME,
            Self::Workspace(_) => workspace::NAME,
        }
    }

    /// Lists the examples and makes ready to launch workers.
    pub(crate) async fn open(
        &self,
        environment: &SuiteEnvironment,
    ) -> Result<OpenedSuite, SuiteError> {
        let mut opened = match self {
            Self::Rspec(suite) => rspec::open(suite, environment).await,
            Self::Command(suite) => command::open(suite, environment, None, false).await,
            Self::Dialogue(suite) => dialogue::open(suite, environment),
            Self::Workspace(suite) => Ok(workspace::open(suite, environment)),
        }?;
        for example in &mut opened.discovery.examples {
            example.deterministic = example.deterministic.or(self.deterministic());
        }
        Ok(opened)
    }

    /// What the project declares of the whole suite.
    fn deterministic(&self) -> Option<bool> {
        match self {
            Self::Rspec(suite) => suite.deterministic,
            Self::Command(suite) => suite.deterministic,
            Self::Dialogue(_) | Self::Workspace(_) => None,
        }
    }
}
