//! Bodies of OTLP requests as spans.
//!
//! Sizes are bounded before and after decoding: what comes is written by the program under test.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1 as wire;
use proctor_text::truncate;
use prost::Message;
use serde_json::{Map, Value};

use crate::json;
use crate::span::{Span, SpanKind};

/// The most characters of a text in an attribute; longer ones end with a mark.
const MAX_TEXT: usize = 64 << 10;
/// The most attributes of a span.
const MAX_ATTRIBUTES: usize = 512;
/// How deep values of attributes may be.
const MAX_DEPTH: usize = 32;

/// Why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// It is not the message in protobuf.
    #[error("the body is not an OTLP request in protobuf: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// It is not JSON.
    #[error("the body is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is JSON of another shape.
    #[error("the body is not an OTLP request in JSON: {0}")]
    Shape(String),
}

/// Reads `ExportTraceServiceRequest` in protobuf.
///
/// # Errors
///
/// If the body is something else.
pub fn decode_protobuf(body: &[u8]) -> Result<Vec<Span>, DecodeError> {
    let request = ExportTraceServiceRequest::decode(body)?;
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    let spans = scopes.flat_map(|scope| {
        let name = scope.scope.map(|scope| scope.name).unwrap_or_default();
        scope.spans.into_iter().map(move |span| read_span(span, &name))
    });
    spans.map(|span| span.ok_or_else(|| DecodeError::Shape(json::BAD_IDS.to_owned()))).collect()
}

/// Reads `ExportTraceServiceRequest` in the JSON form of OTLP.
///
/// # Errors
///
/// If the body is something else.
pub fn decode_json(body: &[u8]) -> Result<Vec<Span>, DecodeError> {
    let request: Value = serde_json::from_slice(body)?;
    json::spans(&request).map_err(DecodeError::Shape)
}

fn read_span(span: wire::Span, scope: &str) -> Option<Span> {
    let status = span.status.unwrap_or_default();
    let error = (status.code == wire::status::StatusCode::Error as i32).then(|| {
        let exception = span.events.iter().find(|event| event.name == "exception");
        let thrown = exception.and_then(|event| {
            let message =
                event.attributes.iter().find(|attribute| attribute.key == "exception.message")?;
            match message.value.as_ref()?.value.as_ref()? {
                any_value::Value::StringValue(text) => Some(text.clone()),
                _ => None,
            }
        });
        error_text(status.message, thrown)
    });
    Some(Span {
        trace_id: span.trace_id.try_into().ok()?,
        span_id: span.span_id.try_into().ok()?,
        parent: parent(&span.parent_span_id)?,
        name: shortened(&span.name),
        kind: kind(span.kind.into()),
        start_ns: span.start_time_unix_nano,
        end_ns: span.end_time_unix_nano,
        attributes: attributes(span.attributes),
        error,
        scope: scope.to_owned(),
    })
}

/// The text of an error: of the status, else of the exception.
pub(crate) fn error_text(status: String, exception: Option<String>) -> String {
    let text = Some(status).filter(|text| !text.trim().is_empty()).or(exception);
    text.map_or_else(|| "it failed without a message".to_owned(), |text| shortened(&text))
}

/// The parent of a span that may have none; nothing if it is malformed.
#[expect(clippy::option_option, reason = "a malformed id is not the same as none")]
pub(crate) fn parent(bytes: &[u8]) -> Option<Option<[u8; 8]>> {
    match bytes {
        [] => Some(None),
        bytes => {
            let id: [u8; 8] = bytes.try_into().ok()?;
            Some(Some(id).filter(|id| *id != [0; 8]))
        }
    }
}

pub(crate) fn kind(number: i64) -> SpanKind {
    match number {
        2 => SpanKind::Server,
        3 => SpanKind::Client,
        _ => SpanKind::Internal,
    }
}

pub(crate) fn shortened(text: &str) -> String {
    truncate(text, MAX_TEXT)
}

fn attributes(all: Vec<KeyValue>) -> Vec<(String, Value)> {
    let read = all.into_iter().take(MAX_ATTRIBUTES);
    read.map(|attribute| {
        let value = attribute.value.map(|value| read_value(value, 0)).unwrap_or_default();
        (attribute.key, value)
    })
    .collect()
}

fn read_value(value: AnyValue, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    match value.value {
        Some(any_value::Value::StringValue(text)) => text_value(text),
        Some(any_value::Value::BoolValue(flag)) => flag.into(),
        Some(any_value::Value::IntValue(number)) => number.into(),
        Some(any_value::Value::DoubleValue(number)) => number.into(),
        Some(any_value::Value::ArrayValue(list)) => list
            .values
            .into_iter()
            .take(MAX_ATTRIBUTES)
            .map(|item| read_value(item, depth + 1))
            .collect(),
        Some(any_value::Value::KvlistValue(members)) => {
            let read = members.values.into_iter().take(MAX_ATTRIBUTES).map(|member| {
                let value = member.value.map(|value| read_value(value, depth + 1));
                (member.key, value.unwrap_or_default())
            });
            read.collect::<Map<_, _>>().into()
        }
        Some(any_value::Value::BytesValue(bytes)) => format!("{} bytes", bytes.len()).into(),
        Some(any_value::Value::StringValueStrindex(_)) | None => Value::Null,
    }
}

fn text_value(text: String) -> Value {
    if text.len() <= MAX_TEXT { text.into() } else { shortened(&text).into() }
}

/// The limits on attributes that were read from JSON.
pub(crate) fn limit_attributes(all: impl Iterator<Item = (String, Value)>) -> Vec<(String, Value)> {
    let limited = all.take(MAX_ATTRIBUTES).map(|(key, value)| {
        let value = match value {
            Value::String(text) => text_value(text),
            other => other,
        };
        (key, value)
    });
    limited.collect()
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Status};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn attribute(key: &str, value: any_value::Value) -> KeyValue {
        let value = Some(AnyValue { value: Some(value) });
        KeyValue { key: key.into(), value, ..KeyValue::default() }
    }

    fn request() -> ExportTraceServiceRequest {
        let text = |text: &str| any_value::Value::StringValue(text.into());
        let event = wire::span::Event {
            name: "exception".into(),
            attributes: vec![attribute("exception.message", text("no such city"))],
            ..wire::span::Event::default()
        };
        let span = wire::Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            parent_span_id: vec![3; 8],
            name: "execute_tool weather".into(),
            kind: 2,
            start_time_unix_nano: 1_700_000_000_000_000_001,
            end_time_unix_nano: 1_700_000_000_005_000_001,
            attributes: vec![
                attribute("gen_ai.tool.name", text("weather")),
                attribute("tokens", any_value::Value::IntValue(12)),
                attribute("cost", any_value::Value::DoubleValue(0.25)),
            ],
            events: vec![event],
            status: Some(Status { code: 2, message: String::new() }),
            ..wire::Span::default()
        };
        let scope = ScopeSpans { spans: vec![span], ..ScopeSpans::default() };
        let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
        ExportTraceServiceRequest { resource_spans: vec![resource] }
    }

    #[test]
    fn both_forms_have_the_same_spans() {
        let by_protobuf = decode_protobuf(&request().encode_to_vec()).unwrap();
        let written = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
            "traceId": "01".repeat(16), "spanId": "02".repeat(8), "parentSpanId": "03".repeat(8),
            "name": "execute_tool weather", "kind": 2,
            "startTimeUnixNano": "1700000000000000001", "endTimeUnixNano": 1_700_000_000_005_000_001_u64,
            "attributes": [
                {"key": "gen_ai.tool.name", "value": {"stringValue": "weather"}},
                {"key": "tokens", "value": {"intValue": "12"}},
                {"key": "cost", "value": {"doubleValue": 0.25}},
            ],
            "events": [{"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "no such city"}}]}],
            "status": {"code": 2},
        }]}]}]});
        let by_json = decode_json(written.to_string().as_bytes()).unwrap();
        assert_eq!(by_protobuf, by_json);
        let span = &by_json[0];
        assert_eq!((span.kind, span.error.as_deref()), (SpanKind::Server, Some("no such city")));
        assert_eq!(span.count(&["tokens"]), Some(12));
        assert_eq!(span.number(&["cost"]), Some(0.25));
        assert!((span.duration_ms() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn ids_of_another_length_are_refused() {
        let mut request = request();
        request.resource_spans[0].scope_spans[0].spans[0].span_id = vec![1; 3];
        assert!(decode_protobuf(&request.encode_to_vec()).is_err());
    }

    #[test]
    fn long_texts_are_cut_with_a_mark() {
        let long = "x".repeat(MAX_TEXT + 10);
        let Value::String(cut) = text_value(long) else { panic!() };
        assert!(cut.chars().count() <= MAX_TEXT && cut.ends_with('…'), "{}", cut.len());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = (decode_protobuf(&body), decode_json(&body));
        }
    }
}
