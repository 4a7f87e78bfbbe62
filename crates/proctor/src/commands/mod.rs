//! One module per command: arguments in, library calls, text out.

mod agent_tools;
pub(crate) mod baseline;
pub(crate) mod bisect;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod cover;
mod display_mode;
pub(crate) mod doctor;
mod engine;
pub(crate) mod flaky;
pub(crate) mod guard;
pub(crate) mod history;
pub(crate) mod host;
pub(crate) mod init;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod mcp;
pub(crate) mod mutate;
mod otlp;
mod pieces;
pub(crate) mod rejudge;
mod reports;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod sandbox;
mod scenarios;
pub(crate) mod schema;
mod selection;
pub(crate) mod serve;
pub(crate) mod show;
mod suites;
pub(crate) mod tool;
pub(crate) mod validate;
pub(crate) mod watch;
pub(crate) mod work;
pub(crate) mod workspace_tools;

use std::path::{Path, PathBuf};

use proctor_process::GuardCommand;
use proctor_record::{RunFolder, RunStore};
use proctor_sandbox::Launcher;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::project;

const RECORDING_HELP: &str = "\
A recording: a file of JSON lines, a run's folder, `last`, `last~2` (the third newest), a tag, or the start of a run id";

pub(crate) const RUN_HELP: &str = "\
A run: `last`, `last~2` (the third newest), a tag, the start of a run id, a file of JSON lines, or a run's folder";

/// The file that a person means by the name of a recording.
fn recording_path(name: &str, cli: &Cli) -> Result<PathBuf, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    store.resolve(name).map_err(CommandError::from)
}

/// The running program itself, which also guards children and plays other parts.
fn own_program() -> Result<PathBuf, CommandError> {
    std::env::current_exe().map_err(|error| {
        CommandError::system(format_args!("cannot find the proctor program itself: {error}"))
            .with_source(error)
    })
}

/// Ends the children of this process when it ends.
fn own_guard() -> Result<GuardCommand, CommandError> {
    Ok(GuardCommand::new(own_program()?, ["__guard"]))
}

/// Confines the programs that this process starts confined.
fn own_launcher() -> Result<Launcher, CommandError> {
    Ok(Launcher::new(own_program()?, ["__sandbox"]))
}

/// The run of this project whose recording a path leads to, however the path is written.
fn run_at(path: &Path, store: &RunStore) -> Option<RunFolder> {
    let path = path.canonicalize().ok()?;
    let same = |run: &RunFolder| run.events_path().canonicalize().is_ok_and(|own| own == path);
    // Nearly always the folder with the same name; links may give it another one.
    let name = path.parent()?.file_name()?;
    let namesake = RunFolder::at(&store.runs_folder().join(name)).filter(same);
    namesake.or_else(|| store.list().ok()?.into_iter().find(same))
}

/// Why a suite could not be used, with what its programs printed.
fn report_problem(message: &str, output: &[String]) -> CommandError {
    let mut text = message.to_owned();
    for line in output {
        text += &format!("\n    {}", proctor_text::printable(line));
    }
    CommandError::suite(text)
}
