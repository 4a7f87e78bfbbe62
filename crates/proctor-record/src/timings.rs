//! How long examples took before: a small derived file that puts the longest first.
//!
//! It can be thrown away at any time; the next run is then scheduled as if it were the first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write as _};
use std::path::Path;

use proctor_events::ExampleId;
use proctor_files::limits;
use serde::{Deserialize, Serialize};

use crate::reader::{LoadError, RunChoice, load_outline};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    v: u32,
    /// Milliseconds by stable id.
    examples: BTreeMap<String, f64>,
}

/// Recorded durations in milliseconds; empty if there are none, or none that can be read.
pub fn load_timings(path: &Path) -> HashMap<ExampleId, f64> {
    let file = proctor_files::read_text(path, limits::TIMINGS)
        .ok()
        .and_then(|text| serde_json::from_str::<File>(&text).ok().filter(|file| file.v == VERSION));
    let examples = file.map(|file| file.examples).unwrap_or_default();
    examples.into_iter().map(|(id, ms)| (ExampleId::from(id.as_str()), ms)).collect()
}

/// Mixes new durations into the recorded ones and writes the file in one step.
///
/// Half of the new and half of the old: one slow moment of the machine does not reorder everything.
pub fn save_timings(
    path: &Path,
    mut known: HashMap<ExampleId, f64>,
    fresh: &HashMap<ExampleId, f64>,
) -> io::Result<()> {
    for (id, ms) in fresh.iter().collect::<BTreeMap<_, _>>() {
        known.entry(id.clone()).and_modify(|old| *old = f64::midpoint(*old, *ms)).or_insert(*ms);
    }
    let round = |ms: f64| (ms * 1000.0).round() / 1000.0;
    let examples = known.into_iter().map(|(id, ms)| (id.to_string(), round(ms))).collect();
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(&File { v: VERSION, examples })?)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The examples of a recording that did not do what was asked: what failed the run, and what was not decided.
pub fn failed_examples(path: &Path) -> Result<HashSet<ExampleId>, LoadError> {
    let run = load_outline(path, &RunChoice::Last)?.run;
    let failed =
        run.examples.iter().filter(|it| it.verdict(run.over).is_to_be_repeated(run.policy));
    Ok(failed.filter_map(|example| example.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_mixed_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("timings.json");
        assert!(load_timings(&path).is_empty());
        let fresh = |ms| HashMap::from([(ExampleId::from("a"), ms)]);
        save_timings(&path, load_timings(&path), &fresh(10.0)).unwrap();
        save_timings(&path, load_timings(&path), &fresh(20.0)).unwrap();
        assert_eq!(load_timings(&path), fresh(15.0));
        std::fs::write(&path, "{oops").unwrap();
        assert!(load_timings(&path).is_empty(), "a broken file is as good as none");
    }

    #[test]
    fn failures_are_those_of_the_last_attempt() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |id: &str, status: &str, last: bool| {
            format!(
                "{{\"event_type\":\"ExampleFinished\",\"example_id\":\"{id}\",\"status\":\"{status}\",\"final\":{last}}}\n"
            )
        };
        let text = [
            line("a", "failed", false),
            line("a", "passed", true),
            line("b", "crashed", true),
            line("c", "not_run", true),
            line("d", "pending", true),
        ];
        std::fs::write(file.path(), text.concat()).unwrap();
        let failed = failed_examples(file.path()).unwrap();
        assert_eq!(failed, HashSet::from([ExampleId::from("b"), ExampleId::from("c")]));
    }

    /// An example that missed its rate was not run again when its last repetition had passed.
    #[test]
    fn v4_failures_are_those_of_the_verdict() {
        let failed = |rate: f64, policy: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            let started = format!(
                "{{\"event_type\":\"SuiteStarted\",\"policy\":{policy}}}\n{{\"event_type\":\"ExampleStarted\",\"example_id\":\"a\",\"pass_rate\":{rate}}}\n"
            );
            let ended = |status: &str, repeat: u32| {
                format!(
                    "{{\"event_type\":\"ExampleFinished\",\"example_id\":\"a\",\"repeat\":{repeat},\"status\":\"{status}\"}}\n"
                )
            };
            let text = [started, ended("failed", 1), ended("passed", 2)].concat();
            std::fs::write(file.path(), text).unwrap();
            failed_examples(file.path()).unwrap().len()
        };
        assert_eq!(failed(0.9, "{}"), 1);
        assert_eq!(failed(0.5, "{}"), 0);
    }
}
