//! The twenty defects reproduced in the original collector, each as a test that it is not ours.
//! Numbers are those of the research's table.

use proctor_journal::{
    Change, Journal, JournalError, Lesson, OutcomeStatus, Refusal, Resolution, RootCause, Warning,
};

use crate::support::{Desk, SEED_SESSION, draft, refusal};

fn resolve_one(desk: &Desk, goal: &str) {
    desk.create(goal);
    desk.resolve(OutcomeStatus::Confirmed);
}

fn note(text: &str) -> Change {
    Change { note: Some(text.to_owned()), ..Change::default() }
}

#[test]
fn defect_01_lost_session_id_then_end_keeps_the_entries() {
    let desk = Desk::new();
    let session = desk.start();
    resolve_one(&desk, "precious");
    std::fs::remove_file(desk.path(".session_id")).unwrap();
    assert!(desk.end().is_empty());
    assert!(desk.read(&format!("archive/20251203_{session}.jsonl")).contains("precious"));
}

#[test]
fn defect_02_lost_session_id_then_start_does_not_inherit_entries() {
    for lost in [None, Some(""), Some("  \n")] {
        let desk = Desk::new();
        let session = desk.start();
        resolve_one(&desk, "old");
        match lost {
            None => std::fs::remove_file(desk.path(".session_id")).unwrap(),
            Some(content) => desk.write(".session_id", content),
        }
        desk.start();
        assert!(desk.journal.session_entries().unwrap().value.is_empty());
        assert!(desk.read(&format!("archive/20251203_{session}.jsonl")).contains("old"));
    }
}

#[test]
fn defect_03_a_corrupt_line_is_archived_with_the_others() {
    let desk = Desk::new();
    desk.start();
    resolve_one(&desk, "good");
    let good = desk.read("session_entries.jsonl");
    desk.write("session_entries.jsonl", format!("{good}{{\"id\": \"ha\u{fffd}lf\n"));
    desk.end();
    assert_eq!(desk.archived(), format!("{good}{{\"id\": \"ha\u{fffd}lf\n"));
}

#[test]
fn defect_04_a_torn_last_line_does_not_swallow_the_next() {
    let desk = Desk::new();
    desk.start();
    desk.write("session_entries.jsonl", "{\"id\": \"torn");
    resolve_one(&desk, "good");
    assert_eq!(desk.journal.session_entries().unwrap().value.len(), 1);
    assert!(desk.read("session_entries.jsonl").starts_with("{\"id\": \"torn\n{"));
}

#[test]
fn defect_05_a_crash_between_append_and_clear_is_repaired() {
    let desk = Desk::new();
    desk.create("goal");
    let current = desk.read("current_ghap.json");
    let resolved = desk.resolve(OutcomeStatus::Confirmed);
    desk.write("current_ghap.json", &current);
    assert_eq!(desk.current(), None, "looking sees through it");
    let again = Resolution::new(OutcomeStatus::Falsified, "no");
    let error = desk.journal.resolve(again, &desk.now()).unwrap_err();
    assert_eq!(refusal(error), Refusal::NoActive { operation: "resolve" });
    assert!(!desk.exists("current_ghap.json"), "the next change clears it");
    assert_eq!(desk.journal.session_entries().unwrap().value, [resolved]);
    // The same, with the line already in the archive.
    desk.start();
    desk.write("current_ghap.json", &current);
    let created = desk.journal.create(draft("next"), &desk.now()).unwrap();
    assert!(matches!(created.warnings[..], [Warning::AlreadyResolved { .. }]));
}

#[test]
fn defect_06_an_orphan_is_not_resolved_by_accident() {
    let desk = Desk::new();
    desk.start();
    let orphan = desk.create("old");
    desk.start();
    let errors = [
        desk.journal.update(note("x"), &desk.now()).unwrap_err(),
        desk.journal
            .resolve(Resolution::new(OutcomeStatus::Confirmed, "x"), &desk.now())
            .unwrap_err(),
        desk.journal.abandon("x", &desk.now()).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(refusal(error), Refusal::OrphanPending { id, .. } if id == orphan.id));
    }
    assert!(!desk.exists("session_entries.jsonl"));
}

#[test]
fn defect_07_ending_over_an_orphan_archives_it_under_its_own_session() {
    let desk = Desk::new();
    let first = desk.start();
    desk.create("old");
    let second = desk.start();
    resolve_one_is_refused(&desk);
    let ended = desk.end();
    assert!(ended.is_empty(), "the orphan is none of this session's");
    assert!(desk.read(&format!("archive/20251203_{first}.jsonl")).contains("session ended"));
    assert!(!desk.exists(&format!("archive/20251203_{second}.jsonl")));
}

fn resolve_one_is_refused(desk: &Desk) {
    assert!(desk.journal.create(draft("new"), &desk.now()).is_err());
}

#[test]
fn defect_08_a_number_for_a_time_does_not_brick_the_journal() {
    let desk = Desk::new();
    desk.create("goal");
    let text = desk.read("current_ghap.json");
    let at = text.find("\"created_at\": \"").unwrap();
    let end = at + text[at..].find(',').unwrap();
    desk.write("current_ghap.json", format!("{}\"created_at\": 5{}", &text[..at], &text[end..]));
    assert_eq!(desk.current(), None);
    desk.create("works again");
}

#[test]
fn defect_09_wrong_types_are_not_loaded_as_valid() {
    let desk = Desk::new();
    desk.create("goal");
    let text = desk.read("current_ghap.json");
    desk.write("current_ghap.json", text.replace("\"goal\": \"goal\"", "\"goal\": 5"));
    let current = desk.journal.current(&desk.now()).unwrap();
    assert_eq!(current.value, None);
    assert!(current.warnings[0].to_string().contains("field `goal`: invalid type"));
    // Null for a list is what some writers mean by an empty one; it works from then on.
    desk.write("current_ghap.json", text.replace("\"notes\": []", "\"notes\": null"));
    let updated = desk.journal.update(note("n"), &desk.now()).unwrap().value;
    assert_eq!(updated.notes, ["n"]);
}

#[test]
fn defect_10_two_corruptions_in_one_second_keep_both_backups() {
    let desk = Desk::new();
    for garbage in ["first", "second", "third"] {
        desk.write("current_ghap.json", garbage);
        let moment = desk.clock().same_second();
        assert_eq!(desk.journal.current(&moment).unwrap().value, None);
    }
    let kept: Vec<_> =
        desk.names("").into_iter().filter(|n| n.starts_with("current_ghap.corrupted.")).collect();
    let contents: Vec<_> = kept.iter().map(|name| desk.read(name)).collect();
    assert_eq!(contents, ["first", "second", "third"]);
    assert!(kept[1].ends_with("-2") && kept[2].ends_with("-3"), "{kept:?}");
}

#[test]
fn defect_11_root_cause_and_lesson_have_the_limit_too() {
    let desk = Desk::new();
    desk.create("goal");
    let long = "x".repeat(20_000);
    let resolution = Resolution {
        root_cause: Some(RootCause::new(long.clone(), long.clone())),
        lesson: Some(Lesson::new(long.clone(), Some(long))),
        ..Resolution::new(OutcomeStatus::Falsified, "no")
    };
    let resolved = desk.journal.resolve(resolution, &desk.now()).unwrap();
    assert_eq!(resolved.warnings.len(), 4);
    let (cause, lesson) = (resolved.value.root_cause.unwrap(), resolved.value.lesson.unwrap());
    for text in [cause.category, cause.description, lesson.what_worked, lesson.takeaway.unwrap()] {
        assert_eq!(text.len(), 10_000);
    }
}

#[test]
fn defect_12_the_same_long_text_twice_is_no_iteration() {
    let desk = Desk::new();
    desk.create("goal");
    let long = Change { hypothesis: Some("x".repeat(20_000)), ..Change::default() };
    assert_eq!(desk.journal.update(long.clone(), &desk.now()).unwrap().value.iteration_count, 2);
    assert_eq!(desk.journal.update(long, &desk.now()).unwrap().value.iteration_count, 2);
}

#[test]
fn defect_13_a_lone_surrogate_is_read_as_the_replacement_character() {
    let desk = Desk::new();
    desk.create("goal");
    let text = desk.read("current_ghap.json");
    desk.write("current_ghap.json", text.replace("\"goal\": \"goal\"", r#""goal": "a\ud800b""#));
    assert_eq!(desk.current().unwrap().goal, "a\u{fffd}b");
    let line = desk.journal.update(note("n"), &desk.now()).unwrap();
    assert_eq!(line.value.goal, "a\u{fffd}b");
}

#[test]
fn defect_14_a_new_session_starts_counting_from_zero() {
    let desk = Desk::new();
    desk.start();
    for _ in 0..12 {
        desk.journal.increment_tool_count(&desk.now()).unwrap();
    }
    desk.start();
    assert_eq!(desk.journal.tool_count().unwrap().value, 0);
    // Creating without a session starts one as well.
    desk.end();
    desk.journal.increment_tool_count(&desk.now()).unwrap();
    desk.create("goal");
    assert_eq!(desk.journal.tool_count().unwrap().value, 0);
}

#[test]
fn defect_15_odd_counters_and_frequencies_have_one_meaning() {
    let desk = Desk::new();
    desk.create("goal");
    assert!(matches!(desk.journal.should_check_in(0, &desk.now()), Err(JournalError::Frequency)));
    for odd in ["-5", "x", "", "1.5", "99999999999999999999999"] {
        desk.write(".tool_count", odd);
        let count = desk.journal.increment_tool_count(&desk.now()).unwrap();
        assert_eq!(count.value, 1, "{odd}");
        assert!(matches!(count.warnings[..], [Warning::CounterUnreadable { .. }]));
    }
    desk.write(".tool_count", u64::MAX.to_string());
    assert_eq!(desk.journal.increment_tool_count(&desk.now()).unwrap().value, u64::MAX);
}

#[test]
fn defect_16_a_session_id_never_becomes_a_path() {
    let desk = Desk::new();
    desk.create("goal");
    let text = desk.read("current_ghap.json");
    let session = desk.journal.session_id().unwrap().unwrap();
    desk.write("current_ghap.json", text.replace(&session, "../../../evil/x"));
    let gone = desk.journal.abandon_orphan("no", &desk.now()).unwrap().value.unwrap();
    assert_eq!(gone.session_id, "../../../evil/x", "the entry keeps what it says");
    let names = desk.names("archive");
    assert_eq!(names.len(), 1);
    assert!(names[0].starts_with("20251203_unknown_"), "{names:?}");
    // The same in the session file.
    desk.write(".session_id", "a/../../b\n");
    desk.create("second");
    desk.end();
    assert_eq!(desk.names("archive").len(), 2);
    assert!(!desk.dir().join("archive/20251203_a").exists());
}

#[test]
fn defect_17_a_resumed_session_ended_twice_keeps_both_archives() {
    let desk = Desk::new();
    desk.start_as("4b1d7a4e-resumed");
    resolve_one(&desk, "first");
    assert_eq!(desk.end().len(), 1);
    desk.clock().advance_days(1);
    desk.start_as("4b1d7a4e-resumed");
    resolve_one(&desk, "second");
    assert_eq!(desk.journal.session_entries().unwrap().value.len(), 2, "one session, resumed");
    desk.end();
    assert_eq!(desk.names("archive"), ["20251203_4b1d7a4e-resumed.jsonl"]);
    assert!(desk.archived().contains("first") && desk.archived().contains("second"));
}

#[test]
fn defect_18_unknown_fields_survive() {
    let desk = Desk::new();
    desk.create("goal");
    let text = desk.read("current_ghap.json");
    let extra = "\"notes\": [],\n  \"mood\": {\"n\": 12345678901234567890123, \"x\": [\n1.50,\n2]}";
    desk.write("current_ghap.json", text.replace("\"notes\": []", extra));
    let change = Change { hypothesis: Some("new".into()), ..Change::default() };
    desk.journal.update(change, &desk.now()).unwrap();
    assert!(desk.read("current_ghap.json").contains("12345678901234567890123"));
    desk.resolve(OutcomeStatus::Confirmed);
    let lines = desk.read("session_entries.jsonl");
    assert_eq!(lines.lines().count(), 1);
    assert!(
        lines.contains("\"mood\":{\"n\": 12345678901234567890123, \"x\": [1.50,2]}"),
        "{lines}"
    );
    let entry = &desk.journal.session_entries().unwrap().value[0];
    assert_eq!(
        entry.extra.get("mood").unwrap(),
        "{\"n\": 12345678901234567890123, \"x\": [1.50,2]}"
    );
}

// Defects 19 and 20 need several processes: see `stress`.

#[test]
fn io_errors_are_errors_and_set_nothing_aside() {
    let desk = Desk::new();
    desk.start_as(SEED_SESSION);
    std::fs::create_dir(desk.path("current_ghap.json")).unwrap();
    let error = desk.journal.current(&desk.now()).unwrap_err();
    assert!(matches!(error, JournalError::Io { .. }), "{error}");
    assert!(error.to_string().starts_with("cannot read "));
    assert!(desk.path("current_ghap.json").is_dir());
}

#[test]
fn a_newer_format_is_read_and_not_written() {
    let desk = Desk::new();
    let entry = desk.create("goal");
    for newer in ["2\n", "99", "two"] {
        desk.write(".format", newer);
        assert_eq!(desk.current().unwrap(), entry, "reading still works");
        let error = desk.journal.update(note("n"), &desk.now()).unwrap_err();
        assert!(matches!(error, JournalError::NewerFormat { .. }));
        assert!(error.to_string().contains("upgrade proctor to write"));
        let error = desk.journal.increment_tool_count(&desk.now()).unwrap_err();
        assert!(matches!(error, JournalError::NewerFormat { .. }));
        let lane = Journal::at(desk.dir()).lane("a").unwrap();
        assert!(lane.create(draft("x"), &desk.now()).is_err());
    }
}

#[test]
fn the_trace_of_a_crash_is_found_behind_long_sessions_and_long_lines() {
    let desk = Desk::new();
    desk.start();
    for number in 0..120 {
        resolve_one(&desk, &format!("entry {number}"));
    }
    desk.create(&"x".repeat(10_000));
    let change = || Change { note: Some("y".repeat(10_000)), ..Change::default() };
    for _ in 0..8 {
        desk.journal.update(change(), &desk.now()).unwrap();
    }
    let current = desk.read("current_ghap.json");
    desk.resolve(OutcomeStatus::Confirmed);
    assert!(desk.read("session_entries.jsonl").lines().last().unwrap().len() > 64 * 1024);
    desk.write("current_ghap.json", &current);
    assert_eq!(desk.current(), None);
    desk.create("next");
    assert_eq!(desk.journal.session_entries().unwrap().value.len(), 121);
}
