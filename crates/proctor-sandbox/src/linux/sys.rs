//! The system calls that need `unsafe`, each behind a safe function. Owns no state.

#![expect(
    unsafe_code,
    reason = "a process is set up: namespaces, signals, descriptors by number, fork and exec"
)]

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::thread::UnshareFlags;

/// Which side of a fork this is.
pub(super) enum Fork {
    Child,
    /// With the child's process id.
    Parent(i32),
}

fn check(outcome: libc::c_int) -> io::Result<libc::c_int> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(outcome) }
}

fn check_long(outcome: libc::c_long) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the process has one thread and gives up no shared descriptors (FILES is never among the flags).
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

pub(super) fn fork() -> io::Result<Fork> {
    // SAFETY: the launcher has one thread, so the child may do everything that the parent may.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent(child)),
    }
}

/// Ends the process without running anything that was registered for its end.
pub(super) fn exit_at_once(code: i32) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Replaces this process; returns only the reason why that failed. A name without a slash is looked for in `PATH`.
pub(super) fn execute(argv: &[CString]) -> io::Error {
    let mut pointers: Vec<*const c_char> = argv.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let Some(program) = argv.first() else { return io::ErrorKind::InvalidInput.into() };
    // SAFETY: the list ends with a null pointer, and the strings outlive the call.
    unsafe { libc::execvp(program.as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// Closes descriptors `first..=last`. Only for descriptors that no owner in this process has.
pub(super) fn close_range(first: u32, last: u32) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: called for descriptors that were inherited and are owned by nobody here.
    check_long(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0_u32) })
}

/// Looks at an inherited descriptor.
pub(super) fn with_inherited<T>(
    number: i32,
    look: impl FnOnce(BorrowedFd<'_>) -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    if number < 0 {
        return Err(rustix::io::Errno::BADF);
    }
    // SAFETY: only borrowed for a call that fails if it is not open.
    look(unsafe { BorrowedFd::borrow_raw(number) })
}

pub(super) fn drop_terminal(terminal: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: the request has no argument.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) }).map(drop)
}

pub(super) fn drop_groups() -> io::Result<()> {
    // SAFETY: an empty list is not read.
    check(unsafe { libc::setgroups(0, std::ptr::null()) }).map(drop)
}

/// Removes every capability that this kernel knows from the bounding set.
pub(super) fn empty_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: takes numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            let error = io::Error::last_os_error();
            // The number behind the last one.
            let known_all = error.raw_os_error() == Some(libc::EINVAL) && capability > 0;
            return if known_all { Ok(()) } else { Err(error) };
        }
    }
    Ok(())
}

/// Blocks all signals, or none.
pub(super) fn set_signal_mask(all: bool) -> io::Result<()> {
    // SAFETY: the set is initialised by the call that fills it.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        if all {
            libc::sigfillset(&raw mut set)
        } else {
            libc::sigemptyset(&raw mut set)
        };
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut())).map(drop)
    }
}

/// Waits for the next of all signals, which must be blocked, at most for `pause`.
pub(super) fn wait_for_signal(pause: Option<Duration>) -> io::Result<i32> {
    let mut pause: Option<libc::timespec> = pause.map(|pause| libc::timespec {
        tv_sec: libc::time_t::try_from(pause.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: pause.subsec_nanos().into(),
    });
    let pause = pause.as_mut().map_or(std::ptr::null(), |pause| &raw const *pause);
    // SAFETY: the set is initialised by the call that fills it; no information is asked for; the time outlives the call.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut set);
        check(libc::sigtimedwait(&raw const set, std::ptr::null_mut(), pause))
    }
}

pub(super) fn reset_signal(number: i32) -> io::Result<()> {
    // SAFETY: no handler of ours is involved.
    let before = unsafe { libc::signal(number, libc::SIG_DFL) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sends a signal to a process, or to a group if the number is negative.
pub(super) fn send_signal(target: i32, number: i32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::kill(target, number) }).map(drop)
}

/// Reaps one child that has ended: its id and wait status, `None` if none has.
pub(super) fn reap_one() -> io::Result<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    match check(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) })? {
        0 => Ok(None),
        pid => Ok(Some((pid, status))),
    }
}

/// Ends this process with a wait status: the same code or the same signal, without a core file.
pub(super) fn end_like(status: i32) -> ! {
    if libc::WIFSIGNALED(status) {
        let number = libc::WTERMSIG(status);
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        let _ = reset_signal(number);
        let _ = send_signal(rustix::process::getpid().as_raw_nonzero().get(), number);
        let _ = set_signal_mask(false);
        // The signal did not end us: say it the way shells do.
        exit_at_once(128 + number);
    }
    exit_at_once(libc::WEXITSTATUS(status))
}

/// Adds attributes to a mount, with all mounts below it if `recursive`.
pub(super) fn set_mount_attributes(
    mount: BorrowedFd<'_>,
    path: &CStr,
    attributes: u64,
    recursive: bool,
) -> io::Result<()> {
    let mut flags = libc::AT_EMPTY_PATH;
    if recursive {
        flags |= libc::AT_RECURSIVE;
    }
    let set = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the structure and the path outlive the call, and the size is that of the structure.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const set,
            size,
        )
    })
}

/// Raises the loopback interface of this network namespace.
pub(super) fn raise_loopback() -> io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: the structure is plain data, valid when zeroed, and outlives both calls.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = c_char::try_from(*from).unwrap_or_default();
        }
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request))?;
        request.ifr_ifru.ifru_flags |= libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request)).map(drop)
    }
}

/// The version of Landlock's interface.
pub(super) fn landlock_version() -> io::Result<u32> {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel reads no structure.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    check_long(version)?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// Waits for one child; its wait status.
pub(super) fn wait_for_child(child: i32) -> io::Result<i32> {
    loop {
        let mut status = 0;
        // SAFETY: the status outlives the call.
        match check(unsafe { libc::waitpid(child, &raw mut status, 0) }) {
            Ok(_) => return Ok(status),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
