//! The Ruby library: embedded in the binary, unpacked into a cache folder when it is needed.

use std::io;
use std::path::{Path, PathBuf};

use proctor_files::EmbeddedFiles;

/// The files of `ruby/`.
const LIBRARY: EmbeddedFiles = EmbeddedFiles {
    files: include!(concat!(env!("OUT_DIR"), "/ruby_files.rs")),
    is_program: |name| name.starts_with("exe/"),
};

/// The cache cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot unpack the Ruby library into {}: {source}", cache.display())]
pub(super) struct UnpackError {
    cache: PathBuf,
    source: io::Error,
}

/// Unpacks the library below `cache` unless it is there already; returns its folder.
pub(super) fn unpack(cache: &Path) -> Result<PathBuf, UnpackError> {
    let name = concat!("ruby-", env!("PROCTOR_RUBY_VERSION"));
    let unpacked = LIBRARY.unpack(cache, name);
    unpacked.map_err(|source| UnpackError { cache: cache.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs;

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
