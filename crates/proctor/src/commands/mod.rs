//! One module per command: arguments in, library calls, text out.

pub(crate) mod baseline;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod cover;
pub(crate) mod doctor;
mod facts;
pub(crate) mod guard;
pub(crate) mod history;
pub(crate) mod host;
pub(crate) mod init;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod mcp;
#[cfg(feature = "otlp")]
mod otlp;
pub(crate) mod rejudge;
mod reports;
pub(crate) mod run;
pub(crate) mod runs;
mod scenarios;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
mod suites;
pub(crate) mod test_tools;
pub(crate) mod tool;
mod tools;
pub(crate) mod validate;
pub(crate) mod watch;
mod workspaces;

use std::path::{Path, PathBuf};

use proctor_record::{RunFolder, RunStore};

use crate::cli::Cli;
use crate::error::CommandError;
use crate::project;

/// The file that a person means by the name of a recording.
fn recording_path(name: &str, cli: &Cli) -> Result<PathBuf, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    store.resolve(name).map_err(CommandError::unusable)
}

/// The run of this project whose recording a path leads to, however the path is written.
fn run_at(path: &Path, store: &RunStore) -> Option<RunFolder> {
    let path = path.canonicalize().ok()?;
    let same = |run: &RunFolder| run.events_path().canonicalize().is_ok_and(|own| own == path);
    store.list().ok()?.into_iter().find(same)
}

/// Why a suite could not be used, with what its programs printed.
fn report_problem(message: &str, output: &[String]) -> CommandError {
    let mut text = message.to_owned();
    for line in output {
        text += &format!("\n    {}", proctor_report::plain(line));
    }
    CommandError::unusable(text)
}
