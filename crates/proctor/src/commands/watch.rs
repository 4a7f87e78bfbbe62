//! `proctor watch`: follows a recording while it grows.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use proctor_events::{Body, Event, Published, TextFilter};
use proctor_record::{Growth, RecordedLine, RecordingFollower, RunSplitter, without_digest};
use proctor_report::{LiveLines, Mode};
use proctor_stream::RemoteStream;
use proctor_tui::{EventSource, FollowedFile, ScreenOptions, SourcePoll};

use super::{display_mode, recording_path};
use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::secrets;
use crate::terminal::Terminal;

const WATCH_HELP: &str = "\
A recording (a file of JSON lines, `last`, `last~2`, a tag, the start of a run id), or the address of a stream: ws://HOST:PORT, or what `proctor serve` printed";

#[derive(Debug, Args)]
#[command(after_help = "\
Follows the run until it has finished; end it earlier with Ctrl-C. The run itself is not disturbed.
For other programs, `tail -f FILE` gives the raw events: they are written one line at a time.")]
pub(crate) struct WatchArguments {
    #[arg(help = WATCH_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// Print each event as it was recorded (json) or as readable lines (text)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Print lines even where a screen could be drawn
    #[arg(long)]
    pub(crate) lines: bool,
}

pub(crate) fn run(
    arguments: &WatchArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let elsewhere = RemoteRun::open(&arguments.recording)?;
    let path = match &elsewhere {
        Some(elsewhere) => elsewhere.path(),
        None => recording_path(&arguments.recording, cli)?,
    };
    if arguments.format == Format::Text
        && !arguments.lines
        && display_mode::detect() == Mode::Interactive
    {
        return screen(&path, terminal);
    }
    let mut follower = RecordingFollower::new(&path);
    let mut view = View::new(arguments.format, terminal);
    let failed = |error| CommandError::io("read", &path, error);
    loop {
        match follower.read_including_torn_line(|line| view.take(&line)).map_err(failed)? {
            Growth::More => {}
            Growth::Restarted => view.restart(),
            Growth::Nothing => {
                // Everything there is has been read: from here on it is live.
                terminal.print(&view.drain())?;
                if view.finished {
                    return Ok(ExitCode::SUCCESS);
                }
                if let Some(problem) = elsewhere.as_ref().and_then(RemoteRun::broken) {
                    return Err(CommandError::input(problem));
                }
                let at_most = if elsewhere.is_some() { 200 } else { 1000 };
                follower.wait(Duration::from_millis(at_most)).map_err(failed)?;
            }
        }
    }
}

/// The file that a stream is copied to.
const COPY: &str = "stream.jsonl";

/// A run elsewhere, copied to a file that goes away with us.
struct RemoteRun {
    stream: RemoteStream,
    folder: tempfile::TempDir,
}

impl RemoteRun {
    /// `None` where the name is not an address.
    fn open(name: &str) -> Result<Option<Self>, CommandError> {
        if !RemoteStream::is_address(name) {
            return Ok(None);
        }
        let mode = std::fs::Permissions::from_mode(0o700);
        let folder =
            tempfile::Builder::new().prefix("proctor-watch-").permissions(mode).tempdir()?;
        let stream = RemoteStream::copy(name, &folder.path().join(COPY))?;
        Ok(Some(Self { stream, folder }))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(COPY)
    }

    /// Why nothing more will come though the run has not finished.
    fn broken(&self) -> Option<String> {
        self.stream.is_over().then(|| self.stream.problem()).flatten()
    }
}

/// The interactive screen over a recording, finished or not.
fn screen(path: &Path, terminal: &Terminal) -> Result<ExitCode, CommandError> {
    let options = ScreenOptions {
        style: terminal.style(),
        controls_run: false,
        exit_when_done: false,
        stop: Arc::default(),
    };
    let source =
        FilteredFile { file: FollowedFile::new(path, true), filter: secrets::text_filter() };
    proctor_tui::run(source, &options, |_| {})?;
    Ok(ExitCode::SUCCESS)
}

/// A recording without the secrets that somebody else, or an older version, has left in it.
struct FilteredFile {
    file: FollowedFile,
    filter: TextFilter,
}

impl EventSource for FilteredFile {
    fn poll(&mut self) -> std::io::Result<SourcePoll> {
        Ok(match self.file.poll()? {
            SourcePoll::Event(published) => {
                let mut event = Event::clone(&published);
                event.body.change_texts(&mut |text| (self.filter)(text));
                SourcePoll::Event(Arc::new(Published::new(event)))
            }
            other => other,
        })
    }

    fn dropped(&self) -> u64 {
        self.file.dropped()
    }
}

/// What is to be printed. Until it is drained, a newer run in the same file replaces an older one.
struct View {
    format: Format,
    lines: LiveLines,
    splitter: RunSplitter,
    text: String,
    finished: bool,
}

impl View {
    fn new(format: Format, terminal: &Terminal) -> Self {
        Self {
            format,
            lines: LiveLines::new(terminal.style()),
            splitter: RunSplitter::default(),
            text: String::new(),
            finished: false,
        }
    }

    fn restart(&mut self) {
        self.splitter = RunSplitter::default();
        self.finished = false;
    }

    fn take(&mut self, line: &RecordedLine<'_>) {
        match &line.event {
            Err(problem) => self.text += &format!("(line {}: {problem})\n", line.number),
            Ok(event) => self.show(event, &String::from_utf8_lossy(line.bytes)),
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
