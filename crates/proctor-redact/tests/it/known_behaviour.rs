//! What the filter has always done.

use proctor_redact::{Redactor, SHORTEST_SECRET, Secret};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn debug_shows_nothing() {
    let secret = Secret::new(" hunter2-hunter2\n");
    assert_eq!(secret.reveal(), "hunter2-hunter2");
    assert_eq!(format!("{secret:?}"), "Secret([redacted])");
    assert_eq!(format!("{:?}", Redactor::new([secret])), "Redactor(1 known)");
}

#[test]
fn known_values_go_wherever_they_stand() {
    let redactor = Redactor::new([Secret::new("abc\"def-ghi"), Secret::new("abc")]);
    assert_eq!(redactor.redact_text(r#"x abc"def-ghi y"#), "x [redacted] y");
    assert_eq!(redactor.redact_text(r#"{"k":"abc\"def-ghi"}"#), r#"{"k":"[redacted]"}"#);
    assert_eq!(
        redactor.redact_text("abc stays: too short to be a secret"),
        "abc stays: too short to be a secret"
    );
}

/// Audit D11: values with quotes, backslashes, tabs and line feeds leaked once they were escaped twice.
#[test]
fn d11_escaping_does_not_hide_a_secret() {
    let nasty = "pass\"word\\with\ttab\nand/slash é<&'🦀";
    let redactor = Redactor::new([Secret::new(nasty)]);
    let mut text = nasty.to_owned();
    for depth in 0..5 {
        assert_eq!(
            redactor.redact_text(&format!("a {text} b")),
            "a [redacted] b",
            "{depth}: {text}"
        );
        let quoted = Value::from(text).to_string();
        text = quoted[1..quoted.len() - 1].to_owned();
    }
    // As Python, Go, PHP and Ruby write JSON.
    for spelled in [
        r#"pass\"word\\with\ttab\nand/slash \u00e9<&'\ud83e\udd80"#,
        r#"pass\"word\\with\ttab\nand/slash é\u003c\u0026\u0027🦀"#,
        r"pass\u0022word\u005Cwith\u0009tab\u000Aand\/slash \u00E9<&'\uD83E\uDD80",
        r"pass\\u0022word\\u005cwith\\u0009tab\\u000aand\\/slash \\u00e9<&'\\ud83e\\udd80",
    ] {
        assert_eq!(redactor.redact_text(&format!("a {spelled} b")), "a [redacted] b", "{spelled}");
    }
}

/// Audit D11: a value that is also the name of a field, or a word of JSON, changes nothing but texts.
#[test]
fn d11_names_of_fields_and_words_of_json_stay() {
    let redactor =
        Redactor::new(["arguments", "metadata", "12345678", "Hush-Hush"].map(Secret::new));
    let value = json!({
        "arguments": {"metadata": "metadata!", "n": 12_345_678, "m": 123_456_789},
        "Hush-Hush": true, "say": ["arguments"],
    });
    assert_eq!(
        redactor.redact_value(&value),
        json!({
            "arguments": {"metadata": "[redacted]!", "n": "[redacted]", "m": 123_456_789},
            "[redacted]": true, "say": ["[redacted]"],
        })
    );
}

#[test]
fn values_that_are_too_short_are_told_apart() {
    let redactor = Redactor::default();
    assert!(!redactor.add_secret(Secret::new("12345")));
    assert!(!redactor.add_secret(Secret::new("ééééé")), "characters count, not bytes");
    assert!(redactor.add_secret(Secret::new("123456")));
    assert!(redactor.add_secret(Secret::new("123456")), "known already");
    assert_eq!(redactor.redact_text("12345 123456"), "12345 [redacted]");
}

#[test]
fn a_value_too_large_for_a_pattern_is_filtered_all_the_same() {
    let large = "\"é".repeat(40_000);
    let redactor = Redactor::new([Secret::new(&large)]);
    let escaped = Value::from(large.as_str()).to_string();
    for text in [large.clone(), escaped.clone(), Value::from(escaped).to_string()] {
        assert!(!redactor.redact_text(&format!("a {text}")).contains('é'));
    }
}

proptest! {
    /// However often it is quoted, in whatever it stands: the secret goes, and JSON stays JSON.
    #[test]
    fn d11_no_secret_survives_in_json(
        secret in "[a-z\"\\\\\t\n\r/é ]{4}[a-z\"\\\\/é][a-z]{3}",
        before in "[^\\\\]{0,4}",
        depth in 0_usize..4,
    ) {
        let secret = Secret::new(secret);
        prop_assume!(secret.reveal().chars().count() >= SHORTEST_SECRET);
        let redactor = Redactor::new([secret.clone()]);
        let mut said = format!("{before}{} and more", secret.reveal());
        for _ in 0..depth {
            said = json!({ "inner": said }).to_string();
        }
        let mut clean = redactor.redact_value(&json!({ "text": said }))["text"].as_str().unwrap().to_owned();
        for _ in 0..depth {
            clean = match serde_json::from_str::<Value>(&clean) {
                Ok(value) => value["inner"].as_str().unwrap().to_owned(),
                // The text before the secret may take part in a match; then there is nothing left to unpack.
                Err(_) => clean,
            };
        }
        prop_assert!(!clean.contains(secret.reveal()), "{clean}");
        prop_assert!(clean.contains("[redacted]"));
    }
}

#[test]
fn what_one_learns_its_clones_know() {
    let redactor = Redactor::new([Secret::new("short-key")]);
    let clone = redactor.clone();
    redactor.add_secret(Secret::new("a-short-key-and-more"));
    redactor.add_secret(Secret::new("short-key"));
    assert_eq!(clone.redact_text("a-short-key-and-more, short-key"), "[redacted], [redacted]");
    assert_eq!(format!("{clone:?}"), "Redactor(2 known)");
}

#[test]
fn names_and_shapes_are_known() {
    let dirty = json!({
        "X-Api-Key": "short", "headers": [{"authorization": "Bearer abcdefghijklmnop"}],
        "text": format!("use sk-ant-{}, or not", "a1B2".repeat(6)), "password": 7,
    });
    assert_eq!(
        Redactor::default().redact_value(&dirty),
        json!({
            "X-Api-Key": "[redacted]", "headers": [{"authorization": "[redacted]"}],
            "text": "use [redacted], or not", "password": 7,
        })
    );
}
