//! Resource limits. The number of processes needs more than a limit of the process:
//!
//! - the kernel counts the processes of a user in each user namespace, so inside a new one the count starts at zero;
//! - without one, it counts all processes of the user, so those that run already are added;
//! - it never limits root. There the highest process id of the PID namespace is the bound, which is the namespace's own since
//!   Linux 6.14 (before, it would be the whole machine's, so it is not touched). Ids below 300 are used only once, so up to 300
//!   processes more may run.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Resource, Rlimit};

use super::error::{LaunchError, Step as _};
use crate::confinement::Confinement;
use crate::layer::Layer;

/// Ids that the kernel hands out only in the first round.
const RESERVED_IDS: u64 = 300;
/// The init, and the program itself, which counts as one that may run.
const OWN_PROCESSES: u64 = 1;

/// How the number of processes is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessLimit {
    resource: Option<u64>,
    highest_id: Option<u64>,
}

/// Decides how, before any namespace is entered.
pub(super) fn process_limit(confinement: &Confinement) -> Result<ProcessLimit, LaunchError> {
    let most = confinement.limits.processes.filter(|_| confinement.has(Layer::ProcessLimit));
    let Some(most) = most else { return Ok(ProcessLimit { resource: None, highest_id: None }) };
    let most = most.saturating_add(OWN_PROCESSES);
    let user = rustix::process::getuid();
    if user.is_root() {
        let refused = |why: &str| {
            Err(io::Error::other(why.to_owned()))
                .layer(Layer::ProcessLimit, "limit processes of root")
        };
        if !confinement.has(Layer::PidNamespace) {
            return refused("it needs a PID namespace");
        }
        if !has_own_highest_id() {
            return refused("it needs Linux 6.14");
        }
        return Ok(ProcessLimit { resource: Some(most), highest_id: Some(most + RESERVED_IDS) });
    }
    let running = if confinement.has(Layer::UserNamespace) { 0 } else { threads_of(user.as_raw()) };
    Ok(ProcessLimit { resource: Some(most.saturating_add(running)), highest_id: None })
}

/// Whether the highest process id belongs to the PID namespace.
fn has_own_highest_id() -> bool {
    version_of(&rustix::system::uname().release().to_string_lossy()) >= (6, 14)
}

fn version_of(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    (next(), next())
}

/// How many threads a user has, as far as `/proc` shows them.
fn threads_of(user: u32) -> u64 {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let own = entries.flatten().filter(|entry| {
        entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)
            && entry.metadata().is_ok_and(|metadata| metadata.uid() == user)
    });
    let counts = own.map(|entry| {
        fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64)
    });
    counts.sum()
}

/// Sets what belongs to the PID namespace. Its `/proc` must be mounted.
pub(super) fn apply_to_namespace(limit: ProcessLimit) -> Result<(), LaunchError> {
    match limit.highest_id {
        Some(highest) => fs::write("/proc/sys/kernel/pid_max", highest.to_string())
            .layer(Layer::ProcessLimit, "set the highest process id"),
        None => Ok(()),
    }
}

/// Sets what belongs to the program's process and is inherited.
pub(super) fn apply(confinement: &Confinement, processes: ProcessLimit) -> Result<(), LaunchError> {
    if confinement.has(Layer::Limits) {
        let limits = &confinement.limits;
        let rows = [
            (Resource::Core, Some(0)),
            (Resource::Fsize, limits.file_size),
            (Resource::Nofile, limits.open_files),
            (Resource::Cpu, limits.processor_seconds),
            (Resource::As, limits.address_space),
        ];
        for (resource, most) in rows {
            lower(resource, most).layer(Layer::Limits, format_args!("set {resource:?}"))?;
        }
    }
    lower(Resource::Nproc, processes.resource).layer(Layer::ProcessLimit, "set it")
}

/// Lowers a limit for good; one that is lower already stays.
fn lower(resource: Resource, most: Option<u64>) -> io::Result<()> {
    let Some(most) = most else { return Ok(()) };
    let most = rustix::process::getrlimit(resource).maximum.map_or(most, |held| held.min(most));
    Ok(rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases_are_read() {
        assert_eq!(version_of("6.18.44-fc-v509"), (6, 18));
        assert_eq!(version_of("5.15.0-generic"), (5, 15));
        assert_eq!(version_of("7"), (7, 0));
        assert_eq!(version_of("unknown"), (0, 0));
    }

    #[test]
    fn threads_of_this_user_are_found() {
        assert!(threads_of(rustix::process::getuid().as_raw()) > 0);
    }
}
