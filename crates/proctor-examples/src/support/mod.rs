//! The help desk of a shop. It is given the conversation so far, and answers or asks for a tool.
//!
//! [`decide`] is the agent: a function of the messages and the tools it may use, with no state of its own. [`wire`]
//! writes its decisions in the shape of chat completions, and [`Shop`] is what the tools work on.

mod shop;
pub mod wire;

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

pub use self::shop::{Shop, Tool};

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatMessage {
    /// The customer.
    User(String),
    /// The agent itself.
    Agent(String),
    /// A tool that the agent called: its name, and its result or its error.
    Tool {
        /// The tool.
        name: String,
        /// What came of the call.
        outcome: Result<Value, String>,
    },
}

/// What the agent does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It says something.
    Say(String),
    /// It wants a tool to be called.
    Call {
        /// The tool.
        tool: &'static str,
        /// Its arguments.
        arguments: Value,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    Private,
    Person,
    Refund,
    Delivery,
    Thanks,
    Other,
}

struct Patterns {
    topics: Vec<(Regex, Topic)>,
    order: Regex,
}

#[expect(clippy::unwrap_used, reason = "the patterns are constants, and a test compiles them")]
fn pattern(source: &str) -> Regex {
    Regex::new(source).unwrap()
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns {
    topics: vec![
        (
            pattern(
                r"(?i)ignore (all|your|the|any|previous)|system prompt|instructions|someone else|another customer|his order|her order|address of",
            ),
            Topic::Private,
        ),
        (pattern(r"(?i)\b(human|person|manager|supervisor|complain|lawyer)"), Topic::Person),
        (pattern(r"(?i)\b(refund|money back|return)"), Topic::Refund),
        (pattern(r"(?i)\b(where|when|arrive|track|delivery|delivered|status)\b"), Topic::Delivery),
        (pattern(r"(?i)\b(thanks|thank you|bye)\b"), Topic::Thanks),
    ],
    order: pattern(r"\b(?:#|[Oo]rder (?:number )?#?)?(\d{4})\b"),
});

/// What the agent does about this conversation, with these tools at hand.
pub fn decide(messages: &[ChatMessage], tools: &[String]) -> Decision {
    let topic = topic(messages);
    let order = order(messages);
    match topic {
        Topic::Private => say("I can only talk about your own orders, and only about orders."),
        Topic::Person => hand_over_to_person(messages, tools, "the customer asks for a person"),
        Topic::Thanks => say("You are welcome. Have a good day!"),
        Topic::Other if order.is_none() => {
            say("Hello! I can look up an order, refund it, or get you a person. What is it about?")
        }
        _ => match order {
            None => say("Which order is it? Its number has four digits."),
            Some(order) => about(messages, tools, &order, topic == Topic::Refund),
        },
    }
}

fn say(text: impl Into<String>) -> Decision {
    Decision::Say(text.into())
}

/// The latest thing the customer spoke of; a bare order number goes on with it.
fn topic(messages: &[ChatMessage]) -> Topic {
    let messages = messages.iter().rev().filter_map(|messages| match messages {
        ChatMessage::User(text) => Some(text.as_str()),
        _ => None,
    });
    let of = |text: &str| {
        PATTERNS.topics.iter().find(|(pattern, _)| pattern.is_match(text)).map(|(_, topic)| *topic)
    };
    messages.take(2).find_map(of).unwrap_or(Topic::Other)
}

fn order(messages: &[ChatMessage]) -> Option<String> {
    messages.iter().rev().find_map(|messages| match messages {
        ChatMessage::User(text) => PATTERNS.order.captures(text).map(|found| found[1].to_owned()),
        _ => None,
    })
}

/// What a tool has answered since the customer spoke last.
fn answered<'a>(messages: &'a [ChatMessage], tool: &str) -> Option<&'a Result<Value, String>> {
    let mut now =
        messages.iter().rev().take_while(|messages| !matches!(messages, ChatMessage::User(_)));
    now.find_map(|messages| match messages {
        ChatMessage::Tool { name, outcome } if name == tool => Some(outcome),
        _ => None,
    })
}

fn about(messages: &[ChatMessage], tools: &[String], order: &str, refund: bool) -> Decision {
    let Some(found) = answered(messages, "lookup_order") else {
        return call(tools, "lookup_order", json!({"order_id": order}));
    };
    let found = match found {
        Ok(found) => found,
        Err(error) if error.contains("unknown") => {
            return say(format!("I cannot find an order {order}. Is the number right?"));
        }
        Err(_) => return say("I cannot reach our order system right now. Please try again later."),
    };
    if refund { refund_of(messages, tools, order, found) } else { say(delivery(order, found)) }
}

fn delivery(order: &str, found: &Value) -> String {
    let item = found["item"].as_str().unwrap_or("parcel");
    match found["status"].as_str() {
        Some("shipped") => {
            let day = found["expected"].as_str().unwrap_or("soon");
            format!("Order {order} ({item}) is on its way and is expected on {day}.")
        }
        Some("delivered") => {
            let days = found["days_since_delivery"].as_u64().unwrap_or_default();
            format!("Order {order} ({item}) was delivered {days} days ago.")
        }
        _ => format!("Order {order} ({item}) is being packed."),
    }
}

/// Thirty days after delivery, in full, once.
fn refund_of(messages: &[ChatMessage], tools: &[String], order: &str, found: &Value) -> Decision {
    let days = found["days_since_delivery"].as_u64();
    let amount = &found["amount"];
    match (found["status"].as_str(), days) {
        (Some("delivered"), Some(0..=30)) => {}
        (Some("delivered"), Some(days)) => {
            return say(format!(
                "Order {order} was delivered {days} days ago. Refunds are possible within 30 days, so I cannot refund it."
            ));
        }
        _ => {
            return say(format!(
                "Order {order} has not been delivered yet. Shall I look where it is?"
            ));
        }
    }
    let Some(refunded) = answered(messages, "create_refund") else {
        return call(tools, "create_refund", json!({"order_id": order, "amount": amount}));
    };
    match refunded {
        Ok(refund) => {
            let reference = refund["reference"].as_str().unwrap_or("pending");
            say(format!(
                "I have refunded €{amount} for order {order}. The reference is {reference}."
            ))
        }
        Err(error) => hand_over_to_person(
            messages,
            tools,
            &format!("the refund of order {order} failed: {error}"),
        ),
    }
}

fn hand_over_to_person(messages: &[ChatMessage], tools: &[String], reason: &str) -> Decision {
    match answered(messages, "open_ticket") {
        None => call(tools, "open_ticket", json!({"reason": reason})),
        Some(Ok(ticket)) => {
            let ticket = ticket["ticket"].as_str().unwrap_or("noted");
            say(format!("A colleague will write to you today. Your ticket is {ticket}."))
        }
        Some(Err(_)) => {
            say("I could not open a ticket. Please call us on weekdays from nine to five.")
        }
    }
}

fn call(tools: &[String], tool: &'static str, arguments: Value) -> Decision {
    if tools.iter().any(|known| known == tool) {
        return Decision::Call { tool, arguments };
    }
    say("I have no access to our systems right now. Please try again later.")
}

#[cfg(test)]
mod tests;
