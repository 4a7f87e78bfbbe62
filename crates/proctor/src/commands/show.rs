//! `proctor show`: a recorded run as a transcript, or as data.

use std::process::ExitCode;

use proctor_record::{Example, Loaded, RunChoice, RunData};
use proctor_report::{Detail, RunJson, run_json, transcript};
use proctor_verdict::Counts;
use serde::Serialize;

use super::{history, recording_path, reports};
use crate::cli::{Cli, Format, ShowArguments};
use crate::error::CommandError;
use crate::terminal::Terminal;

/// How many hits are listed.
const SEARCH_LIMIT: usize = 200;

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    run: RunJson<'a>,
    problems: Vec<String>,
    runs: &'a [String],
}

pub(crate) fn run(
    arguments: &ShowArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let path = recording_path(&arguments.recording, cli)?;
    if let Some(words) = &arguments.search {
        let searched = proctor_history::search_recording(&path, words, SEARCH_LIMIT);
        let searched = searched.map_err(|error| {
            CommandError::unusable(format_args!("cannot read {}: {error}", path.display()))
        })?;
        return history::show_hits(&searched, arguments.format, terminal);
    }
    reports::check(&arguments.reports)?;
    let choice = arguments.run.clone().map_or(RunChoice::Last, RunChoice::Id);
    let mut loaded = proctor_record::load(&path, &choice).map_err(CommandError::unusable)?;
    let summary = loaded.run.summary();
    if let Some(wanted) = &arguments.example {
        select(&mut loaded.run, wanted)?;
    }
    if reports::wanted(&arguments.reports) {
        reports::write(&arguments.reports, &loaded.run, (&path, &choice), terminal)?;
        return Ok(ExitCode::SUCCESS);
    }
    match arguments.format {
        Format::Json => show_json(&loaded, summary, terminal)?,
        Format::Text => show_text(&loaded, arguments, terminal)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn select(run: &mut RunData, wanted: &str) -> Result<(), CommandError> {
    let matches = |example: &Example| {
        let id = example.id.as_ref().is_some_and(|id| id.as_str().starts_with(wanted));
        id || example.title().to_lowercase().contains(&wanted.to_lowercase())
    };
    if !run.examples.iter().any(matches) {
        let message =
            format!("no example of this run has `{wanted}` in its description or as its id");
        return Err(CommandError::unusable(message).hint(format!(
            "the run has {} examples; leave the name out to see them",
            run.examples.len()
        )));
    }
    run.select(matches);
    Ok(())
}

fn show_json(
    loaded: &Loaded,
    summary: Counts,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    terminal.json(&Shown {
        run: run_json(&loaded.run).with_summary(summary),
        problems: loaded.problems.iter().map(ToString::to_string).collect(),
        runs: &loaded.runs,
    })
}

fn show_text(
    loaded: &Loaded,
    arguments: &ShowArguments,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    // Asking for one example means wanting to see it.
    let full = arguments.full || arguments.example.is_some();
    let detail = if full { Detail::Full } else { Detail::Brief };
    let text = transcript(&loaded.run, detail, terminal.style());
    terminal.print(&text)?;
    if loaded.runs.len() > 1 && arguments.run.is_none() {
        terminal.warn(&format!(
            "the file holds {} runs; this is the last one (others: --run ID, of {})",
            loaded.runs.len(),
            loaded.runs.join(", ")
        ));
    }
    for problem in loaded.problems.iter().take(5) {
        terminal.warn(&problem.to_string());
    }
    if loaded.problems.len() > 5 {
        let more = loaded.problems.len() - 5;
        terminal.warn(&format!("{more} more unreadable lines; `proctor validate` lists them"));
    }
    Ok(())
}
