//! Opening host paths exactly once, by descriptors that name a place and give no right to it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A place on the host or inside.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) fd: OwnedFd,
    pub(super) is_folder: bool,
}

impl Place {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let mode = rustix::fs::fstat(&fd)?.st_mode;
        Ok(Self { is_folder: FileType::from_raw_mode(mode) == FileType::Directory, fd })
    }
}

/// Opens a path that was resolved before; a link anywhere in it means that somebody changed it since.
pub(super) fn open_resolved(path: &Path) -> io::Result<Place> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened =
        rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve);
    match opened {
        Ok(fd) => Place::new(fd),
        Err(Errno::LOOP) => Err(io::Error::other("a symbolic link appeared in it")),
        Err(error) => Err(error.into()),
    }
}

/// Opens a path of the system, links followed; `None` if it is not there or not for this user.
pub(super) fn open_if_there(path: &Path) -> io::Result<Option<Place>> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(fd) => Place::new(fd).map(Some),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Finds a path below the new root, making the folders on the way and an empty folder or file at its end if nothing is there.
pub(super) fn find_or_make(root: impl AsFd, path: &Path, is_folder: bool) -> io::Result<OwnedFd> {
    let mut place = root.as_fd().try_clone_to_owned()?;
    let mut names = path.strip_prefix("/").unwrap_or(path).components().peekable();
    while let Some(name) = names.next() {
        let name = Path::new(name.as_os_str());
        let is_folder = is_folder || names.peek().is_some();
        place = match open_below(&place, name) {
            Err(Errno::NOENT) => {
                make(&place, name, is_folder)?;
                open_below(&place, name)?
            }
            other => other?,
        };
    }
    Ok(place)
}

/// Opens a path below the new root, if it is there.
pub(super) fn open_inside(root: &OwnedFd, path: &Path) -> io::Result<Place> {
    Place::new(open_below(root, path.strip_prefix("/").unwrap_or(path))?)
}

fn open_below(folder: &OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    rustix::fs::openat2(folder, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn make(folder: &OwnedFd, name: &Path, is_folder: bool) -> rustix::io::Result<()> {
    if is_folder {
        return rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o755));
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o444)).map(drop)
}
