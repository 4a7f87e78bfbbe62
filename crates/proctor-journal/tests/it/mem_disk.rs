//! A disk in memory that can stop at any operation, and forgets what was not synced.
//!
//! Contents and names are kept twice: as running programs see them and as they would be found
//! after a power cut. A cut keeps any prefix of what was not yet durable: of the bytes of a file,
//! and of the changes to the names in a folder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proctor_journal::disk::{Disk, Durability, LockWait};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The process dies; the system's memory of the files survives.
    Process,
    /// The machine loses power.
    Power,
}

#[derive(Clone, Debug)]
enum NameChange {
    Link(String, usize),
    Unlink(String),
    Rename(String, String),
    Folder(String),
}

#[derive(Clone, Debug, Default)]
struct Folder {
    names: BTreeMap<String, usize>,
    folders: Vec<String>,
    pending: Vec<NameChange>,
}

impl Folder {
    fn seen(&self) -> Folder {
        let mut seen = Folder { pending: Vec::new(), ..self.clone() };
        for change in &self.pending {
            seen.apply(change);
        }
        seen
    }

    fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Link(name, file) => {
                self.names.insert(name.clone(), *file);
            }
            NameChange::Unlink(name) => {
                self.names.remove(name);
            }
            NameChange::Rename(from, to) => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            NameChange::Folder(name) => self.folders.push(name.clone()),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
}

impl Content {
    fn sync(&mut self) {
        self.durable.clone_from(&self.seen);
    }
}

#[derive(Debug, Default)]
struct World {
    folders: BTreeMap<PathBuf, Folder>,
    files: Vec<Content>,
    operations: usize,
    stop_at: Option<usize>,
    stopped: bool,
    dice: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MemDisk(Rc<RefCell<World>>);

impl MemDisk {
    pub(crate) fn new() -> Self {
        let disk = Self::default();
        disk.0.borrow_mut().folders.insert(PathBuf::from("/"), Folder::default());
        disk
    }

    /// Stops at the n-th change from now on.
    pub(crate) fn stop_at(&self, operation: Option<usize>, dice: u64) {
        let mut world = self.0.borrow_mut();
        world.operations = 0;
        world.stop_at = operation;
        world.dice = dice | 1;
    }

    /// How many changes there were since [`Self::stop_at`].
    pub(crate) fn operations(&self) -> usize {
        self.0.borrow().operations
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.0.borrow().stopped
    }

    /// Comes up again after a stop.
    pub(crate) fn restart(&self, stop: Stop) {
        let mut world = self.0.borrow_mut();
        if stop == Stop::Power {
            world.lose_power();
        }
        world.stopped = false;
        world.stop_at = None;
    }

    /// Time passes and the system writes everything out.
    pub(crate) fn flush(&self) {
        let mut world = self.0.borrow_mut();
        for folder in world.folders.values_mut() {
            *folder = folder.seen();
        }
        for file in &mut world.files {
            file.sync();
        }
    }

    /// All files below a folder, as they are seen.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let world = self.0.borrow();
        let mut all = BTreeMap::new();
        for (dir, folder) in &world.folders {
            for (name, file) in folder.seen().names {
                all.insert(dir.join(name), world.files[file].seen.clone());
            }
        }
        all
    }
}

impl World {
    fn roll(&mut self, sides: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        usize::try_from(self.dice % (sides as u64)).unwrap()
    }

    /// Counts a change; true if it is the one to stop at.
    fn change(&mut self) -> io::Result<bool> {
        if self.stopped {
            return Err(stopped());
        }
        self.operations += 1;
        if self.stop_at == Some(self.operations) {
            self.stopped = true;
        }
        Ok(self.stopped)
    }

    fn lose_power(&mut self) {
        let dirs: Vec<PathBuf> = self.folders.keys().cloned().collect();
        for dir in dirs {
            let Some(mut folder) = self.folders.get(&dir).cloned() else { continue };
            let survivors = self.roll(folder.pending.len() + 1);
            let pending = std::mem::take(&mut folder.pending);
            let before = folder.folders.clone();
            for change in &pending[..survivors] {
                folder.apply(change);
            }
            let lost = pending[survivors..].iter().filter_map(|change| match change {
                NameChange::Folder(name) if !before.contains(name) => Some(dir.join(name)),
                _ => None,
            });
            for lost in lost.collect::<Vec<_>>() {
                self.folders.retain(|path, _| !path.starts_with(&lost));
            }
            self.folders.insert(dir, folder);
        }
        for index in 0..self.files.len() {
            let Content { seen, durable } = self.files[index].clone();
            let kept = if seen.starts_with(&durable) {
                let extra = self.roll(seen.len() - durable.len() + 1);
                seen[..durable.len() + extra].to_vec()
            } else {
                durable
            };
            self.files[index] = Content { seen: kept.clone(), durable: kept };
        }
    }

    fn folder(&mut self, dir: &Path) -> io::Result<&mut Folder> {
        self.folders.get_mut(dir).ok_or_else(|| io::Error::from(ErrorKind::NotFound))
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let (dir, name) = split(path);
        self.folders.get(&dir)?.seen().names.get(&name).copied()
    }
}

fn stopped() -> io::Error {
    io::Error::other("the machine stopped")
}

fn split(path: &Path) -> (PathBuf, String) {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    (path.parent().unwrap().to_owned(), name)
}

impl Disk for MemDisk {
    type Lock = ();

    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let world = self.0.borrow();
        if world.stopped {
            return Err(stopped());
        }
        Ok(world.find(path).map(|file| world.files[file].seen.clone()))
    }

    fn read_end(&self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let limit = usize::try_from(limit).unwrap();
        Ok(self.read(path)?.map(|bytes| bytes[bytes.len().saturating_sub(limit)..].to_vec()))
    }

    fn ends_line(&self, path: &Path) -> io::Result<Option<bool>> {
        Ok(self.read(path)?.map(|bytes| bytes.last().is_none_or(|last| *last == b'\n')))
    }

    fn names(&self, dir: &Path) -> io::Result<Vec<String>> {
        let world = self.0.borrow();
        if world.stopped {
            return Err(stopped());
        }
        let Some(folder) = world.folders.get(dir) else { return Ok(Vec::new()) };
        let seen = folder.seen();
        Ok(seen.names.into_keys().chain(seen.folders).collect())
    }

    fn write_new(&self, path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let stops = world.change()?;
        if world.find(path).is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let written = if stops { world.roll(bytes.len() + 1) } else { bytes.len() };
        let seen = bytes[..written].to_vec();
        let is_durable = durability == Durability::Synced && !stops;
        let durable = if is_durable { seen.clone() } else { Vec::new() };
        world.files.push(Content { seen, durable });
        let file = world.files.len() - 1;
        let (dir, name) = split(path);
        world.folder(&dir)?.pending.push(NameChange::Link(name, file));
        if stops { Err(stopped()) } else { Ok(()) }
    }

    fn overwrite(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if self.read(path)?.is_none() {
            return self.write_new(path, bytes, Durability::Cached);
        }
        let mut world = self.0.borrow_mut();
        let stops = world.change()?;
        let file = world.find(path).ok_or(ErrorKind::NotFound)?;
        if !stops || world.roll(2) == 0 {
            world.files[file].seen = bytes.to_vec();
        }
        if stops { Err(stopped()) } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let stops = world.change()?;
        let (dir, from) = split(from);
        let (_, to) = split(to);
        if !stops || world.roll(2) == 0 {
            world.folder(&dir)?.pending.push(NameChange::Rename(from, to));
        }
        if stops { Err(stopped()) } else { Ok(()) }
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let stops = world.change()?;
        let (dir, name) = split(path);
        let file = if let Some(file) = world.find(path) {
            file
        } else {
            world.files.push(Content::default());
            let file = world.files.len() - 1;
            world.folder(&dir)?.pending.push(NameChange::Link(name, file));
            file
        };
        let written = if stops { world.roll(bytes.len() + 1) } else { bytes.len() };
        world.files[file].seen.extend_from_slice(&bytes[..written]);
        if stops {
            return Err(stopped());
        }
        world.files[file].sync();
        Ok(())
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let stops = world.change()?;
        let file = world.find(path).ok_or(ErrorKind::NotFound)?;
        if !stops || world.roll(2) == 0 {
            world.files[file].seen.truncate(usize::try_from(length).unwrap());
        }
        if stops {
            return Err(stopped());
        }
        world.files[file].sync();
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        if world.find(path).is_none() {
            return if world.stopped { Err(stopped()) } else { Ok(()) };
        }
        let stops = world.change()?;
        let (dir, name) = split(path);
        if !stops || world.roll(2) == 0 {
            world.folder(&dir)?.pending.push(NameChange::Unlink(name));
        }
        if stops { Err(stopped()) } else { Ok(()) }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let stops = world.change()?;
        if stops {
            return Err(stopped());
        }
        let folder = world.folder(dir)?;
        *folder = folder.seen();
        Ok(())
    }

    fn create_dir(&self, dir: &Path, _private: bool) -> io::Result<bool> {
        let mut world = self.0.borrow_mut();
        if world.folders.contains_key(dir) {
            return if world.stopped { Err(stopped()) } else { Ok(false) };
        }
        let (parent, name) = split(dir);
        if !world.folders.contains_key(&parent) {
            return Err(ErrorKind::NotFound.into());
        }
        if world.change()? {
            return Err(stopped());
        }
        world.folder(&parent)?.pending.push(NameChange::Folder(name));
        world.folders.insert(dir.to_owned(), Folder::default());
        Ok(true)
    }

    fn is_private(&self, _dir: &Path) -> io::Result<bool> {
        Ok(true)
    }

    fn make_private(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path, _lock_wait: LockWait) -> io::Result<Option<()>> {
        let world = self.0.borrow();
        if world.stopped {
            return Err(stopped());
        }
        if !world.folders.contains_key(path.parent().unwrap()) {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(Some(()))
    }
}
