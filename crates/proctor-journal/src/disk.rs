//! The few file operations the journal needs, behind a trait, and their implementation on a disk.
//!
//! Each method is one step a crash can fall before, into or after. Which of them are synced, and
//! in what order, is decided by the store; this module only does it.

use std::borrow::Cow;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use proctor_files::limits;

/// Whether bytes must have reached the disk before a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// They must.
    Synced,
    /// They may be lost when the machine stops.
    Cached,
}

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Until it is free.
    Forever,
    /// About this many milliseconds.
    Milliseconds(u32),
}

/// File operations.
pub trait Disk {
    /// Held while this process alone may change the journal; dropping it lets go.
    type Lock;

    /// The content of a file, or `None` if there is none.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;
    /// The last `limit` bytes of a file or all of it, or `None` if there is none.
    fn read_end(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>>;
    /// Whether a file ends a line (or is empty), or `None` if there is none.
    fn ends_line(&self, path: &Path) -> io::Result<Option<bool>>;
    /// The names in a folder; none if there is no such folder.
    fn names(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Writes a file that is not there yet.
    fn write_new(&self, path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()>;
    /// Writes over the beginning of a file and cuts what is left of it; creates it if needed.
    /// Not synced, and not atomic: for values that may be lost.
    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Moves a file within its folder, over another if there is one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Adds bytes at the end of a file, all or (unless the machine stops) none; creates it if
    /// needed. Always synced.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file to a length.
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()>;
    /// Removes a file; no error if there is none.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes a folder in one that is there, for its owner alone if asked; true if it is new.
    fn create_dir(&self, dir: &Path, private: bool) -> io::Result<bool>;
    /// Whether only its owner can look into a folder.
    fn is_private(&self, dir: &Path) -> io::Result<bool>;
    /// Closes a folder to everyone but its owner.
    fn make_private(&self, dir: &Path) -> io::Result<()>;
    /// Takes the lock; `None` when the wait is over.
    fn lock(&self, path: &Path, lock_wait: LockWait) -> io::Result<Option<Self::Lock>>;
}

/// Changes what is to be written, for example to leave secrets out; `None` where it stays. Lines must stay lines.
pub type WriteFilter = fn(&[u8]) -> Option<Vec<u8>>;

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk {
    filter: Option<WriteFilter>,
}

impl OsDisk {
    /// A disk to which everything is written through a filter.
    #[must_use]
    pub fn with_filter(filter: WriteFilter) -> Self {
        Self { filter: Some(filter) }
    }

    fn filtered(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        self.filter.and_then(|filter| filter(bytes)).map_or(Cow::Borrowed(bytes), Cow::Owned)
    }
}

impl Disk for OsDisk {
    type Lock = File;

    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match proctor_files::read(path, limits::JOURNAL) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_end(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(mut file) = open_existing(path)? else { return Ok(None) };
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
        let mut bytes = vec![0; usize::try_from(length.min(limit)).unwrap_or(0)];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read(rest)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(Some(bytes))
    }

    fn ends_line(&self, path: &Path) -> io::Result<Option<bool>> {
        let Some(mut file) = open_existing(path)? else { return Ok(None) };
        if file.seek(SeekFrom::End(0))? == 0 {
            return Ok(Some(true));
        }
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        Ok(Some(last == *b"\n"))
    }

    fn names(&self, dir: &Path) -> io::Result<Vec<String>> {
        let listing = match fs::read_dir(dir) {
            Ok(listing) => listing,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in listing {
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn write_new(&self, path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let bytes = self.filtered(bytes);
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
        file.write_all(&bytes)?;
        match durability {
            Durability::Synced => file.sync_data(),
            Durability::Cached => Ok(()),
        }
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let bytes = self.filtered(bytes);
        let mut options = OpenOptions::new();
        let mut file = private(options.write(true).create(true).truncate(false)).open(path)?;
        file.write_all(&bytes)?;
        let length = bytes.len() as u64;
        if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = private(OpenOptions::new().append(true).create(true)).open(path)?;
        let before = file.seek(SeekFrom::End(0))?;
        if let Err(error) = file.write_all(&self.filtered(bytes)) {
            // A full disk must not leave half a line; the first error is the one to report.
            let _truncated = file.set_len(before);
            return Err(error);
        }
        file.sync_data()
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.sync_data()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn create_dir(&self, dir: &Path, private: bool) -> io::Result<bool> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, if private { 0o700 } else { 0o777 });
        if dir.is_dir() {
            return Ok(false);
        }
        match builder.create(dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => Ok(false),
            created => created.map(|()| true),
        }
    }

    #[cfg(unix)]
    fn is_private(&self, dir: &Path) -> io::Result<bool> {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(dir)?.permissions());
        let of_others = mode & 0o077;
        Ok(of_others == 0)
    }

    #[cfg(not(unix))]
    fn is_private(&self, _dir: &Path) -> io::Result<bool> {
        Ok(true)
    }

    #[cfg(unix)]
    fn make_private(&self, dir: &Path) -> io::Result<()> {
        fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700))
    }

    #[cfg(not(unix))]
    fn make_private(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path, lock_wait: LockWait) -> io::Result<Option<File>> {
        let file = private(OpenOptions::new().read(true).append(true).create(true)).open(path)?;
        let LockWait::Milliseconds(tries) = lock_wait else {
            return file.lock().map(|()| Some(file));
        };
        for _ in 0..=tries {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }
}

fn open_existing(path: &Path) -> io::Result<Option<File>> {
    match proctor_files::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Captured output can contain secrets: files are for their owner alone.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
