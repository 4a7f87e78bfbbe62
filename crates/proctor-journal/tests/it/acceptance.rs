//! The acceptance criteria of the specification, one by one, in its order.

use proctor_journal::{
    Change, ConfidenceTier, Domain, Journal, JournalError, Lesson, OutcomeStatus, Refusal,
    Resolution, RootCause, Strategy,
};

use crate::support::{TestJournal, draft, refusal};

fn change_hypothesis(text: &str) -> Change {
    Change { hypothesis: Some(text.to_owned()), ..Change::default() }
}

// --- Functional -------------------------------------------------------------------------------

#[test]
fn functional_01_create_with_all_required_fields() {
    let fixture = TestJournal::new();
    let entry = fixture.create("Fix flaky test in test_cache.py");
    assert!(entry.id.starts_with("ghap_20251203_143023_"));
    assert_eq!(entry.id.len(), "ghap_20251203_143022_a1b2c3".len());
    assert_eq!(entry.created_at.to_string(), "2025-12-03T14:30:23Z");
    assert_eq!(
        (entry.domain, entry.strategy),
        (Domain::Debugging, Strategy::SystematicElimination)
    );
    assert_eq!((entry.iteration_count, entry.history.len(), entry.notes.len()), (1, 0, 0));
    assert_eq!((&entry.outcome, entry.confidence_tier), (&None, None));
    assert_eq!(Some(entry.session_id.clone()), fixture.journal.session_id().unwrap());
    assert_eq!(fixture.current(), Some(entry));
}

#[test]
fn functional_02_update_pushes_the_old_state_to_history() {
    let fixture = TestJournal::new();
    let before = fixture.create("goal");
    let change = Change {
        hypothesis: Some("new hypothesis".into()),
        prediction: Some("new prediction".into()),
        note: Some("looked at the log".into()),
        ..Change::default()
    };
    let after = fixture.journal.update(change, &fixture.now()).unwrap().value;
    assert_eq!(after.iteration_count, 2);
    assert_eq!(after.history.len(), 1);
    assert_eq!(after.history[0].hypothesis, before.hypothesis);
    assert_eq!(after.history[0].action, before.action);
    assert_eq!(after.history[0].prediction, before.prediction);
    assert_eq!(after.history[0].timestamp, before.created_at, "the start of the iteration");
    assert_eq!((after.hypothesis.as_str(), after.action), ("new hypothesis", before.action));
    assert_eq!(after.notes, ["looked at the log"]);
    let third = fixture.journal.update(change_hypothesis("third"), &fixture.now()).unwrap().value;
    assert_eq!(third.iteration_count, 3);
    assert_eq!(third.history[1].timestamp, after.history[0].superseded_at.unwrap());
}

#[test]
fn functional_03_note_or_strategy_alone_makes_no_history() {
    let fixture = TestJournal::new();
    let before = fixture.create("goal");
    let note = Change { note: Some("a remark".into()), ..Change::default() };
    let strategy = Change { strategy: Some(Strategy::ReadTheError), ..Change::default() };
    fixture.journal.update(note, &fixture.now()).unwrap();
    let after = fixture.journal.update(strategy, &fixture.now()).unwrap().value;
    assert_eq!((after.history.len(), after.iteration_count), (0, 1));
    assert_eq!((after.notes.len(), after.strategy), (1, Strategy::ReadTheError));
    let same =
        fixture.journal.update(change_hypothesis(&before.hypothesis), &fixture.now()).unwrap();
    assert_eq!(same.value.iteration_count, 1, "equal values are no change");
}

#[test]
fn functional_04_resolve_sets_outcome_and_tier_and_moves_the_entry() {
    let fixture = TestJournal::new();
    let entry = fixture.create("goal");
    let resolution = Resolution {
        surprise: Some("it was the clock".into()),
        root_cause: Some(RootCause::new("wrong-assumption", "nobody looked")),
        lesson: Some(Lesson::new("logging", Some("look first".into()))),
        ..Resolution::new(OutcomeStatus::Falsified, "still flaky")
    };
    let resolved = fixture.journal.resolve(resolution, &fixture.now()).unwrap().value;
    let outcome = resolved.outcome.as_ref().unwrap();
    assert_eq!(
        (outcome.status, outcome.result.as_str()),
        (OutcomeStatus::Falsified, "still flaky")
    );
    assert!(!outcome.auto_captured && outcome.captured_at > entry.created_at);
    assert_eq!(resolved.confidence_tier, Some(ConfidenceTier::Silver));
    assert_eq!(fixture.current(), None);
    assert!(!fixture.exists("current_ghap.json"));
    assert_eq!(fixture.journal.session_entries().unwrap().value, [resolved]);
    fixture.create("second");
    let gold =
        Resolution { auto_captured: true, ..Resolution::new(OutcomeStatus::Confirmed, "ok") };
    let gold = fixture.journal.resolve(gold, &fixture.now()).unwrap().value;
    assert_eq!(gold.confidence_tier, Some(ConfidenceTier::Gold));
}

#[test]
fn functional_05_abandon_marks_the_entry_and_its_tier() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let entry = fixture.journal.abandon("out of time", &fixture.now()).unwrap().value;
    assert_eq!(entry.outcome.as_ref().unwrap().status, OutcomeStatus::Abandoned);
    assert_eq!(entry.outcome.as_ref().unwrap().result, "out of time");
    assert_eq!(entry.confidence_tier, Some(ConfidenceTier::Abandoned));
    assert_eq!(fixture.journal.session_entries().unwrap().value.len(), 1);
}

#[test]
fn functional_06_sessions_archive_their_entries() {
    let fixture = TestJournal::new();
    let session = fixture.start();
    fixture.create("one");
    fixture.resolve(OutcomeStatus::Confirmed);
    fixture.create("two");
    let ended = fixture.end();
    assert_eq!(ended.len(), 2, "the abandoned one included");
    assert_eq!(ended[1].outcome.as_ref().unwrap().result, "session ended");
    assert_eq!(fixture.names("archive"), [format!("20251203_{session}.jsonl")]);
    assert_eq!(fixture.archived().lines().count(), 2);
    assert!(!fixture.exists("session_entries.jsonl") && !fixture.exists(".session_id"));
    assert_eq!(fixture.journal.session_id().unwrap(), None);
    let second = fixture.start();
    fixture.create("three");
    fixture.resolve(OutcomeStatus::Falsified);
    fixture.start();
    assert_eq!(fixture.names("archive").len(), 2);
    assert!(fixture.read(&format!("archive/20251203_{second}.jsonl")).contains("three"));
    assert!(fixture.journal.session_entries().unwrap().value.is_empty());
}

#[test]
fn functional_07_orphans_are_found_across_sessions() {
    let fixture = TestJournal::new();
    fixture.start();
    let entry = fixture.create("goal");
    assert!(!fixture.journal.has_orphan(&fixture.now()).unwrap().value);
    fixture.start();
    assert!(fixture.journal.has_orphan(&fixture.now()).unwrap().value);
    assert_eq!(fixture.journal.orphan(&fixture.now()).unwrap().value, Some(entry));
    assert!(fixture.journal.current(&fixture.now()).unwrap().value.unwrap().orphan);
}

#[test]
fn functional_08_orphans_can_be_adopted_or_abandoned() {
    let fixture = TestJournal::new();
    fixture.start();
    let entry = fixture.create("goal");
    let second = fixture.start();
    let adopted = fixture.journal.adopt_orphan(&fixture.now()).unwrap().value.unwrap();
    assert_eq!(adopted.session_id, second);
    let expected = proctor_journal::Entry { session_id: second.clone(), ..entry };
    assert_eq!(adopted, expected, "nothing but the session changes");
    assert_eq!(fixture.current(), Some(expected));
    fixture.start();
    let gone =
        fixture.journal.abandon_orphan("no longer wanted", &fixture.now()).unwrap().value.unwrap();
    assert_eq!(gone.session_id, second);
    assert_eq!(gone.confidence_tier, Some(ConfidenceTier::Abandoned));
    assert!(fixture.read(&format!("archive/20251203_{second}.jsonl")).contains("no longer wanted"));
    assert_eq!(fixture.current(), None);
    assert_eq!(fixture.journal.adopt_orphan(&fixture.now()).unwrap().value, None);
    assert_eq!(fixture.journal.abandon_orphan("x", &fixture.now()).unwrap().value, None);
}

#[test]
fn functional_09_tool_count_leads_to_check_ins() {
    let fixture = TestJournal::new();
    fixture.start();
    for expected in 1..=3 {
        assert_eq!(fixture.journal.increment_tool_count(&fixture.now()).unwrap().value, expected);
    }
    let due = |frequency| fixture.journal.should_check_in(frequency, &fixture.now()).unwrap().value;
    assert!(!due(3), "no entry is active");
    fixture.create("goal");
    assert!(due(3) && due(1) && !due(4));
    assert!(due(3), "stays due until it is reset");
    fixture.journal.reset_tool_count(&fixture.now()).unwrap();
    assert!(!due(3));
    fixture.journal.increment_tool_count(&fixture.now()).unwrap();
    fixture.end();
    assert_eq!(fixture.journal.tool_count().unwrap().value, 0, "the end of the session resets");
}

#[test]
fn functional_10_tool_count_survives_a_restart() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.journal.increment_tool_count(&fixture.now()).unwrap();
    assert_eq!(fixture.reopened().increment_tool_count(&fixture.now()).unwrap().value, 2);
    assert_eq!(fixture.read(".tool_count").trim(), "2");
}

// --- State machine ----------------------------------------------------------------------------

#[test]
fn state_machine_01_no_second_entry_while_one_is_active() {
    let fixture = TestJournal::new();
    let entry = fixture.create("goal");
    let error = fixture.journal.create(draft("other"), &fixture.now()).unwrap_err();
    assert_eq!(error.seed_name(), Some("GHAPAlreadyActiveError"));
    assert_eq!(
        error.to_string(),
        format!("entry {} is already active: resolve or abandon it first", entry.id)
    );
    fixture.start();
    let error = fixture.journal.create(draft("other"), &fixture.now()).unwrap_err();
    assert_eq!(error.seed_name(), Some("GHAPAlreadyActiveError"));
    assert!(error.to_string().contains("adopt the orphan or abandon it first"), "{error}");
}

#[test]
fn state_machine_02_nothing_to_update_or_resolve_when_none_is_active() {
    let fixture = TestJournal::new();
    let journal = &fixture.journal;
    let errors = [
        journal.update(change_hypothesis("x"), &fixture.now()).unwrap_err(),
        journal
            .resolve(Resolution::new(OutcomeStatus::Confirmed, "x"), &fixture.now())
            .unwrap_err(),
        journal.abandon("x", &fixture.now()).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.seed_name(), Some("NoActiveGHAPError"));
    }
}

#[test]
fn state_machine_03_a_resolved_entry_cannot_be_resolved_again() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    fixture.resolve(OutcomeStatus::Confirmed);
    let again = Resolution::new(OutcomeStatus::Falsified, "x");
    let error = fixture.journal.resolve(again, &fixture.now()).unwrap_err();
    assert_eq!(refusal(error), Refusal::NoActive { operation: "resolve" });
}

#[test]
fn state_machine_04_an_orphan_can_be_adopted_and_resolved_or_abandoned() {
    let fixture = TestJournal::new();
    fixture.start();
    fixture.create("goal");
    let session = fixture.start();
    fixture.journal.adopt_orphan(&fixture.now()).unwrap();
    assert_eq!(fixture.resolve(OutcomeStatus::Confirmed).session_id, session);
    fixture.create("second");
    fixture.start();
    assert!(fixture.journal.abandon_orphan("late", &fixture.now()).unwrap().value.is_some());
}

// --- Persistence ------------------------------------------------------------------------------

#[test]
fn persistence_01_all_state_survives_a_restart() {
    let fixture = TestJournal::new();
    let session = fixture.start();
    fixture.create("one");
    fixture.resolve(OutcomeStatus::Confirmed);
    let active = fixture.create("two");
    fixture.journal.increment_tool_count(&fixture.now()).unwrap();
    let fresh = fixture.reopened();
    assert_eq!(fresh.session_id().unwrap(), Some(session));
    assert_eq!(fresh.current(&fixture.now()).unwrap().value.unwrap().entry, active);
    assert_eq!(fresh.session_entries().unwrap().value.len(), 1);
    assert_eq!(fresh.tool_count().unwrap().value, 1);
}

#[test]
fn persistence_02_an_interrupted_write_leaves_the_old_file() {
    // The crash tests stop at every change; this is the one the specification describes.
    let fixture = TestJournal::new();
    let entry = fixture.create("goal");
    fixture.write(".current_ghap.json.0000000000000001-1.proctor-tmp", "{\"id\": \"half");
    assert_eq!(fixture.reopened().current(&fixture.now()).unwrap().value.unwrap().entry, entry);
    let note = Change { note: Some("n".into()), ..Change::default() };
    fixture.journal.update(note, &fixture.now()).unwrap();
    let left = fixture.names("").into_iter().filter(|name| name.ends_with(".proctor-tmp")).count();
    assert_eq!(left, 0, "swept by the next change");
}

#[test]
fn persistence_03_corrupted_files_are_backed_up_and_reset() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    fixture.write("current_ghap.json", "{\"id\": \"half");
    let current = fixture.journal.current(&fixture.now()).unwrap();
    assert_eq!(current.value, None);
    assert!(current.warnings[0].to_string().contains("its content is kept as"));
    let kept: Vec<_> = fixture
        .names("")
        .into_iter()
        .filter(|n| n.starts_with("current_ghap.corrupted."))
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fixture.read(&kept[0]), "{\"id\": \"half");
}

#[test]
fn persistence_04_archives_are_only_appended_to() {
    let fixture = TestJournal::new();
    let session = fixture.start_as("resumed-session");
    fixture.create("one");
    fixture.end();
    let before = fixture.archived();
    fixture.start_as(&session);
    fixture.create("two");
    fixture.end();
    assert!(fixture.archived().starts_with(&before));
    assert_eq!(fixture.names("archive").len(), 1);
}

#[test]
fn persistence_05_the_journal_folder_is_made() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("a/.claude/journal");
    Journal::open(&dir).unwrap();
    assert!(dir.is_dir());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

// --- Edge cases -------------------------------------------------------------------------------

#[test]
fn edge_01_a_missing_folder_is_made_by_the_first_change() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("journal");
    let clock = crate::support::Clock::new();
    let journal = Journal::at(&dir);
    assert_eq!(journal.current(&clock.tick()).unwrap().value, None);
    assert!(!dir.exists(), "looking makes nothing");
    journal.create(draft("goal"), &clock.tick()).unwrap();
    assert_eq!(std::fs::read_to_string(dir.join(".gitignore")).unwrap(), "*\n");
    assert_eq!(std::fs::read_to_string(dir.join(".format")).unwrap(), "1\n");
}

#[test]
fn edge_02_a_corrupted_current_file_is_no_active_entry() {
    let fixture = TestJournal::new();
    for garbage in ["", "[]", "null", "{}", "not json", "{\"id\":1}"] {
        fixture.write("current_ghap.json", garbage);
        let created = fixture.journal.create(draft("goal"), &fixture.now()).unwrap();
        assert_eq!(created.warnings.len(), 1, "{garbage}");
        fixture.resolve(OutcomeStatus::Confirmed);
    }
}

#[test]
fn edge_03_corrupted_lines_are_skipped_one_by_one() {
    let fixture = TestJournal::new();
    fixture.create("one");
    fixture.resolve(OutcomeStatus::Confirmed);
    let good = fixture.read("session_entries.jsonl");
    fixture.write("session_entries.jsonl", format!("garbage\n{good}{{\"id\": 3}}\n"));
    fixture.create("two");
    fixture.resolve(OutcomeStatus::Confirmed);
    let entries = fixture.journal.session_entries().unwrap();
    assert_eq!(entries.value.len(), 2);
    assert!(entries.warnings[0].to_string().ends_with("not an entry, skipped: line 1, 3"));
}

#[test]
fn edge_04_very_long_text_is_cut_with_a_warning() {
    let fixture = TestJournal::new();
    let created = fixture.journal.create(draft(&"ü".repeat(10_001)), &fixture.now()).unwrap();
    assert_eq!(created.value.goal.chars().count(), 10_000);
    assert_eq!(
        created.warnings[0].to_string(),
        "goal had 10001 characters and was cut to the first 10000"
    );
    let resolution = Resolution {
        surprise: Some("x".repeat(10_001)),
        ..Resolution::new(OutcomeStatus::Confirmed, "x".repeat(10_001))
    };
    assert_eq!(fixture.journal.resolve(resolution, &fixture.now()).unwrap().warnings.len(), 2);
}

#[test]
fn edge_05_bytes_that_are_not_utf8_are_replaced() {
    assert_eq!(proctor_journal::text::lossy(b"a\xffb"), "a\u{fffd}b");
    let fixture = TestJournal::new();
    fixture.create("goal");
    let mut bytes = std::fs::read(fixture.path("current_ghap.json")).unwrap();
    let at = bytes.windows(8).position(|window| window == b"teardown").unwrap();
    bytes[at] = 0xff;
    fixture.write("current_ghap.json", &bytes);
    assert_eq!(fixture.current().unwrap().action, "adding \u{fffd}eardown");
}

#[test]
fn input_texts_are_preserved_as_they_are() {
    let fixture = TestJournal::new();
    let text = "quotes \" ' \\ tabs\t lines\n nul\u{0} emoji 😀 <b>&";
    fixture.create(text);
    assert_eq!(fixture.current().unwrap().goal, text);
    fixture.resolve(OutcomeStatus::Confirmed);
    assert_eq!(fixture.journal.session_entries().unwrap().value[0].goal, text);
    assert_eq!(fixture.read("session_entries.jsonl").lines().count(), 1);
}

#[test]
fn full_session_lifecycle() {
    let fixture = TestJournal::new();
    let session = fixture.start();
    fixture.create("goal");
    fixture.journal.update(change_hypothesis("second thought"), &fixture.now()).unwrap();
    fixture.resolve(OutcomeStatus::Confirmed);
    let ended = fixture.end();
    assert_eq!(ended.len(), 1);
    let line: serde_json::Value = serde_json::from_str(fixture.archived().trim()).unwrap();
    assert_eq!(line["session_id"], session);
    assert_eq!(line["iteration_count"], 2);
    assert!(fixture.end().is_empty(), "ending twice is fine");
}

#[test]
fn nonsense_is_refused_by_name() {
    let fixture = TestJournal::new();
    let error = fixture.journal.should_check_in(0, &fixture.now()).unwrap_err();
    assert!(matches!(error, JournalError::Frequency));
    let error = fixture.journal.start_session(Some("../x"), &fixture.now()).unwrap_err();
    assert_eq!(error.to_string(), "`../x` cannot be a session id: use 1 to 128 of A-Z a-z 0-9 _ -");
    let error = Journal::at(fixture.dir()).lane("a/b").unwrap_err();
    assert_eq!(error.to_string(), "`a/b` cannot be a lane: use 1 to 128 of A-Z a-z 0-9 _ -");
    let sure = proctor_journal::Draft { confidence: Some(1.5), ..draft("goal") };
    let error = fixture.journal.create(sure, &fixture.now()).unwrap_err();
    assert_eq!(error.to_string(), "confidence 1.5 is not a probability: use a number from 0 to 1");
}
