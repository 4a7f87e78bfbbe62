//! The journal that a command works with, and the present moment with fresh random bits.

use std::path::{Path, PathBuf};

use proctor_journal::paths::journal_dir;
use proctor_journal::{Journal, JournalError, JournalResult, Moment, Warning};

use crate::cli::Cli;
use crate::commands::journal::JournalArguments;
use crate::config::{Config, Origin};
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, project, secrets};

/// The journal that the arguments, the environment and the configuration mean.
pub(super) struct JournalContext {
    pub(super) journal: Journal,
    /// The journal's folder, whatever the lane.
    pub(super) root: PathBuf,
    /// The project's folder; `None` where the journal's was named.
    pub(super) project: Option<PathBuf>,
}

impl JournalContext {
    pub(super) fn open(
        arguments: &JournalArguments,
        cli: &Cli,
        terminal: &mut Terminal,
    ) -> Result<Self, CommandError> {
        Self::open_from(None, arguments, cli, terminal)
    }

    /// The same, with this folder as the current one.
    pub(super) fn open_from(
        place: Option<&Path>,
        arguments: &JournalArguments,
        cli: &Cli,
        terminal: &mut Terminal,
    ) -> Result<Self, CommandError> {
        let lane = arguments.lane.as_deref();
        if let Some(dir) = &arguments.dir {
            return Self::at(dir.clone(), lane);
        }
        let (root, config) = project::open_from(place, cli, terminal)?;
        let context = Self::at(folder(&root, &config)?, lane)?;
        Ok(Self { project: Some(root), ..context })
    }

    /// A journal in this folder; the lane is the flag's, else the environment's.
    pub(super) fn at(dir: PathBuf, lane: Option<&str>) -> Result<Self, CommandError> {
        let from_environment = || env_vars::PROCTOR_LANE.get();
        let journal = Journal::at(&dir).with_filter(secrets::filter_bytes);
        let journal = match lane.map(ToOwned::to_owned).or_else(from_environment) {
            Some(lane) => journal.lane(&lane)?,
            None => journal,
        };
        Ok(Self { journal, root: dir, project: None })
    }

    /// Prints the warnings of an answer and returns its value.
    pub(super) fn value_of<T>(
        answer: JournalResult<T>,
        terminal: &mut Terminal,
    ) -> Result<T, CommandError> {
        let noted = answer?;
        print_warnings(&noted.warnings, terminal);
        Ok(noted.value)
    }
}

/// Prints warnings on standard error.
pub(super) fn print_warnings(warnings: &[Warning], terminal: &mut Terminal) {
    for warning in warnings {
        terminal.warn(&warning.to_string());
    }
}

/// The folder by environment and configuration, else the project's own; never in the home folder itself.
pub(in crate::commands) fn folder(root: &Path, config: &Config) -> Result<PathBuf, JournalError> {
    let setting = &config.journal_dir;
    match (&setting.value, &setting.origin) {
        (Some(dir), Origin::File) => Ok(root.join(dir)),
        (Some(dir), _) => Ok(PathBuf::from(dir)),
        (None, _) if is_home(root) => Err(JournalError::HomeFolder(root.to_owned())),
        (None, _) => {
            // One that was configured may be a link; one that a repository brings along may not.
            let dir = journal_dir(root);
            proctor_files::check_own_folder(&dir)?;
            Ok(dir)
        }
    }
}

fn is_home(root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    env_vars::HOME.get_os().is_some_and(|home| real(Path::new(&home)) == real(root))
}

/// Now, with fresh random bits.
pub(in crate::commands) fn now() -> Moment {
    // The low half of a random identifier has all its low bits random; the high half has a version in it.
    let (_, bits) = uuid::Uuid::new_v4().as_u64_pair();
    Moment::new(jiff::Timestamp::now(), bits)
}
