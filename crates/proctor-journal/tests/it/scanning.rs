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

use crate::support::{TestJournal, draft};

const WORDS: &[&str] =
    &["cache", "Flaky", "über", "test_1", "queue", "\"quoted\"", "naïve\n", "the", "λ", "🦀 leak"];

fn text() -> impl proptest::strategy::Strategy<Value = String> {
    proptest::collection::vec(select(WORDS), 1..6).prop_map(|words| words.join(" "))
}

#[derive(Clone, Debug)]
struct EntryPlan {
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

fn entry_plan() -> impl proptest::strategy::Strategy<Value = EntryPlan> {
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
        EntryPlan {
            goal,
            hypothesis,
            again,
            confidence,
            end,
            surprise,
            later,
            lane,
            new_session,
            kind,
        }
    })
}

fn write(fixture: &TestJournal, plan: &EntryPlan) {
    let journal = Journal::at(fixture.dir());
    let journal = match plan.lane {
        Some(lane) => journal.lane(lane).unwrap(),
        None => journal,
    };
    if plan.new_session {
        journal.start_session(None, &fixture.now()).unwrap();
        journal.abandon_orphan("left", &fixture.now()).unwrap();
    }
    let draft = Draft {
        goal: plan.goal.clone(),
        hypothesis: plan.hypothesis.clone(),
        confidence: plan.confidence,
        ..Draft { domain: Domain::ALL[plan.kind], strategy: Strategy::ALL[plan.kind], ..draft("x") }
    };
    let Ok(created) = journal.create(draft, &fixture.now()) else { return };
    if plan.again {
        let change = Change { hypothesis: Some("second thought".into()), ..Change::default() };
        journal.update(change, &fixture.now()).unwrap();
    }
    let Some(status) = plan.end else { return };
    let resolution = Resolution {
        surprise: plan.surprise.clone(),
        auto_captured: plan.again,
        ..Resolution::new(status, "seen")
    };
    journal.resolve(resolution, &fixture.now()).unwrap();
    if let Some(later) = &plan.later {
        let annotation = Annotation {
            surprise: Some(later.clone()),
            root_cause: plan.again.then(|| RootCause::new("wrong-assumption", "x")),
            ..Annotation::default()
        };
        journal.annotate(&created.value.id, annotation, &fixture.now()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_look_comes_to_what_reading_comes_to(
        all in proptest::collection::vec(entry_plan(), 0..12),
        query in text(),
        limit in 1..5_usize,
        domain in proptest::option::of(select(Domain::ALL)),
    ) {
        let fixture = TestJournal::new();
        for one in &all {
            write(&fixture, one);
        }
        let filters = [
            Filter::default(),
            Filter { domain, ..Filter::default() },
            Filter { active: Some(false), lane: Some("a".into()), ..Filter::default() },
            Filter { needs_annotation: true, ..Filter::default() },
            Filter { status: Some(OutcomeStatus::Falsified), limit: Some(2), ..Filter::default() },
        ];
        for filter in filters {
            let listed = fixture.journal.list(&filter).unwrap().value;
            let entries: Vec<&Entry> = listed.iter().map(|found| &found.entry).collect();
            let counted = fixture.journal.stats(&filter).unwrap().value;
            prop_assert_eq!(counted, stats(entries.iter().copied()));
            let hits = search(&query, entries.iter().copied());
            let expected: Vec<_> =
                hits.iter().take(limit).map(|hit| (hit.score, listed[hit.index].clone())).collect();
            let found = fixture.journal.search(&query, &filter, limit).unwrap().value;
            let found: Vec<_> = found.into_iter().map(|it| (it.score, it.found)).collect();
            prop_assert_eq!(found, expected);
            let part = fixture.journal.search_page(&query, &filter, 1, limit).unwrap().value;
            let all: Vec<_> = hits.iter().map(|hit| listed[hit.index].clone()).collect();
            let expected: Vec<_> = all.iter().skip(1).take(limit).cloned().collect();
            prop_assert_eq!(part, (expected, all.len()));
        }
    }
}

#[test]
fn lines_that_are_no_entries_are_passed_over_and_named() {
    let fixture = TestJournal::new();
    fixture.create("find me");
    fixture.resolve(OutcomeStatus::Confirmed);
    let good = fixture.read("session_entries.jsonl");
    let wrong =
        good.replace("\"action\":\"adding teardown\"", "\"action\":7").replace("ghap_", "x_");
    fixture.write("session_entries.jsonl", format!("rubbish\n{good}{wrong}"));
    for warnings in [
        fixture.journal.search("find", &Filter::default(), 9).unwrap().warnings,
        fixture.journal.stats(&Filter::default()).unwrap().warnings,
        fixture.journal.list(&Filter::default()).unwrap().warnings,
    ] {
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].to_string().ends_with("line 1, 3"), "{}", warnings[0]);
    }
    assert_eq!(fixture.journal.search("find", &Filter::default(), 9).unwrap().value.len(), 1);
}
