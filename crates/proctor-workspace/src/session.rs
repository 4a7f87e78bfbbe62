//! The session of a run: one line of JSON per record, each with its origin.
//!
//! [`SessionRecord`] is the format of `session.jsonl`; `merge` makes the records of a run from what the
//! orchestrator and the mock left behind; `view` turns them into summary and timeline. All pure.

pub(crate) mod merge;
pub(crate) mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{ErrorKind, ToolError};

pub use view::{Filter, Summary, TimelineEntry};

/// One record of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRecord {
    /// Milliseconds since 1970.
    pub ts: u64,
    /// What it is: `bus.publish`, `bus.emit` (emitted by the agent and never published), `_meta.iteration`,
    /// `_meta.termination`, `model.call` …
    pub event: String,
    /// Its content.
    pub data: Value,
    /// Who says so: `recording` (the orchestrator's own), `events` (its events file), `hooks`, `mock`,
    /// `model` (a real one, through our proxy), `harness`, or several joined by `+`.
    #[serde(default = "unknown_origin")]
    pub origin: String,
}

fn unknown_origin() -> String {
    "recording".to_owned()
}

impl SessionRecord {
    pub(crate) fn topic(&self) -> Option<&str> {
        self.data["topic"].as_str()
    }

    pub(crate) fn payload(&self) -> &str {
        self.data["payload"].as_str().unwrap_or_default()
    }

    /// The iteration it belongs to; 0 before the first.
    pub(crate) fn iteration(&self) -> u64 {
        let field = if self.event == "_meta.iteration" { "n" } else { "iteration" };
        self.data[field].as_u64().unwrap_or_default()
    }

    /// Whether it is an event of the bus, published or only emitted.
    pub(crate) fn is_bus(&self) -> bool {
        matches!(&*self.event, "bus.publish" | "bus.emit")
    }

    pub(crate) fn is_published(&self) -> bool {
        self.event == "bus.publish"
    }
}

/// The text of a session file.
pub(crate) fn to_text(records: &[SessionRecord]) -> String {
    records
        .iter()
        .filter_map(|record| serde_json::to_string(record).ok())
        .map(|line| line + "\n")
        .collect()
}

/// Reads a session file; a line that cannot be read is an error with its number.
pub(crate) fn from_text(text: &[u8], name: &str) -> Result<Vec<SessionRecord>, ToolError> {
    let mut records = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record =
            serde_json::from_slice(line).map_err(|error| corrupt(name, index + 1, &error))?;
        records.push(record);
    }
    Ok(records)
}

fn corrupt(name: &str, line: usize, error: &serde_json::Error) -> ToolError {
    let column = error.column();
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let message = format!("{name} line {line} cannot be read: {what} (column {column})");
    ToolError::new(ErrorKind::CorruptSession, message)
        .hint("the file was changed after the run; run again, or look at the line")
        .details(json!({"file": name, "line": line, "column": column}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_corrupt_line_is_named_by_its_number() {
        let text = b"{\"ts\":1,\"event\":\"a\",\"data\":{}}\n\n{\"ts\":2,\n";
        let error = from_text(text, "session.jsonl").unwrap_err();
        assert_eq!(error.kind, ErrorKind::CorruptSession);
        assert_eq!(error.details["line"], 3);
        assert!(error.message.starts_with("session.jsonl line 3"), "{error}");
        assert!(from_text(b"\xff\xfe\n", "x").unwrap_err().message.contains("line 1"));
    }

    #[test]
    fn records_of_the_orchestrator_alone_can_be_read() {
        let text =
            b"{\"ts\":1,\"event\":\"bus.publish\",\"data\":{\"topic\":\"a\",\"payload\":\"b\"}}";
        let records = from_text(text, "raw").unwrap();
        assert_eq!((records[0].topic(), records[0].payload()), (Some("a"), "b"));
        assert_eq!(records[0].origin, "recording");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(topics in prop::collection::vec(".*", 0..8)) {
            let records: Vec<SessionRecord> = topics.iter().map(|topic| SessionRecord {
                ts: 7,
                event: "bus.publish".to_owned(),
                data: json!({"topic": topic}),
                origin: "events".to_owned(),
            }).collect();
            prop_assert_eq!(from_text(to_text(&records).as_bytes(), "x").unwrap(), records);
        }
    }
}
