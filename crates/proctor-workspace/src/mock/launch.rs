//! The launcher: the last thing that runs before the orchestrator, in its place.
//!
//! It takes the network away where the kernel allows, bounds the size of files, marks the tree as alive,
//! writes down what it could do, and becomes the orchestrator. One thread, no return.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::fs::FlockOperation;
use rustix::io::FdFlags;
use rustix::process::{Resource, Rlimit};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use super::Arguments;
use crate::disk;

/// What the launcher could do for the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Isolation {
    /// The run had no network but its own loopback.
    pub(crate) network_off: bool,
    /// Why it had.
    pub(crate) why_network: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let Some((program, words)) = arguments.rest.split_first() else { return ExitCode::from(2) };
    // Held by every process of the run until the last one is gone, for it is inherited.
    let tree = arguments.state.join("../../tree.lock");
    let _alive: Option<File> = disk::lock_file(&tree).ok().inspect(|file| {
        let _ = rustix::fs::flock(file, FlockOperation::NonBlockingLockShared);
        let _ = rustix::io::fcntl_setfd(file, FdFlags::empty());
    });
    let isolation = if arguments.network { Isolation::default() } else { cut_network() };
    let _ = disk::replace_json(&arguments.state.join("isolation.json"), &isolation);
    if let Some(most) = arguments.file_bytes {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = rustix::process::setrlimit(Resource::Fsize, limit);
    }
    let _ =
        rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let error = Command::new(program).args(words).exec();
    let _ = disk::replace_json(&arguments.state.join("launch-error.json"), &error.to_string());
    ExitCode::from(127)
}

/// Gives this process a network of its own, in which there is only a loopback.
fn cut_network() -> Isolation {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let alone = unshare(UnshareFlags::NEWNET);
    let result = alone.or_else(|_| {
        // Not allowed as we are: in a user namespace of our own we may.
        unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
        std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))
    });
    match result {
        Ok(()) => {
            enable_loopback();
            Isolation { network_off: true, why_network: None }
        }
        Err(error) => Isolation {
            network_off: false,
            why_network: Some(format!("the kernel gives no network namespace here: {error}")),
        },
    }
}

#[expect(unsafe_code, reason = "a new namespace for this process, before anything else runs in it")]
fn unshare(flags: UnshareFlags) -> std::io::Result<()> {
    // SAFETY: the process has one thread and gives up no shared descriptors (FILES is not among the flags).
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Without it, a server that a test starts for itself could not be reached.
#[expect(unsafe_code, reason = "the kernel has no other call to raise an interface")]
fn enable_loopback() {
    use std::os::fd::AsRawFd as _;
    let Ok(socket) = std::net::UdpSocket::bind("0.0.0.0:0") else { return };
    // SAFETY: the structure is plain data, valid when zeroed, and outlives both calls.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = (*from).cast_signed();
        }
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) == 0 {
            request.ifr_ifru.ifru_flags |= libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
            libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request);
        }
    }
}
