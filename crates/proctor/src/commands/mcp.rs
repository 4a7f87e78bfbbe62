//! `proctor mcp`: the tools for agents, over MCP on standard input and output.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use proctor_mcp::{Answers, Group, Listing, Offer};

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
    #[command(flatten)]
    pub(crate) offer: OfferArguments,
}

/// What clients of MCP are offered.
#[derive(Debug, Args)]
pub(crate) struct OfferArguments {
    /// MCP: list the tools of these groups, several with commas, or `all`; by default, the few that a run needs, and two that describe and call the others
    #[arg(long, value_enum, value_name = "GROUP", value_delimiter = ',')]
    tools: Vec<GroupChoice>,

    /// MCP, for programs: list the schemas of results, and answer with structured content beside the text
    #[arg(long)]
    structured: bool,
}

impl OfferArguments {
    /// The groups that were named; `None` for all.
    pub(crate) fn groups(&self) -> Option<Vec<Group>> {
        let groups: Option<Vec<Group>> = self.tools.iter().map(|choice| choice.group()).collect();
        groups.filter(|groups| !groups.is_empty())
    }

    /// Which tools are listed, and how they answer.
    pub(crate) fn offer(&self) -> Offer {
        let listing = if self.tools.is_empty() { Listing::Short } else { Listing::Whole };
        let answers = if self.structured { Answers::Structured } else { Answers::Text };
        Offer { listing, answers }
    }
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
    /// `cover_*`: what `proctor cover` left open, and faults that no spec notices
    Cover,
    /// Every tool
    All,
}

pub(crate) fn run(
    arguments: &McpArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let tools = agent_tools::open(cli, arguments.offer.groups().as_deref(), terminal)?;
    let offer = arguments.offer.offer();
    let runtime = agent_tools::runtime()?;
    let outcome = runtime.block_on(async {
        // Removes stale workspaces in the background.
        let stale = tools.clone();
        tokio::spawn(async move { stale.clean_stale().await });
        proctor_mcp::serve_stdio(tools, offer).await
    });
    // A thread may still be reading standard input; do not wait for it.
    runtime.shutdown_background();
    outcome?;
    Ok(ExitCode::SUCCESS)
}

impl GroupChoice {
    fn group(self) -> Option<Group> {
        match self {
            Self::Runs => Some(Group::Runs),
            Self::Journal => Some(Group::Journal),
            Self::Workspaces => Some(Group::Workspaces),
            Self::Cover => Some(Group::Cover),
            Self::All => None,
        }
    }
}
