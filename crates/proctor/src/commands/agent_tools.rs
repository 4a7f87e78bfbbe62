//! The table of tools over this project, for `proctor mcp` and `proctor tool`.

use proctor_mcp::{Engine, Group, JournalSetup, Setup, Tools};

use super::{journal, workspace_tools};
use crate::cli::Cli;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, project, secrets};

/// All tools, or those of some groups.
pub(super) fn open(
    cli: &Cli,
    groups: Option<&[Group]>,
    terminal: &mut Terminal,
) -> Result<Tools, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let journal = JournalSetup {
        // A project without a place for a journal still has runs.
        dir: journal::folder(&root, &config),
        filter: Some(secrets::filter_bytes),
        lane: env_vars::PROCTOR_LANE.get(),
        host_session: env_vars::CLAUDE_CODE_SESSION_ID.get(),
    };
    let program = super::own_program()?;
    let workspaces = workspace_tools::config(&root, &config)?;
    let engine = Engine::new(Setup {
        root,
        program,
        ruby: config.ruby.value.clone().into(),
        new_run_id: Box::new(|| uuid::Uuid::now_v7().to_string()),
        journal,
        redactor: secrets::redactor().clone(),
        moment: Box::new(journal::now),
        workspaces,
        launcher: Some(super::own_launcher()?),
    });
    Ok(Tools::new(engine, groups))
}

/// Where tools run: one thread, and others for what blocks.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        CommandError::system(format_args!("cannot start the runtime: {error}")).with_source(error)
    })
}
