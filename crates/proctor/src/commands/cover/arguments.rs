//! The arguments of `proctor cover`.

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
  proctor cover all --yes --model writer  let [models.writer] of proctor.toml fill what is left
  proctor cover lib/cart.rb --from review --fix --yes
                                          review again and repair what can be repaired safely

Stages: discover, analyze, isolate, architect, factories, implement, review. Each adds to tmp/rspec_metadata/*.yml.
The code under observation runs in a scratch copy, with limits on time, memory and output, and without network where
the kernel allows. Expectations are what was observed: characterisation, not specification.
Files are covered in waves, what others need first; the next wave begins only when the specs of this one pass.
A cover run is recorded like any other: `proctor watch`, `proctor show`, `proctor runs`, `proctor serve`.
An agent can fill what is left itself: tools `cover_plan` and `cover_submit` of `proctor mcp` and `proctor tool`.
Exit codes: 0 every selected method has an example and all examples pass; 1 a method has none (the report says what was
missing), an example fails, or a file cannot be read or loaded; 2 nothing was done.")]
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

    /// Start with this stage; those before it that only read code are run first where they are not complete
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

    /// Choose by a file of answers (YAML or JSON): `select: all`, or lists `only` and `without`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "without", "instruction"])]
    pub(crate) answers: Option<PathBuf>,

    /// Let this model of proctor.toml fill what is left; answers are kept only if they prove themselves
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Record what the model answers to this cassette
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,

    /// Take the model's answers from this cassette
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,

    /// What the model may cost in all, in US dollars
    #[arg(long, value_name = "USD")]
    pub(crate) budget: Option<f64>,

    /// Let the review repair what can be repaired safely
    #[arg(long)]
    pub(crate) fix: bool,

    /// Do the work again even where nothing changed
    #[arg(long)]
    pub(crate) again: bool,

    /// Seconds for observing, for every 300 methods
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) effort: u32,

    /// Ruby's program [default: tools.ruby of proctor.toml]
    #[arg(long, value_name = "PATH")]
    pub(crate) ruby: Option<PathBuf>,

    /// Stop if the project's code cannot be confined completely; `proctor doctor` says what this machine allows
    #[arg(long)]
    pub(crate) require_confinement: bool,

    /// Send events here too: a path for JSON lines, or `ws://localhost:PORT`; several with commas
    #[arg(long, value_name = "DEST")]
    pub(crate) events: Option<String>,

    /// Say what happens on standard error even if that is no terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Write an HTML report here
    #[arg(long, value_name = "PATH")]
    pub(crate) html: Option<PathBuf>,

    /// Write the report as JSON here
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,

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
