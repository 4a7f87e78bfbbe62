//! Annotations: said afterwards, kept beside the lines, folded in when entries are read.

use proctor_journal::{Annotation, Change, Filter, JournalError, Lesson, OutcomeStatus, RootCause};

use crate::support::TestJournal;

fn root_cause() -> Annotation {
    Annotation {
        surprise: Some("the clock was right".into()),
        root_cause: Some(RootCause::new("wrong-assumption", "nobody looked")),
        lesson: Some(Lesson::new("logging", None)),
        note: Some("first".into()),
    }
}

#[test]
fn a_falsified_entry_can_be_explained_later() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.create("goal");
    let entry = fixture.resolve(OutcomeStatus::Falsified);
    let line = fixture.read("session_entries.jsonl");
    let open = Filter { needs_annotation: true, ..Filter::default() };
    assert_eq!(fixture.journal.list(&open).unwrap().value.len(), 1);
    let annotated =
        fixture.journal.annotate(&entry.id, root_cause(), &fixture.now()).unwrap().value;
    assert!(!annotated.needs_annotation());
    assert_eq!(fixture.read("session_entries.jsonl"), line, "lines are never rewritten");
    assert_eq!(fixture.journal.session_entries().unwrap().value, std::slice::from_ref(&annotated));
    assert!(fixture.journal.list(&open).unwrap().value.is_empty());
    let ended = fixture.end();
    assert_eq!(ended, std::slice::from_ref(&annotated));
    assert_eq!(fixture.journal.show(&entry.id).unwrap().value.entry, annotated);
}

#[test]
fn later_words_replace_earlier_ones_and_notes_add_up() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let id = fixture.resolve(OutcomeStatus::Falsified).id;
    fixture.journal.annotate(&id, root_cause(), &fixture.now()).unwrap();
    let more = Annotation {
        surprise: Some("no, it was late".into()),
        note: Some("second".into()),
        ..Annotation::default()
    };
    fixture.journal.annotate(&id[id.len() - 6..], more, &fixture.now()).unwrap();
    let entry = fixture.journal.show(&id).unwrap().value.entry;
    assert_eq!(entry.surprise.as_deref(), Some("no, it was late"));
    assert_eq!(entry.notes, ["first", "second"]);
    assert_eq!(entry.root_cause.unwrap().category, "wrong-assumption");
}

#[test]
fn the_active_entry_is_annotated_in_place_and_resolved_with_it() {
    let fixture = TestJournal::new();
    let id = fixture.create("goal").id;
    fixture.journal.annotate(&id, root_cause(), &fixture.now()).unwrap();
    assert!(!fixture.exists("annotations.jsonl"));
    let note = Change { note: Some("second".into()), ..Change::default() };
    fixture.journal.update(note, &fixture.now()).unwrap();
    let resolved = fixture.resolve(OutcomeStatus::Falsified);
    assert_eq!(resolved.surprise.as_deref(), Some("the clock was right"));
    assert_eq!(resolved.notes, ["first", "second"]);
}

#[test]
fn texts_have_their_limit_and_unknown_entries_are_named() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let id = fixture.resolve(OutcomeStatus::Falsified).id;
    let long = Annotation { surprise: Some("x".repeat(10_001)), ..Annotation::default() };
    assert_eq!(fixture.journal.annotate(&id, long, &fixture.now()).unwrap().warnings.len(), 1);
    let error = fixture.journal.annotate("ghap_0", root_cause(), &fixture.now()).unwrap_err();
    assert!(matches!(error, JournalError::NoSuchEntry { .. }));
    assert!(error.to_string().ends_with("`list` shows the ids"));
}
