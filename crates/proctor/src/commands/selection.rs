//! Which examples a command is about: the arguments that `run` and `list` share.

use clap::Args;

use crate::values;

/// Which examples.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionArguments {
    /// Files, folders, `FILE:LINE` or `FILE[1:2]` [default: `run.paths` of proctor.toml, else `spec`, tests in `test` and all `*.scenario.yaml`]
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

    /// Only this suite of proctor.toml (or `rspec`, `minitest`, `scenario`, `workspace`)
    #[arg(long, value_name = "NAME")]
    pub(crate) suite: Vec<String>,

    /// The seed that orders the examples, and that RSpec or Minitest gives to the project
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Load the project in every worker instead of loading it once and forking
    #[arg(long)]
    pub(crate) no_preload: bool,

    /// Further options for RSpec itself, after `--`; for Minitest where RSpec takes no part
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) rspec: Vec<String>,
}
