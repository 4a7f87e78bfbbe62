use super::*;
use serde_json::json;

fn read(value: Value) -> Assertion {
    serde_json::from_value(value).unwrap()
}

/// Every type, with the least it needs.
fn every_type() -> Vec<Value> {
    vec![
        json!({"type": "exit_code", "expected": 0}),
        json!({"type": "termination_reason", "expected": "MaxIterations"}),
        json!({"type": "iterations", "exact": 1}),
        json!({"type": "file_exists", "path": "a"}),
        json!({"type": "file_contains", "path": "a", "pattern": "b"}),
        json!({"type": "file_not_contains", "path": "a", "pattern": "b"}),
        json!({"type": "event_occurred", "topic": "a"}),
        json!({"type": "event_sequence", "topics": ["a"]}),
        json!({"type": "event_count", "topic": "a", "min": 1}),
        json!({"type": "scratchpad_contains", "pattern": "a"}),
        json!({"type": "no_event", "topic": "a"}),
        json!({"type": "duration", "max_secs": 1}),
        json!({"type": "hat_sequence", "hats": ["a"]}),
        json!({"type": "stdout_contains", "pattern": "a"}),
        json!({"type": "stderr_contains", "pattern": "a"}),
        json!({"type": "file_unchanged", "path": "a"}),
        json!({"type": "snapshot_matches", "snapshot": "initial"}),
        json!({"type": "no_drift"}),
        json!({"type": "json_path", "path": "a", "query": "$", "expected": 1}),
    ]
}

#[test]
fn every_type_is_read_checked_and_named_as_it_is_written() {
    for value in every_type() {
        let assertion = read(value.clone());
        assert_eq!(assertion.check(), Ok(()), "{value}");
        assert_eq!(json!(assertion.name()), value["type"]);
        assert!(assertion.title().starts_with(assertion.name()));
        assert_eq!(read(serde_json::to_value(&assertion).unwrap()), assertion);
    }
}

#[test]
fn an_unknown_field_or_type_is_refused() {
    for value in every_type() {
        let mut odd = value.clone();
        odd["extra"] = json!(1);
        assert!(serde_json::from_value::<Assertion>(odd).is_err(), "{value}");
    }
    assert!(serde_json::from_value::<Assertion>(json!({"type": "vibes"})).is_err());
}

/// A tagged enum buffers its members; a number must come through however it is written.
#[test]
fn a_duration_may_be_written_with_any_digits() {
    for text in ["2.5", "2.50", "25e-1"] {
        let written = format!(r#"{{"type": "duration", "max_secs": {text}}}"#);
        let read: Assertion = serde_json::from_str(&written).unwrap();
        assert_eq!(read, Assertion::Duration { max_secs: 2.5 }, "{text}");
    }
}
