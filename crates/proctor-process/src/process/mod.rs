//! One managed process: start, talk, stop, wait.
//!
//! A [`ManagedProcess`] is a handle; a driver task (`driver.rs`) owns the child and the state, which
//! moves by the pure step of `lifecycle.rs` only. Handles send commands to the driver and watch
//! what it publishes. When the last handle is dropped, the tree is killed.

mod child_input;
mod driver;

use crate::diagnostics::{Diagnostic, DiagnosticSink};
use crate::exit::ExitReport;
use crate::launch::StartError;
use crate::lifecycle::State;
use crate::output::OutputStream;
use crate::rpc::Channel;
use crate::spec::ProcessSpec;
pub use child_input::ChildInput;
use driver::{Command, Driver};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// A killed tree is gone in milliseconds. If it is not (a process stuck in the kernel), `stop` and
/// `kill` give up waiting this long after their time.
const WAIT_MARGIN: Duration = Duration::from_secs(3);

/// Commands that may wait for the driver, which answers at once.
const COMMANDS: usize = 64;

type ExitCallback = Box<dyn FnOnce(&ExitReport) + Send>;

/// A handle on one process; clones share it.
#[derive(Debug, Clone)]
pub struct ManagedProcess {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
}

/// What handles and driver share.
struct Shared {
    spec: ProcessSpec,
    state: Mutex<State>,
    pid: OnceLock<u32>,
    channel: OnceLock<Channel>,
    /// Taken by the one who writes to it.
    stdin: Mutex<Option<ChildInput>>,
    stdout: OutputStream,
    stderr: OutputStream,
    report: OnceLock<ExitReport>,
    /// `None` once they have been called.
    callbacks: Mutex<Option<Vec<ExitCallback>>>,
    /// True when the report is there and the callbacks were called.
    exited: watch::Sender<bool>,
    /// Taken by the one `start` that succeeds.
    inbox: Mutex<Option<mpsc::Receiver<Command>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Process")
            .field("command", &self.spec.command_line())
            .field("pid", &self.pid.get())
            .field("state", &*self.state())
            .finish_non_exhaustive()
    }
}

/// Why a process cannot be stopped, killed or signalled.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// It was never started.
    #[error("{command} was not started, so there is nothing to end")]
    NotStarted {
        /// The command line.
        command: String,
    },
    /// It survived SIGKILL.
    #[error("{command} (pid {pid}) is still there after SIGKILL; it may be stuck in the kernel")]
    StillThere {
        /// The command line.
        command: String,
        /// Its process id.
        pid: u32,
    },
}

/// The process did not end within the time given.
#[derive(Debug, thiserror::Error)]
#[error("{command} is still running after {after:?}")]
pub struct WaitTimeout {
    /// The command line.
    pub command: String,
    /// The time given.
    pub after: Duration,
}

impl ManagedProcess {
    /// A process that is not started yet. Needs no runtime; [`ManagedProcess::start`] does.
    pub fn new(spec: ProcessSpec) -> Self {
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let shared = Shared {
            state: Mutex::new(State::Pending),
            pid: OnceLock::new(),
            channel: OnceLock::new(),
            stdin: Mutex::new(None),
            stdout: OutputStream::new(spec.output, spec.diagnostics()),
            stderr: OutputStream::new(spec.output, spec.diagnostics()),
            report: OnceLock::new(),
            callbacks: Mutex::new(Some(Vec::new())),
            exited: watch::Sender::new(false),
            inbox: Mutex::new(Some(inbox)),
            spec,
        };
        Self { shared: Arc::new(shared), commands }
    }

    /// Makes and starts a process.
    pub async fn spawn(spec: ProcessSpec) -> Result<Self, StartError> {
        let process = Self::new(spec);
        process.start().await?;
        Ok(process)
    }

    /// Starts the process; returns once it runs. A second start is an error, and a process that
    /// could not be started counts as exited.
    pub async fn start(&self) -> Result<(), StartError> {
        let inbox = lock(&self.shared.inbox).take();
        let Some(inbox) = inbox else {
            return Err(StartError::AlreadyStarted { command: self.command_line() });
        };
        let (started, outcome) = oneshot::channel();
        let driver = Driver::new(Arc::clone(&self.shared), inbox);
        tokio::spawn(driver.run(started));
        // Without an answer the runtime is shutting down; the error says that nothing runs.
        outcome.await.unwrap_or_else(|_| {
            let error = std::io::Error::other("the runtime is shutting down");
            Err(StartError::Spawn { command: self.command_line(), error })
        })
    }

    /// The command line for people.
    pub fn command_line(&self) -> String {
        self.shared.spec.command_line()
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        *self.shared.state()
    }

    /// Whether it is running or stopping.
    pub fn is_alive(&self) -> bool {
        matches!(self.state(), State::Running | State::Stopping)
    }

    /// Its process id, once started. With a guard this is the command's, not the guard's.
    pub fn pid(&self) -> Option<u32> {
        self.shared.pid.get().copied()
    }

    /// The channel, once started, if it has one.
    pub fn rpc(&self) -> Option<Channel> {
        self.shared.channel.get().cloned()
    }

    /// Its standard input, once started, if raw bytes are written to it; can be taken once.
    pub fn take_stdin(&self) -> Option<ChildInput> {
        lock(&self.shared.stdin).take()
    }

    /// Standard output as lines; empty where it carries the protocol.
    pub fn stdout(&self) -> &OutputStream {
        &self.shared.stdout
    }

    /// Standard error as lines.
    pub fn stderr(&self) -> &OutputStream {
        &self.shared.stderr
    }

    /// Its last lines of standard error, or of its output if there are none.
    pub fn last_lines(&self, most: usize) -> Vec<String> {
        let tail = |stream: &OutputStream| -> Vec<String> {
            stream.tail(most).iter().map(|line| line.text.to_string()).collect()
        };
        let lines = tail(self.stderr());
        if lines.is_empty() { tail(self.stdout()) } else { lines }
    }

    /// How it ended, once it has.
    pub fn exit_report(&self) -> Option<&ExitReport> {
        self.shared.report.get()
    }

    /// Calls `callback` once, when the process has ended; at once if it already has. A panic of
    /// one callback does not keep the others from being called.
    pub fn on_exit(&self, callback: impl FnOnce(&ExitReport) + Send + 'static) {
        let callback: ExitCallback = Box::new(callback);
        let late = match &mut *lock(&self.shared.callbacks) {
            Some(waiting) => {
                waiting.push(callback);
                return;
            }
            None => callback,
        };
        if let Some(report) = self.shared.report.get() {
            call(late, report, &self.shared.spec.diagnostics());
        }
    }

    /// Waits until the process has ended (and before that, until it was started).
    pub async fn wait(&self) -> ExitReport {
        self.shared.wait().await
    }

    /// Waits at most `timeout`.
    pub async fn wait_timeout(&self, timeout: Duration) -> Result<ExitReport, WaitTimeout> {
        let ended = tokio::time::timeout(timeout, self.wait()).await;
        ended.map_err(|_| WaitTimeout { command: self.command_line(), after: timeout })
    }

    /// Ends the process and its tree within `timeout`: shutdown request, SIGTERM, SIGKILL. An
    /// exited process is left alone. Any number of tasks may stop, kill and wait at once; the
    /// shortest time wins.
    pub async fn stop(&self, timeout: Duration) -> Result<ExitReport, StopError> {
        self.end(Command::Stop { timeout }, timeout).await
    }

    /// Kills the process and its tree with SIGKILL and waits until they are gone.
    pub async fn kill(&self) -> Result<ExitReport, StopError> {
        self.end(Command::Kill, Duration::ZERO).await
    }

    async fn end(&self, command: Command, timeout: Duration) -> Result<ExitReport, StopError> {
        self.send(command).await?;
        self.wait_timeout(timeout + WAIT_MARGIN).await.map_err(|_| StopError::StillThere {
            command: self.command_line(),
            pid: self.pid().unwrap_or_default(),
        })
    }

    /// Sends a signal to the process itself (not to its tree). A gone process is no error.
    pub async fn signal(&self, number: i32) -> Result<(), StopError> {
        self.send(Command::Signal { number }).await
    }

    async fn send(&self, command: Command) -> Result<(), StopError> {
        if lock(&self.shared.inbox).is_some() {
            return Err(StopError::NotStarted { command: self.command_line() });
        }
        // A driver that is gone has seen the process exit: nothing to do.
        drop(self.commands.send(command).await);
        Ok(())
    }
}

impl ManagedProcess {
    /// A handle that does not keep the process alive.
    pub fn downgrade(&self) -> WeakProcess {
        WeakProcess { shared: Arc::downgrade(&self.shared), commands: self.commands.downgrade() }
    }

    /// Gives up this handle and waits for the end, which may come because it was the last one.
    pub async fn into_exit(self) -> ExitReport {
        let Self { shared, commands } = self;
        drop(commands);
        shared.wait().await
    }
}

/// A handle that does not keep a process alive.
#[derive(Debug, Clone)]
pub struct WeakProcess {
    shared: Weak<Shared>,
    commands: mpsc::WeakSender<Command>,
}

impl WeakProcess {
    /// A full handle, if there is still one somewhere.
    pub fn upgrade(&self) -> Option<ManagedProcess> {
        let shared = self.shared.upgrade()?;
        Some(ManagedProcess { shared, commands: self.commands.upgrade()? })
    }
}

impl Shared {
    async fn wait(&self) -> ExitReport {
        let mut exited = self.exited.subscribe();
        // The sender is ours, so the wait cannot fail.
        drop(exited.wait_for(|exited| *exited).await);
        self.report.get().cloned().unwrap_or(ExitReport::of(crate::ExitStatus::Lost))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Publishes the end: state and report first, then the callbacks, then waiting callers.
    fn announce(&self, report: ExitReport) {
        drop(self.report.set(report));
        *self.state() = State::Exited;
        let callbacks = lock(&self.callbacks).take().unwrap_or_default();
        if let Some(report) = self.report.get() {
            for callback in callbacks {
                call(callback, report, &self.spec.diagnostics());
            }
        }
        self.exited.send_replace(true);
    }
}

fn call(callback: ExitCallback, report: &ExitReport, diagnostics: &DiagnosticSink) {
    if catch_unwind(AssertUnwindSafe(|| callback(report))).is_err() {
        diagnostics.report(Diagnostic::CallbackPanicked { place: "exit" });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
