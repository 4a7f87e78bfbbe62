//! The few system calls that need `unsafe`, each behind a safe function.
//!
//! Everything here is about setting a process up: descriptors it may inherit, its signal mask,
//! what it does between fork and exec. Owns no state.

use crate::exit::ExitStatus;
use rustix::fs::FileType;
use rustix::io::FdFlags;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Closes every descriptor from `first` on. Only for a process that owns none of them yet.
#[expect(unsafe_code, reason = "closing foreign descriptors has no safe form")]
pub(crate) fn close_inherited_from(first: u32) -> io::Result<()> {
    // SAFETY: called by the guard before it has opened or received any descriptor, so no owner in
    // this process can be left with a closed one.
    let outcome = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Blocks every signal for this thread and returns a descriptor that becomes readable when a
/// child changes state.
#[expect(unsafe_code, reason = "signal masks and signalfd have no safe form in rustix or std")]
pub(crate) fn block_signals_and_watch_children() -> io::Result<OwnedFd> {
    // SAFETY: both sets are initialised by the calls that fill them before they are read, and the
    // descriptor that signalfd returns is owned by nobody else.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        if libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut child = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut child);
        libc::sigaddset(&raw mut child, libc::SIGCHLD);
        let fd = libc::signalfd(-1, &raw const child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Gives the child an empty signal mask, and kills it when the thread that spawns it ends. Right
/// only for a spawning thread that ends after the child or with the process.
#[expect(unsafe_code, reason = "signals are set up between fork and exec")]
pub(crate) fn die_with_this_thread(command: &mut Command) {
    // SAFETY: the closure makes system calls that are async-signal-safe and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            unblock_signals()?;
            let signal = rustix::process::Signal::KILL;
            Ok(rustix::process::set_parent_process_death_signal(Some(signal))?)
        });
    }
}

/// Gives the child an empty signal mask and lets it inherit `kept` besides 0, 1 and 2, nothing else.
#[expect(unsafe_code, reason = "what survives exec is decided between fork and exec")]
pub(crate) fn inherit_only(command: &mut Command, kept: Option<RawFd>) {
    // SAFETY: the closure makes system calls that are async-signal-safe and allocates nothing; the
    // descriptor stays open in the parent until the command was spawned.
    unsafe {
        command.pre_exec(move || {
            unblock_signals()?;
            let flags = libc::CLOSE_RANGE_CLOEXEC;
            if libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags) != 0 {
                return Err(io::Error::last_os_error());
            }
            match kept {
                Some(fd) => {
                    let fd = BorrowedFd::borrow_raw(fd);
                    Ok(rustix::io::fcntl_setfd(fd, FdFlags::empty())?)
                }
                None => Ok(()),
            }
        });
    }
}

/// Empties the signal mask, which a child would inherit.
#[expect(unsafe_code, reason = "signal masks have no safe form in rustix or std")]
fn unblock_signals() -> io::Result<()> {
    // SAFETY: the set is initialised before it is read; both calls are async-signal-safe.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        if libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Takes over a socket that was inherited by number, and keeps it from being inherited on. A number that is not open, or not a socket,
/// is refused.
#[expect(unsafe_code, reason = "an inherited descriptor is known by its number only")]
pub fn adopt_inherited_socket(number: RawFd) -> io::Result<OwnedFd> {
    // Standard streams belong to the standard library.
    if number <= 2 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: the number is only borrowed for calls that fail if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(borrowed)?.st_mode);
    if kind != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a socket"));
    }
    rustix::io::fcntl_setfd(borrowed, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, and the protocol says that it belongs to whoever reads the variable, which happens once.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    debug_assert_eq!(fd.as_raw_fd(), number);
    Ok(fd)
}

/// Lets tokio watch a descriptor.
#[expect(unsafe_code, reason = "tokio wants a promise that the descriptor stays open")]
pub(crate) fn watch<F: AsFd + AsRawFd>(fd: F, interest: Interest) -> io::Result<AsyncFd<F>> {
    // SAFETY: the types we pass (an `OwnedFd`, or a `BorrowedFd` of one) name one descriptor that is
    // open for as long as they live, which is until tokio has let go of it.
    let watched = unsafe { AsyncFd::register_with_interest(fd, interest) };
    watched.map_err(io::Error::from)
}

/// A signal by number, `None` if the number is not a signal.
pub(crate) fn signal(number: i32) -> Option<rustix::process::Signal> {
    rustix::process::Signal::from_named_raw(number)
}

/// Turns what `wait` says into our own type.
pub(crate) fn wait_status(status: rustix::process::WaitStatus) -> Option<ExitStatus> {
    let code = status.exit_status().map(ExitStatus::Code);
    code.or_else(|| status.terminating_signal().map(ExitStatus::Signal))
}

/// Catches SIGXFSZ, so that a write beyond the limit on file sizes (`ulimit -f`) fails with `EFBIG` instead of ending the process. The signal is
/// caught and not ignored because children inherit what is ignored. Nothing is changed if it is ignored already.
#[expect(
    unsafe_code,
    reason = "signal handlers have no safe form in rustix or std; this one does nothing"
)]
pub fn report_file_size_limit_as_error() -> io::Result<()> {
    extern "C" fn do_nothing(_: libc::c_int) {}
    // SAFETY: the structure is plain data, and a handler that does nothing is safe at any time.
    let outcome = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        match libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &raw mut action) {
            0 if action.sa_sigaction == libc::SIG_DFL => {
                action.sa_sigaction = do_nothing as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut())
            }
            outcome => outcome,
        }
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
