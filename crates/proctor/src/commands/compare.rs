//! `proctor compare`: a run judged against another one or a baseline.

use std::collections::BTreeMap;
use std::process::ExitCode;

use proctor_compare::{Comparison, Record, Rules, Side, compare};
use proctor_history::History;
use proctor_record::{RunChoice, RunStore};
use proctor_report::{comparison_markdown, comparison_text};

use super::{baseline, run_at};
use crate::cli::Cli;
use crate::cli::past::{CompareArguments, CompareFormat};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &CompareArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    let before = side(&arguments.before, &store, terminal)?;
    let after = side(&arguments.after, &store, terminal)?;
    let records = records(&store, after.run_id.as_deref(), terminal);
    let comparison = compare(&before, &after, &records, &Rules::default());
    match arguments.format {
        CompareFormat::Json => terminal.json(&comparison)?,
        CompareFormat::Markdown => {
            terminal.print(&comparison_markdown(&comparison, arguments.all))?;
        }
        CompareFormat::Text => {
            let text = comparison_text(&comparison, arguments.all, terminal.style());
            terminal.print(&text)?;
        }
    }
    Ok(code(&comparison, arguments.gate))
}

fn code(comparison: &Comparison, gate: bool) -> ExitCode {
    ExitCode::from(u8::from(gate && comparison.regressed()))
}

/// What earlier runs have shown. Without it a comparison is only more careful, so trouble is no reason to stop.
fn records(
    store: &RunStore,
    except: Option<&str>,
    terminal: &mut Terminal,
) -> BTreeMap<String, Record> {
    let read = History::open(store).and_then(|mut history| {
        let records = history.records(except)?;
        super::history::tell(&history, terminal);
        Ok(records)
    });
    read.unwrap_or_else(|error| {
        terminal.warn(&format!("compared without the history: {error}"));
        BTreeMap::new()
    })
}

/// The side that a person means by a name.
pub(super) fn side(
    name: &str,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<Side, CommandError> {
    if let Some(side) = baseline::named(name, store)? {
        return Ok(side);
    }
    let path = store.resolve(name).map_err(CommandError::unusable)?;
    if let Some(side) = baseline::in_file(&path)? {
        return Ok(side);
    }
    let loaded =
        proctor_record::load_outline(&path, &RunChoice::Last).map_err(CommandError::unusable)?;
    if !loaded.problems.is_empty() {
        terminal.warn(&format!(
            "{}: {} unreadable lines were passed over; `proctor validate` lists them",
            path.display(),
            loaded.problems.len()
        ));
    }
    let info = run_at(&path, store).and_then(|run| run.info().ok());
    Ok(Side::of(&loaded.run, name).about(info))
}
