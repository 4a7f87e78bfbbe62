//! A recording reduced to what the index keeps.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use proctor_compare::Sample;
use proctor_record::{Example, LoadError, ProblemKind, RunChoice, RunData, RunFolder, RunInfo};

/// A run as the index keeps it.
#[derive(Debug)]
pub(crate) struct Digest {
    pub(crate) run: RunData,
    pub(crate) info: Option<RunInfo>,
    pub(crate) samples: Vec<Tagged>,
}

#[derive(Debug)]
pub(crate) struct Tagged {
    pub(crate) sample: Sample,
    pub(crate) tags: Vec<String>,
    pub(crate) cost_usd: Option<f64>,
}

/// Tells one state of a recording from the next: sizes and times of its files.
pub(crate) fn stamp(folder: &RunFolder) -> String {
    let part = |path: &Path| {
        let Ok(metadata) = fs::metadata(path) else { return "-".to_owned() };
        let modified = metadata.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{}@{}", metadata.len(), since.map_or(0, |since| since.as_nanos()))
    };
    format!("{} {}", part(&folder.events_path()), part(&folder.info_path()))
}

/// Reads a recording. `Ok(None)` where nothing has been recorded yet, an error where it is damaged.
pub(crate) fn read(folder: &RunFolder) -> Result<Option<Digest>, String> {
    let loaded = match proctor_record::load_outline(&folder.events_path(), &RunChoice::Last) {
        Err(LoadError::Empty { problems, .. }) if problems.is_empty() => return Ok(None),
        outcome => outcome.map_err(|error| error.to_string())?,
    };
    let damage = loaded.problems.iter().find(|problem| problem.kind != ProblemKind::Torn);
    if let Some(problem) = damage {
        return Err(problem.to_string());
    }
    let samples = loaded.run.examples.iter().filter_map(tagged).collect();
    Ok(Some(Digest { info: folder.info().ok(), samples, run: loaded.run }))
}

fn tagged(example: &Example) -> Option<Tagged> {
    let costs: Vec<f64> =
        example.attempts.iter().filter_map(|attempt| attempt.tally().cost_usd).collect();
    Some(Tagged {
        sample: Sample::of(example, true)?,
        tags: example.tags.clone(),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
    })
}

impl Digest {
    /// What all model calls of the run cost.
    pub(crate) fn cost_usd(&self) -> Option<f64> {
        let outside = self.run.model_calls.iter().filter_map(|call| call.cost_usd);
        let costs: Vec<f64> =
            self.samples.iter().filter_map(|tagged| tagged.cost_usd).chain(outside).collect();
        (!costs.is_empty()).then(|| costs.iter().sum())
    }
}
