//! The mock's script: the responses of a test, and the script of one run made from them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contained_path::RelPath;
use crate::error::ToolError;
use crate::topic::{TopicPattern, TopicPatternError};

/// An event the mock emits beside its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockEvent {
    /// The topic, such as `build.task`; no pattern.
    pub topic: String,
    /// The payload.
    #[serde(default)]
    pub payload: String,
}

/// One scripted answer of the mock model. Responses are consumed in order; one with `hat` or
/// `trigger_pattern` waits until both fit, and the first that fits wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockResponse {
    /// Only answer while this hat is active. It must be one of the configured hats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hat: Option<String>,
    /// Only answer when the changing part of the prompt (objective, pending events, scratchpad)
    /// matches this regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_pattern: Option<String>,
    /// Match `trigger_pattern` against the whole prompt instead. The orchestrator's own instructions
    /// mention many topics, so a short pattern may match by accident.
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole_prompt: bool,
    /// What the model says. `<event topic="x">payload</event>` in it becomes a real event with its full
    /// payload; the rest is printed.
    pub output: String,
    /// Exit code of the call (default 0); anything else counts as a failed call.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exit_code: u8,
    /// Wait this long before answering. Cut short when the run's `max_runtime_secs` is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Files the model writes, relative to the workspace; `null` deletes one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Option<String>>,
    /// Events in addition to the tags in `output`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<MockEvent>,
    /// What the model prints on standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Print event tags as they are, to test the orchestrator's own parser.
    #[serde(default, skip_serializing_if = "is_false")]
    pub raw_tags: bool,
    /// Lines put into the events file as they are, valid or not: an injected fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub malformed_events: Vec<String>,
    /// Never answer: the call hangs until somebody kills it. An injected fault.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hang: bool,
    /// Give this answer this many times (default 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

impl MockResponse {
    /// A response that says something.
    pub fn saying(output: impl Into<String>) -> Self {
        Self { output: output.into(), ..Self::default() }
    }

    pub(crate) fn times(&self) -> u32 {
        self.times.unwrap_or(1)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u8) -> bool {
    *value == 0
}

/// Checks responses before anything runs: patterns, paths, and hats against the configured ones.
pub(crate) fn check(responses: &[MockResponse], hats: Option<&[String]>) -> Result<(), ToolError> {
    for (index, response) in responses.iter().enumerate() {
        let place = |field: &str| format!("responses[{index}].{field}");
        if let (Some(hat), Some(hats)) = (&response.hat, hats)
            && !hats.contains(hat)
        {
            let message = format!("{}: no hat {hat:?} is configured", place("hat"));
            return Err(ToolError::invalid(message)
                .hint(format!("configured hats: {}", hats.join(", ")))
                .details(serde_json::json!({"hats": hats})));
        }
        if let Some(Err(error)) = response.trigger_pattern.as_deref().map(regex::Regex::new) {
            return Err(ToolError::invalid(format!("{}: {error}", place("trigger_pattern"))));
        }
        for path in response.files.keys() {
            if let Err(problem) = RelPath::parse(path) {
                return Err(ToolError::invalid(format!("{}: {problem}", place("files"))));
            }
        }
        for event in &response.events {
            check_topic(&event.topic)
                .map_err(|error| ToolError::invalid(format!("{}: {error}", place("events"))))?;
        }
        if response.times == Some(0) {
            return Err(ToolError::invalid(format!("{}: it must be at least 1", place("times"))));
        }
    }
    Ok(())
}

/// Why an event cannot be emitted under a topic.
#[derive(Debug, thiserror::Error)]
enum TopicError {
    #[error(transparent)]
    Malformed(#[from] TopicPatternError),
    #[error(
        "{0:?} is a pattern: an event has one topic; lines for malformed_events may be anything"
    )]
    Pattern(String),
}

fn check_topic(topic: &str) -> Result<(), TopicError> {
    let parsed = TopicPattern::parse(topic)?;
    if parsed.is_literal() { Ok(()) } else { Err(TopicError::Pattern(topic.to_owned())) }
}

/// All the mock needs for one run, written into the run's folder.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) workspace: PathBuf,
    /// The hat of a call that names none.
    pub(crate) coordinator: Option<String>,
    pub(crate) responses: Vec<MockResponse>,
    /// How long the orchestrator may run by its own clock.
    pub(crate) max_runtime_ms: u64,
    /// Relative path of a file that asks the orchestrator to stop.
    pub(crate) stop_file: Option<String>,
    /// Where events go if the orchestrator does not say.
    pub(crate) events_file: Option<PathBuf>,
    /// The scratchpad to restore before the loop starts: path and content.
    pub(crate) scratchpad: Option<(String, String)>,
}
