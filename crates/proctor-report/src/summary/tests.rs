use super::*;
use crate::testing::{COLOR, EVERYTHING, NO_COLOR, folded, visible};

fn options() -> SummaryOptions {
    SummaryOptions {
        workers: Some(4),
        load_time: Some(Millis::new(400.0)),
        ..SummaryOptions::default()
    }
}

#[test]
fn a_run_in_which_everything_happens() {
    insta::assert_snapshot!(summary(&folded(EVERYTHING), &options(), NO_COLOR));
}

#[test]
fn colours_end_on_the_line_they_begin_on() {
    let text = summary(&folded(EVERYTHING), &options(), COLOR);
    for line in text.lines() {
        assert!(!line.contains('\x1b') || line.matches("\x1b[0m").count() > 0, "{line:?}");
    }
    let failures: Vec<&str> = text.lines().skip_while(|line| !line.contains("Failures")).collect();
    insta::assert_snapshot!(visible(&failures[..24].join("\n")));
}

#[test]
fn a_good_run_is_one_line() {
    let run = folded(
        r#"{"event_type":"SuiteStarted","seed":7,"example_count":1}
{"event_type":"ExampleStarted","example_id":"a","worker":0,"path":["A","works"]}
{"event_type":"ExampleFinished","example_id":"a","worker":0,"status":"passed","duration_ms":3}
{"event_type":"SuiteFinished","time":"2026-01-22T10:30:00Z","example_count":1,"failure_count":0,"duration_ms":812}"#,
    );
    insta::assert_snapshot!(
        summary(&run, &SummaryOptions::default(), NO_COLOR),
        @"1 example: 1 passed, finished in 812 ms, 1 worker, seed 7"
    );
}

#[test]
fn an_account_that_does_not_add_up_is_said_loudly() {
    let run = folded(
        r#"{"event_type":"SuiteStarted","example_count":4}
{"event_type":"ExampleStarted","example_id":"a","path":["A","works"],"location":"./a_spec.rb:1"}
{"event_type":"ExampleFinished","example_id":"a","status":"passed"}
{"event_type":"ExampleStarted","example_id":"b","path":["A","vanishes"],"location":"./a_spec.rb:2"}"#,
    );
    insta::assert_snapshot!(summary(&run, &SummaryOptions::default(), NO_COLOR));
}

#[test]
fn rates_stand_beside_the_attempts_they_rest_on() {
    let mut text = String::new();
    for repeat in 1..=10 {
        let mut finished = |id: &str, title: &str, status: &str| {
            text += &format!(
                r#"{{"event_type":"ExampleStarted","example_id":"{id}","repeat":{repeat},"path":["Agent","{title}"],"location":"./agent_spec.rb:{}"}}
{{"event_type":"ExampleFinished","example_id":"{id}","repeat":{repeat},"status":"{status}","message":"said {status}"}}
"#,
                title.len()
            );
        };
        let moody = ["passed", "failed", "passed", "inconclusive", "timed_out"][repeat % 5];
        finished("a", "is moody", moody);
        finished("b", "is steady", "passed");
    }
    text +=
        r#"{"event_type":"SuiteFinished","example_count":2,"failure_count":1,"duration_ms":9000}"#;
    insta::assert_snapshot!(summary(&folded(&text), &SummaryOptions::default(), NO_COLOR));
}

#[test]
fn a_full_backtrace_and_a_profile_on_request() {
    let options = SummaryOptions { full_backtrace: true, profile: Some(2), ..options() };
    let text = summary(&folded(EVERYTHING), &options, NO_COLOR);
    assert!(text.contains("# /usr/lib/ruby/3.1.0/kernel.rb:5:in `load'"), "{text}");
    assert!(text.contains("rspec-support-3.12.0"), "{text}");
    let slowest: Vec<&str> = text.lines().skip_while(|line| *line != "Slowest:").take(4).collect();
    insta::assert_snapshot!(slowest.join("\n"));
}

#[test]
fn nothing_ran() {
    let run = folded(r#"{"event_type":"SuiteFinished","example_count":0,"failure_count":0}"#);
    insta::assert_snapshot!(
        summary(&run, &SummaryOptions::default(), NO_COLOR),
        @"0 examples, the run did not finish"
    );
}

/// Two examples that passed: the first checked nothing in one of two repetitions, the second something.
fn unchecked(unchecked_fails: bool) -> proctor_record::RunData {
    folded(&format!(
        r#"{{"event_type":"SuiteStarted","example_count":2,"repetition_count":3,"policy":{{"unchecked_fails":{unchecked_fails}}}}}
{{"event_type":"ExampleStarted","example_id":"a","path":["A","talks"],"location":"./a.scenario.yaml:3"}}
{{"event_type":"ExampleFinished","example_id":"a","status":"passed","checks":0}}
{{"event_type":"ExampleStarted","example_id":"a","repeat":2,"path":["A","talks"],"location":"./a.scenario.yaml:3"}}
{{"event_type":"ExampleFinished","example_id":"a","repeat":2,"status":"passed","checks":1}}
{{"event_type":"ExampleStarted","example_id":"b","path":["A","checks"],"location":"./a.scenario.yaml:7"}}
{{"event_type":"ExampleFinished","example_id":"b","status":"passed","checks":2}}
{{"event_type":"SuiteFinished","time":"2026-01-22T10:30:00Z","example_count":2,"repetition_count":3,"failure_count":{0},"state":"finished","exit_code":{0},"duration_ms":1}}"#,
        u8::from(unchecked_fails)
    ))
}

#[test]
fn examples_that_checked_nothing_are_named() {
    let text = summary(&unchecked(false), &SummaryOptions::default(), NO_COLOR);
    let section = text.split("Pass rates:").next().unwrap().to_owned()
        + text.split("all together").last().unwrap();
    insta::assert_snapshot!(section.trim_start(), @r"
    1 example passed without checking anything:

      A > talks: in 1 of 2 passed repetitions  ./a.scenario.yaml:3
      with `--unchecked fail`, such examples fail the run

    2 examples (3 repetitions): 2 passed (1 checked nothing), finished in 1.0 ms
    ");
}

#[test]
fn examples_that_are_refused_for_checking_nothing_are_failures() {
    let run = unchecked(true);
    let text = summary(&run, &SummaryOptions::default(), NO_COLOR);
    assert!(text.contains("Failures:\n\n  1) A > talks\n"), "{text}");
    let reason = "passed without checking anything in 1 of 2 passed repetitions";
    assert!(text.contains(reason), "{text}");
    assert!(!text.contains("--unchecked fail"), "they fail already: {text}");
    let mut terse = crate::Terse::new(NO_COLOR, SummaryOptions::default());
    let short = crate::Reporter::finish(&mut terse, &run);
    insta::assert_snapshot!(short, @r"
    UNCHECKED A > talks (./a.scenario.yaml:3)
      passed without checking anything in 1 of 2 passed repetitions
      proctor run ./a.scenario.yaml:3
    2 examples (3 repetitions): 2 passed (1 checked nothing), finished in 1.0 ms
    ");
    let mut terse = crate::Terse::new(NO_COLOR, SummaryOptions::default());
    let warned = crate::Reporter::finish(&mut terse, &unchecked(false));
    insta::assert_snapshot!(warned, @r"
    UNCHECKED A > talks (./a.scenario.yaml:3)
      passed without checking anything in 1 of 2 passed repetitions
    2 examples (3 repetitions): 2 passed (1 checked nothing), finished in 1.0 ms
    ");
    let annotations = crate::github_annotations(&run, 10);
    assert!(annotations.contains(reason), "{annotations}");
    let markdown = crate::markdown(&run);
    assert!(markdown.contains('❌') && markdown.contains(reason), "{markdown}");
    let junit = crate::junit(&run, "s");
    assert!(
        junit.contains(&format!(r#"<failure message="{reason}" type="unchecked">"#)),
        "{junit}"
    );
    let tolerated = crate::junit(&unchecked(false), "s");
    assert!(tolerated.contains(r#"<property name="unchecked" value="true"/>"#), "{tolerated}");
    assert!(!tolerated.contains("<failure"), "{tolerated}");
}
