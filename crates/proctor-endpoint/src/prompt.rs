//! What a model reads, as one text: instructions, messages, calls and results, and the tools on offer.
//!
//! Nothing is left out that a model would read: content of a kind that is not known here is written as its JSON, so that a check that
//! something is *not* in a prompt cannot be fooled by the place where it stands. Only the bytes of pictures, sound and files are replaced
//! by how many there are.

use std::collections::HashMap;

use proctor_llm::wire::Protocol;
use serde_json::{Map, Value};

/// Texts longer than this inside a part that is not text are bytes.
const LONGEST_INLINE: usize = 512;

/// What Responses refer to instead of sending it again: items by id, and what was said up to an answer by the answer's id.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    items: HashMap<String, Value>,
    responses: HashMap<String, Vec<Value>>,
}

impl Memory {
    /// The input of a request with everything that it refers to.
    fn expanded(&self, body: &Value) -> Vec<Value> {
        let before = body["previous_response_id"].as_str().and_then(|id| self.responses.get(id));
        let mut items = before.cloned().unwrap_or_default();
        match &body["input"] {
            Value::Array(input) => {
                items.extend(input.iter().map(|item| self.resolved(item).clone()));
            }
            Value::Null => {}
            text => items.push(serde_json::json!({"role": "user", "content": text})),
        }
        items
    }

    fn resolved<'a>(&'a self, item: &'a Value) -> &'a Value {
        let id = item["id"].as_str().filter(|_| item["type"] == "item_reference");
        id.and_then(|id| self.items.get(id)).unwrap_or(item)
    }

    /// Remembers an answer of Responses.
    pub(crate) fn keep(&mut self, body: &Value, answer: &Value) {
        let (Some(id), Some(output)) = (answer["id"].as_str(), answer["output"].as_array()) else {
            return;
        };
        let mut said = self.expanded(body);
        said.extend(output.iter().cloned());
        for item in output {
            if let Some(id) = item["id"].as_str() {
                self.items.insert(id.to_owned(), item.clone());
            }
        }
        self.responses.insert(id.to_owned(), said);
    }
}

/// The prompt of a request as a text.
pub(crate) fn prompt_text(protocol: Protocol, body: &Value, memory: &Memory) -> String {
    let mut prompt = Prompt::default();
    match protocol {
        Protocol::ChatCompletions => {
            body["messages"].as_array().into_iter().flatten().for_each(|one| prompt.message(one));
        }
        Protocol::Messages => {
            prompt.say("system", &body["system"]);
            body["messages"].as_array().into_iter().flatten().for_each(|one| prompt.message(one));
        }
        Protocol::Responses => {
            prompt.say("system", &body["instructions"]);
            memory.expanded(body).iter().for_each(|item| prompt.item(item));
        }
    }
    for tools in ["tools", "functions"] {
        for tool in body[tools].as_array().into_iter().flatten() {
            prompt.tool(tool);
        }
    }
    for (name, form) in [
        ("response_format", &body["response_format"]),
        ("text.format", &body["text"]["format"]),
        ("output_format", &body["output_format"]),
    ] {
        if form.is_object() && form["type"] != "text" {
            prompt.section(name, &form.to_string());
        }
    }
    prompt.0
}

#[derive(Default)]
struct Prompt(String);

impl Prompt {
    fn section(&mut self, label: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.0.is_empty() {
            self.0.push_str("\n\n");
        }
        self.0.push_str(label);
        self.0.push_str(": ");
        self.0.push_str(text);
    }

    /// Content that one speaker says: a text, or parts.
    fn say(&mut self, role: &str, content: &Value) {
        match content {
            Value::Null => {}
            Value::String(text) => self.section(role, text),
            Value::Array(parts) => parts.iter().for_each(|part| self.part(role, part)),
            other => self.section(role, &without_bytes(other)),
        }
    }

    fn part(&mut self, role: &str, part: &Value) {
        let kind = part["type"].as_str().unwrap_or_default();
        match (kind, part["text"].as_str()) {
            ("text" | "input_text" | "output_text", Some(text)) => self.section(role, text),
            ("tool_use", _) => self.call(&part["name"], &part["input"]),
            ("tool_result", _) => self.say("tool", &part["content"]),
            _ => match part.as_str() {
                Some(text) => self.section(role, text),
                None => self.section(role, &without_bytes(part)),
            },
        }
    }

    fn message(&mut self, message: &Value) {
        let role = match message["role"].as_str().unwrap_or("user") {
            // Newer models of OpenAI call their instructions so.
            "developer" => "system",
            role => role,
        };
        self.say(role, &message["content"]);
        for member in ["refusal", "reasoning_content", "name"] {
            self.say(&format!("{role} ({member})"), &message[member]);
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            if function.is_object() {
                self.call(&function["name"], &function["arguments"]);
            } else {
                self.section("call", &without_bytes(call));
            }
        }
        let older = &message["function_call"];
        if older.is_object() {
            self.call(&older["name"], &older["arguments"]);
        }
    }

    /// One item of Responses.
    fn item(&mut self, item: &Value) {
        match item["type"].as_str() {
            None | Some("message") => self.message(item),
            Some("function_call") => self.call(&item["name"], &item["arguments"]),
            Some("function_call_output") => self.say("tool", &item["output"]),
            Some(_) => self.section("item", &without_bytes(item)),
        }
    }

    fn call(&mut self, name: &Value, arguments: &Value) {
        let name = name.as_str().unwrap_or_default();
        let arguments = match arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.section("call", &format!("{name}({arguments})"));
    }

    fn tool(&mut self, tool: &Value) {
        let function = if tool["function"].is_object() { &tool["function"] } else { tool };
        let name = function["name"].as_str().unwrap_or_default();
        let description = function["description"].as_str().unwrap_or_default();
        let schema = ["parameters", "input_schema"].map(|member| &function[member]);
        let schema = schema.into_iter().find(|schema| schema.is_object());
        match (name, schema) {
            ("", _) => self.section("offered tool", &tool.to_string()),
            (name, schema) => {
                let schema = schema.map_or_else(|| function.to_string(), Value::to_string);
                self.section("offered tool", &format!("{name}: {description} {schema}"));
            }
        }
    }
}

/// A value as JSON, long texts in it replaced by their lengths if they are bytes.
fn without_bytes(value: &Value) -> String {
    fn shortened(value: &Value) -> Value {
        match value {
            Value::String(text) if text.len() > LONGEST_INLINE && is_encoded(text) => {
                Value::from(format!("[{} bytes]", text.len()))
            }
            Value::Array(items) => items.iter().map(shortened).collect(),
            Value::Object(members) => {
                let members = members.iter().map(|(name, inner)| (name.clone(), shortened(inner)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }
    shortened(value).to_string()
}

/// Whether a text is bytes in base 64, or an address that holds such.
fn is_encoded(text: &str) -> bool {
    let body = text.split_once(";base64,").map_or(text, |(_, body)| body);
    body.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-\r\n".contains(&byte))
}

/// The last thing that was said, for messages about a call.
pub(crate) fn last_words(prompt: &str) -> &str {
    let said = prompt.split("\n\n").filter(|section| !section.starts_with("offered tool: "));
    said.last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(protocol: Protocol, body: &Value) -> String {
        prompt_text(protocol, body, &Memory::default())
    }

    #[test]
    fn the_same_conversation_reads_the_same_in_each_interface() {
        let chat = json!({"messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Hours?"}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "hours", "arguments": "{\"day\":1}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "9-17"},
        ], "tools": [{"type": "function", "function": {"name": "hours", "description": "Opening hours", "parameters": {"type": "object"}}}]});
        let messages = json!({"system": [{"type": "text", "text": "Be kind."}], "messages": [
            {"role": "user", "content": "Hours?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "hours", "input": {"day": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "9-17"}]}]},
        ], "tools": [{"name": "hours", "description": "Opening hours", "input_schema": {"type": "object"}}]});
        let responses = json!({"instructions": "Be kind.", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hours?"}]},
            {"type": "function_call", "call_id": "1", "name": "hours", "arguments": "{\"day\":1}"},
            {"type": "function_call_output", "call_id": "1", "output": "9-17"},
        ], "tools": [{"type": "function", "name": "hours", "description": "Opening hours", "parameters": {"type": "object"}}]});
        let expected = "system: Be kind.\n\nuser: Hours?\n\ncall: hours({\"day\":1})\n\ntool: 9-17\n\noffered tool: hours: Opening hours {\"type\":\"object\"}";
        assert_eq!(text(Protocol::ChatCompletions, &chat), expected);
        assert_eq!(text(Protocol::Messages, &messages), expected);
        assert_eq!(text(Protocol::Responses, &responses), expected);
        assert_eq!(last_words(expected), "tool: 9-17");
    }

    #[test]
    fn what_is_not_known_is_not_left_out() {
        for part in [
            json!({"type": "new_kind", "secret_plan": "HIDDEN"}),
            json!({"type": "thinking", "thinking": "HIDDEN"}),
            json!({"type": "input_text", "body": "HIDDEN"}),
        ] {
            let body = json!({"messages": [{"role": "user", "content": [part]}], "input": [{"role": "user", "content": [part]}]});
            for protocol in Protocol::ALL {
                assert!(text(protocol, &body).contains("HIDDEN"), "{protocol:?} {part}");
            }
        }
        let items = json!({"input": [{"type": "computer_call", "action": "HIDDEN"}]});
        assert!(text(Protocol::Responses, &items).contains("HIDDEN"));
        let tools = json!({"tools": [{"type": "custom", "grammar": "HIDDEN"}, {"name": "x", "grammar": "HIDDEN2"}]});
        assert!(text(Protocol::Messages, &tools).contains("HIDDEN"));
        assert!(text(Protocol::Messages, &tools).contains("HIDDEN2"));
    }

    #[test]
    fn pictures_are_named_by_their_length() {
        let url = format!("data:image/png;base64,{}", "iVBOR".repeat(500));
        let body = json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]});
        let text = text(Protocol::ChatCompletions, &body);
        assert!(text.contains("bytes]") && text.len() < 200, "{text}");
    }

    #[test]
    fn responses_refer_to_what_was_said() {
        let mut memory = Memory::default();
        let first = json!({"input": "Hello"});
        let answer = json!({"id": "resp_1", "output": [{"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]});
        memory.keep(&first, &answer);
        let next = json!({"previous_response_id": "resp_1", "input": "Again"});
        assert_eq!(
            prompt_text(Protocol::Responses, &next, &memory),
            "user: Hello\n\nassistant: Hi\n\nuser: Again"
        );
        let referred = json!({"input": [{"type": "item_reference", "id": "msg_1"}]});
        assert_eq!(prompt_text(Protocol::Responses, &referred, &memory), "assistant: Hi");
    }
}
