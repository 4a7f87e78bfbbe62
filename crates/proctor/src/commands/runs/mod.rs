//! `proctor runs`: what was recorded, under which names, what may go; and an end for what goes on.

mod stop;

use std::fs;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use proctor_events::{Millis, Timestamp};
use proctor_history::{History, RunRow};
use proctor_record::{RunFolder, RunStore};
use proctor_report::{Paint, Style, duration};
use proctor_text::{plural, pluralize, printable, shorten};
use proctor_verdict::RunState;
use serde::Serialize;

use self::stop::StopArguments;
use super::{history, run_at};
use crate::cli::{Cli, Format};
use crate::commands::RUN_HELP;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{project, values};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  proctor runs                      the newest runs
  proctor runs tag last release-4   a name for a run: `proctor compare release-4 last`
  proctor runs stop                 stop the run in progress
  proctor runs prune                what could be removed; --yes removes it")]
pub(crate) struct RunsArguments {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,

    /// How many to list, newest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

impl RunsArguments {
    pub(crate) fn format(&self) -> Format {
        match &self.action {
            None => self.format,
            Some(RunsAction::Stop(arguments)) => arguments.format,
            Some(RunsAction::Prune(arguments)) => arguments.format,
            Some(RunsAction::Tag(_)) => Format::Text,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// Give a run a name, or take it away
    Tag(TagArguments),
    /// Stop a run in progress, also one that was started elsewhere
    Stop(StopArguments),
    /// Remove old recordings; without --yes it only says which
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TagArguments {
    #[arg(help = RUN_HELP)]
    pub(crate) run: String,

    /// The names: letters, digits, `-`, `_` and `.`
    #[arg(required = true, value_name = "TAG", value_parser = values::run_tag)]
    pub(crate) tags: Vec<String>,

    /// Take the names away instead
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Never removed: runs that are going on, tagged runs, runs that a baseline was blessed from, and the newest ones.
Removed recordings are also forgotten by `history` and `flaky`.")]
pub(crate) struct PruneArguments {
    /// Keep the N newest runs, whatever their age
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) keep: usize,

    /// Keep runs younger than this many days
    #[arg(long, value_name = "DAYS", default_value_t = 14)]
    pub(crate) days: u32,

    /// Remove them
    #[arg(long)]
    pub(crate) yes: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(crate) fn run(
    arguments: &RunsArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    match &arguments.action {
        None => list(arguments, &store, terminal)?,
        Some(RunsAction::Tag(arguments)) => tag(arguments, &store, terminal)?,
        Some(RunsAction::Stop(arguments)) => return stop::run(arguments, &store, terminal),
        Some(RunsAction::Prune(arguments)) => prune(arguments, &store, terminal)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    row: RunRow,
    live: bool,
}

fn list(
    arguments: &RunsArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let mut index = History::open_without_sync(store)?;
    let rows = index.newest_runs(arguments.limit)?;
    history::print_notes(&index, terminal);
    let all = index.sync_summary().runs;
    let live = |name: &str| RunFolder::new(&store.runs_folder().join(name)).is_live();
    let listed: Vec<Listed> = rows
        .into_iter()
        .map(|row| Listed { live: row.finished_at.is_none() && live(&row.name), row })
        .map(|mut listed| {
            // A run without an end says nothing of its state; whether its process is there does.
            let state = listed.row.run_state(listed.live);
            listed.row.state.get_or_insert_with(|| state.word().to_owned());
            listed
        })
        .collect();
    if arguments.format == Format::Json {
        return terminal.json(&listed);
    }
    if listed.is_empty() {
        return terminal.line("no runs here yet; `proctor run` makes one");
    }
    let names = store.names()?;
    let names: Vec<String> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let style = terminal.style();
    let rows: Vec<(Cells, String)> =
        listed.iter().map(|run| (cells(run, &names), tail(&run.row, style))).collect();
    for line in aligned(&rows, style) {
        terminal.line(&line)?;
    }
    let more = all.saturating_sub(listed.len() as u64);
    if more > 0 {
        terminal.line(&format!("… and {more} more (-n {all})"))?;
    }
    Ok(())
}

/// What stands in columns of a run, without what is as long as it likes: that comes last.
type Cells = [Cell; 7];

/// A part of a line, and how it is painted.
type Cell = (Option<Paint>, String);

fn cells(run: &Listed, names: &[String]) -> Cells {
    let row = &run.row;
    let phrase = row.phrase(run.live).to_owned();
    let state = match (row.verdict.as_deref(), row.run_state(run.live)) {
        (Some("passed"), _) => (Some(Paint::Good), phrase),
        (_, RunState::Loading | RunState::Running) => (Some(Paint::Bold), phrase),
        (_, RunState::Stopped | RunState::Died) => (Some(Paint::Warn), phrase),
        _ => (Some(Paint::Bad), phrase),
    };
    let commit = row.commit.as_ref().map(|commit| commit.chars().take(8).collect::<String>());
    let dirty = if row.dirty == Some(true) { "+" } else { "" };
    [
        (Some(Paint::Bold), shortest(&row.name, names)),
        (None, row.started_at.as_deref().map(when).unwrap_or_default()),
        state,
        (None, counts(row)),
        (None, row.duration_ms.map(|ms| duration(Millis::new(ms))).unwrap_or_default()),
        (None, row.cost_usd.map(|cost| format!("${cost:.4}")).unwrap_or_default()),
        (Some(Paint::Dim), commit.map(|commit| format!("{commit}{dirty}")).unwrap_or_default()),
    ]
}

/// Tags and the command.
fn tail(row: &RunRow, style: Style) -> String {
    let mut parts: Vec<String> =
        row.tags.iter().map(|tag| format!("[{}]", printable(tag))).collect();
    let command = row.argv.iter().skip(1).cloned().collect::<Vec<_>>().join(" ");
    parts.push(style.paint(Paint::Dim, shorten(&command, 60)));
    parts.join("  ")
}

/// Lines whose columns stand below each other. A column that is empty everywhere is not there.
fn aligned(rows: &[(Cells, String)], style: Style) -> Vec<String> {
    let width = |column: usize| {
        let widths = rows.iter().map(|(cells, _)| cells[column].1.chars().count());
        widths.max().unwrap_or_default()
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |(cells, tail): &(Cells, String)| {
        let mut text = String::new();
        for ((paint, cell), width) in cells.iter().zip(widths).filter(|(_, width)| *width > 0) {
            let room = width - cell.chars().count() + 2;
            match paint {
                Some(paint) => text += &style.paint(*paint, cell),
                None => text += cell,
            }
            text.extend(std::iter::repeat_n(' ', room));
        }
        (text + tail).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The verdicts of the examples, each by its own word, as the summary of a run has them: how some of them passed stands behind the passed ones.
fn counts(row: &RunRow) -> String {
    let count = |name: &str| row.counts.get(name).copied().unwrap_or_default();
    let numbers = |words: &[(&str, &str)]| -> Vec<String> {
        let shown = words.iter().filter(|(name, _)| count(name) > 0);
        shown.map(|(name, words)| format!("{} {words}", count(name))).collect()
    };
    let rate = plural(count("within_rate"), "within its pass rate", "within their pass rate");
    let kinds =
        numbers(&[("flaky", "flaky"), ("within_rate", rate), ("unchecked", "checked nothing")]);
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let errors = plural(count("errors"), "error outside examples", "errors outside examples");
    let others = numbers(&[
        ("failed", "failed"),
        ("errored", "errored"),
        ("crashed", "crashed"),
        ("timed_out", "timed out"),
        ("inconclusive", "inconclusive"),
        ("pending", "pending"),
        ("cancelled", "cancelled"),
        ("not_run", "not run"),
        ("running", "unfinished"),
        ("errors", errors),
    ]);
    let passed = format!("{} passed{kinds}", count("passed"));
    std::iter::once(passed).chain(others).collect::<Vec<_>>().join(", ")
}

/// The time without fractions of a second.
fn when(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// The shortest start of the id that means no other run, but not less than eight characters. The names are sorted, so the neighbours tell.
fn shortest(name: &str, names: &[String]) -> String {
    let place = names.partition_point(|other| other.as_str() < name);
    let behind = names[place..].iter().find(|other| *other != name);
    let neighbours = [place.checked_sub(1).map(|before| &names[before]), behind];
    let unique = |length: &usize| {
        let start: String = name.chars().take(*length).collect();
        !neighbours.iter().flatten().any(|other| other.starts_with(&start))
    };
    let length = (8..=name.chars().count()).find(unique).unwrap_or(name.chars().count());
    name.chars().take(length).collect()
}

/// The folder of a run, which must be one of this project.
fn folder(name: &str, store: &RunStore) -> Result<RunFolder, CommandError> {
    let path = store.resolve(name)?;
    run_at(&path, store).ok_or_else(|| {
        CommandError::not_found(format_args!("{} is not a run of this project", path.display()))
    })
}

fn tag(
    arguments: &TagArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let folder = folder(&arguments.run, store)?;
    let has = folder.change_tags(|tags| {
        tags.retain(|tag| !arguments.tags.contains(tag));
        if !arguments.remove {
            tags.extend(arguments.tags.iter().cloned());
        }
    });
    let has = has?;
    let names = if has.is_empty() { "no tag".to_owned() } else { has.join(", ") };
    terminal.line(&format!("{}: {}", folder.name(), printable(&names)))
}

#[derive(Serialize)]
struct Pruned {
    removed: bool,
    runs: Vec<String>,
    bytes: u64,
    kept: usize,
}

fn prune(
    arguments: &PruneArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let folders = store.list()?;
    let blessed = proctor_history::blessed_runs(store);
    let now = Timestamp::now();
    let old: Vec<&RunFolder> = folders
        .iter()
        .rev()
        .skip(arguments.keep)
        .filter(|folder| may_go(folder, &blessed, arguments.days, now))
        .collect();
    let pruned = Pruned {
        removed: arguments.yes,
        runs: old.iter().map(|folder| folder.name()).collect(),
        bytes: old.iter().map(|folder| size(folder)).sum(),
        kept: folders.len() - old.len(),
    };
    if arguments.yes {
        for folder in &old {
            fs::remove_dir_all(folder.path()).map_err(|error| {
                let path = folder.path().display();
                CommandError::system(format_args!("cannot remove {path}: {error}"))
                    .with_source(error)
            })?;
        }
    }
    if arguments.format == Format::Json {
        return terminal.json(&pruned);
    }
    for name in &pruned.runs {
        terminal.line(name)?;
    }
    let runs = pluralize(pruned.runs.len() as u64, "run");
    let megabytes = pruned.bytes.div_ceil(1_000_000);
    let kept = pruned.kept;
    terminal.line(&match (pruned.runs.is_empty(), arguments.yes) {
        (true, _) => format!("nothing to remove; {kept} kept"),
        (false, true) => format!("removed {runs}, {megabytes} MB; {kept} kept"),
        (false, false) => {
            format!("would remove {runs}, {megabytes} MB, and keep {kept}; --yes does it")
        }
    })
}

/// Whether the run may be removed: finished or dead, without a name, not blessed, and old by its own start time.
fn may_go(folder: &RunFolder, blessed: &[String], days: u32, now: Timestamp) -> bool {
    // A folder that does not say what it is stays.
    let Ok(info) = folder.info() else { return false };
    let age = now.as_second() - info.started_at.as_second();
    info.tags.is_empty()
        && !blessed.iter().any(|run| *run == folder.name() || *run == info.run_id.as_str())
        && !folder.is_live()
        && age > i64::from(days) * 86_400
}

fn size(folder: &RunFolder) -> u64 {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
