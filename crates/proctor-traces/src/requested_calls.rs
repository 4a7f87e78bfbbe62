//! The calls that models asked for, as spans of models tell them. They give a call its arguments where the span of the tool lacks them,
//! and only where both name the same call by its id.

use std::collections::HashMap;

use serde_json::Value;

use crate::genai::decoded;
use crate::span::Span;

/// The arguments of the calls that a model asked for, by the id of the call; `null` if two calls have the id.
pub(crate) fn requested_arguments(spans: &[&Span]) -> HashMap<String, Value> {
    let mut found = HashMap::new();
    for span in spans {
        for key in ["gen_ai.output.messages", "llm.output_messages", "ai.response.toolCalls"] {
            if let Some(value) = span.attribute(&[key]) {
                of_value(&decoded(value), &mut found);
            }
        }
        of_flat_attributes(span, &mut found);
    }
    found
}

/// Every object in the value that is a call with an id.
fn of_value(value: &Value, found: &mut HashMap<String, Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| of_value(item, found)),
        Value::Object(members) => {
            let id = ["id", "toolCallId", "call_id"].iter().find_map(|key| members.get(*key));
            let function = members.get("function").and_then(Value::as_object).unwrap_or(members);
            let given = ["arguments", "args", "input"].iter().find_map(|key| function.get(*key));
            if let (Some(Value::String(id)), Some(given)) = (id, given) {
                insert(found, id, given);
            }
            members.values().for_each(|member| of_value(member, found));
        }
        _ => {}
    }
}

/// The attributes of openinference: a name for each place, `…tool_calls.0.tool_call.id`.
fn of_flat_attributes(span: &Span, found: &mut HashMap<String, Value>) {
    for (name, id) in &span.attributes {
        let Some(place) = name.strip_suffix(".tool_call.id") else { continue };
        let arguments = format!("{place}.tool_call.function.arguments");
        if let (true, Some(id), Some(given)) =
            (place.starts_with("llm.output_messages."), id.as_str(), span.attribute(&[&arguments]))
        {
            insert(found, id, given);
        }
    }
}

fn insert(found: &mut HashMap<String, Value>, id: &str, given: &Value) {
    let arguments = decoded(given);
    if !id.is_empty() && arguments.is_object() {
        let known = found.entry(id.to_owned()).or_insert_with(|| arguments.clone());
        if *known != arguments {
            // The same id for two calls: which of them a tool's span is about is not known.
            *known = Value::Null;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_found_in_both_conventions() {
        let parts = json!([{"role": "assistant", "parts": [{"type": "tool_call", "id": "a", "name": "look", "arguments": {"n": 1}}]}]);
        let attributes = [
            ("gen_ai.output.messages", parts.to_string()),
            ("llm.output_messages.0.message.tool_calls.0.tool_call.id", "b".into()),
            (
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
                "{\"n\": 2}".into(),
            ),
            ("llm.input_messages.0.message.tool_calls.0.tool_call.id", "c".into()),
        ];
        let attributes = attributes.map(|(key, value)| (key.to_owned(), Value::String(value)));
        let span = Span { attributes: attributes.into(), ..Span::default() };
        let found = requested_arguments(&[&span, &span]);
        assert_eq!(found, [("a".into(), json!({"n": 1})), ("b".into(), json!({"n": 2}))].into());
        let again = json!([{"id": "a", "function": {"name": "look", "arguments": "{\"n\": 3}"}}]);
        let attributes = vec![("gen_ai.output.messages".to_owned(), again)];
        let again = Span { attributes, ..Span::default() };
        assert_eq!(requested_arguments(&[&span, &again])["a"], Value::Null);
    }
}
