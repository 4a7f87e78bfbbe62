//! Baselines: runs that were declared good, reduced to what a comparison needs (`.proctor/baselines/NAME.json`).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proctor_compare::{Side, StoredSideError};
use proctor_files::limits;
use proctor_record::RunStore;

/// The baseline that `baseline` alone means.
const DEFAULT: &str = "default";

/// Why there is no such baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// There is no baseline of that name.
    #[error("no baseline `{}`; {}", name.escape_debug(), listed(known))]
    Unknown {
        /// As it was given, cut where it is long.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Its file cannot be used.
    #[error("cannot use {}: {problem}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Its file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        "there is none yet".to_owned()
    } else {
        format!("there are: {}", known.join(", "))
    }
}

/// The name of the baseline that `baseline` or `baseline:NAME` means; `None` for other names.
pub fn baseline_name(text: &str) -> Option<&str> {
    match text.strip_prefix("baseline")? {
        "" => Some(DEFAULT),
        rest => rest.strip_prefix(':'),
    }
}

/// Where a baseline of this name is kept.
pub fn baseline_path(store: &RunStore, name: &str) -> PathBuf {
    store.folder().join("baselines").join(format!("{name}.json"))
}

/// The baselines there are, by name.
pub fn baselines(store: &RunStore) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(store.folder().join("baselines")).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| path.is_file())
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect()
}

/// The baseline of this name. Names are looked up among the files there are, so none can lead elsewhere.
pub fn baseline(store: &RunStore, name: &str) -> Result<Side, BaselineError> {
    let mut known = baselines(store);
    let Some(path) = known.remove(name) else {
        let name = proctor_text::truncate(name, 200);
        return Err(BaselineError::Unknown { name, known: known.into_keys().collect() });
    };
    let mut side = read_baseline(&path)?;
    side.label = if name == DEFAULT { "baseline".to_owned() } else { format!("baseline:{name}") };
    Ok(side)
}

/// Reads a baseline's file, wherever it is.
pub fn read_baseline(path: &Path) -> Result<Side, BaselineError> {
    let unusable = |problem: String| BaselineError::Unusable { path: path.to_owned(), problem };
    let text = proctor_files::read_text(path, limits::BASELINE)
        .map_err(|error| unusable(error.to_string()))?;
    Side::from_json(&text).map_err(|error| unusable(error.to_string()))
}

/// The baseline that a file holds; `None` where the file is a recording.
pub fn baseline_in_file(path: &Path) -> Result<Option<Side>, BaselineError> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(None);
    }
    let unusable = |problem: String| BaselineError::Unusable { path: path.to_owned(), problem };
    let text = proctor_files::read_text(path, limits::BASELINE)
        .map_err(|error| unusable(error.to_string()))?;
    match Side::from_json(&text) {
        // A file of one JSON line may be a recording, whatever its name.
        Err(StoredSideError::NotASide(_)) => Ok(None),
        Err(error) => Err(unusable(error.to_string())),
        Ok(mut side) => {
            side.label = path.display().to_string();
            Ok(Some(side))
        }
    }
}

/// The ids of the runs that baselines were made from. Baselines that cannot be read are left out.
pub fn blessed_runs(store: &RunStore) -> Vec<String> {
    let sides = baselines(store).into_values().filter_map(|path| read_baseline(&path).ok());
    sides.filter_map(|side| side.run_id).collect()
}

/// Writes a baseline, whole or not at all; missing folders are made.
pub fn write_baseline(path: &Path, side: &Side) -> Result<(), BaselineError> {
    replace_file(path, side)
        .map_err(|source| BaselineError::NotWritten { path: path.to_owned(), source })
}

fn replace_file(path: &Path, side: &Side) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    proctor_files::create_private_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, side)?;
    file.write_all(b"\n")?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_baseline_is_read_back_and_its_run_is_blessed() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path());
        let side = Side { run_id: Some("r1".to_owned()), ..Side::default() };
        write_baseline(&baseline_path(&store, "release"), &side).unwrap();
        assert_eq!(baseline(&store, "release").unwrap().run_id.as_deref(), Some("r1"));
        assert_eq!(blessed_runs(&store), ["r1"]);
    }

    #[test]
    fn a_recording_is_not_a_baseline_and_a_missing_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("events.json");
        fs::write(&recording, "{\"type\": \"suite_started\"}\n").unwrap();
        assert!(baseline_in_file(&recording).unwrap().is_none());
        assert!(baseline_in_file(Path::new("events.jsonl")).unwrap().is_none());
        let missing = baseline_in_file(&folder.path().join("none.json")).unwrap_err();
        assert!(matches!(missing, BaselineError::Unusable { .. }), "{missing}");
        let blocked = write_baseline(&recording.join("below.json"), &Side::default()).unwrap_err();
        assert!(matches!(blocked, BaselineError::NotWritten { .. }), "{blocked}");
    }
}
