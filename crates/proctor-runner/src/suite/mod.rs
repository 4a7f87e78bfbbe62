//! Suites: sources of examples, and of workers that can run them.
//!
//! A kind of suite is a folder beside this file that implements [`SuiteKind`]; its row in [`SUITE_CAPABILITIES`] registers
//! it. Everything else here and in the rest of the crate knows no kind by name, but `files.rs`, which sorts paths by kind, and
//! `ruby_suites.rs`, which chooses among those in Ruby.

pub(crate) mod capabilities;
mod command;
mod dialogue;
mod files;
mod filter;
mod listing;
mod minitest;
mod rspec;
pub(crate) mod ruby;
mod ruby_suites;
mod workspace;

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use proctor_converse::Settings;
use proctor_process::{GuardCommand, Leaked};

use crate::example::{Discovery, OutsideError};
use crate::worker_link::{BoxFuture, CheckpointLinkFactory, LinkFactory};

pub(crate) use capabilities::unchecked_is_unknown;
pub use capabilities::{Reported, SUITE_CAPABILITIES, SuiteCapabilities};
pub use command::CommandSuite;
pub use dialogue::{DialogueSuite, ScenarioFile};
pub use files::{ExampleFiles, UnusablePath};
pub use filter::{BadPattern, ExampleFilter};
pub use minitest::MinitestSuite;
pub use rspec::RspecSuite;
pub use ruby_suites::RubySuites;
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
    /// How suites that have something to write at the end of a run find its recording; without it they write nothing.
    pub final_report: Option<FinalReport>,
    /// How suites in Ruby that are loaded once are confined; `None` for the projects of users, which run as their own tools do.
    pub sandbox: Option<SuiteSandbox>,
    /// The file that tells an RSpec suite which code to watch or replace while it is loaded; set by `proctor mutate` alone.
    pub mutation: Option<PathBuf>,
}

/// What a suite needs to report the whole run in its own way: RSpec's formatters, its file of statuses.
#[derive(Debug, Clone)]
pub struct FinalReport {
    /// The events of the run, as JSON lines; complete but for the end.
    pub recording: PathBuf,
    /// Where output goes that is meant for standard output. Does not exist if there is none.
    pub output: PathBuf,
    /// Whether standard output is a terminal that shows colour.
    pub is_terminal: bool,
}

/// How a suite is confined.
#[derive(Debug, Clone)]
pub struct SuiteSandbox {
    /// The program that applies the confinement.
    pub launcher: proctor_sandbox::Launcher,
    /// What the suite may reach; the runner adds its own socket and library.
    pub confinement: proctor_sandbox::Confinement,
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

impl fmt::Debug for LoadNotices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "received" } else { "dropped" })
    }
}

/// What opening a suite comes to.
pub(crate) type Opening<'a> =
    Pin<Box<dyn Future<Output = Result<OpenedSuite, SuiteError>> + Send + 'a>>;

/// One kind of suite: the settings of a suite of that kind, and how it is opened.
pub(crate) trait SuiteKind: fmt::Debug + Send + Sync {
    /// What its examples report.
    fn capabilities(&self) -> &'static SuiteCapabilities;

    /// The name of the suite; several suites of a run may share one.
    fn name(&self) -> &str;

    /// Lists the examples and makes ready to serve slots.
    fn open<'a>(&'a self, environment: &'a SuiteEnvironment) -> Opening<'a>;

    /// What the project declares of the whole suite: whether the same code gives the same result every time.
    fn deterministic(&self) -> Option<bool> {
        None
    }

    /// What conversations of its examples are conducted with, where it has any.
    fn conversation_settings(&mut self) -> Option<&mut Settings> {
        None
    }

    /// How many conversations it conducts at once, where that is its own to decide.
    fn concurrency(&mut self) -> Option<&mut u32> {
        None
    }
}

/// A suite to be run: one of the kinds of this module, made by `into()` from its settings.
#[derive(Debug)]
pub struct Suite(Box<dyn SuiteKind>);

/// A suite that has been listed and whose slots can be served.
pub(crate) struct OpenedSuite {
    pub(crate) discovery: Discovery,
    /// Makes the link of each of its slots.
    pub(crate) links: LinkFactory,
    /// Makes the links of slots that load the suite from a checkpoint, where it can have any.
    pub(crate) checkpoint_links: Option<CheckpointLinkFactory>,
    /// How many slots it has; as many as the run has workers when absent.
    pub(crate) slots: Option<u32>,
    /// Ends the processes that the suite itself has started; immediately if requested.
    pub(crate) finish: Box<dyn FnOnce(bool) -> BoxFuture<SuiteEnd> + Send>,
    /// The observers of the project, where it has any.
    pub(crate) observers: Option<ruby::SuiteObservers>,
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

/// A process that a suite has left, in words.
pub(crate) fn leaked_line(leaked: &Leaked) -> String {
    format!("left behind by the suite and ended: {} (pid {})", leaked.command, leaked.pid)
}

impl<K: SuiteKind + 'static> From<K> for Suite {
    fn from(kind: K) -> Self {
        Self(Box::new(kind))
    }
}

impl Suite {
    /// What its examples report.
    pub fn capabilities(&self) -> &'static SuiteCapabilities {
        self.0.capabilities()
    }

    /// Its name; several suites of a run may share one.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// What conversations of its examples are conducted with, where it has any.
    pub fn conversation_settings(&mut self) -> Option<&mut Settings> {
        self.0.conversation_settings()
    }

    /// How many conversations it conducts at once, where that is its own to decide.
    pub fn concurrency(&mut self) -> Option<&mut u32> {
        self.0.concurrency()
    }

    /// Lists the examples and makes ready to serve slots.
    pub(crate) async fn open(
        &self,
        environment: &SuiteEnvironment,
    ) -> Result<OpenedSuite, SuiteError> {
        let mut opened = self.0.open(environment).await?;
        for example in &mut opened.discovery.examples {
            example.deterministic = example.deterministic.or(self.0.deterministic());
        }
        Ok(opened)
    }
}
