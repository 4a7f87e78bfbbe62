//! Waiting for one child of ours by its pidfd: no polling, no signal handler, no zombie.
//!
//! Owns the duty to reap. Dropped before its child has ended (the runtime is being torn down), it waits a
//! bounded moment and reaps if it can; whoever holds it has told the child to end before that.

use crate::exit::ExitStatus;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How long a dropped reaper waits.
const LAST_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// A child that has to be reaped.
#[derive(Debug)]
pub(super) struct Reaper {
    pid: Pid,
    fd: AsyncFd<OwnedFd>,
    reaped: Option<ExitStatus>,
}

impl Reaper {
    /// Takes over the duty to reap. A child that cannot be watched is ended on the spot.
    pub(super) fn new(child: &mut std::process::Child) -> io::Result<Self> {
        let pid = Pid::from_child(child);
        let watched = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            .map_err(io::Error::from)
            .and_then(|fd| crate::sys::watch(fd, Interest::READABLE));
        match watched {
            Ok(fd) => Ok(Self { pid, fd, reaped: None }),
            Err(error) => {
                drop(child.kill());
                drop(child.wait());
                Err(error)
            }
        }
    }

    /// The process id, valid for signals until the child was reaped.
    pub(super) fn live_pid(&self) -> Option<Pid> {
        self.reaped.is_none().then_some(self.pid)
    }

    pub(super) fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(self.fd.as_fd(), Signal::KILL);
    }

    /// Waits until the child has ended; it stays a zombie until [`Reaper::reap`].
    pub(super) async fn ended(&self) {
        if self.reaped.is_none() {
            // An error means that there is nothing to wait for.
            drop(self.fd.readable().await);
        }
    }

    /// Reaps the child if it has ended.
    pub(super) fn reap(&mut self) -> ExitStatus {
        if let Some(status) = self.reaped {
            return status;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let found = rustix::process::waitid(WaitId::PidFd(self.fd.as_fd()), options);
        let status = match found {
            Ok(Some(status)) => {
                let code = status.exit_status().map(ExitStatus::Code);
                code.or_else(|| status.terminating_signal().map(ExitStatus::Signal))
                    .unwrap_or(ExitStatus::Lost)
            }
            Ok(None) | Err(_) => ExitStatus::Lost,
        };
        self.reaped = Some(status);
        status
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&LAST_WAIT));
            self.reap();
        }
    }
}
