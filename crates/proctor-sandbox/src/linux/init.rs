//! The launcher and process 1 of a PID namespace.
//!
//! The status of the program and what it left behind go from init to the launcher through a pipe, since process 1 cannot end by a signal. A second pipe,
//! held open by the launcher alone, tells init whether the launcher died before init asked to be killed with it.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{DumpableBehavior, Signal};

use super::disk_watch::DiskWatch;
use super::error::{LaunchError, Step as _};
use super::left_behind::{self, EndMessage};
use super::limits::ProcessLimit;
use super::{Launch, become_program, close_in, descriptors, report as report_error, signals, sys};
use crate::launch_report::LaunchReport;
use crate::{DISK_LIMIT_SIGNAL, NOT_CONFINED};

/// Forks process 1 and ends the way the program ends.
pub(super) fn run(
    launch: &Launch,
    processes: ProcessLimit,
    mut disk: Option<DiskWatch>,
) -> Result<Infallible, LaunchError> {
    let (status, report) = pipe_with(PipeFlags::CLOEXEC).step("make a pipe")?;
    let (launcher_lives, held_open) = pipe_with(PipeFlags::CLOEXEC).step("make a pipe")?;
    signals::block()?;
    let init = match sys::fork().step("start the first process")? {
        sys::Fork::Child => {
            drop((status, held_open));
            match be_init(launch, processes, &report, &launcher_lives) {
                Ok(never) => match never {},
                Err(error) => sys::exit_at_once(i32::from(report_error(&error, Some(launch)))),
            }
        }
        sys::Fork::Parent(child) => child,
    };
    drop((report, launcher_lives));
    // What only the program shall hold: its end of a pipe must close when the program closes it.
    let _ = descriptors::let_go_of_streams(launch.rpc);
    let ended = wait_for(init, signals::forward_to_process, disk.as_mut());
    drop(held_open);
    let (told, left_behind) = EndMessage::read(&status);
    // Also of a program that ended before the watch was due.
    let disk_limit = disk.as_mut().and_then(DiskWatch::exceeded);
    let status = match &disk_limit {
        Some(_) => DISK_LIMIT_SIGNAL,
        None => told.or(ended).unwrap_or(i32::from(NOT_CONFINED) << 8),
    };
    launch.held.report_end(&LaunchReport { error: None, disk_limit, left_behind });
    sys::end_like(status)
}

/// Process 1: builds the inside, starts the program, reaps until the program ends.
fn be_init(
    launch: &Launch,
    processes: ProcessLimit,
    report: &OwnedFd,
    launcher_lives: &OwnedFd,
) -> Result<Infallible, LaunchError> {
    die_with_launcher(launcher_lives)?;
    close_in(launch, processes)?;
    // Nothing inside may look into this process or change it. The program starts anew with its own image.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .step("protect the first process")?;
    let program = match sys::fork().step("start the program's process")? {
        sys::Fork::Child => be_program(launch, processes),
        sys::Fork::Parent(child) => child,
    };
    let _ = descriptors::let_go_of_streams(launch.rpc);
    let ended = wait_for(program, signals::forward, None);
    if let Some(status) = ended {
        let wanted = launch.confinement.report.is_some();
        let left = if wanted { left_behind::find() } else { Vec::new() };
        EndMessage::write(report, status, &left);
    }
    // The kernel kills whatever is left.
    sys::exit_at_once(0)
}

fn be_program(launch: &Launch, processes: ProcessLimit) -> ! {
    // Cannot fail: a process that was just forked leads no group.
    let _ = rustix::process::setsid();
    match become_program(launch, processes) {
        Ok(never) => match never {},
        Err(error) => sys::exit_at_once(i32::from(report_error(&error, Some(launch)))),
    }
}

fn die_with_launcher(launcher_lives: &OwnedFd) -> Result<(), LaunchError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .step("tie the first process to the launcher")?;
    let mut fds = [PollFd::new(launcher_lives, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let closed = poll(&mut fds, Some(&at_once)).step("look for the launcher")? > 0;
    if closed {
        sys::exit_at_once(i32::from(NOT_CONFINED));
    }
    Ok(())
}

/// Reaps children and forwards signals until `child` has ended. Its wait status; `None` if it cannot be had. Kills it when the disk
/// limit is exceeded.
fn wait_for(child: i32, forward: fn(i32, i32), mut disk: Option<&mut DiskWatch>) -> Option<i32> {
    loop {
        loop {
            match sys::reap_one() {
                Ok(Some((pid, status))) if pid == child => return Some(status),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        let pause = disk.as_ref().map(|disk| disk.pause());
        if let Ok(Some(number)) = signals::next(pause) {
            forward(child, number);
        }
        if disk.as_mut().is_some_and(|disk| disk.is_due() && disk.exceeded().is_some()) {
            signals::forward_to_process(child, libc::SIGKILL);
            disk = None;
        }
    }
}
