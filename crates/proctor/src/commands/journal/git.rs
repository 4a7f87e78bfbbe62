//! What is checked out: the commit, and whether there are uncommitted changes.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A repository that takes longer to look at is left out of the evidence.
const PATIENCE: Duration = Duration::from_secs(3);

/// What was checked out; nothing is known outside a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Checkout {
    pub(super) commit: Option<String>,
    pub(super) dirty: Option<bool>,
}

/// Asks git about the current folder. Files that git does not know yet count as changes: tests may be among them.
pub(super) fn checkout() -> Checkout {
    let started = Command::new("git")
        .args(["--no-optional-locks", "status", "--porcelain=v2", "--branch"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut git) = started else { return Checkout::default() };
    let Some(mut output) = git.stdout.take() else { return Checkout::default() };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.read_to_end(&mut text);
        let _ = sender.send(read.map(|_| text));
    });
    let Ok(Ok(text)) = receiver.recv_timeout(PATIENCE) else {
        let _ = git.kill();
        let _ = git.wait();
        return Checkout::default();
    };
    match git.wait() {
        Ok(status) if status.success() => parse(&String::from_utf8_lossy(&text)),
        _ => Checkout::default(),
    }
}

fn parse(status: &str) -> Checkout {
    let commit = status.lines().find_map(|line| line.strip_prefix("# branch.oid "));
    Checkout {
        commit: commit.filter(|commit| *commit != "(initial)").map(ToOwned::to_owned),
        dirty: Some(status.lines().any(|line| !line.starts_with('#'))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_tell_commit_and_changes() {
        let clean = parse("# branch.oid 1a2b\n# branch.head main\n");
        assert_eq!(clean, Checkout { commit: Some("1a2b".into()), dirty: Some(false) });
        let dirty = parse("# branch.oid 1a2b\n# branch.head main\n? new_spec.rb\n");
        assert_eq!(dirty.dirty, Some(true));
        assert_eq!(parse("# branch.oid (initial)\n").commit, None);
    }
}
