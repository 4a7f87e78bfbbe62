//! Assertions: what a test expects, and how it is checked.
//!
//! The types are what users and models write. [`check_all`] finds every mistake in patterns and paths before
//! anything is judged; `judge` then evaluates all of them, never stopping early. Judging reads
//! files through the workspace's root only.

mod facts;
mod json_path;
mod judge;
mod warnings;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contained_path::{PathProblem, RelPath};
use crate::error::ToolError;
use crate::snapshot::{INITIAL, Selection};
use crate::topic::TopicPattern;

pub use json_path::QueryError;

pub(crate) use facts::Facts;
pub(crate) use judge::judge_all;
pub(crate) use warnings::warnings;

/// A number however it is written. A tagged enum buffers its members, and `serde_json` hands out buffered numbers
/// such as `2.50` as its own type.
fn any_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    number.as_f64().ok_or_else(|| serde::de::Error::custom("expected a number of seconds"))
}

fn initial() -> String {
    INITIAL.to_owned()
}

/// One thing that must hold. Topics may be topic patterns (`build.*`); a `pattern` is a regular expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Assertion {
    /// The orchestrator's exit code.
    ExitCode {
        /// 0 completed, 1 failed, 2 a limit was reached.
        expected: i32,
    },
    /// Why the run ended.
    TerminationReason {
        /// `CompletionPromise`, `MaxIterations`, `MaxRuntime`, `ConsecutiveFailures`, `LoopStale`, `Stopped` …
        expected: String,
    },
    /// How many iterations there were.
    Iterations {
        /// At least so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<u64>,
        /// At most so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
        /// Exactly so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exact: Option<u64>,
    },
    /// A file or folder is there.
    FileExists {
        /// Relative to the workspace.
        path: String,
    },
    /// A file matches a pattern somewhere.
    FileContains {
        /// Relative to the workspace.
        path: String,
        /// A regular expression.
        pattern: String,
    },
    /// A file matches a pattern nowhere. The file must exist.
    FileNotContains {
        /// Relative to the workspace.
        path: String,
        /// A regular expression.
        pattern: String,
    },
    /// An event occurred.
    EventOccurred {
        /// A topic, or a pattern of topics: `*` is one segment, `**` any number, a lone `*` every topic.
        topic: TopicPattern,
        /// A regular expression that its payload must match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload_pattern: Option<String>,
        /// Count only what was published, not what was only emitted.
        #[serde(default)]
        published_only: bool,
    },
    /// Events occurred in this order, others may lie between.
    EventSequence {
        /// Topics or patterns of topics.
        topics: Vec<TopicPattern>,
        /// Count only what was published, not what was only emitted.
        #[serde(default)]
        published_only: bool,
    },
    /// How often an event occurred.
    EventCount {
        /// A topic, or a pattern of topics: `*` is one segment, `**` any number, a lone `*` every topic.
        topic: TopicPattern,
        /// At least so often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<u64>,
        /// At most so often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
        /// Exactly so often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exact: Option<u64>,
        /// Count only what was published, not what was only emitted.
        #[serde(default)]
        published_only: bool,
    },
    /// The scratchpad matches a pattern after the run.
    ScratchpadContains {
        /// A regular expression.
        pattern: String,
    },
    /// An event never occurred.
    NoEvent {
        /// A topic, or a pattern of topics: `*` is one segment, `**` any number, a lone `*` every topic.
        topic: TopicPattern,
        /// Count only what was published, not what was only emitted.
        #[serde(default)]
        published_only: bool,
    },
    /// The run took at most this long.
    Duration {
        /// Seconds.
        #[serde(deserialize_with = "any_number")]
        #[schemars(with = "f64")]
        max_secs: f64,
    },
    /// Hats were worn in this order.
    HatSequence {
        /// Hat ids, one per iteration; others may lie between unless `exact`.
        hats: Vec<String>,
        /// Nothing may lie between, before or after.
        #[serde(default)]
        exact: bool,
    },
    /// Standard output of the orchestrator matches a pattern (colours removed).
    StdoutContains {
        /// A regular expression.
        pattern: String,
    },
    /// Standard error of the orchestrator matches a pattern (colours removed).
    StderrContains {
        /// A regular expression.
        pattern: String,
    },
    /// A file is as it was.
    FileUnchanged {
        /// Relative to the workspace.
        path: String,
        /// Since this snapshot (default `initial`).
        #[serde(default = "initial")]
        since: String,
    },
    /// All files are as they were in a snapshot.
    SnapshotMatches {
        /// The snapshot (`initial` or an id of `test_snapshot`).
        snapshot: String,
        /// Look only at these files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        include_patterns: Vec<String>,
        /// Do not look at these files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exclude_patterns: Vec<String>,
    },
    /// The replay of a cassette did what the recorded run did: same calls, prompts, hats, topics and end.
    NoDrift {},
    /// A value in a JSON file.
    JsonPath {
        /// The file, relative to the workspace.
        path: String,
        /// Where in it: `$.a.b[0]`, `$.items[*].name`, `$..id`.
        query: String,
        /// The value that must be found there (any of the found ones may equal it).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<Value>,
        /// A regular expression that a found value must match as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
}

/// The outcome of one assertion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionResult {
    /// Its type.
    pub assertion: String,
    /// Whether it holds.
    pub passed: bool,
    /// Whether it could not be decided: secrets are masked in the text, and may be what it is about. `passed` is false then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// What was expected.
    pub expected: Value,
    /// What was found.
    pub actual: Value,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The topic it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The pattern it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Why it does not hold, or why that is unknown, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Assertion {
    /// Its type as written in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ExitCode { .. } => "exit_code",
            Self::TerminationReason { .. } => "termination_reason",
            Self::Iterations { .. } => "iterations",
            Self::FileExists { .. } => "file_exists",
            Self::FileContains { .. } => "file_contains",
            Self::FileNotContains { .. } => "file_not_contains",
            Self::EventOccurred { .. } => "event_occurred",
            Self::EventSequence { .. } => "event_sequence",
            Self::EventCount { .. } => "event_count",
            Self::ScratchpadContains { .. } => "scratchpad_contains",
            Self::NoEvent { .. } => "no_event",
            Self::Duration { .. } => "duration",
            Self::HatSequence { .. } => "hat_sequence",
            Self::StdoutContains { .. } => "stdout_contains",
            Self::StderrContains { .. } => "stderr_contains",
            Self::FileUnchanged { .. } => "file_unchanged",
            Self::SnapshotMatches { .. } => "snapshot_matches",
            Self::NoDrift {} => "no_drift",
            Self::JsonPath { .. } => "json_path",
        }
    }

    /// A short description for people: `event_occurred build.task`.
    pub fn title(&self) -> String {
        let about = match self {
            Self::ExitCode { expected } => expected.to_string(),
            Self::TerminationReason { expected } => expected.clone(),
            Self::FileExists { path } | Self::FileUnchanged { path, .. } => path.clone(),
            Self::FileContains { path, pattern } | Self::FileNotContains { path, pattern } => {
                format!("{path} {pattern:?}")
            }
            Self::EventOccurred { topic, .. }
            | Self::EventCount { topic, .. }
            | Self::NoEvent { topic, .. } => topic.to_string(),
            Self::EventSequence { topics, .. } => {
                topics.iter().map(TopicPattern::as_str).collect::<Vec<_>>().join(" → ")
            }
            Self::HatSequence { hats, .. } => hats.join(" → "),
            Self::ScratchpadContains { pattern }
            | Self::StdoutContains { pattern }
            | Self::StderrContains { pattern } => format!("{pattern:?}"),
            Self::Duration { max_secs } => format!("≤ {max_secs} s"),
            Self::SnapshotMatches { snapshot, .. } => snapshot.clone(),
            Self::JsonPath { path, query, .. } => format!("{path} {query}"),
            Self::Iterations { .. } | Self::NoDrift {} => String::new(),
        };
        format!("{} {about}", self.name()).trim_end().to_owned()
    }

    /// Checks patterns, paths and bounds.
    pub fn check(&self) -> Result<(), AssertionError> {
        match self {
            Self::FileExists { path } | Self::FileUnchanged { path, .. } => path_ok(path),
            Self::FileContains { path, pattern } | Self::FileNotContains { path, pattern } => {
                path_ok(path).and_then(|()| pattern_ok("pattern", pattern))
            }
            Self::ScratchpadContains { pattern }
            | Self::StdoutContains { pattern }
            | Self::StderrContains { pattern } => pattern_ok("pattern", pattern),
            Self::EventOccurred { payload_pattern, .. } => payload_pattern
                .as_deref()
                .map_or(Ok(()), |text| pattern_ok("payload_pattern", text)),
            Self::EventSequence { topics, .. } => not_empty("topics", topics),
            Self::HatSequence { hats, .. } => {
                not_empty("hats", hats)?;
                hats.iter().try_for_each(|hat| not_blank("hats", hat))
            }
            Self::TerminationReason { expected } => not_blank("expected", expected),
            Self::EventCount { min, max, exact, .. } | Self::Iterations { min, max, exact } => {
                bounds_ok(*min, *max, *exact)
            }
            Self::Duration { max_secs } if *max_secs < 0.0 => Err(AssertionError::NegativeDuration),
            Self::SnapshotMatches { include_patterns, exclude_patterns, .. } => {
                Selection::new(include_patterns, exclude_patterns)
                    .map(drop)
                    .map_err(|error| AssertionError::FilePattern(error.message))
            }
            Self::JsonPath { path, query, expected, pattern } => {
                path_ok(path)?;
                json_path::Query::parse(query)?;
                if expected.is_none() && pattern.is_none() {
                    return Err(AssertionError::NothingExpected);
                }
                pattern.as_deref().map_or(Ok(()), |text| pattern_ok("pattern", text))
            }
            Self::ExitCode { .. }
            | Self::NoEvent { .. }
            | Self::Duration { .. }
            | Self::NoDrift {} => Ok(()),
        }
    }

    /// The topic patterns it is about.
    pub(crate) fn topics(&self) -> &[TopicPattern] {
        match self {
            Self::EventOccurred { topic, .. }
            | Self::EventCount { topic, .. }
            | Self::NoEvent { topic, .. } => std::slice::from_ref(topic),
            Self::EventSequence { topics, .. } => topics,
            _ => &[],
        }
    }
}

/// Checks all assertions; the error names the first bad one by its index.
pub(crate) fn check_all(assertions: &[Assertion]) -> Result<(), ToolError> {
    for (index, assertion) in assertions.iter().enumerate() {
        assertion.check().map_err(|why| {
            ToolError::invalid(format!("assertions[{index}] ({}): {why}", assertion.name()))
        })?;
    }
    Ok(())
}

/// Why an assertion cannot be judged, whatever the run does. The message names the field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum AssertionError {
    #[error("path: {0}")]
    Path(#[from] PathProblem),
    #[error("{field}: {source}")]
    Pattern { field: &'static str, source: regex::Error },
    #[error("{0}")]
    FilePattern(String),
    #[error("{field}: it is empty")]
    EmptyList { field: &'static str },
    #[error("{field}: a text is empty")]
    BlankText { field: &'static str },
    #[error("max_secs: it is negative")]
    NegativeDuration,
    #[error("query: {0}")]
    Query(#[from] QueryError),
    #[error("one of expected and pattern is needed")]
    NothingExpected,
    #[error("one of min, max and exact is needed")]
    NoBound,
    #[error("min {min} is above max {max}")]
    CrossedBounds { min: u64, max: u64 },
}

fn path_ok(path: &str) -> Result<(), AssertionError> {
    RelPath::parse(path)?;
    Ok(())
}

fn pattern_ok(field: &'static str, pattern: &str) -> Result<(), AssertionError> {
    Regex::new(pattern).map(drop).map_err(|source| AssertionError::Pattern { field, source })
}

fn not_empty<T>(field: &'static str, list: &[T]) -> Result<(), AssertionError> {
    if list.is_empty() { Err(AssertionError::EmptyList { field }) } else { Ok(()) }
}

fn not_blank(field: &'static str, text: &str) -> Result<(), AssertionError> {
    if text.trim().is_empty() { Err(AssertionError::BlankText { field }) } else { Ok(()) }
}

fn bounds_ok(min: Option<u64>, max: Option<u64>, exact: Option<u64>) -> Result<(), AssertionError> {
    match (min, max, exact) {
        (None, None, None) => Err(AssertionError::NoBound),
        (Some(min), Some(max), _) if min > max => Err(AssertionError::CrossedBounds { min, max }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
