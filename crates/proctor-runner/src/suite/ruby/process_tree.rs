//! The descendants of a process, and ending them: a forked process is nobody's child here.

use std::collections::BTreeSet;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How often the tree is read while it is stopped: each time shows the children that were made before their parents were stopped.
const STOP_ROUNDS: usize = 12;

/// Kills a forked worker: its process group, and descendants that have left the group.
///
/// All of them are stopped before the first is killed. A worker whose child is gone would go on otherwise: an example that
/// waits for a command would end, and pass, between the death of the command and its own.
pub(super) fn kill_tree(pid: u32) {
    let mut stopped = BTreeSet::from([pid]);
    signal(pid, Signal::STOP, true);
    signal(pid, Signal::STOP, false);
    for _ in 0..STOP_ROUNDS {
        let new: Vec<u32> =
            descendants(pid).into_iter().filter(|pid| !stopped.contains(pid)).collect();
        if new.is_empty() {
            break;
        }
        for victim in new {
            signal(victim, Signal::STOP, false);
            stopped.insert(victim);
        }
    }
    signal(pid, Signal::KILL, true);
    for victim in stopped {
        signal(victim, Signal::KILL, false);
    }
}

fn signal(pid: u32, signal: Signal, group: bool) {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    // Processes that have ended need no signal.
    let _ = if group { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
}

/// All descendants of a process, read from the kernel level by level.
pub(super) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(next) = open.pop() {
        for child in children(next) {
            found.push(child);
            open.push(child);
        }
    }
    found
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| {
            text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    /// The one child that the shell waits for is the first of many: time enough for the shell to go on while others are killed.
    const WAITS: &str = "sleep 600 & first=$!; for n in $(seq 200); do sleep 600 & done; \
        touch ready; wait $first; echo went on > result; exit 0";

    #[test]
    fn no_process_goes_on_when_its_child_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", WAITS])
            .current_dir(folder.path())
            .process_group(0)
            .spawn()
            .unwrap();
        while !folder.path().join("ready").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let tree = descendants(shell.id());
        assert_eq!(tree.len(), 201);
        kill_tree(shell.id());
        let ended = shell.wait().unwrap();
        assert_eq!(ended.signal(), Some(9));
        assert!(!folder.path().join("result").exists(), "the shell went on");
    }
}
