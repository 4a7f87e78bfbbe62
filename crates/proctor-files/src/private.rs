//! Files and folders for their owner only, whatever the umask is.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::regular::refuse_other_kinds;

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Makes a folder and those above it that are missing. One that is there keeps its mode.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

/// Opens a file for writing, emptying or creating it. One that is there keeps its mode.
pub fn create_private(path: &Path) -> io::Result<File> {
    create(path, OpenOptions::new().write(true).truncate(true))
}

/// Writes a file, over what it held before. One that is there keeps its mode.
pub fn write_private(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    create_private(path)?.write_all(bytes.as_ref())
}

/// Opens a file for appending, creating it if need be.
pub fn append_private(path: &Path) -> io::Result<File> {
    create(path, OpenOptions::new().append(true))
}

/// Opens a file that is there to be locked, creating it if need be.
pub fn open_lock_file(path: &Path) -> io::Result<File> {
    create(path, OpenOptions::new().read(true).write(true).truncate(false))
}

/// Anything but a regular file is refused without waiting: opening a FIFO for writing waits for a reader.
fn create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::metadata(path) {
        Ok(found) => refuse_other_kinds(found.file_type())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let options = options.create(true).mode(FILE_MODE).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    refuse_other_kinds(file.metadata()?.file_type())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn nobody_else_can_read_them() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        create_private_folder(&folder).unwrap();
        write_private(&folder.join("written"), "1").unwrap();
        append_private(&folder.join("appended")).unwrap();
        open_lock_file(&folder.join("lock")).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(&place.path().join("a")), mode(&folder)], [0o700; 2]);
        for name in ["written", "appended", "lock"] {
            assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
        }
    }

    #[test]
    fn a_fifo_in_their_place_does_not_block() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        let told = |outcome: io::Result<()>| outcome.unwrap_err().to_string();
        let expected = "it is a FIFO, not a file";
        assert_eq!(told(write_private(&fifo, "1")), expected);
        assert_eq!(told(append_private(&fifo).map(drop)), expected);
        assert_eq!(told(open_lock_file(&fifo).map(drop)), expected);
    }
}
