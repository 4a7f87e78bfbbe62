//! One spelling per request: what caches and cassettes are keyed by.
//!
//! Who asks, in which conversation and repeat, is left out: it does not change what a model would say.
//! Members are sorted and absent options are omitted, so a field added later changes no hash.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::request::{Request, ToolChoice};

/// The request as sorted JSON, with the model it goes to.
pub fn canonical_request(request: &Request, model: &str) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            members.insert(name.into(), value);
        }
    };
    let list = |value: Value| (value != Value::Array(Vec::new())).then_some(value);
    put("model", Some(model.into()));
    put("system", request.system.clone().map(Value::from));
    put("messages", json(&request.messages));
    put("tools", json(&request.tools).and_then(list));
    if request.tool_choice != ToolChoice::Auto {
        put("tool_choice", json(&request.tool_choice));
    }
    put("max_tokens", request.max_tokens.map(Value::from));
    put("temperature", request.temperature.map(Value::from));
    put("seed", request.seed.map(Value::from));
    put("stop", json(&request.stop).and_then(list));
    sorted(&Value::Object(members))
}

fn json<T: serde::Serialize>(value: &T) -> Option<Value> {
    serde_json::to_value(value).ok()
}

/// The value with the members of every object in order of their names, whatever order the JSON
/// library keeps in this build.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut names: Vec<_> = members.iter().collect();
            names.sort_by_key(|(name, _)| *name);
            Value::Object(
                names.into_iter().map(|(name, inner)| (name.clone(), sorted(inner))).collect(),
            )
        }
        other => other.clone(),
    }
}

/// The value with a word that stands for this mark in place of the mark, in every string. Two values that differ in more
/// than their marks stay different: the word occurs in neither, and where it is not `MARK`, the value names it.
pub fn without_mark(mut value: Value, mark: &str) -> Value {
    if mark.is_empty() {
        return value;
    }
    let text = value.to_string();
    let words = (0_u64..).map(|number| match number {
        0 => "MARK".to_owned(),
        _ => format!("MARK{number}"),
    });
    let word = words.into_iter().find(|word| !text.contains(word.as_str())).unwrap_or_default();
    replace(&mut value, mark, &word);
    if word != "MARK"
        && let Value::Object(members) = &mut value
    {
        members.insert("mark".into(), word.into());
    }
    value
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(members) => members.values_mut().for_each(|item| replace(item, from, to)),
        _ => {}
    }
}

/// SHA-256 over the canonical form, in hex.
pub fn request_hash(canonical: &Value) -> String {
    digest(canonical.to_string().as_bytes())
}

/// SHA-256, in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::request::Purpose;

    #[test]
    fn who_asks_does_not_change_the_hash_what_is_asked_does() {
        let hash =
            |request: &Request, model: &str| request_hash(&canonical_request(request, model));
        let asked = Request::ask(Purpose::Judge, "good?");
        let same =
            Request { purpose: Purpose::Agent, repeat: 3, label: "x".into(), ..asked.clone() }
                .in_conversation("l");
        assert_eq!(hash(&asked, "m"), hash(&same, "m"));
        assert_ne!(hash(&asked, "m"), hash(&asked, "n"));
        assert_ne!(hash(&asked, "m"), hash(&Request { seed: Some(1), ..asked.clone() }, "m"));
        // Written down: a change of this value makes every stored cassette and cache miss.
        insta::assert_snapshot!(canonical_request(&asked, "m"), @r#"{"messages":[{"role":"user","text":"good?"}],"model":"m"}"#);
    }

    proptest! {
        /// Equal but for the mark is equal; anything else stays different, whatever a text pretends.
        #[test]
        fn d8_keys_are_equal_exactly_when_the_questions_are(
            left in proptest::collection::vec("(MARK|MARK1|<<|>>|\\n|a){0,6}", 1..3),
            right in proptest::collection::vec("(MARK|MARK1|<<|>>|\\n|a){0,6}", 1..3),
        ) {
            let prompt = |texts: &[String], mark: &str| {
                let shown: String =
                    texts.iter().map(|text| format!("<<{mark}\n{text}\n{mark}>>\n")).collect();
                without_mark(json!({"user": shown}), mark)
            };
            let same = prompt(&left, "0123456789abcdef") == prompt(&right, "fedcba9876543210");
            prop_assert_eq!(same, left == right);
        }
    }

    #[test]
    fn members_are_sorted_at_every_depth() {
        let value = json!({"b": [{"z": 1, "a": 2}], "a": 0});
        assert_eq!(sorted(&value).to_string(), r#"{"a":0,"b":[{"a":2,"z":1}]}"#);
    }
}
