//! A run as traces in the JSON form of OTLP: one trace per attempt.
//!
//! The root span is the test case; its children are turns of the agent (`invoke_agent`), tools (`execute_tool`) and model calls
//! (`chat`). Every check is an event `gen_ai.evaluation.result` on the root. The names of attributes are in this one file: general
//! conventions 1.37 for `test.*`, the `GenAI` conventions of the same time for `gen_ai.*` (both in development, so names may change there).
//!
//! What was said is left out unless it is asked for: transcripts often hold what must not leave the machine.

use proctor_events::{Millis, RunId, Timestamp};
use proctor_record::{Attempt, Evaluation, Example, ModelUse, RunData, ToolCall, Turn};
use serde_json::{Value, json};

/// The version of the conventions whose names are used.
pub const CONVENTIONS: &str = "https://opentelemetry.io/schemas/1.37.0";

/// The run as the body of an OTLP request (`POST /v1/traces`, `application/json`).
///
/// `content` says whether messages, arguments, results and the judge's reasoning are included.
pub fn otlp_traces(run: &RunData, content: bool) -> Value {
    let spans: Vec<Value> = run
        .examples
        .iter()
        .flat_map(|example| example.attempts.iter().map(move |attempt| (example, attempt)))
        .filter_map(|(example, attempt)| Trace::of(run, example, attempt, content))
        .flat_map(Trace::spans)
        .collect();
    let mut resource = vec![text("service.name", "proctor")];
    resource.extend(run.run_id.as_ref().map(|id| text("proctor.run.id", id.as_str())));
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "schemaUrl": CONVENTIONS,
        "scopeSpans": [{
            "scope": {"name": "proctor", "version": env!("CARGO_PKG_VERSION")},
            "schemaUrl": CONVENTIONS,
            "spans": spans,
        }],
    }]})
}

struct Trace<'a> {
    example: &'a Example,
    attempt: &'a Attempt,
    content: bool,
    id: Ids,
    start: u128,
    end: u128,
}

impl<'a> Trace<'a> {
    /// `None` for an attempt without a time.
    fn of(
        run: &RunData,
        example: &'a Example,
        attempt: &'a Attempt,
        content: bool,
    ) -> Option<Self> {
        let took = attempt.duration_ms.map_or(0, nanos);
        let start = attempt
            .started_at
            .map(at)
            .or_else(|| attempt.finished_at.map(|end| at(end).saturating_sub(took)))?;
        let end = attempt.finished_at.map_or(start + took, at).max(start);
        Some(Self {
            id: Ids::of(run.run_id.as_ref(), example, attempt),
            example,
            attempt,
            content,
            start,
            end,
        })
    }

    fn spans(self) -> Vec<Value> {
        let mut spans = vec![self.root()];
        let turns = self.attempt.conversation.iter().flat_map(|conversation| &conversation.turns);
        for turn in turns {
            spans.extend(self.responses(turn));
            spans.extend(
                turn.tool_calls
                    .iter()
                    .enumerate()
                    .map(|(place, call)| self.tool(turn, place, call)),
            );
        }
        let calls = self.attempt.model_calls.iter().enumerate();
        spans.extend(calls.map(|(place, call)| self.chat(place, call)));
        spans
    }

    fn root(&self) -> Value {
        let status = self.attempt.status.as_ref().map_or("unfinished", |status| status.as_str());
        let passed = status == "passed";
        let title = self.example.title();
        let mut attributes = vec![
            text("test.case.name", &title),
            text("test.case.result.status", if passed { "pass" } else { "fail" }),
            text("proctor.status", status),
            number("proctor.repeat", self.attempt.repeat.into()),
            number("proctor.attempt", self.attempt.attempt.into()),
            text("gen_ai.conversation.id", &self.id.conversation),
        ];
        attributes
            .extend(self.example.id.as_ref().map(|id| text("proctor.example.id", id.as_str())));
        attributes.extend(self.example.file.as_ref().map(|file| text("code.file.path", file)));
        attributes.extend(self.example.suite.as_ref().map(|suite| text("test.suite.name", suite)));
        attributes
            .extend(self.attempt.fault.as_ref().map(|fault| text("proctor.fault", fault.as_str())));
        let events: Vec<Value> =
            self.attempt.evaluations.iter().map(|evaluation| self.evaluation(evaluation)).collect();
        let mut span = self.span("root", None, &title, (self.start, self.end), &attributes);
        span["events"] = json!(events);
        span["status"] = json!({"code": if passed { 1 } else { 2 }});
        span
    }

    fn evaluation(&self, evaluation: &Evaluation) -> Value {
        let name = evaluation.name.as_ref().or(evaluation.description.as_ref());
        let name = name.or(evaluation.kind.as_ref()).map_or("check", String::as_str);
        let label = match evaluation.passed {
            Some(true) => "pass",
            Some(false) => "fail",
            None => "none",
        };
        let mut attributes = vec![
            text("gen_ai.evaluation.name", name),
            text("gen_ai.evaluation.score.label", label),
        ];
        attributes
            .extend(evaluation.score.map(|score| float("gen_ai.evaluation.score.value", score)));
        attributes.extend(evaluation.turn.map(|turn| number("proctor.turn", turn.into())));
        let reasoning = evaluation.reasoning.as_ref().filter(|_| self.content);
        attributes.extend(reasoning.map(|why| text("gen_ai.evaluation.explanation", why)));
        json!({
            "timeUnixNano": self.end.to_string(),
            "name": "gen_ai.evaluation.result",
            "attributes": attributes,
        })
    }

    fn responses(&self, turn: &Turn) -> Vec<Value> {
        let response_parts = |message: &proctor_record::AgentMessage| {
            let end = message.time.map_or(self.end, at);
            let start = end.saturating_sub(message.duration_ms.map_or(0, nanos));
            let mut attributes = vec![
                text("gen_ai.operation.name", "invoke_agent"),
                text("gen_ai.conversation.id", &self.id.conversation),
                number("proctor.turn", turn.number.into()),
            ];
            attributes.extend(turn.topic.as_ref().map(|topic| text("proctor.topic", topic)));
            if self.content {
                let user = turn.user.as_ref().map_or("", |user| user.text.as_str());
                attributes.push(text("gen_ai.input.messages", &messages_json("user", user)));
                attributes.push(text(
                    "gen_ai.output.messages",
                    &messages_json("assistant", &message.text),
                ));
            }
            (start.clamp(self.start, self.end), end.clamp(self.start, self.end), attributes)
        };
        turn.responses
            .iter()
            .enumerate()
            .map(|(place, message)| {
                let (start, end, attributes) = response_parts(message);
                let key = format!("turn {} {place}", turn.number);
                self.span(&key, Some("root"), "invoke_agent", (start, end), &attributes)
            })
            .collect()
    }

    fn tool(&self, turn: &Turn, place: usize, call: &ToolCall) -> Value {
        let start = call.time.map_or(self.start, at).clamp(self.start, self.end);
        let end = (start + call.duration_ms.map_or(0, nanos)).clamp(self.start, self.end);
        let mut attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", &call.name),
            number("proctor.turn", turn.number.into()),
        ];
        attributes.extend(call.id.as_ref().map(|id| text("gen_ai.tool.call.id", id)));
        if self.content {
            let content = [
                ("gen_ai.tool.call.arguments", &call.arguments),
                ("gen_ai.tool.call.result", &call.result),
            ];
            let content = content
                .into_iter()
                .filter_map(|(key, value)| Some(text(key, value.as_ref()?.text())));
            attributes.extend(content);
        }
        let key = format!("tool {} {place}", turn.number);
        let name = format!("execute_tool {}", call.name);
        let mut span = self.span(&key, Some("root"), &name, (start, end), &attributes);
        if call.error.is_some() {
            span["status"] = json!({"code": 2});
        }
        span
    }

    fn chat(&self, place: usize, call: &ModelUse) -> Value {
        let took = call.duration_ms.map_or(0, nanos);
        let end = (self.start + took).clamp(self.start, self.end);
        let mut attributes = vec![text("gen_ai.operation.name", "chat")];
        attributes.extend(call.backend.as_ref().map(|name| text("gen_ai.provider.name", name)));
        attributes.extend(call.model.as_ref().map(|name| text("gen_ai.request.model", name)));
        attributes.extend(call.purpose.as_ref().map(|purpose| text("proctor.purpose", purpose)));
        attributes
            .extend(call.input_tokens.map(|count| number("gen_ai.usage.input_tokens", count)));
        attributes
            .extend(call.output_tokens.map(|count| number("gen_ai.usage.output_tokens", count)));
        attributes.extend(call.cost_usd.map(|cost| float("proctor.cost_usd", cost)));
        attributes.push(json!({"key": "proctor.cached", "value": {"boolValue": call.cached}}));
        let name = format!("chat {}", call.model.as_deref().unwrap_or("model"));
        let mut span = self.span(
            &format!("chat {place}"),
            Some("root"),
            &name,
            (self.start, end),
            &attributes,
        );
        if call.error.is_some() {
            span["status"] = json!({"code": 2});
        }
        span
    }

    fn span(
        &self,
        key: &str,
        parent: Option<&str>,
        name: &str,
        (start, end): (u128, u128),
        attributes: &[Value],
    ) -> Value {
        let mut span = json!({
            "traceId": self.id.trace,
            "spanId": self.id.span(key),
            "name": name,
            // Internal.
            "kind": 1,
            "startTimeUnixNano": start.to_string(),
            "endTimeUnixNano": end.max(start).to_string(),
            "attributes": attributes,
        });
        if let Some(parent) = parent {
            span["parentSpanId"] = json!(self.id.span(parent));
        }
        span
    }
}

/// Ids follow from the attempt, so that sending a run twice does not make two of it.
struct Ids {
    conversation: String,
    trace: String,
}

impl Ids {
    fn of(run: Option<&RunId>, example: &Example, attempt: &Attempt) -> Self {
        let run = run.map_or("run", |id| id.as_str());
        let example = example.id.as_ref().map_or("example", |id| id.as_str());
        let conversation = format!("{run}/{example}/{}/{}", attempt.repeat, attempt.attempt);
        let trace = format!("{:016x}{:016x}", hash(&conversation, 1), hash(&conversation, 2));
        Self { conversation, trace }
    }

    fn span(&self, key: &str) -> String {
        format!("{:016x}", hash(&format!("{} {key}", self.conversation), 3))
    }
}

/// FNV-1a, finished by mixing; never zero, which means «none» in an id. Names things; protects nothing.
fn hash(text: &str, seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut hash = text
        .bytes()
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb).max(1)
}

fn at(time: Timestamp) -> u128 {
    u128::try_from(time.as_nanosecond()).unwrap_or_default()
}

fn nanos(taken: Millis) -> u128 {
    std::time::Duration::try_from_secs_f64(taken.seconds()).unwrap_or_default().as_nanos()
}

fn messages_json(role: &str, words: &str) -> String {
    json!([{"role": role, "parts": [{"type": "text", "content": words}]}]).to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// 64-bit numbers are strings in the JSON form.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn float(key: &str, value: f64) -> Value {
    json!({"key": key, "value": {"doubleValue": value}})
}

#[cfg(test)]
mod tests;
