//! `proctor history`: what the runs have shown over time.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use proctor_events::Millis;
use proctor_history::{
    History, HistoryError, HistoryPoint, KnownExample, SearchQuery, SearchResult,
};
use proctor_record::RunStore;
use proctor_report::{Paint, Style, duration};
use proctor_stats::{Z95, wilson};
use proctor_text::{pluralize, printable, shorten};
use serde::Serialize;

use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  proctor history                     the whole suite, run by run
  proctor history 'books a venue'     one example, by id or by part of its description
  proctor history --tag slow          all examples with a tag
  proctor history --search refund     messages that contain a word, in all recordings
  proctor history rebuild             make the index anew from the recordings")]
pub(crate) struct HistoryArguments {
    #[command(subcommand)]
    pub(crate) action: Option<HistoryAction>,

    /// The example: the start of its id, or part of its description
    pub(crate) example: Option<String>,

    /// All examples with this tag
    #[arg(long, value_name = "TAG", conflicts_with = "example")]
    pub(crate) tag: Option<String>,

    /// Look for words in all transcripts; also "a phrase", /a regular expression/, and by:user, by:agent, by:tool, by:judge
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["example", "tag"])]
    pub(crate) search: Option<String>,

    /// How many runs or hits to list, newest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    pub(crate) limit: usize,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryAction {
    /// Make the index anew from the recordings
    Rebuild,
}

/// A history for programs.
#[derive(Serialize)]
struct ExampleHistory {
    example: Option<KnownExample>,
    tag: Option<String>,
    passed: u64,
    attempts: u64,
    rate_low: f64,
    rate_high: f64,
    runs: Vec<HistoryPoint>,
}

pub(crate) fn run(
    arguments: &HistoryArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    if let Some(HistoryAction::Rebuild) = arguments.action {
        return rebuild(&store, terminal);
    }
    if let Some(words) = &arguments.search {
        let query = search_query(words)?;
        let searched = proctor_history::search_runs(&store, &query, arguments.limit);
        return show_hits(&searched, arguments.format, terminal);
    }
    let mut history = History::open(&store)?;
    let answer = points(arguments, &mut history);
    print_notes(&history, terminal);
    let (example, points) = answer?;
    let report = example_history(example, arguments.tag.clone(), points);
    match arguments.format {
        Format::Json => terminal.json(&report)?,
        Format::Text => terminal.print(&text(&report, arguments.limit, terminal.style()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the runs and files that were left out.
pub(super) fn print_notes(history: &History, terminal: &mut Terminal) {
    for note in history.notes() {
        terminal.warn(note);
    }
    for skipped in &history.sync_summary().skipped {
        terminal.warn(&format!(
            "run {} is left out: its recording is damaged ({})",
            skipped.run,
            printable(&skipped.problem)
        ));
    }
}

fn rebuild(store: &RunStore, terminal: &mut Terminal) -> Result<ExitCode, CommandError> {
    let history = History::rebuild(store)?;
    print_notes(&history, terminal);
    let runs = pluralize(history.sync_summary().runs, "run");
    terminal.line(&format!("made anew from {runs}"))?;
    Ok(ExitCode::SUCCESS)
}

type Answer = (Option<KnownExample>, Vec<HistoryPoint>);

fn points(arguments: &HistoryArguments, history: &mut History) -> Result<Answer, CommandError> {
    let failed = |error: HistoryError| CommandError::from(error);
    let Some(wanted) = &arguments.example else {
        let points = match &arguments.tag {
            Some(tag) => history.tag(tag),
            None => history.suite(),
        };
        let points = points.map_err(failed)?;
        if let (Some(tag), true) = (&arguments.tag, points.is_empty()) {
            return Err(CommandError::not_found(format_args!(
                "no recorded example has the tag `{tag}`"
            )));
        }
        return Ok((None, points));
    };
    let mut found = history.find(wanted).map_err(failed)?;
    match found.len() {
        0 => Err(CommandError::not_found(format_args!(
            "no recorded example has `{wanted}` in its description or as its id"
        ))),
        1 => {
            let example = found.remove(0);
            let points = history.example(&example.id).map_err(failed)?;
            Ok((Some(example), points))
        }
        count => {
            let mut error =
                CommandError::usage(format_args!("`{wanted}` matches {count} examples"));
            for example in found.iter().take(10) {
                error = error.hint(format!("{}  {}", example.id, shorten(&example.title, 100)));
            }
            Err(error)
        }
    }
}

fn example_history(
    example: Option<KnownExample>,
    tag: Option<String>,
    runs: Vec<HistoryPoint>,
) -> ExampleHistory {
    let passed = runs.iter().map(|point| point.passed).sum();
    let attempts = runs.iter().map(|point| point.attempts).sum();
    let rate = wilson(passed, attempts, Z95);
    ExampleHistory {
        example,
        tag,
        passed,
        attempts,
        rate_low: rate.low,
        rate_high: rate.high,
        runs,
    }
}

fn text(report: &ExampleHistory, limit: usize, style: Style) -> String {
    let mut text = String::new();
    if let Some(example) = &report.example {
        let file = example.file.as_deref().unwrap_or_default();
        text += &format!(
            "{}  {}  {}\n",
            style.paint(Paint::Bold, printable(&example.title)),
            style.paint(Paint::Dim, &example.id),
            printable(file)
        );
    }
    for point in report.runs.iter().take(limit) {
        text += &line(point, style);
    }
    if report.runs.len() > limit {
        text += &format!("… and {} more\n", report.runs.len() - limit);
    }
    if report.attempts == 0 {
        return text + "no attempt that counts is on record\n";
    }
    text + &format!(
        "{} of {} attempts passed in {} (the rate is {:.0} to {:.0} %, 95 % interval)\n",
        report.passed,
        report.attempts,
        pluralize(report.runs.len() as u64, "run"),
        report.rate_low * 100.0,
        report.rate_high * 100.0
    )
}

fn line(point: &HistoryPoint, style: Style) -> String {
    let all = point.passed == point.attempts;
    let (paint, sign) = match (point.attempts, all) {
        (0, _) => (Paint::Dim, "-"),
        (_, true) => (Paint::Good, "✓"),
        (_, false) if point.passed > 0 => (Paint::Warn, "~"),
        (_, false) => (Paint::Bad, "✗"),
    };
    let mut parts = vec![
        style.paint(paint, sign),
        point
            .started_at
            .as_deref()
            .map_or("", |time| time.get(..16).unwrap_or(time))
            .replace('T', " "),
        point.run.clone(),
        format!("{}/{}", point.passed, point.attempts),
    ];
    parts.extend(point.status.as_ref().map(|status| printable(status).replace('_', " ")));
    parts.extend(point.duration_ms.map(|ms| duration(Millis::new(ms))));
    parts.extend(point.cost_usd.map(|cost| format!("${cost:.4}")));
    let commit = point.commit.as_ref().map(|commit| commit.chars().take(8).collect::<String>());
    let dirty = if point.dirty == Some(true) { "+" } else { "" };
    parts.extend(commit.map(|commit| style.paint(Paint::Dim, format!("{commit}{dirty}"))));
    format!("{}\n", parts.join("  "))
}

/// What `--search` looks for.
pub(super) fn search_query(words: &str) -> Result<SearchQuery, CommandError> {
    SearchQuery::parse(words)
        .map_err(|error| CommandError::usage(format_args!("--search: {error}")))
}

/// Where the words were found.
pub(super) fn show_hits(
    searched: &SearchResult,
    format: Format,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    if format == Format::Json {
        terminal.json(searched)?;
        return Ok(ExitCode::SUCCESS);
    }
    let style = terminal.style();
    let mut above = None;
    for hit in &searched.hits {
        let heading = (hit.run.clone(), hit.example_id.clone());
        if above.as_ref() != Some(&heading) {
            let title = hit.title.as_deref().unwrap_or("outside examples");
            let id = hit.example_id.as_deref().unwrap_or_default();
            let place = style.paint(Paint::Dim, format!("{} {}", hit.run, printable(id)));
            terminal
                .line(&format!("{}  {place}", style.paint(Paint::Bold, shorten(title, 200))))?;
            above = Some(heading);
        }
        let turn = hit.turn.map(|turn| format!(" turn {turn}")).unwrap_or_default();
        let kind = format!("{:?}", hit.found).to_lowercase();
        terminal.line(&format!("  {kind}{turn}: {}", printable(&hit.excerpt)))?;
    }
    for problem in &searched.unreadable {
        terminal.warn(&format!("not searched: {problem}"));
    }
    let more = if searched.truncated { ", and there may be more (-n N)" } else { "" };
    let hits = pluralize(searched.hits.len() as u64, "hit");
    terminal.line(&format!("{hits} in {}{more}", pluralize(searched.runs, "run")))?;
    Ok(ExitCode::SUCCESS)
}
