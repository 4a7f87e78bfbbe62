//! `proctor cover`: what can be typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor cover --yes                     what changed on this branch
  proctor cover staged --yes              what is staged
  proctor cover lib/cart.rb --yes         a file, all its public methods
  proctor cover all --only 'Cart#*' --yes part of a project
  proctor cover lib/cart.rb --stage analyze --format yaml
                                          what a stage answers, nothing executed

Stages: discover, analyze, isolate, architect, factories, implement, review. Each adds to tmp/rspec_metadata/*.yml.
The code under observation runs in a scratch copy, with limits on time, memory and output, and without network where
the kernel allows. Expectations are what was observed: characterisation, not specification.
Exit codes: 0 everything was covered or left pending with a reason, 1 something could not be, 2 nothing was done.")]
pub(crate) struct CoverArguments {
    /// `branch`, `staged`, `all`, or files and folders
    #[arg(value_name = "WHAT", default_value = "branch")]
    pub(crate) what: Vec<String>,

    /// Take the proposed methods without asking
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Run only this stage
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    pub(crate) stage: Option<String>,

    /// Start with this stage; those before must be complete
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,

    /// Only methods whose id (`Class#name`) matches; `*` stands for anything
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,

    /// Not the methods whose id matches
    #[arg(long, value_name = "GLOB")]
    pub(crate) without: Vec<String>,

    /// Why methods are left out, kept in the metadata
    #[arg(long, value_name = "TEXT")]
    pub(crate) instruction: Option<String>,

    /// Do the work again even where nothing changed
    #[arg(long)]
    pub(crate) again: bool,

    /// Seconds for observing each wave of files
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) effort: u32,

    /// Ruby's program
    #[arg(long, value_name = "PATH", default_value = "ruby")]
    pub(crate) ruby: PathBuf,

    /// Write an HTML report here
    #[arg(long, value_name = "PATH")]
    pub(crate) html: Option<PathBuf>,

    /// What to print: a report for people, the whole as JSON, or the stages' answers as YAML
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CoverFormat,
}

/// What `cover` prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoverFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// The answers of the stages
    Yaml,
}
