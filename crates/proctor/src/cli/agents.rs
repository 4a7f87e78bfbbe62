//! What can be typed to serve agents: `mcp` and `tool`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::values;

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

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor tool --list                            every tool with what it is for
  proctor tool --list ghap_create                what one of them takes and gives, as JSON Schema
  proctor tool ghap_search '{\"query\": \"cache\"}'  call one
  proctor tool ghap_create - < entry.json        the same with parameters from standard input

The structured result is printed as JSON on standard output. A tool error is printed as JSON on standard error,
and the exit code is 1.")]
pub(crate) struct ToolArguments {
    /// The tool
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub(crate) name: Option<String>,

    /// Its parameters: a JSON object, or `-` to read it from standard input
    #[arg(value_name = "JSON", default_value = "{}", hide_default_value = true)]
    pub(crate) parameters: String,

    /// List the tools; with a name, print its schemas
    #[arg(long)]
    pub(crate) list: bool,

    /// What `--list` prints
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: super::Format,
}

/// What concerns a run as a whole, and a run that nobody waits for.
#[derive(Debug, Default, Args)]
pub(crate) struct DetachedArguments {
    /// Stop the whole run when it takes longer (`10m`, `2h`)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) time_limit: Option<u64>,

    /// Leave the session of whoever started the run
    #[arg(long, hide = true)]
    pub(crate) detached: bool,

    /// The run's id, chosen by whoever started it
    #[arg(long, hide = true, value_parser = run_id)]
    pub(crate) run_id: Option<String>,
}

fn run_id(text: &str) -> Result<String, String> {
    uuid::Uuid::parse_str(text).map(|id| id.to_string()).map_err(|error| error.to_string())
}

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
