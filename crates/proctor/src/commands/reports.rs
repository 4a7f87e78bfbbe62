//! Reports of a run to files: JUnit, JSON, Markdown, trajectories. The same at a run's end and afterwards.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use proctor_record::{ExampleSource, RunChoice};
use proctor_report::{
    HtmlOutline, JunitDialect, RunJson, markdown_of, trajectories_of, write_html, write_json,
    write_junit,
};

use super::pieces::{Output, PieceKind};
use crate::error::CommandError;
use crate::secrets;
use crate::terminal::Terminal;

/// A form of JUnit XML.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectChoice {
    /// Everything there is to say; most readers take it
    #[default]
    Default,
    /// Only what the schema of Jenkins' xUnit plugin allows
    Jenkins,
    /// Only what Maven Surefire's schema allows: one suite
    Surefire,
}

impl From<DialectChoice> for JunitDialect {
    fn from(choice: DialectChoice) -> Self {
        match choice {
            DialectChoice::Default => Self::Default,
            DialectChoice::Jenkins => Self::Jenkins,
            DialectChoice::Surefire => Self::Surefire,
        }
    }
}

/// Reports of a run, at its end or afterwards.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReportArguments {
    /// Write a JUnit report (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) junit: Option<PathBuf>,

    /// Which schema the JUnit report keeps to
    #[arg(long, value_name = "NAME", value_enum, default_value_t = DialectChoice::Default)]
    pub(crate) junit_dialect: DialectChoice,

    /// Write the run as JSON (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,

    /// Write a report for a pull request as Markdown (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write the run as one HTML file with the viewer in it, which needs no server (`-` is standard output)
    #[arg(long, value_name = "PATH")]
    pub(crate) html: Option<PathBuf>,

    /// Write every conversation as an ATIF 1.7 trajectory, one file each, into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) atif: Option<PathBuf>,

    /// Send one trace per attempt to an OpenTelemetry collector (OTLP over HTTP), as in `http://localhost:4318`
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,

    /// Send what was said, too: messages, arguments, results, reasoning
    #[arg(long, requires = "otlp")]
    pub(crate) otlp_content: bool,
}

/// Refuses a report that could not be written, before anything runs.
pub(super) fn check(arguments: &ReportArguments) -> Result<(), CommandError> {
    let files = [&arguments.junit, &arguments.json, &arguments.markdown, &arguments.html];
    for path in files.into_iter().flatten() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(CommandError::system(format_args!(
                "the report cannot be written to {}: {}",
                path.display(),
                if path.is_dir() { "it is a folder" } else { "its folder does not exist" }
            )));
        }
    }
    if let Some(folder) = &arguments.atif {
        std::fs::create_dir_all(folder).map_err(|error| {
            CommandError::system(format_args!(
                "trajectories cannot be written to {}: {error}",
                folder.display()
            ))
        })?;
    }
    Ok(())
}

/// Whether any report is wanted.
pub(super) fn wanted(arguments: &ReportArguments) -> bool {
    let files =
        [&arguments.junit, &arguments.json, &arguments.markdown, &arguments.html, &arguments.atif];
    arguments.otlp.is_some() || files.into_iter().any(Option::is_some)
}

pub(super) fn write(
    arguments: &ReportArguments,
    source: &dyn ExampleSource,
    recording: (&Path, &RunChoice),
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let totals = source.totals()?;
    if let Some(path) = &arguments.junit {
        let dialect = arguments.junit_dialect.into();
        let output = Output::to(path, terminal)?;
        output.write_pieces(PieceKind::Text, recording.0, |write| {
            write_junit(source, &totals.counts, "proctor", dialect, write)
        })?;
    }
    if let Some(path) = &arguments.json {
        let run = RunJson::of(source, totals.clone());
        let output = Output::to(path, terminal)?;
        output.write_pieces(PieceKind::Json, recording.0, |write| write_json(&run, write))?;
    }
    if let Some(path) = &arguments.markdown {
        put(path, &markdown_of(source, &totals.counts)?, terminal)?;
    }
    if let Some(path) = &arguments.html {
        let page = proctor_server::html_report();
        let unreadable = |error| CommandError::io("read", recording.0, error);
        let events = proctor_record::run_events(recording.0, recording.1).map_err(unreadable)?;
        let mut outline = html_outline(recording.0, source)?;
        let lines = events.filter_map(move |event| match (event, &mut outline) {
            (Err(error), _) => Some(Err(error)),
            (Ok(event), Some(outline)) => outline.line(&event).map(Ok),
            (Ok(event), None) => Some(Ok(event.to_json())),
        });
        let output = Output::to(path, terminal)?;
        output
            .write_pieces(PieceKind::Text, recording.0, |write| write_html(&page, lines, write))?;
    }
    if let Some(folder) = &arguments.atif {
        put_trajectories(folder, source, terminal)?;
    }
    if let Some(address) = &arguments.otlp {
        super::otlp::send(address, source, arguments.otlp_content)?;
    }
    Ok(())
}

/// From this size on a browser takes long to open the report, so it carries what failed whole and the rest as an outline.
const LARGE_REPORT: u64 = 20_000_000;

/// What is left out of the report of a large recording; none if it is carried as it is.
fn html_outline(
    recording: &Path,
    source: &dyn ExampleSource,
) -> Result<Option<HtmlOutline>, CommandError> {
    let size = std::fs::metadata(recording).map_or(0, |file| file.len());
    if size <= LARGE_REPORT {
        return Ok(None);
    }
    let mut outline = HtmlOutline::new();
    source.for_each_example(&mut |example| outline.add(source.run(), example))?;
    Ok(Some(outline))
}

fn put_trajectories(
    folder: &Path,
    source: &dyn ExampleSource,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let mut outcome = Ok(());
    for place in 0..source.example_count() {
        source.with_example(place, &mut |example| {
            for trajectory in trajectories_of(source.run(), example) {
                let written = serde_json::to_string_pretty(&trajectory)
                    .map_err(|error| std::io::Error::from(error).into())
                    .and_then(|text| {
                        let name = file_name(&trajectory.trajectory_id);
                        put(&folder.join(name), &format!("{text}\n"), terminal)
                    });
                if outcome.is_ok() {
                    outcome = written;
                }
            }
        })?;
    }
    outcome
}

/// Ids come from recordings, which anybody may have written: nothing in them may lead elsewhere.
fn file_name(id: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    format!("{}.json", id.chars().take(150).map(fit).collect::<String>())
}

fn put(path: &Path, text: &str, terminal: &mut Terminal) -> Result<(), CommandError> {
    if path == Path::new("-") {
        return terminal.print(text);
    }
    secrets::write_file(path, text)
}
