//! What can be typed: every command, option and its help.

pub(crate) mod agents;
pub(crate) mod cover;
pub(crate) mod journal;
pub(crate) mod past;
pub(crate) mod serve;
pub(crate) mod talk;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::values;

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
    /// Show a recorded run as a readable transcript
    Show(ShowArguments),
    /// Follow a run, here or elsewhere, while it happens
    Watch(WatchArguments),
    /// Show runs in a browser, live and recorded, and start them from there
    Serve(serve::ServeArguments),
    /// List recorded runs, name them, stop one, remove old ones
    Runs(past::RunsArguments),
    /// Judge a run against another one or a baseline
    Compare(past::CompareArguments),
    /// Declare a run good, to compare later ones with
    Baseline(past::BaselineArguments),
    /// List examples that give different results with nothing changed
    Flaky(past::FlakyArguments),
    /// Show how an example, a tag or the suite did over the runs
    History(past::HistoryArguments),
    /// Judge the conversations of a recording again, without their agents
    Rejudge(Box<talk::RejudgeArguments>),
    /// Check that a recording is complete and readable
    Validate(ValidateArguments),
    /// Write specs for untested Ruby code, run them and review them
    Cover(Box<cover::CoverArguments>),
    /// Keep score: what you believed, what you predicted, what really happened
    Journal(journal::JournalArguments),
    /// Offer Proctor's tools to an agent, over MCP on standard input and output
    Mcp(agents::McpArguments),
    /// Call one of those tools from a shell
    Tool(agents::ToolArguments),
    /// Write a first scenario and a configuration
    Init(talk::InitArguments),
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
    Mock(agents::MockArguments),
    /// Run a workspace that nobody waits for (started by proctor itself)
    #[command(name = "__detached", hide = true)]
    Detached(agents::DetachedTestArguments),
}

#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// Send events here too: a path for JSON lines, or ws://localhost:PORT; several with commas
    #[arg(long, value_name = "DEST")]
    pub(crate) events: Option<String>,
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

/// Which examples.
#[derive(Debug, Args)]
pub(crate) struct SelectionArguments {
    /// Files, folders, `FILE:LINE` or `FILE[1:2]` [default: `run.paths` of proctor.toml, else `spec` and all `*.scenario.yaml`]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Only examples whose full description contains TEXT, or matches it when written as /REGEX/
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) example: Vec<String>,

    /// Only examples with this tag (`slow`, `type:model`; `~slow` leaves them out)
    #[arg(short, long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,

    /// Only examples whose stable id begins with this
    #[arg(long, value_name = "ID")]
    pub(crate) stable_id: Vec<String>,

    /// Only examples that did not pass in the last run
    #[arg(long)]
    pub(crate) only_failures: bool,

    /// Only part K of N; every example is in exactly one part
    #[arg(long, value_name = "K/N", value_parser = values::shard)]
    pub(crate) shard: Option<(u32, u32)>,

    /// Only this suite of proctor.toml (or `rspec`, or `scenario`)
    #[arg(long, value_name = "NAME")]
    pub(crate) suite: Vec<String>,

    /// The seed that orders the examples, and that RSpec gives to the project
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Load the project in every worker instead of loading it once and forking
    #[arg(long)]
    pub(crate) no_preload: bool,

    /// Further options for RSpec itself, after `--`
    #[arg(last = true, value_name = "RSPEC OPTION")]
    pub(crate) rspec: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor run                          everything this project has
  proctor run spec/models -w 8         a folder, on eight workers
  proctor run spec/cart_spec.rb:12     the example at a line
  proctor run --only-failures          what failed last time
  proctor run --retries 2 --junit out.xml --timeout 30s
  proctor run --shard 1/4              the first of four parts, the same on every machine

While it runs: Ctrl-C stops it (running examples may finish within the grace), a second one ends it at once.
Every run is recorded: `proctor show`, `proctor watch`.")]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,

    /// How many workers run at once: a number, or `auto` for twice the cores [default: 4]
    #[arg(short, long, value_name = "N", value_parser = values::workers)]
    pub(crate) workers: Option<u32>,

    /// Stop after the first failure, or after N; 0 turns it off
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub(crate) fail_fast: Option<u32>,

    /// End an example that takes longer (`500ms`, `30s`, `2m`)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) timeout: Option<u64>,

    /// Say so when an example takes longer
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) slow: Option<u64>,

    /// Try a failed example again, up to N times; a pass is then flaky
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,

    /// Run every example N times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: Option<u32>,

    /// What flaky examples mean for the exit code
    #[arg(long, value_enum, default_value_t = Tolerance::Ok)]
    pub(crate) flaky: Tolerance,

    /// What inconclusive examples mean for the exit code
    #[arg(long, value_enum, default_value_t = Tolerance::Fail)]
    pub(crate) inconclusive: Tolerance,

    /// What examples that pass without checking anything mean for the exit code
    ///
    /// A conversation checks something if an assertion under `expect`, an invariant of a topic or a goal that must be reached
    /// was decided in it; assertions under `evaluate` are recorded and decide nothing. A program's example checks nothing if
    /// the program reports `checks: 0`. Of what reports no number, such as RSpec's examples, it is not known and never assumed.
    /// The summary names such examples either way; `fail` also fails the run.
    #[arg(long, value_enum, default_value_t = Unchecked::Warn)]
    pub(crate) unchecked: Unchecked,

    /// Finding no example is all right
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// How long running examples may go on after a stop
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "2s")]
    pub(crate) grace: u64,

    /// In which order examples are handed out
    #[arg(long, value_enum, default_value_t = ScheduleChoice::Longest)]
    pub(crate) schedule: ScheduleChoice,

    /// Let a long group with context hooks be cut in two; its hooks then run once per part
    #[arg(long)]
    pub(crate) split_groups: bool,

    /// Replace a worker after N examples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_examples_per_worker: Option<u32>,

    /// How many workers in a row may end without having run anything [default: twice the workers]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) max_idle_exits: Option<u32>,

    /// How to show the run [default: by terminal, CI and coding agent]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) ui: Option<UiChoice>,

    /// Show every start, not only results
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Show whole backtraces
    #[arg(short = 'b', long)]
    pub(crate) backtrace: bool,

    /// List the N slowest examples
    #[arg(long, value_name = "N")]
    pub(crate) profile: Option<usize>,

    #[command(flatten)]
    pub(crate) reports: past::ReportArguments,

    /// Show the run in a browser while it goes on; the address is printed at its start
    #[arg(long)]
    pub(crate) live: bool,

    /// Send events here too: a path for JSON lines, or ws://localhost:PORT; several with commas
    #[arg(long, value_name = "DEST")]
    pub(crate) events: Option<String>,

    #[command(flatten)]
    pub(crate) talk: talk::TalkArguments,

    #[command(flatten)]
    pub(crate) journal: journal::ResolveJournal,

    #[command(flatten)]
    pub(crate) detached: agents::DetachedArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Whether something fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tolerance {
    /// It does not fail the run
    Ok,
    /// It fails the run
    Fail,
}

/// Whether examples that check nothing fail a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unchecked {
    /// The summary names them
    Warn,
    /// They fail the run
    Fail,
}

/// In which order examples are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleChoice {
    /// Unknown ones first, then the longest; with one worker as listed
    Longest,
    /// In the order of the suite
    Listed,
    /// In the order of the suite, dealt out to the workers beforehand
    RoundRobin,
}

/// How to show a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UiChoice {
    /// A screen with a tab per worker
    Interactive,
    /// Lines as things happen, with the worker they come from
    Interleaved,
    /// Example by example
    Grouped,
    /// A character per example, failures at the end
    Quiet,
    /// Failures and one line of summary
    Terse,
}

const RECORDING_HELP: &str = "\
A recording: a file of JSON lines, a run's folder, `last`, `last~2` (the third newest), a tag, or the start of a run id";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor show last                 the newest run of this project
  proctor show events.jsonl --full  every conversation in a file, in full
  proctor show last retries         the examples whose name contains `retries`
  proctor show last --search refund where somebody said it
  proctor show last --markdown -    a report for a pull request
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

    /// Only list where these words stand
    #[arg(long, value_name = "WORDS", conflicts_with = "example")]
    pub(crate) search: Option<String>,

    #[command(flatten)]
    pub(crate) reports: past::ReportArguments,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

const WATCH_HELP: &str = "\
A recording (a file of JSON lines, `last`, `last~2`, a tag, the start of a run id), or the address of a stream: ws://HOST:PORT, or what `proctor serve` printed";

#[derive(Debug, Args)]
#[command(after_help = "\
Follows the run until it has finished; end it earlier with Ctrl-C. The run itself is not disturbed.
For other programs, `tail -f FILE` gives the raw events: they are written one line at a time.")]
pub(crate) struct WatchArguments {
    #[arg(help = WATCH_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// Print each event as it was recorded (json) or as readable lines (text)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Print lines even where a screen could be drawn
    #[arg(long)]
    pub(crate) lines: bool,
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
    /// A scenario file (`*.scenario.yaml`)
    Scenario,
    /// A workspace file (`*.workspace.yaml`)
    Workspace,
    /// Metadata and answers of `proctor cover`
    Cover,
}
