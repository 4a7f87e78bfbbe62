use super::*;
use crate::testing::{EVERYTHING, folded};

#[test]
fn worst_first_and_no_more_than_asked() {
    insta::assert_snapshot!(github_annotations(&folded(EVERYTHING), 5));
    let all = github_annotations(&folded(EVERYTHING), ANNOTATION_LIMIT);
    assert_eq!(all.lines().count(), 7);
    assert!(all.lines().all(|line| line.starts_with("::error ")), "{all}");
}

#[test]
fn what_ends_a_field_is_escaped() {
    let run = folded(
        r#"{"event_type":"ExampleStarted","example_id":"a","path":["A: b, c","100%"],"location":"./spec/a,b_spec.rb:3"}
{"event_type":"ExampleFinished","example_id":"a","status":"failed","exception":{"message":"50%: a, b\r\n::set-env name=X::y\u001b[2J"}}"#,
    );
    insta::assert_snapshot!(
        github_annotations(&run, 10),
        @"::error file=spec/a%2Cb_spec.rb,line=3,title=A%3A b%2C c > 100%25::50%25: a, b%0A::set-env name=X::y␛[2J"
    );
}

#[test]
fn a_log_cannot_give_commands() {
    let text = "  ::add-mask::secret\n[1] ::fine::\n##[error]x\n";
    let safe = without_workflow_commands(text);
    assert_eq!(safe, "  :\u{200b}:add-mask::secret\n[1] ::fine::\n#\u{200b}#[error]x\n");
}
