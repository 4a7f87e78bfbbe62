//! Examination and repair: everything is found, nothing is deleted.

use proctor_journal::doctor::Problem;
use proctor_journal::{JournalError, OutcomeStatus};

use crate::support::Desk;

fn problems(desk: &Desk) -> Vec<Problem> {
    let mut found: Vec<_> = desk.journal.examine().unwrap().iter().map(|f| f.problem).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn a_healthy_journal_has_no_findings() {
    let desk = Desk::new();
    desk.start();
    desk.create("one");
    desk.resolve(OutcomeStatus::Confirmed);
    desk.create("two");
    assert_eq!(problems(&desk), []);
    assert_eq!(desk.journal.repair(&desk.now()).unwrap().value, []);
}

#[test]
fn foreign_torn_and_unreadable_lines_are_found_and_put_right() {
    let desk = Desk::new();
    let first = desk.start();
    desk.create("old");
    desk.resolve(OutcomeStatus::Confirmed);
    let foreign = desk.read("session_entries.jsonl");
    desk.end();
    std::fs::remove_dir_all(desk.path("archive")).unwrap();
    desk.start();
    desk.create("new");
    desk.resolve(OutcomeStatus::Confirmed);
    let own = desk.read("session_entries.jsonl");
    desk.write("session_entries.jsonl", format!("{foreign}{own}garbage"));
    assert_eq!(problems(&desk), [Problem::UnreadableLine, Problem::TornLine, Problem::ForeignLine]);
    let left = desk.journal.repair(&desk.now()).unwrap().value;
    assert_eq!(left.iter().map(|f| f.problem).collect::<Vec<_>>(), [Problem::UnreadableLine]);
    assert_eq!(desk.read(&format!("archive/20251203_{first}.jsonl")), foreign);
    assert_eq!(desk.read("session_entries.jsonl"), format!("{own}garbage\n"));
}

#[test]
fn stray_lines_are_archived_by_a_repair() {
    let desk = Desk::new();
    desk.start();
    desk.create("one");
    desk.resolve(OutcomeStatus::Confirmed);
    std::fs::remove_file(desk.path(".session_id")).unwrap();
    assert_eq!(problems(&desk), [Problem::StrayLines]);
    assert_eq!(desk.journal.repair(&desk.now()).unwrap().value, []);
    assert!(desk.archived().contains("\"one\""));
}

#[test]
fn contradictions_and_repetitions_are_told_and_kept() {
    let desk = Desk::new();
    desk.start();
    desk.create("one");
    desk.resolve(OutcomeStatus::Confirmed);
    let line = desk.read("session_entries.jsonl");
    let other = line.replace("confirmed", "falsified");
    desk.write("session_entries.jsonl", format!("{line}{line}{other}"));
    assert_eq!(problems(&desk), [Problem::RepeatedLine, Problem::Contradiction]);
    desk.journal.repair(&desk.now()).unwrap();
    assert_eq!(
        desk.journal.session_entries().unwrap().value[0].status(),
        Some(OutcomeStatus::Confirmed)
    );
    desk.end();
    assert!(desk.archived().contains("falsified"), "a contradiction is not ours to decide");
}

#[test]
fn odds_and_ends_are_found() {
    let desk = Desk::new();
    desk.start();
    let entry = desk.create("goal");
    desk.write(".x.1-1.proctor-tmp", "half");
    desk.write(".tool_count", "many");
    desk.write(
        "annotations.jsonl",
        "{\"entry_id\":\"ghap_x\",\"annotated_at\":\"2025-12-03T14:30:22Z\"}\nx\n",
    );
    let text = desk.read("current_ghap.json");
    desk.write(
        "current_ghap.json",
        text.replace("\"iteration_count\": 1", "\"iteration_count\": 4"),
    );
    assert_eq!(
        problems(&desk),
        [
            Problem::IterationCount,
            Problem::UnreadableCounter,
            Problem::TemporaryFile,
            Problem::LooseAnnotation
        ]
    );
    let left = desk.journal.repair(&desk.now()).unwrap().value;
    assert!(left.iter().all(|finding| finding.problem != Problem::TemporaryFile));
    desk.start();
    assert!(problems(&desk).contains(&Problem::Orphan));
    let shown = desk.journal.examine().unwrap();
    let orphan = shown.iter().find(|f| f.problem == Problem::Orphan).unwrap();
    assert!(orphan.to_string().contains(&format!("{} was left by {}", entry.id, entry.session_id)));
}

#[cfg(unix)]
#[test]
fn an_open_folder_is_closed() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::new();
    desk.create("goal");
    std::fs::set_permissions(desk.dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(problems(&desk), [Problem::OpenFolder]);
    assert_eq!(desk.journal.repair(&desk.now()).unwrap().value, []);
}

#[test]
fn what_was_set_aside_can_be_restored_once_it_is_whole() {
    let desk = Desk::new();
    let entry = desk.create("goal");
    let text = desk.read("current_ghap.json");
    desk.write("current_ghap.json", text.replace("debugging", "gardening"));
    assert_eq!(desk.current(), None);
    assert_eq!(problems(&desk), [Problem::SetAside]);
    let name = desk.names("").into_iter().find(|n| n.contains("corrupted")).unwrap();
    let error = desk.journal.restore(&name, &desk.now()).unwrap_err();
    assert!(error.to_string().contains("unknown domain `gardening`"), "{error}");
    desk.write(&name, &text);
    assert_eq!(desk.journal.restore(&name, &desk.now()).unwrap().value, entry);
    assert_eq!(desk.current(), Some(entry));
    assert_eq!(problems(&desk), []);
    let error = desk.journal.restore("../../etc/passwd", &desk.now()).unwrap_err();
    assert!(matches!(error, JournalError::NotRestorable { .. }));
}

#[test]
fn examining_nothing_finds_nothing_and_makes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("journal");
    assert_eq!(proctor_journal::Journal::at(&dir).examine().unwrap(), []);
    assert!(!dir.exists());
}
