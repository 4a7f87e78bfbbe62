//! Answers as clients of each interface expect them: whole, as a stream of events, and as errors.

use proctor_llm::Usage;
use proctor_llm::wire::Protocol;
use serde_json::{Value, json};

/// The most pieces that a text is streamed in.
const MAX_PIECES: usize = 64;

/// A call of a tool that the model asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRequested {
    /// Pairs it with its result; made up when empty.
    pub id: String,
    /// The tool.
    pub name: String,
    /// An object.
    pub arguments: Value,
}

/// What a scripted model says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedAnswer {
    /// The words.
    pub text: String,
    /// The calls that it asks for.
    pub tool_calls: Vec<CallRequested>,
    /// The tokens that it is said to have taken; estimated for the client when absent, and then not recorded.
    pub usage: Option<Usage>,
}

impl ScriptedAnswer {
    /// Words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// What goes back to the client.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) is_stream: bool,
    /// The body: one piece, or the events of a stream.
    pub(crate) pieces: Vec<String>,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), is_stream: false, pieces: vec![body.to_string()] }
    }

    /// A stream that was received in one piece, in its events.
    pub(crate) fn received_stream(text: &str) -> Self {
        let pieces = text.split_inclusive("\n\n").map(str::to_owned).collect();
        Self { status: 200, headers: Vec::new(), is_stream: true, pieces }
    }
}

/// What is asked of the renderer beside the answer.
pub(crate) struct Rendering<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) body: &'a Value,
    /// The number of the call in its conversation, from 1; ids are made of it, so that they are the same in each run.
    pub(crate) number: u64,
    pub(crate) prompt: &'a str,
}

impl Rendering<'_> {
    fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or("scripted")
    }

    pub(crate) fn is_streamed(&self) -> bool {
        self.body["stream"] == true
    }

    fn usage(&self, answer: &ScriptedAnswer) -> Usage {
        let estimated = |bytes: usize| (bytes as u64).div_ceil(4).max(1);
        answer.usage.unwrap_or_else(|| {
            let calls = answer.tool_calls.iter();
            let calls: usize =
                calls.map(|call| call.name.len() + call.arguments.to_string().len()).sum();
            Usage {
                input_tokens: estimated(self.prompt.len()),
                output_tokens: estimated(answer.text.len() + calls),
                ..Usage::default()
            }
        })
    }

    /// The ids of calls that have none.
    fn with_ids(&self, answer: &ScriptedAnswer) -> Vec<CallRequested> {
        let prefix = if self.protocol == Protocol::Messages { "toolu" } else { "call" };
        let number = self.number;
        let named = |(index, call): (usize, &CallRequested)| {
            let made = || format!("{prefix}_{number}_{}", index + 1);
            let id = if call.id.is_empty() { made() } else { call.id.clone() };
            CallRequested { id, ..call.clone() }
        };
        answer.tool_calls.iter().enumerate().map(named).collect()
    }

    /// The answer for this client, and the body that a client who does not stream would get.
    pub(crate) fn render(&self, answer: &ScriptedAnswer) -> (Reply, Value) {
        let calls = self.with_ids(answer);
        let usage = self.usage(answer);
        let whole = match self.protocol {
            Protocol::ChatCompletions => self.chat(answer, &calls, &usage),
            Protocol::Responses => self.responses(answer, &calls, &usage),
            Protocol::Messages => self.messages(answer, &calls, &usage),
        };
        if !self.is_streamed() {
            return (Reply::json(200, &whole), whole);
        }
        let pieces = match self.protocol {
            Protocol::ChatCompletions => self.chat_events(answer, &calls, &whole),
            Protocol::Responses => responses_events(&whole),
            Protocol::Messages => messages_events(&whole),
        };
        (Reply { status: 200, headers: Vec::new(), is_stream: true, pieces }, whole)
    }

    fn chat(&self, answer: &ScriptedAnswer, calls: &[CallRequested], usage: &Usage) -> Value {
        let listed: Vec<Value> = calls
            .iter()
            .map(|call| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments.to_string()}}))
            .collect();
        let content = (calls.is_empty() || !answer.text.is_empty()).then_some(&answer.text);
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if !listed.is_empty() {
            message["tool_calls"] = listed.into();
        }
        let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
        json!({
            "id": format!("chatcmpl-{}", self.number),
            "object": "chat.completion",
            "created": 0,
            "model": self.model(),
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
            "usage": {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens, "total_tokens": usage.total()},
        })
    }

    fn chat_events(
        &self,
        answer: &ScriptedAnswer,
        calls: &[CallRequested],
        whole: &Value,
    ) -> Vec<String> {
        let chunk = |choices: Value, usage: Option<&Value>| {
            let mut chunk = json!({"id": whole["id"], "object": "chat.completion.chunk", "created": 0, "model": whole["model"], "choices": choices});
            if let Some(usage) = usage {
                chunk["usage"] = usage.clone();
            }
            format!("data: {chunk}\n\n")
        };
        let delta = |delta: Value, finish: Value| {
            chunk(
                json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]),
                None,
            )
        };
        let mut events = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
        for piece in pieces(&answer.text) {
            events.push(delta(json!({"content": piece}), Value::Null));
        }
        for (index, call) in calls.iter().enumerate() {
            let arguments = call.arguments.to_string();
            events.push(delta(
                json!({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}]}),
                Value::Null,
            ));
            for piece in pieces(&arguments) {
                events.push(delta(
                    json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
                    Value::Null,
                ));
            }
        }
        events.push(delta(json!({}), whole["choices"][0]["finish_reason"].clone()));
        if self.body["stream_options"]["include_usage"] == true {
            events.push(chunk(json!([]), Some(&whole["usage"])));
        }
        events.push("data: [DONE]\n\n".into());
        events
    }

    fn messages(&self, answer: &ScriptedAnswer, calls: &[CallRequested], usage: &Usage) -> Value {
        let mut content = Vec::new();
        if calls.is_empty() || !answer.text.is_empty() {
            content.push(json!({"type": "text", "text": answer.text}));
        }
        for call in calls {
            content.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}));
        }
        json!({
            "id": format!("msg_{}", self.number),
            "type": "message",
            "role": "assistant",
            "model": self.model(),
            "content": content,
            "stop_reason": if calls.is_empty() { "end_turn" } else { "tool_use" },
            "stop_sequence": null,
            "usage": {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cache_creation_input_tokens": usage.cache_write_tokens,
                "cache_read_input_tokens": usage.cache_read_tokens,
            },
        })
    }

    fn responses(&self, answer: &ScriptedAnswer, calls: &[CallRequested], usage: &Usage) -> Value {
        let number = self.number;
        let mut output = Vec::new();
        if calls.is_empty() || !answer.text.is_empty() {
            output.push(json!({
                "type": "message", "id": format!("msg_{number}"), "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}],
            }));
        }
        for (index, call) in calls.iter().enumerate() {
            output.push(json!({
                "type": "function_call", "id": format!("fc_{number}_{}", index + 1), "call_id": call.id,
                "name": call.name, "arguments": call.arguments.to_string(), "status": "completed",
            }));
        }
        let asked = |member: &str, usual: Value| match &self.body[member] {
            Value::Null => usual,
            given => given.clone(),
        };
        json!({
            "id": format!("resp_{number}"),
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": self.body["instructions"],
            "max_output_tokens": self.body["max_output_tokens"],
            "model": self.model(),
            "output": output,
            "parallel_tool_calls": asked("parallel_tool_calls", true.into()),
            "previous_response_id": self.body["previous_response_id"],
            "reasoning": {"effort": null, "summary": null},
            "service_tier": "default",
            "store": asked("store", true.into()),
            "temperature": asked("temperature", 1.0.into()),
            "text": {"format": {"type": "text"}},
            "tool_choice": asked("tool_choice", "auto".into()),
            "tools": asked("tools", json!([])),
            "top_p": asked("top_p", 1.0.into()),
            "truncation": "disabled",
            "usage": {
                "input_tokens": usage.input_tokens + usage.cache_read_tokens,
                "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.total(),
            },
            "user": null,
            "metadata": asked("metadata", json!({})),
        })
    }
}

fn named_event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn messages_events(whole: &Value) -> Vec<String> {
    let mut start = whole.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = 0.into();
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in whole["content"].as_array().into_iter().flatten().enumerate() {
        let mut begun = block.clone();
        let (deltas, member, kind) = if let Some(text) = block["text"].as_str() {
            begun["text"] = "".into();
            (pieces(text), "text", "text_delta")
        } else {
            begun["input"] = json!({});
            (pieces(&block["input"].to_string()), "partial_json", "input_json_delta")
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        for piece in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, member: piece}}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": null},
        "usage": whole["usage"],
    }));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(named_event).collect()
}

fn responses_events(whole: &Value) -> Vec<String> {
    let mut begun = whole.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in whole["output"].as_array().into_iter().flatten().enumerate() {
        let id = &item["id"];
        let mut added = item.clone();
        added["status"] = "in_progress".into();
        if item["type"] == "message" {
            added["content"] = json!([]);
            let (part, text) =
                (&item["content"][0], item["content"][0]["text"].as_str().unwrap_or_default());
            let place = |kind: &str| json!({"type": kind, "item_id": id, "output_index": index, "content_index": 0});
            let with = |kind: &str, name: &str, value: &Value| {
                let mut event = place(kind);
                event[name] = value.clone();
                event
            };
            events.push(
                json!({"type": "response.output_item.added", "output_index": index, "item": added}),
            );
            let empty =
                json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
            events.push(with("response.content_part.added", "part", &empty));
            for piece in pieces(text) {
                let mut event = with("response.output_text.delta", "delta", &piece.into());
                event["logprobs"] = json!([]);
                events.push(event);
            }
            let mut done = with("response.output_text.done", "text", &text.into());
            done["logprobs"] = json!([]);
            events.push(done);
            events.push(with("response.content_part.done", "part", part));
        } else {
            added["arguments"] = "".into();
            let arguments = item["arguments"].as_str().unwrap_or_default();
            events.push(
                json!({"type": "response.output_item.added", "output_index": index, "item": added}),
            );
            for piece in pieces(arguments) {
                events.push(json!({"type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": piece}));
            }
            events.push(json!({"type": "response.function_call_arguments.done", "item_id": id, "output_index": index, "name": item["name"], "arguments": arguments}));
        }
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    events.iter().map(named_event).collect()
}

/// A text in pieces that end behind blanks; at most [`MAX_PIECES`].
fn pieces(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    let at_once = words.len().div_ceil(MAX_PIECES).max(1);
    words.chunks(at_once).map(<[&str]>::concat).collect()
}

/// An error in the words of an interface.
pub(crate) fn error_reply(protocol: Protocol, status: u16, message: &str) -> Reply {
    let body = match protocol {
        Protocol::Messages => {
            let kind = match status {
                400 => "invalid_request_error",
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                503 | 529 => "overloaded_error",
                _ => "api_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Protocol::ChatCompletions | Protocol::Responses => {
            let (kind, code) = match status {
                401 => ("invalid_request_error", Some("invalid_api_key")),
                429 => ("requests", Some("rate_limit_exceeded")),
                400..=499 => ("invalid_request_error", None),
                _ => ("server_error", None),
            };
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
    };
    Reply::json(status, &body)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rendered(protocol: Protocol, stream: bool, answer: &ScriptedAnswer) -> Reply {
        let body =
            json!({"model": "m", "stream": stream, "stream_options": {"include_usage": true}});
        Rendering { protocol, body: &body, number: 1, prompt: "hello" }.render(answer).0
    }

    proptest! {
        /// What a client of the interface reads is what was scripted, streamed or not.
        #[test]
        fn each_interface_says_the_same_streamed_and_whole(
            text in "(?s).{0,400}",
            calls in prop::collection::vec(("[a-z]{1,8}", "(?s).{0,40}"), 0..3),
        ) {
            let tool_calls: Vec<CallRequested> = calls
                .into_iter()
                .map(|(name, value)| CallRequested { id: String::new(), name, arguments: json!({"q": value, "n": [1, null]}) })
                .collect();
            let usage = Some(Usage { input_tokens: 7, output_tokens: 5, ..Usage::default() });
            let answer = ScriptedAnswer { text, tool_calls, usage };
            for protocol in Protocol::ALL {
                let whole = rendered(protocol, false, &answer).pieces.concat();
                let whole = protocol.decode(&serde_json::from_str(&whole).unwrap()).unwrap();
                let streamed = rendered(protocol, true, &answer).pieces.concat();
                let streamed = protocol.decode_stream(&streamed).unwrap();
                prop_assert_eq!(&whole, &streamed, "{:?}", protocol);
                prop_assert_eq!(&whole.text, &answer.text);
                prop_assert_eq!(whole.usage, answer.usage);
                let named: Vec<_> = whole.tool_calls.iter().map(|call| (&call.name, &call.arguments)).collect();
                let wanted: Vec<_> = answer.tool_calls.iter().map(|call| (&call.name, &call.arguments)).collect();
                prop_assert_eq!(named, wanted);
                prop_assert!(whole.tool_calls.iter().all(|call| !call.id.is_empty()));
            }
        }
    }

    #[test]
    fn a_long_text_comes_in_a_bounded_number_of_pieces() {
        let text = "word ".repeat(10_000);
        assert!(pieces(&text).len() <= MAX_PIECES);
        assert_eq!(pieces(&text).concat(), text);
        assert!(pieces("").is_empty());
    }
}
