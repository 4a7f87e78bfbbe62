//! `proctor list`: the examples that would run.

use std::process::ExitCode;

use clap::Args;
use proctor_report::Paint;
use proctor_runner::OutsideError;
use proctor_text::printable;

use super::{report_problem, suites};
use crate::cli::{Cli, Format};
use crate::commands::selection::SelectionArguments;
use crate::error::{CommandError, Kind};
use crate::project;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(crate) fn run(
    arguments: &ListArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let mut chosen = suites::choose(&arguments.selection, &config, &root, 1)?;
    chosen.environment.load_notices = terminal.load_notices();
    let found = proctor_runner::list(&chosen.suites, &chosen.environment, &chosen.selection);
    let found = found.map_err(|error| match error {
        proctor_runner::ListError::Suite(error) => report_problem(&error.message, &error.output),
        error @ proctor_runner::ListError::Runtime(_) => CommandError::caused(Kind::System, error),
    })?;
    if !found.errors.is_empty() {
        let all: Vec<String> = found.errors.iter().map(in_words).collect();
        return Err(CommandError::suite(all.join("\n")));
    }
    for note in &found.notes {
        terminal.warn(&printable(note));
    }
    match arguments.format {
        Format::Json => terminal.json(&found.examples)?,
        Format::Text => {
            let style = terminal.style();
            let mut text = String::new();
            for example in &found.examples {
                let place = example.location.as_deref().unwrap_or(&example.file);
                let title = example.path.join(" > ");
                let id = style.paint(Paint::Dim, &example.id);
                text += &format!("{id}  {}  {}\n", printable(place), printable(&title));
            }
            terminal.print(&text)?;
        }
    }
    Ok(if found.examples.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

pub(super) fn in_words(error: &OutsideError) -> String {
    let text = error.exception.as_ref().map(|exception| exception.message.clone());
    let place = error.place.as_deref().map(|place| format!("{place}: ")).unwrap_or_default();
    let what = text.or_else(|| error.message.clone()).unwrap_or_default();
    format!("{place}{}", printable(&what))
}
