//! Outcomes captured from runs: verdicts, tiers, evidence, and what stays active.

use proctor_journal::capture::{Expectation, Run, Verdict, judge};
use proctor_journal::{
    Change, ConfidenceTier, Counts, Draft, JournalError, OutcomeStatus, Refusal, UtcTime,
};

use crate::support::{Desk, draft, refusal};

fn expect(text: &str) -> Expectation {
    text.parse().unwrap()
}

fn run(exit: i32, output: &str) -> Run {
    Run {
        argv: vec!["pytest".into(), "-q".into()],
        exit: Some(exit),
        duration_ms: Some(1200),
        output: output.into(),
        commit: Some("0123abc".into()),
        dirty: Some(true),
        ..Run::default()
    }
}

fn verdict(expectation: &str, run: &Run) -> (Verdict, String) {
    let now = "2025-12-03T14:30:22Z".parse().unwrap();
    let judgement = judge(&expect(expectation), true, run, now);
    (judgement.verdict, judgement.reason)
}

const FAILED: &str = "3 failed, 42 passed in 1.20s";
const PASSED: &str = "45 passed in 1.20s";

#[test]
fn a_predicted_failure_is_confirmed_by_a_failure() {
    assert_eq!(verdict("fail", &run(1, FAILED)).0, Verdict::Confirmed);
    assert_eq!(
        verdict("pass", &run(1, FAILED)),
        (Verdict::Falsified, "42 passed, 3 failed".into())
    );
    assert_eq!(verdict("pass", &run(0, PASSED)).0, Verdict::Confirmed);
    assert_eq!(verdict("fail", &run(0, PASSED)).0, Verdict::Falsified);
}

#[test]
fn signals_and_time_outs_decide_nothing_whatever_was_expected() {
    let killed = Run { exit: None, signal: Some(9), ..run(0, FAILED) };
    let slow = Run { exit: Some(124), timed_out: true, ..run(0, FAILED) };
    for expectation in ["pass", "fail", "exit:1", "match:failed"] {
        assert_eq!(verdict(expectation, &killed).0, Verdict::Inconclusive);
        assert_eq!(verdict(expectation, &slow).0, Verdict::Inconclusive);
    }
}

#[test]
fn contradictions_decide_nothing() {
    let (found, reason) = verdict("pass", &run(0, FAILED));
    assert_eq!(found, Verdict::Inconclusive);
    assert!(reason.contains("yet exit code 0"), "{reason}");
    assert_eq!(verdict("pass", &run(1, PASSED)).0, Verdict::Inconclusive);
}

#[test]
fn commands_that_are_no_tests_go_by_their_exit_code() {
    let plain = |exit| Run { argv: vec!["./deploy.sh".into()], ..run(exit, "") };
    assert_eq!(verdict("pass", &plain(0)).0, Verdict::Confirmed);
    assert_eq!(verdict("pass", &plain(3)).0, Verdict::Falsified);
    assert_eq!(verdict("fail", &plain(3)).0, Verdict::Confirmed);
    for missing in [126, 127] {
        assert_eq!(verdict("fail", &plain(missing)).0, Verdict::Inconclusive);
    }
    assert_eq!(verdict("fail", &run(1, "")).0, Verdict::Inconclusive, "pytest without a result");
    let unknown = Run { exit: None, ..plain(0) };
    assert_eq!(verdict("pass", &unknown).0, Verdict::Inconclusive);
}

#[test]
fn named_observables_confirm_but_broken_runs_never_falsify() {
    let compile_error = "error[E0382]: borrow of moved value\nerror: could not compile `x`";
    let broken = Run { argv: vec!["cargo".into(), "test".into()], ..run(101, compile_error) };
    assert_eq!(verdict("exit:101", &broken).0, Verdict::Confirmed);
    assert_eq!(verdict("match:E0382", &broken).0, Verdict::Confirmed);
    assert_eq!(verdict("exit:0", &broken).0, Verdict::Inconclusive);
    assert_eq!(verdict("match:all good", &broken).0, Verdict::Inconclusive);
    assert_eq!(verdict("exit:2", &run(1, FAILED)).0, Verdict::Falsified);
    assert_eq!(verdict("match:^45 passed", &run(0, PASSED)).0, Verdict::Confirmed);
    assert_eq!(verdict("match:zebra", &run(0, PASSED)).0, Verdict::Falsified);
    let cut = Run { output_is_cut: true, ..run(0, PASSED) };
    assert_eq!(verdict("match:zebra", &cut).0, Verdict::Inconclusive);
}

#[test]
fn numbers_of_a_runs_own_events_come_first() {
    let counts = Some(Counts::new(1, 0, 0, 0));
    assert_eq!(verdict("pass", &Run { counts, ..run(0, FAILED) }).0, Verdict::Confirmed);
}

fn before(desk: &Desk) -> UtcTime {
    desk.now().now
}

#[test]
fn gold_needs_an_expectation_older_than_the_run() {
    let desk = Desk::new();
    desk.create("goal");
    let (stated, started) = (before(&desk), before(&desk));
    let done =
        desk.journal.capture(Some((expect("pass"), stated)), &run(0, PASSED), started, &desk.now());
    let captured = done.unwrap().value;
    assert_eq!(captured.entry.confidence_tier, Some(ConfidenceTier::Gold));
    assert_eq!(captured.entry.status(), Some(OutcomeStatus::Confirmed));
    assert_eq!(desk.current(), None);
    // Said only after the run had started.
    desk.create("second");
    let (started, stated) = (before(&desk), before(&desk));
    let done =
        desk.journal.capture(Some((expect("pass"), stated)), &run(1, FAILED), started, &desk.now());
    let captured = done.unwrap().value;
    assert_eq!(captured.entry.confidence_tier, Some(ConfidenceTier::Silver));
    assert!(!captured.entry.outcome.unwrap().auto_captured);
    assert_eq!(captured.entry.evidence[0].predates_run, Some(false));
}

#[test]
fn gold_needs_an_iteration_older_than_the_run() {
    let desk = Desk::new();
    desk.create("goal");
    let (stated, started) = (before(&desk), before(&desk));
    let change = Change { hypothesis: Some("hindsight".into()), ..Change::default() };
    desk.journal.update(change, &desk.now()).unwrap();
    let done =
        desk.journal.capture(Some((expect("fail"), stated)), &run(1, FAILED), started, &desk.now());
    assert_eq!(done.unwrap().value.entry.confidence_tier, Some(ConfidenceTier::Silver));
}

#[test]
fn evidence_is_complete_and_stored_with_the_line() {
    let desk = Desk::new();
    desk.create("goal");
    let (stated, started) = (before(&desk), before(&desk));
    let long = format!("{}\n{FAILED}", "x".repeat(50_000));
    desk.journal
        .capture(Some((expect("pass"), stated)), &run(1, &long), started, &desk.now())
        .unwrap();
    let entry = &desk.journal.session_entries().unwrap().value[0];
    let evidence = &entry.evidence[0];
    assert_eq!(evidence.argv, ["pytest", "-q"]);
    assert_eq!(
        (evidence.exit, evidence.duration_ms, evidence.dirty),
        (Some(1), Some(1200), Some(true))
    );
    assert_eq!(evidence.commit.as_deref(), Some("0123abc"));
    assert_eq!(evidence.counts, Some(Counts::new(42, 3, 0, 0)));
    assert_eq!(evidence.counts_from.as_deref(), Some("text: pytest"));
    assert_eq!(evidence.verdict.as_deref(), Some("falsified"));
    let tail = evidence.output_tail.as_ref().unwrap();
    assert!(tail.len() <= 4_000 && tail.ends_with(FAILED));
    assert!(entry.needs_annotation(), "a run cannot know the cause");
}

#[test]
fn an_inconclusive_run_leaves_the_entry_active_with_the_evidence() {
    let desk = Desk::new();
    desk.create("goal");
    let (stated, started) = (before(&desk), before(&desk));
    let none = run(5, "no tests ran in 0.01s");
    let done = desk.journal.capture(Some((expect("pass"), stated)), &none, started, &desk.now());
    let captured = done.unwrap().value;
    assert_eq!(captured.judgement.verdict, Verdict::Inconclusive);
    let current = desk.current().unwrap();
    assert_eq!(current.evidence.len(), 1);
    assert_eq!(current.outcome, None);
    // The next run decides, and both pieces of evidence are kept.
    let started = before(&desk);
    desk.journal
        .capture(Some((expect("pass"), stated)), &run(0, PASSED), started, &desk.now())
        .unwrap();
    assert_eq!(desk.journal.session_entries().unwrap().value[0].evidence.len(), 2);
}

#[test]
fn the_entrys_own_expectation_is_used_when_none_is_given() {
    let desk = Desk::new();
    let stated = Draft { expectation: Some(expect("exit:1")), ..draft("goal") };
    desk.journal.create(stated, &desk.now()).unwrap();
    let started = before(&desk);
    let captured = desk.journal.capture(None, &run(1, FAILED), started, &desk.now()).unwrap().value;
    assert_eq!(captured.entry.confidence_tier, Some(ConfidenceTier::Gold));
    desk.create("second");
    let error = desk.journal.capture(None, &run(1, FAILED), started, &desk.now()).unwrap_err();
    assert!(matches!(error, JournalError::NoExpectation { .. }));
    // A new prediction voids what was said about the old one.
    let say = Change { expectation: Some(expect("pass")), ..Change::default() };
    assert!(desk.journal.update(say, &desk.now()).unwrap().value.expectation.is_some());
    let other = Change { prediction: Some("other".into()), ..Change::default() };
    assert!(desk.journal.update(other, &desk.now()).unwrap().value.expectation.is_none());
}

#[test]
fn a_run_resolves_neither_an_orphan_nor_nothing() {
    let desk = Desk::new();
    let (stated, started) = (before(&desk), before(&desk));
    let try_it = || {
        let stated = Some((expect("pass"), stated));
        refusal(desk.journal.capture(stated, &run(0, PASSED), started, &desk.now()).unwrap_err())
    };
    assert_eq!(try_it(), Refusal::NoActive { operation: "resolve" });
    desk.create("goal");
    desk.start();
    assert!(matches!(try_it(), Refusal::OrphanPending { .. }));
}

#[test]
fn stated_confidence_belongs_to_its_iteration() {
    let desk = Desk::new();
    let sure = Draft { confidence: Some(0.9), ..draft("goal") };
    desk.journal.create(sure, &desk.now()).unwrap();
    let change = Change { hypothesis: Some("new".into()), ..Change::default() };
    let entry = desk.journal.update(change, &desk.now()).unwrap().value;
    assert_eq!((entry.confidence, entry.history[0].confidence), (None, Some(0.9)));
}
