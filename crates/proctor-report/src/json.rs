//! A run as data for programs.

use proctor_record::{RunData, Summary, WorkspaceCoverage};
use serde::Serialize;

/// What `--json` writes: `{"summary": …, "run": …}`, the same names as in `proctor show --format json`.
#[derive(Debug, Serialize)]
pub struct RunJson<'a> {
    summary: Summary,
    /// What workspace examples reached together; absent where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspaces: Option<WorkspaceCoverage>,
    run: &'a RunData,
}

/// A run as data for programs.
///
/// It is something to serialise rather than a tree of values: tool arguments keep every digit, as they
/// would not in a [`serde_json::Value`](https://docs.rs/serde_json/latest/serde_json/enum.Value.html).
pub fn run_json(run: &RunData) -> RunJson<'_> {
    RunJson { summary: run.summary(), workspaces: run.workspace_coverage(), run }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn names_are_stable_and_digits_survive() {
        let run = testing::folded(
            r#"{"event_type":"ExampleStarted","example_id":"a","path":["A","b"],"location":"./a.rb:1"}
{"event_type":"ToolCallCompleted","example_id":"a","turn_number":1,"tool_name":"t","arguments":{"n":12345678901234567890.10,"big":1e400}}
{"event_type":"ExampleFinished","example_id":"a","status":"passed"}"#,
        );
        let text = serde_json::to_string(&run_json(&run)).unwrap();
        assert!(text.starts_with(r#"{"summary":{"examples":1,"passed":1,"#), "{text}");
        assert!(text.contains(r#""run":{"run_id":null,"#), "{text}");
        assert!(text.contains(r#"{"n":12345678901234567890.10,"big":1e400}"#), "{text}");
    }
}
