//! Where a project's journal lies.

use std::path::{Path, PathBuf};

use crate::error::JournalError;

/// The nearest folder at or above `start` with `proctor.toml` or `.git`, never the home folder nor
/// one above it; else `start` itself, unless that is the home folder.
pub fn project_root(start: &Path, home: Option<&Path>) -> Result<PathBuf, JournalError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let start = real(start);
    let home = home.map(real);
    let is_forbidden = |dir: &Path| home.as_ref().is_some_and(|home| home.starts_with(dir));
    let root = start
        .ancestors()
        .take_while(|dir| !is_forbidden(dir))
        .find(|dir| dir.join("proctor.toml").exists() || dir.join(".git").exists());
    match root {
        Some(root) => Ok(root.to_owned()),
        None if home.as_ref() == Some(&start) => Err(JournalError::HomeFolder(start)),
        None => Ok(start),
    }
}

/// The journal of a project: `.claude/journal` at its root.
pub fn journal_dir(root: &Path) -> PathBuf {
    root.join(".claude").join("journal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;

    #[test]
    fn the_root_is_the_nearest_project_below_home() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap().join("home");
        let inner = home.join("project/deep/er");
        create_dir_all(&inner).unwrap();
        create_dir_all(home.join(".git")).unwrap();
        assert_eq!(project_root(&inner, Some(&home)).unwrap(), inner, "no mark below home");
        create_dir_all(home.join("project/.git")).unwrap();
        assert_eq!(project_root(&inner, Some(&home)).unwrap(), home.join("project"));
        std::fs::write(home.join("project/deep/proctor.toml"), "").unwrap();
        assert_eq!(project_root(&inner, Some(&home)).unwrap(), home.join("project/deep"));
        let refused = project_root(&home, Some(&home)).unwrap_err().to_string();
        assert!(refused.contains("is the home folder, not a project"));
    }
}
