//! The registry of workspaces: one folder per id in the user's state folder.
//!
//! It is files only, so it survives any end of the server and is shared by all processes of the user.
//! The record is written before the workspace folder is made and removed after it is gone: whatever
//! moment a kill hits, every folder we made is known and will be found. Two locks per workspace:
//!
//! - `lock` is held by the process that changes the workspace or runs in it, and is released when that process ends.
//! - `tree.lock` is held (shared) by the processes of a run themselves, by inheritance: it is free only
//!   when the last of them is gone.
//!
//! Does not know what a run or a session is.

mod ids;
mod stale;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_text::nearest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::Config;
use crate::contained_path::{RelPath, Root};
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::orchestrator::Orchestrator;

pub(crate) use ids::check_id;

/// The beginning of every workspace folder's name.
pub(crate) const FOLDER_PREFIX: &str = "proctor-ws-";
/// How long a short operation waits for another one.
const SHORT_WAIT: Duration = Duration::from_secs(5);
/// How long we wait for processes of an earlier run that are being killed.
const TREE_WAIT: Duration = Duration::from_secs(12);
const VERSION: u32 = 1;

/// What is stored about a workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) version: u32,
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    /// Device and inode of the folder once it is made; a folder that is not this one is never deleted.
    pub(crate) folder: Option<(u64, u64)>,
    pub(crate) ready: bool,
    pub(crate) created_ms: u64,
    pub(crate) orchestrator: Orchestrator,
    pub(crate) config: Value,
    pub(crate) scratchpad: Option<String>,
    pub(crate) created_files: Vec<String>,
    /// What mock runs may read outside of the workspace.
    #[serde(default)]
    pub(crate) read: Vec<PathBuf>,
}

/// One registered workspace.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Its folder in the registry.
    pub(crate) home: PathBuf,
    pub(crate) record: Record,
}

/// The lock of a workspace; released when dropped.
#[derive(Debug)]
pub(crate) struct WorkspaceLock {
    lock: File,
}

impl Drop for WorkspaceLock {
    /// Unlocked, not just closed: a child that is being started elsewhere in this process has a copy of every descriptor
    /// until it becomes its program, and a lock lives as long as its last copy.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

impl Place {
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    pub(crate) fn root(&self) -> Result<Root, ToolError> {
        let root = Root::open(&self.record.path)
            .map_err(|error| ToolError::io("open the workspace", &self.record.path, &error))?;
        let about = rustix::fs::fstat(root.folder())
            .map_err(|error| ToolError::io("look at", &self.record.path, &error.into()))?;
        if self.record.folder.is_some_and(|known| known != (about.st_dev, about.st_ino)) {
            let message =
                format!("{} is not the folder that was set up", self.record.path.display());
            return Err(ToolError::new(ErrorKind::NotAllowed, message)
                .hint("the folder was replaced; call test_cleanup, then test_setup"));
        }
        Ok(root)
    }

    /// Locks the workspace for a run: no other user, and no process of an earlier run is left.
    pub(crate) fn lock_for_run(&self) -> Result<WorkspaceLock, ToolError> {
        self.lock_when_idle(Duration::ZERO)
    }

    /// Locks the workspace and waits until its processes are gone, within `timeout`.
    pub(crate) fn lock_when_idle(&self, timeout: Duration) -> Result<WorkspaceLock, ToolError> {
        let held = self.hold(timeout)?;
        let tree = self.open_lock("tree.lock")?;
        if disk::lock_within(&tree, TREE_WAIT) {
            let _ = tree.unlock();
            Ok(held)
        } else {
            Err(self.busy("processes of an earlier run are still there"))
        }
    }

    /// Locks the workspace for a short change.
    pub(crate) fn lock_briefly(&self) -> Result<WorkspaceLock, ToolError> {
        self.hold(SHORT_WAIT)
    }

    pub(crate) fn hold(&self, timeout: Duration) -> Result<WorkspaceLock, ToolError> {
        let lock = self.open_lock("lock")?;
        if !disk::lock_within(&lock, timeout) {
            return Err(self.busy("a run or another change is under way"));
        }
        // The previous holder may have removed the whole registration, and another process may have
        // made a new one: then this lock is about nothing.
        let on_disk = fs::metadata(self.file("lock")).map(|about| about.ino());
        let ours = lock.metadata().map(|about| about.ino());
        match (on_disk, ours) {
            (Ok(on_disk), Ok(ours)) if on_disk == ours => Ok(WorkspaceLock { lock }),
            _ => Err(missing_workspace(&self.record.id)),
        }
    }

    /// Whether the workspace is locked.
    pub(crate) fn is_held(&self) -> bool {
        self.open_lock("lock").is_ok_and(|lock| match lock.try_lock() {
            Ok(()) => lock.unlock().is_err(),
            Err(_) => true,
        })
    }

    fn open_lock(&self, name: &str) -> Result<File, ToolError> {
        let path = self.file(name);
        disk::lock_file(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => missing_workspace(&self.record.id),
            _ => ToolError::io("open", &path, &error),
        })
    }

    fn busy(&self, why: &str) -> ToolError {
        let id = &self.record.id;
        ToolError::new(ErrorKind::Busy, format!("workspace {id:?} is in use: {why}"))
            .hint("wait for it, use another workspace_id, or call test_cleanup with force: true")
    }

    pub(crate) fn save(&self) -> Result<(), ToolError> {
        disk::replace_json(&self.file("workspace.json"), &self.record)
    }

    /// Removes the folder (but for `keep`) and the registration. The caller holds the workspace.
    pub(crate) fn delete(
        &mut self,
        config: &Config,
        keep: Option<&RelPath>,
    ) -> Result<(), ToolError> {
        self.record.ready = false;
        self.save()?;
        self.delete_folder(config, keep)?;
        remove_tree(&self.home)
    }

    fn delete_folder(&self, config: &Config, keep: Option<&RelPath>) -> Result<(), ToolError> {
        let path = &self.record.path;
        let Ok(about) = fs::symlink_metadata(path) else { return Ok(()) };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ours = about.is_dir()
            && name.starts_with(FOLDER_PREFIX)
            && path.parent() == Some(&canonical(&config.temp)?)
            && self.record.folder.is_none_or(|known| known == (about.dev(), about.ino()));
        if !ours {
            // Not the folder we made: leave it alone, forget it.
            return Ok(());
        }
        match keep {
            None => remove_tree(path),
            Some(keep) => remove_all_but(path, keep.as_str()),
        }
    }
}

fn remove_all_but(folder: &Path, keep: &str) -> Result<(), ToolError> {
    let entries = fs::read_dir(folder).map_err(|error| ToolError::io("list", folder, &error))?;
    for entry in entries.flatten().filter(|entry| entry.file_name() != keep) {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&path)?;
        } else {
            fs::remove_file(&path).map_err(|error| ToolError::io("remove", &path, &error))?;
        }
    }
    Ok(())
}

/// Removes a folder with all it holds. Folders that were made read-only are opened up first.
fn remove_tree(path: &Path) -> Result<(), ToolError> {
    for attempt in 0..3 {
        match fs::remove_dir_all(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) if attempt == 2 => return Err(ToolError::io("remove", path, &error)),
            Err(_) => make_writable(path),
        }
    }
    Ok(())
}

fn make_writable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir());
    if is_folder {
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            make_writable(&entry.path());
        }
    }
}

pub(crate) fn canonical(path: &Path) -> Result<PathBuf, ToolError> {
    fs::canonicalize(path).map_err(|error| ToolError::io("find", path, &error))
}

fn missing_workspace(id: &str) -> ToolError {
    ToolError::new(ErrorKind::UnknownWorkspace, format!("workspace {id:?} was removed meanwhile"))
}

/// What a new workspace is to be.
pub(crate) struct NewRecord {
    pub(crate) id: String,
    pub(crate) orchestrator: Orchestrator,
    pub(crate) config: Value,
    pub(crate) scratchpad: Option<String>,
    pub(crate) read: Vec<PathBuf>,
}

/// Registers a workspace and makes its folder. It is not ready until [`Place::save`] says so.
pub(crate) fn create(config: &Config, new: NewRecord) -> Result<(Place, WorkspaceLock), ToolError> {
    check_id(&new.id)?;
    disk::make_private(&config.state)?;
    let home = config.state.join(&new.id);
    disk::make_private(&home)?;
    let temp = canonical(&config.temp)?;
    let random = uuid::Uuid::new_v4().simple().to_string();
    let record = Record {
        version: VERSION,
        path: temp.join(format!("{FOLDER_PREFIX}{}-{}", new.id, &random[..8])),
        folder: None,
        ready: false,
        created_ms: disk::now_ms(),
        id: new.id,
        orchestrator: new.orchestrator,
        config: new.config,
        scratchpad: new.scratchpad,
        created_files: Vec::new(),
        read: new.read,
    };
    let mut place = Place { home, record };
    let held = place.hold(SHORT_WAIT)?;
    if let Some(earlier) = disk::read_json::<Record>(&place.file("workspace.json"))? {
        if earlier.ready {
            return Err(exists(&earlier));
        }
        // A process was killed while creating or removing it: finish that first.
        Place { home: place.home.clone(), record: earlier }.delete_folder(config, None)?;
    }
    place.save()?;
    make_folder(&mut place)?;
    Ok((place, held))
}

fn make_folder(place: &mut Place) -> Result<(), ToolError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let path = &place.record.path;
    let made =
        fs::DirBuilder::new().mode(0o700).create(path).and_then(|()| fs::symlink_metadata(path));
    let about = made.map_err(|error| ToolError::io("make", path, &error))?;
    place.record.folder = Some((about.dev(), about.ino()));
    place.save()
}

fn exists(record: &Record) -> ToolError {
    ToolError::new(ErrorKind::AlreadyExists, format!("workspace {:?} exists already", record.id))
        .hint("use another workspace_id, pass replace: true, or call test_cleanup first")
        .details(json!({"workspace_path": record.path, "created_ms": record.created_ms}))
}

/// Finds a workspace; an unknown one is answered with the known ones.
pub(crate) fn find(config: &Config, id: &str) -> Result<Place, ToolError> {
    check_id(id)?;
    let home = config.state.join(id);
    match disk::read_json::<Record>(&home.join("workspace.json"))? {
        Some(record) if record.version > VERSION => Err(ToolError::new(
            ErrorKind::Io,
            format!("workspace {id:?} was made by a newer version of this program"),
        )),
        Some(record) if record.ready => Ok(Place { home, record }),
        _ => Err(unknown(config, id)),
    }
}

fn unknown(config: &Config, id: &str) -> ToolError {
    let known = list(config);
    let near = nearest(id, known.iter().map(String::as_str));
    let hint = match (near, known.is_empty()) {
        (Some(near), _) => format!("did you mean {near:?}?"),
        (None, true) => "there are none; call test_setup first".to_owned(),
        (None, false) => format!("known: {}", known.join(", ")),
    };
    ToolError::new(ErrorKind::UnknownWorkspace, format!("there is no workspace {id:?}"))
        .hint(hint)
        .details(json!({"available_workspaces": known}))
}

/// The ids of all workspaces.
pub(crate) fn list(config: &Config) -> Vec<String> {
    let mut ids: Vec<String> = registry_folders(config)
        .filter(|home| {
            let record = disk::read_json::<Record>(&home.join("workspace.json"));
            record.is_ok_and(|record| record.is_some_and(|record| record.ready))
        })
        .filter_map(|home| Some(home.file_name()?.to_str()?.to_owned()))
        .collect();
    ids.sort();
    ids
}

fn registry_folders(config: &Config) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(&config.state).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir())
}

pub(crate) use stale::clean_stale;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = disk::lock_file(&path).unwrap();
        lock.lock().unwrap();
        // What a child has between its birth and its program.
        let copy = lock.try_clone().unwrap();
        drop(WorkspaceLock { lock });
        disk::lock_file(&path).unwrap().try_lock().unwrap();
        drop(copy);
    }
}
