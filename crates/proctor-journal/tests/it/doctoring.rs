//! Examination and repair: everything is found, nothing is deleted.

use proctor_journal::doctor::Problem;
use proctor_journal::{JournalError, OutcomeStatus};

use crate::support::TestJournal;

fn problems(fixture: &TestJournal) -> Vec<Problem> {
    let mut found: Vec<_> = fixture.journal.examine().unwrap().iter().map(|f| f.problem).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn a_healthy_journal_has_no_findings() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.create("one");
    fixture.resolve(OutcomeStatus::Confirmed);
    fixture.create("two");
    assert_eq!(problems(&fixture), []);
    assert_eq!(fixture.journal.repair(&fixture.now()).unwrap().value, []);
}

#[test]
fn foreign_torn_and_unreadable_lines_are_found_and_put_right() {
    let fixture = TestJournal::new();
    let first = fixture.start();
    fixture.create("old");
    fixture.resolve(OutcomeStatus::Confirmed);
    let foreign = fixture.read("session_entries.jsonl");
    fixture.end();
    std::fs::remove_dir_all(fixture.path("archive")).unwrap();
    fixture.start();
    fixture.create("new");
    fixture.resolve(OutcomeStatus::Confirmed);
    let own = fixture.read("session_entries.jsonl");
    fixture.write("session_entries.jsonl", format!("{foreign}{own}garbage"));
    assert_eq!(
        problems(&fixture),
        [Problem::UnreadableLine, Problem::TornLine, Problem::ForeignLine]
    );
    let left = fixture.journal.repair(&fixture.now()).unwrap().value;
    assert_eq!(left.iter().map(|f| f.problem).collect::<Vec<_>>(), [Problem::UnreadableLine]);
    assert_eq!(fixture.read(&format!("archive/20251203_{first}.jsonl")), foreign);
    assert_eq!(fixture.read("session_entries.jsonl"), format!("{own}garbage\n"));
}

#[test]
fn stray_lines_are_archived_by_a_repair() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.create("one");
    fixture.resolve(OutcomeStatus::Confirmed);
    std::fs::remove_file(fixture.path(".session_id")).unwrap();
    assert_eq!(problems(&fixture), [Problem::StrayLines]);
    assert_eq!(fixture.journal.repair(&fixture.now()).unwrap().value, []);
    assert!(fixture.archived().contains("\"one\""));
}

#[test]
fn contradictions_and_repetitions_are_told_and_kept() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.create("one");
    fixture.resolve(OutcomeStatus::Confirmed);
    let line = fixture.read("session_entries.jsonl");
    let other = line.replace("confirmed", "falsified");
    fixture.write("session_entries.jsonl", format!("{line}{line}{other}"));
    assert_eq!(problems(&fixture), [Problem::RepeatedLine, Problem::Contradiction]);
    fixture.journal.repair(&fixture.now()).unwrap();
    assert_eq!(
        fixture.journal.session_entries().unwrap().value[0].status(),
        Some(OutcomeStatus::Confirmed)
    );
    fixture.end();
    assert!(fixture.archived().contains("falsified"), "a contradiction is not ours to decide");
}

#[test]
fn odds_and_ends_are_found() {
    let fixture = TestJournal::new();
    fixture.start();
    let entry = fixture.create("goal");
    fixture.write(".x.1-1.proctor-tmp", "half");
    fixture.write(".tool_count", "many");
    fixture.write(
        "annotations.jsonl",
        "{\"entry_id\":\"ghap_x\",\"annotated_at\":\"2025-12-03T14:30:22Z\"}\nx\n",
    );
    let text = fixture.read("current_ghap.json");
    fixture.write(
        "current_ghap.json",
        text.replace("\"iteration_count\": 1", "\"iteration_count\": 4"),
    );
    assert_eq!(
        problems(&fixture),
        [
            Problem::IterationCount,
            Problem::UnreadableCounter,
            Problem::TemporaryFile,
            Problem::LooseAnnotation
        ]
    );
    let left = fixture.journal.repair(&fixture.now()).unwrap().value;
    assert!(left.iter().all(|finding| finding.problem != Problem::TemporaryFile));
    fixture.start();
    assert!(problems(&fixture).contains(&Problem::Orphan));
    let shown = fixture.journal.examine().unwrap();
    let orphan = shown.iter().find(|f| f.problem == Problem::Orphan).unwrap();
    assert!(orphan.to_string().contains(&format!("{} was left by {}", entry.id, entry.session_id)));
}

#[cfg(unix)]
#[test]
fn an_open_folder_is_closed() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = TestJournal::new();
    fixture.create("goal");
    std::fs::set_permissions(fixture.dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(problems(&fixture), [Problem::OpenFolder]);
    assert_eq!(fixture.journal.repair(&fixture.now()).unwrap().value, []);
}

#[test]
fn what_was_set_aside_can_be_restored_once_it_is_whole() {
    let fixture = TestJournal::new();
    let entry = fixture.create("goal");
    let text = fixture.read("current_ghap.json");
    fixture.write("current_ghap.json", text.replace("debugging", "gardening"));
    assert_eq!(fixture.current(), None);
    assert_eq!(problems(&fixture), [Problem::SetAside]);
    let name = fixture.names("").into_iter().find(|n| n.contains("corrupted")).unwrap();
    let error = fixture.journal.restore(&name, &fixture.now()).unwrap_err();
    assert!(error.to_string().contains("unknown domain `gardening`"), "{error}");
    fixture.write(&name, &text);
    assert_eq!(fixture.journal.restore(&name, &fixture.now()).unwrap().value, entry);
    assert_eq!(fixture.current(), Some(entry));
    assert_eq!(problems(&fixture), []);
    let error = fixture.journal.restore("../../etc/passwd", &fixture.now()).unwrap_err();
    assert!(matches!(error, JournalError::NotRestorable { .. }));
}

#[test]
fn examining_nothing_finds_nothing_and_makes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("journal");
    assert_eq!(proctor_journal::Journal::at(&dir).examine().unwrap(), []);
    assert!(!dir.exists());
}
