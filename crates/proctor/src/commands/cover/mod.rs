//! `proctor cover`: arguments in, the pipeline, its events, a report out.

pub(crate) mod arguments;
mod events;
mod model;
mod selection;
mod specs;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use proctor_cover::{
    Choice, Effort, Filler, Helpers, Mode, Options, Report, Sandbox, SpecRunner, Step, Stop,
};
use proctor_record::RunStore;
use proctor_record::control::ControlServer;

use self::events::{CoverEvents, Live};
use self::model::ModelFiller;
use self::specs::EmbeddedSpecRunner;
use super::own_launcher;
use super::run::recording::Recording;
use super::run::signals::Signals;
use crate::cli::Cli;
use crate::commands::cover::arguments::{CoverArguments, CoverFormat};
use crate::config::Config;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{project, secrets, values};

/// How many workers run specs at most.
const WORKERS: u32 = 4;

pub(crate) fn run(
    arguments: &CoverArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let mode = mode(&arguments.what);
    let executes =
        arguments.stage.as_deref().is_none_or(|stage| matches!(stage, "implement" | "review"));
    let choice = match selection::choose(arguments, &root, &mode, executes, terminal)? {
        Ok(choice) => choice,
        Err(stop) => return refused(&stop, arguments.format, terminal),
    };
    let options = options(arguments, &config, root.clone(), mode, choice)?;
    let (outcome, signal) = recorded(arguments, &options, &config, terminal)?;
    if let Some(signal) = signal {
        terminal.warn("stopped; what was finished is kept, and the next run goes on from there");
        return Ok(ExitCode::from(128 + signal));
    }
    match outcome {
        Ok(report) => {
            write_reports(arguments, &report)?;
            print(arguments.format, &report, terminal)?;
            Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
        Err(stop) => refused(&stop, arguments.format, terminal),
    }
}

fn options(
    arguments: &CoverArguments,
    config: &Config,
    root: PathBuf,
    mode: Mode,
    choice: Choice,
) -> Result<Options, CommandError> {
    let ruby = arguments.ruby.clone().unwrap_or_else(|| PathBuf::from(&config.ruby.value));
    Ok(Options {
        root,
        mode,
        choice,
        from: arguments.stage.clone().or_else(|| arguments.from.clone()),
        to: arguments.stage.clone(),
        ruby,
        effort: Effort { seconds: f64::from(arguments.effort), ..Effort::default() },
        again: arguments.again,
        launcher: Some(own_launcher()?),
        require_confinement: arguments.require_confinement,
    })
}

/// Runs the pipeline as a run of its own: recorded, shown, and stopped by signals or its control socket.
fn recorded(
    arguments: &CoverArguments,
    options: &Options,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<(Result<Report, Stop>, Option<u8>), CommandError> {
    let argv = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let destinations = config.all_events(arguments.events.as_deref());
    let recording =
        Recording::start_as(argv, None, &options.root, destinations.as_deref(), terminal)?;
    let filler = ModelFiller::open(arguments, config, &options.root, &recording.bus)?;
    let events = CoverEvents::begin(recording.bus.clone());
    let folder = RunStore::new(&options.root).runs_folder().join(recording.bus.run_id().as_str());
    let live =
        Live { counts: events.counts.clone(), name: recording.bus.run_id().as_str().to_owned() };
    let server = ControlServer::start(&folder, live);
    // The first signal ends the run after the step it is in, the second the process.
    let counts = events.counts.clone();
    let signals = Signals::watch(move |_| counts.stop(), end_now)?;
    if let Err(error) = &server {
        terminal
            .warn(&format!("the run has no control socket, so that `proctor runs stop` and the viewer cannot reach it: {error}"));
    }
    let runner = EmbeddedSpecRunner {
        ruby: options.ruby.to_string_lossy().into_owned(),
        sandbox: Sandbox::new(&options.ruby, options.launcher.clone()),
        workers: values::workers(&config.workers.value).unwrap_or(WORKERS).min(WORKERS),
        bus: recording.bus.clone(),
        counts: events.counts.clone(),
    };
    let mut view = View { shows: std::io::stderr().is_terminal() || arguments.progress, terminal };
    let counts = events.counts.clone();
    let outcome = proctor_cover::run_with(
        options,
        Helpers {
            on_step: &mut |step| {
                events.publish_step(&step);
                view.show(&step);
            },
            runner: Some(&runner as &dyn SpecRunner),
            filler: filler.as_ref().map(|filler| filler as &dyn Filler),
            fix: arguments.fix,
            stopped: &|| counts.is_stopped(),
        },
    );
    let (problem, code) = match &outcome {
        Ok(report) => (None, i32::from(!report.is_clean())),
        Err(stop) => {
            (Some(stop.to_string()), signals.caught().map_or(2, |signal| 128 + i32::from(signal)))
        }
    };
    events.end(problem.as_deref(), code);
    drop(server);
    let lost = recording.finish(view.terminal);
    if lost > 0 {
        view.terminal.warn("the run could not be recorded completely");
    }
    Ok((outcome, signals.caught()))
}

/// Prints each step as a line.
struct View<'a> {
    shows: bool,
    terminal: &'a mut Terminal,
}

impl View<'_> {
    fn show(&mut self, step: &Step) {
        if !self.shows {
            return;
        }
        match step {
            Step::Ended { stage, file, message, .. } => {
                self.terminal.note(&format!("{stage:<9} {file}: {message}"));
            }
            Step::Note { stage, text } => self.terminal.note(&format!("{stage:<9} {text}")),
            Step::Begun { .. } => {}
        }
    }
}

#[expect(clippy::exit, reason = "a second signal means: at once")]
fn end_now(signal: u8) {
    std::process::exit(128 + i32::from(signal));
}

fn mode(what: &[String]) -> Mode {
    match what {
        [only] if only == "branch" => Mode::Branch,
        [only] if only == "staged" => Mode::Staged,
        [only] if only == "all" => Mode::All,
        paths => Mode::Paths(
            paths
                .iter()
                .map(|path| std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)))
                .collect(),
        ),
    }
}

fn write_reports(arguments: &CoverArguments, report: &Report) -> Result<(), CommandError> {
    if let Some(path) = &arguments.html {
        secrets::write_file(path, &proctor_cover::html(report))?;
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&proctor_cover::json(report))
            .map_err(std::io::Error::from)?;
        secrets::write_file(path, &(text + "\n"))?;
    }
    Ok(())
}

/// People get the report, programs the answers of the stages (with the report beside them in JSON).
fn print(
    format: CoverFormat,
    report: &Report,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    match format {
        CoverFormat::Text => terminal.print(&proctor_cover::text(report)),
        CoverFormat::Json => terminal.json(&proctor_cover::json(report)),
        CoverFormat::Yaml => terminal.print(&proctor_cover::answers_yaml(&report.answers)),
    }
}

fn refused(
    stop: &Stop,
    format: CoverFormat,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    match format {
        CoverFormat::Text => Err(CommandError::refused(stop).hint(stop.suggestion.clone())),
        CoverFormat::Json => {
            terminal.json(stop)?;
            Ok(ExitCode::from(2))
        }
        CoverFormat::Yaml => {
            terminal.print(&proctor_cover::yaml(stop))?;
            Ok(ExitCode::from(2))
        }
    }
}
