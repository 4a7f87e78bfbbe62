//! Damage that only SQLite can notice, because the seal was made after it.

use std::fs;
use std::path::Path;

use proctor_events::RunId;
use proctor_record::{RunInfo, RunStore};

use crate::seal::write_seal;
use crate::{History, Window};

const PAGE: usize = 4096;

fn record(store: &RunStore, run: &str, examples: u32) {
    let started = "2026-01-22T10:30:00Z".parse().unwrap();
    let info = RunInfo::new(RunId::new(run.to_owned()), started, vec!["proctor".to_owned()]);
    let (folder, recorder) = store.create(&info).unwrap();
    drop(recorder);
    let mut lines = format!("{{\"event_type\":\"SuiteStarted\",\"run_id\":\"{run}\"}}\n");
    for number in 0..examples {
        let status = if number % 3 == 0 { "failed" } else { "passed" };
        lines += &format!(
            "{{\"event_type\":\"ExampleFinished\",\"run_id\":\"{run}\",\"example_id\":\"{number}\",\"status\":\"{status}\",\"final\":true}}\n"
        );
    }
    fs::write(folder.events_path(), lines).unwrap();
}

fn answers(history: &mut History) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        history.runs().unwrap(),
        history.flaky(Window::default()).unwrap(),
        history.suite().unwrap(),
        history.find("1").unwrap()
    )
}

/// The tables have one version, whose number is in the header.
fn version(database: &[u8]) -> i64 {
    i64::from(database[63])
}

fn damage_and_seal(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    write_seal(path, version(bytes)).unwrap();
}

#[test]
fn an_overwritten_page_under_a_fitting_seal_leads_to_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::new(folder.path());
    for run in ["01", "02", "03"] {
        record(&store, run, 240);
    }
    let right = answers(&mut History::open(&store).unwrap());
    let path = History::path(&store);
    let database = fs::read(&path).unwrap();
    let pages = database.len() / PAGE;
    assert!(pages > 8, "{pages} pages");
    for page in 1..pages {
        for filling in [0x00, 0xa5] {
            let mut bytes = database.clone();
            bytes[page * PAGE..(page + 1) * PAGE].fill(filling);
            damage_and_seal(&path, &bytes);
            let mut history = History::open(&store).unwrap();
            assert_eq!(answers(&mut history), right, "page {page} filled with {filling:#x}");
        }
    }
}

#[test]
fn a_value_of_another_type_under_a_fitting_seal_leads_to_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::new(folder.path());
    record(&store, "01", 3);
    let right = answers(&mut History::open(&store).unwrap());
    let path = History::path(&store);
    for change in [
        "UPDATE runs SET counts = 'no JSON'",
        "UPDATE runs SET argv = x'ff'",
        "UPDATE samples SET passed = -1",
        "UPDATE samples SET attempts = 'many'",
        "DROP TABLE samples",
        "ALTER TABLE runs DROP COLUMN verdict",
    ] {
        rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
        damage_and_seal(&path, &fs::read(&path).unwrap());
        assert_eq!(answers(&mut History::open(&store).unwrap()), right, "{change}");
    }
}
