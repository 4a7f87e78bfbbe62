//! Placeholders such as `{{name}}` in the examples of a scenario set, and the row values that replace them.

use proctor_yaml::{Kind, Node, Place};
use serde_json::Value;

use crate::rows::Row;

/// The same tree with `{{name}}` in every text replaced by the row's value.
///
/// A text that is nothing but one placeholder takes the value itself, so that numbers stay numbers; where a text is wanted,
/// such a number is read as text.
pub(super) fn fill_placeholders(node: &Node, row: &Row) -> Node {
    let mut also_text = node.also_text;
    let kind = match &node.kind {
        Kind::Text(text) => match whole_value(text, row) {
            Some(value) => {
                also_text = true;
                Node::from_value(value, node.place).kind
            }
            None => Kind::Text(fill_text(text, row)),
        },
        Kind::List(items) => {
            Kind::List(items.iter().map(|item| fill_placeholders(item, row)).collect())
        }
        Kind::Map(entries) => Kind::Map(
            entries.iter().map(|(key, node)| (key.clone(), fill_placeholders(node, row))).collect(),
        ),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => node.kind.clone(),
    };
    Node { kind, place: node.place, also_text }
}

/// Every `{{name}}` for which the row has no value, with its place. The row's values are not searched: they may hold braces.
pub(super) fn unfilled_placeholders<'node>(
    node: &'node Node,
    row: &Row,
) -> Vec<(Place, &'node str)> {
    match &node.kind {
        Kind::Text(text) => placeholders(text)
            .filter(|name| look_up(name, row).is_none())
            .map(|name| (node.place, name))
            .collect(),
        Kind::List(items) => {
            items.iter().flat_map(|item| unfilled_placeholders(item, row)).collect()
        }
        Kind::Map(entries) => {
            entries.iter().flat_map(|(_, node)| unfilled_placeholders(node, row)).collect()
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => Vec::new(),
    }
}

/// The value of a text that is nothing but one placeholder.
fn whole_value<'row>(text: &str, row: &'row Row) -> Option<&'row Value> {
    whole_placeholder(text).and_then(|name| look_up(name, row))
}

fn fill_text(text: &str, row: &Row) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let Some(length) = rest[start..].find("}}") else { break };
        let name = rest[start + 2..start + length].trim();
        filled.push_str(&rest[..start]);
        match look_up(name, row) {
            Some(Value::String(value)) => filled.push_str(value),
            Some(value) => filled.push_str(&value.to_string()),
            None => filled.push_str(&rest[start..start + length + 2]),
        }
        rest = &rest[start + length + 2..];
    }
    filled.push_str(rest);
    filled
}

fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_alphanumeric() || "_.-".contains(letter))
    };
    let parts = text.split("{{").skip(1);
    parts
        .filter_map(|part| part.split_once("}}"))
        .map(|(name, _)| name.trim())
        .filter(move |name| is_name(name))
}

fn whole_placeholder(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!name.contains("{{") && !name.contains("}}")).then(|| name.trim())
}

/// `venue.city` looks into nested values.
fn look_up<'row>(path: &str, row: &'row Row) -> Option<&'row Value> {
    let mut parts = path.split('.');
    let mut value = row.get(parts.next()?)?;
    for part in parts {
        value = value.get(part)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proctor_yaml::read_yaml;
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_take_text_and_whole_values() {
        let row = json!({"n": 3, "who": {"name": "Ada"}}).as_object().unwrap().clone();
        let text = "- '{{n}}'\n- '{{ who.name }} asks {{n}} times'\n- '{{unknown}} stays'\n";
        let node = read_yaml(text).unwrap();
        assert_eq!(
            fill_placeholders(&node, &row).to_value(),
            json!([3, "Ada asks 3 times", "{{unknown}} stays"])
        );
        let missing = unfilled_placeholders(&node, &row);
        assert_eq!(missing, [(Place { line: 3, column: 3 }, "unknown")]);
    }
}
