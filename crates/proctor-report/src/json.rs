//! A run as data for programs.

use proctor_record::{Example, RunData, WorkspaceCoverage};
use proctor_verdict::{Counts, ExampleVerdict, Rate, RunState};
use serde::Serialize;

/// What `--json` writes, the same names as in `proctor show --format json`.
#[derive(Debug, Serialize)]
pub struct RunJson<'a> {
    summary: Counts,
    /// Where the run is: finished, stopped, died, …
    state: RunState,
    /// `passed` or `failed`; absent where the run did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    /// What stopped it before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_by: Option<String>,
    exit_code: Option<u8>,
    /// The verdict of every example, in the order of `run.examples`.
    verdicts: Vec<VerdictJson<'a>>,
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
    let verdict = run.verdict();
    RunJson {
        summary: run.summary(),
        state: verdict.state(),
        verdict: verdict.final_word(),
        stopped_by: verdict.stopped_by().map(ToString::to_string),
        exit_code: verdict.exit_code(),
        verdicts: run.examples.iter().map(|example| VerdictJson::of(example, run)).collect(),
        workspaces: run.workspace_coverage(),
        run,
    }
}

impl RunJson<'_> {
    /// The same with the numbers of the whole run, where only a part of its examples is shown.
    #[must_use]
    pub fn with_summary(self, summary: Counts) -> Self {
        Self { summary, ..self }
    }
}

/// The verdict of one example.
#[derive(Debug, Serialize)]
struct VerdictJson<'a> {
    id: Option<&'a str>,
    title: String,
    verdict: ExampleVerdict,
    /// Whether it fails the run.
    failure: bool,
    /// Whether it passed without checking anything.
    unchecked: bool,
    /// Passed and valid repetitions, and those that say nothing.
    rate: Rate,
}

impl<'a> VerdictJson<'a> {
    fn of(example: &'a Example, run: &RunData) -> Self {
        let verdict = example.verdict(run.over);
        Self {
            id: example.id.as_ref().map(proctor_events::ExampleId::as_str),
            title: example.title(),
            verdict,
            failure: verdict.is_failure(run.policy),
            unchecked: verdict.is_unchecked(),
            rate: verdict.rate(),
        }
    }
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
        assert!(text.contains(r#""verdict":"passed","failure":false"#), "{text}");
        assert!(text.contains(r#"{"n":12345678901234567890.10,"big":1e400}"#), "{text}");
    }
}
