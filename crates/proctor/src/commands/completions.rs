//! `proctor completions`: scripts for shells.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::{Cli, CompletionsArguments};
use crate::error::CommandError;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &CompletionsArguments,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "proctor", &mut script);
    terminal.print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
