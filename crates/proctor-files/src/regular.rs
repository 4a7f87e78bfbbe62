//! Opening and reading regular files.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Why a file is not read. Kept as the source of an [`io::Error`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReadable {
    /// Something else has the name.
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    /// The file is larger than what is read.
    #[error("it is larger than {limit}; at most that is read", limit = size(*limit))]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

impl From<NotReadable> for io::Error {
    fn from(problem: NotReadable) -> Self {
        let kind = match problem {
            NotReadable::TooLarge { .. } => ErrorKind::FileTooLarge,
            NotReadable::NotAFile("a folder") => ErrorKind::IsADirectory,
            NotReadable::NotAFile(_) => ErrorKind::InvalidInput,
        };
        Self::new(kind, problem)
    }
}

fn size(bytes: u64) -> String {
    match (bytes >> 20, bytes >> 10) {
        (mib, _) if mib > 0 => format!("{mib} MiB"),
        (_, kib) if kib > 0 => format!("{kib} KiB"),
        _ => format!("{bytes} bytes"),
    }
}

/// What to do about a symbolic link in the place of a file. Links among the folders above are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// The file that it leads to is opened.
    Follow,
    /// It is named in the error.
    Refuse,
}

/// Opens a regular file for reading; whatever else has the name is refused without waiting. A link is followed.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, Links::Follow)
}

/// The same, with a choice about links.
pub fn open_with(path: &Path, links: Links) -> io::Result<File> {
    let (found, no_follow) = match links {
        Links::Follow => (fs::metadata(path)?, OFlags::empty()),
        Links::Refuse => (fs::symlink_metadata(path)?, OFlags::NOFOLLOW),
    };
    // Looked at before it is opened: opening a device can have effects of its own.
    refuse_other_kinds(found.file_type())?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | no_follow;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    // And again: the name may lead elsewhere by now.
    refuse_other_kinds(file.metadata()?.file_type())?;
    Ok(file)
}

pub(crate) fn refuse_other_kinds(kind: FileType) -> Result<(), NotReadable> {
    name_of_other_kind(kind).map_or(Ok(()), |name| Err(NotReadable::NotAFile(name)))
}

/// What has a file's name without being a regular file, with its article; `None` for a regular file.
pub fn name_of_other_kind(kind: FileType) -> Option<&'static str> {
    match kind {
        _ if kind.is_file() => None,
        _ if kind.is_dir() => Some("a folder"),
        _ if kind.is_symlink() => Some("a symbolic link"),
        _ if kind.is_fifo() => Some("a FIFO"),
        _ if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

/// Reads a regular file of at most `limit` bytes. A link is followed.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_with(path, limit, Links::Follow)
}

/// The same, with a choice about links.
pub fn read_with(path: &Path, limit: u64, links: Links) -> io::Result<Vec<u8>> {
    let file = open_with(path, links)?;
    let length = file.metadata()?.len();
    if length > limit {
        return Err(NotReadable::TooLarge { limit }.into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    // One more than allowed, since the file may be growing.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(NotReadable::TooLarge { limit }.into());
    }
    Ok(bytes)
}

/// Reads a regular file of at most `limit` bytes that is UTF-8 text. A link is followed.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    read_text_with(path, limit, Links::Follow)
}

/// The same, with a choice about links.
pub fn read_text_with(path: &Path, limit: u64, links: Links) -> io::Result<String> {
    let bytes = read_with(path, limit, links)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn problem(outcome: io::Result<Vec<u8>>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn whatever_is_no_file_is_named_and_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), rustix::fs::Mode::RUSR).unwrap();
        let _listener = UnixListener::bind(path("socket")).unwrap();
        symlink(path("fifo"), path("link")).unwrap();
        for (path, expected) in [
            (path("fifo"), "it is a FIFO, not a file"),
            (path("link"), "it is a FIFO, not a file"),
            (path("socket"), "it is a socket, not a file"),
            (folder.path().to_owned(), "it is a folder, not a file"),
            ("/dev/zero".into(), "it is a device, not a file"),
        ] {
            assert_eq!(problem(read(&path, 10)), expected);
        }
    }

    #[test]
    fn links_are_followed_unless_they_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(read_text(&link, 4).unwrap(), "text");
        assert!(open_with(&file, Links::Refuse).is_ok());
        let refused = open_with(&link, Links::Refuse).unwrap_err();
        assert_eq!(refused.to_string(), "it is a symbolic link, not a file");
    }

    #[test]
    fn sizes_are_limited_also_where_the_system_does_not_tell_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![b'x'; 2048]).unwrap();
        assert_eq!(read(&path, 2048).unwrap().len(), 2048);
        assert_eq!(problem(read(&path, 2047)), "it is larger than 1 KiB; at most that is read");
        // Files of /proc have length 0.
        let told = problem(read(Path::new("/proc/self/status"), 100));
        assert_eq!(told, "it is larger than 100 bytes; at most that is read");
    }
}
