//! The global options and the table of commands. Each command's arguments stand in its module under `commands/`.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::baseline::BaselineArguments;
use crate::commands::bisect::BisectArguments;
use crate::commands::compare::{CompareArguments, CompareFormat};
use crate::commands::completions::CompletionsArguments;
use crate::commands::cover::arguments::{CoverArguments, CoverFormat};
use crate::commands::doctor::DoctorArguments;
use crate::commands::flaky::FlakyArguments;
use crate::commands::history::HistoryArguments;
use crate::commands::host::HostArguments;
use crate::commands::init::InitArguments;
use crate::commands::journal::JournalArguments;
use crate::commands::list::ListArguments;
use crate::commands::mcp::McpArguments;
use crate::commands::mutate::MutateArguments;
use crate::commands::rejudge::RejudgeArguments;
use crate::commands::run::arguments::RunArguments;
use crate::commands::runs::RunsArguments;
use crate::commands::sandbox::SandboxArguments;
use crate::commands::schema::SchemaArguments;
use crate::commands::serve::arguments::ServeArguments;
use crate::commands::show::ShowArguments;
use crate::commands::tool::ToolArguments;
use crate::commands::validate::ValidateArguments;
use crate::commands::watch::WatchArguments;
use crate::commands::work::WorkArguments;
use crate::commands::workspace_tools::{DetachedTestArguments, MockArguments};

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
    /// Run examples, many at once
    Run(Box<RunArguments>),
    /// List the examples that would run
    List(ListArguments),
    /// Serve runs that are controlled on another machine
    Work(WorkArguments),

    /// Find out which examples make another one fail
    Bisect(BisectArguments),
    /// Show a recorded run as a readable transcript
    Show(ShowArguments),
    /// Follow a run, here or elsewhere, while it happens
    Watch(WatchArguments),
    /// Show runs in a browser, live and recorded, and start them from there
    Serve(ServeArguments),
    /// List recorded runs, name them, stop one, remove old ones
    Runs(RunsArguments),
    /// Judge a run against another one or a baseline
    Compare(CompareArguments),
    /// Declare a run good, to compare later ones with
    Baseline(BaselineArguments),
    /// List examples that give different results with nothing changed
    Flaky(FlakyArguments),
    /// Show how an example, a tag or the suite did over the runs
    History(HistoryArguments),
    /// Judge the conversations of a recording again, without their agents
    Rejudge(Box<RejudgeArguments>),
    /// Check that a recording is complete and readable
    Validate(ValidateArguments),
    /// Write specs for untested Ruby code, run them and review them
    Cover(Box<CoverArguments>),
    /// Put small faults into the code and see which of them the specs notice
    Mutate(Box<MutateArguments>),
    /// Keep score: what you believed, what you predicted, what really happened
    Journal(JournalArguments),
    /// Offer Proctor's tools to an agent, over MCP on standard input and output
    Mcp(McpArguments),
    /// Call one of those tools from a shell
    Tool(ToolArguments),
    /// Write a first scenario and a configuration
    Init(InitArguments),
    /// Say what is installed, what each kind of suite needs, and what is wrong
    Doctor(DoctorArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the JSON Schema of a file format
    Schema(SchemaArguments),
    /// Conduct conversations for `rspec` and record its run (started by `require "proctor/rspec"`)
    #[command(hide = true)]
    Host(HostArguments),
    /// Guard a tree of child processes (started by proctor itself)
    #[command(name = "__guard", hide = true)]
    Guard,
    /// Play the model of a workspace (started by proctor itself)
    #[command(name = "__mock", hide = true)]
    Mock(MockArguments),
    /// Confine a program (started by proctor itself)
    #[command(name = "__sandbox", hide = true)]
    Sandbox(SandboxArguments),
    /// Run a workspace that nobody waits for (started by proctor itself)
    #[command(name = "__detached", hide = true)]
    Detached(DetachedTestArguments),
}

impl Command {
    /// Whether the command was asked to print for programs; its errors are then JSON too.
    pub(crate) fn prints_json(&self) -> bool {
        let format = match self {
            Self::List(arguments) => arguments.format,
            Self::Bisect(arguments) => arguments.format,
            Self::Show(arguments) => arguments.format,
            Self::Watch(arguments) => arguments.format,
            Self::Serve(arguments) => arguments.format,
            Self::Runs(arguments) => arguments.format(),
            Self::Baseline(arguments) => arguments.format(),
            Self::Flaky(arguments) => arguments.format,
            Self::History(arguments) => arguments.format,
            Self::Validate(arguments) => arguments.format,
            Self::Tool(arguments) => arguments.format,
            Self::Mutate(arguments) => arguments.format,
            Self::Doctor(arguments) => arguments.format,
            Self::Compare(arguments) => return arguments.format == CompareFormat::Json,
            Self::Cover(arguments) => return arguments.format == CoverFormat::Json,
            Self::Journal(arguments) => return arguments.command.prints_json(),
            Self::Run(_)
            | Self::Work(_)
            | Self::Rejudge(_)
            | Self::Mcp(_)
            | Self::Init(_)
            | Self::Completions(_)
            | Self::Schema(_)
            | Self::Host(_)
            | Self::Guard
            | Self::Mock(_)
            | Self::Sandbox(_)
            | Self::Detached(_) => return false,
        };
        format == Format::Json
    }
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
