use std::io::Write as _;

use proctor_record::Aggregator;
use serde_json::Value;

use super::*;
use crate::runs::view::ResultView;

fn append(path: &Path, lines: &[&str]) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
}

fn view(index: &ResultIndex, result: &FinalResult<'_>) -> Value {
    let attempt = index.whole_attempt(result).unwrap();
    let view = ResultView::new(result.example, &attempt, result.example.verdict(false));
    serde_json::to_value(view).unwrap()
}

const STARTED: &str = r#"{"event_type":"ExampleStarted","seq":2,"example_id":"a","suite":"rspec","path":["A","b"],"location":"./a.rb:1"}"#;

#[test]
fn a_look_reads_on_from_where_the_last_one_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let mut index = ResultIndex::new(&path);
    index.refresh().unwrap();
    assert!(index.examples().next().is_none(), "no recording yet");
    append(&path, &[r#"{"event_type":"SuiteStarted","seq":1,"example_count":1}"#, STARTED]);
    index.refresh().unwrap();
    let title = index.examples().next().unwrap().title();
    assert_eq!((index.run().planned, title.as_str()), (Some(1), "A > b"));
    assert_eq!(index.run().event_count, 2);
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
    assert_eq!(index.run().event_count, 6, "each line is read once");
    let counts = index.run().summary();
    assert!(index.is_finished() && index.last_seq() == 6);
    assert_eq!((counts.passed, counts.flaky, counts.examples), (1, 1, 1));
    let results = index.results();
    assert_eq!((results.len(), results[0].attempt.attempt), (1, 2));
    assert_eq!((index.results_since(5).len(), index.results_since(4).len()), (0, 1));
}

/// As in every other view.
#[test]
fn a_last_line_without_line_feed_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    append(&path, &[STARTED]);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let finished = r#"{"event_type":"ExampleFinished","seq":3,"example_id":"a","status":"passed"}"#;
    file.write_all(finished.as_bytes()).unwrap();
    let mut index = ResultIndex::new(&path);
    index.refresh().unwrap();
    assert_eq!((index.run().event_count, index.results().len()), (2, 1));
    file.write_all(b"\n{\"event_ty").unwrap();
    index.refresh().unwrap();
    assert_eq!((index.run().event_count, index.results().len()), (2, 1));
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
    let mut index = ResultIndex::new(&path);
    index.refresh().unwrap();
    let told = |index: &ResultIndex| {
        let views = index.results().into_iter().map(|one| view(index, &one));
        views.collect::<Vec<_>>()
    };
    let failed = &told(&index)[0];
    assert!(failed["message"].as_str().unwrap().chars().count() < 700);
    assert_eq!(failed["place"], "./a.rb:1");
    append(&path, &[&STARTED.replace(r#""a""#, r#""b""#), &said.replace(r#""a""#, r#""b""#)]);
    append(&path, &[&finished.replace(r#""example_id":"a""#, r#""example_id":"b""#)]);
    index.refresh().unwrap();
    let quoting = &told(&index)[1];
    assert_eq!(
        (&quoting["message"], &quoting["untrusted_available"]),
        (&Value::Null, &true.into())
    );
}

/// What is said of a result in passing is what is said of it when its example is shown.
#[test]
fn a_result_of_the_outline_is_told_like_one_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    append(
        &path,
        &[
            STARTED,
            r#"{"event_type":"WorkerLog","seq":3,"example_id":"a","line":"hello"}"#,
            r#"{"event_type":"EvaluationRecorded","seq":4,"example_id":"a","mode":"hard","name":"polite","passed":false}"#,
            r#"{"event_type":"InvariantEvaluated","seq":5,"example_id":"a","description":"short","passed":false}"#,
            r#"{"event_type":"ExampleFinished","seq":6,"example_id":"a","status":"failed","duration_ms":3,"fault":"agent","exception":{"class":"E","message":" no ","backtrace":["/gems/x.rb:1","./a.rb:9"]}}"#,
        ],
    );
    let mut index = ResultIndex::new(&path);
    index.refresh().unwrap();
    let outline = view(&index, &index.results()[0]);
    let mut whole = Aggregator::default();
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines().for_each(|line| whole.apply(&Event::from_json(line).unwrap()));
    let example = &whole.run().examples[0];
    let whole = ResultView::new(example, &example.attempts[0], example.verdict(false));
    let whole = serde_json::to_value(whole).unwrap();
    assert_eq!(outline, whole);
    assert_eq!(
        (&outline["place"], &outline["broken"]),
        (&"./a.rb:9".into(), &serde_json::json!(["polite", "short"]))
    );
    assert_eq!(outline["untrusted_available"], true);
}

/// An attempt that is to be followed by another has an end too, and may quote its agent.
#[test]
fn an_attempt_without_a_final_result_does_not_pass_on_what_its_agent_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    append(
        &path,
        &[
            STARTED,
            r#"{"event_type":"AgentResponse","seq":3,"example_id":"a","turn_number":1,"text":"obey"}"#,
            r#"{"event_type":"ExampleFinished","seq":4,"example_id":"a","status":"failed","final":false,"message":"said obey"}"#,
        ],
    );
    let mut index = ResultIndex::new(&path);
    index.refresh().unwrap();
    let open = index.open_attempts().next().unwrap();
    let view = view(&index, &open);
    assert_eq!((&view["message"], &view["untrusted_available"]), (&Value::Null, &true.into()));
}

/// Evaluations are folded once each, in whatever pieces the recording is read, and anew when it is replaced.
#[test]
fn workspace_evaluations_are_folded_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let started = STARTED.replace("rspec", "workspace");
    let judged = |seq: u64, passed: bool| {
        format!(
            r#"{{"event_type":"EvaluationRecorded","seq":{seq},"example_id":"a","repeat":{seq},"mode":"hard","description":"steady","passed":{passed}}}"#
        )
    };
    let flaky = |index: &ResultIndex| {
        let coverage = index.workspaces().coverage().unwrap();
        coverage.flaky_assertions.iter().map(|it| (it.passed, it.failed)).collect::<Vec<_>>()
    };
    append(&path, &[&started, &judged(3, true)]);
    let mut index = ResultIndex::new(&path);
    index.refresh().unwrap();
    assert_eq!(flaky(&index), []);
    append(&path, &[&judged(4, false), &judged(5, false)]);
    index.refresh().unwrap();
    index.refresh().unwrap();
    assert_eq!(flaky(&index), [(1, 2)]);
    std::fs::write(&path, format!("{started}\n{}\n{}\n", judged(3, true), judged(4, false)))
        .unwrap();
    index.refresh().unwrap();
    assert_eq!(flaky(&index), [(1, 1)]);
}
