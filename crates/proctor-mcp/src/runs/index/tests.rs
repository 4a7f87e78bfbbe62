use std::io::Write as _;

use super::*;

fn append(path: &Path, lines: &[&str]) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
}

const STARTED: &str = r#"{"event_type":"ExampleStarted","seq":2,"example_id":"a","suite":"rspec","path":["A","b"],"location":"./a.rb:1"}"#;

#[test]
fn a_look_reads_on_from_where_the_last_one_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let mut index = Index::new(&path);
    index.refresh().unwrap();
    assert!(index.examples().is_empty(), "no recording yet");
    append(&path, &[r#"{"event_type":"SuiteStarted","seq":1,"example_count":1}"#, STARTED]);
    index.refresh().unwrap();
    assert_eq!((index.head().planned, index.examples()[0].title.as_str()), (Some(1), "A > b"));
    assert_eq!(index.lines, 2);
    append(
        &path,
        &[
            r#"{"event_type":"EvaluationRecorded","seq":3,"example_id":"a","mode":"hard","name":"polite","passed":false}"#,
            r#"{"event_type":"ExampleFinished","seq":4,"example_id":"a","status":"failed","final":false}"#,
            "not an event",
            r#"{"event_type":"ExampleFinished","seq":5,"example_id":"a","attempt":2,"status":"passed"}"#,
            r#"{"event_type":"SuiteFinished","seq":6,"example_count":1,"failure_count":0,"exit_code":0,"duration_ms":7}"#,
        ],
    );
    index.refresh().unwrap();
    assert_eq!(index.lines, 7, "each line is read once");
    let head = index.head();
    assert!(head.finished && head.flaky == 1 && head.last_seq == 6);
    assert_eq!(head.counts, BTreeMap::from([("passed".to_owned(), 1)]));
    assert_eq!((index.results().len(), index.results()[0].attempt), (1, 2));
    assert!(index.results_since(5).is_empty() && index.results_since(4).len() == 1);
    assert!(index.rows.open.is_empty() && index.rows.failed.is_empty(), "nothing is left open");
}

#[test]
fn what_went_wrong_is_kept_short_and_what_an_agent_said_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let long = "x".repeat(10_000);
    let finished = format!(
        r#"{{"event_type":"ExampleFinished","seq":4,"example_id":"a","status":"failed","exception":{{"class":"E","message":"{long}","backtrace":["./a.rb:1"]}}}}"#
    );
    let said = format!(
        r#"{{"event_type":"AgentResponse","seq":3,"example_id":"a","turn_number":1,"text":"{long}"}}"#
    );
    append(&path, &[STARTED, &finished]);
    let mut index = Index::new(&path);
    index.refresh().unwrap();
    let failure = index.results()[0].failure.as_ref().unwrap();
    assert!(failure.message.as_ref().unwrap().chars().count() < 700);
    assert_eq!(failure.place.as_deref(), Some("./a.rb:1"));
    append(&path, &[&STARTED.replace(r#""a""#, r#""b""#), &said.replace(r#""a""#, r#""b""#)]);
    append(&path, &[&finished.replace(r#""example_id":"a""#, r#""example_id":"b""#)]);
    index.refresh().unwrap();
    let failure = index.results()[1].failure.as_ref().unwrap();
    assert_eq!((failure.message.as_ref(), failure.untrusted), (None, true));
}
