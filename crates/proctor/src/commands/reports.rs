//! Reports of a run to files: JUnit, JSON, Markdown, trajectories. The same at a run's end and afterwards.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use proctor_record::{Entry, Reader, RunChoice, RunData, RunSplitter};
use proctor_report::{JunitDialect, html, junit_dialect, markdown, run_json, trajectories};

use crate::error::CommandError;
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
#[derive(Debug, Default, Args)]
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
    #[cfg(feature = "otlp")]
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,

    /// Send what was said, too: messages, arguments, results, reasoning
    #[cfg(feature = "otlp")]
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
    #[cfg(feature = "otlp")]
    if arguments.otlp.is_some() {
        return true;
    }
    files.into_iter().any(Option::is_some)
}

pub(super) fn write(
    arguments: &ReportArguments,
    run: &RunData,
    recording: (&Path, &RunChoice),
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    if let Some(path) = &arguments.junit {
        let dialect = arguments.junit_dialect.into();
        put(path, &junit_dialect(run, "proctor", dialect), terminal)?;
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&run_json(run)).map_err(std::io::Error::from)?;
        put(path, &format!("{text}\n"), terminal)?;
    }
    if let Some(path) = &arguments.markdown {
        put(path, &markdown(run), terminal)?;
    }
    if let Some(path) = &arguments.html {
        put(path, &page(recording.0, recording.1)?, terminal)?;
    }
    if let Some(folder) = &arguments.atif {
        for trajectory in trajectories(run) {
            let text = serde_json::to_string_pretty(&trajectory).map_err(std::io::Error::from)?;
            let name = file_name(&trajectory.trajectory_id);
            put(&folder.join(name), &format!("{text}\n"), terminal)?;
        }
    }
    #[cfg(feature = "otlp")]
    if let Some(address) = &arguments.otlp {
        super::otlp::send(address, run, arguments.otlp_content)?;
    }
    Ok(())
}

/// The viewer with the events of one run in it.
fn page(events: &Path, choice: &RunChoice) -> Result<String, CommandError> {
    let unreadable = |error: std::io::Error| CommandError::io("read", events, error);
    let mut splitter = RunSplitter::default();
    let (mut lines, mut wanted) = (Vec::new(), false);
    for entry in Reader::open(events).map_err(unreadable)? {
        let Entry::Event { event, .. } = entry else { continue };
        if let Some(name) = splitter.begins(&event) {
            wanted = match choice {
                RunChoice::Last => true,
                RunChoice::Id(id) => name.starts_with(id.as_str()),
            };
            if wanted {
                lines.clear();
            }
        }
        if wanted {
            lines.push(event.to_json());
        }
    }
    Ok(html(&proctor_server::html_report(), lines.iter().map(String::as_str)))
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
    std::fs::write(path, text).map_err(|error| CommandError::io("write", path, error))
}
