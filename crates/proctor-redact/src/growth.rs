//! Work grows with the text and no faster: counted, not timed.

use crate::matcher::{Matcher, Scope};

fn work(matcher: &Matcher, text: &str) -> usize {
    matcher.search(text.as_bytes(), Scope::All).work
}

/// Texts that are costly for one part or another.
fn hostile_pieces() -> Vec<&'static str> {
    vec![
        "a",
        "aaaaaaab",
        "sk-",
        "SG.",
        "eyJ-",
        "sk-a",
        "eyJ",
        "eyJaaaaaaaaaa.",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "://",
        "://a:b",
        "Bearer ",
        "Bearer a",
        "Basic YTpi",
        "\\",
        "\\u",
        "\\u0061",
        "\\\\\"",
        "%",
        "%25",
        "%61",
        "[redacted]",
        "[redacted",
        "AKIAAAAA",
        "hooks.slack.com/services/",
        "YWFh",
        "616161",
        "\"password\":\"",
        "…",
        "...",
        "aaaaaa…",
        "aaaaab...",
        "\\-",
    ]
}

#[test]
fn work_is_linear_in_the_text_whatever_it_is() {
    let long = "a".repeat(1000);
    let secrets =
        ["aaaaaa", "aaaaaaa", "aaaaaaaa", long.as_str(), "a\"\\\n%41b", "]aaaaaa", "aaa[reda"];
    let matcher = Matcher::new(secrets.into_iter());
    for piece in hostile_pieces() {
        let small = work(&matcher, &piece.repeat(40_000 / piece.len()));
        let large = work(&matcher, &piece.repeat(400_000 / piece.len()));
        assert!(large <= 12 * small.max(1000), "{piece}: {small} {large}");
        assert!(large <= 400_000 * 200, "{piece}: {large}");
    }
}

#[test]
fn a_line_of_ten_megabytes_takes_linear_work() {
    let matcher = Matcher::new(["hunter2hunter2", "s\"cret\\value"].into_iter());
    let text = r#"the quick \"brown\" fox \u0061 %41 sk-nothing, "#.repeat(10 << 20 >> 6);
    assert!(work(&matcher, &text) <= 20 * text.len());
}
