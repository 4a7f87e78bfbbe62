//! Whether a folder with Proctor's own files may be used: a repository can bring one along that leads elsewhere, and in a shared place another
//! user can.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Why a folder is not used. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OwnFolderError {
    /// It leads elsewhere.
    #[error("{} is a symbolic link, which Proctor does not follow; remove it", .0.display())]
    Link(PathBuf),
    /// Somebody else decides what stands in it.
    #[error("{} belongs to another user (uid {owner}); remove it, or make it yours with chown", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// The system does not tell.
    #[error("cannot inspect {}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Refuses a symbolic link, and what belongs neither to the effective user nor to root. What does not exist is fine.
pub fn check_own_folder(path: &Path) -> Result<(), OwnFolderError> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(OwnFolderError::Io { path: path.to_owned(), source }),
        Ok(found) => found,
    };
    let user = rustix::process::geteuid().as_raw();
    if found.is_symlink() {
        Err(OwnFolderError::Link(path.to_owned()))
    } else if is_foreign(found.uid(), user) {
        Err(OwnFolderError::Foreign { path: path.to_owned(), owner: found.uid() })
    } else {
        Ok(())
    }
}

const ROOT: u32 = 0;

fn is_foreign(owner: u32, user: u32) -> bool {
    owner != user && owner != ROOT
}

/// The same for a folder and what stands directly in it: a repository can bring links in a folder that is in order itself.
pub fn check_state_folder(path: &Path) -> Result<(), OwnFolderError> {
    check_own_folder(path)?;
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        // A file in its place is reported where it is used as a folder.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(());
        }
        Err(source) => return Err(OwnFolderError::Io { path: path.to_owned(), source }),
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            return Err(OwnFolderError::Link(entry.path()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_refused_and_plain_folders_are_not() {
        let place = tempfile::tempdir().unwrap();
        let (folder, link) = (place.path().join("folder"), place.path().join("link"));
        assert!(check_state_folder(&folder).is_ok(), "nothing there");
        fs::create_dir(&folder).unwrap();
        assert!(check_state_folder(&folder).is_ok());
        symlink(&folder, &link).unwrap();
        let told = check_own_folder(&link).unwrap_err().to_string();
        assert!(
            told.ends_with("/link is a symbolic link, which Proctor does not follow; remove it"),
            "{told}"
        );
        symlink("/nowhere", folder.join("history.db")).unwrap();
        assert!(check_own_folder(&folder).is_ok());
        let told = check_state_folder(&folder).unwrap_err().to_string();
        assert!(told.contains("/folder/history.db is a symbolic link"), "{told}");
    }

    #[test]
    fn only_other_users_than_root_are_foreign() {
        assert!(is_foreign(1001, 1000));
        assert!(is_foreign(1000, 0), "root does not trust a user's folder");
        assert!(!is_foreign(1000, 1000));
        assert!(!is_foreign(0, 1000));
    }
}
