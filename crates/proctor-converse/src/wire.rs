//! Answers of agents as JSON: what a command sends, and what a cassette keeps.

use proctor_dialogue::{AgentAnswer, DoneCall, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Reads an agent's answer as workers send it.
pub fn read_answer(text: &str) -> Result<AgentAnswer, serde_json::Error> {
    serde_json::from_str::<WireAnswer>(text).map(Into::into)
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WireAnswer {
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<WireCall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pending_tool_calls: Vec<WireCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_token_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) ends_turn: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WireCall {
    pub(crate) id: String,
    #[serde(alias = "tool", alias = "tool_name")]
    pub(crate) name: String,
    pub(crate) arguments: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<f64>,
}

impl WireAnswer {
    /// Whether there are neither words nor calls in it.
    pub(crate) fn says_nothing(&self) -> bool {
        self.text.is_empty() && self.tool_calls.is_empty() && self.pending_tool_calls.is_empty()
    }
}

impl From<WireCall> for ToolCall {
    fn from(call: WireCall) -> Self {
        let arguments = if call.arguments.is_null() { json!({}) } else { call.arguments };
        Self { id: call.id, name: call.name, arguments }
    }
}

impl From<WireCall> for DoneCall {
    fn from(mut call: WireCall) -> Self {
        let (result, error, duration_ms) =
            (call.result.take(), call.error.take(), call.duration_ms);
        Self { call: call.into(), result, error, duration_ms }
    }
}

impl From<WireAnswer> for AgentAnswer {
    fn from(wire: WireAnswer) -> Self {
        Self {
            text: wire.text,
            tool_calls: wire.tool_calls.into_iter().map(Into::into).collect(),
            pending_tool_calls: wire.pending_tool_calls.into_iter().map(Into::into).collect(),
            metadata: wire.metadata,
            duration_ms: wire.duration_ms,
            first_token_ms: wire.first_token_ms,
            cost_usd: wire.cost_usd,
            ends_turn: wire.ends_turn,
        }
    }
}

impl From<&ToolCall> for WireCall {
    fn from(call: &ToolCall) -> Self {
        let ToolCall { id, name, arguments } = call.clone();
        Self { id, name, arguments, ..Self::default() }
    }
}

impl From<&AgentAnswer> for WireAnswer {
    fn from(answer: &AgentAnswer) -> Self {
        let done = |call: &DoneCall| WireCall {
            result: call.result.clone(),
            error: call.error.clone(),
            duration_ms: call.duration_ms,
            ..WireCall::from(&call.call)
        };
        Self {
            text: answer.text.clone(),
            tool_calls: answer.tool_calls.iter().map(done).collect(),
            pending_tool_calls: answer.pending_tool_calls.iter().map(WireCall::from).collect(),
            metadata: answer.metadata.clone(),
            duration_ms: answer.duration_ms,
            first_token_ms: answer.first_token_ms,
            cost_usd: answer.cost_usd,
            ends_turn: answer.ends_turn,
        }
    }
}
