//! Values and texts that were chosen to break the filter.

use std::borrow::Cow;

use proctor_redact::{Redactor, Secret};
use serde_json::{Value, json};

fn redactor<const N: usize>(secrets: [&str; N]) -> Redactor {
    Redactor::new(secrets.map(Secret::new))
}

fn line(redactor: &Redactor, line: &str) -> String {
    String::from_utf8(redactor.redact_json_line(line.as_bytes()).into_owned())
        .expect("JSON is UTF-8")
}

#[test]
fn overlapping_and_nested_secrets_go_as_a_whole() {
    let redactor = redactor(["abcdefgh", "efghijkl", "abcdefghijklmnop", "cdefgh"]);
    assert_eq!(redactor.redact_text("-abcdefghijkl-"), "-[redacted]-");
    assert_eq!(redactor.redact_text("-abcdefghijklmnop-"), "-[redacted]-");
    assert_eq!(redactor.redact_text("-abcdefghijklmno-"), "-[redacted]mno-");
    assert_eq!(redactor.redact_text("abcdefghabcdefgh"), "[redacted][redacted]");
}

#[test]
fn secrets_that_are_parts_of_the_mask() {
    for secret in ["[redacted]", "redacted", "redact", "cted]abc", "abc[redac", "]abcdef"] {
        let redactor = redactor([secret, "hunter2"]);
        for text in [
            format!("x {secret} y"),
            format!("hunter2{secret}hunter2"),
            "hunter2abcdef abchunter2 hunter2abc".into(),
        ] {
            let once = redactor.redact_text(&text).into_owned();
            assert_eq!(redactor.redact_text(&once), once, "{secret}");
            assert!(!once.replace("[redacted]", "").contains(secret), "{once}");
        }
    }
}

#[test]
fn secrets_that_are_names_of_fields_or_words_of_json() {
    let redactor =
        redactor(["arguments", "metadata", "12345678", "Hush-Hush", "\"text\":", "{\"seq\""]);
    let event = r#"{"seq":1,"text":"x","arguments":{"metadata":"metadata!","n":12345678,"m":123456789},"Hush-Hush":true,"HUSH-HUSH":false,"say":["arguments"]}"#;
    assert_eq!(
        line(&redactor, event),
        r#"{"seq":1,"text":"x","arguments":{"metadata":"[redacted]!","n":"[redacted]","m":123456789},"[redacted]":true,"[redacted] 2":false,"say":["[redacted]"]}"#
    );
}

#[test]
fn members_that_say_they_hold_a_secret() {
    let redactor = Redactor::default();
    assert_eq!(
        line(
            &redactor,
            r#"{"x_api_key":"a","X-Api-Key": "b","password":7,"secret":["c"],"cookie":"d","cookies":"e"}"#
        ),
        r#"{"x_api_key":"[redacted]","X-Api-Key": "[redacted]","password":7,"secret":["c"],"cookie":"[redacted]","cookies":"e"}"#
    );
    let clean = r#"{"password":"[redacted]"}"#;
    assert!(matches!(redactor.redact_json_line(clean.as_bytes()), Cow::Borrowed(_)));
}

#[test]
fn escapes_are_never_cut() {
    let redactor = redactor(["nopass1", "u0041bcd", "🦀🦀x🦀🦀🦀", "udd80abc"]);
    for text in [
        r#"{"t":"a\nopass1"}"#,
        r#"{"t":"\u0041bcd"}"#,
        r#"{"t":"\\u0041bcd"}"#,
        r#"{"t":"\ud83e\udd80abc"}"#,
        r#"{"t":"\uD83E\uDD80\ud83e\udd80x🦀🦀🦀"}"#,
        r#"{"t":"\\nopass1\\"}"#,
    ] {
        let clean = line(&redactor, text);
        let value: Value =
            serde_json::from_str(&clean).unwrap_or_else(|error| panic!("{clean}: {error}"));
        assert!(value["t"].as_str().unwrap().contains("[redacted]"), "{clean}");
    }
}

#[test]
fn surroundings_do_not_hide_a_secret() {
    let redactor = redactor(["deadbeef99", "u12345\"x", "hunter%", "1bc\"def"]);
    for text in [
        "%deadbeef99",
        "%4deadbeef99",
        "\\deadbeef99",
        "\\u12345\\\"x",
        "hunter%41",
        "hunter%2541",
        "%41bc\\\"def",
    ] {
        assert!(redactor.redact_text(text).contains("[redacted]"), "{text}");
    }
}

#[test]
fn neighbours_need_not_be_utf8() {
    let redactor = redactor(["hunter2", "grün-und-blau"]);
    let mut bytes = b"\xff\xfehunter2\x80\xc3".to_vec();
    bytes.extend_from_slice("grün-und-blau".as_bytes());
    bytes.push(0xc3);
    assert_eq!(redactor.redact_bytes(&bytes).as_ref(), b"\xff\xfe[redacted]\x80\xc3[redacted]\xc3");
    assert_eq!(
        redactor.redact_json_line(&bytes).as_ref(),
        b"\xff\xfe[redacted]\x80\xc3[redacted]\xc3"
    );
    assert_eq!(redactor.redact_text("GRÜN-UND-BLAU"), "[redacted]");
}

#[test]
fn percent_bytes_in_a_secret_never_split_a_character() {
    let redactor = redactor(["%a9xxxxxx"]);
    assert!(redactor.redact_text("éxxxxxx").is_char_boundary(0));
    assert_eq!(redactor.redact_text("%a9xxxxxx"), "[redacted]");
}

#[test]
fn what_is_not_json_is_redacted_as_text() {
    let redactor = redactor(["hunter2"]);
    for (text, expected) in [
        ("{\"a\":\"hunter2", "{\"a\":\"[redacted]"),
        ("hunter2", "[redacted]"),
        ("]hunter2", "][redacted]"),
    ] {
        assert_eq!(line(&redactor, text), expected);
    }
}

#[test]
fn any_depth_of_nesting_is_read() {
    let redactor = redactor(["hunter2"]);
    let deep = format!("{}\"hunter2\"{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(line(&redactor, &deep).contains("[[\"[redacted]\"]]"));
}

#[test]
fn long_values_are_found() {
    let pem: String = (0..300).map(|line| format!("line{line}{}\n", line * line)).collect();
    let redactor = redactor([pem.as_str()]);
    let clean = redactor.redact_text(&pem).into_owned();
    assert!(clean.replace("[redacted]", "").len() < 10, "{clean}");
    let event = json!({ "text": format!("a {} b", pem.trim()) }).to_string();
    let clean = line(&redactor, &event);
    assert!(clean.replace("[redacted]", "").len() < 30, "{clean}");
}
