//! `proctor schema`: the JSON Schemas of our file formats.

use std::process::ExitCode;

use crate::cli::{SchemaArguments, SchemaName};
use crate::config;
use crate::error::CommandError;
use crate::terminal::Terminal;

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
