//! Where things lie in a journal's folder, and how files are read and replaced.
//!
//! [`Store`] owns the paths and the disk and reads without a lock. Changing anything takes a
//! [`Locked`], which holds the kernel's lock for as long as it lives; the lock file is never
//! deleted. This module knows nothing of the state table.

mod lines;
mod recovery;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, Durability, LockWait};
use crate::error::{At, JournalError};
use crate::time::Moment;
use crate::warning::Warning;

pub(crate) use lines::{archive_files, lane_names};

/// The newest format this version writes. Journals without a mark are format 1.
pub(crate) const FORMAT: u32 = 1;

pub(crate) const CURRENT: &str = "current_ghap.json";
pub(crate) const ENTRIES: &str = "session_entries.jsonl";
pub(crate) const SESSION: &str = ".session_id";
pub(crate) const COUNT: &str = ".tool_count";
pub(crate) const ARCHIVE: &str = "archive";
pub(crate) const LANES: &str = "lanes";
pub(crate) const ANNOTATIONS: &str = "annotations.jsonl";
pub(crate) const SHOWN: &str = ".similar_shown";
pub(crate) const SET_ASIDE: &str = "current_ghap.corrupted.";
pub(crate) const TEMP_SUFFIX: &str = ".proctor-tmp";
const LOCK: &str = ".lock";
const FORMAT_FILE: &str = ".format";
const GITIGNORE: &str = ".gitignore";

/// Reads a journal's files.
#[derive(Clone, Debug)]
pub(crate) struct Store<D> {
    pub(crate) disk: D,
    /// The journal.
    pub(crate) root: PathBuf,
    /// The journal or the lane in it.
    pub(crate) dir: PathBuf,
    pub(crate) lock_wait: LockWait,
}

impl<D: Disk> Store<D> {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, JournalError> {
        self.disk.read(path).at("read", path)
    }

    pub(crate) fn names(&self, dir: &Path) -> Result<Vec<String>, JournalError> {
        let mut names = self.disk.names(dir).at("list", dir)?;
        names.sort();
        Ok(names)
    }

    /// Makes the folders, if they are not there.
    pub(crate) fn ensure(&self) -> Result<(), JournalError> {
        for dir in [&self.root, &self.dir] {
            self.ensure_dir(dir)?;
        }
        Ok(())
    }

    /// Makes a folder for its owner alone, durably, and the ones it lies in as usual.
    pub(crate) fn ensure_dir(&self, dir: &Path) -> Result<(), JournalError> {
        let private = dir.starts_with(&self.root);
        let made = match (self.disk.create_dir(dir, private), dir.parent()) {
            (Err(error), Some(parent)) if error.kind() == ErrorKind::NotFound => {
                self.ensure_dir(parent)?;
                self.disk.create_dir(dir, private)
            }
            (made, _) => made,
        };
        match (made.at("create", dir)?, dir.parent()) {
            (true, Some(parent)) if parent.as_os_str().is_empty() => self.sync_dir(Path::new(".")),
            (true, Some(parent)) => self.sync_dir(parent),
            _ => Ok(()),
        }
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), JournalError> {
        self.disk.sync_dir(dir).at("sync", dir)
    }

    /// Takes the lock, and makes sure this version may write here.
    pub(crate) fn lock(&self, moment: &Moment) -> Result<Locked<'_, D>, JournalError> {
        let path = self.path(LOCK);
        let held = match self.disk.lock(&path, self.lock_wait) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.ensure()?;
                self.disk.lock(&path, self.lock_wait)
            }
            held => held,
        };
        let held = held.at("lock", &path)?;
        let Some(held) = held else { return Err(JournalError::Busy { path }) };
        let locked =
            Locked { store: self, moment: *moment, temps: 0, warnings: Vec::new(), _held: held };
        locked.check_format()
    }
}

/// A store that this process alone may change.
pub(crate) struct Locked<'a, D: Disk> {
    pub(crate) store: &'a Store<D>,
    pub(crate) moment: Moment,
    temps: u32,
    pub(crate) warnings: Vec<Warning>,
    _held: D::Lock,
}

impl<D: Disk> Locked<'_, D> {
    fn check_format(mut self) -> Result<Self, JournalError> {
        let path = self.store.root.join(FORMAT_FILE);
        let Some(bytes) = self.store.read(&path)? else {
            self.mark_if_new()?;
            return Ok(self);
        };
        let found = String::from_utf8_lossy(&bytes).trim().to_owned();
        match found.parse::<u32>() {
            Ok(format) if format <= FORMAT => Ok(self),
            _ => Err(JournalError::NewerFormat { path, found, known: FORMAT }),
        }
    }

    /// A new folder is marked with the format and kept out of version control.
    /// One that another program has filled is left as it is.
    fn mark_if_new(&mut self) -> Result<(), JournalError> {
        let root = self.store.root.clone();
        let unused = |name: &String| {
            [LOCK, GITIGNORE, LANES].contains(&name.as_str()) || name.ends_with(TEMP_SUFFIX)
        };
        if !self.store.names(&root)?.iter().all(unused) {
            return Ok(());
        }
        self.replace(&root.join(GITIGNORE), b"*\n", Durability::Cached)?;
        self.replace(&root.join(FORMAT_FILE), format!("{FORMAT}\n").as_bytes(), Durability::Synced)
    }

    /// Replaces a file as a whole: new bytes under another name, then one rename.
    pub(crate) fn replace(
        &mut self,
        path: &Path,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), JournalError> {
        let disk = &self.store.disk;
        let temp = self.temp_beside(path);
        match disk.write_new(&temp, bytes, durability) {
            // This process holds the lock, so the writer of this file has ended.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                disk.remove(&temp).at("remove", &temp)?;
                disk.write_new(&temp, bytes, durability)
            }
            written => written,
        }
        .and_then(|()| disk.rename(&temp, path))
        .inspect_err(|_| {
            let _removed = disk.remove(&temp);
        })
        .at("write", path)?;
        match durability {
            Durability::Synced => self.sync_dir_of(path),
            Durability::Cached => Ok(()),
        }
    }

    fn temp_beside(&mut self, path: &Path) -> PathBuf {
        self.temps += 1;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_start_matches('.');
        path.with_file_name(format!(
            ".{name}.{:016x}-{}{TEMP_SUFFIX}",
            self.moment.nonce, self.temps
        ))
    }

    pub(crate) fn remove(&self, path: &Path) -> Result<(), JournalError> {
        self.store.disk.remove(path).at("remove", path)
    }

    /// Makes the folders themselves durable, once per session: the process that made them may have died
    /// before that.
    pub(crate) fn sync_folders_above(&self) -> Result<(), JournalError> {
        let root = &self.store.root;
        let above = self.store.dir.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
        for dir in above {
            self.store.sync_dir(dir)?;
        }
        // The folders the journal lies in are not ours: what cannot be synced there is left.
        for dir in root.ancestors().skip(1).take(2).filter(|dir| !dir.as_os_str().is_empty()) {
            let _synced = self.store.disk.sync_dir(dir);
        }
        Ok(())
    }

    pub(crate) fn sync_dir_of(&self, path: &Path) -> Result<(), JournalError> {
        match path.parent() {
            Some(dir) => self.store.disk.sync_dir(dir).at("sync", dir),
            None => Ok(()),
        }
    }
}
