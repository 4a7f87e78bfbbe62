//! `proctor list`: the examples that would run.

use std::process::ExitCode;

use proctor_report::{Paint, plain};

use super::{report_problem, suites};
use crate::cli::{Cli, Format, ListArguments};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &ListArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let chosen = suites::choose(&arguments.selection, &config, &root, 1)?;
    let found = proctor_runner::list(&chosen.suites, &chosen.surroundings, &chosen.selection);
    let found = found.map_err(|error| match error {
        proctor_runner::ListError::Suite(error) => report_problem(&error.message, &error.output),
        error @ proctor_runner::ListError::Runtime(_) => CommandError::unusable(error),
    })?;
    if let Some(error) = found.errors.first() {
        let text = error.exception.as_ref().map(|exception| exception.message.clone());
        let place = error.place.as_deref().map(|place| format!("{place}: ")).unwrap_or_default();
        let what = text.or_else(|| error.message.clone()).unwrap_or_default();
        return Err(CommandError::unusable(format_args!("{place}{}", plain(&what))));
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
                text += &format!("{id}  {}  {}\n", plain(place), plain(&title));
            }
            terminal.print(&text)?;
        }
    }
    Ok(if found.examples.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}
