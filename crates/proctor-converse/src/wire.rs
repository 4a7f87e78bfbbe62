//! Answers of agents as JSON: what a command sends, and what a cassette keeps.

use proctor_dialogue::{
    AgentAnswer, DoneCall, MadeCallPlaces, MalformedCall, ToolCall, read_made_calls,
    read_made_calls_at, read_requested_calls,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why an answer cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It is not JSON of the right shape.
    #[error(transparent)]
    Shape(#[from] serde_json::Error),
    /// A list of tool calls cannot be read.
    #[error("`{list}`: {problem}")]
    Calls {
        /// The key of the list.
        list: &'static str,
        /// What is wrong with it.
        problem: MalformedCall,
    },
    /// It has neither words nor calls.
    #[error(
        "it has no `text`; only an answer with `tool_calls` or `pending_tool_calls` may leave it out"
    )]
    Empty,
}

/// Reads an agent's answer as workers send it. An answer without `tool_calls` does not say which tools the agent called.
pub fn read_answer(text: &str) -> Result<AgentAnswer, AnswerError> {
    let wire: WireAnswer = serde_json::from_str(text)?;
    let listed = wire.tool_calls.is_some();
    let has_text = wire.text.is_some();
    // What a program says of its prompts itself is no evidence.
    let answer = AgentAnswer { calls_listed: listed, prompts: None, ..wire.answer()? };
    if !has_text && answer.tool_calls.is_empty() && answer.pending_tool_calls.is_empty() {
        return Err(AnswerError::Empty);
    }
    Ok(answer)
}

/// Reads an agent's answer from a cassette; older ones do not say whether calls were listed.
pub(crate) fn read_kept_answer(value: Value) -> Result<AgentAnswer, AnswerError> {
    let wire: WireAnswer = serde_json::from_value(value)?;
    let calls_listed = wire.calls_listed.unwrap_or(true);
    let made = wire.tool_calls.clone().unwrap_or_default();
    // Arguments that are not there were unknown.
    let tool_calls = read_made_calls_at(&made, &MadeCallPlaces::default())
        .map_err(|problem| AnswerError::Calls { list: "tool_calls", problem })?;
    Ok(AgentAnswer { calls_listed, tool_calls, ..wire.answer()? })
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WireAnswer {
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_tool_calls: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_token_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ends_turn: bool,
    /// Only in cassettes: what the agent sent to its model endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<Vec<String>>,
    /// Only in cassettes, and only where it is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_listed: Option<bool>,
}

#[derive(Serialize)]
struct KeptCall<'a> {
    #[serde(flatten)]
    call: &'a ToolCall,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Value>,
}

impl WireAnswer {
    fn answer(self) -> Result<AgentAnswer, AnswerError> {
        let list = |list: &'static str| move |problem| AnswerError::Calls { list, problem };
        let made = self.tool_calls.unwrap_or_default();
        let asked = self.pending_tool_calls.unwrap_or_default();
        Ok(AgentAnswer {
            text: self.text.unwrap_or_default(),
            tool_calls: read_made_calls(&made).map_err(list("tool_calls"))?,
            pending_tool_calls: read_requested_calls(&asked).map_err(list("pending_tool_calls"))?,
            metadata: self.metadata,
            duration_ms: self.duration_ms,
            first_token_ms: self.first_token_ms,
            cost_usd: self.cost_usd,
            ends_turn: self.ends_turn,
            prompts: self.prompts,
            calls_listed: false,
            calls_unknown_reason: None,
        })
    }
}

fn kept_calls(calls: &[DoneCall]) -> Option<Value> {
    let kept = |done: &DoneCall| {
        let (result, error) = (done.result.as_ref(), done.error.as_deref());
        serde_json::to_value(KeptCall {
            call: &done.call,
            result,
            error,
            duration_ms: done.duration_ms,
            metadata: done.metadata.as_ref(),
        })
        .unwrap_or_default()
    };
    (!calls.is_empty()).then(|| calls.iter().map(kept).collect())
}

impl From<&AgentAnswer> for WireAnswer {
    fn from(answer: &AgentAnswer) -> Self {
        let pending = &answer.pending_tool_calls;
        Self {
            text: Some(answer.text.clone()),
            tool_calls: kept_calls(&answer.tool_calls),
            pending_tool_calls: (!pending.is_empty())
                .then(|| pending.iter().map(|call| serde_json::json!(call)).collect()),
            metadata: answer.metadata.clone(),
            duration_ms: answer.duration_ms,
            first_token_ms: answer.first_token_ms,
            cost_usd: answer.cost_usd,
            ends_turn: answer.ends_turn,
            prompts: answer.prompts.clone(),
            calls_listed: (!answer.calls_listed).then_some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_says_whether_it_lists_calls() {
        let listed = |text: &str| read_answer(text).unwrap().calls_listed;
        assert!(!listed(r#"{"text": "Hi"}"#));
        assert!(!listed(r#"{"text": "Hi", "tool_calls": null}"#));
        assert!(listed(r#"{"text": "Hi", "tool_calls": []}"#));
        assert!(listed(r#"{"tool_calls": [{"name": "look"}]}"#));
    }

    #[test]
    fn d12_calls_that_cannot_be_read_name_the_list() {
        for list in ["tool_calls", "pending_tool_calls"] {
            let text = format!(r#"{{"text": "Hi", "{list}": [{{"arguments": {{}}}}]}}"#);
            let problem = read_answer(&text).unwrap_err().to_string();
            assert!(
                problem.starts_with(&format!("`{list}`: tool call 1 has no name")),
                "{problem}"
            );
        }
        assert!(matches!(read_answer("{}"), Err(AnswerError::Empty)));
        assert!(matches!(read_answer(r#"{"text": 7}"#), Err(AnswerError::Shape(_))));
    }

    #[test]
    fn a_cassette_keeps_what_was_said_and_older_ones_are_read() {
        let answers = [
            r#"{"text": "Hi"}"#,
            r#"{"text": "Hi", "tool_calls": []}"#,
            r#"{"tool_calls": [{"id": "1", "name": "look", "result": 2, "metadata": {"rows": 3}}], "cost_usd": 0.5}"#,
            r#"{"pending_tool_calls": [{"name": "look", "arguments": "{\"a\": 1}"}], "ends_turn": true}"#,
        ];
        for text in answers {
            let answer = read_answer(text).unwrap();
            let kept = json!(WireAnswer::from(&answer));
            assert_eq!(read_kept_answer(kept.clone()).unwrap(), answer, "{kept}");
        }
        let unknown = DoneCall {
            call: ToolCall { name: "look".into(), ..ToolCall::default() },
            ..DoneCall::default()
        };
        let answer =
            AgentAnswer { tool_calls: vec![unknown], calls_listed: true, ..AgentAnswer::default() };
        let kept = json!(WireAnswer::from(&answer));
        assert_eq!(read_kept_answer(kept).unwrap(), answer, "arguments stay unknown");
        let older = json!({"text": "Hi", "duration_ms": 3.0});
        assert!(read_kept_answer(older).unwrap().calls_listed);
    }
}
