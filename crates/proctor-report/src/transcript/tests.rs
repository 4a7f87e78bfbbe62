use proctor_record::{Aggregator, Entry, Reader};

use super::*;

fn folded(text: &str) -> RunData {
    let mut aggregator = Aggregator::default();
    for entry in Reader::new(text.as_bytes()) {
        match entry {
            Entry::Event { event, .. } => aggregator.apply(&event),
            Entry::Problem(problem) => panic!("{problem}"),
        }
    }
    aggregator.into_run()
}

const NO_COLOR: Style = Style { color: false };

#[test]
fn the_flow_of_the_seed_in_full() {
    let run = folded(include_str!("../../../proctor-record/tests/seed_flow.jsonl"));
    insta::assert_snapshot!(transcript(&run, Detail::Full, NO_COLOR));
}

#[test]
fn what_went_wrong_is_shown_even_when_brief() {
    let run = folded(
        r#"{"v":1,"seq":1,"run_id":"0190","time":"2026-01-22T10:30:00Z","event_type":"SuiteStarted","seed":7}
{"event_type":"ErrorOutsideExample","phase":"load","place":"./spec/x_spec.rb","exception":{"class":"NameError","message":"uninitialized constant Foo","backtrace":["./spec/x_spec.rb:1"]}}
{"event_type":"ExampleStarted","example_id":"a","path":["Cart","adds"],"location":"./spec/cart_spec.rb:3","attempt":1}
{"event_type":"WorkerLog","example_id":"a","line":"\u001b[31mred\u001b[0m","stream":"stdout"}
{"event_type":"ExampleFinished","example_id":"a","status":"crashed","message":"worker 0 was killed by signal 9","signal":9,"duration_ms":12.5,"leaked":[{"pid":4711,"command":"sleep 1000"}]}
{"event_type":"ExampleStarted","example_id":"b","path":["Cart","totals"],"location":"./spec/cart_spec.rb:9"}
{"event_type":"ExampleFinished","example_id":"b","status":"passed","duration_ms":0.4}
{"event_type":"ExampleStarted","example_id":"c","path":["Agent","is kind"]}
{"event_type":"UserMessage","example_id":"c","turn_number":1,"text":"Hello\nthere"}
{"event_type":"AgentError","example_id":"c","turn_number":1,"error_class":"Timeout","message":"no answer within 5 s"}
{"event_type":"ExampleFinished","example_id":"c","status":"errored","fault":"agent"}
{"event_type":"MoodChanged","example_id":"c"}
"#,
    );
    insta::assert_snapshot!(transcript(&run, Detail::Brief, NO_COLOR));
}

#[test]
fn colours_only_when_asked() {
    let run = folded(r#"{"event_type":"ExampleFinished","example_id":"b","status":"passed"}"#);
    assert!(transcript(&run, Detail::Brief, Style { color: true }).contains("\x1b[32m✓\x1b[0m"));
    assert!(!transcript(&run, Detail::Brief, NO_COLOR).contains('\x1b'));
}
