//! Expressions as noun phrases, results as clauses: titles are made of these, never of code.

use ruby_prism::{CallNode, Node};

use crate::source::{constant, literal_code, name, nodes, owned};
use crate::words::{humanize, short};

/// Longer phrases say less than "the condition".
const MAX_PHRASE: usize = 60;

/// Calls that change how a value is written, not which one it is.
fn is_conversion(method: &[u8]) -> bool {
    matches!(
        method,
        b"to_s"
            | b"to_sym"
            | b"to_i"
            | b"to_f"
            | b"to_a"
            | b"to_h"
            | b"to_str"
            | b"strip"
            | b"chomp"
            | b"downcase"
            | b"upcase"
            | b"dup"
            | b"freeze"
            | b"compact"
            | b"itself"
    )
}

/// Words for an expression that is no plain name: `env["PATH_INFO"].split("/")` is "env path info split".
pub(super) fn expression(node: &Node<'_>) -> Option<String> {
    let words = parts(node)?;
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty() && words.chars().count() <= MAX_PHRASE).then_some(words)
}

fn parts(node: &Node<'_>) -> Option<String> {
    if let Some(inner) = crate::probes::grouped(node) {
        return parts(&inner);
    }
    if let Some(call) = node.as_call_node() {
        return call_words(&call);
    }
    if let Some(array) = node.as_array_node() {
        let words: Vec<String> =
            array.elements().iter().map(|element| parts(&element)).collect::<Option<_>>()?;
        return Some(words.join(" and "));
    }
    if let Some(splat) = node.as_splat_node() {
        return parts(&splat.expression()?);
    }
    if let Some(code) = literal_code(node) {
        return Some(literal_words(node, &code));
    }
    if let Some(constant) = constant(node) {
        let own = constant.rsplit("::").next().unwrap_or(&constant);
        let shouted = own.to_uppercase() == own;
        return Some(if shouted { humanize(own) } else { constant.into_owned() });
    }
    // `self.class::LIMIT`
    if let Some(path) = node.as_constant_path_node() {
        return path.name().map(|own| humanize(&name(own.as_slice())));
    }
    let is_name = node.as_local_variable_read_node().is_some()
        || node.as_instance_variable_read_node().is_some()
        || node.as_class_variable_read_node().is_some()
        || node.as_global_variable_read_node().is_some();
    if is_name {
        return Some(humanize(&name(node.location().as_slice())));
    }
    (node.as_self_node().is_some() || node.as_it_local_variable_read_node().is_some())
        .then(|| "it".to_owned())
}

fn call_words(call: &CallNode<'_>) -> Option<String> {
    let method = call.name();
    let method = method.as_slice();
    let owner = match call.receiver() {
        Some(receiver) => parts(&receiver)?,
        None => String::new(),
    };
    let first = call.arguments().and_then(|list| list.arguments().first());
    let between = match method {
        b"+" => "plus",
        b"-" => "minus",
        b"*" => "times",
        b"/" => "divided by",
        b"%" => "modulo",
        _ => "",
    };
    if let (false, Some(other)) = (between.is_empty(), &first) {
        return Some(format!("{owner} {between} {}", parts(other)?));
    }
    if is_conversion(method) {
        return Some(owner);
    }
    if let Some(now) = call.receiver().as_ref().and_then(|receiver| clock(receiver, method)) {
        return Some(now.to_owned());
    }
    if matches!(method, b"[]" | b"fetch" | b"dig") && first.is_some() {
        let keys = call.arguments().map(|list| nodes(&list.arguments())).unwrap_or_default();
        let keys = if method == b"fetch" { &keys[..1] } else { &keys[..] };
        let keys = keys.iter().map(|key| key_words(key).unwrap_or_else(|| "element".to_owned()));
        return Some(format!("{owner} {}", keys.collect::<Vec<_>>().join(" ")));
    }
    if let (b"<=>", Some(other)) = (method, &first) {
        return Some(format!("{owner} compared with {}", parts(other)?));
    }
    let plain = method.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    plain.then(|| format!("{owner} {}", humanize(&name(method))))
}

/// The clock, by what is asked of which class.
fn clock(receiver: &Node<'_>, method: &[u8]) -> Option<&'static str> {
    let class = match receiver.as_call_node() {
        Some(zone) if zone.name().as_slice() == b"zone" => constant(&zone.receiver()?)?,
        _ => constant(receiver)?,
    };
    match (class.as_ref(), method) {
        ("Time" | "DateTime", b"now" | b"current") => Some("the current time"),
        ("Date" | "Time", b"today" | b"current") => Some("today"),
        _ => None,
    }
}

/// A key that is written down is a name.
fn key_words(node: &Node<'_>) -> Option<String> {
    let text = match (node.as_symbol_node(), node.as_string_node()) {
        (Some(symbol), _) => owned(symbol.unescaped()),
        (_, Some(string)) => owned(string.unescaped()),
        _ => return parts(node),
    };
    Some(humanize(&text.to_lowercase().replace(['-', '.'], " ")))
}

/// A literal as it is read aloud: symbols without their colon.
pub(super) fn literal_words(node: &Node<'_>, code: &str) -> String {
    match node.as_symbol_node() {
        Some(symbol) => owned(symbol.unescaped()).replace('_', " "),
        None if node.as_array_node().is_some() || node.as_hash_node().is_some() => {
            collection_words(node).unwrap_or_else(|| short(code).into_owned())
        }
        None => short(code).into_owned(),
    }
}

fn collection_words(node: &Node<'_>) -> Option<String> {
    if let Some(table) = node.as_hash_node() {
        return hash_words(&nodes(&table.elements()));
    }
    let elements = nodes(&node.as_array_node()?.elements());
    if elements.is_empty() {
        return Some("an empty list".to_owned());
    }
    if elements.len() > 4 {
        return Some(format!("{} values", elements.len()));
    }
    let words: Option<Vec<String>> = elements.iter().map(parts).collect();
    words.map(|words| words.join(" and "))
}

/// The right side of a comparison, or an argument, as it is read aloud.
pub(super) fn operand(node: &Node<'_>) -> String {
    if let Some(code) = literal_code(node) {
        return literal_words(node, &code);
    }
    match super::patterns::ranged(node) {
        Some(range) => range,
        None => expression(node).unwrap_or_else(|| "the other value".to_owned()),
    }
}

/// "a Hash", "an Integer"
pub(super) fn with_article(noun: &str) -> String {
    let vowel = noun.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']);
    [if vowel { "an " } else { "a " }, noun].concat()
}

/// What is given back, in words: a literal, a hash by its keys, a new object by its class, an expression by its names.
pub(super) fn result(node: &Node<'_>) -> Option<String> {
    if let Some(inner) = crate::probes::grouped(node) {
        return result(&inner);
    }
    if let Some(code) = literal_code(node) {
        return Some(short(&code).into_owned());
    }
    let elements: Option<Vec<Node<'_>>> = node
        .as_hash_node()
        .map(|table| table.elements().iter().collect())
        .or_else(|| node.as_keyword_hash_node().map(|table| table.elements().iter().collect()));
    if let Some(elements) = elements {
        return hash_words(&elements);
    }
    if let Some(call) = node.as_call_node() {
        let makes = call.name().as_slice() == b"new";
        if let Some(class) = call.receiver().filter(|_| makes).as_ref().and_then(constant) {
            return Some(format!("a new {class}"));
        }
        let method = call.name();
        let method = method.as_slice();
        if matches!(method, b"dup" | b"clone") {
            return Some(format!("a copy of {}", expression(&call.receiver()?)?));
        }
        if call.receiver().is_none() && call.arguments().is_some() {
            return Some(format!("the result of {}", humanize(&name(method))));
        }
        if call.block().is_some() || call.arguments().is_some_and(|list| list.arguments().len() > 1)
        {
            return Some(format!("the result of {}", humanize(&name(call.name().as_slice()))))
                .filter(|_| call.name().as_slice().first().is_some_and(u8::is_ascii_alphabetic));
        }
    }
    if let Some(array) = node.as_array_node() {
        let count = array.elements().len();
        return Some(if count == 0 {
            "an empty list".to_owned()
        } else {
            format!("a list of {count}")
        });
    }
    if node.as_interpolated_string_node().is_some() {
        return Some("a text".to_owned());
    }
    if node.as_self_node().is_some() {
        return Some("itself".to_owned());
    }
    if node.as_lambda_node().is_some() {
        return Some("a lambda".to_owned());
    }
    if node.as_yield_node().is_some() {
        return Some("what the block gives".to_owned());
    }
    expression(node).map(|words| format!("the {words}"))
}

fn hash_words(elements: &[Node<'_>]) -> Option<String> {
    if elements.is_empty() {
        return Some("an empty hash".to_owned());
    }
    let pairs = elements.iter().take(4).map(|pair| {
        let pair = pair.as_assoc_node()?;
        let key = key_words(&pair.key())?;
        let value = pair.value();
        Some(match literal_code(&value) {
            Some(code) => format!("{key} {}", literal_words(&value, &code)),
            None => key,
        })
    });
    let words: Vec<String> = pairs.collect::<Option<_>>()?;
    Some(words.join(" and "))
}
