//! `proctor runs stop`: ends a live run of any process.
//!
//! The run's own process is asked at its control socket, as the viewer's Stop and `run_cancel` do; nothing is signalled from here.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use proctor_record::control::{ControlError, LiveRun};
use proctor_record::{LoadError, RunChoice, RunFolder, RunStore};
use proctor_text::{pluralize, printable};
use proctor_verdict::{Counts, RunState};
use serde::Serialize;

use crate::cli::Format;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::values;

#[derive(Debug, Args)]
#[command(after_help = "\
The run's own process is asked, wherever it was started: another terminal, `proctor serve`, an agent, CI on this machine. Nothing new
starts, running examples may finish within the run's --grace, the rest is reported as not run, and its workers are gone when this
command returns. What was recorded stays: `proctor show RUN`.

Exit codes: 0 the run is over, 1 it has not ended within --wait, 2 it is unknown or not going on.
Examples:
  proctor runs stop                 the only run in progress
  proctor runs stop last            the newest
  proctor runs stop 0190 --now      without letting running examples finish
  proctor --root ../other runs stop   one of another project")]
pub(crate) struct StopArguments {
    /// The run: `last`, `last~2`, a tag, the start of its id, or its folder [default: the one that is going on]
    pub(crate) run: Option<String>,

    /// End running examples at once instead of letting them finish within the grace
    #[arg(long)]
    pub(crate) now: bool,

    /// How long to wait for its end
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "60s")]
    pub(crate) wait: u64,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How often is looked whether the run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// It was stopped before its end.
    Stopped,
    /// It came to its own end before the wish to stop arrived.
    Finished,
    /// Its process is gone and did not finish the recording.
    Died,
    /// It has not ended in the time we wait.
    Stopping,
}

#[derive(Serialize)]
struct Stopped {
    run_id: String,
    outcome: Outcome,
    waited_ms: u64,
    exit_code: Option<i32>,
    summary: Counts,
}

pub(super) fn run(
    arguments: &StopArguments,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let folder = match &arguments.run {
        Some(name) => folder(name, store)?,
        None => only_live(store)?,
    };
    let asked = if arguments.now {
        proctor_record::control::kill(&folder)
    } else {
        proctor_record::control::cancel(&folder)
    };
    let status = asked.map_err(|error| refused(&folder, error))?;
    if arguments.format == Format::Text {
        terminal.note(&format!("asked process {} to stop", status.pid));
    }
    let asked_at = Instant::now();
    let over = wait(&folder, Duration::from_millis(arguments.wait));
    let stopped = outcome(&folder, over, asked_at)?;
    if arguments.format == Format::Json {
        terminal.json(&stopped)?;
    } else if over {
        terminal.line(&sentence(&stopped))?;
    }
    if over {
        return Ok(ExitCode::SUCCESS);
    }
    terminal.report(
        &CommandError::refused(format_args!(
            "{} has not ended within {} s",
            stopped.run_id,
            arguments.wait / 1000
        ))
        .hint("running examples may finish within the run's own --grace; --now does not let them")
        .hint(format!("the run is made by process {}", status.pid)),
    );
    Ok(ExitCode::from(1))
}

/// The folder of the run that is meant, here or in another project.
fn folder(name: &str, store: &RunStore) -> Result<PathBuf, CommandError> {
    let events = store.resolve(name)?;
    match events.parent() {
        Some(folder) if folder.join("run.json").is_file() => Ok(folder.to_owned()),
        _ => Err(CommandError::usage(format_args!(
            "{} is a file of events, not the folder of a run: there is no process to stop",
            events.display()
        ))
        .hint("name a run, or its folder in .proctor/runs")),
    }
}

/// The run that goes on, where there is only one.
fn only_live(store: &RunStore) -> Result<PathBuf, CommandError> {
    let live = proctor_record::control::live_runs(&store.runs_folder());
    match live.as_slice() {
        [one] => Ok(store.runs_folder().join(&one.run_id)),
        [] => Err(CommandError::not_found("no run of this project is going on")
            .hint("`proctor runs` lists those that are over; --root names another project")),
        several => {
            let names: Vec<String> = several.iter().map(described).collect();
            Err(CommandError::usage(format_args!(
                "{} runs are going on; say which: {}",
                several.len(),
                names.join(", ")
            )))
        }
    }
}

fn described(run: &LiveRun) -> String {
    format!("{} ({} of {})", run.run_id, run.status.completed, run.status.total)
}

fn refused(folder: &Path, error: ControlError) -> CommandError {
    let name = name_of(folder);
    match error {
        ControlError::NotLive => {
            let finished = proctor_record::load_outline(
                &RunFolder::new(folder).events_path(),
                &RunChoice::Last,
            )
            .is_ok_and(|loaded| loaded.run.finished_at.is_some());
            let how = if finished { "has finished" } else { "died: its process is gone" };
            CommandError::refused(format_args!("{name} is not going on: it {how}"))
                .hint(format!("`proctor show {name}` tells what became of it"))
        }
        ControlError::NoReply(error) => {
            CommandError::system(format_args!("the process of {name} does not answer: {error}"))
                .with_source(error)
                .hint("ask again in a moment")
        }
        ControlError::Refused(reason) => CommandError::refused(format_args!("{name}: {reason}")),
    }
}

/// Whether the run is over in time. Its socket goes away when its workers are gone and its recording is complete, or with its process.
fn wait(folder: &Path, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if !proctor_record::control::is_live(folder) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn outcome(folder: &Path, over: bool, asked_at: Instant) -> Result<Stopped, CommandError> {
    let waited_ms = u64::try_from(asked_at.elapsed().as_millis()).unwrap_or(u64::MAX);
    let run =
        match proctor_record::load_outline(&RunFolder::new(folder).events_path(), &RunChoice::Last)
        {
            Ok(loaded) => loaded.run,
            // It was stopped before anything happened.
            Err(LoadError::Empty { .. }) => proctor_record::RunData::default(),
            Err(error) => return Err(CommandError::from(error)),
        };
    let summary = run.summary();
    let verdict = run.verdict();
    let outcome = match (over, verdict.state()) {
        (false, _) => Outcome::Stopping,
        (true, RunState::Stopped) => Outcome::Stopped,
        (true, _) if verdict.ending().is_some() => Outcome::Finished,
        (true, _) => Outcome::Died,
    };
    let exit_code = verdict.exit_code().map(i32::from);
    Ok(Stopped { run_id: name_of(folder), outcome, waited_ms, exit_code, summary })
}

fn sentence(stopped: &Stopped) -> String {
    let what = match stopped.outcome {
        Outcome::Finished => "came to its end",
        Outcome::Died => "has ended without finishing its recording",
        Outcome::Stopped | Outcome::Stopping => "has stopped",
    };
    let summary = &stopped.summary;
    let parts = [
        (summary.passed, "passed"),
        (summary.failed, "failed"),
        (summary.errored, "errored"),
        (summary.crashed, "crashed"),
        (summary.timed_out, "timed out"),
        (summary.inconclusive, "inconclusive"),
        (summary.pending, "pending"),
        (summary.cancelled, "cancelled"),
        (summary.not_run, "not run"),
        (summary.running, "unfinished"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let examples = pluralize(summary.examples, "example");
    let told = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("{} {what}; {examples}{told}", printable(&stopped.run_id))
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
