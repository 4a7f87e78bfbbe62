//! The arguments of `run` and `rejudge` about conversations.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How conversations are conducted.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Conversations")]
pub(crate) struct ConversationArguments {
    /// How many conversations are conducted at once [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) concurrency: Option<u32>,

    /// Test this agent of proctor.toml, whatever the scenarios say
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Record every answer of agents, models and tools to this cassette
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,

    /// Take every answer from this cassette; no request is sent, and no key is needed
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,

    /// How the answers of a cassette are found
    #[arg(long, value_enum, value_name = "HOW", default_value_t, hide_short_help = true)]
    pub(crate) replay_by: ReplayBy,

    /// Record the tapes of agents' models anew (`model: {replay: …}` in scenarios), from the models under `forward:`
    #[arg(long, hide_short_help = true)]
    pub(crate) record_tapes: bool,

    /// What judge and simulator may cost in all, in US dollars; beyond that nothing more is begun
    #[arg(long, value_name = "USD")]
    pub(crate) budget: Option<f64>,

    /// Keep answers of judge and simulator between runs, and use those that are kept
    #[arg(long, overrides_with = "no_cache")]
    pub(crate) cache: bool,

    /// Do not keep or use answers, whatever proctor.toml says
    #[arg(long, hide_short_help = true)]
    pub(crate) no_cache: bool,

    /// Run everything with this configuration file too, at the same time, and report the difference
    #[arg(long, value_name = "OTHER.toml")]
    pub(crate) ab: Option<PathBuf>,
}

/// How the answers of a cassette are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayBy {
    /// The next one of the same conversation; what changed in the question is reported as drift
    #[default]
    Sequence,
    /// The one to the same question; any change is a miss
    Request,
}
