//! Annotations: said afterwards, kept beside the lines, folded in when entries are read.

use proctor_journal::{Annotation, Change, Filter, JournalError, Lesson, OutcomeStatus, RootCause};

use crate::support::Desk;

fn explained() -> Annotation {
    Annotation {
        surprise: Some("the clock was right".into()),
        root_cause: Some(RootCause::new("wrong-assumption", "nobody looked")),
        lesson: Some(Lesson::new("logging", None)),
        note: Some("first".into()),
    }
}

#[test]
fn a_falsified_entry_can_be_explained_later() {
    let desk = Desk::new();
    desk.start();
    desk.create("goal");
    let entry = desk.resolve(OutcomeStatus::Falsified);
    let line = desk.read("session_entries.jsonl");
    let open = Filter { needs_annotation: true, ..Filter::default() };
    assert_eq!(desk.journal.list(&open).unwrap().value.len(), 1);
    let annotated = desk.journal.annotate(&entry.id, explained(), &desk.now()).unwrap().value;
    assert!(!annotated.needs_annotation());
    assert_eq!(desk.read("session_entries.jsonl"), line, "lines are never rewritten");
    assert_eq!(desk.journal.session_entries().unwrap().value, std::slice::from_ref(&annotated));
    assert!(desk.journal.list(&open).unwrap().value.is_empty());
    let ended = desk.end();
    assert_eq!(ended, std::slice::from_ref(&annotated));
    assert_eq!(desk.journal.show(&entry.id).unwrap().value.entry, annotated);
}

#[test]
fn later_words_replace_earlier_ones_and_notes_add_up() {
    let desk = Desk::new();
    desk.create("goal");
    let id = desk.resolve(OutcomeStatus::Falsified).id;
    desk.journal.annotate(&id, explained(), &desk.now()).unwrap();
    let more = Annotation {
        surprise: Some("no, it was late".into()),
        note: Some("second".into()),
        ..Annotation::default()
    };
    desk.journal.annotate(&id[id.len() - 6..], more, &desk.now()).unwrap();
    let entry = desk.journal.show(&id).unwrap().value.entry;
    assert_eq!(entry.surprise.as_deref(), Some("no, it was late"));
    assert_eq!(entry.notes, ["first", "second"]);
    assert_eq!(entry.root_cause.unwrap().category, "wrong-assumption");
}

#[test]
fn the_active_entry_is_annotated_in_place_and_resolved_with_it() {
    let desk = Desk::new();
    let id = desk.create("goal").id;
    desk.journal.annotate(&id, explained(), &desk.now()).unwrap();
    assert!(!desk.exists("annotations.jsonl"));
    let note = Change { note: Some("second".into()), ..Change::default() };
    desk.journal.update(note, &desk.now()).unwrap();
    let resolved = desk.resolve(OutcomeStatus::Falsified);
    assert_eq!(resolved.surprise.as_deref(), Some("the clock was right"));
    assert_eq!(resolved.notes, ["first", "second"]);
}

#[test]
fn texts_have_their_limit_and_unknown_entries_are_named() {
    let desk = Desk::new();
    desk.create("goal");
    let id = desk.resolve(OutcomeStatus::Falsified).id;
    let long = Annotation { surprise: Some("x".repeat(10_001)), ..Annotation::default() };
    assert_eq!(desk.journal.annotate(&id, long, &desk.now()).unwrap().warnings.len(), 1);
    let error = desk.journal.annotate("ghap_0", explained(), &desk.now()).unwrap_err();
    assert!(matches!(error, JournalError::NoSuchEntry { .. }));
    assert!(error.to_string().ends_with("`list` shows the ids"));
}
