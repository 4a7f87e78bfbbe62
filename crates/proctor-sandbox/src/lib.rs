//! One sandbox: a description of what a program may reach, and the launcher that starts it so.
//!
//! Purpose: [`Confinement`] is a plain value (folders, network, limits, layers). [`Launcher::wrap`] turns it and a command into
//! the command line of a launcher, so that everything that starts programs can start confined ones unchanged.
//! [`launcher_main`] is that launcher: it applies every layer it is told to, or runs nothing. [`Abilities::probe`] says which
//! layers this kernel and this user allow, by trying them.
//!
//! What this crate must not know: who is confined and why, environments of children (callers choose them), time limits and
//! captured output (`proctor-process` has both). It keeps no state.
//!
//! The layers and what each one stops:
//!
//! | layer | stops |
//! |---|---|
//! | user namespace | capabilities over anything of the host |
//! | mount namespace | seeing or changing files that are not listed; `/tmp`, `/run`, homes are fresh, `/dev` and `/proc` are minimal |
//! | PID namespace | seeing, signalling or tracing processes of the host; outliving the launcher |
//! | IPC, UTS, cgroup namespaces | System V memory, message queues, the host's name and control groups |
//! | network namespace | every network but an own loopback |
//! | Landlock | the same file rules once more, below the mounts; descriptors that lead outside; signals and abstract sockets |
//! | system call filter | tracing, keyrings, namespaces, terminals, unix sockets, set-user-id files, rarely used kernel interfaces |
//! | limits | too much memory, file size, open files, processor time |
//! | process limit | too many processes |
//! | disk limit | too many bytes or files in the writable folders together |
//!
//! **The root is built from a list** rather than by hiding parts of the host's root: what nobody named (`/srv`, a mounted disk,
//! another project) does not exist inside. It also costs fewer mounts on hosts with many.

mod abilities;
mod confinement;
mod launch_report;
mod launcher;
mod layer;
#[cfg(target_os = "linux")]
mod linux;
mod path_text;
mod program_path;
#[cfg(not(target_os = "linux"))]
mod unsupported;

pub use abilities::{Abilities, ProbeError};
pub use confinement::{Confinement, Limits, Network, PathError};
pub use launch_report::{LaunchReport, LeftProcess};
pub use launcher::Launcher;
pub use layer::Layer;
#[cfg(target_os = "linux")]
pub use linux::launcher_main;
pub use program_path::{ProgramError, ProgramSearch};
#[cfg(not(target_os = "linux"))]
pub use unsupported::launcher_main;

/// Exit code of a launcher that could not apply what it was told to, or could not run the program. One line on standard
/// error, which starts with [`ERROR_PREFIX`], has the reason; nothing was run.
pub const NOT_CONFINED: u8 = 126;
/// Exit code of a launcher that did not find the program inside the confinement.
pub const PROGRAM_NOT_FOUND: u8 = 127;
/// The signal that a launcher ends by when its program went beyond the disk limit: the one that a single file beyond its limit causes.
pub const DISK_LIMIT_SIGNAL: i32 = libc::SIGXFSZ;
/// The beginning of every line that a launcher itself writes to standard error.
pub const ERROR_PREFIX: &str = "proctor sandbox: ";
