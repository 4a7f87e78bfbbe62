//! Values that a pattern of `case … in` accepts, as Ruby code.

use ruby_prism::Node;

use crate::source::{constant, listed, literal_code, name, symbol_code};

/// How many values are given for a pattern.
const MAX_SAMPLES: usize = 4;

/// Codes of values that match; none if that cannot be read off.
pub(crate) fn accepted(node: &Node<'_>) -> Vec<String> {
    let mut found = codes(node);
    found.truncate(MAX_SAMPLES);
    found
}

/// Classes that a pattern asks for: `Point[x, y]`, `Point(x:)`, `Point`.
pub(super) fn matched_classes(node: &Node<'_>) -> Vec<String> {
    if let Some(guarded) = node.as_if_node() {
        return listed(guarded.statements()).first().map(matched_classes).unwrap_or_default();
    }
    if let Some(pattern) = node.as_alternation_pattern_node() {
        return [matched_classes(&pattern.left()), matched_classes(&pattern.right())].concat();
    }
    if let Some(pattern) = node.as_capture_pattern_node() {
        return matched_classes(&pattern.value());
    }
    let class = if let Some(pattern) = node.as_array_pattern_node() {
        pattern.constant()
    } else if let Some(pattern) = node.as_hash_pattern_node() {
        pattern.constant()
    } else {
        return constant(node).map(std::borrow::Cow::into_owned).into_iter().collect();
    };
    class.as_ref().and_then(constant).map(std::borrow::Cow::into_owned).into_iter().collect()
}

fn codes(node: &Node<'_>) -> Vec<String> {
    if let Some(guarded) = node.as_if_node() {
        return listed(guarded.statements()).first().map(accepted).unwrap_or_default();
    }
    if let Some(guarded) = node.as_unless_node() {
        return listed(guarded.statements()).first().map(accepted).unwrap_or_default();
    }
    if let Some(pattern) = node.as_hash_pattern_node() {
        let keys: Option<Vec<(String, Vec<String>)>> =
            pattern.elements().iter().map(|pair| keyed(&pair)).collect();
        let plain = pattern.constant().is_none();
        return keys.filter(|_| plain).map(|keys| hashes(&keys)).unwrap_or_default();
    }
    if let Some(pattern) = node.as_array_pattern_node() {
        let items: Vec<Vec<String>> = pattern
            .requireds()
            .iter()
            .chain(pattern.posts().iter())
            .map(|item| accepted(&item))
            .collect();
        let usable = pattern.constant().is_none() && items.iter().all(|item| !item.is_empty());
        return if usable { arrays(&items) } else { Vec::new() };
    }
    if let Some(pattern) = node.as_alternation_pattern_node() {
        return [accepted(&pattern.left()), accepted(&pattern.right())].concat();
    }
    if let Some(pattern) = node.as_capture_pattern_node() {
        return accepted(&pattern.value());
    }
    if let Some(range) = node.as_range_node() {
        let bound = range.left().or_else(|| range.right());
        return bound.and_then(|bound| literal_code(&bound)).into_iter().collect();
    }
    if node.as_local_variable_target_node().is_some() || node.as_implicit_node().is_some() {
        return vec!["1".to_owned(), "\"x\"".to_owned()];
    }
    if let Some(code) = literal_code(node) {
        return vec![code];
    }
    constant(node).and_then(|class| sample(&class)).map(str::to_owned).into_iter().collect()
}

fn sample(class: &str) -> Option<&'static str> {
    Some(match class {
        "Integer" | "Numeric" | "Comparable" => "1",
        "Float" => "1.5",
        "String" => "\"x\"",
        "Symbol" => ":a",
        "Array" | "Enumerable" => "[1]",
        "Hash" => "{ a: 1 }",
        "NilClass" => "nil",
        "TrueClass" => "true",
        "FalseClass" => "false",
        "Proc" => "->(*) { nil }",
        _ => return None,
    })
}

fn keyed(pair: &Node<'_>) -> Option<(String, Vec<String>)> {
    let pair = pair.as_assoc_node()?;
    let key = symbol_code(&name(pair.key().as_symbol_node()?.unescaped()));
    let values = accepted(&pair.value());
    (!values.is_empty()).then_some((key, values))
}

/// The first of each, then each other one in its place.
fn variants(choices: &[Vec<String>]) -> Vec<Vec<String>> {
    let first: Vec<String> = choices.iter().map(|list| list[0].clone()).collect();
    let mut found = vec![first.clone()];
    for (place, list) in choices.iter().enumerate() {
        for other in &list[1..] {
            let mut changed = first.clone();
            changed[place].clone_from(other);
            found.push(changed);
        }
    }
    found
}

fn hashes(keys: &[(String, Vec<String>)]) -> Vec<String> {
    let choices: Vec<Vec<String>> = keys.iter().map(|(_, values)| values.clone()).collect();
    let pairs = |values: &[String]| {
        let pairs: Vec<String> =
            keys.iter().zip(values).map(|((key, _), value)| format!("{key} => {value}")).collect();
        if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
    };
    variants(&choices).iter().map(|values| pairs(values)).collect()
}

fn arrays(items: &[Vec<String>]) -> Vec<String> {
    variants(items).iter().map(|values| format!("[{}]", values.join(", "))).collect()
}
