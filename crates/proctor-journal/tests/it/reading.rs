//! Listing, showing, searching, recalling, and what people see of it.

use proctor_journal::render::Format;
use proctor_journal::retro::{retro, stats_document};
use proctor_journal::stats::stats;
use proctor_journal::timeline::timeline;
use proctor_journal::{
    Change, EntryPlace, Filter, FoundEntry, Journal, JournalError, OutcomeStatus,
};

use crate::support::{TestJournal, draft};

fn goals(found: &[FoundEntry]) -> Vec<&str> {
    found.iter().map(|found| found.entry.goal.as_str()).collect()
}

fn journal_with_three(fixture: &TestJournal) {
    fixture.start();
    fixture.create("archived");
    fixture.resolve(OutcomeStatus::Falsified);
    fixture.start();
    fixture.create("in session");
    fixture.resolve(OutcomeStatus::Confirmed);
    fixture.create("active");
}

#[test]
fn list_reads_archives_session_active_and_lanes_newest_first() {
    let fixture = TestJournal::new();
    journal_with_three(&fixture);
    let lane = Journal::at(fixture.dir()).lane("agent-2").unwrap();
    lane.create(draft("in a lane"), &fixture.now()).unwrap();
    let all = fixture.journal.list(&Filter::default()).unwrap().value;
    assert_eq!(goals(&all), ["in a lane", "active", "in session", "archived"]);
    assert_eq!(all[0].lane.as_deref(), Some("agent-2"));
    assert!(matches!(all[3].place, EntryPlace::Archive(_)));
    assert_eq!(lane.list(&Filter::default()).unwrap().value, all, "the same from within a lane");
    let only = |filter: Filter| goals(&fixture.journal.list(&filter).unwrap().value).join(", ");
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
    let fixture = TestJournal::new();
    let lane = |name: &str| Journal::at(fixture.dir()).lane(name).unwrap();
    fixture.create("main");
    lane("a").create(draft("a"), &fixture.now()).unwrap();
    lane("b").create(draft("b"), &fixture.now()).unwrap();
    assert!(lane("a").create(draft("again"), &fixture.now()).is_err());
    lane("a").abandon("x", &fixture.now()).unwrap();
    assert_eq!(fixture.current().unwrap().goal, "main");
    assert_eq!(lane("b").current(&fixture.now()).unwrap().value.unwrap().entry.goal, "b");
    assert_eq!(fixture.journal.lanes().unwrap(), ["a", "b"]);
    assert!(fixture.exists("lanes/a/session_entries.jsonl"));
}

#[test]
fn show_takes_a_unique_part_of_an_id() {
    let fixture = TestJournal::new();
    journal_with_three(&fixture);
    let id = fixture.current().unwrap().id;
    assert_eq!(fixture.journal.show(&id[id.len() - 6..]).unwrap().value.entry.id, id);
    let error = fixture.journal.show("ghap_").unwrap_err();
    assert!(matches!(error, JournalError::Ambiguous { count: 3, .. }), "{error}");
    assert!(matches!(fixture.journal.show("nope").unwrap_err(), JournalError::NoSuchEntry { .. }));
    assert!(matches!(fixture.journal.show("").unwrap_err(), JournalError::NoSuchEntry { .. }));
}

#[test]
fn recall_shows_an_entry_once_per_session() {
    let fixture = TestJournal::new();
    fixture.start();
    for (goal, status) in [
        ("flaky cache test", OutcomeStatus::Confirmed),
        ("flaky cache expiry", OutcomeStatus::Falsified),
        ("cache test order", OutcomeStatus::Abandoned),
        ("cache test again", OutcomeStatus::Confirmed),
        ("write the manual", OutcomeStatus::Falsified),
    ] {
        fixture.create(goal);
        fixture.resolve(status);
    }
    let entry = fixture.create("flaky cache test once more");
    let recall = || fixture.journal.take_unshown_similar(&entry, 3, &fixture.now()).unwrap().value;
    let first = recall();
    assert_eq!(first.len(), 3);
    assert_eq!(first[0].goal, "flaky cache expiry", "falsified first");
    let second = recall();
    assert!(second.iter().all(|entry| !first.contains(entry)) && second.len() <= 1, "{second:?}");
    assert!(recall().is_empty());
    fixture.journal.abandon("x", &fixture.now()).unwrap();
    fixture.start();
    let entry = fixture.create("flaky cache test once more");
    assert!(
        !fixture.journal.take_unshown_similar(&entry, 3, &fixture.now()).unwrap().value.is_empty(),
        "a new session"
    );
}

#[test]
fn empty_changes_write_nothing() {
    let fixture = TestJournal::new();
    let before = fixture.create("goal");
    let stamp = std::fs::metadata(fixture.path("current_ghap.json")).unwrap().modified().unwrap();
    assert!(Change::default().is_empty());
    assert_eq!(fixture.journal.update(Change::default(), &fixture.now()).unwrap().value, before);
    let after = std::fs::metadata(fixture.path("current_ghap.json")).unwrap().modified().unwrap();
    assert_eq!(stamp, after);
}

#[test]
fn timeline_reads_like_a_day() {
    let fixture = TestJournal::new();
    journal_with_three(&fixture);
    let change = Change { hypothesis: Some("second thought".into()), ..Change::default() };
    fixture.journal.update(change, &fixture.now()).unwrap();
    let all = fixture.journal.list(&Filter::default()).unwrap().value;
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
    let fixture = TestJournal::new();
    journal_with_three(&fixture);
    let all = fixture.journal.list(&Filter::default()).unwrap().value;
    let numbers = stats(all.iter().map(|found| &found.entry));
    let text = stats_document(&numbers).render(Format::Text);
    assert!(text.contains("3 entries: 1 confirmed, 1 falsified, 0 abandoned, 1 active."), "{text}");
    assert!(text.contains("50 % (9–91 %, n = 2, too few to tell)"), "{text}");
}

#[test]
fn pages_are_whole_and_harmless() {
    let fixture = TestJournal::new();
    fixture.create("<img src=x onerror=alert(1)> & \u{1b}[31m");
    fixture.resolve(OutcomeStatus::Falsified);
    let all = fixture.journal.list(&Filter::default()).unwrap().value;
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
