//! `proctor baseline`: runs that were declared good.
//!
//! A baseline is a run reduced to what a comparison needs (`.proctor/baselines/NAME.json`), so it outlives the recording.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use proctor_compare::{BadSide, Side};
use proctor_history::{baseline_name, baseline_path, baselines, read_baseline};
use proctor_record::RunStore;
use proctor_report::{Paint, counted, plain};
use serde::Serialize;

use super::compare;
use crate::cli::past::{BaselineAction, BaselineArguments, BlessArguments, ShowBaselineArguments};
use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

/// What is told of a baseline.
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
        CommandError::unusable(error).hint("`proctor baseline bless RUN` makes one")
    })?;
    Ok(Some(found))
}

/// The baseline that a file holds; `None` where it is a recording.
pub(super) fn in_file(path: &Path) -> Result<Option<Side>, CommandError> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(None);
    }
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    match Side::from_json(&text) {
        // A file of one JSON line may be a recording, whatever its name.
        Err(BadSide::NotASide(_)) => Ok(None),
        Err(error @ BadSide::Newer(_)) => Err(unreadable(path, &error)),
        Ok(mut side) => {
            side.label = path.display().to_string();
            Ok(Some(side))
        }
    }
}

/// The runs that baselines were made from.
pub(super) fn blessed_runs(store: &RunStore) -> Vec<String> {
    let sides = baselines(store).into_values().filter_map(|path| read_baseline(&path).ok());
    sides.filter_map(|side| side.run_id).collect()
}

fn bless(
    arguments: &BlessArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let side = compare::side(&arguments.run, store, terminal)?;
    if !arguments.force && (!side.complete || side.errors > 0) {
        let why = if side.complete { "had errors outside examples" } else { "did not finish" };
        return Err(CommandError::unusable(format_args!("{} {why}", arguments.run))
            .hint("--force blesses it all the same"));
    }
    let path = arguments.output.clone().unwrap_or_else(|| baseline_path(store, &arguments.name));
    write(&path, &side).map_err(|error| {
        CommandError::unusable(format_args!("cannot write {}: {error}", path.display()))
    })?;
    let run = side.run_id.as_deref().unwrap_or(&arguments.run);
    let what = counted(side.examples.len() as u64, "example");
    terminal.line(&format!("blessed {}: {what}, in {}", plain(run), path.display()))
}

/// Whole or not at all.
fn write(path: &Path, side: &Side) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, side)?;
    file.write_all(b"\n")?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn show(
    arguments: &ShowBaselineArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let wanted = |name: &str| arguments.name.as_deref().is_none_or(|wanted| wanted == name);
    let mut shown = Vec::new();
    for (name, path) in baselines(store).into_iter().filter(|(name, _)| wanted(name)) {
        let side = read_baseline(&path).map_err(CommandError::unusable)?;
        shown.push(describe(name, path, &side));
    }
    if let (Some(name), true) = (&arguments.name, shown.is_empty()) {
        return Err(CommandError::unusable(format_args!("no baseline `{name}`"))
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
            plain(&run),
            counted(baseline.examples, "example"),
            baseline.passed,
            baseline.attempts
        ))?;
    }
    Ok(())
}

fn describe(name: String, path: PathBuf, side: &Side) -> Shown {
    let tallies = side.examples.iter().map(proctor_compare::Sample::tally);
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

fn unreadable(path: &Path, error: &impl std::fmt::Display) -> CommandError {
    CommandError::unusable(format_args!("cannot use {}: {error}", path.display()))
}
