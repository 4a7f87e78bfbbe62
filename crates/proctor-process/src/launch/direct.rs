//! A command started without a guard: only its process group is held together.
//!
//! Owns the child. What leaves the group (a new session) escapes, and nothing is killed if we are
//! killed: that is what the guard is for.

use super::plumbing::ChildEnds;
use super::reaper::Reaper;
use crate::exit::ExitReport;
use crate::guard::wire::Launch;
use crate::sys;
use rustix::process::{Signal, kill_process, kill_process_group};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

/// A child in a process group of its own.
#[derive(Debug)]
pub(crate) struct Direct {
    reaper: Reaper,
}

impl Direct {
    pub(super) fn start(launch: &Launch, ends: ChildEnds) -> io::Result<(u32, Self)> {
        let mut command = launch.command()?;
        let rpc = ends.rpc.as_ref().map(AsRawFd::as_raw_fd);
        if let (Some(variable), Some(number)) = (&launch.rpc_variable, rpc) {
            command.env(variable, number.to_string());
        }
        command.stdin(Stdio::from(ends.stdin));
        command.stdout(Stdio::from(ends.stdout)).stderr(Stdio::from(ends.stderr));
        command.process_group(0);
        sys::inherit_only(&mut command, rpc);
        let mut child = command.spawn()?;
        let reaper = Reaper::new(&mut child)?;
        Ok((child.id(), Self { reaper }))
    }

    pub(super) async fn ended(&mut self) -> ExitReport {
        self.reaper.ended().await;
        // The zombie still holds the id, so this reaches the group's other members and nobody else.
        self.signal_group(Signal::KILL);
        ExitReport::of(self.reaper.reap())
    }

    pub(super) fn signal(&self, number: i32) {
        if let (Some(pid), Some(signal)) = (self.reaper.live_pid(), sys::signal(number)) {
            let _ = kill_process(pid, signal);
        }
    }

    pub(super) fn signal_group(&self, signal: Signal) {
        if let Some(pid) = self.reaper.live_pid() {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.signal_group(Signal::KILL);
    }
}
