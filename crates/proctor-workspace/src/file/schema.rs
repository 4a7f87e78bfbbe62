//! The JSON Schema of workspace files: the schema of their types, and what the reader refuses beyond types.
//!
//! The tools for agents take some of the same types. Their schemas stay plain: models pay for every word of a schema,
//! and several providers refuse `not` and `allOf`. So the further rules are added here and not on the types. A key that
//! is written with `null` counts as absent. `crates/proctor/tests/formats/mistakes.yaml` lists what both sides refuse.

use std::borrow::Cow;

use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Value, json};

use super::{RunSection, SetupSection, WorkspaceFile};
use crate::assertion::Assertion;
use crate::mock::{MockEvent, MockResponse};
use crate::orchestrator::Orchestrator;
use crate::orchestrator::ralph::config;

/// A text with at least one character that is not white space.
const NOT_BLANK: &str = r"\S";

/// Paths that are refused: absolute ones, those with `..`, and those that name the workspace itself.
const OUTSIDE: &str = r"^/|(^|/)\.\.(/|$)|^(\.?/)*\.?$";

/// A segment of a topic. Characters beyond ASCII are not looked at: only the reader knows which of them are letters.
const SEGMENT: &str = r#"[^\s!"$%&'()*,.;<=>?\[\\\]^`{|}~]+"#;

/// The JSON schema of the format.
pub fn schema() -> Schema {
    let mut schema = schema_for!(WorkspaceFile);
    file_rules(&mut schema);
    if let Some(setup) = definition::<SetupSection>(&mut schema) {
        setup_rules(setup);
    }
    if let Some(run) = definition::<RunSection>(&mut schema) {
        run["properties"]["cassette"]["allOf"] = text_inside();
    }
    if let Some(response) = definition::<MockResponse>(&mut schema) {
        response["properties"]["files"]["propertyNames"] = inside();
        response["properties"]["times"]["minimum"] = json!(1);
    }
    if let Some(event) = definition::<MockEvent>(&mut schema) {
        event["properties"]["topic"]["pattern"] = json!(format!(r"^{SEGMENT}(\.{SEGMENT})*$"));
    }
    if let Some(Value::Array(orchestrators)) =
        definition::<Orchestrator>(&mut schema).and_then(|kinds| kinds.get_mut("oneOf"))
    {
        orchestrators.iter_mut().for_each(orchestrator_rules);
    }
    if let Some(Value::Array(assertions)) =
        definition::<Assertion>(&mut schema).and_then(|kinds| kinds.get_mut("oneOf"))
    {
        assertions.iter_mut().for_each(assertion_rules);
    }
    whole_number_ranges(&mut schema);
    schema
}

fn definition<T: JsonSchema>(schema: &mut Schema) -> Option<&mut Value> {
    let name: Cow<'static, str> = T::schema_name();
    schema.pointer_mut(&format!("/$defs/{name}"))
}

/// A mock run has responses, from one place.
fn file_rules(schema: &mut Schema) {
    for list in ["tags", "mock"] {
        if let Some(list) = schema.pointer_mut(&format!("/properties/{list}")) {
            list["type"] = json!(["array", "null"]);
        }
    }
    let responses = with("mock", json!({"type": "array", "minItems": 1}));
    let cassette = with("run", given("cassette"));
    let other_model = with("run", with("backend", json!({"enum": ["claude", "kiro", "gemini"]})));
    let other_program =
        with("setup", with("orchestrator", with("kind", json!({"const": "generic"}))));
    schema.insert(
        "allOf".into(),
        json!([
            {"anyOf": [responses, cassette, other_model, other_program]},
            {"not": {"allOf": [responses, cassette]}},
        ]),
    );
}

fn setup_rules(setup: &mut Value) {
    setup["type"] = json!(["object", "null"]);
    setup["properties"]["fixtures"]["propertyNames"] = inside();
    let config = &mut setup["properties"]["config"];
    let section = json!({"type": ["object", "null"]});
    config["type"] = section["type"].clone();
    config["properties"] = config::SECTIONS.iter().map(|name| (*name, section.clone())).collect();
    config["properties"]["hats"]["additionalProperties"] = json!({"type": "object"});
    let count = json!({"type": ["integer", "null"], "minimum": 0});
    config["properties"]["event_loop"]["properties"] = json!({
        "max_iterations": count, "max_runtime_seconds": count, "max_consecutive_failures": count,
    });
}

fn orchestrator_rules(kind: &mut Value) {
    let Some(properties) = kind.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(command) = properties.get_mut("command") {
        command["minItems"] = json!(1);
        command["prefixItems"] = json!([{"type": "string", "pattern": NOT_BLANK}]);
    }
    if let Some(events_file) = properties.get_mut("events_file") {
        events_file["allOf"] = text_inside();
    }
}

fn assertion_rules(assertion: &mut Value) {
    let kind = assertion["properties"]["type"]["const"].as_str().unwrap_or_default().to_owned();
    let properties = &mut assertion["properties"];
    if let Some(path) = properties.get_mut("path") {
        path["allOf"] = json!([inside()]);
    }
    if let Some(topic) = properties.get_mut("topic") {
        topic["pattern"] = topic_pattern();
    }
    let needs_one_of: &[&str] = match kind.as_str() {
        "event_sequence" => {
            properties["topics"]["minItems"] = json!(1);
            properties["topics"]["items"]["pattern"] = topic_pattern();
            &[]
        }
        "hat_sequence" => {
            properties["hats"]["minItems"] = json!(1);
            properties["hats"]["items"]["pattern"] = json!(NOT_BLANK);
            &[]
        }
        "termination_reason" => {
            properties["expected"]["pattern"] = json!(NOT_BLANK);
            &[]
        }
        "duration" => {
            properties["max_secs"]["minimum"] = json!(0);
            &[]
        }
        "iterations" | "event_count" => &["min", "max", "exact"],
        "json_path" => {
            properties["query"]["pattern"] = json!(r"^\$");
            &["expected", "pattern"]
        }
        _ => &[],
    };
    if !needs_one_of.is_empty() {
        let choices: Vec<Value> = needs_one_of.iter().map(|key| given(key)).collect();
        assertion["anyOf"] = json!(choices);
    }
}

/// A path beneath the workspace.
fn inside() -> Value {
    json!({"not": {"pattern": OUTSIDE}})
}

/// The same where `null` may stand.
fn text_inside() -> Value {
    json!([{"if": {"type": "string"}, "then": inside()}])
}

fn topic_pattern() -> Value {
    let segment = format!(r"(\*\*?|{SEGMENT})");
    json!(format!(r"^{segment}(\.{segment})*$"))
}

/// The key is there and has a value.
fn given(key: &str) -> Value {
    with(key, json!({"not": {"type": "null"}}))
}

/// The key is there with a value of this form.
#[expect(clippy::needless_pass_by_value, reason = "literals read better at the call")]
fn with(key: &str, form: Value) -> Value {
    json!({"type": "object", "required": [key], "properties": {key: form}})
}

/// The range of whole numbers, which a schema knows only as a format. Applies to all subschemas.
fn whole_number_ranges(schema: &mut Schema) {
    let range = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some((0, u64::from(u8::MAX))),
        Some("uint32") => Some((0, u64::from(u32::MAX))),
        Some("uint64") => Some((0, u64::MAX)),
        Some("int32") => Some((i64::from(i32::MIN), i32::MAX.unsigned_abs().into())),
        _ => None,
    };
    if let Some((smallest, largest)) = range {
        if schema.get("minimum").is_none() {
            schema.insert("minimum".into(), smallest.into());
        }
        if schema.get("maximum").is_none() {
            schema.insert("maximum".into(), largest.into());
        }
    }
    transform_subschemas(&mut whole_number_ranges, schema);
}
