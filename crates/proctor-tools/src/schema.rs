//! JSON Schemas as models read them: no references, no titles, no formats that only Rust knows.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of what goes in. An optional parameter is left out, not null.
pub(crate) fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12());
    drop_null(&mut schema);
    object(schema)
}

/// The schema of what comes out: what may be left out is not required.
pub(crate) fn output<T: JsonSchema>() -> Map<String, Value> {
    object(generate::<T>(SchemaSettings::draft2020_12().for_serialize()))
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    schema
}

fn object(schema: Value) -> Map<String, Value> {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.insert("type".to_owned(), json!("object"));
    schema
}

/// Removes keywords that are useless to a model. Property names are data and stay.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("$schema");
            map.remove("title");
            let rust_only =
                ["uint", "uint8", "uint16", "uint32", "uint64", "int32", "int64", "double"];
            if map.get("format").and_then(Value::as_str).is_some_and(|f| rust_only.contains(&f)) {
                map.remove("format");
            }
            for (key, value) in map.iter_mut() {
                match (key.as_str(), value) {
                    ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
                        named.values_mut().for_each(simplify);
                    }
                    ("enum" | "const" | "default" | "examples", _) => {}
                    (_, value) => simplify(value),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// `["string", "null"]` becomes `"string"`; an alternative that is null goes.
fn drop_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(all)) = map.get_mut("enum") {
                all.retain(|value| !value.is_null());
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            lift_single_alternative(map);
            map.values_mut().for_each(drop_null);
        }
        Value::Array(all) => all.iter_mut().for_each(drop_null),
        _ => {}
    }
}

/// `anyOf: [X, null]` becomes X.
fn lift_single_alternative(map: &mut Map<String, Value>) {
    let Some(Value::Array(mut alternatives)) = map.remove("anyOf") else { return };
    alternatives.retain(|alternative| alternative["type"] != "null");
    if alternatives.len() > 1 {
        map.insert("anyOf".to_owned(), Value::Array(alternatives));
        return;
    }
    if let Some(Value::Object(only)) = alternatives.pop() {
        for (key, value) in only {
            map.entry(key).or_insert(value);
        }
    }
}

/// The schema of a string enumeration, for types without a schema of their own.
pub fn words(words: impl IntoIterator<Item = &'static str>) -> schemars::Schema {
    let all: Vec<&str> = words.into_iter().collect();
    schemars::json_schema!({ "type": "string", "enum": all })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Inner {
        /// A number.
        #[expect(dead_code, reason = "only its schema is looked at")]
        n: u64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Parameters {
        /// Must be there.
        title: String,
        /// May be there.
        count: Option<u32>,
        /// May be there too.
        inner: Option<Inner>,
    }

    #[test]
    fn an_input_schema_is_flat_and_says_what_a_model_needs() {
        assert_eq!(
            Value::Object(input::<Parameters>()),
            json!({
                "type": "object",
                "required": ["title"],
                "properties": {
                    "title": { "type": "string", "description": "Must be there." },
                    "count": { "type": "integer", "minimum": 0, "description": "May be there." },
                    "inner": {
                        "type": "object",
                        "description": "May be there too.",
                        "required": ["n"],
                        "properties": {
                            "n": { "type": "integer", "minimum": 0, "description": "A number." }
                        }
                    }
                }
            })
        );
    }
}
