//! Baselines: runs that were declared good, reduced to what a comparison needs (`.proctor/baselines/NAME.json`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proctor_compare::Side;
use proctor_record::RunStore;

/// The baseline that `baseline` alone means.
const DEFAULT: &str = "default";

/// Why there is no such baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Nobody has blessed one of that name.
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
        let name = name.chars().take(200).collect();
        return Err(BaselineError::Unknown { name, known: known.into_keys().collect() });
    };
    let mut side = read_baseline(&path)?;
    side.label = if name == DEFAULT { "baseline".to_owned() } else { format!("baseline:{name}") };
    Ok(side)
}

/// Reads a baseline's file, wherever it is.
pub fn read_baseline(path: &Path) -> Result<Side, BaselineError> {
    let unusable = |problem: String| BaselineError::Unusable { path: path.to_owned(), problem };
    let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    Side::from_json(&text).map_err(|error| unusable(error.to_string()))
}
