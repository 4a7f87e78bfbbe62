//! What a run is to others while it lives: its control socket, its time limit, its own session.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proctor_record::control::{ControlServer, ControlledRun, State, Status};
use proctor_runner::{Controller, RunStatus};
use proctor_verdict::StopCause;

use crate::commands::run::arguments::DetachedArguments;
use crate::terminal::Terminal;

/// How long a run that was stopped at its time limit may take beyond the grace, before it is ended.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Leaves the session of the parent process, so that signals to that session do not reach the run.
pub(super) fn detach(arguments: &DetachedArguments) {
    if arguments.detached {
        // Refused only to the leader of a group, who is detached enough.
        let _ = rustix::process::setsid();
    }
}

/// Answers on the run's socket and keeps its time limit, as long as it is held.
pub(super) struct Live {
    /// Dropped with the run, which removes the socket.
    _server: Option<ControlServer>,
    out_of_time: Arc<AtomicBool>,
    limit: Option<u64>,
}

impl Live {
    pub(super) fn start(
        controller: &Controller,
        folder: &Path,
        arguments: &DetachedArguments,
        grace: u64,
        terminal: &mut Terminal,
    ) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let run =
            RunControl { controller: controller.clone(), name, stopping: AtomicBool::new(false) };
        let server = ControlServer::start(folder, run);
        if let Err(error) = &server {
            terminal.warn(&format!(
                "the run has no control socket, so that `proctor runs stop` and the viewer cannot reach it: {error}"
            ));
        }
        let out_of_time = Arc::new(AtomicBool::new(false));
        if let Some(limit) = arguments.time_limit {
            enforce_time_limit(controller, limit, grace, &out_of_time);
        }
        Self { _server: server.ok(), out_of_time, limit: arguments.time_limit }
    }

    /// Says so if the run was stopped for taking too long.
    pub(super) fn finish(self, terminal: &mut Terminal) {
        if self.out_of_time.load(Ordering::SeqCst) {
            let seconds = Duration::from_millis(self.limit.unwrap_or_default()).as_secs_f64();
            terminal.warn(&format!("the run was stopped at its time limit of {seconds} s"));
        }
    }
}

/// Stops the run at its limit, and ends it if it does not stop.
fn enforce_time_limit(
    controller: &Controller,
    limit: u64,
    grace: u64,
    out_of_time: &Arc<AtomicBool>,
) {
    let (controller, over) = (controller.clone(), Arc::clone(out_of_time));
    let watch = move || {
        if controller.wait_timeout(Duration::from_millis(limit)).is_some() {
            return;
        }
        over.store(true, Ordering::SeqCst);
        controller.cancel(StopCause::TimeLimit);
        if controller.wait_timeout(Duration::from_millis(grace) + STOP_TIMEOUT).is_none() {
            controller.kill(StopCause::TimeLimit);
        }
    };
    // Without the thread there is no limit; the run itself is worth more than that.
    let _ = std::thread::Builder::new().name("time limit".to_owned()).spawn(watch);
}

/// The run as the socket sees it.
struct RunControl {
    controller: Controller,
    name: String,
    stopping: AtomicBool,
}

impl ControlledRun for RunControl {
    fn status(&self) -> Status {
        let progress = self.controller.progress();
        let state = match progress.status {
            RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => State::Ended,
            _ if self.stopping.load(Ordering::SeqCst) => State::Stopping,
            _ if progress.total == 0 => State::Loading,
            _ => State::Running,
        };
        Status {
            v: 0,
            run_id: self.name.clone(),
            pid: 0,
            state,
            completed: progress.completed,
            total: progress.total,
            failures: progress.failures,
        }
    }

    fn cancel(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.controller.cancel(StopCause::Request);
    }

    fn kill(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.controller.kill(StopCause::Request);
    }
}
