//! What a cut leaves of a secret, and spellings of other languages.

use std::borrow::Cow;

use proctor_redact::{Redactor, Secret};
use proptest::prelude::*;

const KEY: &str = "marker-openai-7Qx2";
/// `KEY` in base64.
const ENCODED: &str = "bWFya2VyLW9wZW5haS03UXgy";

fn redactor() -> Redactor {
    Redactor::new([Secret::new(KEY)])
}

#[test]
fn beginnings_before_a_cut_mark_are_masked() {
    for whole in
        [KEY, ENCODED, "6d61726b65722d6f70656e6169", "MARKER-OPENAI-7QX2", "marker\\-openai\\-7Qx2"]
    {
        for length in 6..whole.len() {
            let part = whole[..length].trim_end_matches('\\');
            for mark in ["…", "...", " …", "\\u2026"] {
                let clean =
                    redactor().redact_text(&format!("said: {part}{mark} and more")).into_owned();
                assert_eq!(clean, format!("said: [redacted]{mark} and more"), "{part}");
            }
        }
    }
}

#[test]
fn ends_behind_a_cut_mark_are_masked() {
    for whole in [KEY, ENCODED] {
        for start in 1..whole.len() - 6 {
            let clean =
                redactor().redact_text(&format!("…{} and more", &whole[start..])).into_owned();
            assert_eq!(clean, "…[redacted] and more", "{}", &whole[start..]);
        }
    }
    assert_eq!(redactor().redact_text("so marker-ope…nai-7Qx2 is"), "so [redacted]…[redacted] is");
}

#[test]
fn parts_elsewhere_and_short_ones_stay() {
    for text in
        ["marker-openai is a name", "mark… and …7Qx2", "openai…", "…marker", "1...5", "marker"]
    {
        assert!(matches!(redactor().redact_text(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn cut_strings_in_json_lines_are_masked() {
    let line = r#"{"message":"expected \"keys: bWFya2VyLW9wZW…\" to match","n":1}"#;
    let clean = redactor().redact_json_line(line.as_bytes()).into_owned();
    assert_eq!(
        String::from_utf8(clean).unwrap(),
        r#"{"message":"expected \"keys: [redacted]…\" to match","n":1}"#
    );
}

#[test]
fn padding_goes_with_its_base64() {
    for (value, text) in [("hunter2", "aHVudGVyMg=="), ("hunter22", "aHVudGVyMjI=")] {
        let redactor = Redactor::new([Secret::new(value)]);
        assert_eq!(redactor.redact_text(&format!("a={text};")), "a=[redacted];");
        assert_eq!(redactor.redact_text(&text.replace('=', "%3D")), "[redacted]");
    }
}

#[test]
fn spellings_of_regular_expressions_shells_and_xml() {
    let value = "it's-a <\"key\"> & $more.1";
    let redactor = Redactor::new([Secret::new(value), Secret::new(KEY)]);
    for text in [
        "/(?-mix:marker\\-openai\\-7Qx2)/",
        "\"/marker\\\\-openai\\\\-7Qx2/\"",
        "it\\'s\\-a\\ \\<\\\"key\\\"\\>\\ \\&\\ \\$more\\.1",
        "'it'\\''s-a <\"key\"> & $more.1'",
        "'it'\"'\"'s-a <\"key\"> & $more.1'",
        "it&apos;s-a &lt;&quot;key&quot;&gt; &amp; $more.1",
        "it&#39;s-a &lt;&quot;key&quot;&gt; &amp; $more.1",
        "it's-a &lt;\"key\"&gt; &amp; $more.1",
    ] {
        let clean = redactor.redact_text(text);
        assert!(clean.contains("[redacted]"), "{text}");
        for rest in ["marker", "openai", "key", "more"] {
            assert!(!clean.contains(rest), "{text}: {clean}");
        }
    }
}

#[test]
fn a_value_whose_escapes_a_shell_has_read() {
    let redactor = Redactor::new([Secret::new("hunter\\t22\\nx")]);
    assert_eq!(redactor.redact_text("is hunter\t22\nx"), "is [redacted]");
}

proptest! {
    /// Wherever a text with a secret is cut, at most four characters of the secret stay beside the mark.
    #[test]
    fn no_cut_leaves_more_than_four_characters(
        secret in "[n-z5-9]{8,40}", before in "[A-M ]{0,20}", after in "[A-M ]{0,20}", at in 0_usize..80, keep_end in any::<bool>(),
    ) {
        let redactor = Redactor::new([Secret::new(&secret)]);
        let text = format!("{before}{secret}{after}");
        let at = at.min(text.len());
        let cut = if keep_end { format!("…{}", &text[at..]) } else { format!("{}…", &text[..at]) };
        let clean = redactor.redact_text(&cut).into_owned();
        let left = clean.replace("[redacted]", "").chars().filter(|c| secret.contains(*c)).count();
        prop_assert!(left <= 4, "{cut} became {clean}");
    }
}
