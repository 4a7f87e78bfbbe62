//! A crash at every single change of a whole working day, with both kinds of stop.

use std::collections::BTreeMap;

use proctor_journal::{Entry, Journal, Moment, OutcomeStatus};

use crate::mem_disk::{MemDisk, Stop};
use crate::model::{Model, Reply, Request, advance, ask, observed};
use crate::support::Clock;

/// Checks a state found after a crash against the states before and after the interrupted
/// operation, and returns it as the one to go on from.
pub(crate) fn reconcile(before: &Model, after: &Model, found: &Model) -> Model {
    for (id, entry) in &before.resolved {
        let kept = found.resolved.get(id).unwrap_or_else(|| panic!("lost {id}"));
        assert!(kept == entry || Some(kept) == after.resolved.get(id), "changed {id}");
    }
    for (id, entry) in &found.resolved {
        let expected = after.resolved.get(id).or_else(|| before.resolved.get(id));
        assert!(
            before.resolved.get(id) == Some(entry) || expected == Some(entry),
            "from nowhere: {id}"
        );
    }
    let is_resolved = |entry: &Entry| found.resolved.contains_key(&entry.id);
    match (&before.current, &found.current) {
        (Some(entry), None) => assert!(is_resolved(entry), "lost the active {}", entry.id),
        (_, Some(entry)) => {
            assert!(!is_resolved(entry), "{} is active and resolved", entry.id);
            let known = [&before.current, &after.current];
            assert!(known.contains(&&found.current), "unknown active {entry:?}");
            assert_eq!(entry.iteration_count, entry.history.len() as u64 + 1);
        }
        (None, None) => {}
    }
    assert!(
        found.session == before.session || found.session == after.session,
        "unknown session {:?}",
        found.session
    );
    found.clone()
}

/// Ends the session undisturbed: then every entry must stand on exactly one line, in the archive
/// of its own session.
pub(crate) fn check_final(disk: &MemDisk, model: &Model, moment: &Moment) {
    disk.stop_at(None, 1);
    let journal = Journal::on(disk.clone(), "/journal");
    let model = advance(model, &Request::End, moment);
    journal.end_session(moment).unwrap();
    assert_eq!(observed(&journal, moment).resolved, model.resolved);
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, bytes) in disk.files() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(
            !name.ends_with(".proctor-tmp") || path.parent().unwrap().ends_with("archive"),
            "{name}"
        );
        if !path.parent().unwrap().ends_with("archive") {
            assert_ne!(name, "session_entries.jsonl");
            continue;
        }
        for line in String::from_utf8_lossy(&bytes).lines() {
            if let Ok(entry) = serde_json::from_str::<Entry>(line) {
                assert!(name.contains(&entry.session_id), "{name} holds {}", entry.session_id);
                lines.entry(entry.id).or_default().push(name.clone());
            }
        }
    }
    for (id, files) in &lines {
        assert_eq!(files.len(), 1, "{id} stands in {files:?}");
    }
    assert_eq!(lines.len(), model.resolved.len());
}

fn day() -> Vec<Request> {
    vec![
        Request::Create(1),
        Request::Update { hypothesis: Some(1), note: true },
        Request::Resolve(OutcomeStatus::Falsified),
        Request::Count,
        Request::Create(2),
        Request::Resolve(OutcomeStatus::Confirmed),
        Request::Annotate(0),
        Request::Create(3),
        Request::Start(Some(1)),
        Request::AbandonOrphan,
        Request::Create(4),
        Request::Start(None),
        Request::Adopt,
        Request::Resolve(OutcomeStatus::Confirmed),
        Request::Create(5),
        Request::End,
        Request::Create(6),
        Request::Start(Some(1)),
        Request::End,
    ]
}

/// Lives through the day with a stop at one change; returns false once that is past the end.
fn day_with_stop(stop_at: usize, stop: Stop, dice: u64) -> bool {
    let disk = MemDisk::new();
    let clock = Clock::new();
    let mut model = Model::default();
    let mut passed = 0;
    for next in day() {
        let journal = Journal::on(disk.clone(), "/journal");
        let moment = clock.tick();
        let armed = stop_at.checked_sub(passed).filter(|left| *left > 0);
        disk.stop_at(armed, dice);
        let said = ask(&journal, &model, &next, &moment);
        passed += disk.operations();
        if disk.has_stopped() {
            disk.restart(stop);
            let expected = model.expects(&next);
            let after = if expected == Reply::Done {
                advance(&model, &next, &moment)
            } else {
                model.clone()
            };
            let moment = clock.tick();
            model = reconcile(&model, &after, &observed(&journal, &moment));
            // The interrupted operation is tried again, as its caller would.
            let moment = clock.tick();
            if ask(&journal, &model, &next, &moment).unwrap() == Reply::Done {
                model = advance(&model, &next, &moment);
            }
            assert_eq!(observed(&journal, &moment), model, "{next:?} tried again");
            passed = usize::MAX / 2;
        } else if said.unwrap() == Reply::Done {
            model = advance(&model, &next, &moment);
        }
    }
    check_final(&disk, &model, &clock.tick());
    passed >= stop_at
}

#[test]
fn a_stop_at_every_change_loses_and_repeats_nothing() {
    for stop in [Stop::Process, Stop::Power] {
        for dice in [3, 0x9e37_79b9_7f4a_7c15, 77_777_777] {
            let mut stop_at = 1;
            while day_with_stop(stop_at, stop, dice) {
                stop_at += 1;
            }
            assert!(stop_at > 60, "the day has only {stop_at} changes");
        }
    }
}

/// The process dies after a line was written but before it was synced; the next process clears
/// the entry because of that line; then the power fails. The entry must be somewhere.
#[test]
fn a_line_that_was_never_synced_is_made_to_last_before_the_entry_is_cleared() {
    for stop_at in 1..8 {
        for dice in 1..200 {
            let disk = MemDisk::new();
            let clock = Clock::new();
            let journal = Journal::on(disk.clone(), "/journal");
            let model = Model::default();
            ask(&journal, &model, &Request::Create(1), &clock.tick()).unwrap();
            disk.stop_at(Some(stop_at), dice);
            let _stopped =
                ask(&journal, &model, &Request::Resolve(OutcomeStatus::Confirmed), &clock.tick());
            disk.restart(Stop::Process);
            let _settled = ask(
                &journal,
                &model,
                &Request::Update { hypothesis: None, note: false },
                &clock.tick(),
            );
            disk.stop_at(Some(1), dice * 31);
            let _stopped = journal.increment_tool_count(&clock.tick());
            disk.restart(Stop::Power);
            let found = observed(&journal, &clock.tick());
            let places = usize::from(found.current.is_some()) + found.resolved.len();
            assert_eq!(places, 1, "stop {stop_at}, dice {dice}: {found:?}");
        }
    }
}
