//! The JSON Schema of an event line, made from the catalogue.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::catalogue::EventType;

/// The schema of one line of a recording (JSON Schema 2020-12).
///
/// Unknown fields and unknown event types are valid: the format is open to newer writers.
pub fn json_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut definitions = Map::new();
    let mut cases = Vec::new();
    for event_type in EventType::ALL {
        definitions.insert(event_type.name().into(), event_schema(*event_type, &mut generator));
        cases.push(json!({
            "if": {"properties": {"event_type": {"const": event_type.name()}}},
            "then": {"$ref": format!("#/$defs/{}", event_type.name())},
        }));
    }
    definitions.insert("Envelope".into(), envelope_schema());
    definitions.extend(generator.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Proctor event",
        "description": "One line of a recording. Unknown fields and unknown event types are allowed and kept.",
        "$ref": "#/$defs/Envelope",
        "allOf": cases,
        "$defs": definitions,
    })
}

fn event_schema(event_type: EventType, generator: &mut SchemaGenerator) -> Value {
    let mut schema = event_type.payload_schema(generator).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        relax_lists(object);
    }
    schema
}

/// A list may be absent on input; it then counts as empty.
fn relax_lists(schema: &mut Map<String, Value>) {
    let lists: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(_, property)| property.get("type") == Some(&json!("array")))
        .map(|(name, _)| name.clone())
        .collect();
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !lists.iter().any(|list| name == list));
        if required.is_empty() {
            schema.remove("required");
        }
    }
}

fn envelope_schema() -> Value {
    let whole = |minimum: u32, text: &str| json!({"type": ["integer", "null"], "minimum": minimum, "description": text});
    let text = |text: &str| json!({"type": ["string", "null"], "description": text});
    json!({
        "type": "object",
        "required": ["event_type"],
        "properties": {
            "v": whole(1, "format version of the writer"),
            "seq": whole(0, "place in the run, from 1, without gaps; the line number where absent"),
            "run_id": text("the run it belongs to"),
            "time": {"type": ["string", "null"], "format": "date-time", "description": "when it happened, RFC 3339 in UTC, with six fraction digits"},
            "event_type": {"type": "string", "description": "what happened"},
            "example_id": text("the example it concerns; absent at suite level"),
            "repeat": whole(0, "which repetition, from 1"),
            "attempt": whole(0, "which attempt, from 1"),
            "worker": whole(0, "the worker it came from, from 0"),
            "digest": {
                "type": ["string", "null"],
                "pattern": "^[0-9a-f]{16}$",
                "description": "in files: the first 16 hexadecimal digits of the SHA-256 of the digest before and of the line's bytes up to the comma before this field, which is the last one",
            },
        },
    })
}
