//! Reading the tool calls that an agent reports as JSON, in the shapes that agents use.
//!
//! An entry that cannot be read is an error of the agent, never a call without a name: a check such as
//! `not: {call_tool: delete_all}` would pass on it.

use serde_json::{Map, Value, json};

use crate::format::MadeCallPlaces;
use crate::transcript::{DoneCall, ToolCall};

/// Keys of an entry that hold the tool's name, in the order they are looked at.
const NAME_KEYS: &[&str] = &["name", "tool", "tool_name", "toolName"];
/// Keys that hold the arguments.
const ARGUMENT_KEYS: &[&str] = &["arguments", "args", "input", "parameters"];
/// Keys that hold the call's id.
const ID_KEYS: &[&str] = &["id", "call_id", "tool_call_id", "toolCallId"];
/// Keys that hold the result of a call that was made.
const RESULT_KEYS: &[&str] = &["result", "output"];
/// Keys under which name and arguments stand together: `OpenAI`'s `function`, Google's `functionCall`.
const NESTED_KEYS: &[&str] = &["function", "function_call", "functionCall"];
/// Parts of an answer's content that are no calls: Anthropic lists them beside `tool_use`.
const OTHER_PARTS: &[&str] = &["text", "thinking", "redacted_thinking", "reasoning"];
/// How much of an entry is shown in a message, in characters.
const SHOWN: usize = 160;

/// A list of tool calls that cannot be read, with what was found instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; found {found}")]
pub struct MalformedCall {
    what: String,
    found: String,
}

impl MalformedCall {
    fn new(what: impl Into<String>, found: &Value) -> Self {
        Self { what: what.into(), found: shown(found) }
    }
}

fn shown(value: &Value) -> String {
    format!("`{}`", proctor_text::truncate(&value.to_string(), SHOWN))
}

/// Reads calls that the agent has made itself. `null` and an empty list are no calls.
///
/// # Errors
///
/// The first entry that is not a call.
pub fn read_made_calls(list: &Value) -> Result<Vec<DoneCall>, MalformedCall> {
    let entries = entries(list)?;
    let mut calls: Vec<DoneCall> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        match part_kind(entry) {
            Some("tool_result") => add_result(&mut calls, entry)?,
            Some(kind) if OTHER_PARTS.contains(&kind) => {}
            _ => calls.push(made_call(entry, index)?),
        }
    }
    Ok(calls)
}

/// Reads calls that an agent lists in a form of its own. A call whose arguments are nowhere to be seen has unknown arguments (`null`): a
/// check on them is errored, where an empty object would say that there were none.
///
/// # Errors
///
/// The first entry that is not a call, or lacks what a place says it has.
pub fn read_made_calls_at(
    list: &Value,
    places: &MadeCallPlaces,
) -> Result<Vec<DoneCall>, MalformedCall> {
    let placed: Vec<Value> = entries(list)?
        .iter()
        .enumerate()
        .map(|(index, entry)| place_fields(entry, places, index + 1))
        .collect::<Result<_, _>>()?;
    let mut calls = read_made_calls(&placed.clone().into())?;
    let is_call = |entry: &&Value| {
        part_kind(entry).is_none_or(|kind| kind != "tool_result" && !OTHER_PARTS.contains(&kind))
    };
    for (done, entry) in calls.iter_mut().zip(placed.iter().filter(is_call)) {
        if !has_arguments(entry) {
            done.call.arguments = Value::Null;
        }
    }
    Ok(calls)
}

fn has_arguments(entry: &Value) -> bool {
    let Some(fields) = entry.as_object() else { return false };
    let inner = NESTED_KEYS.iter().find_map(|key| fields.get(*key)?.as_object()).unwrap_or(fields);
    first(inner, ARGUMENT_KEYS).or_else(|| first(fields, ARGUMENT_KEYS)).is_some()
}

/// The entry with the parts that have places of their own under the names that are read.
fn place_fields(
    entry: &Value,
    places: &MadeCallPlaces,
    number: usize,
) -> Result<Value, MalformedCall> {
    if *places == MadeCallPlaces::default() {
        return Ok(entry.clone());
    }
    let Value::Object(fields) = entry else {
        return Err(MalformedCall::new(format!("tool call {number} must be an object"), entry));
    };
    let mut placed = Map::new();
    let parts = [
        ("id", &places.id, ID_KEYS, false),
        ("name", &places.name, NAME_KEYS, true),
        ("arguments", &places.arguments, ARGUMENT_KEYS, true),
        ("result", &places.result, RESULT_KEYS, false),
        ("error", &places.error, &["error"][..], false),
        ("duration_ms", &None, &["duration_ms"][..], false),
        ("metadata", &None, &["metadata"][..], false),
    ];
    for (name, place, usual, required) in parts {
        let found = match place {
            Some(place) => entry.pointer(place),
            None => first(fields, usual),
        };
        match (found, place) {
            (Some(value), _) => {
                placed.insert(name.to_owned(), value.clone());
            }
            (None, Some(place)) if required => {
                let what = format!(
                    "tool call {number} has nothing at `{place}`, where `made_calls` says its {name} {} ",
                    if name == "name" { "is" } else { "are" }
                );
                return Err(MalformedCall::new(what.trim_end(), entry));
            }
            (None, _) => {}
        }
    }
    Ok(placed.into())
}

/// Reads one call that the agent makes itself.
///
/// # Errors
///
/// Why it is not a call.
pub fn read_made_call(entry: &Value) -> Result<DoneCall, MalformedCall> {
    made_call(entry, 0)
}

/// Reads calls that the agent asks the host to make. `null` and an empty list are no calls.
///
/// # Errors
///
/// The first entry that is not a call, or is one that has been made already.
pub fn read_requested_calls(list: &Value) -> Result<Vec<ToolCall>, MalformedCall> {
    let calls = entries(list)?.iter().enumerate().map(|(index, entry)| {
        let done = made_call(entry, index)?;
        if done.result.is_some() || done.error.is_some() {
            let what = format!(
                "the call of `{}` that it asks for has a result already; calls that an agent made itself belong into `tool_calls` of the worker protocol, or where `made_calls` points",
                done.call.name
            );
            return Err(MalformedCall::new(what, entry));
        }
        Ok(done.call)
    });
    calls.collect()
}

/// Checks a call that another module has read: it has a name, and its arguments are an object or one as JSON text.
///
/// # Errors
///
/// What is wrong with it.
pub fn read_call(id: String, name: String, arguments: &Value) -> Result<ToolCall, MalformedCall> {
    let entry = || json!({"name": name, "arguments": arguments});
    if name.trim().is_empty() {
        return Err(MalformedCall::new("a tool call without a name", &entry()));
    }
    let arguments = read_arguments(Some(arguments), &entry)?;
    Ok(ToolCall { id, name, arguments })
}

fn entries(list: &Value) -> Result<&[Value], MalformedCall> {
    match list {
        Value::Null => Ok(&[]),
        Value::Array(entries) => Ok(entries),
        other => Err(MalformedCall::new("tool calls must be a list", other)),
    }
}

fn part_kind(entry: &Value) -> Option<&str> {
    entry.get("type").and_then(Value::as_str)
}

/// A result that stands beside its call, as in Anthropic's messages.
fn add_result(calls: &mut [DoneCall], entry: &Value) -> Result<(), MalformedCall> {
    let id = entry.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
    let Some(done) = calls.iter_mut().find(|done| done.call.id == id) else {
        return Err(MalformedCall::new("a tool result without its call", entry));
    };
    let content = entry.get("content").cloned().unwrap_or_default();
    if entry.get("is_error").and_then(Value::as_bool) == Some(true) {
        done.error = Some(as_text(&content));
    } else {
        done.result = Some(content);
    }
    Ok(())
}

fn made_call(entry: &Value, index: usize) -> Result<DoneCall, MalformedCall> {
    let number = index + 1;
    let Value::Object(fields) = entry else {
        return Err(MalformedCall::new(format!("tool call {number} must be an object"), entry));
    };
    let inner = NESTED_KEYS.iter().find_map(|key| fields.get(*key)?.as_object()).unwrap_or(fields);
    let name = match first(inner, NAME_KEYS).or_else(|| first(fields, NAME_KEYS)) {
        Some(Value::String(name)) if !name.trim().is_empty() => name.clone(),
        Some(_) => {
            let what = format!("the name of tool call {number} must be a text");
            return Err(MalformedCall::new(what, entry));
        }
        None => {
            let what = format!("tool call {number} has no name (`name`, `tool` or `tool_name`)");
            return Err(MalformedCall::new(what, entry));
        }
    };
    let arguments = first(inner, ARGUMENT_KEYS).or_else(|| first(fields, ARGUMENT_KEYS));
    Ok(DoneCall {
        call: ToolCall {
            id: read_id(fields, entry, number)?,
            name,
            arguments: read_arguments(arguments, &|| entry.clone())?,
        },
        // A key with `null` behind it says that nothing came of the call; no key says nothing.
        result: RESULT_KEYS.iter().find_map(|key| fields.get(*key)).cloned(),
        error: fields.get("error").filter(|error| !error.is_null()).map(as_text),
        duration_ms: read_duration(fields, entry, number)?,
        metadata: fields.get("metadata").filter(|metadata| !metadata.is_null()).cloned(),
    })
}

fn first<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| fields.get(*key))
}

fn read_id(
    fields: &Map<String, Value>,
    entry: &Value,
    number: usize,
) -> Result<String, MalformedCall> {
    match first(fields, ID_KEYS) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(id)) => Ok(id.clone()),
        Some(Value::Number(id)) => Ok(id.to_string()),
        Some(_) => {
            let what = format!("the id of tool call {number} must be a text");
            Err(MalformedCall::new(what, entry))
        }
    }
}

fn read_arguments(
    arguments: Option<&Value>,
    entry: &dyn Fn() -> Value,
) -> Result<Value, MalformedCall> {
    let decoded = match arguments {
        None | Some(Value::Null) => return Ok(json!({})),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(json!({})),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(other) => Some(other.clone()),
    };
    match decoded {
        Some(object @ Value::Object(_)) => Ok(object),
        _ => Err(MalformedCall::new(
            "the arguments of a tool call must be an object, or an object as JSON in a text",
            &entry(),
        )),
    }
}

fn read_duration(
    fields: &Map<String, Value>,
    entry: &Value,
    number: usize,
) -> Result<Option<f64>, MalformedCall> {
    match fields.get("duration_ms") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_f64().filter(|millis| *millis >= 0.0).map(Some).ok_or_else(|| {
            let what = format!("`duration_ms` of tool call {number} must be a number from 0 on");
            MalformedCall::new(what, entry)
        }),
    }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(list: &Value) -> Result<Vec<(String, Value)>, String> {
        let calls = read_made_calls(list).map_err(|problem| problem.to_string())?;
        Ok(calls.into_iter().map(|done| (done.call.name, done.call.arguments)).collect())
    }

    #[test]
    fn d12_the_usual_shapes_are_understood() {
        let expected = Ok(vec![("refund".to_owned(), json!({"order": 7}))]);
        for entry in [
            json!({"name": "refund", "arguments": {"order": 7}}),
            json!({"tool": "refund", "args": {"order": 7}}),
            json!({"tool_name": "refund", "input": {"order": 7}, "output": "done"}),
            json!({"toolName": "refund", "parameters": {"order": 7}, "toolCallId": "c1"}),
            json!({"name": "refund", "arguments": "{\"order\": 7}"}),
            json!({"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{\"order\": 7}"}}),
            json!({"type": "tool_use", "id": "t1", "name": "refund", "input": {"order": 7}}),
            json!({"type": "tool_call", "id": 3, "name": "refund", "args": {"order": 7}}),
            json!({"functionCall": {"name": "refund", "args": {"order": 7}}}),
        ] {
            assert_eq!(made(&json!([entry])), expected, "{entry}");
        }
        assert_eq!(made(&Value::Null), Ok(vec![]));
        assert_eq!(made(&json!([])), Ok(vec![]));
    }

    #[test]
    fn d12_malformed_calls_are_errors_that_show_what_was_found() {
        for (list, part) in [
            (json!([{}]), "has no name"),
            (json!([{"arguments": {}}]), "has no name"),
            (json!([{"name": ""}]), "must be a text"),
            (json!([{"name": 7}]), "must be a text"),
            (json!([{"name": null}]), "must be a text"),
            (json!(["refund"]), "must be an object"),
            (json!([["refund"]]), "must be an object"),
            (json!([null]), "must be an object"),
            (json!({"name": "refund"}), "must be a list"),
            (json!("refund"), "must be a list"),
            (json!(true), "must be a list"),
            (json!([{"name": "a", "arguments": [1]}]), "must be an object, or an object as JSON"),
            (json!([{"name": "a", "arguments": 7}]), "must be an object, or an object as JSON"),
            (json!([{"name": "a", "arguments": "n=1"}]), "must be an object, or an object as JSON"),
            (json!([{"name": "a", "arguments": "[1]"}]), "must be an object, or an object as JSON"),
            (json!([{"function": {"arguments": "{}"}}]), "has no name"),
            (json!([{"name": "a", "id": {}}]), "the id of tool call 1"),
            (json!([{"name": "a"}, {"name": "b", "duration_ms": "7"}]), "of tool call 2"),
        ] {
            let problem = made(&list).unwrap_err();
            assert!(problem.contains(part) && problem.contains("found `"), "{list}: {problem}");
        }
        assert!(read_call(String::new(), " ".into(), &json!({})).is_err());
        assert!(read_call(String::new(), "a".into(), &json!("{\"a\":")).is_err());
        let read = read_call("1".into(), "a".into(), &json!("{\"n\": 1}")).unwrap();
        assert_eq!(read.arguments, json!({"n": 1}));
    }

    #[test]
    fn results_stand_in_the_entry_or_beside_it() {
        let list = json!([
            {"type": "text", "text": "let me look"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
            {"type": "tool_result", "tool_use_id": "t1", "content": "found"},
            {"name": "note", "result": null},
            {"name": "send", "error": {"code": 3}},
            {"name": "log"},
        ]);
        let calls = read_made_calls(&list).unwrap();
        let calls_read: Vec<(&str, Option<&Value>, Option<&str>)> = calls
            .iter()
            .map(|done| (done.call.name.as_str(), done.result.as_ref(), done.error.as_deref()))
            .collect();
        assert_eq!(
            calls_read,
            [
                ("look", Some(&json!("found")), None),
                ("note", Some(&Value::Null), None),
                ("send", None, Some("{\"code\":3}")),
                ("log", None, None),
            ]
        );
    }

    fn places(name: &str, arguments: &str) -> MadeCallPlaces {
        let place = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let result = place("/out");
        MadeCallPlaces {
            name: place(name),
            arguments: place(arguments),
            result,
            ..Default::default()
        }
    }

    #[test]
    fn a_mapping_finds_the_parts_of_a_call() {
        let list =
            json!([{"step": {"fn": "refund", "with": {"order": 7}}, "out": "done", "id": 3}]);
        let calls = read_made_calls_at(&list, &places("/step/fn", "/step/with")).unwrap();
        let call = &calls[0].call;
        assert_eq!((call.id.as_str(), call.name.as_str()), ("3", "refund"));
        assert_eq!(
            (&call.arguments, &calls[0].result),
            (&json!({"order": 7}), &Some(json!("done")))
        );
        for (entry, part) in [
            (json!({"with": {}}), "nothing at `/fn`, where `made_calls` says its name is; found `"),
            (json!({"fn": "a"}), "nothing at `/with`, where `made_calls` says its arguments are;"),
            (json!({"fn": "a", "with": 7}), "must be an object, or an object as JSON"),
            (json!("a"), "tool call 1 must be an object"),
        ] {
            let problem = read_made_calls_at(&json!([entry]), &places("/fn", "/with"));
            let problem = problem.unwrap_err().to_string();
            assert!(problem.contains(part), "{entry}: {problem}");
        }
    }

    /// `not: {call_tool: {name: refund, with: {order: 7}}}` may not pass because the order stands elsewhere.
    #[test]
    fn arguments_that_are_nowhere_to_be_seen_are_unknown() {
        let list = json!([
            {"type": "text", "text": "let me look"},
            {"name": "refund", "params": {"order": 7}},
            {"name": "ping", "arguments": {}},
            {"function": {"name": "look", "arguments": "{}"}},
            {"name": "wait", "args": null},
        ]);
        let calls = read_made_calls_at(&list, &MadeCallPlaces::default()).unwrap();
        let arguments: Vec<&Value> = calls.iter().map(|done| &done.call.arguments).collect();
        assert_eq!(arguments, [&Value::Null, &json!({}), &json!({}), &json!({})]);
    }

    /// V1: a finished call is not taken for a request.
    #[test]
    fn v1_a_finished_call_is_no_request() {
        let problem = read_requested_calls(&json!([{"name": "refund", "result": {"ok": true}}]));
        let problem = problem.unwrap_err().to_string();
        assert!(problem.contains("has a result already") && problem.contains("made_calls"));
        let asked = read_requested_calls(&json!([{"name": "refund", "arguments": "{}"}])).unwrap();
        assert_eq!(asked[0].name, "refund");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z{}\":]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let key = prop::sample::select(vec![
                "name",
                "tool",
                "arguments",
                "args",
                "id",
                "type",
                "function",
                "result",
                "x",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(key, inner, 0..4).prop_map(|fields| {
                    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                }),
            ]
        })
    }

    proptest! {
        /// D12: whatever an agent sends, a call that is read has a name and an object of arguments.
        #[test]
        fn d12_no_call_is_read_without_name_and_arguments(list in any_json()) {
            for done in read_made_calls(&list).unwrap_or_default() {
                prop_assert!(!done.call.name.trim().is_empty());
                prop_assert!(done.call.arguments.is_object());
            }
        }
    }
}
