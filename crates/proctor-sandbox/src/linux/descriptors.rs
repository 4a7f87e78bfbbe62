//! What the program inherits: standard streams and the RPC socket, no terminal, nothing else.

use std::io;

use rustix::fs::{FileType, Mode, OFlags};

use super::error::{LaunchError, Step as _};
use super::sys;

/// Closes every descriptor but the standard streams and `kept`.
pub(super) fn close_all_but(kept: Option<i32>) -> Result<(), LaunchError> {
    let kept = kept.and_then(|number| u32::try_from(number).ok());
    let closed = match kept {
        Some(number) => sys::close_range(3, number.saturating_sub(1))
            .and_then(|()| sys::close_range(number + 1, u32::MAX)),
        None => sys::close_range(3, u32::MAX),
    };
    closed.step("close inherited descriptors")
}

/// Whether a number beyond the standard streams is an open socket. The variable that names it may be a left-over.
pub(super) fn is_inherited_socket(number: i32) -> bool {
    number > 2 && matches!(kind(number), Ok(FileType::Socket))
}

/// A folder as a standard stream would be a way out: paths can be opened relative to it.
pub(super) fn refuse_folders() -> Result<(), LaunchError> {
    for number in 0..=2 {
        match kind(number) {
            // A stream that is closed leads nowhere.
            Err(rustix::io::Errno::BADF) => {}
            Err(error) => return Err(error).step(format_args!("look at descriptor {number}")),
            Ok(FileType::Directory | FileType::BlockDevice) => {
                let source = io::Error::other("a folder or a disk would be a way out");
                return Err(source).step(format_args!("hand on descriptor {number}"));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

fn kind(number: i32) -> rustix::io::Result<FileType> {
    let stat = sys::with_inherited(number, |fd| rustix::fs::fstat(fd))?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// Leaves the caller's terminal in place. A process that leads a group cannot start a session; it can let go of the terminal.
pub(super) fn leave_terminal() -> Result<(), LaunchError> {
    if rustix::process::setsid().is_ok() {
        return Ok(());
    }
    match rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(terminal) => sys::drop_terminal(&terminal).step("leave the terminal"),
        // There is none.
        Err(_) => Ok(()),
    }
}

/// Closes the program's streams and RPC socket in a process that only waits for it.
pub(super) fn let_go_of_streams(rpc: Option<i32>) -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    match rpc.and_then(|number| u32::try_from(number).ok()) {
        Some(number) => sys::close_range(number, number),
        None => Ok(()),
    }
}
