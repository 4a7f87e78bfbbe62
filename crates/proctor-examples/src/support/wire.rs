//! The agent's decisions in the shape of chat completions, whole or streamed.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ChatMessage, Decision};

/// A request for a completion.
#[derive(Debug, Deserialize)]
pub struct Completion {
    messages: Vec<Message>,
    #[serde(default)]
    tools: Vec<ToolEntry>,
    /// Whether the answer is to be streamed.
    #[serde(default)]
    pub stream: bool,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<CallEntry>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CallEntry {
    id: String,
    function: Function,
}

#[derive(Debug, Deserialize)]
struct ToolEntry {
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
}

impl Completion {
    /// The conversation, with each result under the name of its tool.
    pub fn messages(&self) -> Vec<ChatMessage> {
        let calls = || self.messages.iter().flat_map(|message| &message.tool_calls);
        let name_of = |id: &str| {
            let call = calls().find(|call| call.id == id);
            call.map(|call| call.function.name.clone()).unwrap_or_default()
        };
        let read = |message: &Message| {
            let text = message.content.clone().unwrap_or_default();
            match message.role.as_str() {
                "user" => Some(ChatMessage::User(text)),
                "assistant" if message.tool_calls.is_empty() => Some(ChatMessage::Agent(text)),
                "tool" => Some(ChatMessage::Tool {
                    name: name_of(message.tool_call_id.as_deref().unwrap_or_default()),
                    outcome: outcome(&text),
                }),
                _ => None,
            }
        };
        self.messages.iter().filter_map(read).collect()
    }

    /// The tools that may be called.
    pub fn tools(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.function.name.clone()).collect()
    }

    /// What identifies the next call: how many there have been.
    fn call_id(&self) -> String {
        let calls: usize = self.messages.iter().map(|message| message.tool_calls.len()).sum();
        format!("call_{}", calls + 1)
    }

    /// Words in, words out: the agent's own meter.
    fn usage(&self, decision: &Decision) -> Value {
        let words = |text: &str| text.split_whitespace().count();
        let read: usize =
            self.messages.iter().filter_map(|message| message.content.as_deref()).map(words).sum();
        let written = match decision {
            Decision::Say(text) => words(text),
            Decision::Call { arguments, .. } => words(&arguments.to_string()),
        };
        json!({"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written})
    }

    /// The decision as one body.
    pub fn body(&self, decision: &Decision) -> Value {
        let message = match decision {
            Decision::Say(text) => json!({"role": "assistant", "content": text}),
            Decision::Call { tool, arguments } => json!({
                "role": "assistant",
                "content": null,
                "tool_calls": [self.call(tool, arguments)],
            }),
        };
        let choice = json!({"index": 0, "message": message, "finish_reason": reason(decision)});
        json!({
            "id": "support",
            "object": "chat.completion",
            "model": "support-agent",
            "choices": [choice],
            "usage": self.usage(decision),
        })
    }

    /// The decision as a stream: a word a piece, the arguments of a call in two.
    pub fn pieces(&self, decision: &Decision) -> Vec<String> {
        let deltas = match decision {
            Decision::Say(text) => {
                text.split_inclusive(' ').map(|word| json!({"content": word})).collect()
            }
            Decision::Call { tool, arguments } => self.call_pieces(tool, arguments),
        };
        let piece = |delta: Value, reason: Value| {
            event(&json!({
                "id": "support",
                "object": "chat.completion.chunk",
                "model": "support-agent",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            }))
        };
        let mut pieces = vec![piece(json!({"role": "assistant"}), Value::Null)];
        pieces.extend(deltas.into_iter().map(|delta| piece(delta, Value::Null)));
        pieces.push(piece(json!({}), reason(decision).into()));
        pieces.push(event(&json!({"id": "support", "object": "chat.completion.chunk", "choices": [], "usage": self.usage(decision)})));
        pieces.push("data: [DONE]\n\n".to_owned());
        pieces
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let function = json!({"name": tool, "arguments": arguments.to_string()});
        json!({"id": self.call_id(), "type": "function", "function": function})
    }

    fn call_pieces(&self, tool: &str, arguments: &Value) -> Vec<Value> {
        let arguments = arguments.to_string();
        let (first, rest) = arguments.split_at(1);
        let mut call = self.call(tool, &Value::Null);
        call["index"] = 0.into();
        call["function"]["arguments"] = first.into();
        let rest = json!({"index": 0, "function": {"arguments": rest}});
        vec![json!({"tool_calls": [call]}), json!({"tool_calls": [rest]})]
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn reason(decision: &Decision) -> &'static str {
    if matches!(decision, Decision::Say(_)) { "stop" } else { "tool_calls" }
}

/// A result as a host writes it: JSON, or plain text, or text that begins with `error:`.
fn outcome(text: &str) -> Result<Value, String> {
    match text.strip_prefix("error: ") {
        Some(error) => Err(error.to_owned()),
        None => Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Completion {
        serde_json::from_value(json!({
            "stream": true,
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": "Where is order 1042?"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "lookup_order", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "error: too busy"},
            ],
            "tools": [{"type": "function", "function": {"name": "lookup_order", "parameters": {}}}],
        }))
        .unwrap()
    }

    #[test]
    fn results_come_under_the_name_of_their_tool() {
        let messages = request().messages();
        let error =
            ChatMessage::Tool { name: "lookup_order".into(), outcome: Err("too busy".into()) };
        assert_eq!(messages[1..], [error]);
        assert_eq!(request().tools(), ["lookup_order"]);
    }

    #[test]
    fn streamed_pieces_add_up_to_the_whole() {
        let decision =
            Decision::Call { tool: "lookup_order", arguments: json!({"order_id": "1042"}) };
        let pieces = request().pieces(&decision);
        let mut arguments = String::new();
        for piece in pieces.iter().filter(|piece| !piece.contains("[DONE]")) {
            let event: Value =
                serde_json::from_str(piece.trim().strip_prefix("data: ").unwrap()).unwrap();
            let call = &event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"];
            arguments += call.as_str().unwrap_or_default();
        }
        assert_eq!(arguments, r#"{"order_id":"1042"}"#);
        let whole = request().body(&decision);
        assert_eq!(whole["choices"][0]["message"]["tool_calls"][0]["id"], "call_2");
        assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    }
}
