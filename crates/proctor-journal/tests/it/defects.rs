//! The twenty defects reproduced in the original collector, each as a test that it is not ours.
//! Numbers are those of the research's table.

use proctor_journal::{
    Change, Journal, JournalError, Lesson, OutcomeStatus, Refusal, Resolution, RootCause, Warning,
};

use crate::support::{SEED_SESSION, TestJournal, draft, refusal};

fn resolve_one(fixture: &TestJournal, goal: &str) {
    fixture.create(goal);
    fixture.resolve(OutcomeStatus::Confirmed);
}

fn note(text: &str) -> Change {
    Change { note: Some(text.to_owned()), ..Change::default() }
}

#[test]
fn defect_01_lost_session_id_then_end_keeps_the_entries() {
    let fixture = TestJournal::new();
    let session = fixture.start();
    resolve_one(&fixture, "precious");
    std::fs::remove_file(fixture.path(".session_id")).unwrap();
    assert!(fixture.end().is_empty());
    assert!(fixture.read(&format!("archive/20251203_{session}.jsonl")).contains("precious"));
}

#[test]
fn defect_02_lost_session_id_then_start_does_not_inherit_entries() {
    for lost in [None, Some(""), Some("  \n")] {
        let fixture = TestJournal::new();
        let session = fixture.start();
        resolve_one(&fixture, "old");
        match lost {
            None => std::fs::remove_file(fixture.path(".session_id")).unwrap(),
            Some(content) => fixture.write(".session_id", content),
        }
        fixture.start();
        assert!(fixture.journal.session_entries().unwrap().value.is_empty());
        assert!(fixture.read(&format!("archive/20251203_{session}.jsonl")).contains("old"));
    }
}

#[test]
fn defect_03_a_corrupt_line_is_archived_with_the_others() {
    let fixture = TestJournal::new();
    fixture.start();
    resolve_one(&fixture, "good");
    let good = fixture.read("session_entries.jsonl");
    fixture.write("session_entries.jsonl", format!("{good}{{\"id\": \"ha\u{fffd}lf\n"));
    fixture.end();
    assert_eq!(fixture.archived(), format!("{good}{{\"id\": \"ha\u{fffd}lf\n"));
}

#[test]
fn defect_04_a_torn_last_line_does_not_swallow_the_next() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.write("session_entries.jsonl", "{\"id\": \"torn");
    resolve_one(&fixture, "good");
    assert_eq!(fixture.journal.session_entries().unwrap().value.len(), 1);
    assert!(fixture.read("session_entries.jsonl").starts_with("{\"id\": \"torn\n{"));
}

#[test]
fn defect_05_a_crash_between_append_and_clear_is_repaired() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let current = fixture.read("current_ghap.json");
    let resolved = fixture.resolve(OutcomeStatus::Confirmed);
    fixture.write("current_ghap.json", &current);
    assert_eq!(fixture.current(), None, "looking sees through it");
    let again = Resolution::new(OutcomeStatus::Falsified, "no");
    let error = fixture.journal.resolve(again, &fixture.now()).unwrap_err();
    assert_eq!(refusal(error), Refusal::NoActive { operation: "resolve" });
    assert!(!fixture.exists("current_ghap.json"), "the next change clears it");
    assert_eq!(fixture.journal.session_entries().unwrap().value, [resolved]);
    // The same, with the line already in the archive.
    fixture.start();
    fixture.write("current_ghap.json", &current);
    let created = fixture.journal.create(draft("next"), &fixture.now()).unwrap();
    assert!(matches!(created.warnings[..], [Warning::AlreadyResolved { .. }]));
}

#[test]
fn defect_06_an_orphan_is_not_resolved_by_accident() {
    let fixture = TestJournal::new();
    fixture.start();
    let orphan = fixture.create("old");
    fixture.start();
    let errors = [
        fixture.journal.update(note("x"), &fixture.now()).unwrap_err(),
        fixture
            .journal
            .resolve(Resolution::new(OutcomeStatus::Confirmed, "x"), &fixture.now())
            .unwrap_err(),
        fixture.journal.abandon("x", &fixture.now()).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(refusal(error), Refusal::OrphanPending { id, .. } if id == orphan.id));
    }
    assert!(!fixture.exists("session_entries.jsonl"));
}

#[test]
fn defect_07_ending_over_an_orphan_archives_it_under_its_own_session() {
    let fixture = TestJournal::new();
    let first = fixture.start();
    fixture.create("old");
    let second = fixture.start();
    resolve_one_is_refused(&fixture);
    let ended = fixture.end();
    assert!(ended.is_empty(), "the orphan is none of this session's");
    assert!(fixture.read(&format!("archive/20251203_{first}.jsonl")).contains("session ended"));
    assert!(!fixture.exists(&format!("archive/20251203_{second}.jsonl")));
}

fn resolve_one_is_refused(fixture: &TestJournal) {
    assert!(fixture.journal.create(draft("new"), &fixture.now()).is_err());
}

#[test]
fn defect_08_a_number_for_a_time_does_not_brick_the_journal() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let text = fixture.read("current_ghap.json");
    let at = text.find("\"created_at\": \"").unwrap();
    let end = at + text[at..].find(',').unwrap();
    fixture.write("current_ghap.json", format!("{}\"created_at\": 5{}", &text[..at], &text[end..]));
    assert_eq!(fixture.current(), None);
    fixture.create("works again");
}

#[test]
fn defect_09_wrong_types_are_not_loaded_as_valid() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let text = fixture.read("current_ghap.json");
    fixture.write("current_ghap.json", text.replace("\"goal\": \"goal\"", "\"goal\": 5"));
    let current = fixture.journal.current(&fixture.now()).unwrap();
    assert_eq!(current.value, None);
    assert!(current.warnings[0].to_string().contains("field `goal`: invalid type"));
    // Null for a list is what some writers mean by an empty one; it works from then on.
    fixture.write("current_ghap.json", text.replace("\"notes\": []", "\"notes\": null"));
    let updated = fixture.journal.update(note("n"), &fixture.now()).unwrap().value;
    assert_eq!(updated.notes, ["n"]);
}

#[test]
fn defect_10_two_corruptions_in_one_second_keep_both_backups() {
    let fixture = TestJournal::new();
    for garbage in ["first", "second", "third"] {
        fixture.write("current_ghap.json", garbage);
        let moment = fixture.clock().same_second();
        assert_eq!(fixture.journal.current(&moment).unwrap().value, None);
    }
    let kept: Vec<_> = fixture
        .names("")
        .into_iter()
        .filter(|n| n.starts_with("current_ghap.corrupted."))
        .collect();
    let contents: Vec<_> = kept.iter().map(|name| fixture.read(name)).collect();
    assert_eq!(contents, ["first", "second", "third"]);
    assert!(kept[1].ends_with("-2") && kept[2].ends_with("-3"), "{kept:?}");
}

#[test]
fn defect_11_root_cause_and_lesson_have_the_limit_too() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let long = "x".repeat(20_000);
    let resolution = Resolution {
        root_cause: Some(RootCause::new(long.clone(), long.clone())),
        lesson: Some(Lesson::new(long.clone(), Some(long))),
        ..Resolution::new(OutcomeStatus::Falsified, "no")
    };
    let resolved = fixture.journal.resolve(resolution, &fixture.now()).unwrap();
    assert_eq!(resolved.warnings.len(), 4);
    let (cause, lesson) = (resolved.value.root_cause.unwrap(), resolved.value.lesson.unwrap());
    for text in [cause.category, cause.description, lesson.what_worked, lesson.takeaway.unwrap()] {
        assert_eq!(text.chars().count(), 10_000);
    }
}

#[test]
fn defect_12_the_same_long_text_twice_is_no_iteration() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let long = Change { hypothesis: Some("x".repeat(20_000)), ..Change::default() };
    assert_eq!(
        fixture.journal.update(long.clone(), &fixture.now()).unwrap().value.iteration_count,
        2
    );
    assert_eq!(fixture.journal.update(long, &fixture.now()).unwrap().value.iteration_count, 2);
}

#[test]
fn defect_13_a_lone_surrogate_is_read_as_the_replacement_character() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let text = fixture.read("current_ghap.json");
    fixture.write("current_ghap.json", text.replace("\"goal\": \"goal\"", r#""goal": "a\ud800b""#));
    assert_eq!(fixture.current().unwrap().goal, "a\u{fffd}b");
    let line = fixture.journal.update(note("n"), &fixture.now()).unwrap();
    assert_eq!(line.value.goal, "a\u{fffd}b");
}

#[test]
fn defect_14_a_new_session_starts_counting_from_zero() {
    let fixture = TestJournal::new();
    fixture.start();
    for _ in 0..12 {
        fixture.journal.increment_tool_count(&fixture.now()).unwrap();
    }
    fixture.start();
    assert_eq!(fixture.journal.tool_count().unwrap().value, 0);
    // Creating without a session starts one as well.
    fixture.end();
    fixture.journal.increment_tool_count(&fixture.now()).unwrap();
    fixture.create("goal");
    assert_eq!(fixture.journal.tool_count().unwrap().value, 0);
}

#[test]
fn defect_15_odd_counters_and_frequencies_have_one_meaning() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    assert!(matches!(
        fixture.journal.should_check_in(0, &fixture.now()),
        Err(JournalError::Frequency)
    ));
    for odd in ["-5", "x", "", "1.5", "99999999999999999999999"] {
        fixture.write(".tool_count", odd);
        let count = fixture.journal.increment_tool_count(&fixture.now()).unwrap();
        assert_eq!(count.value, 1, "{odd}");
        assert!(matches!(count.warnings[..], [Warning::CounterUnreadable { .. }]));
    }
    fixture.write(".tool_count", u64::MAX.to_string());
    assert_eq!(fixture.journal.increment_tool_count(&fixture.now()).unwrap().value, u64::MAX);
}

#[test]
fn defect_16_a_session_id_never_becomes_a_path() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let text = fixture.read("current_ghap.json");
    let session = fixture.journal.session_id().unwrap().unwrap();
    fixture.write("current_ghap.json", text.replace(&session, "../../../evil/x"));
    let gone = fixture.journal.abandon_orphan("no", &fixture.now()).unwrap().value.unwrap();
    assert_eq!(gone.session_id, "../../../evil/x", "the entry keeps what it says");
    let names = fixture.names("archive");
    assert_eq!(names.len(), 1);
    assert!(names[0].starts_with("20251203_unknown_"), "{names:?}");
    // The same in the session file.
    fixture.write(".session_id", "a/../../b\n");
    fixture.create("second");
    fixture.end();
    assert_eq!(fixture.names("archive").len(), 2);
    assert!(!fixture.dir().join("archive/20251203_a").exists());
}

#[test]
fn defect_17_a_resumed_session_ended_twice_keeps_both_archives() {
    let fixture = TestJournal::new();
    fixture.start_as("4b1d7a4e-resumed");
    resolve_one(&fixture, "first");
    assert_eq!(fixture.end().len(), 1);
    fixture.clock().advance_days(1);
    fixture.start_as("4b1d7a4e-resumed");
    resolve_one(&fixture, "second");
    assert_eq!(fixture.journal.session_entries().unwrap().value.len(), 2, "one session, resumed");
    fixture.end();
    assert_eq!(fixture.names("archive"), ["20251203_4b1d7a4e-resumed.jsonl"]);
    assert!(fixture.archived().contains("first") && fixture.archived().contains("second"));
}

#[test]
fn defect_18_unknown_fields_survive() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let text = fixture.read("current_ghap.json");
    let extra = "\"notes\": [],\n  \"mood\": {\"n\": 12345678901234567890123, \"x\": [\n1.50,\n2]}";
    fixture.write("current_ghap.json", text.replace("\"notes\": []", extra));
    let change = Change { hypothesis: Some("new".into()), ..Change::default() };
    fixture.journal.update(change, &fixture.now()).unwrap();
    assert!(fixture.read("current_ghap.json").contains("12345678901234567890123"));
    fixture.resolve(OutcomeStatus::Confirmed);
    let lines = fixture.read("session_entries.jsonl");
    assert_eq!(lines.lines().count(), 1);
    assert!(
        lines.contains("\"mood\":{\"n\": 12345678901234567890123, \"x\": [1.50,2]}"),
        "{lines}"
    );
    let entry = &fixture.journal.session_entries().unwrap().value[0];
    assert_eq!(
        entry.extra.get("mood").unwrap(),
        "{\"n\": 12345678901234567890123, \"x\": [1.50,2]}"
    );
}

// Defects 19 and 20 need several processes: see `stress`.

#[test]
fn io_errors_are_errors_and_set_nothing_aside() {
    let fixture = TestJournal::new();
    fixture.start_as(SEED_SESSION);
    std::fs::create_dir(fixture.path("current_ghap.json")).unwrap();
    let error = fixture.journal.current(&fixture.now()).unwrap_err();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
    assert!(error.to_string().starts_with("cannot read "));
    assert!(fixture.path("current_ghap.json").is_dir());
}

#[test]
fn a_newer_format_is_read_and_not_written() {
    let fixture = TestJournal::new();
    let entry = fixture.create("goal");
    for newer in ["2\n", "99", "two"] {
        fixture.write(".format", newer);
        assert_eq!(fixture.current().unwrap(), entry, "reading still works");
        let error = fixture.journal.update(note("n"), &fixture.now()).unwrap_err();
        assert!(matches!(error, JournalError::NewerFormat { .. }));
        assert!(error.to_string().contains("upgrade proctor to write"));
        let error = fixture.journal.increment_tool_count(&fixture.now()).unwrap_err();
        assert!(matches!(error, JournalError::NewerFormat { .. }));
        let lane = Journal::at(fixture.dir()).lane("a").unwrap();
        assert!(lane.create(draft("x"), &fixture.now()).is_err());
    }
}

#[test]
fn the_trace_of_a_crash_is_found_behind_long_sessions_and_long_lines() {
    let fixture = TestJournal::new();
    fixture.start();
    for number in 0..120 {
        resolve_one(&fixture, &format!("entry {number}"));
    }
    fixture.create(&"x".repeat(10_000));
    let change = || Change { note: Some("y".repeat(10_000)), ..Change::default() };
    for _ in 0..8 {
        fixture.journal.update(change(), &fixture.now()).unwrap();
    }
    let current = fixture.read("current_ghap.json");
    fixture.resolve(OutcomeStatus::Confirmed);
    assert!(fixture.read("session_entries.jsonl").lines().last().unwrap().len() > 64 * 1024);
    fixture.write("current_ghap.json", &current);
    assert_eq!(fixture.current(), None);
    fixture.create("next");
    assert_eq!(fixture.journal.session_entries().unwrap().value.len(), 121);
}
