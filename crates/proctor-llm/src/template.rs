//! Texts and JSON with `${name}` in them.
//!
//! A JSON string that is nothing but one `${name}` becomes the value itself, whatever its type;
//! inside a longer string the value is written out. `$${` stands for a plain `${`. A name that is
//! not known is an error: an agent must not be tested with holes in its requests.

use std::collections::BTreeMap;

use serde_json::Value;

/// What can stand for the names.
pub(crate) type Variables = BTreeMap<String, Value>;

/// Why a template cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("`${{` without `}}` in `{template}`")]
    Unclosed { template: String },
    #[error("`${{{name}}}` is not defined; use one of {}", known.join(", "))]
    UnknownName { name: String, known: Vec<String> },
}

/// A JSON template, filled.
pub(crate) fn fill(template: &Value, variables: &Variables) -> Result<Value, TemplateError> {
    match template {
        Value::String(text) => match whole(text) {
            Some(name) => lookup(name, variables).cloned(),
            None => fill_text(text, variables).map(Value::from),
        },
        Value::Array(items) => items.iter().map(|item| fill(item, variables)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| Ok((name.clone(), fill(value, variables)?)))
            .collect::<Result<serde_json::Map<_, _>, TemplateError>>()
            .map(Value::Object),
        other => Ok(other.clone()),
    }
}

/// A text template, filled.
pub(crate) fn fill_text(template: &str, variables: &Variables) -> Result<String, TemplateError> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            filled.push_str(&rest[..at - 1]);
            filled.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        filled.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let unclosed = || TemplateError::Unclosed { template: template.to_owned() };
        let end = inside.find('}').ok_or_else(unclosed)?;
        match lookup(inside[..end].trim(), variables)? {
            Value::String(text) => filled.push_str(text),
            Value::Null => {}
            other => filled.push_str(&other.to_string()),
        }
        rest = &inside[end + 1..];
    }
    Ok(filled + rest)
}

fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains(['$', '{', '}'])).then_some(name.trim())
}

fn lookup<'a>(name: &str, variables: &'a Variables) -> Result<&'a Value, TemplateError> {
    variables.get(name).ok_or_else(|| TemplateError::UnknownName {
        name: name.to_owned(),
        known: variables.keys().cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fills_values_and_texts() {
        let variables: Variables = [
            ("n".to_owned(), json!(3)),
            ("who".to_owned(), json!("Ann")),
            ("no".to_owned(), Value::Null),
        ]
        .into();
        let template =
            json!({"a": "${n}", "b": ["${ who }", "Hi ${who}, ${n}${no}! $${n} $5"], "c": 1});
        assert_eq!(
            fill(&template, &variables).unwrap(),
            json!({"a": 3, "b": ["Ann", "Hi Ann, 3! ${n} $5"], "c": 1})
        );
        assert_eq!(
            fill(&json!("${x}"), &variables).unwrap_err().to_string(),
            "`${x}` is not defined; use one of n, no, who"
        );
        assert!(matches!(fill(&json!("a ${x"), &variables), Err(TemplateError::Unclosed { .. })));
    }
}
