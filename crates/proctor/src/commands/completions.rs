//! `proctor completions`: scripts for shells.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};

use crate::cli::Cli;
use crate::error::CommandError;
use crate::terminal::Terminal;

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

pub(crate) fn run(
    arguments: &CompletionsArguments,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "proctor", &mut script);
    terminal.print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
