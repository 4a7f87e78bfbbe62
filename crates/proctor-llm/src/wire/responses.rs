//! Responses, as `OpenAI` and the servers compatible with it speak them: reading answers.

use serde_json::Value;

use super::{
    AnswerParts, StreamDecoder, StreamStep, WireFault, arguments, count_at, event_json, fault_in,
    string_at,
};
use crate::answer::{StopReason, Usage};
use crate::request::ToolCall;
use crate::sse::SseEvent;

pub(super) fn decode(body: &Value) -> Result<AnswerParts, WireFault> {
    if let Some(fault) = fault_in(body) {
        return Err(fault);
    }
    let Some(output) = body.get("output").and_then(Value::as_array) else {
        return Err(WireFault::malformed("answered without `output`"));
    };
    let of_type = |kind: &'static str| output.iter().filter(move |item| item["type"] == kind);
    let parts = of_type("message").filter_map(|message| message["content"].as_array()).flatten();
    let text = parts.map(|part| string_at(part, "text") + &string_at(part, "refusal")).collect();
    let tool_calls: Vec<ToolCall> = of_type("function_call")
        .map(|call| ToolCall {
            id: string_at(call, "call_id"),
            name: string_at(call, "name"),
            arguments: arguments(&string_at(call, "arguments")),
        })
        .collect();
    let stop = match body.pointer("/incomplete_details/reason").and_then(Value::as_str) {
        Some("max_output_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
        None if tool_calls.is_empty() => StopReason::End,
        None => StopReason::ToolUse,
    };
    Ok(AnswerParts { text, tool_calls, usage: usage(body), model: string_at(body, "model"), stop })
}

fn usage(body: &Value) -> Option<Usage> {
    let usage = body.get("usage").filter(|usage| usage.is_object())?;
    let cached = count_at(usage, "/input_tokens_details/cached_tokens");
    Some(Usage {
        input_tokens: count_at(usage, "/input_tokens").saturating_sub(cached),
        output_tokens: count_at(usage, "/output_tokens"),
        cache_read_tokens: cached,
        cache_write_tokens: 0,
    })
}

/// The last event of a stream carries the whole answer.
#[derive(Default)]
struct ResponsesStreamDecoder(Option<Value>);

pub(super) fn stream_decoder() -> Box<dyn StreamDecoder> {
    Box::<ResponsesStreamDecoder>::default()
}

impl StreamDecoder for ResponsesStreamDecoder {
    fn event(&mut self, event: &SseEvent) -> Result<StreamStep, WireFault> {
        if event.data.trim() == "[DONE]" {
            return Ok(StreamStep { content: false, done: true });
        }
        let mut data = event_json(event)?;
        let kind = string_at(&data, "type");
        match kind.as_str() {
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.0 = Some(data["response"].take());
                Ok(StreamStep { content: false, done: true })
            }
            "error" => Err(WireFault::malformed(format!(
                "answered with an error: {}",
                string_at(&data, "message")
            ))),
            _ => {
                let content = kind.rsplit('.').next() == Some("delta");
                Ok(StreamStep { content, done: false })
            }
        }
    }

    fn finish(self: Box<Self>) -> Result<AnswerParts, WireFault> {
        let whole = self
            .0
            .ok_or_else(|| WireFault::truncated("ended the stream before the end of its answer"))?;
        decode(&whole)
    }
}
