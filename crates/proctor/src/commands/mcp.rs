//! `proctor mcp`: the tools for agents, over MCP on standard input and output.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use proctor_mcp::Group;

use super::agent_tools;
use crate::cli::Cli;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
The server speaks MCP on standard input and output and ends when its client closes them. Runs that it started go on;
`proctor watch`, `proctor show` and the next server find them.

  claude mcp add proctor -- proctor mcp
  { \"mcpServers\": { \"proctor\": { \"command\": \"proctor\", \"args\": [\"--root\", \"/path/to/project\", \"mcp\"] } } }

`docs/agents.md` has the snippets for other clients; `proctor tool --list` shows the same tools to a shell.")]
pub(crate) struct McpArguments {
    /// Offer only these groups of tools; several with commas [default: all]
    #[arg(long, value_enum, value_name = "GROUP", value_delimiter = ',')]
    pub(crate) tools: Vec<GroupChoice>,
}

/// A group of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupChoice {
    /// `run_*`, `list_examples`, `show_example`: runs of this project's examples
    Runs,
    /// `ghap_*`: the journal
    Journal,
    /// `test_*`: workspaces in which an orchestrator is tested
    Workspaces,
    /// `cover_*`: what `proctor cover` left open
    Cover,
}

pub(crate) fn run(
    arguments: &McpArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let groups: Vec<Group> = arguments.tools.iter().map(|choice| group(*choice)).collect();
    let tools = agent_tools::open(cli, (!groups.is_empty()).then_some(&groups[..]), terminal)?;
    let runtime = agent_tools::runtime()?;
    let outcome = runtime.block_on(async {
        // Removes stale workspaces in the background.
        let stale = tools.clone();
        tokio::spawn(async move { stale.clean_stale().await });
        proctor_mcp::serve_stdio(tools).await
    });
    // A thread may still be reading standard input; do not wait for it.
    runtime.shutdown_background();
    outcome?;
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
