//! How statements end a method, and what they do, in words.

use ruby_prism::{CallNode, Node};

use crate::effects::names;
use crate::source::{constant, name};
use crate::words::{excerpt, humanize, short};

/// Whether a statement ends the method, or the iteration.
pub(super) fn is_exit(node: &Node<'_>) -> bool {
    if node.as_return_node().is_some()
        || node.as_next_node().is_some()
        || node.as_break_node().is_some()
        || node.as_retry_node().is_some()
        || node.as_redo_node().is_some()
    {
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

fn raises(call: &CallNode<'_>) -> bool {
    matches!(call.name().as_slice(), b"raise" | b"fail") && call.receiver().is_none()
}

/// What a last statement makes of a method, in words.
pub(super) fn ending(node: &Node<'_>) -> String {
    if let Some(leave) = node.as_return_node() {
        return match leave.arguments() {
            None => "returns nil".to_owned(),
            Some(arguments) => {
                ["returns ", &short(&name(arguments.location().as_slice()))].concat()
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
    ["returns ", &excerpt(node)].concat()
}

/// What a side effect is, in words.
pub(super) fn effect_words(kind: &str, receiver: Option<&Node<'_>>, method: &str) -> String {
    let mut chain = Vec::new();
    if let Some(receiver) = receiver {
        names(receiver, &mut |part| chain.push(humanize(&name(part))));
    }
    let thing = chain.last().map_or("", String::as_str);
    let action = humanize(method);
    let words = match kind {
        "email" => {
            let call = chain.iter().rev().nth(1).map_or(thing, String::as_str);
            format!("sends {call} email")
        }
        "webhook" => format!("sends {thing} {action}"),
        "event" => format!("publishes {thing} {action}"),
        "cache" => format!("changes the cache by {action}"),
        _ => format!("calls {thing} {action}"),
    };
    // Nothing is known about what stands before.
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
