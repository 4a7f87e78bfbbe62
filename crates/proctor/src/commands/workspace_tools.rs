//! The configuration of workspaces, and the hidden commands that run parts of them as processes of their own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use proctor_workspace::{Limits, Program, Sandbox, Tools};

use super::agent_tools::runtime;
use super::{own_guard, own_launcher, own_program};
use crate::cli::Cli;
use crate::config::{Config, Origin};
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, project, secrets};

/// A run of a workspace that nobody waits for.
#[derive(Debug, Args)]
pub(crate) struct DetachedTestArguments {
    /// The file that says what to run
    pub(crate) order: PathBuf,
}

/// The parts of a workspace that are processes of their own.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct MockArguments {
    /// Which part, and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}

/// The machine as the test tools see it.
pub(super) fn config(
    root: &Path,
    config: &Config,
) -> Result<proctor_workspace::Config, CommandError> {
    let own = own_program()?;
    let home = env_vars::HOME.get_os().map(PathBuf::from);
    let temp = env_vars::TMPDIR.get_os().map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let state = env_vars::XDG_STATE_HOME.get_os().map(PathBuf::from);
    let state = state.or_else(|| home.map(|home| home.join(".local/state")));
    let path = env_vars::PATH.get_os().unwrap_or_default();
    let detached = vec![format!("--root={}", root.display()), "__detached".to_owned()];
    Ok(proctor_workspace::Config {
        state: state.unwrap_or_else(|| temp.clone()).join("proctor"),
        temp,
        guard: own_guard()?,
        mock: Program::new(own.clone(), ["__mock"]),
        sandbox: Sandbox::new(own_launcher().ok()),
        detached: Some(Program { path: own, args: detached }),
        ralph: ralph(root, config, &path),
        path,
        inheritable: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        limits: Limits::default(),
        redactor: secrets::redactor().clone(),
    })
}

/// The `ralph` that is meant: a path, or a name to look for.
fn ralph(root: &Path, config: &Config, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let wanted = Path::new(&config.ralph.value);
    if wanted.components().count() > 1 {
        let from_file = config.ralph.origin == Origin::File;
        return Some(if from_file {
            root.join(wanted)
        } else {
            std::path::absolute(wanted).ok()?
        });
    }
    std::env::split_paths(path).map(|folder| folder.join(wanted)).find(|path| path.is_file())
}

/// `proctor __detached ORDER`: a detached run of a workspace.
pub(crate) fn detached(
    arguments: &DetachedTestArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let tools = Tools::new(self::config(&root, &config)?);
    match runtime()?.block_on(tools.execute_order(arguments.order.clone())) {
        Ok(_) => Ok(ExitCode::SUCCESS),
        // The error is stored in the workspace's folder, where the caller reads it.
        Err(_) => Ok(ExitCode::from(1)),
    }
}

/// `proctor __mock …`: the scripted model, hooks and launcher of a workspace.
pub(crate) fn mock(arguments: &[std::ffi::OsString]) -> ExitCode {
    proctor_workspace::mock::main(arguments.iter().cloned(), &|name| std::env::var_os(name))
}
