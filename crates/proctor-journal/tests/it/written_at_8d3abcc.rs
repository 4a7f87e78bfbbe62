//! A journal that version 8d3abcc wrote still opens, and counts the same. (How it was made: `proctor-record/tests/fixtures/8d3abcc`.)

use std::path::Path;

use proctor_journal::{Filter, Journal};
use serde_json::{Value, json};

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/8d3abcc").join(name)
}

fn expected(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixture(name)).unwrap()).unwrap()
}

#[test]
fn a_journal_of_8d3abcc_has_the_same_entries_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture("journal")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let journal = Journal::open(folder.path()).unwrap();
    let found = journal.list(&Filter::default()).unwrap().value;
    let entries: Vec<Value> = found.iter().map(|found| json!(found.entry)).collect();
    let listed: Vec<Value> =
        expected("list.json").as_array().unwrap().iter().map(|it| it["entry"].clone()).collect();
    assert_eq!(entries, listed);
    let stats = json!(journal.stats(&Filter::default()).unwrap().value);
    for name in ["confirmed", "falsified", "abandoned", "active", "iterations"] {
        assert_eq!(stats["total"][name], expected("stats.json")["total"][name], "{name}");
    }
}
