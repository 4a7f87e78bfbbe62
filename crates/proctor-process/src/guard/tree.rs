//! Finding and ending the descendants of this process.
//!
//! The guard is a child subreaper: whatever its descendants do (a new session, a double fork), they
//! stay below it, and "no child left to wait for" means that the whole tree is gone. The
//! kernel's list of children (`/proc/<pid>/task/<tid>/children`) says whom to kill; it may miss one that
//! appears or ends meanwhile, so killing is repeated until `wait` reports that no child is left.
//! Owns no state.

use crate::exit::{ExitStatus, Leaked};
use crate::sys::wait_status;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::collections::BTreeSet;
use std::fs;

/// What reaping found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reaped {
    /// The status of the command itself, if it was among the dead.
    pub(super) main: Option<ExitStatus>,
    /// No child is left, dead or alive.
    pub(super) none_left: bool,
}

/// Reaps everyone who is dead right now.
pub(super) fn reap(main: Pid) -> Reaped {
    let mut reaped = Reaped::default();
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if pid == main {
                    reaped.main = wait_status(status).or(reaped.main);
                }
            }
            Ok(None) => return reaped,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => {
                reaped.none_left = true;
                return reaped;
            }
        }
    }
}

/// One pass over the tree: stops all processes first, so that none forks, then kills them.
pub(super) fn kill_all() {
    let mut stopped = BTreeSet::new();
    // Each round sees the children that the processes of the last round had made before they
    // were stopped. A dozen rounds is plenty; what is missed dies in the next pass.
    for _ in 0..12 {
        let new: Vec<_> = descendants().difference(&stopped).copied().collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            send(pid, Signal::STOP);
            stopped.insert(pid);
        }
    }
    for pid in stopped {
        send(pid, Signal::KILL);
    }
}

/// The living descendants with their command lines, at most `most` of them.
pub(super) fn name_all(most: usize) -> Vec<Leaked> {
    let alive = descendants().into_iter().filter(|pid| is_alive(*pid));
    alive.take(most).map(|pid| Leaked { pid: number(pid), command: command_line(pid) }).collect()
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // Gone meanwhile: that is what we want.
        let _ = kill_process(pid, signal);
    }
}

fn number(pid: i32) -> u32 {
    u32::try_from(pid).unwrap_or_default()
}

/// All descendants of this process; by the kernel's lists, or by a scan where there are none.
fn descendants() -> BTreeSet<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = BTreeSet::new();
    let mut open = vec![own];
    while let Some(pid) = open.pop() {
        for child in children(pid) {
            if found.insert(child) {
                open.push(child);
            }
        }
    }
    if found.is_empty() && !has_lists(own) { scan(own) } else { found }
}

/// Whether this kernel keeps lists of children.
fn has_lists(own: i32) -> bool {
    fs::exists(format!("/proc/{own}/task/{own}/children")).unwrap_or(false)
}

/// The children of all threads of a process.
fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(list: &str) -> Vec<i32> {
    list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Descendants by the parent ids of all processes: slower, for kernels without lists of children.
fn scan(own: i32) -> BTreeSet<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let parents: Vec<(i32, i32)> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_and_state(pid)?.0)))
        .collect();
    let mut found = BTreeSet::new();
    loop {
        let before = found.len();
        for (pid, parent) in &parents {
            if *parent == own || found.contains(parent) {
                found.insert(*pid);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Parent and state letter out of `/proc/<pid>/stat`, whose second field may contain anything.
fn parent_and_state(pid: i32) -> Option<(i32, char)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&stat))
}

fn parse_stat(stat: &str) -> Option<(i32, char)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

fn is_alive(pid: i32) -> bool {
    parent_and_state(pid).is_some_and(|(_, state)| !matches!(state, 'Z' | 'X'))
}

fn command_line(pid: i32) -> String {
    const LONGEST: usize = 400;
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').replace('\0', " ");
    if text.is_empty() {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", name.trim_end());
    }
    proctor_text::truncate(&text, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_may_contain_anything() {
        assert_eq!(parse_stat("12 (a) b) (c) S 7 12 12 0"), Some((7, 'S')));
        assert_eq!(parse_stat("12 (sh) Z 1 1"), Some((1, 'Z')));
        assert_eq!(parse_stat("nonsense"), None);
    }

    #[test]
    fn lists_of_children_are_read() {
        assert_eq!(numbers("12 13 \n"), [12, 13]);
        assert!(numbers("").is_empty());
    }

    #[test]
    fn both_ways_find_a_child() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(descendants().contains(&pid));
        assert!(scan(own).contains(&pid));
        assert!(is_alive(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(pid));
    }
}
