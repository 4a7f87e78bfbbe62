//! An entry has room for so much evidence; the rest is beside it, in order, whole, and named.

use proctor_journal::doctor::Problem;
use proctor_journal::exchange::export;
use proctor_journal::step::{FIRST_EVIDENCE, NEWEST_EVIDENCE};
use proctor_journal::{Evidence, Filter, FoundEntry, Journal, OutcomeStatus, Resolution};
use serde_json::json;

use crate::mem_disk::{MemDisk, Stop};
use crate::support::{Clock, TestJournal, draft};

const EVIDENCE_LIMIT: usize = FIRST_EVIDENCE + NEWEST_EVIDENCE;

fn piece(number: usize) -> Evidence {
    let text = json!({
        "captured_at": "2025-12-03T14:30:22Z",
        "argv": ["rspec"],
        "reason": number.to_string(),
        "of_another_version": 1.50,
    });
    serde_json::from_str(&text.to_string()).unwrap()
}

fn numbers(evidence: &[Evidence]) -> Vec<usize> {
    evidence.iter().map(|piece| piece.reason.as_ref().unwrap().parse().unwrap()).collect()
}

fn attach(fixture: &TestJournal, pieces: std::ops::Range<usize>) {
    for number in pieces {
        fixture.journal.attach(piece(number), &fixture.now()).unwrap();
    }
}

fn only_entry(fixture: &TestJournal) -> FoundEntry {
    let mut all = fixture.journal.list(&Filter::default()).unwrap().value;
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn the_first_and_the_newest_stay_and_the_rest_is_named() {
    let fixture = TestJournal::new();
    let id = fixture.create("fix it").id;
    attach(&fixture, 0..EVIDENCE_LIMIT);
    let entry = fixture.current().unwrap();
    assert_eq!((entry.evidence.len(), entry.evidence_moved), (EVIDENCE_LIMIT, None));
    attach(&fixture, EVIDENCE_LIMIT..EVIDENCE_LIMIT + 10);
    let entry = fixture.current().unwrap();
    let kept: Vec<usize> =
        (0..FIRST_EVIDENCE).chain(FIRST_EVIDENCE + 10..EVIDENCE_LIMIT + 10).collect();
    assert_eq!(numbers(&entry.evidence), kept);
    let moved = entry.evidence_moved.unwrap();
    assert_eq!((moved.count, moved.file.as_str()), (10, &*format!("evidence/{id}.jsonl")));
    let file = fixture.read(&moved.file);
    assert_eq!(file.lines().count(), 10);
    assert!(file.lines().all(|line| line.contains("\"of_another_version\":1.5")), "{file}");
    let size = fixture.read("current_ghap.json").len();
    attach(&fixture, EVIDENCE_LIMIT + 10..EVIDENCE_LIMIT + 200);
    assert!(fixture.read("current_ghap.json").len() < size + 1000, "it grows no more");
    let whole = fixture.journal.with_moved_evidence(only_entry(&fixture)).unwrap();
    assert_eq!(
        (numbers(&whole.value.entry.evidence), whole.warnings),
        ((0..EVIDENCE_LIMIT + 200).collect(), vec![])
    );
}

#[test]
fn the_outcome_is_evidence_too() {
    let fixture = TestJournal::new();
    fixture.create("fix it");
    attach(&fixture, 0..EVIDENCE_LIMIT);
    let resolution = Resolution {
        evidence: Some(piece(EVIDENCE_LIMIT)),
        ..Resolution::new(OutcomeStatus::Falsified, "no")
    };
    let entry = fixture.journal.resolve(resolution, &fixture.now()).unwrap().value;
    assert_eq!((entry.evidence.len(), entry.evidence_moved.unwrap().count), (EVIDENCE_LIMIT, 1));
    fixture.end();
    let whole = fixture.journal.with_moved_evidence(only_entry(&fixture)).unwrap().value.entry;
    assert_eq!(numbers(&whole.evidence), (0..=EVIDENCE_LIMIT).collect::<Vec<_>>());
    assert_eq!(whole.evidence_moved, None);
}

#[test]
fn an_export_holds_all_of_it_and_is_imported_once() {
    let (here, there) = (TestJournal::new(), TestJournal::new());
    here.create("fix it");
    attach(&here, 0..EVIDENCE_LIMIT + 5);
    here.resolve(OutcomeStatus::Confirmed);
    let whole = here.journal.with_moved_evidence(only_entry(&here)).unwrap().value;
    let text = export(&[whole], &here.now()).unwrap();
    for (fixture, added) in [(&there, 1), (&there, 0), (&here, 0)] {
        let report = fixture.journal.import(text.as_bytes(), &fixture.now()).unwrap().value;
        assert_eq!((report.added.len(), report.known.len()), (added, 1 - added));
        assert_eq!(report.conflicting, Vec::<String>::new());
    }
    assert_eq!(numbers(&only_entry(&there).entry.evidence).len(), EVIDENCE_LIMIT + 5);
}

#[test]
fn what_cannot_be_read_back_is_said() {
    let fixture = TestJournal::new();
    let id = fixture.create("fix it").id;
    attach(&fixture, 0..EVIDENCE_LIMIT + 3);
    assert_eq!(fixture.journal.examine().unwrap(), []);
    fixture.write(
        &format!("evidence/{id}.jsonl"),
        "{\"captured_at\":\"2025-12-03T14:30:22Z\"}\nrubbish\n",
    );
    let completed = fixture.journal.with_moved_evidence(only_entry(&fixture)).unwrap();
    assert!(
        completed.warnings[0].to_string().starts_with("2 pieces of evidence of "),
        "{:?}",
        completed.warnings
    );
    assert!(completed.value.entry.evidence_moved.is_some(), "the entry still says where to look");
    let found = fixture.journal.examine().unwrap();
    assert_eq!(
        found.iter().map(|finding| finding.problem).collect::<Vec<_>>(),
        [Problem::MissingEvidence]
    );
    // A name that leads elsewhere is not followed.
    let text = fixture
        .read("current_ghap.json")
        .replace(&format!("evidence/{id}.jsonl"), "../../../secret");
    fixture.write("current_ghap.json", text);
    std::fs::write(
        fixture.dir().join("../../secret"),
        "{\"captured_at\":\"2025-12-03T14:30:22Z\"}\n",
    )
    .unwrap();
    assert_eq!(
        fixture.journal.with_moved_evidence(only_entry(&fixture)).unwrap().warnings.len(),
        1
    );
}

#[test]
fn lanes_keep_their_own() {
    let fixture = TestJournal::new();
    let lane = Journal::at(fixture.dir()).lane("reviewer").unwrap();
    let id = lane.create(draft("in a lane"), &fixture.now()).unwrap().value.id;
    for number in 0..=EVIDENCE_LIMIT {
        lane.attach(piece(number), &fixture.now()).unwrap();
    }
    assert!(fixture.exists(&format!("lanes/reviewer/evidence/{id}.jsonl")));
    let whole = fixture.journal.with_moved_evidence(only_entry(&fixture)).unwrap();
    assert_eq!((whole.value.entry.evidence.len(), whole.warnings), (EVIDENCE_LIMIT + 1, vec![]));
}

/// A stop at every change of a long trial: no piece is lost, none is there twice, the order stays.
#[test]
fn a_stop_at_any_change_loses_and_repeats_no_evidence() {
    for stop in [Stop::Process, Stop::Power] {
        let mut stop_at = 1;
        while trial_with_stop(stop_at, stop) {
            stop_at += 1;
        }
        assert!(stop_at > 20, "{stop_at} changes");
    }
}

/// Returns false once the stop is past the end.
fn trial_with_stop(stop_at: usize, stop: Stop) -> bool {
    let (disk, clock) = (MemDisk::new(), Clock::new());
    let journal = Journal::on(disk.clone(), "/journal");
    journal.create(draft("try and try"), &clock.tick()).unwrap();
    for number in 0..EVIDENCE_LIMIT {
        journal.attach(piece(number), &clock.tick()).unwrap();
    }
    let mut next = EVIDENCE_LIMIT;
    let mut stopped = false;
    let mut passed = 0;
    while next < EVIDENCE_LIMIT + 6 {
        let armed = stop_at.checked_sub(passed).filter(|left| *left > 0 && !stopped);
        disk.stop_at(armed, 77 + stop_at as u64);
        let attached = journal.attach(piece(next), &clock.tick());
        passed += disk.operations();
        if disk.has_stopped() {
            disk.restart(stop);
            stopped = true;
            // The caller looks whether it was done, and tries again if not.
            let entry = journal.current(&clock.tick()).unwrap().value.unwrap().entry;
            next += usize::from(numbers(&entry.evidence).last() == Some(&next));
        } else {
            attached.unwrap();
            next += 1;
        }
    }
    disk.stop_at(None, 1);
    journal.abandon("enough", &clock.tick()).unwrap();
    let found = journal.list(&Filter::default()).unwrap().value.remove(0);
    let whole = journal.with_moved_evidence(found).unwrap();
    assert_eq!(whole.warnings, []);
    assert_eq!(
        numbers(&whole.value.entry.evidence),
        (0..EVIDENCE_LIMIT + 6).collect::<Vec<_>>(),
        "{stop_at}"
    );
    stopped
}
