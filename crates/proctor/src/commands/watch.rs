//! `proctor watch`: follows a recording while it grows.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use proctor_events::{Body, Event};
use proctor_record::{Follower, Grown, RemoteStream, RunSplitter, without_digest};
use proctor_report::{LiveLines, Mode};
use proctor_tui::{FollowedFile, Options};

use super::{facts, recording_path};
use crate::cli::{Cli, Format, WatchArguments};
use crate::error::CommandError;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &WatchArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let elsewhere = Elsewhere::open(&arguments.recording)?;
    let path = match &elsewhere {
        Some(elsewhere) => elsewhere.path(),
        None => recording_path(&arguments.recording, cli)?,
    };
    if arguments.format == Format::Text && !arguments.lines && facts::mode() == Mode::Interactive {
        return screen(&path, terminal);
    }
    let mut follower = Follower::new(&path);
    let mut view = View::new(arguments.format, terminal);
    let failed =
        |error| CommandError::unusable(format_args!("cannot read {}: {error}", path.display()));
    loop {
        match follower.read().map_err(failed)? {
            Grown::Lines(lines) => lines.iter().for_each(|line| view.take(line)),
            Grown::Restarted => view.restart(),
            Grown::Nothing => {
                // Everything there is has been read: from here on it is live.
                terminal.print(&view.drain())?;
                if view.finished {
                    return Ok(ExitCode::SUCCESS);
                }
                if let Some(problem) = elsewhere.as_ref().and_then(Elsewhere::broken) {
                    return Err(CommandError::unusable(problem));
                }
                let at_most = if elsewhere.is_some() { 200 } else { 1000 };
                follower.wait(Duration::from_millis(at_most)).map_err(failed)?;
            }
        }
    }
}

/// A run elsewhere, copied to a file that goes away with us.
struct Elsewhere {
    stream: RemoteStream,
    folder: tempfile::TempDir,
}

impl Elsewhere {
    /// `None` where the name is not an address.
    fn open(name: &str) -> Result<Option<Self>, CommandError> {
        if !RemoteStream::is_address(name) {
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let stream = RemoteStream::copy(name, &folder.path().join("events.jsonl"))
            .map_err(CommandError::unusable)?;
        Ok(Some(Self { stream, folder }))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("events.jsonl")
    }

    /// Why nothing more will come though the run has not finished.
    fn broken(&self) -> Option<String> {
        self.stream.is_over().then(|| self.stream.problem()).flatten()
    }
}

/// The interactive screen over a recording, finished or not.
fn screen(path: &Path, terminal: &Terminal) -> Result<ExitCode, CommandError> {
    let options = Options {
        style: terminal.style(),
        controls_run: false,
        exit_when_done: false,
        stop: Arc::default(),
    };
    proctor_tui::run(FollowedFile::new(path, true), &options, |_| {})
        .map_err(CommandError::unusable)?;
    Ok(ExitCode::SUCCESS)
}

/// What is to be printed. Until it is drained, a newer run in the same file replaces an older one.
struct View {
    format: Format,
    lines: LiveLines,
    splitter: RunSplitter,
    text: String,
    line_number: u64,
    finished: bool,
}

impl View {
    fn new(format: Format, terminal: &Terminal) -> Self {
        Self {
            format,
            lines: LiveLines::new(terminal.style()),
            splitter: RunSplitter::default(),
            text: String::new(),
            line_number: 0,
            finished: false,
        }
    }

    fn restart(&mut self) {
        self.splitter = RunSplitter::default();
        self.line_number = 0;
        self.finished = false;
    }

    fn take(&mut self, line: &str) {
        self.line_number += 1;
        if line.trim().is_empty() {
            return;
        }
        match Event::from_json(line) {
            Err(problem) => self.text += &format!("(line {}: {problem})\n", self.line_number),
            Ok(event) => self.show(&event, line),
        }
    }

    fn show(&mut self, event: &Event, line: &str) {
        if self.splitter.begins(event).is_some() {
            self.text.clear();
            self.finished = false;
        }
        // Of several runs that write to one file at once, the newest is shown.
        if !self.splitter.in_newest() {
            return;
        }
        match self.format {
            Format::Json => self.text += &format!("{}\n", without_digest(line)),
            Format::Text => {
                for rendered in self.lines.render(event) {
                    self.text += &rendered;
                    self.text.push('\n');
                }
            }
        }
        self.finished |= matches!(event.body, Body::SuiteFinished(_));
    }

    fn drain(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}
