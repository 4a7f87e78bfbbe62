//! What can be typed: every command, option and its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The exam room for AI agents.
///
/// Proctor runs tests of agents, records everything that happens as one stream of events, and shows it to
/// people and programs.
#[derive(Debug, Parser)]
#[command(name = "proctor", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Exit codes: 0 passed, 1 something failed, 2 nothing trustworthy happened (usage, configuration, unreadable input).
Settings come from flags, then the environment, then proctor.toml; `proctor doctor` shows which won.")]
pub(crate) struct Cli {
    /// When to use colours [default: auto, which respects `NO_COLOR`]
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,

    /// The project's root folder [default: the nearest folder with proctor.toml or .git]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a recorded run as a readable transcript
    Show(ShowArguments),
    /// Follow a run that is being recorded, event by event
    Watch(WatchArguments),
    /// Check that a recording is complete and readable
    Validate(ValidateArguments),
    /// Say what is installed, what each kind of suite needs, and what is wrong
    Doctor(DoctorArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the JSON Schema of a file format
    Schema(SchemaArguments),
    /// Guard a tree of child processes (started by proctor itself)
    #[command(name = "__guard", hide = true)]
    Guard,
}

/// What a command prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

const RECORDING_HELP: &str = "\
A recording: a file of JSON lines, a run's folder, `last`, `last~2` (the third newest), or the start of a run id";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor show last                 the newest run of this project
  proctor show events.jsonl --full  every conversation in a file, in full
  proctor show last retries         the examples whose name contains `retries`
  proctor show last --format json   the same for programs")]
pub(crate) struct ShowArguments {
    #[arg(help = RECORDING_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// Show only examples whose id begins with this or whose description contains it
    pub(crate) example: Option<String>,

    /// The run to show, where a file holds several [default: the last one]
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Show conversations, output and backtraces of passed examples too
    #[arg(long)]
    pub(crate) full: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Follows the file until the run has finished; end it earlier with Ctrl-C. The run itself is not disturbed.
For other programs, `tail -f FILE` gives the raw events: they are written one line at a time.")]
pub(crate) struct WatchArguments {
    #[arg(help = RECORDING_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// Print each event as it was recorded (json) or as readable lines (text)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 0 if nothing is missing, 1 if something is, 2 if it cannot be read."
)]
pub(crate) struct ValidateArguments {
    #[arg(help = RECORDING_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 0 if nothing is wrong, 1 if something that this project needs is missing or broken."
)]
pub(crate) struct DoctorArguments {
    /// List every environment variable that Proctor reads or sets, and do nothing else
    #[arg(long)]
    pub(crate) environment: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor completions bash > ~/.local/share/bash-completion/completions/proctor
  proctor completions zsh > ~/.zfunc/_proctor
  proctor completions fish > ~/.config/fish/completions/proctor.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// The format
    #[arg(value_enum)]
    pub(crate) name: SchemaName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    /// One line of a recording
    Events,
    /// proctor.toml
    Config,
}
