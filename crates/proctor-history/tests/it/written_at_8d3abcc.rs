//! A history and a baseline that version 8d3abcc wrote still open. (How they were made: `proctor-record/tests/fixtures/8d3abcc`.)

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use proctor_history::{History, read_baseline};
use proctor_record::{RunInfo, RunStore};
use serde_json::Value;

use crate::project::Project;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/8d3abcc").join(name)
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixture("history.json")).unwrap()).unwrap()
}

/// The project in which the history was written: the recordings, under their ids.
fn project() -> Project {
    let project = Project::new();
    let runs = fixture("../../../../proctor-record/tests/fixtures/8d3abcc/runs");
    for entry in std::fs::read_dir(runs).unwrap() {
        let from = entry.unwrap().path();
        let info = std::fs::read_to_string(from.join("run.json")).unwrap();
        let info: RunInfo = serde_json::from_str(&info).unwrap();
        let to = project.store.runs_folder().join(info.run_id.as_str());
        std::fs::create_dir_all(&to).unwrap();
        for name in ["events.jsonl", "run.json"] {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
    project
}

/// Gives the recordings the times that the history knows them by, so that it need not read them again.
fn restore_times(store: &RunStore, database: &Path) {
    let connection = rusqlite::Connection::open(database).unwrap();
    let mut query = connection.prepare("SELECT name, stamp FROM runs").unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let known: Vec<(String, String)> = rows.map(Result::unwrap).collect();
    assert_eq!(known.len(), 17);
    for (name, stamp) in known {
        for (file, part) in ["events.jsonl", "run.json"].iter().zip(stamp.split(' ')) {
            let (size, time) = part.split_once('@').unwrap();
            let file = File::open(store.runs_folder().join(&name).join(file)).unwrap();
            assert_eq!(file.metadata().unwrap().len().to_string(), size, "{name}");
            let time = Duration::from_nanos(time.parse().unwrap());
            file.set_modified(UNIX_EPOCH + time).unwrap();
        }
    }
}

fn assert_same(history: &mut History) {
    let expected = expected();
    let suite = history.suite().unwrap();
    let runs: Vec<&str> = suite.iter().map(|point| point.run.as_str()).collect();
    let listed = expected["runs"].as_array().unwrap();
    for run in listed {
        let place = runs.iter().position(|name| run["run"] == **name);
        let point = &suite[place.unwrap_or_else(|| panic!("{}", run["run"]))];
        assert_eq!(
            (point.passed, point.attempts),
            (number(&run["passed"]), number(&run["attempts"]))
        );
    }
    assert_eq!(number(&expected["attempts"]), 71);
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn a_history_of_8d3abcc_gives_the_same_answers() {
    let project = project();
    std::fs::copy(fixture("history.db"), project.path("history.db")).unwrap();
    restore_times(&project.store, &project.path("history.db"));
    assert_same(&mut History::open(&project.store).unwrap());
    std::fs::remove_file(project.path("history.db")).unwrap();
    assert_same(&mut History::open(&project.store).unwrap());
}

#[test]
fn a_baseline_of_8d3abcc_is_read() {
    let side = read_baseline(&fixture("baseline.json")).unwrap();
    assert!(side.complete);
    let trials: Vec<usize> = side.examples.iter().map(|example| example.trials.len()).collect();
    assert_eq!(trials, [0, 1, 1, 1]);
    let passed =
        side.examples.iter().flat_map(|it| &it.trials).filter(|trial| trial.passed).count();
    assert_eq!(passed, 2);
}
