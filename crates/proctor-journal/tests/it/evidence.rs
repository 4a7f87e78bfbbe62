//! An entry has room for so much evidence; the rest is beside it, in order, whole, and named.

use proctor_journal::doctor::Problem;
use proctor_journal::exchange::export;
use proctor_journal::step::{FIRST_EVIDENCE, NEWEST_EVIDENCE};
use proctor_journal::{Evidence, Filter, Found, Journal, OutcomeStatus, Resolution};
use serde_json::json;

use crate::mem_disk::{MemDisk, Stop};
use crate::support::{Clock, Desk, draft};

const ROOM: usize = FIRST_EVIDENCE + NEWEST_EVIDENCE;

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

fn attach(desk: &Desk, pieces: std::ops::Range<usize>) {
    for number in pieces {
        desk.journal.attach(piece(number), &desk.now()).unwrap();
    }
}

fn only(desk: &Desk) -> Found {
    let mut all = desk.journal.list(&Filter::default()).unwrap().value;
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn the_first_and_the_newest_stay_and_the_rest_is_named() {
    let desk = Desk::new();
    let id = desk.create("fix it").id;
    attach(&desk, 0..ROOM);
    let entry = desk.current().unwrap();
    assert_eq!((entry.evidence.len(), entry.evidence_moved), (ROOM, None));
    attach(&desk, ROOM..ROOM + 10);
    let entry = desk.current().unwrap();
    let kept: Vec<usize> = (0..FIRST_EVIDENCE).chain(FIRST_EVIDENCE + 10..ROOM + 10).collect();
    assert_eq!(numbers(&entry.evidence), kept);
    let moved = entry.evidence_moved.unwrap();
    assert_eq!((moved.count, moved.file.as_str()), (10, &*format!("evidence/{id}.jsonl")));
    let file = desk.read(&moved.file);
    assert_eq!(file.lines().count(), 10);
    assert!(file.lines().all(|line| line.contains("\"of_another_version\":1.5")), "{file}");
    let size = desk.read("current_ghap.json").len();
    attach(&desk, ROOM + 10..ROOM + 200);
    assert!(desk.read("current_ghap.json").len() < size + 1000, "it grows no more");
    let whole = desk.journal.complete(only(&desk)).unwrap();
    assert_eq!(
        (numbers(&whole.value.entry.evidence), whole.warnings),
        ((0..ROOM + 200).collect(), vec![])
    );
}

#[test]
fn the_outcome_is_evidence_too() {
    let desk = Desk::new();
    desk.create("fix it");
    attach(&desk, 0..ROOM);
    let resolution = Resolution {
        evidence: Some(piece(ROOM)),
        ..Resolution::new(OutcomeStatus::Falsified, "no")
    };
    let entry = desk.journal.resolve(resolution, &desk.now()).unwrap().value;
    assert_eq!((entry.evidence.len(), entry.evidence_moved.unwrap().count), (ROOM, 1));
    desk.end();
    let whole = desk.journal.complete(only(&desk)).unwrap().value.entry;
    assert_eq!(numbers(&whole.evidence), (0..=ROOM).collect::<Vec<_>>());
    assert_eq!(whole.evidence_moved, None);
}

#[test]
fn an_export_holds_all_of_it_and_is_imported_once() {
    let (here, there) = (Desk::new(), Desk::new());
    here.create("fix it");
    attach(&here, 0..ROOM + 5);
    here.resolve(OutcomeStatus::Confirmed);
    let whole = here.journal.complete(only(&here)).unwrap().value;
    let text = export(&[whole], &here.now()).unwrap();
    for (desk, added) in [(&there, 1), (&there, 0), (&here, 0)] {
        let report = desk.journal.import(text.as_bytes(), &desk.now()).unwrap().value;
        assert_eq!((report.added.len(), report.known.len()), (added, 1 - added));
        assert_eq!(report.conflicting, Vec::<String>::new());
    }
    assert_eq!(numbers(&only(&there).entry.evidence).len(), ROOM + 5);
}

#[test]
fn what_cannot_be_read_back_is_said() {
    let desk = Desk::new();
    let id = desk.create("fix it").id;
    attach(&desk, 0..ROOM + 3);
    assert_eq!(desk.journal.examine().unwrap(), []);
    desk.write(
        &format!("evidence/{id}.jsonl"),
        "{\"captured_at\":\"2025-12-03T14:30:22Z\"}\nrubbish\n",
    );
    let told = desk.journal.complete(only(&desk)).unwrap();
    assert!(
        told.warnings[0].to_string().starts_with("2 pieces of evidence of "),
        "{:?}",
        told.warnings
    );
    assert!(told.value.entry.evidence_moved.is_some(), "the entry still says where to look");
    let found = desk.journal.examine().unwrap();
    assert_eq!(
        found.iter().map(|finding| finding.problem).collect::<Vec<_>>(),
        [Problem::MissingEvidence]
    );
    // A name that leads elsewhere is not followed.
    let text =
        desk.read("current_ghap.json").replace(&format!("evidence/{id}.jsonl"), "../../../secret");
    desk.write("current_ghap.json", text);
    std::fs::write(desk.dir().join("../../secret"), "{\"captured_at\":\"2025-12-03T14:30:22Z\"}\n")
        .unwrap();
    assert_eq!(desk.journal.complete(only(&desk)).unwrap().warnings.len(), 1);
}

#[test]
fn lanes_keep_their_own() {
    let desk = Desk::new();
    let lane = Journal::at(desk.dir()).lane("reviewer").unwrap();
    let id = lane.create(draft("in a lane"), &desk.now()).unwrap().value.id;
    for number in 0..=ROOM {
        lane.attach(piece(number), &desk.now()).unwrap();
    }
    assert!(desk.exists(&format!("lanes/reviewer/evidence/{id}.jsonl")));
    let whole = desk.journal.complete(only(&desk)).unwrap();
    assert_eq!((whole.value.entry.evidence.len(), whole.warnings), (ROOM + 1, vec![]));
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
    for number in 0..ROOM {
        journal.attach(piece(number), &clock.tick()).unwrap();
    }
    let mut next = ROOM;
    let mut stopped = false;
    let mut passed = 0;
    while next < ROOM + 6 {
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
    let whole = journal.complete(found).unwrap();
    assert_eq!(whole.warnings, []);
    assert_eq!(
        numbers(&whole.value.entry.evidence),
        (0..ROOM + 6).collect::<Vec<_>>(),
        "{stop_at}"
    );
    stopped
}
