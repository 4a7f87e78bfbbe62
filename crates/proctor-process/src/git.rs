//! Runs `git`. No other module of the workspace starts it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use crate::child_environment::ChildEnvironment;
use crate::short_command::{ShortCommand, ShortCommandError, ShortOutput};

/// How long a command may take unless [`Git::time_limit`] says otherwise.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// `git` in a folder.
///
/// It takes no optional locks, so it does not disturb commands of the user; it never prompts, and its messages are English.
#[derive(Debug, Clone)]
pub struct Git<'a> {
    folder: &'a Path,
    environment: ChildEnvironment,
    time_limit: Duration,
}

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The commit; `None` before the first one.
    pub commit: Option<String>,
    /// Whether there are uncommitted changes. Untracked files count: tests may be among them.
    pub dirty: bool,
}

impl<'a> Git<'a> {
    /// With the settings and variables of the user (`safe.directory`, `GIT_INDEX_FILE` in a hook).
    #[must_use]
    pub fn with_user_settings(folder: &'a Path) -> Self {
        Self::new(folder, ChildEnvironment::inherited())
    }

    /// With [`isolated_environment`] instead of the settings and variables of the user. `path` is the `PATH` in which git is
    /// looked for.
    #[must_use]
    pub fn isolated(folder: &'a Path, path: &OsStr) -> Self {
        let environment = ChildEnvironment::empty().set("PATH", path);
        Self::new(folder, environment.set_all(isolated_environment(folder)))
    }

    fn new(folder: &'a Path, environment: ChildEnvironment) -> Self {
        let environment = environment
            .set("GIT_OPTIONAL_LOCKS", "0")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("LC_ALL", "C.UTF-8");
        Self { folder, environment, time_limit: TIME_LIMIT }
    }

    /// Sets how long a command may take.
    #[must_use]
    pub fn time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    /// Runs a git command. A non-zero exit status is not an error.
    pub fn run(&self, arguments: &[&str]) -> Result<ShortOutput, ShortCommandError> {
        ShortCommand::new("git", self.environment.clone(), self.time_limit)
            .args(arguments)
            .folder(self.folder)
            .output()
    }

    /// The output of a git command; `None` if it fails, for example outside of a repository.
    pub fn query(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>, ShortCommandError> {
        let output = self.run(arguments)?;
        Ok(output.status.success().then_some(output.stdout))
    }

    /// What is checked out; `None` outside of a repository.
    pub fn checkout(&self) -> Result<Option<Checkout>, ShortCommandError> {
        let status = self.query(&["status", "--porcelain=v2", "--branch"])?;
        Ok(status.map(|status| parse_status(&String::from_utf8_lossy(&status))))
    }
}

/// Variables that keep git from reading the user's settings and from finding a repository above `folder`. Commits are
/// Proctor's.
#[must_use]
pub fn isolated_environment(folder: &Path) -> Vec<(&'static str, OsString)> {
    let above = folder.parent().unwrap_or(folder);
    let mut variables: Vec<(&'static str, OsString)> =
        vec![("GIT_CEILING_DIRECTORIES", above.into())];
    let fixed = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_AUTHOR_NAME", "Proctor"),
        ("GIT_AUTHOR_EMAIL", "proctor@localhost"),
        ("GIT_COMMITTER_NAME", "Proctor"),
        ("GIT_COMMITTER_EMAIL", "proctor@localhost"),
    ];
    variables.extend(fixed.map(|(name, value)| (name, value.into())));
    variables
}

/// Reads `git status --porcelain=v2 --branch`.
fn parse_status(status: &str) -> Checkout {
    let commit = status.lines().find_map(|line| line.strip_prefix("# branch.oid "));
    Checkout {
        commit: commit.filter(|commit| *commit != "(initial)").map(ToOwned::to_owned),
        dirty: status.lines().any(|line| !line.starts_with('#')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_name_commit_and_changes() {
        let clean = parse_status("# branch.oid 1a2b\n# branch.head main\n");
        assert_eq!(clean, Checkout { commit: Some("1a2b".into()), dirty: false });
        let dirty = parse_status("# branch.oid 1a2b\n# branch.head main\n? new_spec.rb\n");
        assert!(dirty.dirty);
        assert_eq!(parse_status("# branch.oid (initial)\n").commit, None);
    }

    #[test]
    fn a_checkout_follows_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let path = OsStr::new("/usr/local/bin:/usr/bin:/bin");
        let git = Git::isolated(folder.path(), path);
        let run = |words: &[&str]| assert!(git.run(words).unwrap().status.success(), "{words:?}");
        assert_eq!(git.checkout().unwrap(), None);
        run(&["init", "--quiet", "--initial-branch=main"]);
        assert_eq!(git.checkout().unwrap(), Some(Checkout { commit: None, dirty: false }));
        run(&["commit", "--quiet", "--allow-empty", "--message", "first"]);
        let checkout = git.checkout().unwrap().unwrap();
        assert_eq!(checkout.commit.map(|commit| commit.len()), Some(40));
        assert!(!checkout.dirty);
        std::fs::write(folder.path().join("new_spec.rb"), "").unwrap();
        assert!(git.checkout().unwrap().unwrap().dirty);
        assert_eq!(git.query(&["no-such-command"]).unwrap(), None);
    }

    #[test]
    fn isolated_git_ignores_repositories_above_the_folder() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let path = OsStr::new("/usr/local/bin:/usr/bin:/bin");
        assert!(Git::isolated(outer.path(), path).run(&["init"]).unwrap().status.success());
        assert_eq!(Git::isolated(&inner, path).checkout().unwrap(), None);
        assert!(Git::with_user_settings(&inner).checkout().unwrap().is_some());
    }
}
