//! The JSON form of OTLP. By hand: the types of `opentelemetry-proto` read numbers through serde's `flatten`, which cannot read them
//! where `serde_json` keeps all digits, as it does in this workspace.

use serde_json::{Map, Value};

use crate::otlp::{error_text, kind, limit_attributes, parent, shortened};
use crate::span::Span;

pub(crate) const BAD_IDS: &str =
    "a span has ids that are not 16 and 8 bytes (32 and 16 hexadecimal digits)";
const MAX_DEPTH: usize = 32;

pub(crate) fn spans(request: &Value) -> Result<Vec<Span>, String> {
    if !request.is_object() {
        return Err("it is not an object with `resourceSpans`".into());
    }
    let mut read = Vec::new();
    for resource in list(request, "resourceSpans")? {
        for scope in list(resource, "scopeSpans")? {
            let name = scope.pointer("/scope/name").and_then(Value::as_str).unwrap_or_default();
            for span in list(scope, "spans")? {
                read.push(read_span(span, name)?);
            }
        }
    }
    Ok(read)
}

/// The items of a list; none where it is left out.
fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], String> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("`{name}` is not a list")),
    }
}

fn read_span(span: &Value, scope: &str) -> Result<Span, String> {
    let text = |name: &str| span.get(name).and_then(Value::as_str).unwrap_or_default();
    let id = |name: &str| bytes(text(name)).ok_or_else(|| BAD_IDS.to_owned());
    let code = span.pointer("/status/code").unwrap_or(&Value::Null);
    let is_error = whole(code) == Some(2) || code.as_str() == Some("STATUS_CODE_ERROR");
    let error = is_error.then(|| {
        let message = span.pointer("/status/message").and_then(Value::as_str).unwrap_or_default();
        error_text(message.to_owned(), exception(span))
    });
    let kind_of = span.get("kind").unwrap_or(&Value::Null);
    let kind_number = match kind_of.as_str() {
        Some("SPAN_KIND_SERVER") => 2,
        Some("SPAN_KIND_CLIENT") => 3,
        _ => whole(kind_of).unwrap_or_default(),
    };
    let time =
        |name: &str| span.get(name).and_then(whole).and_then(|time| u64::try_from(time).ok());
    Ok(Span {
        trace_id: id("traceId")?.try_into().map_err(|_| BAD_IDS)?,
        span_id: id("spanId")?.try_into().map_err(|_| BAD_IDS)?,
        parent: parent(&id("parentSpanId")?).ok_or(BAD_IDS)?,
        name: shortened(text("name")),
        kind: kind(kind_number),
        start_ns: time("startTimeUnixNano").unwrap_or_default(),
        end_ns: time("endTimeUnixNano").unwrap_or_default(),
        attributes: limit_attributes(attributes(list(span, "attributes")?, 0)),
        error,
        scope: scope.to_owned(),
    })
}

fn exception(span: &Value) -> Option<String> {
    let events = span.get("events")?.as_array()?;
    let thrown = events.iter().find(|event| event["name"] == "exception")?;
    let mut attributes = thrown.get("attributes")?.as_array()?.iter();
    let message = attributes.find(|attribute| attribute["key"] == "exception.message")?;
    message.pointer("/value/stringValue")?.as_str().map(str::to_owned)
}

fn attributes(all: &[Value], depth: usize) -> impl Iterator<Item = (String, Value)> {
    all.iter().filter_map(move |attribute| {
        let key = attribute.get("key")?.as_str()?;
        Some((key.to_owned(), read_value(attribute.get("value")?, depth)))
    })
}

fn read_value(value: &Value, depth: usize) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|members| members.iter().next()) else {
        return Value::Null;
    };
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    match kind.as_str() {
        "stringValue" | "boolValue" => inner.clone(),
        // 64-bit numbers are texts, but not in all SDKs.
        "intValue" => whole(inner).map(Value::from).unwrap_or_default(),
        "doubleValue" => inner.as_f64().map(Value::from).unwrap_or_default(),
        "arrayValue" => {
            let items = inner.get("values").and_then(Value::as_array);
            items.into_iter().flatten().map(|item| read_value(item, depth + 1)).collect()
        }
        "kvlistValue" => {
            let members = inner.get("values").and_then(Value::as_array);
            let members = members.map(Vec::as_slice).unwrap_or_default();
            attributes(members, depth + 1).collect::<Map<_, _>>().into()
        }
        "bytesValue" => "bytes".into(),
        _ => Value::Null,
    }
}

/// A whole number, which may be a text.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// The bytes of a text of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok());
    pairs.collect()
}
