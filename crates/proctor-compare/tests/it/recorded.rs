//! Sides made from recordings: which attempts count, and who is deterministic.

use std::collections::BTreeMap;

use proctor_compare::{Basis, Rules, Side, Verdict, compare};
use proctor_events::Event;
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
        let comparison = compare(&before, &after, &BTreeMap::new(), &Rules::default());
        (comparison.examples[0].basis, comparison.examples[0].verdict)
    };
    let certain = (Basis::Deterministic, Verdict::Regression);
    let uncertain = (Basis::Fisher, Verdict::TooLittleData);
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
