//! `proctor schema`: the JSON Schemas of our file formats.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::config;
use crate::error::CommandError;
use crate::terminal::Terminal;

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

pub(crate) fn run(
    arguments: &SchemaArguments,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let schema = match arguments.name {
        SchemaName::Events => proctor_events::json_schema(),
        SchemaName::Config => config::json_schema(),
        SchemaName::Scenario => proctor_dialogue::scenario_schema(),
        SchemaName::Workspace => proctor_workspace::file::schema().to_value(),
        SchemaName::Cover => serde_json::from_str(proctor_cover::SCHEMA).unwrap_or_default(),
    };
    terminal.json(&schema)?;
    Ok(ExitCode::SUCCESS)
}
