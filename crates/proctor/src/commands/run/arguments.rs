//! The arguments of `proctor run`.

use clap::{Args, ValueEnum};

use crate::commands::engine::EngineArguments;
use crate::commands::journal::resolve_from_run::ResolveJournal;
use crate::commands::reports::ReportArguments;
use crate::commands::run::conversations::ConversationArguments;
use crate::commands::selection::SelectionArguments;
use crate::values;

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  proctor run                          everything this project has
  proctor run spec/models -w 8         a folder, on eight workers
  proctor run spec/cart_spec.rb:12     the example at a line
  proctor run --only-failures          what failed last time
  proctor run --retries 2 --junit out.xml --timeout 30s
  proctor run --shard 1/4              the first of four parts, the same on every machine
  proctor run --repeat auto --against last   repeats where it is open whether something got worse

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

    /// What follows when a worker crashes: its example is crashed and the others go on, or the whole run is ended
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = CrashChoice::Continue)]
    pub(crate) on_crash: CrashChoice,

    /// End an example that takes longer (`500ms`, `30s`, `2m`)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) timeout: Option<u64>,

    /// Say so when an example takes longer
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) slow: Option<u64>,

    /// Try a failed example again, up to N times; a pass is then flaky
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,

    /// Run every example N times; with `auto` as often as its verdict needs, at most MAX times [default MAX: 20]
    ///
    /// `auto` repeats an example while it is open whether it reaches its pass rate, or whether it got worse than in the run of
    /// `--against`. Results are looked at after every round; the chance of a false alarm stays below 5 % all the same. An example
    /// that does as before three times, one in which no model takes part, and one that could no longer be decided within MAX repeats
    /// is left alone. The end of the run says where repeats went.
    #[arg(long, value_name = "N|auto[:MAX]", value_parser = values::repeat)]
    pub(crate) repeat: Option<values::Repeat>,

    /// With `--repeat auto`: the run or baseline to compare with, named as for `proctor compare` [default: `baseline`, if there is one]
    #[arg(long, value_name = "SIDE", requires = "repeat")]
    pub(crate) against: Option<String>,

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
    pub(crate) reports: ReportArguments,

    /// Show the run in a browser while it goes on; the address is printed at its start
    #[arg(long)]
    pub(crate) live: bool,

    /// Send events here too: a path for JSON lines, or ws://localhost:PORT; several with commas
    #[arg(long, value_name = "DEST")]
    pub(crate) events: Option<String>,

    #[command(flatten)]
    pub(crate) conversation: ConversationArguments,

    #[command(flatten)]
    pub(crate) machines: MachineArguments,

    #[command(flatten)]
    pub(crate) journal: ResolveJournal,

    #[command(flatten)]
    pub(crate) detached: DetachedArguments,
}

/// Which machines serve a run.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct MachineArguments {
    #[command(flatten)]
    pub(crate) engine: EngineArguments,

    /// With `--engine`: begin when there are so many slots [default: 1]
    #[arg(long, value_name = "N", requires = "engine", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) wait_for: Option<u32>,

    /// With `--engine`: how long to wait for slots at the beginning, and for another machine when all are gone
    #[arg(long, value_name = "TIME", requires = "engine", value_parser = values::duration, default_value = "60s", hide_short_help = true)]
    pub(crate) wait_limit: u64,
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

/// What follows when a worker crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CrashChoice {
    /// Its example is crashed, and the run goes on
    Continue,
    /// The run is ended: all workers are killed
    Stop,
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
    /// A line of JSON for each failure and one for the run
    Agent,
}

/// What concerns a run as a whole, and a run that nobody waits for.
#[derive(Debug, Clone, Default, Args)]
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

    /// The number of an inherited socket: events go there, and the run ends with whoever holds its other end
    #[arg(long, hide = true, value_name = "FD")]
    pub(crate) controller_fd: Option<i32>,
}

fn run_id(text: &str) -> Result<String, String> {
    uuid::Uuid::parse_str(text).map(|id| id.to_string()).map_err(|error| error.to_string())
}
