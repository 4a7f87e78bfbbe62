//! What can be typed to serve agents: `mcp` and `tool`.

use clap::{Args, ValueEnum};

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
    /// `ghap_*`: the journal
    Journal,
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
