//! How to speak to an agent: configuration only.

use std::collections::BTreeMap;
use std::time::Duration;

use proctor_redact::Secret;
use serde_json::{Value, json};

use crate::http::WallClock;

/// Where tool calls stand in a response; the last three are relative to one element of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCallPaths {
    /// The list.
    pub list: String,
    /// The call's id; where absent, calls are numbered.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as an object or as JSON in a string.
    pub arguments: String,
}

impl Default for ToolCallPaths {
    fn default() -> Self {
        let text = str::to_owned;
        Self {
            list: text("/tool_calls"),
            id: text("/id"),
            name: text("/name"),
            arguments: text("/arguments"),
        }
    }
}

/// How to speak to an agent.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The name of the agent, for reports.
    pub name: String,
    /// The address; a template.
    pub url: String,
    /// The HTTP method.
    pub method: String,
    /// Headers; the values are templates.
    pub headers: Vec<(String, String)>,
    /// The body, a template; `None` sends none.
    pub body: Option<Value>,
    /// Where the words are; `None` takes the whole body as text.
    pub text: Option<String>,
    /// Where each event of a streamed answer has its piece of the words. The other paths then
    /// apply to the last event in which they are found.
    pub delta: Option<String>,
    /// Where tool calls are.
    pub tool_calls: Option<ToolCallPaths>,
    /// Where the counts of input and output tokens are.
    pub usage: Option<(String, String)>,
    /// Where a message stands if the agent reports failure with status 200.
    pub error: Option<String>,
    /// Names to take from each answer, for later turns of the same conversation.
    pub remember: BTreeMap<String, String>,
    /// What those names stand for in the first turn.
    pub initially: BTreeMap<String, Value>,
    /// Values that templates may use and that messages must not show.
    pub secrets: BTreeMap<String, Secret>,
    /// Longest answer.
    pub timeout: Duration,
    /// Largest answer, in bytes.
    pub max_bytes: usize,
    /// The time of day.
    pub clock: WallClock,
}

impl Mapping {
    /// A mapping that posts `{"message": …, "conversation": …}` and reads `/text`.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            method: "POST".into(),
            headers: vec![("content-type".into(), "application/json".into())],
            body: Some(json!({"message": "${message}", "conversation": "${lane}"})),
            text: Some("/text".into()),
            delta: None,
            tool_calls: None,
            usage: None,
            error: None,
            remember: BTreeMap::new(),
            initially: BTreeMap::new(),
            secrets: BTreeMap::new(),
            timeout: Duration::from_mins(2),
            max_bytes: 16 << 20,
            clock: WallClock::default(),
        }
    }

    /// Every place in an answer that it names. An empty one is the whole answer.
    pub(super) fn pointers(&self) -> impl Iterator<Item = &str> {
        let calls = self.tool_calls.iter();
        let calls = calls.flat_map(|paths| [&paths.list, &paths.id, &paths.name, &paths.arguments]);
        let usage = self.usage.iter().flat_map(|(input, output)| [input, output]);
        let own = self.text.iter().chain(&self.delta).chain(&self.error);
        let all = own.chain(self.remember.values()).chain(calls).chain(usage);
        all.map(String::as_str).filter(|pointer| !pointer.is_empty())
    }
}
