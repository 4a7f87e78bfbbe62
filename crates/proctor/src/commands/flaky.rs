//! `proctor flaky`: examples that give different results with nothing changed.

use std::process::ExitCode;

use clap::Args;
use proctor_history::{FlakyExample, History, Window};
use proctor_record::RunStore;
use proctor_report::{Paint, Style};
use proctor_text::{pluralize, shorten};

use super::history::print_notes;
use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Flaky is an example that gave both outcomes with nothing changed: within one run, or in runs of the same clean commit.")]
pub(crate) struct FlakyArguments {
    /// How many of the newest runs to look at
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) runs: u64,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(crate) fn run(
    arguments: &FlakyArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    let mut history = History::open(&store)?;
    let flaky = history.flaky(Window(arguments.runs));
    print_notes(&history, terminal);
    let flaky = flaky?;
    if arguments.format == Format::Json {
        terminal.json(&flaky)?;
        return Ok(ExitCode::SUCCESS);
    }
    if flaky.is_empty() {
        terminal.line("nothing is known to be flaky")?;
    }
    for example in &flaky {
        terminal.line(&flaky_line(example, terminal.style()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn flaky_line(row: &FlakyExample, style: Style) -> String {
    let mut signs = Vec::new();
    if row.mixed_runs > 0 {
        signs.push(format!("both outcomes in {}", pluralize(row.mixed_runs, "run")));
    }
    if row.torn_commits > 0 {
        signs.push(format!("different results on {}", pluralize(row.torn_commits, "clean commit")));
    }
    if signs.is_empty() {
        signs.push(format!("{} of outcome from run to run", pluralize(row.changes, "change")));
    }
    format!(
        "{} {}  {}\n    {} of {} attempts failed in {} (passes {:.0} to {:.0} %); {}, last in {}",
        style.paint(Paint::Warn, "~"),
        shorten(&row.example.title, 200),
        style.paint(Paint::Dim, &row.example.id),
        row.attempts - row.passed,
        row.attempts,
        pluralize(row.runs, "run"),
        row.rate_low * 100.0,
        row.rate_high * 100.0,
        signs.join(", "),
        row.last_seen
    )
}
