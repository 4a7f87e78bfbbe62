//! `proctor run`: wires suites, runner, recording, terminal and reports together.

mod ab;
pub(crate) mod arguments;
pub(super) mod conversations;
mod embedding;
mod event_outputs;
pub(super) mod fingerprint;
mod formatters;
mod live;
mod machines;
mod outputs;
pub(super) mod recording;
mod repeat;
mod screen;
pub(super) mod signals;
mod view;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use proctor_converse::SavedConversations;
use proctor_events::{ExampleId, Subscription};
use proctor_record::{RunData, load_timings, save_timings};
use proctor_runner::{Controller, OnCrash, RunOptions, RunResult, RunSetup, RunStatus, Schedule};
use proctor_tui::CanRunAgain;
use proctor_verdict::{RunState, StopCause};

use self::embedding::EmbeddingProgram;
use self::live::Live;
use self::machines::WantedMachines;
use self::recording::Recording;
use super::journal::resolve_from_run::Resolving;
use super::{report_problem, scenarios, serve, suites};
use crate::cli::Cli;
use crate::commands::run::arguments::{
    CrashChoice, RunArguments, ScheduleChoice, Tolerance, Unchecked,
};
use crate::config::Config;
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;
use crate::values::{self, Repeat};

pub(crate) fn run(
    arguments: &RunArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    live::detach(&arguments.detached);
    let (root, config) = project::open(cli, terminal)?;
    match &arguments.conversation.ab {
        Some(other) => ab::run(arguments, &root, &config, other, terminal),
        None => run_and_again(arguments, &root, &config, terminal),
    }
}

/// Makes a run, and another one for as long as the user asks for it on the screen.
fn run_and_again(
    arguments: &RunArguments,
    root: &Path,
    config: &Config,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let mut arguments = arguments.clone();
    loop {
        let mut ended = run_once(&arguments, root, config, None, terminal)?;
        let again = ended.review(CanRunAgain::Yes)?;
        if again.is_empty() {
            return Ok(ended.code);
        }
        let selection = &mut arguments.selection;
        selection.stable_id = again.iter().map(ToString::to_string).collect();
        // What is chosen now was chosen from these already.
        (selection.only_failures, selection.shard) = (false, None);
    }
}

/// What became of one run.
pub(super) struct Ended {
    pub(super) code: ExitCode,
    pub(super) run: RunData,
    /// Whether the run was stopped.
    pub(super) interrupted: bool,
    /// The interactive screen, if it is to open again for walking through the run.
    screen: Option<proctor_tui::ClosedScreen>,
    signals: signals::Signals,
}

impl Ended {
    /// Opens the screen again where it stays; returns the examples that are to be run again.
    pub(super) fn review(
        &mut self,
        can_run_again: CanRunAgain,
    ) -> Result<Vec<ExampleId>, CommandError> {
        let screen = self.screen.take();
        let signalled = || self.signals.caught().is_some();
        let review = |screen| proctor_tui::review(screen, can_run_again, signalled);
        Ok(screen.map(review).transpose()?.unwrap_or_default())
    }
}

/// Makes one run, with what was said in earlier conversations if they are to be judged again.
pub(super) fn run_once(
    arguments: &RunArguments,
    root: &Path,
    config: &Config,
    saved: Option<&Arc<SavedConversations>>,
    terminal: &mut Terminal,
) -> Result<Ended, CommandError> {
    let (run, events) = Prepared::new(arguments, root, config, saved, RunPart::Whole, terminal)?;
    run.controller.start()?;
    let shown = view::show(arguments, &run, events, terminal)?;
    run.finish(shown, arguments, root, terminal)
}

/// Whether a run stands alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunPart {
    Whole,
    /// The first of two that are made at the same time.
    First,
    /// The second, which has nothing that only one can have.
    Second,
}

/// A run that can be started: recorded, reachable by its control socket, and stopped by signals.
struct Prepared {
    controller: Controller,
    machines: Option<WantedMachines>,
    recording: Recording,
    server: Option<proctor_server::Server>,
    embedding: Option<EmbeddingProgram>,
    signals: signals::Signals,
    alive: Live,
    resolving: Option<Resolving>,
    timings: PathBuf,
    known: Arc<HashMap<ExampleId, f64>>,
}

impl Prepared {
    /// The run, and its events for a terminal.
    fn new(
        arguments: &RunArguments,
        root: &Path,
        config: &Config,
        saved: Option<&Arc<SavedConversations>>,
        part: RunPart,
        terminal: &mut Terminal,
    ) -> Result<(Self, Subscription), CommandError> {
        let workers = workers(arguments, config)?;
        let mut chosen = suites::choose(&arguments.selection, config, root, workers)?;
        scenarios::apply(&mut chosen.suites, &arguments.conversation, saved, config, root)?;
        if part != RunPart::Whole {
            chosen.suites.iter_mut().for_each(scenarios::share_with_another);
        }
        if !view::has_screen(arguments) {
            chosen.environment.load_notices = terminal.load_notices();
        }
        outputs::check(arguments)?;
        let adaptive = repeat::adaptive(arguments, root, terminal)?;
        let only = part != RunPart::Second;
        let resolving = if only {
            Resolving::prepare(&arguments.journal, root, config, terminal)?
        } else {
            None
        };
        let events = config.all_events(arguments.events.as_deref());
        let machines = WantedMachines::connect(arguments, &mut chosen.suites, root, config)?;
        let run_id = arguments.detached.run_id.as_deref().filter(|_| only);
        let fingerprint = fingerprint::of(arguments, config);
        let events = events.as_deref().filter(|_| only);
        let recording = Recording::start(run_id, fingerprint, root, events, terminal)?;
        let report =
            formatters::final_report(recording.folder(), recording.events_path(), terminal);
        chosen.environment.final_report = Some(report).filter(|_| only);
        let server = (arguments.live && only)
            .then(|| serve::show_live(root, config, &recording.run_id(), terminal))
            .transpose()?;
        let timings = root.join(".proctor/timings.json");
        let mut options = options(arguments, config, workers)?;
        options.adaptive = adaptive;
        options.selection = chosen.selection;
        options.estimates = Arc::new(load_timings(&timings));
        let known = Arc::clone(&options.estimates);
        let setup = RunSetup {
            suites: chosen.suites,
            environment: chosen.environment,
            options,
            bus: recording.bus.clone(),
        };
        let controller = Controller::with_outputs(setup, only.then(|| recording.outputs()));
        if let Some(machines) = &machines {
            controller.use_machines(machines.options(recording.run_id().as_str(), arguments));
        }
        let descriptor = arguments.detached.controller_fd.filter(|_| only);
        let embedding = descriptor
            .map(|descriptor| EmbeddingProgram::connect(descriptor, &recording, &controller))
            .transpose()?;
        let (asked, ended) = (controller.clone(), controller.clone());
        let signals = signals::Signals::watch(
            move |signal| asked.cancel(StopCause::Signal(signal)),
            move |signal| ended.kill(StopCause::Signal(signal)),
        )?;
        let asked = &arguments.detached;
        let alive = Live::start(&controller, recording.folder(), asked, arguments.grace, terminal);
        let events = view::subscribe(&recording);
        let run = Self {
            controller,
            machines,
            recording,
            server,
            embedding,
            signals,
            alive,
            resolving,
            timings,
            known,
        };
        Ok((run, events))
    }

    /// Everything that follows the last example.
    fn finish(
        self,
        Shown { result, run, screen }: Shown,
        arguments: &RunArguments,
        root: &Path,
        terminal: &mut Terminal,
    ) -> Result<Ended, CommandError> {
        let Self { mut recording, signals, machines, .. } = self;
        // Everything of the run is removed at the engine before its end is said.
        drop(machines);
        let (events_path, folder) = (recording.events_path(), recording.folder().to_owned());
        if result.status == RunStatus::Cancelled {
            recording.interrupted();
        }
        let failures = recording.finish(terminal);
        if let Some(embedding) = self.embedding {
            embedding.finish();
        }
        if let Some(server) = self.server {
            server.finish(serve::FINAL_EVENTS_TIMEOUT);
        }
        if let Err(error) =
            save_timings(&self.timings, Arc::unwrap_or_clone(self.known), &result.durations)
        {
            terminal.warn(&format!("cannot write {}: {error}", self.timings.display()));
        }
        self.alive.finish(terminal);
        outputs::write(arguments, &run, &events_path, terminal)?;
        formatters::print_output(&folder, terminal)?;
        let resolving = self.resolving;
        let resolved = resolving.map(|r| r.finish(&result, signals.caught(), terminal)).transpose();
        let code = conclude(&result, failures, root)?;
        match resolved {
            // What the examples did comes first; but a success that was not written down is none.
            Err(error) if !result.verdict.is_passed() => terminal.report(&error),
            resolved => drop(resolved?),
        }
        let screen = screen.filter(|_| screen::stays(arguments, &result.verdict));
        let interrupted = result.verdict.state() == RunState::Stopped;
        Ok(Ended { code, run, interrupted, screen, signals })
    }
}

fn workers(arguments: &RunArguments, config: &Config) -> Result<u32, CommandError> {
    if let Some(workers) = arguments.workers {
        return Ok(workers);
    }
    values::workers(&config.workers.value).map_err(|problem| {
        let setting = &config.workers;
        CommandError::configuration(format_args!(
            "{}: workers = {}: {problem}",
            setting.origin, setting.value
        ))
    })
}

fn options(
    arguments: &RunArguments,
    config: &Config,
    workers: u32,
) -> Result<RunOptions, CommandError> {
    let duration = |flag: Option<u64>, key: &str, in_file: Option<&String>| match (flag, in_file) {
        (None, Some(text)) => values::duration(text).map(Some).map_err(|problem| {
            CommandError::configuration(format_args!(
                "proctor.toml: run.{key} = {text:?}: {problem}"
            ))
        }),
        (flag, _) => Ok(flag),
    };
    Ok(RunOptions {
        workers,
        schedule: match arguments.schedule {
            // With one worker there is nothing to balance, so the suite's own order stands.
            ScheduleChoice::Longest if workers == 1 => Schedule::AsListed,
            ScheduleChoice::Longest => Schedule::LongestFirst,
            ScheduleChoice::Listed => Schedule::AsListed,
            ScheduleChoice::RoundRobin => Schedule::RoundRobin,
        },
        fail_fast: arguments.fail_fast,
        on_crash: match arguments.on_crash {
            CrashChoice::Continue => OnCrash::Continue,
            CrashChoice::Stop => OnCrash::Stop,
        },
        timeout: duration(arguments.timeout, "timeout", config.run.timeout.as_ref())?,
        slow_after: duration(arguments.slow, "slow", config.run.slow.as_ref())?,
        retries: arguments.retries.or(config.run.retries).unwrap_or(0),
        repeats: match arguments.repeat {
            Some(Repeat::Times(times)) => times,
            Some(Repeat::Auto { .. }) | None => 0,
        },
        max_per_worker: arguments.max_examples_per_worker,
        idle_deaths: arguments.max_idle_exits,
        grace: arguments.grace,
        split_groups: arguments.split_groups,
        flaky_fails: arguments.flaky == Tolerance::Fail,
        inconclusive_fails: arguments.inconclusive == Tolerance::Fail,
        unchecked_fails: arguments.unchecked == Unchecked::Fail,
        allow_empty: arguments.allow_empty,
        ..RunOptions::default()
    })
}

/// The last words, and the exit code.
fn conclude(
    result: &RunResult,
    recording_failures: usize,
    root: &Path,
) -> Result<ExitCode, CommandError> {
    if let Some(problem) = &result.problem {
        return Err(report_problem(&problem.message, &problem.output));
    }
    // A run whose recording is incomplete is not a success, whatever its examples did.
    if recording_failures > 0 && result.verdict.is_passed() {
        return Err(CommandError::system(format_args!(
            "the run could not be recorded completely in {}",
            root.join(".proctor").display()
        )));
    }
    Ok(result.exit_code().map_or(ExitCode::FAILURE, ExitCode::from))
}

/// What a view leaves at the end.
struct Shown {
    result: Arc<RunResult>,
    run: RunData,
    /// The interactive screen, if the run was watched on it to its end.
    screen: Option<proctor_tui::ClosedScreen>,
}
