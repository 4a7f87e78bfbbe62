//! Sockets in folders whose names are longer than a socket's address may be.
//!
//! An address has room for about 100 bytes; a project may lie deeper. The kernel also takes the way through an open
//! folder, `/proc/self/fd/N/control.sock`, which is always short. Where there is no `/proc`, the plain path must do.

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
