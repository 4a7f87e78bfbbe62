//! The folder of recordings: `.proctor/runs/<run id>/{run.json, events.jsonl}`; of large runs also `events.index`, a cache.
//!
//! `.proctor` is private (mode 0700) and ignored by git. `run.json` is written whole or not at all, and one
//! of a newer version is read but never overwritten.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proctor_events::{RunId, Timestamp};
use proctor_files::{Links, OwnFolderError, limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control;
use crate::file_state::FileState;
use crate::recorder::{JsonlRecorder, RecordError, is_locked_by_writer};
use crate::recording_reader::FileChanges;
use crate::run_names::{self, ResolveError};

/// The version of `run.json` that we write.
const INFO_VERSION: u32 = 1;

/// What is known about a run besides its events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this file.
    pub v: u32,
    /// The run.
    pub run_id: RunId,
    /// When it was started.
    pub started_at: Timestamp,
    /// The command that started it.
    pub argv: Vec<String>,
    /// The state of the project's repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitState>,
    /// The seed that ordered the examples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Versions of what took part: `proctor`, `ruby`, `rspec`, ….
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// A hash over everything in the configuration that can change a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_fingerprint: Option<String>,
    /// Names given to the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether the run was stopped before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Fields of a newer writer.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// The state of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    /// The commit that is checked out.
    pub commit: String,
    /// Whether there are uncommitted changes.
    pub dirty: bool,
}

impl RunInfo {
    /// A description with the mandatory fields only.
    pub fn new(run_id: RunId, started_at: Timestamp, argv: Vec<String>) -> Self {
        Self {
            v: INFO_VERSION,
            run_id,
            started_at,
            argv,
            git: None,
            seed: None,
            versions: BTreeMap::new(),
            config_fingerprint: None,
            tags: Vec::new(),
            interrupted: false,
            extra: BTreeMap::new(),
        }
    }
}

/// Why the folder of runs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An I/O error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `run.json` cannot be parsed.
    #[error("{} is not a run description: {problem}", path.display())]
    BadInfo {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// `run.json` was written by a newer Proctor.
    #[error("{} has version {found}, newer than {INFO_VERSION}; upgrade proctor to change it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The folder leads elsewhere, or belongs to another user.
    #[error(transparent)]
    NotOurs(#[from] OwnFolderError),
    /// The recording cannot be opened.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// The folder of runs of a project.
#[derive(Debug, Clone)]
pub struct RunStore {
    root: PathBuf,
}

impl RunStore {
    /// The store of the project with this root folder.
    pub fn new(project_root: &Path) -> Self {
        Self { root: project_root.join(".proctor") }
    }

    /// `.proctor` itself.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// `.proctor/runs`.
    pub fn runs_folder(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Makes the folder of a new run and opens its recording.
    pub fn create(&self, info: &RunInfo) -> Result<(RunFolder, JsonlRecorder), StoreError> {
        self.prepare()?;
        let folder = RunFolder { path: self.runs_folder().join(info.run_id.as_str()) };
        make_folder(&folder.path)?;
        folder.write_info(info)?;
        let recorder = JsonlRecorder::append(&folder.events_path())?;
        Ok((folder, recorder))
    }

    /// Refuses `.proctor` if it is a symbolic link, has one directly in it, or belongs to another user: a repository can bring it along.
    pub fn check_owner(&self) -> Result<(), OwnFolderError> {
        proctor_files::check_state_folder(&self.root)
    }

    fn prepare(&self) -> Result<(), StoreError> {
        self.check_owner()?;
        make_folder(&self.root)?;
        make_folder(&self.runs_folder())?;
        let ignore = self.root.join(".gitignore");
        if !ignore.exists() {
            proctor_files::write_private(&ignore, "*\n").map_err(failed("write", &ignore))?;
        }
        Ok(())
    }

    /// The runs there are, oldest first.
    pub fn list(&self) -> Result<Vec<RunFolder>, StoreError> {
        self.look_at_all(&self.names()?, |folder, _| folder)
    }

    /// The runs there are with the states of their files, oldest first.
    pub fn list_with_states(&self) -> Result<Vec<FoundRun>, StoreError> {
        self.look_at_all(&self.names()?, FoundRun::of)
    }

    /// The run of this name with the states of its files; `None` if it is none.
    pub fn look_at(&self, name: &str) -> Result<Option<FoundRun>, StoreError> {
        look_at(self.runs_folder().join(name), &FoundRun::of)
    }

    /// The names of all folders in which runs may be, oldest first.
    pub fn names(&self) -> Result<Vec<OsString>, StoreError> {
        self.check_owner()?;
        let folder = self.runs_folder();
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            outcome => outcome.map_err(failed("list", &folder))?,
        };
        let mut names = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => {
                    return Err(OwnFolderError::Link(entry.path()).into());
                }
                Ok(kind) if kind.is_dir() => names.push(entry.file_name()),
                _ => {}
            }
        }
        // Run ids begin with their time, so names sort by age.
        names.sort_unstable();
        Ok(names)
    }

    /// Looks at the files of these runs, on two threads if there are many: asking the system for the state of a file is all the work.
    fn look_at_all<T: Send>(
        &self,
        names: &[OsString],
        make: impl Fn(RunFolder, FileState) -> T + Sync,
    ) -> Result<Vec<T>, StoreError> {
        let folder = self.runs_folder();
        let look = |names: &[OsString]| -> Result<Vec<T>, StoreError> {
            names.iter().filter_map(|name| look_at(folder.join(name), &make).transpose()).collect()
        };
        if names.len() < MANY_RUNS {
            return look(names);
        }
        let (older, newer) = names.split_at(names.len() / 2);
        let (older, newer) = std::thread::scope(|scope| {
            let older = scope.spawn(|| look(older));
            let newer = look(newer);
            (older.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), newer)
        });
        let mut all = older?;
        all.extend(newer?);
        Ok(all)
    }

    /// Watches for whatever may change the list of runs or the state of the newest: folders of runs and recordings that are created, and
    /// events that are written to the newest. Call it again after each notification, since what is to be watched has changed.
    pub fn watch_runs(&self, changes: &FileChanges) -> io::Result<()> {
        changes.watch_folder(&self.runs_folder())?;
        let Ok(entries) = fs::read_dir(self.runs_folder()) else { return Ok(()) };
        let mut newest: Option<RunFolder> = None;
        for entry in entries.flatten() {
            let run = RunFolder { path: entry.path() };
            if !run.events_path().is_file() {
                // The folder may be gone already, or be no folder.
                let _ = changes.watch_also(&run.events_path());
            } else if newest.as_ref().is_none_or(|newest| newest.path < run.path) {
                newest = Some(run);
            }
        }
        if let Some(newest) = newest {
            let _ = changes.watch_also(&newest.events_path());
        }
        Ok(())
    }

    /// Finds the recording that a person means: a file, a folder, `last`, `last~2`, a tag (its newest run), or the
    /// start of a run id.
    pub fn resolve(&self, name: &str) -> Result<PathBuf, ResolveError> {
        let path = Path::new(name);
        if path.is_file() {
            return Ok(path.to_owned());
        }
        if path.is_dir() && path.join(EVENTS_FILE).is_file() {
            return Ok(path.join(EVENTS_FILE));
        }
        self.find(name).map(|run| run.events_path())
    }

    /// Finds the run of this project that a name means: `last`, `last~2`, an id, a tag (its newest run), or the start of an id.
    pub fn find(&self, name: &str) -> Result<RunFolder, ResolveError> {
        run_names::find(name, &self.list()?)
    }
}

/// From how many runs on a second thread is worth its start.
const MANY_RUNS: usize = 500;

/// The run in this folder, if it is one. No link is followed to a recording.
fn look_at<T>(
    path: PathBuf,
    make: &impl Fn(RunFolder, FileState) -> T,
) -> Result<Option<T>, StoreError> {
    let folder = RunFolder { path };
    let events = folder.events_path();
    let Ok(metadata) = fs::symlink_metadata(&events) else { return Ok(None) };
    if metadata.is_symlink() {
        return Err(OwnFolderError::Link(events).into());
    }
    Ok(metadata.is_file().then(|| make(folder, FileState::of(&metadata))))
}

/// A run with the states of its files at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRun {
    /// Its folder.
    pub folder: RunFolder,
    /// The state of its recording.
    pub events: FileState,
    /// The state of its description; absent where there is none.
    pub info: Option<FileState>,
}

impl FoundRun {
    fn of(folder: RunFolder, events: FileState) -> Self {
        let info = FileState::at(&folder.info_path());
        Self { folder, events, info }
    }
}

/// The file of a run's folder that holds its events.
const EVENTS_FILE: &str = "events.jsonl";

/// What a recording is called: its run's id, or the name of a file that is in no run's folder.
pub fn recording_name(events: &Path) -> String {
    let folder = events.parent().and_then(Path::file_name);
    let name = if events.ends_with(EVENTS_FILE) { folder } else { events.file_name() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// The folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The run whose folder this is; `None` if it has no `run.json`.
    pub fn at(path: &Path) -> Option<Self> {
        let folder = Self { path: path.to_owned() };
        folder.info_path().is_file().then_some(folder)
    }

    /// The folder of a run that has begun or is about to, with or without `run.json`.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The folder of a run whose events stand in this file; `None` for a recording of other origin.
    pub fn of(events: &Path) -> Option<Self> {
        Self::at(events.parent()?).filter(|folder| folder.events_path() == events)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's id, which is the folder's name.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether its process is still there: it holds the recording, or the run's control socket open.
    pub fn is_live(&self) -> bool {
        is_locked_by_writer(&self.events_path()) || control::is_live(&self.path)
    }

    /// Gives the run a name, or takes one away. Returns the names it then has.
    pub fn change_tags(
        &self,
        change: impl FnOnce(&mut Vec<String>),
    ) -> Result<Vec<String>, StoreError> {
        let mut info = self.info()?;
        change(&mut info.tags);
        info.tags.dedup();
        self.write_info(&info)?;
        Ok(info.tags)
    }

    /// The events.
    pub fn events_path(&self) -> PathBuf {
        self.path.join(EVENTS_FILE)
    }

    /// The index of the events: a cache that may be absent.
    pub(crate) fn index_path(&self) -> PathBuf {
        self.path.join("events.index")
    }

    /// The description.
    pub fn info_path(&self) -> PathBuf {
        self.path.join("run.json")
    }

    /// Reads the description.
    pub fn info(&self) -> Result<RunInfo, StoreError> {
        let path = self.info_path();
        // A link is refused: it would show what stands in another file.
        let text = proctor_files::read_text_with(&path, limits::RUN_INFO, Links::Refuse)
            .map_err(failed("read", &path))?;
        serde_json::from_str(&text)
            .map_err(|error| StoreError::BadInfo { path, problem: error.to_string() })
    }

    /// Replaces the description in one step. One of a newer version is left alone. The first one is not synced:
    /// a machine that loses power in that moment loses a run that has not begun.
    pub fn write_info(&self, info: &RunInfo) -> Result<(), StoreError> {
        let path = self.info_path();
        let present = self.info().ok();
        if let Some(present) = &present
            && present.v > INFO_VERSION
        {
            return Err(StoreError::Newer { path, found: present.v });
        }
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
            let mut text = serde_json::to_vec_pretty(info)?;
            text.push(b'\n');
            file.write_all(&text)?;
            if present.is_some() {
                file.as_file().sync_all()?;
            }
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(failed("write", &path))
    }
}

fn make_folder(path: &Path) -> Result<(), StoreError> {
    proctor_files::create_private_folder(path).map_err(failed("create", path))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn info(id: &str) -> RunInfo {
        let time = "2026-01-22T10:30:00Z".parse().unwrap();
        RunInfo::new(id.into(), time, vec!["proctor".into(), "run".into()])
    }

    #[test]
    fn a_run_gets_a_private_ignored_folder() {
        let project = tempfile::tempdir().unwrap();
        let store = RunStore::new(project.path());
        let (folder, recorder) = store.create(&info("0190-a")).unwrap();
        assert_eq!(recorder.path(), folder.events_path());
        let mode = fs::metadata(store.folder()).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        assert_eq!(fs::read_to_string(store.folder().join(".gitignore")).unwrap(), "*\n");
        assert_eq!(folder.info().unwrap(), info("0190-a"));
    }

    #[test]
    fn a_new_run_is_a_change_of_the_list_whatever_is_there_before() {
        let project = tempfile::tempdir().unwrap();
        let store = RunStore::new(project.path());
        let changes = FileChanges::new().unwrap();
        let notified = |change: &dyn Fn()| {
            store.watch_runs(&changes).unwrap();
            changes.discard().unwrap();
            change();
            changes.wait(std::time::Duration::from_secs(30)).unwrap()
        };
        assert!(notified(&|| store.prepare().unwrap()), "no folder of runs yet");
        let folder = store.runs_folder().join("0190-a");
        assert!(notified(&|| make_folder(&folder).unwrap()), "no run yet");
        let events = folder.join(EVENTS_FILE);
        assert!(notified(&|| fs::write(&events, "").unwrap()), "no recording yet");
        assert!(notified(&|| fs::write(&events, "{}\n").unwrap()), "no event yet");
        store.watch_runs(&changes).unwrap();
        changes.discard().unwrap();
        assert!(!changes.wait(std::time::Duration::from_millis(1)).unwrap());
    }

    #[test]
    fn unknown_fields_of_run_json_survive_and_newer_ones_are_left_alone() {
        let project = tempfile::tempdir().unwrap();
        let (folder, _) = RunStore::new(project.path()).create(&info("a")).unwrap();
        let text = fs::read_to_string(folder.info_path()).unwrap();
        fs::write(folder.info_path(), text.replacen('{', "{\"mood\": [1, 2],", 1)).unwrap();
        let read = folder.info().unwrap();
        folder.write_info(&read).unwrap();
        assert_eq!(folder.info().unwrap().extra["mood"], serde_json::json!([1, 2]));
        let newer = RunInfo { v: 2, ..read };
        fs::write(folder.info_path(), serde_json::to_string(&newer).unwrap()).unwrap();
        let error = folder.write_info(&info("a")).unwrap_err().to_string();
        assert!(error.contains("newer than 1; upgrade proctor"), "{error}");
    }

    #[test]
    fn names_mean_what_a_person_expects() {
        let project = tempfile::tempdir().unwrap();
        let store = RunStore::new(project.path());
        let nothing = store.resolve("last").unwrap_err().to_string();
        assert!(nothing.ends_with("there are no runs here yet"), "{nothing}");
        for id in ["0190-a", "0190-b", "0200-c"] {
            store.create(&info(id)).unwrap();
        }
        let found = |name: &str| {
            let path = store.resolve(name).unwrap();
            path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!((found("last"), found("last~2")), ("0200-c".into(), "0190-a".into()));
        assert_eq!(found("02"), "0200-c");
        let error = store.resolve("0190").unwrap_err().to_string();
        assert_eq!(error, "`0190` matches 0190-b, 0190-a");
        let runs = store.list().unwrap();
        for run in &runs[..2] {
            run.change_tags(|tags| tags.push("good".to_owned())).unwrap();
        }
        assert_eq!(found("good"), "0190-b", "the newest that has the tag");
        runs[1].change_tags(Vec::clear).unwrap();
        assert_eq!(found("good"), "0190-a");
        let error = store.resolve("zzz").unwrap_err().to_string();
        assert!(error.ends_with("newest runs: 0200-c, 0190-b, 0190-a"), "{error}");
        store.create(&info("0190-a2")).unwrap();
        assert_eq!(found("0190-a"), "0190-a", "a whole id is not the start of another");
        runs[2].change_tags(|tags| tags.push("0190-a2".to_owned())).unwrap();
        assert_eq!(found("0190-a2"), "0190-a2", "whatever anybody has tagged with it");
        for nothing in ["", "../0190-a", "last~4", "last~18446744073709551615", "last~x"] {
            assert!(store.find(nothing).is_err(), "{nothing}");
        }
        let folder = store.runs_folder().join("0190-a");
        assert!(store.find(folder.to_str().unwrap()).is_err(), "a path is no name");
        assert_eq!(store.resolve(folder.to_str().unwrap()).unwrap(), folder.join("events.jsonl"));
    }
}
