//! `proctor show`: a recorded run as a transcript, or as data.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use proctor_record::{
    Example, ExampleSource, Loaded, OpenedRun, Problem, RunChoice, RunOnDisk, Totals,
};
use proctor_report::{Detail, RunJson, write_json, write_transcript};
use proctor_text::pluralize;
use serde::Serialize;

use super::pieces::{Output, PieceKind};
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

    /// Only list where these words occur; written as for `history --search`
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

/// A run, and what was found beside it in its file.
struct OpenedRecording {
    source: Box<dyn ExampleSource>,
    problems: Vec<Problem>,
    runs: Vec<String>,
}

pub(crate) fn run(
    arguments: &ShowArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let path = recording_path(&arguments.recording, cli)?;
    if let Some(words) = &arguments.search {
        let searched =
            proctor_history::search_recording(&path, &history::search_query(words)?, SEARCH_LIMIT);
        let searched = searched.map_err(|error| CommandError::io("read", &path, error))?;
        return history::show_hits(&searched, arguments.format, terminal);
    }
    reports::check(&arguments.reports)?;
    let choice = arguments.run.clone().map_or(RunChoice::Last, RunChoice::Id);
    let mut opened = open(&path, &choice)?;
    let unreadable = |error| CommandError::io("read", &path, error);
    let totals = opened.source.totals().map_err(unreadable)?;
    if let Some(wanted) = &arguments.example {
        select(&mut *opened.source, wanted, &path)?;
    }
    if reports::wanted(&arguments.reports) {
        reports::write(&arguments.reports, &*opened.source, (&path, &choice), terminal)?;
        return Ok(ExitCode::SUCCESS);
    }
    match arguments.format {
        Format::Json => show_json(&opened, &totals, &path, terminal)?,
        Format::Text => {
            show_text(&opened, arguments, &path, terminal)?;
            show_notes(&opened, arguments, terminal);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Recordings from this size on are read one example at a time; smaller ones are folded whole, which takes half the time.
const LARGE: u64 = 16 << 20;

fn open(path: &Path, choice: &RunChoice) -> Result<OpenedRecording, CommandError> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() >= LARGE) {
        let OpenedRun { run, problems, runs } = RunOnDisk::open(path, choice)?;
        return Ok(OpenedRecording { source: Box::new(run), problems, runs });
    }
    let Loaded { run, problems, runs } = proctor_record::load(path, choice)?;
    Ok(OpenedRecording { source: Box::new(run), problems, runs })
}

fn select(source: &mut dyn ExampleSource, wanted: &str, path: &Path) -> Result<(), CommandError> {
    let lower = wanted.to_lowercase();
    let matches = |example: &Example| {
        let id = example.id.as_ref().is_some_and(|id| id.as_str().starts_with(wanted));
        id || example.title().to_lowercase().contains(&lower)
    };
    let all = source.example_count();
    let chosen = source.choose(&matches);
    if chosen.map_err(|error| CommandError::io("read", path, error))? == 0 {
        let message =
            format!("no example of this run has `{wanted}` in its description or as its id");
        return Err(CommandError::not_found(message).hint(format!(
            "the run has {}; leave the name out to see them",
            pluralize(all, "example")
        )));
    }
    Ok(())
}

fn show_json(
    opened: &OpenedRecording,
    totals: &Totals,
    path: &Path,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    // The counts are those of the whole run; what workspaces reached is that of the examples shown.
    let unreadable = |error| CommandError::io("read", path, error);
    let workspaces = opened.source.totals().map_err(unreadable)?.workspaces;
    let shown = Shown {
        run: RunJson::of(&*opened.source, Totals { workspaces, ..totals.clone() }),
        problems: opened.problems.iter().map(ToString::to_string).collect(),
        runs: &opened.runs,
    };
    Output::Terminal(terminal)
        .write_pieces(PieceKind::Json, path, |write| write_json(&shown, write))
}

fn show_text(
    opened: &OpenedRecording,
    arguments: &ShowArguments,
    path: &Path,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    // Asking for one example means wanting to see it.
    let full = arguments.full || arguments.example.is_some();
    let detail = if full { Detail::Full } else { Detail::Brief };
    let style = terminal.style();
    let totals = opened.source.totals();
    let counts = totals.map_err(|error| CommandError::io("read", path, error))?.counts;
    Output::Terminal(terminal).write_pieces(PieceKind::Text, path, |write| {
        write_transcript(&*opened.source, &counts, detail, style, write)
    })
}

/// Tells what else is in the file: other runs, and lines that could not be used.
fn show_notes(opened: &OpenedRecording, arguments: &ShowArguments, terminal: &mut Terminal) {
    let OpenedRecording { runs, problems, .. } = opened;
    if runs.len() > 1 && arguments.run.is_none() {
        terminal.warn(&format!(
            "the file holds {} runs; this is the last one (others: --run ID, of {})",
            runs.len(),
            runs.join(", ")
        ));
    }
    for problem in problems.iter().take(5) {
        terminal.warn(&problem.to_string());
    }
    if problems.len() > 5 {
        let more = problems.len() - 5;
        terminal.warn(&format!("{more} more unreadable lines; `proctor validate` lists them"));
    }
}
