//! Arguments of the commands about runs that are over: runs, compare, baseline, flaky, history.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Format;
use crate::values;

pub(crate) const RUN_HELP: &str = "\
A run: `last`, `last~2` (the third newest), a tag, the start of a run id, a file of JSON lines, or a run's folder";

const SIDE_HELP: &str = "\
A run (`last`, `last~2`, a tag, the start of a run id, a file of JSON lines), `baseline`, `baseline:NAME`, or a baseline's file";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  proctor runs                      the newest runs
  proctor runs tag last release-4   a name for a run: `proctor compare release-4 last`
  proctor runs stop                 end the run that is going on
  proctor runs prune                what could be removed; --yes removes it")]
pub(crate) struct RunsArguments {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,

    /// How many to list, newest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// Give a run a name, or take it away
    Tag(TagArguments),
    /// Stop a run that is going on, whoever started it
    Stop(StopArguments),
    /// Remove old recordings; without --yes it only says which
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The run's own process is asked, wherever it was started: another terminal, `proctor serve`, an agent, CI on this machine. Nothing new
starts, running examples may finish within the run's --grace, the rest is reported as not run, and its workers are gone when this
command returns. What was recorded stays: `proctor show RUN`.

Exit codes: 0 the run is over, 1 it has not ended within --wait, 2 it is unknown or not going on.
Examples:
  proctor runs stop                 the run that is going on, where there is only one
  proctor runs stop last            the newest
  proctor runs stop 0190 --now      without letting running examples finish
  proctor --root ../other runs stop   one of another project")]
pub(crate) struct StopArguments {
    /// The run: `last`, `last~2`, a tag, the start of its id, or its folder [default: the one that is going on]
    pub(crate) run: Option<String>,

    /// End running examples at once instead of letting them finish within the grace
    #[arg(long)]
    pub(crate) now: bool,

    /// How long to wait for its end
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "60s")]
    pub(crate) wait: u64,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct TagArguments {
    #[arg(help = RUN_HELP)]
    pub(crate) run: String,

    /// The names: letters, digits, `-`, `_` and `.`
    #[arg(required = true, value_name = "TAG", value_parser = values::run_tag)]
    pub(crate) tags: Vec<String>,

    /// Take the names away instead
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Never removed: runs that are going on, tagged runs, runs that a baseline was blessed from, and the newest ones.
Removed recordings are also forgotten by `history` and `flaky`.")]
pub(crate) struct PruneArguments {
    /// Keep the N newest runs, whatever their age
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) keep: usize,

    /// Keep runs younger than this many days
    #[arg(long, value_name = "DAYS", default_value_t = 14)]
    pub(crate) days: u32,

    /// Remove them
    #[arg(long)]
    pub(crate) yes: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What a comparison is printed as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For a pull request
    Markdown,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Every example is a regression, an improvement, unchanged, or there is too little data to tell. Without a model one result each is
enough; with one, attempts are compared by Fisher's exact test (more attempts: `proctor run --repeat 10`), with control of false
discoveries. Examples that only one side has are coverage gaps and count for nothing.

Exit codes: 0, or with --gate 1 if there is a regression; 2 if a side cannot be read.
Examples:
  proctor compare last~1 last
  proctor compare baseline last --gate
  proctor compare main.jsonl branch.jsonl --format markdown > comment.md")]
pub(crate) struct CompareArguments {
    #[arg(help = SIDE_HELP)]
    pub(crate) before: String,

    #[arg(help = "The run that is judged, named likewise", default_value = "last")]
    pub(crate) after: String,

    /// Exit with 1 if there is a regression
    #[arg(long)]
    pub(crate) gate: bool,

    /// List unchanged examples and every gap too
    #[arg(long)]
    pub(crate) all: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CompareFormat,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArguments {
    #[command(subcommand)]
    pub(crate) action: BaselineAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Declare a run good: later ones are compared with it
    Bless(BlessArguments),
    /// Say what the baselines are
    Show(ShowBaselineArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A baseline holds outcomes, durations and scores, no text of any agent. It outlives its run, and with --output it can be
committed, so that other machines compare with the same one.")]
pub(crate) struct BlessArguments {
    #[arg(help = RUN_HELP, default_value = "last")]
    pub(crate) run: String,

    /// The baseline's name
    #[arg(long, default_value = "default", value_parser = values::run_tag)]
    pub(crate) name: String,

    /// Write it to this file instead of .proctor
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Bless a run that did not finish, or had errors outside examples
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowBaselineArguments {
    /// Only this one
    pub(crate) name: Option<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Flaky is an example that gave both outcomes with nothing changed: within one run, or in runs of the same clean commit.")]
pub(crate) struct FlakyArguments {
    /// How many of the newest runs to look at
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) runs: u64,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  proctor history                     the whole suite, run by run
  proctor history 'books a venue'     one example, by id or by part of its description
  proctor history --tag slow          all examples with a tag
  proctor history --search refund     where somebody said it, over all recordings
  proctor history rebuild             make the index anew from the recordings")]
pub(crate) struct HistoryArguments {
    #[command(subcommand)]
    pub(crate) action: Option<HistoryAction>,

    /// The example: the start of its id, or part of its description
    pub(crate) example: Option<String>,

    /// All examples with this tag
    #[arg(long, value_name = "TAG", conflicts_with = "example")]
    pub(crate) tag: Option<String>,

    /// Look for words in all transcripts
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["example", "tag"])]
    pub(crate) search: Option<String>,

    /// How many runs or hits to list, newest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    pub(crate) limit: usize,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryAction {
    /// Make the index anew from the recordings
    Rebuild,
}

/// Reports of a run, at its end or afterwards.
#[derive(Debug, Default, Args)]
pub(crate) struct ReportArguments {
    /// Write a JUnit report (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) junit: Option<PathBuf>,

    /// Write the run as JSON (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,

    /// Write a report for a pull request as Markdown (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write the run as one HTML file with the viewer in it, which needs no server (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) html: Option<PathBuf>,

    /// Write every conversation as an ATIF 1.7 trajectory, one file each, into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) atif: Option<PathBuf>,

    /// Send one trace per attempt to an OpenTelemetry collector (OTLP over HTTP), as in `http://localhost:4318`
    #[cfg(feature = "otlp")]
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,

    /// Send what was said, too: messages, arguments, results, reasoning
    #[cfg(feature = "otlp")]
    #[arg(long, requires = "otlp")]
    pub(crate) otlp_content: bool,
}
