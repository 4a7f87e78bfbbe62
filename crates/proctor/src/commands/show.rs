//! `proctor show`: a recorded run as a transcript, or as data.

use std::process::ExitCode;

use clap::Args;
use proctor_record::{Example, Loaded, RunChoice, RunData};
use proctor_report::{Detail, RunJson, run_json, transcript};
use proctor_verdict::Counts;
use serde::Serialize;

use super::{history, recording_path, reports};
use crate::cli::{Cli, Format};
use crate::commands::RECORDING_HELP;
use crate::commands::reports::ReportArguments;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor show last                 the newest run of this project
  proctor show events.jsonl --full  every conversation in a file, in full
  proctor show last retries         the examples whose name contains `retries`
  proctor show last --search refund messages that contain a word
  proctor show last --markdown -    a report for a pull request
  proctor show last --format json   the same for programs")]
pub(crate) struct ShowArguments {
    #[arg(help = RECORDING_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// Show only examples whose id begins with this or whose description contains it
    pub(crate) example: Option<String>,

    /// The run to show, where a file holds several [default: the last one]
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Show conversations, output and backtraces of passed examples too
    #[arg(long)]
    pub(crate) full: bool,

    /// Only list where these words occur
    #[arg(long, value_name = "WORDS", conflicts_with = "example")]
    pub(crate) search: Option<String>,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

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
        let searched = searched.map_err(|error| CommandError::io("read", &path, error))?;
        return history::show_hits(&searched, arguments.format, terminal);
    }
    reports::check(&arguments.reports)?;
    let choice = arguments.run.clone().map_or(RunChoice::Last, RunChoice::Id);
    let mut loaded = proctor_record::load(&path, &choice)?;
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
        return Err(CommandError::not_found(message).hint(format!(
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
