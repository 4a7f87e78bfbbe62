//! Side effects as sentences: "sends paid email", "publishes the seen event", "enqueues invoice job".

use ruby_prism::{CallNode, Node};

use crate::effects::names;
use crate::source::{name, owned};
use crate::words::humanize;

/// What a side effect of a kind is, in words.
pub(super) fn effect_words(kind: &str, call: &CallNode<'_>) -> String {
    let mut chain = Vec::new();
    if let Some(receiver) = call.receiver() {
        names(&receiver, &mut |part| chain.push(humanize(&name(part))));
    }
    let thing = chain.last().map_or("", String::as_str);
    let own = call.name();
    let method = name(own.as_slice());
    let action = humanize(&method);
    let words = match kind {
        "email" => email(&chain, thing),
        "webhook" => notification(thing, &action),
        "event" => event(call, thing, &method),
        "cache" => cache(&method).to_owned(),
        "external_api" => request(thing, &action),
        _ => format!("calls {thing} {action}"),
    };
    // Nothing is known about what stands before.
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn email(chain: &[String], thing: &str) -> String {
    let call = chain.iter().rev().nth(1).map_or(thing, String::as_str);
    if call.is_empty() || call.ends_with("mailer") || call == "mail" || call == "with" {
        let mailer = thing.strip_suffix("mailer").map(str::trim).unwrap_or_default();
        return if mailer.is_empty() {
            "sends an email".to_owned()
        } else {
            format!("sends {mailer} email")
        };
    }
    format!("sends {call} email")
}

/// Names that say nothing but that it is done.
fn is_plain_action(action: &str) -> bool {
    matches!(
        action,
        "call"
            | "notify"
            | "deliver"
            | "send"
            | "post"
            | "publish"
            | "perform"
            | "run"
            | "trigger"
            | "push"
            | "new"
            | "deliver later"
            | "deliver now"
    )
}

fn notification(thing: &str, action: &str) -> String {
    let kind = if thing.contains("webhook") { "webhook" } else { "notification" };
    if !is_plain_action(action) {
        return format!("sends {action} {kind}");
    }
    let about = thing.trim_end_matches("notifier").trim_end_matches(kind).trim();
    if about.is_empty() { format!("sends a {kind}") } else { format!("sends {about} {kind}") }
}

fn event(call: &CallNode<'_>, thing: &str, method: &str) -> String {
    if method.starts_with("perform_") || method == "enqueue" {
        return format!("enqueues {thing}");
    }
    let first = call.arguments().and_then(|list| list.arguments().first());
    let event = first.as_ref().and_then(event_name);
    match event {
        Some(event) => format!("publishes the {event} event"),
        None => "publishes an event".to_owned(),
    }
}

fn event_name(node: &Node<'_>) -> Option<String> {
    let text = match (node.as_symbol_node(), node.as_string_node()) {
        (Some(symbol), _) => owned(symbol.unescaped()),
        (_, Some(string)) => owned(string.unescaped()),
        _ => return None,
    };
    Some(humanize(&text.replace(['.', '-', ':'], "_")))
}

fn cache(method: &str) -> &'static str {
    match method {
        "write" => "writes to the cache",
        "delete" => "deletes from the cache",
        "clear" => "clears the cache",
        "increment" => "increments a number in the cache",
        _ => "reads through the cache",
    }
}

fn request(thing: &str, action: &str) -> String {
    if matches!(action, "get" | "post" | "put" | "patch" | "delete" | "head") {
        return format!("sends a {} request", action.to_uppercase());
    }
    if thing.contains("http") || matches!(thing, "faraday" | "excon" | "typhoeus") {
        return "makes an HTTP request".to_owned();
    }
    format!("calls {thing} {action}")
}
