//! `proctor validate`: is a recording complete?

use std::process::ExitCode;

use proctor_record::{Reader, Severity, Validation, validate};
use proctor_report::{Paint, Style, counted};

use super::recording_path;
use crate::cli::{Cli, Format, ValidateArguments};
use crate::error::CommandError;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &ValidateArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let path = recording_path(&arguments.recording, cli)?;
    let reader = Reader::open(&path).map_err(|error| {
        CommandError::unusable(format_args!("cannot read {}: {error}", path.display()))
    })?;
    let validation = validate(reader);
    match arguments.format {
        Format::Json => terminal.json(&validation)?,
        Format::Text => terminal.print(&text(&validation, terminal.style()))?,
    }
    if validation.events == 0 {
        return Err(CommandError::unusable(format_args!("{} holds no event", path.display())));
    }
    Ok(if validation.is_valid() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(validation: &Validation, style: Style) -> String {
    let mut text = String::new();
    for finding in &validation.findings {
        let (paint, word) = match finding.severity {
            Severity::Error => (Paint::Bad, "error"),
            Severity::Note => (Paint::Warn, "note"),
        };
        let place = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        text += &format!("{} {place}{}\n", style.paint(paint, format!("{word}:")), finding.message);
    }
    let verdict = if validation.is_valid() {
        style.paint(Paint::Good, "complete")
    } else {
        style.paint(Paint::Bad, "not complete")
    };
    let events = counted(validation.events, "event");
    let runs = counted(validation.runs.len() as u64, "run");
    text + &format!("{events} in {runs}: {verdict}\n")
}
