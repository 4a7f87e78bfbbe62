//! Runs that are started over HTTP: one at a time, each in a process of its own, so that nothing a run reads or does can end the server.
//!
//! The process runs `proctor run` under the guard and ends with the server, however the server ends. Its progress comes from the run's
//! control socket while it lives, afterwards from its recording.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use clap::Parser as _;
use proctor_process::{ChildEnvironment, Guard, ManagedProcess, ProcessSpec};
use proctor_record::control::{self, State};
use proctor_record::{OutsideError, RunChoice, RunFolder, RunStore, load_outline};
use proctor_server::{LaunchError, LaunchProgress, Launcher, RunRequest};
use proctor_verdict::RunState;
use rustix::process::{Pid, Signal, kill_process};

use crate::cli::{Cli, Command};
use crate::project;

/// How long a run may take until its recording exists.
const START_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long the process of a run that is over may take to end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many lines of a runner's output are quoted if it ends before its recording exists.
const QUOTED_LINES: usize = 20;

/// Starts runs, and knows the last one that was started.
pub(super) struct LaunchedRuns {
    root: PathBuf,
    program: OsString,
    guard: Guard,
    /// Names of agents under `[agents]` in `proctor.toml`, as it was when the server started.
    agents: Vec<String>,
    current: Mutex<Option<Arc<LaunchedRun>>>,
}

/// A run in a process of its own.
struct LaunchedRun {
    id: String,
    folder: RunFolder,
    process: ManagedProcess,
}

impl LaunchedRuns {
    pub(super) fn new(root: &Path, program: OsString, guard: Guard, agents: Vec<String>) -> Self {
        Self { root: root.to_owned(), program, guard, agents, current: Mutex::default() }
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<LaunchedRun>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> Option<Arc<LaunchedRun>> {
        self.current().as_ref().filter(|run| run.process.is_alive()).map(Arc::clone)
    }

    /// Asks the live run to stop; returns its id.
    pub(super) fn stop(&self) -> Option<String> {
        let run = self.live()?;
        if control::cancel(run.folder.path()).is_err() {
            // The run does not answer yet, or no longer; its process takes the signal in either case.
            run.signal(Signal::TERM);
        }
        Some(run.id.clone())
    }

    /// Ends the live run at once.
    pub(super) fn kill(&self) {
        if let Some(run) = self.live()
            && control::kill(run.folder.path()).is_err()
        {
            run.signal(Signal::KILL);
        }
    }

    /// Waits until the process of the last run has ended.
    pub(super) fn wait(&self) {
        while self.live().is_some() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Starts the process on a thread with a runtime, which lives as long as the process.
    fn spawn(&self, id: &str, words: &[String]) -> Result<LaunchedRun, LaunchError> {
        let own = [self.program.clone(), "--root".into(), self.root.clone().into()];
        let marks = ["run".to_owned(), format!("--run-id={id}"), "--ui=terse".to_owned()];
        let argv =
            own.into_iter().chain(marks.into_iter().chain(words.iter().cloned()).map(Into::into));
        let spec = ProcessSpec::new(argv, ChildEnvironment::inherited(), self.guard.clone())
            .cwd(&self.root);
        let process = ManagedProcess::new(spec);
        let (started, start) = mpsc::channel();
        let running = process.clone();
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let outcome = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
                runtime.block_on(running.start()).map_err(|error| error.to_string())?;
                Ok(runtime)
            });
            match outcome {
                Ok(runtime) => {
                    // The receiver waits for this message and for nothing else.
                    let _ = started.send(Ok(()));
                    runtime.block_on(running.wait());
                }
                Err(problem) => drop(started.send(Err(problem))),
            }
        };
        let refused = |problem: &dyn std::fmt::Display| {
            LaunchError::Refused(format!("the run could not be started: {problem}"))
        };
        std::thread::Builder::new()
            .name("run process".to_owned())
            .spawn(run)
            .map_err(|error| refused(&error))?;
        start.recv().map_err(|error| refused(&error))?.map_err(|error| refused(&error))?;
        let folder = RunFolder::new(&RunStore::new(&self.root).runs_folder().join(id));
        Ok(LaunchedRun { id: id.to_owned(), folder, process })
    }
}

impl LaunchedRun {
    /// Waits until the recording exists.
    fn wait_until_recorded(&self) -> Result<(), LaunchError> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            // Asked before looking: what was written before the end is seen.
            let alive = self.process.is_alive();
            let exists = self.folder.events_path().metadata().is_ok_and(|file| file.len() > 0);
            // While the run lives, it must be in the registry of live runs too.
            if exists && (!alive || control::is_live(self.folder.path())) {
                return Ok(());
            }
            if !alive {
                return Err(LaunchError::Refused(self.last_words()));
            }
            if Instant::now() > deadline {
                self.signal(Signal::KILL);
                let seconds = START_TIMEOUT.as_secs();
                return Err(LaunchError::Refused(format!(
                    "the runner did not answer within {seconds} s and was ended"
                )));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Whether the run is over and its process gone. A process that was killed is reaped a moment after its recording is free, so it is
    /// waited for: who has read that the run died can start the next one.
    fn has_ended(&self) -> bool {
        if self.progress().status == "running" {
            return false;
        }
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while self.process.is_alive() && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        !self.process.is_alive()
    }

    /// What a runner printed that ended before its recording existed.
    fn last_words(&self) -> String {
        let lines = self.process.last_lines(QUOTED_LINES);
        let text = lines.join("\n");
        let text = text.trim().trim_start_matches("error: ");
        if text.is_empty() { "the runner ended without output".to_owned() } else { text.to_owned() }
    }

    fn signal(&self, signal: Signal) {
        let pid =
            self.process.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| self.process.is_alive()) {
            // A process that has just ended needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    fn progress(&self) -> LaunchProgress {
        let alive = self.process.is_alive();
        let live = control::query_status(self.folder.path()).ok();
        if let Some(status) = live.filter(|status| alive && status.state != State::Ended) {
            let state =
                if status.state == State::Loading { RunState::Loading } else { RunState::Running };
            return LaunchProgress {
                status: "running".to_owned(),
                state,
                completed: status.completed,
                total: status.total,
                failures: status.failures,
                run_id: self.id.clone(),
                problem: None,
            };
        }
        self.recorded_progress(alive)
    }

    /// The progress of a run that does not answer: it is over, or about to be.
    fn recorded_progress(&self, alive: bool) -> LaunchProgress {
        let empty = LaunchProgress {
            status: if alive { "running" } else { "failed" }.to_owned(),
            state: if alive { RunState::Running } else { RunState::Died },
            completed: 0,
            total: 0,
            failures: 0,
            run_id: self.id.clone(),
            problem: None,
        };
        let Ok(loaded) = load_outline(&self.folder.events_path(), &RunChoice::Last) else {
            return empty;
        };
        let run = if alive { loaded.run } else { loaded.run.closed() };
        let (verdict, counts) = (run.verdict(), run.summary());
        let status = match verdict.state() {
            RunState::Loading | RunState::Running => "running",
            RunState::Stopped => "cancelled",
            _ if verdict.is_passed() => "passed",
            _ => "failed",
        };
        let total = counts.examples;
        let problem = matches!(verdict.state(), RunState::DidNotLoad | RunState::NothingFound)
            .then(|| {
                run.errors
                    .first()
                    .and_then(error_message)
                    .unwrap_or_else(|| verdict.phrase().to_owned())
            });
        LaunchProgress {
            status: status.to_owned(),
            state: verdict.state(),
            completed: total.saturating_sub(counts.not_run + counts.running),
            total,
            failures: counts.failures,
            problem,
            ..empty
        }
    }
}

impl Launcher for LaunchedRuns {
    fn start(&self, request: &RunRequest) -> Result<String, LaunchError> {
        if let Some(run) = self.live().filter(|run| !run.has_ended()) {
            return Err(LaunchError::Busy(run.id.clone()));
        }
        for path in &request.paths {
            project::refuse_outside(&self.root, path)
                .map_err(|error| LaunchError::Refused(error.to_string()))?;
        }
        let words = arguments(request);
        check_arguments(&words)?;
        let id = uuid::Uuid::now_v7().to_string();
        let run = Arc::new(self.spawn(&id, &words)?);
        *self.current() = Some(Arc::clone(&run));
        run.wait_until_recorded()?;
        Ok(id)
    }

    fn progress(&self) -> Option<LaunchProgress> {
        let run = self.current().as_ref().map(Arc::clone)?;
        Some(run.progress())
    }

    fn cancel(&self) -> bool {
        self.stop().is_some()
    }

    fn agents(&self) -> Vec<String> {
        self.agents.clone()
    }
}

fn error_message(error: &OutsideError) -> Option<String> {
    let of_exception = error.exception.as_ref().map(|exception| exception.message.clone());
    error.message.clone().or(of_exception)
}

/// The arguments of `proctor run` that a request stands for.
fn arguments(request: &RunRequest) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: String| words.push(format!("--{name}={value}"));
    for (name, value) in [
        ("workers", request.workers),
        ("repeat", request.repeat),
        ("retries", request.retries),
        ("fail-fast", request.fail_fast.then_some(1)),
    ] {
        if let Some(value) = value {
            option(name, value.to_string());
        }
    }
    request.tags.iter().for_each(|tag| option("tag", tag.clone()));
    request.example_ids.iter().for_each(|id| option("stable-id", id.clone()));
    request.agent.iter().for_each(|name| option("agent", name.clone()));
    if request.only_failures {
        words.push("--only-failures".to_owned());
    }
    words.extend(request.paths.iter().cloned());
    words
}

/// Refuses arguments that `proctor run` would refuse, before a process is started for them.
fn check_arguments(words: &[String]) -> Result<(), LaunchError> {
    let command_line = ["proctor", "run"].into_iter().chain(words.iter().map(String::as_str));
    match Cli::try_parse_from(command_line) {
        Ok(Cli { command: Command::Run(_), .. }) => Ok(()),
        Ok(_) => Err(LaunchError::Refused("this is not a run".to_owned())),
        Err(error) => Err(LaunchError::Refused(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_command_line() {
        let request = RunRequest {
            paths: vec!["spec/a_spec.rb:3".into()],
            example_ids: vec!["abc".into()],
            workers: Some(2),
            fail_fast: true,
            agent: Some("next".into()),
            ..RunRequest::default()
        };
        let words = arguments(&request);
        assert_eq!(
            words,
            ["--workers=2", "--fail-fast=1", "--stable-id=abc", "--agent=next", "spec/a_spec.rb:3"]
        );
        assert_eq!(check_arguments(&words), Ok(()));
        assert!(check_arguments(&["--tag".to_owned()]).is_err());
    }
}
