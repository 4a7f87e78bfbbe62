//! Reports to files: JUnit, JSON, annotations.

use std::path::Path;

use proctor_record::RunData;
use proctor_report::{ANNOTATION_LIMIT, github_annotations, junit, run_json};

use crate::cli::RunArguments;
use crate::env_vars;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// Refuses a report that could not be written, before anything runs.
pub(super) fn check(arguments: &RunArguments) -> Result<(), CommandError> {
    for path in [&arguments.junit, &arguments.json].into_iter().flatten() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(CommandError::unusable(format_args!(
                "the report cannot be written to {}: {}",
                path.display(),
                if path.is_dir() { "it is a folder" } else { "its folder does not exist" }
            )));
        }
    }
    Ok(())
}

pub(super) fn write(
    arguments: &RunArguments,
    run: &RunData,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    if let Some(path) = &arguments.junit {
        put(path, &junit(run, "proctor"), terminal)?;
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&run_json(run)).map_err(std::io::Error::from)?;
        put(path, &format!("{text}\n"), terminal)?;
    }
    if env_vars::GITHUB_ACTIONS.get().is_some() {
        terminal.print(&github_annotations(run, ANNOTATION_LIMIT))?;
    }
    Ok(())
}

fn put(path: &Path, text: &str, terminal: &mut Terminal) -> Result<(), CommandError> {
    if path == Path::new("-") {
        return terminal.print(text);
    }
    std::fs::write(path, text).map_err(|error| {
        CommandError::unusable(format_args!("cannot write {}: {error}", path.display()))
    })
}
