//! A command started by a guard: the host's side of that socket.
//!
//! Owns the only copy of the socket's host end; whenever it closes, by drop, exit or SIGKILL, the guard
//! ends the tree. The guard itself is our child and reaped here.

use super::Failure;
use super::plumbing::{ChildEnds, socket_pair, tokio_stream};
use super::reaper::Reaper;
use crate::child_environment::ChildEnvironment;
use crate::exit::{ExitReport, ExitStatus, Leaked};
use crate::framer::{Frame, Framer};
use crate::guard::wire::{Launch, Order, Report, send_with_fds};
use crate::spec::GuardCommand;
use rustix::net::SendFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;

/// A report is short; a guard that says more is not ours.
const MAX_REPORT: usize = 64 * 1024;

/// A child tree under guard.
#[derive(Debug)]
pub(crate) struct Guarded {
    // Dropped before the guard is waited for, which is what makes the guard end.
    control: UnixStream,
    guard: Reaper,
    framer: Framer,
    pid: Option<Pid>,
    status: Option<ExitStatus>,
    leaked: Vec<Leaked>,
    finished: bool,
}

impl Guarded {
    pub(super) async fn start(
        program: &GuardCommand,
        launch: &Launch,
        ends: ChildEnds,
    ) -> Result<(u32, Self), Failure> {
        let mut guarded = Self::start_guard(program).map_err(Failure::Guard)?;
        guarded.send(launch, ends).await.map_err(Failure::Guard)?;
        let pid = guarded.first_report().await?;
        guarded.pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Ok((pid, guarded))
    }

    fn start_guard(program: &GuardCommand) -> io::Result<Self> {
        let (ours, theirs) = socket_pair()?;
        let control = tokio_stream(ours)?;
        let mut command = Command::new(&program.program);
        command.args(&program.args).stdin(Stdio::from(theirs));
        // Programs of the same user can read its environment, and it needs nothing from there: the variables of its command
        // travel in the launch message.
        ChildEnvironment::home().apply(&mut command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        Ok(Self {
            control,
            guard: Reaper::new(&mut child)?,
            framer: Framer::new(MAX_REPORT),
            pid: None,
            status: None,
            leaked: Vec::new(),
            finished: false,
        })
    }

    async fn send(&mut self, launch: &Launch, ends: ChildEnds) -> io::Result<()> {
        let message = launch.encode();
        let mut fds: Vec<BorrowedFd<'_>> = ends.rpc.iter().map(AsFd::as_fd).collect();
        fds.extend([ends.stdin.as_fd(), ends.stdout.as_fd(), ends.stderr.as_fd()]);
        let sent = loop {
            self.control.writable().await?;
            let attempt = self
                .control
                .try_io(Interest::WRITABLE, || send_with_fds(self.control.as_fd(), &message, &fds));
            match attempt {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => break other?,
            }
        };
        self.control.write_all(&message[sent..]).await
    }

    async fn first_report(&mut self) -> Result<u32, Failure> {
        match self.next_report().await {
            Some(Report::Started { pid }) => Ok(pid),
            Some(Report::Failed { errno, message }) => {
                let error =
                    errno.map_or_else(|| io::Error::other(message), io::Error::from_raw_os_error);
                Err(Failure::Command(error))
            }
            _ => {
                self.guard.kill();
                let text = "it ended or answered nonsense before it had started anything";
                Err(Failure::Guard(io::Error::other(text)))
            }
        }
    }

    pub(super) async fn ended(&mut self) -> ExitReport {
        while !self.finished {
            match self.next_report().await {
                Some(Report::Exited { status }) => self.status = Some(status),
                Some(Report::Left(leaked)) => self.leaked.push(leaked),
                Some(Report::Done) | None => self.finished = true,
                Some(Report::Started { .. } | Report::Failed { .. }) => {}
            }
        }
        self.guard.ended().await;
        self.guard.reap();
        if self.status.is_none() {
            self.kill_group();
        }
        ExitReport {
            status: self.status.unwrap_or(ExitStatus::Lost),
            leaked: std::mem::take(&mut self.leaked),
        }
    }

    /// The next report; `None` once the guard has closed its end. May be dropped and called again.
    async fn next_report(&mut self) -> Option<Report> {
        let mut chunk = [0; 4096];
        loop {
            while let Some(frame) = self.framer.next_frame() {
                if let Frame::Line(line) = frame
                    && let Ok(report) = serde_json::from_str(line)
                {
                    return Some(report);
                }
            }
            match self.control.read(&mut chunk).await {
                Ok(count @ 1..) => self.framer.feed(&chunk[..count]),
                Ok(0) | Err(_) => return None,
            }
        }
    }

    pub(super) fn signal(&self, number: i32) {
        if let Ok(number) = u8::try_from(number) {
            self.order(Order::Signal(number));
        }
    }

    pub(super) fn terminate(&self) {
        self.order(Order::SignalGroup(15));
    }

    pub(super) fn kill_tree(&self) {
        self.order(Order::KillTree);
    }

    pub(super) fn force_kill(&self) {
        self.kill_group();
        self.guard.kill();
    }

    /// Only while the guard lives or has just died is the id surely that of our command.
    fn kill_group(&self) {
        if let Some(pid) = self.pid {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    fn order(&self, order: Order) {
        // Two bytes always fit; if the guard is gone there is no process left to signal.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = rustix::net::send(&self.control, &order.encode(), flags);
    }
}
