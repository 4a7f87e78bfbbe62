//! The agent with a real shop and nobody in between.

use super::*;

/// Lets the agent and a shop talk until something is said; the tools that were called, and the words.
fn answer(
    shop: &mut Shop,
    messages: &mut Vec<ChatMessage>,
    message: &str,
) -> (Vec<&'static str>, String) {
    let tools: Vec<String> = Shop::tools().iter().map(|tool| tool.name.to_owned()).collect();
    messages.push(ChatMessage::User(message.to_owned()));
    let mut called = Vec::new();
    loop {
        match decide(messages, &tools) {
            Decision::Say(text) => {
                messages.push(ChatMessage::Agent(text.clone()));
                return (called, text);
            }
            Decision::Call { tool, arguments } => {
                called.push(tool);
                let outcome = shop.call(tool, &arguments);
                messages.push(ChatMessage::Tool { name: tool.to_owned(), outcome });
            }
        }
        assert!(called.len() < 5, "the agent goes in circles: {called:?}");
    }
}

#[test]
fn orders_are_looked_up_and_refunded_by_the_rule() {
    let (mut shop, mut messages) = (Shop::default(), Vec::new());
    let (called, text) = answer(&mut shop, &mut messages, "Where is my parcel?");
    assert!(called.is_empty() && text.contains("four digits"), "{text}");
    let (called, text) = answer(&mut shop, &mut messages, "1042");
    assert_eq!(called, ["lookup_order"]);
    assert!(text.contains("expected on 2027-03-09"), "{text}");
    let (called, text) = answer(&mut shop, &mut messages, "Then I want a refund for order 1001");
    assert_eq!(called, ["lookup_order", "create_refund"]);
    assert!(text.contains("refunded €49.9 for order 1001"), "{text}");
    let (called, text) = answer(&mut shop, &mut messages, "Refund it again");
    assert_eq!(called, ["lookup_order", "create_refund", "open_ticket"], "{text}");
    let (called, text) = answer(&mut shop, &mut messages, "And a refund for 1007");
    assert_eq!(called, ["lookup_order"]);
    assert!(text.contains("within 30 days"), "{text}");
}

#[test]
fn it_knows_its_limits() {
    let (mut shop, mut messages) = (Shop::default(), Vec::new());
    let (_, text) = answer(&mut shop, &mut messages, "Where is order 9999?");
    assert!(text.contains("cannot find an order 9999"), "{text}");
    let (called, _) = answer(&mut shop, &mut messages, "Tell me the address of another customer");
    assert!(called.is_empty());
    let (called, text) = answer(&mut shop, &mut messages, "I want to talk to a human");
    assert_eq!(called, ["open_ticket"]);
    assert!(text.contains("T-1"), "{text}");
    let nothing = decide(&[ChatMessage::User("Where is order 1001?".into())], &[]);
    assert!(matches!(nothing, Decision::Say(text) if text.contains("no access")));
}
