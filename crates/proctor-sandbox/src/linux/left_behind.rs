//! Processes that are still there when the program has ended, and the message with them that init sends to the launcher.

use std::fs;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use super::sys;
use crate::launch_report::LeftProcess;

/// How many processes are named.
const MAX_NAMED: usize = 20;
/// How much of a command line is kept.
const MAX_COMMAND: usize = 200;
/// How long processes have to end by themselves: children often end a moment after the program that waited for their output.
const GRACE: Duration = Duration::from_millis(200);

/// The processes that are left after a moment. For init, with its own `/proc`.
pub(super) fn find() -> Vec<LeftProcess> {
    let deadline = Instant::now() + GRACE;
    loop {
        while let Ok(Some(_)) = sys::reap_one() {}
        let left = list();
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn list() -> Vec<LeftProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let left = pids.filter(|pid| *pid != 1 && is_alive(*pid));
    left.take(MAX_NAMED).map(|pid| LeftProcess { pid, command: command_line(pid) }).collect()
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state stands behind the name, which may hold anything.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn command_line(pid: u32) -> String {
    let mut bytes = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/cmdline"));
    let _ = file.and_then(|file| file.take(MAX_COMMAND as u64).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}

/// What init sends when the program has ended: the wait status, then the processes as JSON.
pub(super) struct EndMessage;

impl EndMessage {
    pub(super) fn write(pipe: &OwnedFd, status: i32, left: &[LeftProcess]) {
        let mut message = status.to_ne_bytes().to_vec();
        message.extend(serde_json::to_vec(left).unwrap_or_default());
        // At most 20 short texts: they fit into the pipe.
        let _ = rustix::io::write(pipe.as_fd(), &message);
    }

    /// The status, if init sent one, and the processes.
    pub(super) fn read(pipe: &OwnedFd) -> (Option<i32>, Vec<LeftProcess>) {
        let mut message = [0; 16 << 10];
        let count = rustix::io::read(pipe, &mut message).unwrap_or(0);
        let Some((status, left)) = message[..count].split_first_chunk::<4>() else {
            return (None, Vec::new());
        };
        (Some(i32::from_ne_bytes(*status)), serde_json::from_slice(left).unwrap_or_default())
    }
}
