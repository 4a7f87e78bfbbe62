//! Signals of the launcher and of init: all blocked and taken one by one.

use std::io;
use std::time::Duration;

use super::error::{LaunchError, Step as _};
use super::sys;

/// Signals that a terminal or a service manager sends to a whole group, so the program's group gets them.
const FOR_GROUP: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// Blocks every signal that can be blocked.
pub(super) fn block() -> Result<(), LaunchError> {
    sys::set_signal_mask(true).step("block signals")
}

/// What a program expects to start with: nothing blocked, and broken pipes end it. (The standard library ignores those.)
pub(super) fn restore() -> Result<(), LaunchError> {
    sys::reset_signal(libc::SIGPIPE).step("restore signals")?;
    sys::set_signal_mask(false).step("restore signals")
}

/// Waits for a signal, at most for `pause`: `None` for a child that changed state, an error if none came.
pub(super) fn next(pause: Option<Duration>) -> io::Result<Option<i32>> {
    let number = sys::wait_for_signal(pause)?;
    Ok((number != libc::SIGCHLD).then_some(number))
}

/// Hands a signal on to a child: to its group if groups get it.
pub(super) fn forward(child: i32, number: i32) {
    // The child may be gone, or may not have made its group yet.
    if !FOR_GROUP.contains(&number) || sys::send_signal(-child, number).is_err() {
        forward_to_process(child, number);
    }
}

/// Hands a signal on to one process.
pub(super) fn forward_to_process(child: i32, number: i32) {
    let _ = sys::send_signal(child, number);
}
