//! Texts in chunks.

use proctor_redact::{Redactor, Secret, StreamRedactor};

fn printed(redactor: &Redactor, chunks: &[&str]) -> String {
    let mut stream = StreamRedactor::new(redactor.clone());
    let mut text: String = chunks.iter().map(|chunk| stream.push(chunk)).collect();
    text.push_str(&stream.finish());
    text
}

#[test]
fn a_secret_is_found_however_it_is_split() {
    let redactor = Redactor::new([Secret::new("hun\"ter22"), Secret::new("hunterhunter")]);
    let key = format!("sk-{}", "a1B2".repeat(8));
    for secret in [
        "hun\"ter22",
        "hun\\\"ter22",
        "hun%22ter22",
        "hunterhunter",
        "aHVudGVyaHVudGVy",
        key.as_str(),
        "github_pat_1234567890123456789012",
    ] {
        let text = format!("so {secret} it is");
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(printed(&redactor, &bytes), "so [redacted] it is", "{secret}");
        for cut in 0..text.len() {
            assert_eq!(
                printed(&redactor, &[&text[..cut], &text[cut..]]),
                "so [redacted] it is",
                "{cut} {secret}"
            );
        }
    }
}

#[test]
fn only_what_may_be_a_secret_is_held_back() {
    let mut stream = StreamRedactor::new(Redactor::new([Secret::new("hunter22")]));
    assert_eq!(stream.push("I saw the hun"), "I saw the ");
    assert_eq!(stream.held(), 3);
    assert_eq!(stream.push("ting of Zorro."), "hunting of Zorro.");
    assert_eq!((stream.push("hunter22"), stream.held()), ("[redacted]".into(), 0));
    assert_eq!(stream.finish(), "");
}

#[test]
fn memory_is_bounded_by_whatever_arrives() {
    let redactor = Redactor::new([Secret::new("hunt\"er22")]);
    for (first, more) in [
        ("Bearer a1", "b2c3"),
        ("-----BEGIN PRIVATE KEY-----\n", "MIIB\n"),
        ("hunt", "\\\\"),
        ("://", "a:b"),
        ("", "eyJ"),
    ] {
        let mut stream = StreamRedactor::new(redactor.clone());
        let mut length = stream.push(first).len();
        for _ in 0..3_000 {
            length += stream.push(more).len();
            assert!(stream.held() < 8_000, "{first}");
        }
        length += stream.finish().len();
        assert!(length <= first.len() + 3_000 * more.len());
        if first.starts_with(['B', '-']) {
            let kept = if first.starts_with('B') { "Bearer ".len() } else { 0 };
            assert_eq!(length, kept + "[redacted]".len(), "{first}");
        }
    }
}
