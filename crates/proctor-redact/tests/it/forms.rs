//! Every form of a known value in every position, and every shape of a key.

use std::borrow::Cow;

use proctor_redact::{Redactor, Secret};
use serde_json::{Value, json};

const SECRET: &str = "Tr0ub4dor&3-x/Y+z==?~";

fn base64(bytes: &[u8], url_safe: bool) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let more = if url_safe { b"-_" } else { b"+/" };
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = (word >> (18 - 6 * place) & 63) as usize;
            text.push(char::from(*alphabet.get(index).unwrap_or_else(|| &more[index - 62])));
        }
    }
    text
}

fn percent(text: &str, encode: impl Fn(usize, u8) -> bool, upper: bool) -> String {
    let spelled =
        text.bytes().enumerate().map(|(index, byte)| match (encode(index, byte), upper) {
            (false, _) => char::from(byte).to_string(),
            (true, true) => format!("%{byte:02X}"),
            (true, false) => format!("%{byte:02x}"),
        });
    spelled.collect()
}

fn quoted(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Name, and the text in which the value of `SECRET` stands in that form.
fn forms() -> Vec<(&'static str, String)> {
    let special = |_, byte: u8| !byte.is_ascii_alphanumeric();
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let unicode: String = SECRET.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let once = percent(SECRET, special, true);
    vec![
        ("plain", SECRET.into()),
        ("upper case", SECRET.to_uppercase()),
        ("lower case", SECRET.to_lowercase()),
        ("quoted once", quoted(SECRET)),
        ("quoted thrice", quoted(&quoted(&quoted(SECRET)))),
        ("slashes escaped", SECRET.replace('/', "\\/")),
        ("slashes escaped and quoted", quoted(&SECRET.replace('/', "\\/"))),
        ("unicode escapes", unicode.clone()),
        ("unicode escapes quoted", quoted(&unicode)),
        ("percent, upper hex", once.clone()),
        ("percent, lower hex", percent(SECRET, special, false)),
        ("percent, all", percent(SECRET, |_, _| true, true)),
        ("percent, some", percent(SECRET, |index, _| index % 3 == 0, true)),
        ("percent, twice", once.replace('%', "%25")),
        ("percent, quoted", quoted(&once)),
        ("hex", hex.clone()),
        ("upper hex", hex.to_uppercase()),
    ]
}

#[test]
fn every_form_is_found_in_every_position() {
    let redactor = Redactor::new([Secret::new(SECRET)]);
    for (name, form) in forms() {
        for (before, after) in
            [("", ""), ("x ", ""), ("", " y"), ("é{", "}é"), ("key=", "&next=1"), ("\\\"", "\\\"")]
        {
            let text = format!("{before}{form}{after}");
            assert_eq!(
                redactor.redact_text(&text),
                format!("{before}[redacted]{after}"),
                "{name}: {text}"
            );
        }
    }
}

#[test]
fn base64_is_found_at_every_alignment_in_both_alphabets() {
    // With characters that differ between the alphabets.
    let secret = "hunter??>>~~2";
    let redactor = Redactor::new([Secret::new(secret)]);
    for url_safe in [false, true] {
        for before in ["", "u", "us", "user:", "a longer beginning: "] {
            for after in ["", "!", "!!", ", and so on"] {
                let encoded = base64(format!("{before}{secret}{after}").as_bytes(), url_safe);
                for text in [
                    encoded.clone(),
                    encoded.replace('/', "\\/"),
                    percent(&encoded, |_, byte| b"+/".contains(&byte), true),
                ] {
                    let clean = redactor.redact_text(&text);
                    assert!(clean.contains("[redacted]"), "{before} {after} {text}");
                    let core = &base64(secret.as_bytes(), url_safe)[..4];
                    assert!(!before.is_empty() || !clean.contains(core), "{clean}");
                }
            }
        }
    }
}

#[test]
fn every_form_is_found_in_json_lines() {
    let redactor = Redactor::new([Secret::new(SECRET)]);
    for (name, form) in forms() {
        let line =
            json!({"seq": 1, "text": format!("a {form} b"), "list": [form], "n": null}).to_string();
        let clean = redactor.redact_json_line(line.as_bytes());
        let clean: Value = serde_json::from_slice(&clean).unwrap();
        assert_eq!(
            clean,
            json!({"seq": 1, "text": "a [redacted] b", "list": ["[redacted]"], "n": null}),
            "{name}"
        );
    }
}

fn keys() -> Vec<(String, &'static str)> {
    let run = |length: usize| "a1B2c3D4e5F6".repeat(9)[..length].to_owned();
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9";
    vec![
        (format!("sk-{}", run(48)), "[redacted]"),
        (format!("sk-proj-{}", run(60)), "[redacted]"),
        (format!("sk-ant-api03-{}", run(60)), "[redacted]"),
        (format!("gsk_{}", run(50)), "[redacted]"),
        (format!("xai-{}", run(60)), "[redacted]"),
        (format!("AIza{}", run(35)), "[redacted]"),
        (format!("ghp_{}", run(36)), "[redacted]"),
        (format!("gho_{}", run(36)), "[redacted]"),
        (format!("ghs_{}", run(36)), "[redacted]"),
        (format!("ghu_{}", run(36)), "[redacted]"),
        (format!("github_pat_{}_{}", run(22), run(59)), "[redacted]"),
        (format!("glpat-{}", run(20)), "[redacted]"),
        ("xoxb-123456789012-1234567890123-abcDEF".into(), "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE".into(), "[redacted]"),
        ("ASIAIOSFODNN7EXAMPLE".into(), "[redacted]"),
        (format!("hf_{}", run(34)), "[redacted]"),
        (format!("npm_{}", run(36)), "[redacted]"),
        (format!("pypi-{}", run(70)), "[redacted]"),
        (format!("sk_live_{}", run(24)), "[redacted]"),
        (format!("rk_live_{}", run(24)), "[redacted]"),
        (format!("SG.{}.{}", run(22), run(43)), "[redacted]"),
        (jwt.into(), "[redacted]"),
        (format!("Bearer {}", run(20)), "Bearer [redacted]"),
        (format!("bearer {}", run(20)), "bearer [redacted]"),
        ("Basic dXNlcjpodW50ZXIy".into(), "Basic [redacted]"),
        (
            "https://hooks.slack.com/services/T00000000/B00000000/abcdefghijkl".into(),
            "https://hooks.slack.com/services/[redacted]",
        ),
        ("postgres://me:hush-hush@db:5432/x".into(), "postgres://me:[redacted]@db:5432/x"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC=\n-----END RSA PRIVATE KEY-----"
                .into(),
            "[redacted]",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r".into(), "[redacted]"),
    ]
}

#[test]
fn every_shape_of_a_key_is_found() {
    let redactor = Redactor::default();
    for (key, expected) in keys() {
        for (before, after) in
            [("", ""), ("use ", "\u{1}then"), ("\"", "\""), ("k=", "&x"), ("é", "é")]
        {
            let text = format!("{before}{key}{after}");
            assert_eq!(redactor.redact_text(&text), format!("{before}{expected}{after}"), "{text}");
        }
        let line = json!({"text": format!("line\n{key}\nline")}).to_string();
        let clean: Value =
            serde_json::from_slice(&redactor.redact_json_line(line.as_bytes())).unwrap();
        let shown = clean["text"].as_str().unwrap();
        assert!(!shown.contains(&key) && shown.contains("[redacted]"), "{shown}");
    }
}

#[test]
fn what_only_resembles_a_key_is_left() {
    let redactor = Redactor::default();
    for text in [
        "a task-management-system-for-everyone",
        "sk-learn-and-other-python-packages",
        "Basic configuration of the server",
        "Bearer authentication",
        "risk-based-approaches-2024-and-later",
        "https://example.com:8080/path@x",
        "http://user@example.com/",
        "postgres://me:${PASSWORD}@db/x",
        "postgres://me:[redacted]@db/x",
        "eyJhbGciOiJIUzI1NiJ9 is a header",
        "AKIA is a prefix; AKIAIOSFODNN7EXAMPLE1 is too long",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "0198c0de-7d3f-7cc2-9d0a-3a7b1c2d4e5f",
        "msg.text and SG.x",
    ] {
        assert!(
            matches!(redactor.redact_text(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}

#[test]
fn variables_are_learned_by_their_names() {
    let redactor = Redactor::default();
    let too_short = redactor.learn_variables([
        ("PATH", "/usr/local/bin"),
        ("OPENAI_API_KEY", "very-hidden"),
        ("MY_TOKEN", "abc"),
        ("DATABASE_URL", "postgres://me:p%40ss-word@db/x"),
        ("REDIS_URL", "redis://localhost:6379"),
        ("EMPTY_TOKEN", ""),
    ]);
    assert_eq!(too_short, ["MY_TOKEN"]);
    assert_eq!(
        redactor.redact_text("/usr/local/bin very-hidden abc p@ss-word redis://localhost:6379"),
        "/usr/local/bin [redacted] abc [redacted] redis://localhost:6379"
    );
}
