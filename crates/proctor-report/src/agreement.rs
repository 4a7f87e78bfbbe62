//! Every report of a run says the same: one verdict for each example, one for the run. Streams are random; the reports are read back as
//! their readers would read them.

use proctor_events::{
    Event, ExampleFinished, ExampleId, ExampleStarted, Fault, Status, SuiteFinished, SuiteStarted,
};
use proctor_record::{Aggregator, RunData};
use proctor_verdict::{Facts, Policy, RunVerdict, StopCause};
use proptest::prelude::*;
use quick_junit::Report;

use crate::testing::NO_COLOR;
use crate::{SummaryOptions, github_annotations, junit, markdown, run_json, summary, transcript};

/// A result as a test draws it: example, repetition, attempt, status, fault, number of checks.
type Drawn = (u8, u32, u32, &'static str, Option<&'static str>, Option<u64>);

fn results() -> impl Strategy<Value = Vec<Drawn>> {
    let status = prop::sample::select(Status::KNOWN);
    let fault = prop::option::weighted(
        0.2,
        prop::sample::select(vec!["agent", "simulator", "judge", "tool", "harness"]),
    );
    let checks = prop::option::of(0_u64..3);
    prop::collection::vec((0_u8..5, 1_u32..5, 1_u32..3, status, fault, checks), 0..24)
}

fn policy() -> impl Strategy<Value = Policy> {
    any::<[bool; 3]>().prop_map(|[flaky_fails, inconclusive_fails, unchecked_fails]| Policy {
        flaky_fails,
        inconclusive_fails,
        unchecked_fails,
        ..Policy::default()
    })
}

/// The run as its controller would have written it.
fn run_of(
    mut drawn: Vec<Drawn>,
    rate: Option<f64>,
    policy: Policy,
    stopped: Option<StopCause>,
) -> RunData {
    drawn.sort_by_key(|it| (it.0, it.1, it.2));
    drawn.dedup_by_key(|it| (it.0, it.1, it.2));
    let mut fold = Aggregator::default();
    fold.apply(&Event::from(SuiteStarted {
        policy: Some(policy.to_event()),
        ..SuiteStarted::default()
    }));
    for (place, (example, repeat, attempt, status, fault, checks)) in drawn.iter().enumerate() {
        let id = ExampleId::new(format!("example{example}"));
        let of = |event: Event| event.about(&id).in_attempt(*repeat, *attempt);
        // Every other example demands a rate.
        let pass_rate = rate.filter(|_| example % 2 == 0);
        let path = vec![format!("example {example}")];
        let started = ExampleStarted { path, pass_rate, ..ExampleStarted::default() };
        fold.apply(&of(started.into()));
        let next = drawn.get(place + 1);
        let retried = next.is_some_and(|next| (next.0, next.1) == (*example, *repeat));
        let finished = ExampleFinished {
            status: Status::from(*status),
            fault: fault.map(Fault::from),
            r#final: Some(!retried),
            checks: *checks,
            ..ExampleFinished::default()
        };
        fold.apply(&of(finished.into()));
    }
    let counts = fold.run().summary_if(true);
    let facts = Facts { loaded: true, counts, accounted: true, stopped };
    let verdict = RunVerdict::conclude(&facts, policy);
    fold.apply(&Event::from(SuiteFinished {
        example_count: counts.examples,
        failure_count: counts.failures,
        exit_code: verdict.exit_code().map(i32::from),
        state: verdict.ending(),
        stopped_by: verdict.stopped_by().cloned(),
        repetition_count: Some(counts.repetitions),
        ..SuiteFinished::default()
    }));
    assert_eq!(fold.run().verdict(), verdict, "the stream says what was concluded");
    fold.into_run()
}

fn stop() -> impl Strategy<Value = Option<StopCause>> {
    prop::option::weighted(0.2, Just(StopCause::Signal(2)))
}

proptest! {
    /// V4, V5: a case of JUnit is bad exactly where the example fails the run, and a run that did not pass is never all green.
    #[test]
    fn v4_junit_says_what_the_verdicts_say(
        drawn in results(),
        rate in prop::option::of(prop::sample::select(vec![0.2, 0.5, 0.75, 1.0])),
        policy in policy(),
        stopped in stop(),
    ) {
        let run = run_of(drawn, rate, policy, stopped);
        let (counts, verdict) = (run.summary(), run.verdict());
        let report = Report::deserialize_from_str(&junit(&run, "suite")).unwrap();
        let bad = (report.failures + report.errors) as u64;
        prop_assert_eq!(bad > 0, !verdict.is_passed());
        let own = report.test_suites.iter().flat_map(|suite| &suite.test_cases).filter(|case| {
            case.name.as_str() == "the run"
        });
        prop_assert_eq!(bad - own.count() as u64, counts.failures);
        prop_assert!(report.skipped as u64 >= counts.pending);
    }

    /// Markdown, annotations, JSON, transcript and summary tell the same run.
    #[test]
    fn v4_texts_say_what_the_verdicts_say(
        drawn in results(),
        rate in prop::option::of(prop::sample::select(vec![0.2, 0.5, 0.75, 1.0])),
        policy in policy(),
        stopped in stop(),
    ) {
        let run = run_of(drawn, rate, policy, stopped);
        let (counts, verdict) = (run.summary(), run.verdict());
        prop_assert_eq!(markdown(&run).contains('✅'), verdict.is_passed());
        let annotations = github_annotations(&run, 1000);
        let errors = annotations.lines().filter(|line| line.starts_with("::error")).count();
        prop_assert_eq!(errors as u64, counts.failures);
        let json = serde_json::to_value(run_json(&run)).unwrap();
        prop_assert_eq!(&json["state"], verdict.state().word());
        prop_assert_eq!(json["exit_code"].as_u64(), verdict.exit_code().map(u64::from));
        prop_assert_eq!(json["summary"]["failures"].as_u64(), Some(counts.failures));
        let failures = json["verdicts"].as_array().unwrap().iter();
        let failures = failures.filter(|one| one["failure"] == true).count();
        prop_assert_eq!(failures as u64, counts.failures);
        let shown = transcript(&run, crate::Detail::Brief, NO_COLOR);
        prop_assert!(shown.lines().next().unwrap().contains(verdict.phrase()), "{}", shown);
        let end = summary(&run, &SummaryOptions::default(), NO_COLOR);
        prop_assert_eq!(end.contains("Failures:"), counts.failures > 0, "{}", end);
        prop_assert_eq!(end.contains(&format!("{} passed", counts.passed)), counts.passed > 0);
        for text in [&end, &markdown(&run)] {
            let shown = text.contains("passed without checking anything");
            prop_assert_eq!(shown, counts.unchecked > 0, "{}", text);
            let number = format!("{} checked nothing", counts.unchecked);
            prop_assert_eq!(text.contains(&number), counts.unchecked > 0, "{}", text);
        }
        prop_assert_eq!(json["summary"]["unchecked"].as_u64(), Some(counts.unchecked));
    }
}
