//! Sockets in folders with a long path.
//!
//! A Unix socket address holds about 100 bytes, and the path of a project may be longer. `/proc/self/fd/N/control.sock`, relative to an open
//! folder, is always short. Without `/proc` the plain path is used.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The socket's name in a run's folder.
pub const SOCKET_NAME: &str = "control.sock";

pub(super) fn bind(folder: &Path) -> io::Result<UnixListener> {
    with_short_path(folder, |path| UnixListener::bind(path))
}

pub(super) fn connect(folder: &Path) -> io::Result<UnixStream> {
    with_short_path(folder, |path| UnixStream::connect(path))
}

fn with_short_path<T>(folder: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let opened: File = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::DIRECTORY.bits().cast_signed())
        .open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    let folder = if short.exists() { short.as_path() } else { folder };
    let outcome = act(&folder.join(SOCKET_NAME));
    // Held open until here: the short path leads through it.
    drop(opened);
    outcome
}
