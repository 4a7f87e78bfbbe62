//! What the JSON Schema of scenario files says beyond types, so that it refuses what the reader refuses.
//!
//! A key that is written with `null` counts as absent, here as in the reader. What a schema cannot express (names that
//! must be defined elsewhere, regular expressions, two numbers compared) only the reader refuses; the table of
//! `crates/proctor/tests/formats/mistakes.yaml` lists both sides.

use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::ExampleSpec;

/// A text with at least one character that is not white space.
pub(crate) const NOT_BLANK: &str = r"\S";

/// A JSON pointer: empty, or beginning with a slash.
pub(crate) const POINTER: &str = "^(/|$)";

/// A text of a set's example that is one placeholder and therefore takes any value of the row.
const PLACEHOLDER: &str = r"^\s*\{\{[^{}]*\}\}\s*$";

/// The text may not be blank. Applies to strings only, so that optional texts stay optional.
pub(crate) fn not_blank(schema: &mut Schema) {
    schema.insert("pattern".into(), NOT_BLANK.into());
}

/// No text of the list may be blank.
pub(crate) fn no_blank_items(schema: &mut Schema) {
    schema.insert("items".into(), json!({"type": "string", "pattern": NOT_BLANK}));
}

/// A list, or one value, that must hold something; its texts may not be blank. Written as a condition beside the type,
/// which may be defined elsewhere.
pub(crate) fn not_empty(schema: &mut Schema) {
    let filled = json!({"type": "string", "pattern": NOT_BLANK});
    let items = json!({"if": {"type": "string"}, "then": filled});
    also(
        schema,
        json!({
            "not": {"type": "null"},
            "if": {"type": "array"}, "then": {"minItems": 1, "items": items}, "else": items,
        }),
    );
}

/// A command: the program may not be blank, its arguments may.
pub(crate) fn program_first(schema: &mut Schema) {
    let program = json!({"pattern": NOT_BLANK});
    also(
        schema,
        json!({
            "not": {"type": "null"},
            "if": {"type": "array"}, "then": {"minItems": 1, "prefixItems": [program]}, "else": program,
        }),
    );
}

/// The text is a JSON pointer.
pub(crate) fn pointer(schema: &mut Schema) {
    schema.insert("pattern".into(), POINTER.into());
}

/// Every value of the mapping is a JSON pointer.
pub(crate) fn pointers(schema: &mut Schema) {
    schema.insert("additionalProperties".into(), json!({"type": "string", "pattern": POINTER}));
}

/// A length of time above zero.
pub(crate) fn above_zero(schema: &mut Schema) {
    also(
        schema,
        json!({"not": {"anyOf": [{"const": 0}, {"type": "string", "pattern": "^[^1-9]*$"}]}}),
    );
}

/// Nothing behind the key is an empty mapping or list.
pub(crate) fn or_nothing(schema: &mut Schema) {
    if let Some(kind) = schema.remove("type") {
        schema.insert("type".into(), json!([kind, "null"]));
    } else if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.push(json!({"type": "null"}));
    }
}

/// The key must be there. Only for keys that the type itself fills in, so that the reader can say more than "missing".
pub(crate) fn require(schema: &mut Schema, key: &str) {
    let required = schema.ensure_object().entry("required").or_insert_with(|| json!([]));
    if let Value::Array(keys) = required {
        keys.push(key.into());
    }
}

/// The key is there and has a value.
pub(crate) fn given(key: &str) -> Value {
    with(key, json!({"not": {"type": "null"}}))
}

/// The key is there with a value of this form.
#[expect(clippy::needless_pass_by_value, reason = "literals read better at the call")]
pub(crate) fn with(key: &str, form: Value) -> Value {
    json!({"type": "object", "required": [key], "properties": {key: form}})
}

/// Adds a condition to those that hold already.
pub(crate) fn also(schema: &mut Schema, condition: Value) {
    let object = schema.ensure_object();
    let all = object.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(conditions) = all {
        conditions.push(condition);
    }
}

/// Not both at once.
#[expect(clippy::needless_pass_by_value, reason = "literals read better at the call")]
pub(crate) fn exclude(schema: &mut Schema, one: Value, other: Value) {
    also(schema, json!({"not": {"allOf": [one, other]}}));
}

/// Where the first holds, one of the others holds too.
#[expect(clippy::needless_pass_by_value, reason = "literals read better at the call")]
pub(crate) fn demand(schema: &mut Schema, one: Value, others: Vec<Value>) {
    let choices: Vec<Value> = std::iter::once(json!({"not": one})).chain(others).collect();
    also(schema, json!({"anyOf": choices}));
}

/// Exactly one of the keys has a value.
pub(crate) fn exactly_one(schema: &mut Schema, keys: &[&str]) {
    also(schema, json!({"oneOf": keys.iter().map(|key| given(key)).collect::<Vec<_>>()}));
}

/// No two of the keys have a value.
pub(crate) fn at_most_one(schema: &mut Schema, keys: &[&str]) {
    for (index, key) in keys.iter().enumerate() {
        for other in &keys[index + 1..] {
            exclude(schema, given(key), given(other));
        }
    }
}

/// The range of whole numbers, which a schema knows only as a format. Applies to all subschemas.
pub(crate) fn whole_number_ranges(schema: &mut Schema) {
    let largest = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(u64::from(u8::MAX)),
        Some("uint32") => Some(u64::from(u32::MAX)),
        Some("uint64") => Some(u64::MAX),
        _ => None,
    };
    if let (Some(largest), None) = (largest, schema.get("maximum")) {
        schema.insert("maximum".into(), largest.into());
    }
    transform_subschemas(&mut whole_number_ranges, schema);
}

/// An example of a scenario set: as any example, but a text such as `{{guests}}` may stand for any value.
pub(crate) struct ExampleTemplate;

impl JsonSchema for ExampleTemplate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ExampleTemplate".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut plain = generator.settings().clone().into_generator();
        let mut root = plain.subschema_for::<ExampleSpec>().to_value();
        let definitions = plain.take_definitions(false);
        refer_to_templates(&mut root);
        for (name, mut definition) in definitions {
            refer_to_templates(&mut definition);
            allow_placeholders(&mut definition);
            generator.definitions_mut().insert(template_of(&name), definition);
        }
        Schema::try_from(root).unwrap_or_default()
    }
}

fn template_of(name: &str) -> String {
    format!("{name}Template")
}

fn refer_to_templates(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                *reference = template_of(reference);
            }
            members.values_mut().for_each(refer_to_templates);
        }
        Value::Array(items) => items.iter_mut().for_each(refer_to_templates),
        _ => {}
    }
}

/// Lets a placeholder stand wherever a mapping or list has a value. Conditions (`not`, `if` …) stay as they are.
fn allow_placeholders(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    for (keyword, inner) in members.iter_mut() {
        match (keyword.as_str(), inner) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(allow_placeholder_here);
            }
            ("items" | "additionalProperties", inner @ Value::Object(_)) => {
                allow_placeholder_here(inner);
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                choices.iter_mut().for_each(allow_placeholders);
            }
            _ => {}
        }
    }
}

fn allow_placeholder_here(schema: &mut Value) {
    allow_placeholders(schema);
    let mut outer = Map::new();
    if let Some(description) = schema.as_object_mut().and_then(|inner| inner.remove("description"))
    {
        outer.insert("description".into(), description);
    }
    let placeholder = json!({"type": "string", "pattern": PLACEHOLDER});
    outer.insert("anyOf".into(), json!([placeholder, schema.take()]));
    *schema = Value::Object(outer);
}
