//! How a process ended. Plain values.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The exact way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It could not be started.
    NotStarted,
    /// It is gone, but its status was lost, because its guard was killed.
    Lost,
}

impl ExitStatus {
    /// Exit code 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    /// The exit code, if it exited by itself.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            _ => None,
        }
    }

    /// The signal, if one ended it.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Signal(signal) => Some(signal),
            _ => None,
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(out, "exit code {code}"),
            Self::Signal(number) => write!(out, "signal {number}{}", signal_name(*number)),
            Self::NotStarted => out.write_str("not started"),
            Self::Lost => out.write_str("unknown exit status (its guard was killed)"),
        }
    }
}

fn signal_name(number: i32) -> &'static str {
    match number {
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGHUP => " (SIGHUP)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGQUIT => " (SIGQUIT)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGUSR1 => " (SIGUSR1)",
        libc::SIGUSR2 => " (SIGUSR2)",
        _ => "",
    }
}

/// A process that outlived the one that started it, and was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaked {
    /// Its process id.
    pub pid: u32,
    /// Its command line, arguments separated by spaces; its name in brackets if it had none.
    pub command: String,
}

/// Everything known about the end of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitReport {
    /// How it ended.
    pub status: ExitStatus,
    /// What it left running when it exited by itself, already ended now. Empty after a kill, where
    /// the whole tree was meant. Only a guard finds these.
    pub leaked: Vec<Leaked>,
}

impl ExitReport {
    pub(crate) fn of(status: ExitStatus) -> Self {
        Self { status, leaked: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_read_well() {
        assert_eq!(ExitStatus::Code(42).to_string(), "exit code 42");
        assert_eq!(ExitStatus::Signal(9).to_string(), "signal 9 (SIGKILL)");
        assert!(ExitStatus::Code(0).success() && !ExitStatus::Signal(15).success());
        assert_eq!((ExitStatus::Code(3).code(), ExitStatus::Signal(3).code()), (Some(3), None));
        assert_eq!(ExitStatus::Signal(3).signal(), Some(3));
    }
}
