//! What holds for any secret in any document.

use std::borrow::Cow;

use proctor_redact::{Redactor, Secret, StreamRedactor};
use proptest::prelude::*;
use serde_json::Value;

/// Any JSON; its letters are capital and Greek, its digits few, so that no secret below stands in it by chance.
fn document() -> impl Strategy<Value = Value> {
    let text = "[A-Mα-ω\"\\\\/\n\t 0-4é🦀]{0,12}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..1000_i64).prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text, inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// With everything that needs escaping, and letters that documents do not have.
fn secret() -> impl Strategy<Value = String> {
    "[n-z5-9]{2}[n-z5-9\"\\\\/\n\t%é🦀 ]{3,12}[n-z5-9]{2}"
}

fn put(document: Value, text: &str) -> Value {
    match document {
        Value::Array(mut items) => {
            items.push(text.into());
            items.into()
        }
        Value::Object(mut members) => {
            members.insert("text".into(), text.into());
            members.into()
        }
        other => Value::from(vec![other, text.into()]),
    }
}

/// The structure: kinds and numbers of members.
fn outline(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(outline).collect(),
        Value::Object(members) => {
            let inner: Vec<Value> = members.values().map(outline).collect();
            Value::from(vec![Value::from(members.len()), Value::from(inner.len())])
        }
        Value::String(_) => "text".into(),
        other => other.clone(),
    }
}

/// Every string at any depth of JSON in JSON, decoded.
fn contains(value: &Value, secret: &str) -> bool {
    match value {
        Value::String(text) => {
            text.contains(secret)
                || serde_json::from_str::<Value>(text)
                    .is_ok_and(|inner| !inner.is_number() && contains(&inner, secret))
        }
        Value::Array(items) => items.iter().any(|item| contains(item, secret)),
        Value::Object(members) => {
            members.iter().any(|(name, inner)| name.contains(secret) || contains(inner, secret))
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn no_secret_survives_in_a_document(document in document(), secret in secret(), depth in 0_usize..4, before in "[A-M \"]{0,4}") {
        let redactor = Redactor::new([Secret::new(&secret)]);
        let mut text = format!("{before}{secret} B");
        for _ in 0..depth {
            text = Value::from(vec![Value::from(text)]).to_string();
        }
        let dirty = put(document, &text);
        let line = dirty.to_string();
        let clean = redactor.redact_json_line(line.as_bytes()).into_owned();
        let parsed: Value = serde_json::from_slice(&clean).unwrap();
        prop_assert!(!contains(&parsed, &secret), "{parsed}");
        prop_assert!(parsed.to_string().contains("[redacted]"));
        prop_assert_eq!(outline(&parsed), outline(&dirty));
        prop_assert!(matches!(redactor.redact_json_line(&clean), Cow::Borrowed(_)), "idempotent");
        let value = redactor.redact_value(&dirty);
        prop_assert!(!contains(&value, &secret));
        prop_assert_eq!(outline(&value), outline(&dirty));
        prop_assert_eq!(redactor.redact_value(&value), value);
    }

    /// A long list may be redacted member by member, wherever it stands.
    #[test]
    fn parts_of_a_document_give_what_the_whole_gives(
        documents in prop::collection::vec(document(), 1..6),
        secret in secret(),
        hidden in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..4),
        cuts in prop::collection::vec(any::<bool>(), 6),
    ) {
        let redactor = Redactor::new([Secret::new(&secret), Secret::new("7777777")]);
        let mut documents = documents;
        for (place, as_name) in hidden {
            let place = place.index(documents.len());
            let document = std::mem::take(&mut documents[place]);
            documents[place] = if as_name {
                serde_json::json!({"password": "M", secret.as_str(): document, "n": 7_777_777})
            } else {
                put(document, &secret)
            };
        }
        let whole = serde_json::to_string_pretty(
            &serde_json::json!({"api_key": "G", "list": documents, "password": "K", "after": [secret, {}]}),
        ).unwrap();
        let mut parts = vec![String::new()];
        for line in whole.split_inclusive('\n') {
            let part = parts.last_mut().unwrap();
            part.push_str(line);
            // Members of the list are two levels deep.
            let ends = line.trim_start().starts_with("},") && line.starts_with("    }");
            if ends && cuts[parts.len().min(5)] {
                parts.push(String::new());
            }
        }
        let redacted: Vec<u8> =
            parts.iter().flat_map(|it| redactor.redact_json_part(it.as_bytes()).into_owned()).collect();
        let clean = redactor.redact_json_line(whole.as_bytes()).into_owned();
        prop_assert_eq!(String::from_utf8(redacted).unwrap(), String::from_utf8(clean).unwrap());
    }

    #[test]
    fn a_document_without_secrets_stays_byte_for_byte(document in document(), secret in secret()) {
        let redactor = Redactor::new([Secret::new(&secret)]);
        let line = document.to_string();
        prop_assert!(matches!(redactor.redact_json_line(line.as_bytes()), Cow::Borrowed(_)));
        prop_assert!(matches!(redactor.redact_text(&line), Cow::Borrowed(_)));
        prop_assert_eq!(redactor.redact_value(&document), document);
    }

    #[test]
    fn any_text_is_redacted_once_and_for_all(text in any::<String>(), secret in "\\PC{6,12}", bytes in any::<Vec<u8>>()) {
        let redactor = Redactor::new([Secret::new(&secret)]);
        let once = redactor.redact_text(&text).into_owned();
        prop_assert_eq!(redactor.redact_text(&once), once.as_str());
        redactor.redact_bytes(&bytes);
        redactor.redact_json_line(&bytes);
    }

    #[test]
    fn a_stream_gives_what_the_whole_text_gives(
        secret in secret(), parts in prop::collection::vec("[A-M \n,.]{0,6}", 1..5), cuts in prop::collection::vec(1_usize..9, 1..30), escaped in any::<bool>(),
    ) {
        let redactor = Redactor::new([Secret::new(&secret)]);
        let mut text = parts.join(&secret);
        if escaped {
            let quoted = Value::from(text).to_string();
            text = quoted[1..quoted.len() - 1].to_owned();
        }
        let mut stream = StreamRedactor::new(redactor.clone());
        let (mut rest, mut printed) = (text.as_str(), String::new());
        for cut in cuts.iter().cycle().take(text.len()) {
            let (chunk, next) = rest.split_at(rest.ceil_char_boundary((*cut).min(rest.len())));
            printed.push_str(&stream.push(chunk));
            rest = next;
        }
        printed.push_str(&stream.push(rest));
        printed.push_str(&stream.finish());
        prop_assert_eq!(printed, redactor.redact_text(&text));
    }
}
