//! Outcomes captured from runs: verdicts, tiers, evidence, and what stays active.

use proctor_journal::capture::{
    CapturedOutcome, CommandResult, Expectation, RecordedResult, judge,
};
use proctor_journal::{
    Change, ConfidenceTier, Counts, Draft, JournalError, OutcomeStatus, Refusal, UtcTime,
};

use crate::support::{TestJournal, draft, refusal};

fn expect(text: &str) -> Expectation {
    text.parse().unwrap()
}

fn run(exit: i32, output: &str) -> CommandResult {
    CommandResult {
        argv: vec!["pytest".into(), "-q".into()],
        exit: Some(exit),
        duration_ms: Some(1200),
        output: output.into(),
        commit: Some("0123abc".into()),
        dirty: Some(true),
        ..CommandResult::default()
    }
}

fn verdict(expectation: &str, run: &CommandResult) -> (CapturedOutcome, String) {
    let now = "2025-12-03T14:30:22Z".parse().unwrap();
    let judgement = judge(&expect(expectation), true, run, now);
    (judgement.verdict, judgement.reason)
}

const FAILED: &str = "3 failed, 42 passed in 1.20s";
const PASSED: &str = "45 passed in 1.20s";

#[test]
fn a_predicted_failure_is_confirmed_by_a_failure() {
    assert_eq!(verdict("fail", &run(1, FAILED)).0, CapturedOutcome::Confirmed);
    assert_eq!(
        verdict("pass", &run(1, FAILED)),
        (CapturedOutcome::Falsified, "42 passed, 3 failed".into())
    );
    assert_eq!(verdict("pass", &run(0, PASSED)).0, CapturedOutcome::Confirmed);
    assert_eq!(verdict("fail", &run(0, PASSED)).0, CapturedOutcome::Falsified);
}

#[test]
fn signals_and_time_outs_decide_nothing_whatever_was_expected() {
    let killed = CommandResult { exit: None, signal: Some(9), ..run(0, FAILED) };
    let slow = CommandResult { exit: Some(124), timed_out: true, ..run(0, FAILED) };
    for expectation in ["pass", "fail", "exit:1", "match:failed"] {
        assert_eq!(verdict(expectation, &killed).0, CapturedOutcome::Inconclusive);
        assert_eq!(verdict(expectation, &slow).0, CapturedOutcome::Inconclusive);
    }
}

#[test]
fn contradictions_decide_nothing() {
    let (found, reason) = verdict("pass", &run(0, FAILED));
    assert_eq!(found, CapturedOutcome::Inconclusive);
    assert!(reason.contains("but the exit code is 0"), "{reason}");
    assert_eq!(verdict("pass", &run(1, PASSED)).0, CapturedOutcome::Inconclusive);
}

fn command(words: &[&str], exit: i32, output: &str) -> CommandResult {
    CommandResult {
        argv: words.iter().map(|word| (*word).to_owned()).collect(),
        ..run(exit, output)
    }
}

/// V10: a command that ran no tests says nothing about tests, whatever it prints and however it ends.
#[test]
fn v10_a_command_that_ran_no_tests_never_decides_pass_or_fail() {
    for words in [
        &["true"][..],
        &["false"],
        &["grep", "-rn", "pytest", "."],
        &["cat", "old.log"],
        &["pytest", "--version"],
        &["pytest", "--collect-only"],
        &["cargo", "test", "--no-run"],
        &["pip", "install", "pytest"],
        &["git", "commit", "-m", "add pytest config"],
        &["man", "pytest"],
        &["sh", "-c", "echo '45 passed in 1.20s'"],
    ] {
        for (exit, output) in [(0, PASSED), (1, FAILED), (0, ""), (1, "")] {
            for expectation in ["pass", "fail"] {
                let (found, reason) = verdict(expectation, &command(words, exit, output));
                assert_eq!(found, CapturedOutcome::Inconclusive, "{words:?} {exit}");
                assert_eq!(reason, "the command ran no tests; expect `exit:N`", "{words:?}");
            }
        }
    }
    assert_eq!(verdict("exit:0", &command(&["true"], 0, "")).0, CapturedOutcome::Confirmed);
    assert_eq!(verdict("exit:0", &command(&["false"], 1, "")).0, CapturedOutcome::Falsified);
    let build = command(&["cargo", "build"], 101, "error: could not compile `x`");
    assert_eq!(
        verdict("exit:0", &build).0,
        CapturedOutcome::Falsified,
        "a build is what was to be seen"
    );
}

/// V10: a report that a plain command touched is not a run.
#[test]
fn v10_a_report_counts_only_if_something_can_have_run_tests() {
    let report = "<testsuite><testcase name=\"a\"/></testsuite>".to_owned();
    let with =
        |words: &[&str]| CommandResult { reports: vec![report.clone()], ..command(words, 0, "") };
    assert_eq!(verdict("pass", &with(&["touch", "out.xml"])).0, CapturedOutcome::Inconclusive);
    assert_eq!(verdict("pass", &with(&["./runner"])).0, CapturedOutcome::Confirmed);
    assert_eq!(
        verdict("pass", &with(&["mytool", "--junit", "out.xml"])).0,
        CapturedOutcome::Confirmed
    );
}

/// V11: a runner that counted nothing has shown nothing, both ways; so has a script.
#[test]
fn v11_what_counted_nothing_decides_nothing() {
    for words in [
        &["pytest"][..],
        &["python3", "-m", "unittest"],
        &["npx", "mocha"],
        &["make", "test"],
        &["npm", "test"],
        &["./deploy.sh"],
        &["sh", "-c", "pytest FAILING | head -1"],
    ] {
        for exit in [0, 1, 3, 126, 127, 134, 137, 139] {
            for expectation in ["pass", "fail"] {
                let found = verdict(expectation, &command(words, exit, "hello\n"));
                assert_eq!(found.0, CapturedOutcome::Inconclusive, "{words:?} {exit} {}", found.1);
            }
        }
        let unknown = CommandResult { exit: None, ..command(words, 0, "") };
        assert_eq!(verdict("pass", &unknown).0, CapturedOutcome::Inconclusive);
    }
}

/// V11: counted failures are failures, also where the exit code is another command's; counted passes need it.
#[test]
fn v11_behind_a_pipe_failures_falsify_and_passes_decide_nothing() {
    for line in ["pytest | tail -1", "pytest || true", "pytest; ls", "x=$(pytest); echo $x"] {
        let of = |output| command(&["bash", "-c", line], 0, output);
        assert_eq!(verdict("pass", &of(FAILED)).0, CapturedOutcome::Falsified, "{line}");
        assert_eq!(verdict("fail", &of(FAILED)).0, CapturedOutcome::Confirmed, "{line}");
        for expectation in ["pass", "fail"] {
            let (found, reason) = verdict(expectation, &of(PASSED));
            assert_eq!(found, CapturedOutcome::Inconclusive, "{line}");
            assert!(reason.contains("the exit code is not that of the tests"), "{reason}");
        }
    }
    for line in ["set -o pipefail; pytest | tail -1", "cd a && pytest", "pytest || exit 1"] {
        let of = |exit, output| command(&["bash", "-c", line], exit, output);
        assert_eq!(verdict("pass", &of(0, PASSED)).0, CapturedOutcome::Confirmed, "{line}");
        assert_eq!(verdict("pass", &of(1, FAILED)).0, CapturedOutcome::Falsified, "{line}");
    }
}

/// V11: 128 + N is a signal, whatever was counted before it came.
#[test]
fn v11_an_exit_code_above_128_is_a_signal() {
    for exit in [129, 130, 134, 137, 139, 143] {
        for output in [FAILED, PASSED, ""] {
            for expectation in ["pass", "fail", "exit:0"] {
                let (found, reason) = verdict(expectation, &run(exit, output));
                assert_eq!(found, CapturedOutcome::Inconclusive);
                assert!(reason.contains(&format!("signal {}", exit - 128)), "{reason}");
            }
        }
        assert_eq!(verdict(&format!("exit:{exit}"), &run(exit, "")).0, CapturedOutcome::Confirmed);
    }
}

/// V11: what is missing was not run, so even the exit code that was named says nothing.
#[test]
fn v11_a_missing_file_target_or_script_is_not_run() {
    for (words, exit, output) in [
        (
            &["pytest", "x.py"][..],
            4,
            "no tests ran in 0.00s\nERROR: file or directory not found: x.py\n",
        ),
        (&["make", "cheque"], 2, "make: *** No rule to make target 'cheque'.  Stop.\n"),
        (&["npm", "run", "tset"], 1, "npm error Missing script: \"tset\"\n"),
        (&["python3", "test_x.py"], 2, "python3: can't open file '/p/test_x.py': [Errno 2]\n"),
        (&["sh", "./test.sh"], 2, "sh: 0: cannot open ./test.sh: No such file\n"),
    ] {
        for expectation in
            ["pass".to_owned(), "fail".to_owned(), "exit:0".to_owned(), format!("exit:{exit}")]
        {
            let (found, reason) = verdict(&expectation, &command(words, exit, output));
            assert_eq!(found, CapturedOutcome::Inconclusive, "{words:?} {expectation}");
            assert!(reason.contains("not run"), "{words:?}: {reason}");
        }
    }
    let plain = command(&["cat", "x"], 1, "cat: x: No such file or directory\n");
    assert_eq!(verdict("exit:1", &plain).0, CapturedOutcome::Confirmed, "that is what cat says");
}

#[test]
fn two_runners_must_both_count() {
    let line = ["bash", "-c", "pytest && npx jest --passWithNoTests"];
    let (found, reason) = verdict("pass", &command(&line, 0, PASSED));
    assert_eq!(
        (found, reason.as_str()),
        (CapturedOutcome::Inconclusive, "45 passed, 0 failed, but jest counted no tests")
    );
    let none = format!("{PASSED}\nTests:       0 total\n");
    assert_eq!(verdict("pass", &command(&line, 0, &none)).0, CapturedOutcome::Inconclusive);
    let both = format!("{PASSED}\nTests:       2 passed, 2 total\n");
    assert_eq!(verdict("pass", &command(&line, 0, &both)).0, CapturedOutcome::Confirmed);
}

#[test]
fn only_the_runners_that_were_started_are_looked_for_in_the_output() {
    let other = command(&["cargo", "test"], 0, PASSED);
    assert_eq!(
        verdict("pass", &other).0,
        CapturedOutcome::Inconclusive,
        "a line that a test printed"
    );
    let of_make = command(&["make", "test"], 0, PASSED);
    assert_eq!(
        verdict("pass", &of_make).0,
        CapturedOutcome::Confirmed,
        "make may have started pytest"
    );
}

#[test]
fn named_observables_confirm_but_broken_runs_never_falsify() {
    let compile_error = "error[E0382]: borrow of moved value\nerror: could not compile `x`";
    let broken =
        CommandResult { argv: vec!["cargo".into(), "test".into()], ..run(101, compile_error) };
    assert_eq!(verdict("exit:101", &broken).0, CapturedOutcome::Confirmed);
    assert_eq!(verdict("match:E0382", &broken).0, CapturedOutcome::Confirmed);
    assert_eq!(verdict("exit:0", &broken).0, CapturedOutcome::Inconclusive);
    assert_eq!(verdict("match:all good", &broken).0, CapturedOutcome::Inconclusive);
    assert_eq!(verdict("exit:2", &run(1, FAILED)).0, CapturedOutcome::Falsified);
    assert_eq!(verdict("match:^45 passed", &run(0, PASSED)).0, CapturedOutcome::Confirmed);
    assert_eq!(verdict("match:zebra", &run(0, PASSED)).0, CapturedOutcome::Falsified);
    let cut = CommandResult { output_is_cut: true, ..run(0, PASSED) };
    assert_eq!(verdict("match:zebra", &cut).0, CapturedOutcome::Inconclusive);
}

#[test]
fn numbers_of_a_runs_own_events_come_first() {
    let recorded = |finished, exit, failed| {
        let counts = Counts::new(1, failed, 0, 0);
        Some(RecordedResult { counts, exit: Some(exit), finished })
    };
    let of = |recorded| verdict("pass", &CommandResult { recorded, ..run(0, FAILED) });
    assert_eq!(of(recorded(true, 0, 0)).0, CapturedOutcome::Confirmed);
    assert_eq!(
        of(recorded(true, 1, 1)).0,
        CapturedOutcome::Falsified,
        "its own exit code, not that of a pipe"
    );
    assert_eq!(of(recorded(false, 2, 0)).0, CapturedOutcome::Inconclusive);
    assert_eq!(of(recorded(false, 130, 1)).0, CapturedOutcome::Inconclusive, "Ctrl-C");
}

fn before(fixture: &TestJournal) -> UtcTime {
    fixture.now().now
}

#[test]
fn gold_needs_an_expectation_older_than_the_run() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let (stated, started) = (before(&fixture), before(&fixture));
    let done = fixture.journal.capture(
        Some((expect("pass"), stated)),
        &run(0, PASSED),
        started,
        &fixture.now(),
    );
    let captured = done.unwrap().value;
    assert_eq!(captured.entry.confidence_tier, Some(ConfidenceTier::Gold));
    assert_eq!(captured.entry.status(), Some(OutcomeStatus::Confirmed));
    assert_eq!(fixture.current(), None);
    // Said only after the run had started.
    fixture.create("second");
    let (started, stated) = (before(&fixture), before(&fixture));
    let done = fixture.journal.capture(
        Some((expect("pass"), stated)),
        &run(1, FAILED),
        started,
        &fixture.now(),
    );
    let captured = done.unwrap().value;
    assert_eq!(captured.entry.confidence_tier, Some(ConfidenceTier::Silver));
    assert!(!captured.entry.outcome.unwrap().auto_captured);
    assert_eq!(captured.entry.evidence[0].predates_run, Some(false));
}

#[test]
fn gold_needs_an_iteration_older_than_the_run() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let (stated, started) = (before(&fixture), before(&fixture));
    let change = Change { hypothesis: Some("hindsight".into()), ..Change::default() };
    fixture.journal.update(change, &fixture.now()).unwrap();
    let done = fixture.journal.capture(
        Some((expect("fail"), stated)),
        &run(1, FAILED),
        started,
        &fixture.now(),
    );
    assert_eq!(done.unwrap().value.entry.confidence_tier, Some(ConfidenceTier::Silver));
}

#[test]
fn evidence_is_complete_and_stored_with_the_line() {
    let fixture = TestJournal::new();
    fixture.create("goal");
    let (stated, started) = (before(&fixture), before(&fixture));
    let long = format!("{}\n{FAILED}", "x".repeat(50_000));
    fixture
        .journal
        .capture(Some((expect("pass"), stated)), &run(1, &long), started, &fixture.now())
        .unwrap();
    let entry = &fixture.journal.session_entries().unwrap().value[0];
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
    let fixture = TestJournal::new();
    fixture.create("goal");
    let (stated, started) = (before(&fixture), before(&fixture));
    let none = run(5, "no tests ran in 0.01s");
    let done =
        fixture.journal.capture(Some((expect("pass"), stated)), &none, started, &fixture.now());
    let captured = done.unwrap().value;
    assert_eq!(captured.judgement.verdict, CapturedOutcome::Inconclusive);
    let current = fixture.current().unwrap();
    assert_eq!(current.evidence.len(), 1);
    assert_eq!(current.outcome, None);
    // The next run decides, and both pieces of evidence are kept.
    let started = before(&fixture);
    fixture
        .journal
        .capture(Some((expect("pass"), stated)), &run(0, PASSED), started, &fixture.now())
        .unwrap();
    assert_eq!(fixture.journal.session_entries().unwrap().value[0].evidence.len(), 2);
}

#[test]
fn the_entrys_own_expectation_is_used_when_none_is_given() {
    let fixture = TestJournal::new();
    let stated = Draft { expectation: Some(expect("exit:1")), ..draft("goal") };
    fixture.journal.create(stated, &fixture.now()).unwrap();
    let started = before(&fixture);
    let captured =
        fixture.journal.capture(None, &run(1, FAILED), started, &fixture.now()).unwrap().value;
    assert_eq!(captured.entry.confidence_tier, Some(ConfidenceTier::Gold));
    fixture.create("second");
    let error =
        fixture.journal.capture(None, &run(1, FAILED), started, &fixture.now()).unwrap_err();
    assert!(matches!(error, JournalError::NoExpectation { .. }));
    // A new prediction voids what was said about the old one.
    let say = Change { expectation: Some(expect("pass")), ..Change::default() };
    assert!(fixture.journal.update(say, &fixture.now()).unwrap().value.expectation.is_some());
    let other = Change { prediction: Some("other".into()), ..Change::default() };
    assert!(fixture.journal.update(other, &fixture.now()).unwrap().value.expectation.is_none());
}

#[test]
fn a_run_resolves_neither_an_orphan_nor_nothing() {
    let fixture = TestJournal::new();
    let (stated, started) = (before(&fixture), before(&fixture));
    let try_it = || {
        let stated = Some((expect("pass"), stated));
        refusal(
            fixture.journal.capture(stated, &run(0, PASSED), started, &fixture.now()).unwrap_err(),
        )
    };
    assert_eq!(try_it(), Refusal::NoActive { operation: "resolve" });
    fixture.create("goal");
    fixture.start();
    assert!(matches!(try_it(), Refusal::OrphanPending { .. }));
}

#[test]
fn stated_confidence_belongs_to_its_iteration() {
    let fixture = TestJournal::new();
    let sure = Draft { confidence: Some(0.9), ..draft("goal") };
    fixture.journal.create(sure, &fixture.now()).unwrap();
    let change = Change { hypothesis: Some("new".into()), ..Change::default() };
    let entry = fixture.journal.update(change, &fixture.now()).unwrap().value;
    assert_eq!((entry.confidence, entry.history[0].confidence), (None, Some(0.9)));
}
