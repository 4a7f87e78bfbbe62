//! Counting and finding only look at entries; they must come to what reading them in full comes to.

use proctor_journal::search::search;
use proctor_journal::stats::stats;
use proctor_journal::{
    Annotation, Change, Domain, Draft, Entry, Filter, Journal, OutcomeStatus, Resolution,
    RootCause, Strategy,
};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy as _;

use crate::support::{Desk, draft};

const WORDS: &[&str] =
    &["cache", "Flaky", "über", "test_1", "queue", "\"quoted\"", "naïve\n", "the", "λ", "🦀 leak"];

fn text() -> impl proptest::strategy::Strategy<Value = String> {
    proptest::collection::vec(select(WORDS), 1..6).prop_map(|words| words.join(" "))
}

#[derive(Clone, Debug)]
struct Told {
    goal: String,
    hypothesis: String,
    again: bool,
    confidence: Option<f64>,
    end: Option<OutcomeStatus>,
    surprise: Option<String>,
    later: Option<String>,
    lane: Option<&'static str>,
    new_session: bool,
    kind: usize,
}

fn told() -> impl proptest::strategy::Strategy<Value = Told> {
    let ends = prop_oneof![
        Just(None),
        Just(Some(OutcomeStatus::Confirmed)),
        Just(Some(OutcomeStatus::Falsified)),
        Just(Some(OutcomeStatus::Abandoned)),
    ];
    let texts = (text(), text(), proptest::option::of(text()), proptest::option::of(text()));
    let rest = (any::<bool>(), proptest::option::of(0.0..1.0_f64), ends, any::<bool>(), 0..7_usize);
    (texts, rest, select(vec![None, None, Some("a"), Some("b")])).prop_map(|(texts, rest, lane)| {
        let ((goal, hypothesis, surprise, later), (again, confidence, end, new_session, kind)) =
            (texts, rest);
        Told { goal, hypothesis, again, confidence, end, surprise, later, lane, new_session, kind }
    })
}

fn write(desk: &Desk, told: &Told) {
    let journal = Journal::at(desk.dir());
    let journal = match told.lane {
        Some(lane) => journal.lane(lane).unwrap(),
        None => journal,
    };
    if told.new_session {
        journal.start_session(None, &desk.now()).unwrap();
        journal.abandon_orphan("left", &desk.now()).unwrap();
    }
    let draft = Draft {
        goal: told.goal.clone(),
        hypothesis: told.hypothesis.clone(),
        confidence: told.confidence,
        ..Draft { domain: Domain::ALL[told.kind], strategy: Strategy::ALL[told.kind], ..draft("x") }
    };
    let Ok(created) = journal.create(draft, &desk.now()) else { return };
    if told.again {
        let change = Change { hypothesis: Some("second thought".into()), ..Change::default() };
        journal.update(change, &desk.now()).unwrap();
    }
    let Some(status) = told.end else { return };
    let resolution = Resolution {
        surprise: told.surprise.clone(),
        auto_captured: told.again,
        ..Resolution::new(status, "seen")
    };
    journal.resolve(resolution, &desk.now()).unwrap();
    if let Some(later) = &told.later {
        let annotation = Annotation {
            surprise: Some(later.clone()),
            root_cause: told.again.then(|| RootCause::new("wrong-assumption", "x")),
            ..Annotation::default()
        };
        journal.annotate(&created.value.id, annotation, &desk.now()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_look_comes_to_what_reading_comes_to(
        all in proptest::collection::vec(told(), 0..12),
        query in text(),
        limit in 1..5_usize,
        domain in proptest::option::of(select(Domain::ALL)),
    ) {
        let desk = Desk::new();
        for one in &all {
            write(&desk, one);
        }
        let filters = [
            Filter::default(),
            Filter { domain, ..Filter::default() },
            Filter { active: Some(false), lane: Some("a".into()), ..Filter::default() },
            Filter { needs_annotation: true, ..Filter::default() },
            Filter { status: Some(OutcomeStatus::Falsified), limit: Some(2), ..Filter::default() },
        ];
        for filter in filters {
            let listed = desk.journal.list(&filter).unwrap().value;
            let entries: Vec<&Entry> = listed.iter().map(|found| &found.entry).collect();
            let counted = desk.journal.stats(&filter).unwrap().value;
            prop_assert_eq!(counted, stats(entries.iter().copied()));
            let hits = search(&query, entries.iter().copied());
            let expected: Vec<_> =
                hits.iter().take(limit).map(|hit| (hit.score, listed[hit.index].clone())).collect();
            let found = desk.journal.search(&query, &filter, limit).unwrap().value;
            let found: Vec<_> = found.into_iter().map(|it| (it.score, it.found)).collect();
            prop_assert_eq!(found, expected);
            let part = desk.journal.search_page(&query, &filter, 1, limit).unwrap().value;
            let all: Vec<_> = hits.iter().map(|hit| listed[hit.index].clone()).collect();
            let expected: Vec<_> = all.iter().skip(1).take(limit).cloned().collect();
            prop_assert_eq!(part, (expected, all.len()));
        }
    }
}

#[test]
fn lines_that_are_no_entries_are_passed_over_and_named() {
    let desk = Desk::new();
    desk.create("find me");
    desk.resolve(OutcomeStatus::Confirmed);
    let good = desk.read("session_entries.jsonl");
    let wrong =
        good.replace("\"action\":\"adding teardown\"", "\"action\":7").replace("ghap_", "x_");
    desk.write("session_entries.jsonl", format!("rubbish\n{good}{wrong}"));
    for warnings in [
        desk.journal.search("find", &Filter::default(), 9).unwrap().warnings,
        desk.journal.stats(&Filter::default()).unwrap().warnings,
        desk.journal.list(&Filter::default()).unwrap().warnings,
    ] {
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].to_string().ends_with("line 1, 3"), "{}", warnings[0]);
    }
    assert_eq!(desk.journal.search("find", &Filter::default(), 9).unwrap().value.len(), 1);
}
