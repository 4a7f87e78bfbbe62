//! Listing, showing, searching, recalling, and what people see of it.

use proctor_journal::render::Format;
use proctor_journal::retro::{retro, stats_document};
use proctor_journal::stats::stats;
use proctor_journal::timeline::timeline;
use proctor_journal::{Change, Filter, Found, Journal, JournalError, OutcomeStatus, Place};

use crate::support::{Desk, draft};

fn goals(found: &[Found]) -> Vec<&str> {
    found.iter().map(|found| found.entry.goal.as_str()).collect()
}

fn journal_with_three(desk: &Desk) {
    desk.start();
    desk.create("archived");
    desk.resolve(OutcomeStatus::Falsified);
    desk.start();
    desk.create("in session");
    desk.resolve(OutcomeStatus::Confirmed);
    desk.create("active");
}

#[test]
fn list_reads_archives_session_active_and_lanes_newest_first() {
    let desk = Desk::new();
    journal_with_three(&desk);
    let lane = Journal::at(desk.dir()).lane("agent-2").unwrap();
    lane.create(draft("in a lane"), &desk.now()).unwrap();
    let all = desk.journal.list(&Filter::default()).unwrap().value;
    assert_eq!(goals(&all), ["in a lane", "active", "in session", "archived"]);
    assert_eq!(all[0].lane.as_deref(), Some("agent-2"));
    assert!(matches!(all[3].place, Place::Archive(_)));
    assert_eq!(lane.list(&Filter::default()).unwrap().value, all, "the same from within a lane");
    let only = |filter: Filter| goals(&desk.journal.list(&filter).unwrap().value).join(", ");
    assert_eq!(only(Filter { active: Some(true), ..Filter::default() }), "in a lane, active");
    assert_eq!(
        only(Filter { status: Some(OutcomeStatus::Falsified), ..Filter::default() }),
        "archived"
    );
    assert_eq!(only(Filter { lane: Some("agent-2".into()), ..Filter::default() }), "in a lane");
    assert_eq!(only(Filter { limit: Some(1), ..Filter::default() }), "in a lane");
    let since = Some(all[2].entry.created_at);
    assert_eq!(
        only(Filter { since, until: Some(all[1].entry.created_at), ..Filter::default() }),
        "in session"
    );
}

#[test]
fn lanes_have_one_active_entry_each() {
    let desk = Desk::new();
    let lane = |name: &str| Journal::at(desk.dir()).lane(name).unwrap();
    desk.create("main");
    lane("a").create(draft("a"), &desk.now()).unwrap();
    lane("b").create(draft("b"), &desk.now()).unwrap();
    assert!(lane("a").create(draft("again"), &desk.now()).is_err());
    lane("a").abandon("x", &desk.now()).unwrap();
    assert_eq!(desk.current().unwrap().goal, "main");
    assert_eq!(lane("b").current(&desk.now()).unwrap().value.unwrap().entry.goal, "b");
    assert_eq!(desk.journal.lanes().unwrap(), ["a", "b"]);
    assert!(desk.exists("lanes/a/session_entries.jsonl"));
}

#[test]
fn show_takes_a_unique_part_of_an_id() {
    let desk = Desk::new();
    journal_with_three(&desk);
    let id = desk.current().unwrap().id;
    assert_eq!(desk.journal.show(&id[id.len() - 6..]).unwrap().value.entry.id, id);
    let error = desk.journal.show("ghap_").unwrap_err();
    assert!(matches!(error, JournalError::Ambiguous { count: 3, .. }), "{error}");
    assert!(matches!(desk.journal.show("nope").unwrap_err(), JournalError::NoSuchEntry { .. }));
    assert!(matches!(desk.journal.show("").unwrap_err(), JournalError::NoSuchEntry { .. }));
}

#[test]
fn recall_shows_an_entry_once_per_session() {
    let desk = Desk::new();
    desk.start();
    for (goal, status) in [
        ("flaky cache test", OutcomeStatus::Confirmed),
        ("flaky cache expiry", OutcomeStatus::Falsified),
        ("cache test order", OutcomeStatus::Abandoned),
        ("cache test again", OutcomeStatus::Confirmed),
        ("write the manual", OutcomeStatus::Falsified),
    ] {
        desk.create(goal);
        desk.resolve(status);
    }
    let entry = desk.create("flaky cache test once more");
    let recall = || desk.journal.recall(&entry, 3, &desk.now()).unwrap().value;
    let first = recall();
    assert_eq!(first.len(), 3);
    assert_eq!(first[0].goal, "flaky cache expiry", "falsified first");
    let second = recall();
    assert!(second.iter().all(|entry| !first.contains(entry)) && second.len() <= 1, "{second:?}");
    assert!(recall().is_empty());
    desk.journal.abandon("x", &desk.now()).unwrap();
    desk.start();
    let entry = desk.create("flaky cache test once more");
    assert!(
        !desk.journal.recall(&entry, 3, &desk.now()).unwrap().value.is_empty(),
        "a new session"
    );
}

#[test]
fn empty_changes_write_nothing() {
    let desk = Desk::new();
    let before = desk.create("goal");
    let stamp = std::fs::metadata(desk.path("current_ghap.json")).unwrap().modified().unwrap();
    assert!(Change::default().is_empty());
    assert_eq!(desk.journal.update(Change::default(), &desk.now()).unwrap().value, before);
    let after = std::fs::metadata(desk.path("current_ghap.json")).unwrap().modified().unwrap();
    assert_eq!(stamp, after);
}

#[test]
fn timeline_reads_like_a_day() {
    let desk = Desk::new();
    journal_with_three(&desk);
    let change = Change { hypothesis: Some("second thought".into()), ..Change::default() };
    desk.journal.update(change, &desk.now()).unwrap();
    let all = desk.journal.list(&Filter::default()).unwrap().value;
    insta::with_settings!({ filters => vec![(r"_[0-9a-f]{6}\b", "_[random]")] }, {
        insta::assert_snapshot!(timeline(&all).render(Format::Text), @r"
        Journal timeline

        2025-12-03

        - 14:30 falsified archived (debugging, systematic-elimination)
            1. thought: archived is caused by test pollution
            predicted: the suite passes ten times in a row
            seen: seen (silver)
            ghap_20251203_143024_[random]
        - 14:30 confirmed in session (debugging, systematic-elimination)
            1. thought: in session is caused by test pollution
            predicted: the suite passes ten times in a row
            seen: seen (silver)
            ghap_20251203_143027_[random]
        - 14:30 active active (debugging, systematic-elimination)
            1. thought: active is caused by test pollution
            2. thought: second thought
            predicted: the suite passes ten times in a row
            ghap_20251203_143029_[random]
        ");
    });
    assert!(timeline(&[]).render(Format::Markdown).contains("No entries."));
}

#[test]
fn statistics_say_when_they_are_too_few() {
    let desk = Desk::new();
    journal_with_three(&desk);
    let all = desk.journal.list(&Filter::default()).unwrap().value;
    let numbers = stats(all.iter().map(|found| &found.entry));
    let text = stats_document(&numbers).render(Format::Text);
    assert!(text.contains("3 entries: 1 confirmed, 1 falsified, 0 abandoned, 1 active."), "{text}");
    assert!(text.contains("50 % (9–91 %, n = 2, too few to tell)"), "{text}");
}

#[test]
fn pages_are_whole_and_harmless() {
    let desk = Desk::new();
    desk.create("<img src=x onerror=alert(1)> & \u{1b}[31m");
    desk.resolve(OutcomeStatus::Falsified);
    let all = desk.journal.list(&Filter::default()).unwrap().value;
    let entries: Vec<_> = all.iter().map(|found| &found.entry).collect();
    for document in [timeline(&all), retro("<b>week</b>", &entries)] {
        let page = document.render(Format::Html);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        for bad in ["<img", "<b>", "\u{1b}", "http://", "https://", "<script"] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}
