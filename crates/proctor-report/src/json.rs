//! A run as data for programs.

use std::io;

use proctor_record::{Example, ExampleSource, RunData, SerializedRun, Totals, WorkspaceCoverage};
use proctor_verdict::{Counts, ExampleVerdict, Rate, RunState};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use crate::pieces::JsonPieces;

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
    verdicts: Verdicts<'a>,
    /// What workspace examples reached together; absent where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspaces: Option<WorkspaceCoverage>,
    run: SerializedRun<'a>,
}

/// A run as data for programs.
///
/// It is something to serialise rather than a tree of values: tool arguments keep every digit, as they
/// would not in a [`serde_json::Value`](https://docs.rs/serde_json/latest/serde_json/enum.Value.html).
pub fn run_json(run: &RunData) -> RunJson<'_> {
    // A run in memory can be read.
    RunJson::of(run, run.totals().unwrap_or_default())
}

/// Writes a value that holds a [`RunJson`] as indented JSON and a line feed, in pieces of some examples.
///
/// Each piece ends behind a whole member of a list, so that what belongs to one example stands in one piece.
pub fn write_json(
    value: &impl Serialize,
    write: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut pieces = JsonPieces::new(write);
    serde_json::to_writer_pretty(&mut pieces, value)?;
    pieces.finish()
}

impl<'a> RunJson<'a> {
    /// The run with these totals, which are those of the whole run where only a part of its examples is shown.
    pub fn of(source: &'a dyn ExampleSource, totals: Totals) -> Self {
        let verdict = source.run().verdict();
        Self {
            summary: totals.counts,
            state: verdict.state(),
            verdict: verdict.final_word(),
            stopped_by: verdict.stopped_by().map(ToString::to_string),
            exit_code: verdict.exit_code(),
            verdicts: Verdicts(source),
            workspaces: totals.workspaces,
            run: SerializedRun(source),
        }
    }
}

/// The verdicts of all examples.
struct Verdicts<'a>(&'a dyn ExampleSource);

impl std::fmt::Debug for Verdicts<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Verdicts({} examples)", self.0.example_count())
    }
}

impl Serialize for Verdicts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.example_count()))?;
        for place in 0..self.0.example_count() {
            let mut written = Ok(());
            let mut add = |example: &Example| {
                written = list.serialize_element(&VerdictJson::of(example, self.0.run()));
            };
            self.0.with_example(place, &mut add).map_err(S::Error::custom)?;
            written?;
        }
        list.end()
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
