//! The descendants of a process, and ending them: a forked process is nobody's child here.

/// Kills a forked worker: its process group, and descendants that have left the group.
pub(super) fn kill_tree(pid: u32) {
    for victim in descendants(pid) {
        signal(victim, false);
    }
    signal(pid, true);
    signal(pid, false);
}

fn signal(pid: u32, group: bool) {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return;
    };
    // Processes that have ended need no signal.
    let _ = if group {
        rustix::process::kill_process_group(pid, rustix::process::Signal::KILL)
    } else {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
    };
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
