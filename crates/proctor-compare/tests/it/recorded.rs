//! Sides made from recordings: which attempts count, and who is deterministic.

use proctor_compare::{Assessment, Basis, Direction, EarlierRuns, Rules, Side, compare};
use proctor_events::{Event, ExampleFinished, ExampleId, ExampleStarted, ModelCall, Status};
use proctor_record::{Aggregator, RunData};

fn folded(lines: &[String]) -> RunData {
    let mut aggregator = Aggregator::default();
    for line in lines {
        aggregator.apply(&Event::from_json(line).unwrap());
    }
    aggregator.into_run()
}

fn started(id: &str, file: &str) -> String {
    format!(
        r#"{{"event_type":"ExampleStarted","example_id":"{id}","file":"{file}","path":["A","{id}"]}}"#
    )
}

fn finished(id: &str, repeat: u32, attempt: u32, rest: &str) -> String {
    format!(
        r#"{{"event_type":"ExampleFinished","example_id":"{id}","repeat":{repeat},"attempt":{attempt},{rest}}}"#
    )
}

#[test]
fn t7_the_attempt_that_decides_a_repetition_counts() {
    let run = folded(&[
        started("x", "a.rb"),
        finished("x", 1, 1, r#""status":"failed","final":false"#),
        finished("x", 1, 2, r#""status":"passed""#),
        finished("x", 2, 1, r#""status":"inconclusive","fault":"judge","final":false"#),
        finished("x", 2, 2, r#""status":"passed""#),
        finished("x", 3, 1, r#""status":"errored","fault":"simulator""#),
        finished("x", 4, 1, r#""status":"errored","fault":"agent""#),
        finished("x", 5, 1, r#""status":"timed_out""#),
        finished("x", 6, 1, r#""status":"cancelled""#),
    ]);
    let sample = &Side::of(&run, "run").examples[0];
    assert_eq!((sample.tally(), sample.not_counted), ((2, 4), 2));
    assert!(sample.mixed);
    assert_eq!(sample.status, "timed_out", "the verdict of the example: its worst repetition");
}

#[test]
fn who_takes_part_decides_who_is_deterministic() {
    let with = |line: &str, status: &str| {
        let mut lines = vec![started("x", "a.rb")];
        if !line.is_empty() {
            lines.extend(line.split('\n').map(ToOwned::to_owned));
        }
        lines.push(finished("x", 1, 1, &format!(r#""status":"{status}""#)));
        Side::of(&folded(&lines), status)
    };
    let judged = |line: &str| {
        let (before, after) = (with(line, "passed"), with(line, "failed"));
        let comparison = compare(&before, &after, &EarlierRuns::default(), &Rules::default());
        (comparison.examples[0].basis, comparison.examples[0].verdict)
    };
    let certain = (Basis::Deterministic, Assessment::Regression);
    let uncertain = (Basis::Fisher, Assessment::CannotTell);
    assert_eq!(judged(""), certain);
    let spoke = r#"{"event_type":"AgentResponse","example_id":"x","turn_number":1,"text":"hi"}"#;
    let call = |rest: &str| format!(r#"{{"event_type":"ModelCall","example_id":"x",{rest}}}"#);
    assert_eq!(judged(spoke), uncertain, "an agent of unknown kind");
    assert_eq!(judged(&call(r#""backend":"anthropic","purpose":"judge""#)), uncertain);
    assert_eq!(judged(&call(r#""backend":"scripted","purpose":"judge""#)), certain);
    let scripted = format!("{spoke}\n{}", call(r#""backend":"scripted","purpose":"agent""#));
    assert_eq!(judged(&scripted), certain);
    let taped =
        format!("{spoke}\n{}", call(r#""backend":"openai","purpose":"agent","cached":true"#));
    assert_eq!(judged(&taped), certain);
}

/// What a recording says of the agent reaches the reason: scripted, declared, or not known.
#[test]
fn the_reason_names_what_is_recorded_of_the_agent() {
    let side = |fields: &str, more: &str, status: &str| {
        let start = format!(
            r#"{{"event_type":"ExampleStarted","example_id":"x","file":"a.yaml","path":["x"]{fields}}}"#
        );
        let reply =
            r#"{"event_type":"AgentResponse","example_id":"x","turn_number":1,"text":"hi"}"#;
        let mut lines = vec![start, reply.to_owned()];
        lines.extend((!more.is_empty()).then(|| more.to_owned()));
        lines.push(finished("x", 1, 1, &format!(r#""status":"{status}""#)));
        Side::of(&folded(&lines), status)
    };
    let judged = |fields: &str, more: &str| {
        let (before, after) = (side(fields, more, "passed"), side(fields, more, "failed"));
        let comparison = compare(&before, &after, &EarlierRuns::default(), &Rules::default());
        let change = comparison.examples[0].clone();
        (change.verdict, change.why)
    };
    let judge =
        r#"{"event_type":"ModelCall","example_id":"x","backend":"openai","purpose":"judge"}"#;
    let scripted = r#","scripted":true"#;
    for (fields, more, verdict, reason) in [
        (scripted, "", Assessment::Regression, "the agent's answers are scripted"),
        (r#","deterministic":true"#, "", Assessment::Regression, "it is declared deterministic"),
        ("", "", Assessment::CannotTell, "whether the agent calls a model is not known"),
        (scripted, judge, Assessment::CannotTell, "a model takes part"),
        ("", judge, Assessment::CannotTell, "a model takes part"),
        (
            r#","scripted":true,"deterministic":false"#,
            "",
            Assessment::CannotTell,
            "it is declared not deterministic",
        ),
    ] {
        let (found, why) = judged(fields, more);
        assert_eq!(found, verdict, "{fields} {more}: {why}");
        assert!(why.contains(reason), "{fields} {more}: {why}");
    }
}

/// One example with so many repetitions: every `fails`-th fails for good, every seventh passes only when it is retried.
fn repeated(repeats: u32, fails: u32) -> RunData {
    let id = ExampleId::from("x");
    let mut aggregator = Aggregator::outline();
    for repeat in 1..=repeats {
        let ends: &[Status] = match () {
            () if repeat % fails == 0 => &[Status::Failed],
            () if repeat % 7 == 0 => &[Status::Failed, Status::Passed],
            () => &[Status::Passed],
        };
        for (attempt, status) in (1..).zip(ends) {
            let last = attempt as usize == ends.len();
            let started = ExampleStarted { path: vec!["x".to_owned()], ..Default::default() };
            let called = ModelCall::default();
            let finished = ExampleFinished {
                status: status.clone(),
                r#final: Some(last),
                ..ExampleFinished::default()
            };
            for event in [Event::from(started), Event::from(called), Event::from(finished)] {
                aggregator.apply(&event.about(&id).in_attempt(repeat, attempt));
            }
        }
    }
    aggregator.into_run().closed()
}

/// T12: the work of a comparison must not grow with the square of the repeats; this test would take minutes.
#[test]
fn t12_one_example_with_100_000_repeats_is_counted_right() {
    let (before, after) = (repeated(100_000, 10), repeated(100_000, 8));
    let retried = (1..=100_000).filter(|it| it % 10 != 0 && it % 7 == 0).count();
    assert_eq!(before.examples[0].attempts.len(), 100_000 + retried);
    let verdict = before.examples[0].verdict(true);
    assert_eq!((verdict.rate().passed, verdict.rate().valid), (90_000, 100_000));
    assert_eq!(before.summary().repetitions, 100_000);
    let (before, after) = (Side::of(&before, "before"), Side::of(&after, "after"));
    assert_eq!(before.examples[0].tally(), (90_000, 100_000));
    assert_eq!(after.examples[0].tally(), (87_500, 100_000));
    let comparison = compare(&before, &after, &EarlierRuns::default(), &Rules::default());
    let change = &comparison.examples[0];
    assert_eq!((change.verdict, change.direction), (Assessment::Regression, Direction::Worse));
    assert!((change.change.estimate + 0.025).abs() < 1e-12);
    let range = change.change.range.unwrap();
    assert!(range.low > -0.028 && range.high < -0.022, "{range:?}");
    assert!(change.p.unwrap() < 1e-60 && comparison.suite.p_worse < 1e-20, "{change:?}");
}

/// The same, where nothing shows: half of all fail on both sides.
#[test]
fn t12_many_repeats_of_the_same_are_no_change() {
    let side = |label| Side::of(&repeated(20_000, 2), label);
    let comparison =
        compare(&side("before"), &side("after"), &EarlierRuns::default(), &Rules::default());
    assert_eq!(comparison.examples[0].verdict, Assessment::NoChangeSeen);
    assert_eq!(comparison.suite.k, 20_000);
    assert!(comparison.suite.p_worse > 0.5 && comparison.suite.p_better > 0.5);
}
