//! `proctor mcp`: the tools for agents, over MCP on standard input and output.

use std::process::ExitCode;

use proctor_mcp::Group;

use super::tools;
use crate::cli::Cli;
use crate::cli::agents::{GroupChoice, McpArguments};
use crate::error::CommandError;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &McpArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let groups: Vec<Group> = arguments.tools.iter().map(|choice| group(*choice)).collect();
    let tools = tools::open(cli, (!groups.is_empty()).then_some(&groups[..]), terminal)?;
    let runtime = tools::runtime()?;
    let outcome = runtime.block_on(async {
        // What others left behind; nobody waits for it.
        let stale = tools.clone();
        tokio::spawn(async move { stale.clean_stale().await });
        proctor_mcp::serve_stdio(tools).await
    });
    // A thread may still be reading standard input; nobody waits for it.
    runtime.shutdown_background();
    outcome.map_err(CommandError::unusable)?;
    Ok(ExitCode::SUCCESS)
}

fn group(choice: GroupChoice) -> Group {
    match choice {
        GroupChoice::Runs => Group::Runs,
        GroupChoice::Journal => Group::Journal,
        GroupChoice::Workspaces => Group::Workspaces,
        GroupChoice::Cover => Group::Cover,
    }
}
