//! Files that are embedded in the program, unpacked into a cache folder when they are needed.
//!
//! Several processes may unpack at once: each writes beside the final place and renames. Cleaners of temporary folders delete files one
//! by one; a folder with a gap is unpacked anew. The folder's name must change with the contents, which is the caller's business.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::{create_private_folder, write_private};

/// The mode of folders, and of files that are programs.
const OWNER_ALL: u32 = 0o700;

/// Files by relative path, and which of them are programs.
#[derive(Clone, Copy)]
pub struct EmbeddedFiles {
    /// Relative path and contents.
    pub files: &'static [(&'static str, &'static str)],
    /// Whether the file at this path is made executable.
    pub is_program: fn(&str) -> bool,
}

impl EmbeddedFiles {
    /// Unpacks the files into the folder `name` below `cache`, unless they are there; returns that folder.
    ///
    /// # Errors
    ///
    /// The cache cannot be written to.
    pub fn unpack(self, cache: &Path, name: &str) -> io::Result<PathBuf> {
        let folder = cache.join(name);
        if !self.is_complete(&folder) {
            self.write_all(cache, &folder)?;
        }
        Ok(folder)
    }

    fn is_complete(self, folder: &Path) -> bool {
        self.files.iter().all(|(name, text)| {
            fs::metadata(folder.join(name)).is_ok_and(|found| found.len() == text.len() as u64)
        })
    }

    fn write_all(self, cache: &Path, folder: &Path) -> io::Result<()> {
        create_private_folder(cache)?;
        let fresh = private_folder("unpack-", cache)?;
        for (name, text) in self.files {
            self.write_file(&fresh.path().join(name), name, text)?;
        }
        if self.is_complete(folder) {
            // Another process unpacked it first and may be using it.
            return Ok(());
        }
        if folder.exists() {
            // An incomplete one: out of the way, then gone.
            let old = private_folder("old-", cache)?;
            fs::rename(folder, old.path().join("incomplete"))?;
        }
        match fs::rename(fresh.path(), folder) {
            // The same, in the moment before.
            Err(_) if self.is_complete(folder) => Ok(()),
            outcome => outcome,
        }
    }

    fn write_file(self, path: &Path, name: &str, text: &str) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            create_private_folder(parent)?;
        }
        write_private(path, text)?;
        if (self.is_program)(name) {
            fs::set_permissions(path, fs::Permissions::from_mode(OWNER_ALL))?;
        }
        Ok(())
    }
}

fn private_folder(prefix: &str, parent: &Path) -> io::Result<tempfile::TempDir> {
    let mode = fs::Permissions::from_mode(OWNER_ALL);
    tempfile::Builder::new().prefix(prefix).permissions(mode).tempdir_in(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: EmbeddedFiles = EmbeddedFiles {
        files: &[("a.txt", "a"), ("bin/run", "#!/bin/sh\n")],
        is_program: |name| name.starts_with("bin/"),
    };

    #[test]
    fn files_are_unpacked_once_and_repaired_when_one_is_missing() {
        let cache = tempfile::tempdir().unwrap();
        let folder = FILES.unpack(cache.path(), "x-1").unwrap();
        let mode = fs::metadata(folder.join("bin/run")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, OWNER_ALL);
        fs::remove_file(folder.join("a.txt")).unwrap();
        assert_eq!(FILES.unpack(cache.path(), "x-1").unwrap(), folder);
        assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "a");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "nothing else is left");
    }
}
