//! Anthropic's messages format.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    AnswerParts, EncodeOptions, StreamDecoder, StreamStep, WireFault, arguments, count_at,
    event_json, fault_in, string_at,
};
use crate::answer::{StopReason, Usage};
use crate::request::{Message, Request, Role, ToolCall, ToolChoice};
use crate::sse::SseEvent;

/// The format demands a limit; this one is used where the request has none.
const DEFAULT_MAX_TOKENS: u32 = 4096;

pub(super) fn encode(request: &Request, options: &EncodeOptions<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), options.model.into());
    body.insert("max_tokens".into(), request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).into());
    body.insert("messages".into(), request.messages.iter().map(message).collect());
    if let Some(system) = request.system.as_deref().filter(|system| !system.is_empty()) {
        body.insert("system".into(), system.into());
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if !request.stop.is_empty() {
        body.insert("stop_sequences".into(), request.stop.clone().into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter();
        let tool = |tool: &crate::ToolSpec| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema});
        body.insert("tools".into(), tools.map(tool).collect());
        body.insert("tool_choice".into(), tool_choice(&request.tool_choice));
    }
    if options.stream {
        body.insert("stream".into(), true.into());
    }
    body
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::Any => json!({"type": "any"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
    }
}

fn message(message: &Message) -> Value {
    let role = if message.role == Role::User { "user" } else { "assistant" };
    if message.tool_calls.is_empty() && message.tool_results.is_empty() {
        return json!({"role": role, "content": message.text});
    }
    // The format wants results before words, and words before calls.
    let mut blocks: Vec<Value> = message
        .tool_results
        .iter()
        .map(|result| json!({"type": "tool_result", "tool_use_id": result.call_id, "content": result.content, "is_error": result.is_error}))
        .collect();
    if !message.text.is_empty() {
        blocks.push(json!({"type": "text", "text": message.text}));
    }
    blocks.extend(message.tool_calls.iter().map(|call| {
        let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    }));
    json!({"role": role, "content": blocks})
}

pub(super) fn decode(body: &Value) -> Result<AnswerParts, WireFault> {
    let Some(blocks) = body.get("content").and_then(Value::as_array) else {
        return Err(WireFault::malformed("answered without a `content` list"));
    };
    let mut parts = AnswerParts {
        usage: body.get("usage").map(usage),
        model: string_at(body, "model"),
        stop: stop_reason(body.get("stop_reason")),
        ..AnswerParts::default()
    };
    for block in blocks {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => parts.text += &string_at(block, "text"),
            Some("tool_use") => parts.tool_calls.push(ToolCall {
                id: string_at(block, "id"),
                name: string_at(block, "name"),
                arguments: block.get("input").cloned().unwrap_or_else(|| json!({})),
            }),
            // Thinking and kinds yet to come are no part of what was said.
            _ => {}
        }
    }
    Ok(parts)
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: count_at(usage, "/input_tokens"),
        output_tokens: count_at(usage, "/output_tokens"),
        cache_read_tokens: count_at(usage, "/cache_read_input_tokens"),
        cache_write_tokens: count_at(usage, "/cache_creation_input_tokens"),
    }
}

fn stop_reason(reason: Option<&Value>) -> StopReason {
    match reason.and_then(Value::as_str).unwrap_or("end_turn") {
        "end_turn" => StopReason::End,
        other => StopReason::from(other.to_owned()),
    }
}

/// A content block that is being streamed.
enum Block {
    Text(String),
    Call { id: String, name: String, input: Value, pieces: String },
    Other,
}

/// The state of a streamed answer.
#[derive(Default)]
pub(super) struct AnthropicStreamDecoder {
    model: String,
    usage: Option<Usage>,
    stop: Option<Value>,
    blocks: BTreeMap<u64, Block>,
    ended: bool,
}

impl StreamDecoder for AnthropicStreamDecoder {
    fn event(&mut self, event: &SseEvent) -> Result<StreamStep, WireFault> {
        let data = event_json(event)?;
        let mut step = StreamStep::default();
        match data.get("type").and_then(Value::as_str).unwrap_or(&event.name) {
            "message_start" => self.start(&data["message"]),
            "content_block_start" => step.content = self.open(&data),
            "content_block_delta" => step.content = self.extend(&data)?,
            "message_delta" => self.close(&data),
            "message_stop" => {
                self.ended = true;
                step.done = true;
            }
            "error" => {
                let unknown = || WireFault::malformed("sent an error event that says nothing");
                return Err(fault_in(&data).unwrap_or_else(unknown));
            }
            // Pings, ends of blocks, and events yet to come.
            _ => {}
        }
        Ok(step)
    }

    fn finish(self: Box<Self>) -> Result<AnswerParts, WireFault> {
        if !self.ended {
            return Err(WireFault::truncated("ended the stream before the end of its answer"));
        }
        let mut parts = AnswerParts {
            model: self.model,
            usage: self.usage,
            stop: stop_reason(self.stop.as_ref()),
            ..AnswerParts::default()
        };
        for block in self.blocks.into_values() {
            match block {
                Block::Text(text) => parts.text += &text,
                Block::Call { id, name, input, pieces } => {
                    let streamed = !pieces.is_empty();
                    let arguments = if streamed { arguments(&pieces) } else { input };
                    parts.tool_calls.push(ToolCall { id, name, arguments });
                }
                Block::Other => {}
            }
        }
        Ok(parts)
    }
}

impl AnthropicStreamDecoder {
    fn start(&mut self, message: &Value) {
        self.model = string_at(message, "model");
        self.usage = message.get("usage").map(usage);
    }

    /// Whether the new block is content already.
    fn open(&mut self, data: &Value) -> bool {
        let content = &data["content_block"];
        let block = match content.get("type").and_then(Value::as_str) {
            Some("text") => Block::Text(string_at(content, "text")),
            Some("tool_use") => Block::Call {
                id: string_at(content, "id"),
                name: string_at(content, "name"),
                input: content.get("input").cloned().unwrap_or_else(|| json!({})),
                pieces: String::new(),
            },
            _ => Block::Other,
        };
        let is_content = match &block {
            Block::Text(text) => !text.is_empty(),
            Block::Call { .. } => true,
            Block::Other => false,
        };
        self.blocks.insert(count_at(data, "/index"), block);
        is_content
    }

    fn extend(&mut self, data: &Value) -> Result<bool, WireFault> {
        let delta = &data["delta"];
        let Some(block) = self.blocks.get_mut(&count_at(data, "/index")) else {
            return Err(WireFault::malformed("continued a content block that was not started"));
        };
        match block {
            Block::Text(text) => *text += &string_at(delta, "text"),
            Block::Call { pieces, .. } => *pieces += &string_at(delta, "partial_json"),
            Block::Other => return Ok(false),
        }
        Ok(true)
    }

    fn close(&mut self, data: &Value) {
        if let Some(reason) = data.pointer("/delta/stop_reason") {
            self.stop = Some(reason.clone());
        }
        if let Some(last) = data.get("usage").map(usage) {
            // Counts of the end are totals; what it leaves out stays as the start had it.
            let known = self.usage.get_or_insert_default();
            known.output_tokens = last.output_tokens.max(known.output_tokens);
            known.input_tokens = last.input_tokens.max(known.input_tokens);
            known.cache_read_tokens = last.cache_read_tokens.max(known.cache_read_tokens);
            known.cache_write_tokens = last.cache_write_tokens.max(known.cache_write_tokens);
        }
    }
}
