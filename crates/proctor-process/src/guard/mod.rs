//! The guard: a small process of our own between the host and one child tree.
//!
//! The host starts its guard program (the `proctor` binary with a hidden subcommand) with a socket as
//! standard input. The guard makes itself the child subreaper, receives the command and its
//! descriptors, starts it, and from then on waits for three things:
//!
//! - **the host's end of the socket closes** (the host ended, however): the whole tree is killed;
//! - **an order** of the host: a signal, or the end of the tree;
//! - **the command exits**: its status is reported at once; what it left behind gets
//!   50 ms to end by itself, is then named, reported and killed.
//!
//! It reaps every adopted descendant, so there are no zombies, and it exits only when no descendant is left.
//!
//! **Signals.** The guard starts a session of its own and blocks every signal: Ctrl-C, a closed
//! terminal or a SIGTERM to the whole service reach the host, and the host decides. The command
//! starts with an empty mask in a process group of its own (so it has no terminal either). It gets
//! SIGKILL if the guard dies; that is sound because the guard has one thread.
//!
//! Synchronous, one thread, no tokio; holds nothing of the child's descriptors after the start.

mod tree;
pub(crate) mod wire;

use crate::sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};
use wire::{Launch, Order, Report};

/// How long left-overs may take to end by themselves after the command has exited.
const LEFTOVER_GRACE: Duration = Duration::from_millis(50);
/// When to give up on a process that cannot be killed (another user's, or stuck in the kernel).
const GIVE_UP: Duration = Duration::from_secs(10);
/// Most left-overs that are named.
const MAX_NAMED: usize = 64;

/// The guard's whole life. Call it from a binary, before anything else, and exit with its result.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run() -> io::Result<()> {
    sys::close_inherited_from(3)?;
    let children = sys::block_signals_and_watch_children()?;
    // Fails only for a group leader, which a freshly started program may be: then it stays there.
    let _ = rustix::process::setsid();
    // Any non-zero argument switches it on; this process is what it is about.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let _ = rustix::thread::set_name(c"proctor-guard");
    let host = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let Some((launch, fds)) = wire::receive_launch(&host)? else { return Ok(()) };
    match start(&launch, fds) {
        Ok(main) => {
            let mut guard = Guard { host, children, main, main_reaped: false };
            guard.report(&Report::Started { pid: main.as_raw_nonzero().get().unsigned_abs() });
            // Nothing of ours shall keep the host's folder busy.
            let _ = rustix::process::chdir("/");
            guard.watch();
        }
        Err(error) => {
            let report = Report::Failed { errno: error.raw_os_error(), message: error.to_string() };
            send_report(&host, &report);
        }
    }
    Ok(())
}

/// Starts the command with the descriptors that came with it, and lets go of them.
fn start(launch: &Launch, fds: Vec<OwnedFd>) -> io::Result<Pid> {
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or(io::Error::from(io::ErrorKind::InvalidInput));
    let mut command = launch.command()?;
    let mut rpc = None;
    if let Some(variable) = &launch.rpc_variable {
        let fd = next()?;
        // With one thread and one command, no other process can inherit this by accident.
        rustix::io::fcntl_setfd(&fd, FdFlags::empty())?;
        command.env(variable, OsString::from(fd.as_raw_fd().to_string()));
        rpc = Some(fd);
    }
    command.stdin(Stdio::from(next()?)).stdout(Stdio::from(next()?)).stderr(Stdio::from(next()?));
    command.process_group(0);
    sys::die_with_this_thread(&mut command);
    let child = command.spawn()?;
    drop((command, rpc));
    Ok(Pid::from_child(&child))
}

struct Guard {
    host: UnixStream,
    children: OwnedFd,
    main: Pid,
    main_reaped: bool,
}

/// What woke the guard.
struct Woken {
    host: bool,
    children: bool,
}

/// Why the tree has to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndReason {
    /// The command exited by itself.
    Exit,
    /// The host requested it, or is gone.
    Kill,
}

impl Guard {
    fn watch(&mut self) {
        let end = self.wait_for_end();
        if end == EndReason::Exit {
            self.give_leftovers_time();
            for leaked in tree::name_all(MAX_NAMED) {
                self.report(&Report::Left(leaked));
            }
        }
        self.kill_tree();
        self.report(&Report::Done);
    }

    fn wait_for_end(&mut self) -> EndReason {
        loop {
            let woken = self.sleep(None);
            if woken.children && self.reap().none_left | self.main_reaped {
                return EndReason::Exit;
            }
            if woken.host && !self.follow_order() {
                return EndReason::Kill;
            }
        }
    }

    /// Reads one order and follows it; false if the tree has to end.
    fn follow_order(&mut self) -> bool {
        let mut bytes = [0; 2];
        if self.host.read_exact(&mut bytes).is_err() {
            return false;
        }
        match Order::decode(bytes) {
            Some(Order::Signal(number)) => self.signal(number, kill_process),
            Some(Order::SignalGroup(number)) => self.signal(number, kill_process_group),
            Some(Order::KillTree) | None => return false,
        }
        true
    }

    fn signal(&self, number: u8, how: fn(Pid, Signal) -> rustix::io::Result<()>) {
        if let Some(signal) = sys::signal(number.into()).filter(|_| !self.main_reaped) {
            let _ = how(self.main, signal);
        }
    }

    /// Waits until no descendant is left, the grace is over, or the host requests the end.
    fn give_leftovers_time(&mut self) {
        let deadline = Instant::now() + LEFTOVER_GRACE;
        while !self.reap().none_left {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.sleep(Some(left)).host {
                return;
            }
        }
    }

    /// Kills until no descendant is left to wait for.
    fn kill_tree(&mut self) {
        let deadline = Instant::now() + GIVE_UP;
        let mut pause = Duration::from_millis(1);
        while !self.reap().none_left && Instant::now() < deadline {
            if !self.main_reaped {
                let _ = kill_process_group(self.main, Signal::KILL);
            }
            tree::kill_all();
            self.sleep_on_children(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    fn reap(&mut self) -> tree::Reaped {
        let reaped = tree::reap(self.main);
        if let Some(status) = reaped.main {
            self.main_reaped = true;
            self.report(&Report::Exited { status });
        }
        reaped
    }

    /// Sleeps until the host or a child stirs.
    fn sleep(&self, limit: Option<Duration>) -> Woken {
        let mut fds =
            [PollFd::new(&self.host, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
        let limit = limit.map(timespec);
        let _ = poll(&mut fds, limit.as_ref());
        let [host, children] = fds.map(|fd| !fd.revents().is_empty());
        if children {
            self.clear_child_signal();
        }
        Woken { host, children }
    }

    fn sleep_on_children(&self, limit: Duration) {
        let mut fds = [PollFd::new(&self.children, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&timespec(limit)));
        self.clear_child_signal();
    }

    /// SIGCHLD does not queue, so one read empties the descriptor.
    fn clear_child_signal(&self) {
        let mut info = [0; 128];
        let _ = rustix::io::read(&self.children, &mut info);
    }

    fn report(&self, report: &Report) {
        send_report(&self.host, report);
    }
}

fn send_report(mut host: &UnixStream, report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        // The host may be gone; ignore.
        drop(host.write_all(&line));
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
