use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{ExampleFinished, Exception, Json, Millis, Status, UserMessage};

fn read(line: &str) -> Event {
    Event::from_json(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The sample of the observer design, byte for byte.
#[test]
fn the_flat_form_of_the_seed_is_read_and_written() {
    let line = r#"{"event_type":"UserMessage","example_id":"a3f2b1c9d4e5","turn_number":1,"text":"I want to book a venue for 50 people","source":"simulator","time":"2026-01-22T10:30:00.000000Z"}"#;
    let event = read(line);
    let again: Value = serde_json::from_str(&event.to_json()).unwrap();
    assert_eq!(again, serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(event.seq, None);
}

#[test]
fn unknown_types_survive_word_for_word() {
    let line = r#"{"v":7,"seq":3,"run_id":"r","time":"2026-01-22T10:30:00.500000Z","event_type":"MoodChanged","example_id":"a","mood":{"n":12345678901234567890.10,"x":[1E5]},"note":"a\u0000b"}"#;
    assert_eq!(read(line).to_json(), line);
}

#[test]
fn unknown_fields_survive_at_every_depth() {
    let line = r#"{"v":1,"event_type":"ExampleFinished","status":"quarantined","exception":{"class":"E","message":"m","backtrace":[],"hint":1.50},"output_tail":[],"leaked":[],"weather":{"sky":"blue"}}"#;
    assert_eq!(read(line).to_json(), line);
}

#[test]
fn seed_001_aliases_become_example_finished() {
    let event = read(
        r#"{"event_type":"ExampleFailed","id":"a3f2","duration":2.34,"message":"no","backtrace":["a.rb:1"],"description":"d"}"#,
    );
    assert_eq!(event.example_id.as_ref().map(ExampleId::as_str), Some("a3f2"));
    let Body::ExampleFinished(finished) = &event.body else { panic!("{event:?}") };
    assert_eq!(finished.status, Status::Failed);
    assert_eq!(finished.duration_ms, Some(Millis::new(2340.0)));
    let exception = finished.exception.as_ref().unwrap();
    assert_eq!((exception.message.as_str(), exception.backtrace.len()), ("no", 1));
    assert!(event.extra.is_empty(), "{:?}", event.extra);
}

#[test]
fn pending_keeps_its_reason_and_passed_its_duration() {
    let event = read(r#"{"event_type":"ExamplePending","example_id":"a","message":"later"}"#);
    let Body::ExampleFinished(pending) = &event.body else { panic!() };
    assert_eq!((&pending.status, pending.message.as_deref()), (&Status::Pending, Some("later")));
    let event = read(r#"{"event_type":"ExamplePassed","example_id":"a","duration":0.0005}"#);
    let Body::ExampleFinished(passed) = &event.body else { panic!() };
    assert_eq!(passed.duration_ms, Some(Millis::new(0.5)));
}

#[test]
fn the_older_envelope_is_read_too() {
    let event = read(r#"{"event":"progress","data":{"completed":5,"total":20,"failures":1}}"#);
    assert_eq!(event.type_name(), "Progress");
    let event = read(r#"{"event":"WorkerLog","data":{"worker_index":2,"line":"x"}}"#);
    assert_eq!(event.worker, Some(2));
}

#[test]
fn short_names_of_the_data_flow_are_understood() {
    let event = read(
        r#"{"event_type":"TopicChanged","turn":1,"from":null,"to":"greeting","trigger":"initial"}"#,
    );
    let Body::TopicChanged(changed) = &event.body else { panic!() };
    assert_eq!((changed.turn_number, changed.to_topic.as_str()), (1, "greeting"));
}

#[test]
fn times_in_other_forms_are_understood() {
    for time in ["2026-01-22T11:30:00+01:00", "2026-01-22 10:30:00Z", "2026-01-22 10:30:00 +0000"] {
        let event = read(&json!({"event_type": "Mystery", "time": time}).to_string());
        assert_eq!(event.time.unwrap().to_string(), "2026-01-22T10:30:00Z");
    }
}

/// Audit R15: texts of times sort as the times do, whatever was read.
#[test]
fn r15_times_have_six_fraction_digits() {
    for (given, written) in [
        ("2026-01-22T10:30:00Z", "2026-01-22T10:30:00.000000Z"),
        ("2026-01-22T10:30:00.5Z", "2026-01-22T10:30:00.500000Z"),
        ("2026-01-22T10:30:00.123456789Z", "2026-01-22T10:30:00.123456Z"),
        ("1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.250000Z"),
        ("0001-02-03T04:05:06.000007Z", "0001-02-03T04:05:06.000007Z"),
    ] {
        let event = read(&json!({"event_type": "Mystery", "time": given}).to_string());
        assert_eq!(event.to_json(), format!(r#"{{"time":"{written}","event_type":"Mystery"}}"#));
        assert_eq!(read(&event.to_json()), event, "nothing is lost by writing it");
    }
    let before_year_0 = read(r#"{"event_type":"Mystery","time":"-000001-01-01T00:00:00Z"}"#);
    assert_eq!(read(&before_year_0.to_json()), before_year_0);
}

#[test]
fn errors_name_the_event_and_the_field() {
    let problem = |line: &str| Event::from_json(line).unwrap_err().to_string();
    insta::assert_snapshot!(problem("nonsense"), @"not a JSON object: expected ident at line 1 column 2");
    insta::assert_snapshot!(problem("[1]"), @"not a JSON object: invalid type: sequence, expected a JSON object at line 1 column 0");
    insta::assert_snapshot!(problem("{}"), @"no `event_type`");
    insta::assert_snapshot!(problem(r#"{"event_type":"UserMessage","turn_number":1}"#), @"UserMessage: field `text`: is missing");
    insta::assert_snapshot!(problem(r#"{"event_type":"UserMessage","turn_number":"one","text":""}"#), @r#"UserMessage: field `turn_number`: invalid type: string "one", expected u32"#);
    insta::assert_snapshot!(problem(r#"{"event_type":"Progress","time":"yesterday"}"#), @"Progress: field `time`: `yesterday` is not an RFC 3339 time");
}

#[test]
fn hooks_are_the_snake_case_of_the_name() {
    for kind in EventType::ALL {
        let mut snake = "on".to_owned();
        for letter in kind.name().chars() {
            if letter.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        }
        assert_eq!(kind.hook(), snake);
    }
}

#[test]
fn every_event_of_the_seed_is_in_the_catalogue_with_its_fields() {
    let seed = [
        ("SuiteStarted", "time seed"),
        ("SuiteFinished", "time example_count failure_count"),
        ("ExampleStarted", "example_id file path location time"),
        ("ExampleFinished", "example_id status duration_ms exception"),
        ("SimulationStarted", "example_id goal max_turns time"),
        ("SimulationEnded", "example_id turn_count termination_reason time"),
        ("UserMessage", "example_id turn_number text source time"),
        ("AgentResponse", "example_id turn_number text pending_tool_calls metadata time"),
        ("TopicChanged", "example_id turn_number from_topic to_topic trigger"),
        ("ToolCallStarted", "example_id turn_number tool_call_id tool_name arguments time"),
        (
            "ToolCallCompleted",
            "example_id turn_number tool_call_id tool_name arguments result error metadata time",
        ),
        ("InvariantEvaluated", "example_id topic invariant_type description passed message"),
        ("AgentError", "example_id turn_number error_class message context"),
        ("JudgeError", "example_id operation error_class message"),
    ];
    let schema = crate::json_schema();
    for (name, fields) in seed {
        for field in fields.split(' ') {
            let defined = &schema["$defs"][name]["properties"][field];
            let shared = &schema["$defs"]["Envelope"]["properties"][field];
            assert!(!defined.is_null() || !shared.is_null(), "{name}.{field}");
        }
    }
}

fn json_text() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,9})?",
        ".*".prop_map(|text: String| Value::from(text).to_string()),
    ];
    let nested = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4).prop_map(|all| {
                let parts: Vec<String> = all.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
                format!("{{{}}}", parts.join(","))
            }),
        ]
    });
    nested.prop_map(|text| serde_json::from_str(&text).unwrap())
}

/// `null` in an optional field counts as absent, so it does not come back.
fn not_null() -> impl Strategy<Value = Json> {
    json_text().prop_filter("not null", |json| json.text() != "null")
}

fn body() -> impl Strategy<Value = Body> {
    let message =
        (any::<u32>(), ".*", prop::option::of(not_null())).prop_map(|(n, text, metadata)| {
            UserMessage { turn_number: n, text, source: Some("script".into()), metadata }.into()
        });
    let words = prop::sample::select(Status::KNOWN).prop_map(Status::from);
    let finished = (words, 0.0..1e9_f64, ".*", prop::option::of(any::<bool>())).prop_map(
        |(status, millis, text, last)| {
            ExampleFinished {
                status,
                duration_ms: Some(Millis::new(millis)),
                exception: Some(Exception { message: text, ..Default::default() }),
                r#final: last,
                ..Default::default()
            }
            .into()
        },
    );
    let unknown = "[A-Z][a-z]{1,5}Zz"
        .prop_map(|name: String| Body::Unknown(UnknownEvent { event_type: name.into() }));
    prop_oneof![message, finished, unknown]
}

proptest! {
    /// Whatever is written is read back equal, and its second writing is the first, byte for byte.
    #[test]
    fn round_trip(
        body in body(),
        seq in prop::option::of(any::<u64>()),
        micros in 0_i64..4_102_444_800_000_000,
        extra in prop::collection::btree_map("x_[a-z]{1,6}", json_text(), 0..4),
    ) {
        let mut event = Event::new(body);
        event.seq = seq;
        event.time = Some(Timestamp::from_microsecond(micros).unwrap());
        event.extra = extra.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let line = event.to_json();
        let again = Event::from_json(&line).unwrap();
        prop_assert_eq!(&again, &event);
        prop_assert_eq!(again.to_json(), &*line);
        prop_assert_eq!(serde_json::to_string(&event).unwrap(), line, "both writers agree");
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".*") {
        let _ = Event::from_json(&text);
    }
}
