//! Whatever happens to the file or to a recording, the answers come back.

use std::process::Command;
use std::time::Duration;

use proctor_history::History;

use crate::project::{Project, all_answers};

fn filled() -> Project {
    let project = Project::new();
    project.record("01", Some("c1"), &[("a", &["passed"]), ("b", &["failed", "passed"])]);
    project.record("02", Some("c1"), &[("a", &["failed"]), ("b", &["passed"])]);
    project
}

#[test]
fn rebuilding_gives_the_same_answers() {
    let project = filled();
    let mut history = History::open(&project.store).unwrap();
    project.record("03", Some("c2"), &[("a", &["failed"]), ("c", &["passed"])]);
    history.sync().unwrap();
    let before = all_answers(&mut history);
    drop(history);
    let mut again = History::rebuild(&project.store).unwrap();
    assert_eq!(again.sync_summary().read, 3);
    assert_eq!(all_answers(&mut again), before);
    std::fs::remove_file(project.path("history.db")).unwrap();
    assert_eq!(all_answers(&mut History::open(&project.store).unwrap()), before);
}

#[test]
fn a_file_that_is_no_database_is_set_aside() {
    let project = filled();
    let right = all_answers(&mut History::open(&project.store).unwrap());
    for (number, rubbish) in
        [&b"this is not a database, not at all"[..], &[0xff; 8192]].iter().enumerate()
    {
        std::fs::write(project.path("history.db"), rubbish).unwrap();
        let mut history = History::open(&project.store).unwrap();
        assert_eq!(all_answers(&mut history), right);
        assert!(history.notes()[0].contains("was damaged"), "{:?}", history.notes());
        let aside = project.path(&format!("history.db.damaged-{}", number + 1));
        assert_eq!(std::fs::read(aside).unwrap(), *rubbish, "nothing is thrown away");
    }
}

#[test]
fn damage_that_shows_only_later_is_mended_too() {
    let project = filled();
    let mut history = History::open(&project.store).unwrap();
    let right = all_answers(&mut history);
    drop(history);
    // The first page stays; the others are rubbish.
    let path = project.path("history.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(all_answers(&mut history), right);
    assert!(project.path("history.db.damaged-1").exists());
}

#[test]
fn somebody_elses_database_is_set_aside_and_a_newer_one_left_alone() {
    let project = filled();
    let path = project.path("history.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE cats (name TEXT)").unwrap();
    drop(other);
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(history.runs().unwrap().len(), 2);
    assert!(project.path("history.db.damaged-1").exists());
    drop(history);
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    std::fs::write(project.path("history.seal"), "99 0123456789abcdef in another way\n").unwrap();
    let before = std::fs::read(&path).unwrap();
    for open in [History::open, History::rebuild] {
        let mut history = open(&project.store).unwrap();
        assert_eq!(history.runs().unwrap().len(), 2, "answers come from the recordings");
        assert!(history.notes()[0].contains("upgrade proctor"), "{:?}", history.notes());
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_recording_is_named_and_left_out() {
    let project = filled();
    let path = project.path("runs/01/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("{\"event_type\":\"ModelCall\"", "{\"event_ty\0\0\0", 1))
        .unwrap();
    let mut history = History::open(&project.store).unwrap();
    let skipped = history.sync_summary().skipped.clone();
    assert_eq!((skipped.len(), skipped[0].run.as_str()), (1, "01"));
    assert!(skipped[0].problem.starts_with("line 3: not a JSON object"), "{skipped:?}");
    assert_eq!(history.runs().unwrap().len(), 1);
    assert_eq!(history.sync().unwrap().skipped, skipped, "and named again");
    std::fs::write(&path, text).unwrap();
    assert!(history.sync().unwrap().skipped.is_empty());
    assert_eq!(history.runs().unwrap().len(), 2);
}

/// Not a test of its own: what the next one runs in other processes.
#[test]
fn helper_process() {
    let Some(folder) = std::env::var_os("PROCTOR_HISTORY_TEST") else { return };
    let store = proctor_record::RunStore::new(std::path::Path::new(&folder));
    let mut history = History::open(&store).unwrap();
    for _ in 0..20 {
        history.sync().unwrap();
        history.flaky(proctor_history::Window::default()).unwrap();
    }
}

#[test]
fn several_processes_write_at_once_even_over_a_damaged_file() {
    let project = filled();
    std::fs::write(project.path("history.db"), "rubbish, and enough of it to be no header")
        .unwrap();
    let root = project.path("").parent().unwrap().to_owned();
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "damage::helper_process"])
                .env("PROCTOR_HISTORY_TEST", &root)
                .spawn()
                .unwrap()
        })
        .collect();
    for number in 3..30 {
        project.record(&format!("{number:02}"), Some("c1"), &[("a", &["passed"])]);
        std::thread::sleep(Duration::from_millis(5));
    }
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(history.runs().unwrap().len(), 29);
    assert!(project.path("history.db.damaged-1").exists());
    assert!(!project.path("history.db.damaged-2").exists(), "one of them replaced it");
    let here = all_answers(&mut history);
    drop(history);
    assert_eq!(all_answers(&mut History::rebuild(&project.store).unwrap()), here);
}
