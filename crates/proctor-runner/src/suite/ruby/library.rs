//! The Ruby library: embedded in the binary, unpacked into a cache folder when it is needed.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The files of `ruby/`, by relative path.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/ruby_files.rs"));

/// The cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot unpack the Ruby library into {}: {source}", folder.display())]
pub(super) struct UnpackError {
    folder: PathBuf,
    source: io::Error,
}

/// Unpacks the library below `cache` unless it is there already; returns its folder.
pub(super) fn unpack(cache: &Path) -> Result<PathBuf, UnpackError> {
    let folder = cache.join(concat!("ruby-", env!("PROCTOR_RUBY_VERSION")));
    if is_complete(&folder) {
        return Ok(folder);
    }
    write_all(cache, &folder).map_err(|source| UnpackError { folder: folder.clone(), source })?;
    Ok(folder)
}

/// Cleaners of temporary folders delete files one by one; a gap is filled by unpacking anew.
fn is_complete(folder: &Path) -> bool {
    FILES.iter().all(|(name, text)| {
        fs::metadata(folder.join(name)).is_ok_and(|found| found.len() == text.len() as u64)
    })
}

/// Writes beside the final place and renames, so that another process never sees half of it.
fn write_all(cache: &Path, folder: &Path) -> io::Result<()> {
    proctor_files::create_private_folder(cache)?;
    let fresh = private_folder("unpack-", cache)?;
    for (name, text) in FILES {
        let path = fresh.path().join(name);
        if let Some(parent) = path.parent() {
            proctor_files::create_private_folder(parent)?;
        }
        proctor_files::write_private(&path, text)?;
        if name.starts_with("exe/") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        }
    }
    if is_complete(folder) {
        // Another process unpacked it first and may be using it.
        return Ok(());
    }
    if folder.exists() {
        // An incomplete one: out of the way, then gone.
        let old = private_folder("old-", cache)?;
        fs::rename(folder, old.path().join("ruby"))?;
    }
    match fs::rename(fresh.path(), folder) {
        // The same, in the moment before.
        Err(_) if is_complete(folder) => Ok(()),
        outcome => outcome,
    }
}

fn private_folder(prefix: &str, parent: &Path) -> io::Result<tempfile::TempDir> {
    let mode = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(prefix).permissions(mode).tempdir_in(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_unpacked_once_and_repaired_when_a_file_is_missing() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack(cache.path()).unwrap();
        assert!(folder.join("exe/proctor-rspec-parent").is_file());
        let gone = folder.join("lib/proctor/wire.rb");
        fs::remove_file(&gone).unwrap();
        assert_eq!(unpack(cache.path()).unwrap(), folder);
        assert!(gone.is_file());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "nothing else is left");
    }
}
