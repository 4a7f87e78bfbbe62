//! A small validator for the parts of JSON Schema that `schema/cover.schema.json` uses.

use proctor_cover::SCHEMA;
use serde_json::Value;

/// What is wrong with a value, by the definition of this name.
pub(crate) fn problems(definition: &str, value: &Value) -> Vec<String> {
    let root: Value = serde_json::from_str(SCHEMA).unwrap();
    let schema = &root["$defs"][definition];
    assert!(schema.is_object(), "there is no definition {definition}");
    let mut found = Vec::new();
    check(schema, value, &root, definition, &mut found);
    found
}

fn check(schema: &Value, value: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else { return };
    for (rule, demand) in rules {
        match rule.as_str() {
            "$ref" => {
                let pointer = demand.as_str().unwrap().trim_start_matches('#');
                check(root.pointer(pointer).unwrap(), value, root, place, found);
            }
            "type" => {
                let names: Vec<&str> = match demand {
                    Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
                    one => one.as_str().into_iter().collect(),
                };
                if !names.iter().any(|name| is_a(name, value)) {
                    found.push(format!("{place}: {value} is not {names:?}"));
                }
            }
            "enum" if !demand.as_array().unwrap().contains(value) => {
                found.push(format!("{place}: {value} is none of {demand}"));
            }
            "pattern" => {
                let text = value.as_str().unwrap_or_default();
                if !matches(demand.as_str().unwrap(), text) {
                    found.push(format!("{place}: {text:?} does not match {demand}"));
                }
            }
            "minimum" if value.as_f64().is_some_and(|number| number < demand.as_f64().unwrap()) => {
                found.push(format!("{place}: {value} is below {demand}"));
            }
            "minItems" | "maxItems" => {
                let (count, limit) =
                    (value.as_array().map_or(0, Vec::len) as u64, demand.as_u64().unwrap());
                if (rule == "minItems" && count < limit) || (rule == "maxItems" && count > limit) {
                    found.push(format!("{place}: {count} items"));
                }
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(demand, item, root, &format!("{place}[{number}]"), found);
                }
            }
            "required" if value.is_object() => {
                for name in demand.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.get(name).is_none() {
                        found.push(format!("{place}: {name} is missing"));
                    }
                }
            }
            "properties" => members(schema, value, root, place, found),
            "anyOf" => {
                let fits = |one: &Value| {
                    let mut inner = Vec::new();
                    check(one, value, root, place, &mut inner);
                    inner.is_empty()
                };
                if !demand.as_array().unwrap().iter().any(fits) {
                    found.push(format!("{place}: {value} fits no alternative"));
                }
            }
            "enum"
            | "minimum"
            | "required"
            | "additionalProperties"
            | "patternProperties"
            | "description" => {}
            other => panic!("{place}: this validator does not know {other}"),
        }
    }
}

fn members(schema: &Value, value: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let inner = format!("{place}.{name}");
        let patterns = schema["patternProperties"].as_object().into_iter().flatten();
        let by_pattern: Vec<&Value> =
            patterns.filter(|(pattern, _)| matches(pattern, name)).map(|(_, one)| one).collect();
        match schema["properties"].get(name) {
            Some(known) => check(known, member, root, &inner, found),
            None if by_pattern.is_empty() && schema["additionalProperties"] == false => {
                found.push(format!("{inner} is unknown"));
            }
            None => {}
        }
        for one in by_pattern {
            check(one, member, root, &inner, found);
        }
    }
}

fn is_a(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    }
}

/// The few patterns of the schema.
fn matches(pattern: &str, text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match pattern {
        "^[a-z0-9_]*$" => text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
        "^[0-9]+(-[0-9]+)?$" => text
            .split_once('-')
            .map_or_else(|| digits(text), |(from, to)| digits(from) && digits(to)),
        "^[0-9]+\\.[0-9]+$" => {
            text.split_once('.').is_some_and(|(from, to)| digits(from) && digits(to))
        }
        "^[0-9a-f]{32}$" => text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "^[#.]" => text.starts_with(['#', '.']),
        ":[0-9]+$" => text.rsplit_once(':').is_some_and(|(_, line)| digits(line)),
        _ if pattern.ends_with('$') && pattern.starts_with('_') => {
            text.ends_with(pattern.trim_end_matches('$'))
        }
        other => panic!("this validator does not know the pattern {other}"),
    }
}
