//! Unit tests of classification and encoding.

use super::encode::Line;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn text(line: Result<Line, EncodeError>) -> String {
    String::from_utf8(line.unwrap()).unwrap()
}

#[test]
fn kinds_are_told_apart_by_reply_to_id_and_action() {
    let table = [
        (r#"{"id":"r1","action":"list"}"#, "request r1 list"),
        (r#"  {"id":"r1","action":"list"} "#, "request r1 list"),
        (r#"{"reply_to":"r1","count":3}"#, "reply r1 ok"),
        (r#"{"reply_to":"r1","id":"x","action":"y"}"#, "reply r1 ok"),
        (r#"{"reply_to":"r1","error":null}"#, "reply r1 ok"),
        (r#"{"reply_to":"r1","error":{"code":"failed"}}"#, "reply r1 failed"),
        (r#"{"type":"event","payload":{}}"#, "notification event"),
        (r#"{"type":"cancel_request","id":"r1"}"#, "notification cancel_request"),
        (r#"{"action":"no id"}"#, "notification "),
        (r"{}", "notification "),
        (r#"{"id":"r1"}"#, "unclear r1"),
        (r#"{"id":"\u0072\n1","action":"a\"b"}"#, "request r\n1 a\"b"),
    ];
    for (line, expected) in table {
        let found = match classify(line).unwrap() {
            Message::Reply { to, error: None } => format!("reply {to} ok"),
            Message::Reply { to, .. } => format!("reply {to} failed"),
            Message::Request { id, action } => format!("request {id} {action}"),
            Message::Unclear { id } => format!("unclear {id}"),
            Message::Notification { kind, .. } => format!("notification {kind}"),
        };
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn what_is_not_an_object_or_has_a_wrong_envelope_is_malformed() {
    let lines = [
        "",
        "nonsense",
        "[1,2]",
        "3",
        "\"x\"",
        "{",
        "{}x",
        r#"["r1","list"]"#,
        r#"{"id":1,"action":"x"}"#,
        r#"{"reply_to":{}}"#,
        r#"{"id":"a","id":"b","action":"x"}"#,
    ];
    for line in lines {
        assert!(classify(line).is_err(), "{line}");
    }
}

#[test]
fn payload_keys_join_the_envelope() {
    assert_eq!(
        text(request_line("r1", "list", &json!({"a": 1}), 99)),
        "{\"id\":\"r1\",\"action\":\"list\",\"a\":1}\n"
    );
    assert_eq!(text(request_line("r1", "x", &(), 99)), "{\"id\":\"r1\",\"action\":\"x\"}\n");
    assert_eq!(text(reply_line("r1", &json!({}), 99)), "{\"reply_to\":\"r1\"}\n");
    assert_eq!(
        text(notification_line("log", &json!({"level": "info"}), 99)),
        "{\"type\":\"log\",\"level\":\"info\"}\n"
    );
}

#[test]
fn a_pretty_raw_value_still_makes_one_line() {
    let raw: Box<RawValue> = serde_json::from_str("{\n  \"a\": \"x\\n\"\n}").unwrap();
    let line = text(notification_line("event", &raw, 99));
    assert_eq!(line.matches('\n').count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), json!({"type": "event", "a": "x\n"}));
    let empty: Box<RawValue> = serde_json::from_str("{ \n }").unwrap();
    assert_eq!(text(notification_line("event", &empty, 99)), "{\"type\":\"event\"}\n");
}

#[test]
fn what_cannot_be_sent_is_refused() {
    assert!(matches!(request_line("r1", "x", &[1], 99), Err(EncodeError::NotAnObject)));
    assert!(matches!(request_line("r1", "x", &3, 99), Err(EncodeError::NotAnObject)));
    assert!(matches!(
        request_line("r1", "x", &json!({"id": 1}), 99),
        Err(EncodeError::ReservedKey { key: "id" })
    ));
    assert!(request_line("r1", "x", &json!({"deep": {"id": 1}}), 99).is_ok());
    assert!(matches!(
        notification_line("x", &json!({"text": "a".repeat(100)}), 99),
        Err(EncodeError::TooLong { .. })
    ));
}

#[test]
fn an_error_always_fits() {
    let line = error_line("r1", &ReplyError::failed("x".repeat(500)), 200);
    let value: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(value["error"]["code"], "too_large");
}

#[test]
fn errors_of_any_shape_are_read() {
    let read =
        |text: &str| ReplyError::from_raw(&serde_json::from_str::<Box<RawValue>>(text).unwrap());
    assert_eq!(
        read(r#"{"code":"bad_request","message":"no"}"#),
        ReplyError::new("bad_request", "no")
    );
    assert_eq!(read(r#""boom""#), ReplyError::failed("boom"));
    assert_eq!(read("17"), ReplyError::failed("17"));
}

proptest! {
    #[test]
    fn a_request_survives_the_round_trip(id in ".{0,20}", action in ".{0,20}", note in ".{0,50}") {
        let line = text(request_line(&id, &action, &json!({"note": note}), MAX_LINE));
        prop_assert_eq!(line.matches('\n').count(), 1);
        let line = line.trim_end_matches('\n');
        let Message::Request { id: id_read, action: action_read } = classify(line).unwrap() else {
            panic!("not a request: {line}");
        };
        prop_assert_eq!(id_read, id);
        prop_assert_eq!(action_read, action);
        prop_assert_eq!(Body::new(line).value()["note"].clone(), json!(note));
    }
}

/// The fields of an event as one text, or what stands in their place.
fn event_of(line: &str) -> String {
    let Message::Notification { event, .. } = classify(line).unwrap() else { panic!("{line}") };
    event.map_or_else(
        || "no event".to_owned(),
        |event| {
            let fields = event.fields.iter().map(|(name, value)| format!("{name}={}", value.get()));
            format!("{}: {}", event.event_type, fields.collect::<Vec<_>>().join(" "))
        },
    )
}

#[test]
fn the_payload_of_an_event_comes_as_fields_with_untouched_values() {
    let line = r#"{"type":"event","event_type":"A","payload":{"key":"a\u0062", "n": 1.50 ,"k\u0065y":[{"x":1}]}}"#;
    assert_eq!(event_of(line), r#"A: key="a\u0062" n=1.50 key=[{"x":1}]"#);
    assert_eq!(event_of(r#"{"payload":{},"event_type":"A"}"#), "A: ");
}

#[test]
fn a_payload_of_another_type_is_no_event_and_no_error() {
    let payloads = ["1", "-1", "1.5", "true", "null", "\"text\"", "\"t\\u0065xt\"", "[1,{}]"];
    for payload in payloads {
        assert_eq!(
            event_of(&format!("{{\"event_type\":\"A\",\"payload\":{payload}}}")),
            "no event",
            "{payload}"
        );
        let named = format!("{{\"event_type\":{payload},\"payload\":{{}}}}");
        let expected = if payload.starts_with('"') { "text: " } else { "no event" };
        assert_eq!(event_of(&named), expected, "{payload}");
    }
    assert_eq!(event_of("{\"event_type\":{\"a\":1},\"payload\":{}}"), "no event");
    assert_eq!(event_of("{\"event_type\":\"A\"}"), "no event");
}
