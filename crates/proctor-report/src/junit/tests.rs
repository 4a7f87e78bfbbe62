use proctor_events::{Event, ExampleId};
use proctor_events::{ExampleFinished, ExampleStarted, Exception, WorkerLog};
use proctor_record::Aggregator;
use proptest::prelude::*;

use super::*;
use crate::testing::{EVERYTHING, folded};

#[test]
fn a_run_in_which_everything_happens() {
    insta::assert_snapshot!(junit(&folded(EVERYTHING), "proctor"));
}

#[test]
fn the_numbers_agree_with_the_summary() {
    let run = folded(EVERYTHING);
    let report = Report::deserialize_from_str(&junit(&run, "proctor")).unwrap();
    let summary = run.summary();
    assert_eq!(report.tests as u64, summary.examples + summary.errors);
    assert_eq!(report.failures as u64, summary.failed);
    assert_eq!((report.failures + report.errors) as u64, summary.failures + summary.errors);
    assert_eq!(report.skipped as u64, summary.pending + summary.not_run);
}

#[test]
fn an_example_is_one_case_and_its_other_attempts_are_reruns() {
    let run = folded(
        r#"{"event_type":"ExampleFinished","example_id":"a","repeat":1,"attempt":1,"status":"failed","final":false,"message":"first"}
{"event_type":"ExampleFinished","example_id":"a","repeat":1,"attempt":2,"status":"crashed","message":"second"}
{"event_type":"ExampleFinished","example_id":"a","repeat":2,"attempt":1,"status":"timed_out","final":false,"message":"third"}
{"event_type":"ExampleFinished","example_id":"a","repeat":2,"attempt":2,"status":"passed"}"#,
    );
    insta::assert_snapshot!(junit(&run, "s"));
}

#[test]
fn f6_strict_dialects_leave_out_what_their_schemas_do_not_know() {
    let run = folded(EVERYTHING);
    insta::assert_snapshot!("jenkins", junit_dialect(&run, "proctor", JunitDialect::Jenkins));
    insta::assert_snapshot!("surefire", junit_dialect(&run, "proctor", JunitDialect::Surefire));
}

/// Text such as agents write, with every character that could be trouble.
fn text_of_any_kind() -> impl Strategy<Value = String> {
    let awkward_character = prop_oneof![
        Just('\u{0}'),
        Just('\u{1b}'),
        Just('\u{b}'),
        Just('\u{fffe}'),
        Just('\u{ffff}'),
        Just('<'),
        Just('&'),
        Just(']'),
        Just('"'),
        Just('\n'),
        Just('\r'),
        Just('\u{85}'),
        any::<char>(),
    ];
    prop::collection::vec(awkward_character, 0..12).prop_map(|chars| chars.into_iter().collect())
}

fn run_saying(text: &str, status: &str) -> RunData {
    let id = ExampleId::new("a");
    let started = ExampleStarted {
        path: vec![text.to_owned()],
        location: Some(format!("{text}:3")),
        ..ExampleStarted::default()
    };
    let finished = ExampleFinished {
        status: Status::from(status),
        exception: Some(Exception {
            class: Some(text.to_owned()),
            message: text.to_owned(),
            backtrace: vec![text.to_owned()],
            ..Exception::default()
        }),
        message: Some(text.to_owned()),
        ..ExampleFinished::default()
    };
    let log = WorkerLog { line: text.to_owned(), ..WorkerLog::default() };
    let mut aggregator = Aggregator::default();
    for event in [Event::new(started), Event::new(log), Event::new(finished)] {
        aggregator.apply(&event.about(&id));
    }
    aggregator.into_run()
}

proptest! {
    #[test]
    fn any_text_gives_xml_that_can_be_read_back(text in text_of_any_kind(), suite in text_of_any_kind()) {
        for status in ["passed", "failed", "crashed", "pending", "anything"] {
            let xml = junit(&run_saying(&text, status), &suite);
            let report = Report::deserialize_from_str(&xml);
            prop_assert!(report.is_ok(), "{report:?}\n{xml}");
            let whole = report.unwrap();
            prop_assert_eq!(whole.tests, 1);
            let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
            prop_assert!(xml.chars().all(allowed), "{xml:?}");
            let strict = junit_dialect(&run_saying(&text, status), &suite, JunitDialect::Jenkins);
            // The whole document would be as readable; what the schema does not know must be gone.
            prop_assert!(xml.contains("<properties>") && !strict.contains("<properties>"), "{strict}");
            let surefire = junit_dialect(&run_saying(&text, status), &suite, JunitDialect::Surefire);
            prop_assert!(!surefire.contains("<properties>") && !surefire.contains("<testsuites"), "{surefire}");
            let strict = Report::deserialize_from_str(&strict).unwrap();
            prop_assert_eq!((whole.tests, whole.failures, whole.errors), (strict.tests, strict.failures, strict.errors));
            let names = |report: &Report| report.test_suites[0].test_cases[0].name.to_string();
            prop_assert_eq!(names(&whole), names(&strict));
        }
    }
}

/// The document as `quick-junit` writes the whole of it.
fn written_whole(run: &RunData) -> String {
    let mut report = report(run, &run.summary(), "s", &[]);
    let mut suites: Vec<TestSuite> = Vec::new();
    for example in &run.examples {
        let file = attribute(file_and_line(example).0.unwrap_or("s"));
        let place = suites.iter().position(|suite| suite.name == file).unwrap_or_else(|| {
            suites.push(TestSuite::new(file));
            suites.len() - 1
        });
        suites[place].add_test_cases(case(example, run));
    }
    for mut suite in suites {
        suite.timestamp = suite.test_cases.iter().filter_map(|case| case.timestamp).min();
        suite.time = Some(suite.test_cases.iter().filter_map(|case| case.time).sum());
        report.add_test_suite(suite);
    }
    report.to_string().unwrap()
}

/// The parts together are the document; in the other dialects too, where parts are translated one by one.
#[test]
fn the_parts_are_the_whole() {
    let empty = r#"{"event_type":"ExampleStarted","example_id":"a","path":["A"]}"#;
    let unfinished = r#"{"event_type":"WorkerLog","example_id":"a","line":"x"}"#;
    let stopped = r#"{"event_type":"SuiteStarted"}
{"event_type":"SuiteFinished","example_count":0,"failure_count":0,"exit_code":130,"state":"stopped"}"#;
    for text in [EVERYTHING, empty, unfinished, stopped, r#"{"event_type":"SuiteStarted"}"#] {
        let run = folded(text);
        let whole = written_whole(&run);
        assert_eq!(junit(&run, "s"), whole);
        for dialect in [JunitDialect::Jenkins, JunitDialect::Surefire] {
            let translated = Translation::new(dialect).translate(&whole).into_owned();
            assert_eq!(junit_dialect(&run, "s", dialect), translated);
        }
    }
}
