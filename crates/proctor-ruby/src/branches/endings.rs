//! How statements end a method, and what they do, in words.

use ruby_prism::{CallNode, Node};

use super::wording;
use crate::source::{constant, name};
use crate::words::humanize;

/// Whether a statement ends the method, or the iteration.
pub(super) fn is_exit(node: &Node<'_>) -> bool {
    if node.as_return_node().is_some() || leaves_iteration(node) {
        return true;
    }
    node.as_call_node().is_some_and(|call| {
        call.receiver().is_none()
            && matches!(
                call.name().as_slice(),
                b"raise" | b"fail" | b"throw" | b"exit" | b"abort" | b"exit!"
            )
    })
}

/// Whether a statement leaves a block or a loop, or begins again.
pub(super) fn leaves_iteration(node: &Node<'_>) -> bool {
    node.as_next_node().is_some()
        || node.as_break_node().is_some()
        || node.as_retry_node().is_some()
        || node.as_redo_node().is_some()
}

/// Whether a statement raises an error.
pub(super) fn is_raise(node: &Node<'_>) -> bool {
    node.as_call_node().is_some_and(|call| raises(&call))
}

/// Whether a statement sets an attribute or a variable of the object.
pub(super) fn is_assignment(node: &Node<'_>) -> bool {
    node.as_instance_variable_write_node().is_some()
        || node.as_call_node().is_some_and(|call| call.is_attribute_write())
}

/// What `a && b` and `a || b` give if the left side decides.
pub(super) fn left_value(node: &Node<'_>, truth: bool) -> String {
    let asks = node.as_call_node().is_some_and(|call| {
        let method = call.name().as_slice();
        method.ends_with(b"?") || matches!(method, b"==" | b"!=" | b"<" | b"<=" | b">" | b">=")
    });
    match (truth, asks) {
        (true, true) => "returns true".to_owned(),
        (false, true) => "returns false".to_owned(),
        (true, false) => returned(Some(node)),
        (false, false) => "returns nil or false".to_owned(),
    }
}

fn raises(call: &CallNode<'_>) -> bool {
    matches!(call.name().as_slice(), b"raise" | b"fail") && call.receiver().is_none()
}

/// What a last statement makes of a method, in words.
pub(super) fn ending(node: &Node<'_>) -> String {
    if let Some(inner) = crate::probes::grouped(node) {
        return ending(&inner);
    }
    if let Some(rescue) = node.as_rescue_modifier_node() {
        return ending(&rescue.expression());
    }
    if let Some(leave) = node.as_return_node() {
        return match leave.arguments() {
            None => "returns nil".to_owned(),
            Some(arguments) => {
                let list = arguments.arguments();
                let only = list.first().filter(|_| list.len() == 1);
                returned(only.as_ref())
            }
        };
    }
    if let Some(call) = node.as_call_node().filter(raises) {
        let first = call.arguments().and_then(|arguments| arguments.arguments().first());
        let error = first.map(|first| {
            constant(&first).or_else(|| {
                first
                    .as_call_node()
                    .and_then(|new| new.receiver())
                    .and_then(|receiver| constant(&receiver))
            })
        });
        return match error {
            Some(Some(class)) => ["raises ", &class].concat(),
            Some(None) => "raises RuntimeError".to_owned(),
            None => "raises the current error again".to_owned(),
        };
    }
    if node.as_next_node().is_some() {
        return "goes on with the next one".to_owned();
    }
    if node.as_break_node().is_some() {
        return "stops the iteration".to_owned();
    }
    if node.as_retry_node().is_some() || node.as_redo_node().is_some() {
        return "tries again".to_owned();
    }
    if let Some(write) = node.as_instance_variable_write_node() {
        return ["sets ", &humanize(&name(write.name().as_slice()))].concat();
    }
    if let Some(call) = node.as_call_node().filter(CallNode::is_attribute_write) {
        return attribute_words(&call);
    }
    if let Some(words) = node.as_call_node().and_then(|call| action_words(&call)) {
        return words;
    }
    if let Some(words) = default_words(node) {
        return words;
    }
    if let Some(begin) = node.as_begin_node() {
        let statements = begin.else_clause().map_or(begin.statements(), |other| other.statements());
        let last = statements.and_then(|list| list.body().last());
        return last.as_ref().map_or_else(|| "returns nil".to_owned(), ending);
    }
    if node.as_while_node().is_some() || node.as_until_node().is_some() {
        return "returns nil".to_owned();
    }
    if let Some(words) = either_result(node) {
        return words;
    }
    returned(Some(node))
}

/// Calls that are made for what they do: "prints a text", "adds to the items".
fn action_words(call: &CallNode<'_>) -> Option<String> {
    let method = call.name();
    match (method.as_slice(), call.receiver()) {
        (b"puts" | b"print" | b"p" | b"pp" | b"printf", None) => Some("prints a text".to_owned()),
        (b"warn", None) => Some("prints a warning".to_owned()),
        (b"<<" | b"push" | b"append", Some(list)) => {
            Some(format!("adds to the {}", wording::expression(&list)?))
        }
        _ => None,
    }
}

/// `@total ||= …` gives the variable.
fn default_words(node: &Node<'_>) -> Option<String> {
    let own = match node {
        Node::InstanceVariableOrWriteNode { .. } => {
            node.as_instance_variable_or_write_node()?.name()
        }
        Node::ClassVariableOrWriteNode { .. } => node.as_class_variable_or_write_node()?.name(),
        Node::LocalVariableOrWriteNode { .. } => node.as_local_variable_or_write_node()?.name(),
        _ => return None,
    };
    Some(["returns the ", &humanize(&name(own.as_slice()))].concat())
}

/// What a decision with two short results gives back.
fn either_result(node: &Node<'_>) -> Option<String> {
    let branch = node.as_if_node()?;
    let other = branch.subsequent()?.as_else_node()?.statements();
    let result = |list: Option<ruby_prism::StatementsNode<'_>>| {
        wording::result(&list?.body().last()?).filter(|words| words.len() < 24)
    };
    Some(format!("returns {} or {}", result(branch.statements())?, result(other)?))
}

/// `payment.status = :paid` is "sets payment status".
fn attribute_words(call: &CallNode<'_>) -> String {
    let method = name(call.name().as_slice()).into_owned();
    let owner = call.receiver().filter(|receiver| receiver.as_self_node().is_none());
    let owner = owner.and_then(|receiver| wording::expression(&receiver)).unwrap_or_default();
    let attribute = if method == "[]=" { "an element".to_owned() } else { humanize(&method) };
    format!("sets {owner} {attribute}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is given back. An expression that words cannot tell is only called what it is.
fn returned(node: Option<&Node<'_>>) -> String {
    let words = node.and_then(wording::result);
    ["returns ", words.as_deref().unwrap_or("what it computes")].concat()
}
