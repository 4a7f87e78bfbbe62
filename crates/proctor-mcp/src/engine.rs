//! What handlers work with: the project, its journal, and how to make time and chance.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proctor_history::ComparisonCache;
use proctor_journal::disk::WriteFilter;
use proctor_journal::{Journal, JournalError, Moment};
use proctor_process::Guard;
use proctor_record::RunStore;
use proctor_redact::Redactor;
use proctor_sandbox::Launcher;

use crate::error::ToolError;
use crate::journal::journal_error;
use crate::mutants::MutantRuns;
use crate::runs::{Listings, RunCache, StartedRuns};

/// Settings that the binary passes to the tools.
pub struct Setup {
    /// The project's root folder.
    pub root: PathBuf,
    /// The `proctor` program itself, which makes runs.
    pub program: PathBuf,
    /// The Ruby with which examples for cover are judged.
    pub ruby: PathBuf,
    /// A fresh run id.
    pub new_run_id: Box<dyn Fn() -> String + Send + Sync>,
    /// The journal.
    pub journal: JournalSetup,
    /// Where workspaces of the test tools are made, and with which programs.
    pub workspaces: proctor_workspace::Config,
    /// The program that confines code of the project; without it nothing is confined.
    pub launcher: Option<Launcher>,
    /// Removes secrets from every answer, and from what is written to the journal.
    pub redactor: Redactor,
    /// The present moment, with fresh random bits.
    pub moment: Box<dyn Fn() -> Moment + Send + Sync>,
}

/// Where the journal is.
pub struct JournalSetup {
    /// Its folder, or why there is none.
    pub dir: Result<PathBuf, JournalError>,
    /// The lane to use where a call names none.
    pub lane: Option<String>,
    /// Through which everything is written to it.
    pub filter: Option<WriteFilter>,
    /// The session that a first entry belongs to when none is open, as the agent's host calls it.
    pub host_session: Option<String>,
}

/// The state that handlers share. Clones are for the same client.
#[derive(Clone)]
pub struct Engine {
    setup: Arc<Setup>,
    listings: Arc<Listings>,
    mutant_runs: Arc<MutantRuns>,
    run_cache: Arc<RunCache>,
    sides: Arc<ComparisonCache>,
    workspaces: proctor_workspace::Tools,
    started: StartedRuns,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("root", &self.setup.root).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine over this setup. Nothing is opened yet.
    pub fn new(setup: Setup) -> Self {
        let workspaces = proctor_workspace::Tools::new(setup.workspaces.clone());
        Self {
            setup: Arc::new(setup),
            listings: Arc::default(),
            mutant_runs: Arc::default(),
            run_cache: Arc::default(),
            sides: Arc::default(),
            workspaces,
            started: StartedRuns::default(),
        }
    }

    /// The same for another client: it shares everything but what a client has started itself.
    pub(crate) fn for_another_client(&self) -> Self {
        Self { started: StartedRuns::default(), ..self.clone() }
    }

    /// What this client has started.
    pub(crate) fn started(&self) -> &StartedRuns {
        &self.started
    }

    pub(crate) fn root(&self) -> &Path {
        &self.setup.root
    }

    pub(crate) fn program(&self) -> &Path {
        &self.setup.program
    }

    /// Ends what the program starts when this process ends.
    pub(crate) fn guard(&self) -> Guard {
        Guard::Program(self.setup.workspaces.guard.clone())
    }

    /// Confines code of the project.
    pub(crate) fn launcher(&self) -> Option<Launcher> {
        self.setup.launcher.clone()
    }

    pub(crate) fn ruby(&self) -> &Path {
        &self.setup.ruby
    }

    pub(crate) fn store(&self) -> RunStore {
        RunStore::new(&self.setup.root)
    }

    pub(crate) fn new_run_id(&self) -> String {
        (self.setup.new_run_id)()
    }

    pub(crate) fn listings(&self) -> &Listings {
        &self.listings
    }

    pub(crate) fn mutant_runs(&self) -> &MutantRuns {
        &self.mutant_runs
    }

    pub(crate) fn run_cache(&self) -> &RunCache {
        &self.run_cache
    }

    pub(crate) fn comparisons(&self) -> &ComparisonCache {
        &self.sides
    }

    pub(crate) fn workspaces(&self) -> &proctor_workspace::Tools {
        &self.workspaces
    }

    pub(crate) fn moment(&self) -> Moment {
        (self.setup.moment)()
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.setup.redactor
    }

    /// The journal, in the lane that a call names.
    pub(crate) fn journal(&self, lane: Option<&str>) -> Result<Journal, ToolError> {
        let journal = &self.setup.journal;
        let dir = journal.dir.as_ref().map_err(|error| {
            ToolError::new(crate::error::kind::REFUSED, error).hint(
                "start the server in the project's folder, or with `proctor --root FOLDER mcp`",
            )
        })?;
        let opened = match journal.filter {
            Some(filter) => Journal::at(dir).with_filter(filter),
            None => Journal::at(dir),
        };
        match lane.or(journal.lane.as_deref()) {
            Some(lane) => opened.lane(lane).map_err(journal_error),
            None => Ok(opened),
        }
    }

    pub(crate) fn host_session(&self) -> Option<&str> {
        self.setup.journal.host_session.as_deref()
    }
}
