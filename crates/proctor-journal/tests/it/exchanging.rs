//! Export and import.

use proctor_journal::exchange::{ImportResult, export};
use proctor_journal::{Annotation, Filter, JournalError, OutcomeStatus};

use crate::support::TestJournal;

fn filled() -> TestJournal {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.create("one");
    let id = fixture.resolve(OutcomeStatus::Falsified).id;
    let surprise = Annotation { surprise: Some("s".into()), ..Annotation::default() };
    fixture.journal.annotate(&id, surprise, &fixture.now()).unwrap();
    fixture.start();
    fixture.create("two");
    fixture.resolve(OutcomeStatus::Confirmed);
    fixture.create("three, active");
    fixture
}

fn exported(fixture: &TestJournal) -> String {
    let all = fixture.journal.list(&Filter::default()).unwrap().value;
    export(&all, &fixture.now()).unwrap()
}

fn import(fixture: &TestJournal, text: &str) -> ImportResult {
    fixture.journal.import(text.as_bytes(), &fixture.now()).unwrap().value
}

#[test]
fn importing_twice_is_importing_once() {
    let source = filled();
    let text = exported(&source);
    assert!(text.starts_with("{\"proctor_journal_export\":1,"));
    assert_eq!(text.lines().count(), 4);
    let target = TestJournal::new();
    let first = import(&target, &text);
    assert_eq!((first.added.len(), first.active.len(), first.unreadable.len()), (2, 1, 0));
    let before = target.archived();
    let second = import(&target, &text);
    assert_eq!((second.added.len(), second.known.len(), second.conflicting.len()), (0, 2, 0));
    assert_eq!(target.archived(), before);
    let ended = Filter { active: Some(false), ..Filter::default() };
    let entries = |fixture: &TestJournal| -> Vec<_> {
        let listed = fixture.journal.list(&ended).unwrap().value;
        listed.into_iter().map(|found| found.entry).collect()
    };
    assert_eq!(entries(&target), entries(&source), "annotations included");
    assert_eq!(target.names("archive").len(), 2, "one archive per session");
}

#[test]
fn importing_into_its_own_journal_changes_nothing() {
    let fixture = filled();
    let text = exported(&fixture);
    let report = import(&fixture, &text);
    assert_eq!((report.added.len(), report.known.len(), report.conflicting.len()), (0, 2, 0));
}

#[test]
fn what_is_there_is_never_overwritten() {
    let source = filled();
    let text = exported(&source);
    let target = TestJournal::new();
    import(&target, &text);
    let before = target.archived();
    let report = import(&target, &text.replace("\"seen\"", "\"something else\""));
    assert_eq!(report.conflicting.len(), 2);
    assert_eq!(target.archived(), before);
}

#[test]
fn files_of_a_journal_are_taken_as_they_are() {
    let source = filled();
    let target = TestJournal::new();
    let lines = source.read("session_entries.jsonl");
    let report = import(&target, &format!("{lines}garbage\n{{\"a\":1}}\n"));
    assert_eq!((report.added.len(), report.unreadable), (1, vec![2, 3]));
    let report = import(&target, &source.read("current_ghap.json"));
    assert_eq!(
        (report.added.len(), report.active.len()),
        (0, 1),
        "an active entry stays where it is"
    );
}

#[test]
fn an_import_survives_a_torn_archive() {
    let source = filled();
    let text = exported(&source);
    let target = TestJournal::new();
    import(&target, &text);
    let name = format!("archive/{}", target.names("archive")[0]);
    let whole = target.read(&name);
    target.write(&name, &whole[..whole.len() / 2]);
    let report = import(&target, &text);
    assert_eq!(report.added.len(), 1);
    assert_eq!(target.read(&name), whole, "our own unfinished line is completed");
}

#[test]
fn a_newer_export_is_refused() {
    let fixture = TestJournal::new();
    let error =
        fixture.journal.import(b"{\"proctor_journal_export\":2}\n", &fixture.now()).unwrap_err();
    assert!(matches!(error, JournalError::NewerExport { found: 2, .. }));
}
