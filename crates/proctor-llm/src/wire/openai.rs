//! Chat completions, as `OpenAI` and the servers compatible with it speak them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    AnswerParts, EncodeOptions, StreamDecoder, StreamStep, WireFault, arguments, count_at,
    event_json, fault_in, string_at,
};
use crate::answer::{StopReason, Usage};
use crate::request::{Message, Request, Role, ToolCall, ToolChoice};
use crate::sse::SseEvent;

pub(super) fn encode(request: &Request, options: &EncodeOptions<'_>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), options.model.into());
    body.insert("messages".into(), messages(request));
    if let Some(limit) = request.max_tokens {
        let name = if options.completion_limit { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.into(), limit.into());
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(seed) = request.seed {
        body.insert("seed".into(), seed.into());
    }
    if !request.stop.is_empty() {
        body.insert("stop".into(), request.stop.clone().into());
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(request));
        body.insert("tool_choice".into(), tool_choice(&request.tool_choice));
    }
    if options.stream {
        body.insert("stream".into(), true.into());
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    body
}

pub(super) fn tools(request: &Request) -> Value {
    let tools = request.tools.iter();
    tools
        .map(|tool| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}}))
        .collect()
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::Any => "required".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
    }
}

pub(super) fn messages(request: &Request) -> Value {
    let system = request.system.as_deref().filter(|system| !system.is_empty());
    let system = system.map(|text| json!({"role": "system", "content": text}));
    system.into_iter().chain(request.messages.iter().flat_map(message)).collect()
}

/// One message of ours may be several of theirs: each tool result is a message of its own.
fn message(message: &Message) -> Vec<Value> {
    let results = message.tool_results.iter();
    let mut written: Vec<Value> = results
        .map(|result| json!({"role": "tool", "tool_call_id": result.call_id, "content": result.content}))
        .collect();
    if message.role == Role::User {
        if written.is_empty() || !message.text.is_empty() {
            written.push(json!({"role": "user", "content": message.text}));
        }
        return written;
    }
    if message.tool_calls.is_empty() {
        written.push(json!({"role": "assistant", "content": message.text}));
        return written;
    }
    let calls: Value = message.tool_calls.iter().map(tool_call).collect();
    let content = Some(message.text.as_str()).filter(|text| !text.is_empty());
    written.push(json!({"role": "assistant", "content": content, "tool_calls": calls}));
    written
}

fn tool_call(call: &ToolCall) -> Value {
    let arguments = match &call.arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

pub(super) fn decode(body: &Value) -> Result<AnswerParts, WireFault> {
    let Some(choice) = body.pointer("/choices/0") else {
        return Err(WireFault::malformed("answered without `choices`"));
    };
    let Some(message) = choice.get("message").filter(|message| message.is_object()) else {
        return Err(WireFault::malformed("answered with a choice that has no `message`"));
    };
    let tool_calls = decoded_calls(message)?;
    Ok(AnswerParts {
        text: content_text(message),
        usage: usage(body),
        model: string_at(body, "model"),
        stop: stop_reason(choice.get("finish_reason"), !tool_calls.is_empty()),
        tool_calls,
    })
}

/// Calls as a list, or the one call of older servers.
fn decoded_calls(message: &Value) -> Result<Vec<ToolCall>, WireFault> {
    let older = message.get("function_call").filter(|call| !call.is_null());
    let older = older.map(|call| decoded_call(&json!({"function": call})));
    match message.get("tool_calls") {
        None | Some(Value::Null) => Ok(older.into_iter().collect()),
        Some(Value::Array(calls)) => Ok(calls.iter().map(decoded_call).chain(older).collect()),
        Some(_) => Err(WireFault::malformed("answered with `tool_calls` that are not a list")),
    }
}

fn decoded_call(call: &Value) -> ToolCall {
    let function = &call["function"];
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => arguments(text),
        None | Some(Value::Null) => json!({}),
        // Some servers send the object itself; anything else is the caller's to refuse.
        Some(other) => other.clone(),
    };
    ToolCall { id: string_at(call, "id"), name: string_at(function, "name"), arguments }
}

/// Content is a string, or a list of parts; a refusal has a member of its own.
fn content_text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| string_at(part, "text")).collect(),
        _ => string_at(message, "refusal"),
    }
}

fn usage(body: &Value) -> Option<Usage> {
    let usage = body.get("usage").filter(|usage| usage.is_object())?;
    let cached = count_at(usage, "/prompt_tokens_details/cached_tokens");
    Some(Usage {
        input_tokens: count_at(usage, "/prompt_tokens").saturating_sub(cached),
        output_tokens: count_at(usage, "/completion_tokens"),
        cache_read_tokens: cached,
        cache_write_tokens: 0,
    })
}

fn stop_reason(reason: Option<&Value>, calls: bool) -> StopReason {
    match reason.and_then(Value::as_str).unwrap_or("stop") {
        // Some servers say `stop` although they wait for tools.
        "stop" if calls => StopReason::ToolUse,
        "stop" => StopReason::End,
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}

#[derive(Default)]
struct Call {
    id: String,
    name: String,
    pieces: String,
}

/// The state of a streamed answer.
#[derive(Default)]
pub(super) struct OpenAiStreamDecoder {
    text: String,
    calls: BTreeMap<u64, Call>,
    usage: Option<Usage>,
    model: String,
    reason: Option<Value>,
    ended: bool,
}

impl StreamDecoder for OpenAiStreamDecoder {
    fn event(&mut self, event: &SseEvent) -> Result<StreamStep, WireFault> {
        if event.data.trim() == "[DONE]" {
            self.ended = true;
            return Ok(StreamStep { content: false, done: true });
        }
        let data = event_json(event)?;
        if let Some(fault) = fault_in(&data) {
            return Err(fault);
        }
        if self.model.is_empty() {
            self.model = string_at(&data, "model");
        }
        self.usage = usage(&data).or(self.usage);
        let Some(choice) = data.pointer("/choices/0") else { return Ok(StreamStep::default()) };
        if let Some(reason) = choice.get("finish_reason").filter(|reason| !reason.is_null()) {
            self.reason = Some(reason.clone());
        }
        Ok(StreamStep { content: self.extend(&choice["delta"]), done: false })
    }

    fn finish(self: Box<Self>) -> Result<AnswerParts, WireFault> {
        // A server that gives a reason to stop and closes has finished, even without the mark.
        if !self.ended && self.reason.is_none() {
            return Err(WireFault::truncated("ended the stream before the end of its answer"));
        }
        let tool_calls: Vec<_> = self
            .calls
            .into_values()
            .map(|call| ToolCall {
                id: call.id,
                name: call.name,
                arguments: arguments(&call.pieces),
            })
            .collect();
        Ok(AnswerParts {
            text: self.text,
            usage: self.usage,
            model: self.model,
            stop: stop_reason(self.reason.as_ref(), !tool_calls.is_empty()),
            tool_calls,
        })
    }
}

impl OpenAiStreamDecoder {
    /// Whether the delta carried content.
    fn extend(&mut self, delta: &Value) -> bool {
        let words = content_text(delta);
        self.text += &words;
        let pieces = delta.get("tool_calls").and_then(Value::as_array);
        let mut content = !words.is_empty();
        for (position, piece) in pieces.into_iter().flatten().enumerate() {
            let index = piece.get("index").and_then(Value::as_u64).unwrap_or(position as u64);
            let call = self.calls.entry(index).or_default();
            call.id += &string_at(piece, "id");
            call.name += &string_at(&piece["function"], "name");
            call.pieces += &string_at(&piece["function"], "arguments");
            content = true;
        }
        content
    }
}
