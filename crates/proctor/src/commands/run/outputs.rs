//! What a run leaves besides its recording: reports, annotations, the summary of a job.

use std::io::Write as _;
use std::path::Path;

use proctor_record::{RunChoice, RunData};
use proctor_report::{ANNOTATION_LIMIT, github_annotations, markdown};

use super::formatters;
use crate::commands::reports;
use crate::commands::run::arguments::RunArguments;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, secrets};

/// Refuses a report that could not be written, before anything runs.
pub(super) fn check(arguments: &RunArguments) -> Result<(), CommandError> {
    reports::check(&arguments.reports)
}

pub(super) fn write(
    arguments: &RunArguments,
    run: &RunData,
    recording: &Path,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    reports::write(&arguments.reports, run, (recording, &RunChoice::Last), terminal)?;
    if env_vars::GITHUB_ACTIONS.get().is_some() {
        let annotations = github_annotations(run, ANNOTATION_LIMIT);
        if formatters::take_stdout(&arguments.selection.rspec) {
            // They are read from both streams.
            terminal.print_to_stderr(&annotations)?;
        } else {
            terminal.print_if_read(&annotations)?;
        }
    }
    if let Some(path) = env_vars::GITHUB_STEP_SUMMARY.get_os() {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        let summary = markdown(run);
        let written =
            file.and_then(|mut file| file.write_all(secrets::without(&summary).as_bytes()));
        if let Err(error) = written {
            terminal.warn(&format!("cannot write the job's summary: {error}"));
        }
    }
    Ok(())
}
