//! Kernel notifications (inotify) about files and folders.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, WatchFlags};

/// Reports that a file was written, closed by a writer, replaced or removed. A file that does not exist yet is reported when it
/// is created, provided that its folder exists.
///
/// The descriptor is readable while there are notifications that were not [discarded](Self::discard), so an asynchronous caller can wait for it.
#[derive(Debug)]
pub struct FileChanges {
    inotify: OwnedFd,
}

impl FileChanges {
    /// Watches nothing yet. An error where the system offers no notifications.
    pub fn new() -> io::Result<Self> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        Ok(Self { inotify: inotify::init(flags)? })
    }

    /// Watches a file. An error where the system offers no notifications or has no watches left.
    pub fn watch(path: &Path) -> io::Result<Self> {
        let changes = Self::new()?;
        changes.watch_also(path)?;
        Ok(changes)
    }

    /// Watches the file that has this path now, in addition to what is watched already. A rename changes the link count of
    /// the file that is replaced, which is an `ATTRIB` notification.
    pub fn watch_also(&self, path: &Path) -> io::Result<()> {
        let of_file = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVE_SELF
            | WatchFlags::DELETE_SELF;
        match inotify::add_watch(&self.inotify, path, of_file) {
            Ok(_) => Ok(()),
            Err(rustix::io::Errno::NOENT) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                self.watch_entries(folder.unwrap_or(Path::new(".")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Watches what is created in a folder or moved there. Of a folder that does not exist the nearest existing one above is watched, in which
    /// the missing one may be created.
    pub fn watch_folder(&self, folder: &Path) -> io::Result<()> {
        match self.watch_entries(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match folder.parent() {
                Some(above) => self.watch_folder(above),
                None => Err(error),
            },
            watched => watched,
        }
    }

    fn watch_entries(&self, folder: &Path) -> io::Result<()> {
        let of_folder = WatchFlags::CREATE | WatchFlags::MOVED_TO;
        inotify::add_watch(&self.inotify, folder, of_folder)?;
        Ok(())
    }

    /// Waits for a notification, but not longer than this, and discards what has arrived. Returns whether there was one.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(at_most).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let mut descriptors = [PollFd::new(&self.inotify, PollFlags::IN)];
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
            Ok(_) => self.discard().map(|()| true),
            Err(error) => Err(error.into()),
        }
    }

    /// Discards all notifications that have arrived. Read the file after this, not before.
    pub fn discard(&self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::read(&self.inotify, &mut buffer) {
                Ok(0) | Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for FileChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl AsRawFd for FileChanges {
    fn as_raw_fd(&self) -> RawFd {
        self.inotify.as_raw_fd()
    }
}
