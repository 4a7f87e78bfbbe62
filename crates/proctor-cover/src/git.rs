//! What git knows: changed files and earlier versions of them.

use std::io;
use std::path::Path;

use proctor_process::git::Git;

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Path now, relative to the project.
    pub path: String,
    /// Path in the base, if it was there.
    pub base_path: Option<String>,
    /// Whether it is gone.
    pub deleted: bool,
}

fn git(root: &Path, arguments: &[&str]) -> io::Result<Option<Vec<u8>>> {
    Ok(Git::with_user_settings(root).query(arguments)?)
}

/// Whether the folder is in a repository.
pub(crate) fn is_repository(root: &Path) -> bool {
    matches!(git(root, &["rev-parse", "--git-dir"]), Ok(Some(_)))
}

/// The commit that the branch started from: the remote's head, else `main` or `master`.
pub(crate) fn base(root: &Path) -> io::Result<Option<String>> {
    for name in ["origin/HEAD", "origin/main", "origin/master", "main", "master"] {
        if let Some(commit) = git(root, &["merge-base", name, "HEAD"])? {
            return Ok(Some(String::from_utf8_lossy(&commit).trim().to_owned()));
        }
    }
    Ok(None)
}

/// Files that differ from `base` (work tree included), or that are staged.
pub(crate) fn changes(root: &Path, base: Option<&str>) -> io::Result<Vec<Change>> {
    let mut arguments = vec!["diff", "--name-status", "-z", "-M", "--relative"];
    match base {
        Some(base) => arguments.push(base),
        None => arguments.push("--cached"),
    }
    let output = git(root, &arguments)?.unwrap_or_default();
    let mut changes = read_changes(&String::from_utf8_lossy(&output));
    if base.is_some() {
        let fresh =
            git(root, &["ls-files", "--others", "--exclude-standard", "-z"])?.unwrap_or_default();
        let fresh = String::from_utf8_lossy(&fresh).into_owned();
        changes.extend(fresh.split('\0').filter(|path| !path.is_empty()).map(|path| Change {
            path: path.to_owned(),
            base_path: None,
            deleted: false,
        }));
    }
    Ok(changes)
}

fn read_changes(text: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut parts = text.split('\0').filter(|part| !part.is_empty());
    while let Some(status) = parts.next() {
        let Some(first) = parts.next() else { break };
        match status.chars().next() {
            Some('R' | 'C') => {
                let Some(second) = parts.next() else { break };
                changes.push(Change {
                    path: second.to_owned(),
                    base_path: Some(first.to_owned()),
                    deleted: false,
                });
            }
            Some('A') => {
                changes.push(Change { path: first.to_owned(), base_path: None, deleted: false });
            }
            Some('D') => {
                changes.push(Change { path: first.to_owned(), base_path: None, deleted: true });
            }
            _ => changes.push(Change {
                path: first.to_owned(),
                base_path: Some(first.to_owned()),
                deleted: false,
            }),
        }
    }
    changes
}

/// A file as it was.
pub(crate) fn show(root: &Path, commit: &str, path: &str) -> io::Result<Option<Vec<u8>>> {
    git(root, &["show", &format!("{commit}:./{path}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_renames_additions_and_deletions() {
        let changes = read_changes("M\0a.rb\0R100\0b.rb\0c.rb\0A\0d.rb\0D\0e.rb\0");
        let names: Vec<(&str, Option<&str>, bool)> = changes
            .iter()
            .map(|one| (one.path.as_str(), one.base_path.as_deref(), one.deleted))
            .collect();
        assert_eq!(
            names,
            [
                ("a.rb", Some("a.rb"), false),
                ("c.rb", Some("b.rb"), false),
                ("d.rb", None, false),
                ("e.rb", None, true)
            ]
        );
    }
}
