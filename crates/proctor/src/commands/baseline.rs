//! `proctor baseline`: runs that were declared good.
//!
//! A baseline is a run reduced to what a comparison needs (`.proctor/baselines/NAME.json`), so it outlives the recording.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use proctor_compare::Side;
use proctor_history::{baseline_name, baseline_path, baselines, read_baseline, write_baseline};
use proctor_record::RunStore;
use proctor_report::Paint;
use proctor_text::{pluralize, printable};
use serde::Serialize;

use super::compare;
use crate::cli::{Cli, Format};
use crate::commands::RUN_HELP;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{project, values};

#[derive(Debug, Args)]
pub(crate) struct BaselineArguments {
    #[command(subcommand)]
    pub(crate) action: BaselineAction,
}

impl BaselineArguments {
    pub(crate) fn format(&self) -> Format {
        match &self.action {
            BaselineAction::Bless(_) => Format::Text,
            BaselineAction::Show(arguments) => arguments.format,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Declare a run good: later ones are compared with it
    Bless(BlessArguments),
    /// Say what the baselines are
    Show(ShowBaselineArguments),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A baseline holds outcomes, durations and scores, no text of any agent. It outlives its run, and with --output it can be
committed, so that other machines compare with the same one.")]
pub(crate) struct BlessArguments {
    #[arg(help = RUN_HELP, default_value = "last")]
    pub(crate) run: String,

    /// The baseline's name
    #[arg(long, default_value = "default", value_parser = values::run_tag)]
    pub(crate) name: String,

    /// Write it to this file instead of .proctor
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Bless a run that did not finish, or had errors outside examples
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowBaselineArguments {
    /// Only this one
    pub(crate) name: Option<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// A baseline as `--format json` prints it.
#[derive(Serialize)]
struct Shown {
    name: String,
    path: PathBuf,
    run_id: Option<String>,
    started_at: Option<String>,
    commit: Option<String>,
    examples: u64,
    passed: u64,
    attempts: u64,
}

pub(crate) fn run(
    arguments: &BaselineArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    match &arguments.action {
        BaselineAction::Bless(arguments) => bless(arguments, &store, terminal)?,
        BaselineAction::Show(arguments) => show(arguments, &store, terminal)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The baseline that `baseline` or `baseline:NAME` means; `None` for other names.
pub(super) fn named(name: &str, store: &RunStore) -> Result<Option<Side>, CommandError> {
    let Some(name) = baseline_name(name) else { return Ok(None) };
    let found = proctor_history::baseline(store, name).map_err(|error| {
        CommandError::from(error).hint("`proctor baseline bless RUN` makes one")
    })?;
    Ok(Some(found))
}

fn bless(
    arguments: &BlessArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let side = compare::side(&arguments.run, store, terminal)?;
    if !arguments.force && (!side.complete || side.errors > 0) {
        let why = if side.complete { "had errors outside examples" } else { "did not finish" };
        return Err(CommandError::refused(format_args!("{} {why}", arguments.run))
            .hint("--force blesses it all the same"));
    }
    let path = arguments.output.clone().unwrap_or_else(|| baseline_path(store, &arguments.name));
    write_baseline(&path, &side)?;
    let run = side.run_id.as_deref().unwrap_or(&arguments.run);
    let what = pluralize(side.examples.len() as u64, "example");
    terminal.line(&format!("blessed {}: {what}, in {}", printable(run), path.display()))
}

fn show(
    arguments: &ShowBaselineArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let wanted = |name: &str| arguments.name.as_deref().is_none_or(|wanted| wanted == name);
    let mut shown = Vec::new();
    for (name, path) in baselines(store).into_iter().filter(|(name, _)| wanted(name)) {
        let side = read_baseline(&path)?;
        shown.push(describe(name, path, &side));
    }
    if let (Some(name), true) = (&arguments.name, shown.is_empty()) {
        return Err(CommandError::not_found(format_args!("no baseline `{name}`"))
            .hint("`proctor baseline show` lists them"));
    }
    if arguments.format == Format::Json {
        return terminal.json(&shown);
    }
    if shown.is_empty() {
        return terminal.line("no baseline yet; `proctor baseline bless RUN` makes one");
    }
    for baseline in shown {
        let name = terminal.style().paint(Paint::Bold, &baseline.name);
        let run = baseline.run_id.unwrap_or_default();
        let when = baseline.started_at.unwrap_or_default();
        let commit: String = baseline.commit.unwrap_or_default().chars().take(10).collect();
        terminal.line(&format!(
            "{name}  run {}  {when}  {commit}  {}: {} of {} attempts passed",
            printable(&run),
            pluralize(baseline.examples, "example"),
            baseline.passed,
            baseline.attempts
        ))?;
    }
    Ok(())
}

fn describe(name: String, path: PathBuf, side: &Side) -> Shown {
    let tallies = side.examples.iter().map(proctor_compare::ExampleResults::tally);
    let (passed, attempts) = tallies.fold((0, 0), |sum, tally| (sum.0 + tally.0, sum.1 + tally.1));
    Shown {
        name,
        path,
        run_id: side.run_id.clone(),
        started_at: side.started_at.clone(),
        commit: side.commit.clone(),
        examples: side.examples.len() as u64,
        passed,
        attempts,
    }
}
