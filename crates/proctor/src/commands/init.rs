//! `proctor init`: a first scenario that runs as it is, and a configuration to grow from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Writes proctor.toml and scenarios/first.scenario.yaml, unless they are there. The scenario runs as it is, without a key:
  proctor init && proctor run")]
pub(crate) struct InitArguments {
    /// The folder [default: the current one]
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

const CONFIG: &str = include_str!("init/proctor.toml");
const SCENARIO: &str = include_str!("init/first.scenario.yaml");

pub(crate) fn run(
    arguments: &InitArguments,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let folder = arguments.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let files = [("proctor.toml", CONFIG), ("scenarios/first.scenario.yaml", SCENARIO)];
    for (name, text) in files {
        let path = folder.join(name);
        if write_new(&path, text)? {
            terminal.line(&format!("wrote {}", path.display()))?;
        } else {
            terminal.line(&format!("kept {} as it is", path.display()))?;
        }
    }
    terminal.line("\nNext:\n  proctor run          conducts the conversations\n  proctor show --full  shows what was said\n  proctor schema scenario > scenarios/scenario.schema.json   for completion in your editor")?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file unless it is there; says whether it did.
fn write_new(path: &Path, text: &str) -> Result<bool, CommandError> {
    let cannot = |error: std::io::Error| CommandError::io("write", path, error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).open(path) {
        Ok(mut file) => std::io::Write::write_all(&mut file, text.as_bytes()).map_err(cannot)?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(cannot(error)),
    }
    Ok(true)
}
