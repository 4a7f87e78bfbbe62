//! Verdicts of earlier runs, so that a run that was stopped goes on where it was.
//!
//! A verdict is used again only if no file of the project has changed since that may decide it (code, specs, settings: the *world*),
//! and the suite is asked for in the same way. Only killed and alive are kept; what is unknown is tried again. Messages of
//! examples are kept without secrets: the caller's filter has seen them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use proctor_files::{create_private_folder, read_text, write_private};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::campaign::{KilledBy, Mode};
use crate::source_files::FolderKind;

/// The version of the file.
const FORMAT: u32 = 1;
const SIZE_LIMIT: u64 = 256 << 20;
/// Endings of files in the root that may decide a verdict. Others are mostly reports and pages.
const ROOT_ENDINGS: &[&str] = &["rb", "rake", "ru", "yml", "yaml", "lock", "gemspec", "toml"];
const ROOT_NAMES: &[&str] = &["Gemfile", "Rakefile", ".rspec", ".rspec-local", ".ruby-version"];
/// Endings of files that runs of a suite write: databases, logs, files of editors. Everything else below the root counts.
const WRITTEN: &[&str] = &[
    "sqlite3",
    "sqlite",
    "db",
    "sqlite3-journal",
    "sqlite3-wal",
    "sqlite3-shm",
    "log",
    "pid",
    "swp",
];

/// A verdict that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredVerdict {
    /// In which way it was killed; alive if absent.
    pub(crate) killed_by: Option<KilledBy>,
    /// The stable id of the example.
    pub(crate) example: Option<String>,
    pub(crate) message: String,
    pub(crate) mode: Mode,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredFile {
    format: u32,
    world: String,
    verdicts: BTreeMap<String, StoredVerdict>,
}

/// The file of verdicts of a project.
#[derive(Debug, Clone)]
pub(crate) struct StoredResults {
    path: PathBuf,
    world: String,
    pub(crate) verdicts: BTreeMap<String, StoredVerdict>,
}

impl StoredResults {
    /// Reads what is kept for this world; nothing if there is none, or the file cannot be used.
    pub(crate) fn open(folder: &Path, world: String) -> Self {
        let path = folder.join("results.json");
        let stored = read_text(&path, SIZE_LIMIT).ok();
        let stored: Option<StoredFile> = stored.and_then(|text| serde_json::from_str(&text).ok());
        let usable = stored.filter(|it| it.format == FORMAT && it.world == world);
        Self { path, world, verdicts: usable.map(|it| it.verdicts).unwrap_or_default() }
    }

    /// Replaces the file, at once or not at all.
    pub(crate) fn save(&self) -> io::Result<()> {
        let stored = StoredFile {
            format: FORMAT,
            world: self.world.clone(),
            verdicts: self.verdicts.clone(),
        };
        if let Some(folder) = self.path.parent() {
            create_private_folder(folder)?;
        }
        let beside = self.path.with_extension(format!("{}.new", std::process::id()));
        write_private(&beside, serde_json::to_vec(&stored)?)?;
        std::fs::rename(&beside, &self.path)
    }
}

/// A digest of everything below the root that may decide a verdict, and of how the suite is asked for.
pub(crate) fn world(root: &Path, settings: &str) -> String {
    let mut files = Vec::new();
    collect(root, FolderKind::Other, true, &mut files);
    files.sort();
    let mut hash = Sha256::new();
    hash.update(settings.as_bytes());
    for path in files {
        hash.update(path.to_string_lossy().as_bytes());
        hash.update([0]);
        match proctor_files::read(&path, SIZE_LIMIT) {
            Ok(bytes) => hash.update(Sha256::digest(&bytes)),
            Err(error) => hash.update(error.to_string().as_bytes()),
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn collect(folder: &Path, kind: FolderKind, is_root: bool, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(file_type) = entry.file_type() else { continue };
        if file_type.is_dir() {
            let inner = kind.of_child(&name);
            if inner != FolderKind::Foreign {
                collect(&path, inner, false, files);
            }
        } else if may_decide(&name, is_root) {
            files.push(path);
        }
    }
}

fn may_decide(name: &str, is_root: bool) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    if is_root {
        return ROOT_ENDINGS.contains(&ending) || ROOT_NAMES.contains(&name);
    }
    !WRITTEN.contains(&ending) && !name.ends_with('~')
}
