//! The command that `proctor journal run` runs: signals reach it, time runs out for it, nothing it did is lost.
//!
//! With a terminal as standard input the command stays in our process group, as if it had been typed: the terminal
//! sends Ctrl-C to both of us, and we merely do not die of it. Without one it gets a group of its own, to which every
//! signal is passed on, so that a shell's children get it too.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::sleep;

use super::output_copy::OutputCopy;
use crate::terminal::Stream;

/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long the output may stay open after the command has ended.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// How a command ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) exit: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) duration_ms: u64,
    pub(super) output: String,
    pub(super) output_is_cut: bool,
}

impl Ended {
    /// The exit code that stands for it: the command's own, or what shells make of the rest.
    pub(super) fn code(&self) -> u8 {
        let code = match (self.timed_out, self.signal, self.exit) {
            (true, ..) => 124,
            (_, Some(signal), _) => 128 + signal,
            (_, None, exit) => exit.unwrap_or(1),
        };
        u8::try_from(code & 0xff).unwrap_or(1)
    }
}

/// Runs a command to its end. An error is one of ours; that the command cannot be started is an ending.
pub(super) fn run(
    command: &[OsString],
    variable: Option<(&str, &Path)>,
    limit: Option<Duration>,
) -> std::io::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(follow(command, variable, limit))
}

async fn follow(
    command: &[OsString],
    variable: Option<(&str, &Path)>,
    limit: Option<Duration>,
) -> std::io::Result<Ended> {
    // Registered before the command starts, so that no signal finds us unprepared.
    let mut caught = CaughtSignals::watch()?;
    let started = Instant::now();
    let (child, tee) = match start(command, variable) {
        Ok(started) => started,
        Err(error) => return Ok(not_started(command, &error)),
    };
    let has_group = !std::io::stdin().is_terminal();
    let mut watched =
        WatchedCommand { pid: pid(&child), child, has_group, timed_out: false, passed: None };
    let status = watched.wait(&mut caught, limit).await?;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (output, output_is_cut) = tee.finish(OUTPUT_GRACE);
    Ok(Ended {
        exit: status.code(),
        // One that was interrupted and tidied up before it ended was interrupted all the same.
        signal: status.signal().or(watched.passed.map(Signal::as_raw)),
        timed_out: watched.timed_out,
        duration_ms,
        output,
        output_is_cut,
    })
}

fn start(
    command: &[OsString],
    variable: Option<(&str, &Path)>,
) -> std::io::Result<(Child, OutputCopy)> {
    let (program, arguments) = command.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let (out, out_end) = std::io::pipe()?;
    let (err, err_end) = std::io::pipe()?;
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::from(out_end)).stderr(Stdio::from(err_end));
    if let Some((name, value)) = variable {
        command.env(name, value);
    }
    if !std::io::stdin().is_terminal() {
        command.process_group(0);
    }
    let child = command.spawn()?;
    let mut tee = OutputCopy::new();
    tee.follow(out, Stream::Out)?;
    tee.follow(err, Stream::Err)?;
    Ok((child, tee))
}

/// As a shell says it: 127 is not found, 126 is found but not to be run.
fn not_started(command: &[OsString], error: &std::io::Error) -> Ended {
    let program = command.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    let exit = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
    Ended { exit: Some(exit), output: format!("{program}: {error}\n"), ..Ended::default() }
}

fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

/// Signals that would otherwise end us.
struct CaughtSignals {
    interrupt: Signals,
    terminate: Signals,
    hangup: Signals,
}

impl CaughtSignals {
    fn watch() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.hangup.recv() => Signal::HUP,
        }
    }
}

struct WatchedCommand {
    child: Child,
    pid: Option<Pid>,
    has_group: bool,
    timed_out: bool,
    /// The first signal that came for us.
    passed: Option<Signal>,
}

impl WatchedCommand {
    async fn wait(
        &mut self,
        caught: &mut CaughtSignals,
        limit: Option<Duration>,
    ) -> std::io::Result<ExitStatus> {
        let mut left = limit;
        loop {
            let alarm = async {
                match left {
                    Some(left) => sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            let began = Instant::now();
            tokio::select! {
                status = self.child.wait() => {
                    if self.timed_out {
                        self.send(Signal::KILL);
                    }
                    return status;
                }
                signal = caught.next() => {
                    self.forward_signal(signal);
                    left = left.map(|left| left.saturating_sub(began.elapsed()));
                }
                () = alarm => {
                    self.send(if self.timed_out { Signal::KILL } else { Signal::TERM });
                    self.timed_out = true;
                    left = Some(GRACE);
                }
            }
        }
    }

    fn forward_signal(&mut self, signal: Signal) {
        self.passed.get_or_insert(signal);
        // The terminal has sent its Ctrl-C to the whole group, the command included.
        if self.has_group || signal != Signal::INT {
            self.send(signal);
        }
    }

    fn send(&self, signal: Signal) {
        let Some(pid) = self.pid else { return };
        // It may have ended by itself.
        let _ = if self.has_group {
            kill_process_group(pid, signal)
        } else if self.child.id().is_some() {
            kill_process(pid, signal)
        } else {
            Ok(())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(Ended { exit: Some(3), ..Ended::default() }.code(), 3);
        assert_eq!(Ended { signal: Some(9), ..Ended::default() }.code(), 137);
        let late = Ended { signal: Some(15), timed_out: true, ..Ended::default() };
        assert_eq!(late.code(), 124);
    }
}
