use proptest::prelude::*;

use super::*;
use crate::testing::{EVERYTHING, folded};

#[test]
fn a_run_in_which_everything_happens() {
    insta::assert_snapshot!(markdown(&folded(EVERYTHING)));
}

fn failing(count: usize, message: &str) -> RunData {
    let message = serde_json::to_string(message).unwrap();
    let lines: Vec<String> = (0..count)
        .map(|n| {
            format!(
                r#"{{"event_type":"ExampleFinished","example_id":"{n}","description":"number {n}","status":"failed","exception":{{"message":{message}}}}}"#
            )
        })
        .collect();
    folded(&lines.join("\n"))
}

#[test]
fn a_thousand_failures_fit_in_a_comment() {
    let text = markdown(&failing(1000, &"long ".repeat(200)));
    assert!(text.len() <= MARKDOWN_LIMIT, "{}", text.len());
    assert!(text.contains(" more failures."), "{}", &text[text.len() - 300..]);
    assert_eq!(text.matches("<details").count(), text.matches("</details>").count());
}

#[test]
fn untrusted_text_stays_text() {
    let text = markdown(&failing(1, "```\n</details><script>x</script> @everyone\n```"));
    assert!(text.contains("````text\n```\n</details><script>"), "{text}");
    assert_eq!(
        cell("<img> @me | [a](b) #12"),
        "&lt;img&gt; @\u{200b}me \\| \\[a\\](b) #\u{200b}12"
    );
    assert_eq!(code("a`b"), "``a`b``");
}

/// F5: `<summary>` is HTML, where a backslash escapes nothing.
#[test]
fn f5_a_summary_has_character_references_instead_of_backslashes() {
    let text = folded(
        r#"{"event_type":"ExampleFinished","example_id":"1","description":"adds *a_b* <i>","status":"failed"}"#,
    );
    let text = markdown(&text);
    assert!(text.contains("adds &#42;a&#95;b&#42; &lt;i&gt;</summary>"), "{text}");
}

proptest! {
    #[test]
    fn a_cell_never_ends_its_row_or_opens_a_tag(text in any::<String>()) {
        let shown = cell(&text);
        prop_assert!(!shown.contains('\n') && !shown.contains('<'));
        prop_assert_eq!(shown.matches('|').count(), shown.matches("\\|").count());
    }
}
