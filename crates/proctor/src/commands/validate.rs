//! `proctor validate`: is a recording complete, and is it as it was written?

use std::process::ExitCode;

use clap::Args;
use proctor_record::{RecordingState, Severity, Validation, validate_file};
use proctor_report::{Paint, Style};
use proctor_text::pluralize;

use super::recording_path;
use crate::cli::{Cli, Format};
use crate::commands::RECORDING_HELP;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 0 if nothing is missing, 1 if something is, 2 if it cannot be read."
)]
pub(crate) struct ValidateArguments {
    #[arg(help = RECORDING_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(crate) fn run(
    arguments: &ValidateArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let path = recording_path(&arguments.recording, cli)?;
    let validation =
        validate_file(&path).map_err(|error| CommandError::io("read", &path, error))?;
    match arguments.format {
        Format::Json => terminal.json(&validation)?,
        Format::Text => terminal.print(&text(&validation, terminal.style()))?,
    }
    if validation.events == 0 {
        return Err(CommandError::input(format_args!("{} contains no events", path.display())));
    }
    Ok(if validation.state.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(1) })
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
    let several = validation.runs.len() > 1;
    for run in validation.runs.iter().filter(|_| several) {
        text += &format!("run {}: {}, {}\n", run.run, painted(run.state, style), run.digest);
    }
    let events = pluralize(validation.events, "event");
    let runs = pluralize(validation.runs.len() as u64, "run");
    let digest = match &validation.runs[..] {
        [run] => format!(", {}", run.digest),
        _ => String::new(),
    };
    text + &format!("{events} in {runs}: {}{digest}\n", painted(validation.state, style))
}

fn painted(state: RecordingState, style: Style) -> String {
    let paint = match state {
        RecordingState::Complete => Paint::Good,
        RecordingState::Interrupted | RecordingState::Running => Paint::Warn,
        RecordingState::CutOff | RecordingState::Damaged => Paint::Bad,
    };
    style.paint(paint, state.word())
}
