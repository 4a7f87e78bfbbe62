//! The spans of a turn as events, for whoever looks at a recording: a bounded number of bounded size.

use proctor_events::{AgentSpan, Body, Json, Millis, Timestamp};
use proctor_text::truncate;
use proctor_traces::{Span, SpanId};
use serde_json::{Map, Value};

/// The most spans of an answer that are recorded.
const MAX_SPANS: usize = 200;
/// The most attributes of a span that are recorded.
const MAX_ATTRIBUTES: usize = 32;
/// The most characters of an attribute that are recorded.
const MAX_CHARACTERS: usize = 1_000;

/// The events, the earliest span first. Spans further out come before those inside them.
pub(super) fn span_events(turn: u32, spans: &[Span]) -> Vec<Body> {
    let mut ordered: Vec<&Span> = spans.iter().collect();
    ordered.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns)));
    let left_out = ordered.len().saturating_sub(MAX_SPANS);
    let kept = ordered.into_iter().take(MAX_SPANS);
    kept.enumerate()
        .map(|(place, span)| {
            // The last one says how many more there were.
            let left_out = if place + 1 == MAX_SPANS { left_out } else { 0 };
            Body::AgentSpan(span_event(turn, span, left_out))
        })
        .collect()
}

fn span_event(turn: u32, span: &Span, left_out: usize) -> AgentSpan {
    let attributes = attributes(span);
    AgentSpan {
        turn_number: turn,
        name: truncate(&span.name, MAX_CHARACTERS),
        span_id: id(span.span_id),
        parent_span_id: span.parent.map(id),
        started_at: Timestamp::from_nanosecond(span.start_ns.into())
            .ok()
            .map(|time| time.to_string()),
        duration_ms: Some(Millis::new(span.duration_ms())),
        scope: Some(span.scope.clone()).filter(|scope| !scope.is_empty()),
        error: span.error.as_ref().map(|error| truncate(error, MAX_CHARACTERS)),
        attributes: Some(Json::from(Value::Object(attributes))),
        spans_left_out: (left_out > 0).then(|| u64::try_from(left_out).unwrap_or(u64::MAX)),
    }
}

fn attributes(span: &Span) -> Map<String, Value> {
    let kept = span.attributes.iter().take(MAX_ATTRIBUTES);
    kept.map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(_) | Value::Object(_) => value.to_string(),
            plain => return (name.clone(), plain.clone()),
        };
        (name.clone(), truncate(&text, MAX_CHARACTERS).into())
    })
    .collect()
}

fn id(id: SpanId) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
