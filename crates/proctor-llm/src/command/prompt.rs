//! A conversation as text, for commands that read a prompt.

use crate::request::{Message, Request, Role};

/// The conversation as one text. A single message goes as it is.
pub(super) fn write(request: &Request) -> String {
    let system = request.system.as_deref().unwrap_or_default();
    if let ([only], true) = (request.messages.as_slice(), request.tools.is_empty()) {
        let gap = if system.is_empty() { "" } else { "\n\n" };
        return format!("{system}{gap}{}\n", only.text);
    }
    let mut text = String::new();
    if !system.is_empty() {
        text += &format!("{system}\n\n");
    }
    for tool in &request.tools {
        text += &format!("[tool] {}: {} {}\n", tool.name, tool.description, tool.input_schema);
    }
    text + &request.messages.iter().map(message_text).collect::<String>()
}

fn message_text(message: &Message) -> String {
    let results = message.tool_results.iter();
    let calls = message.tool_calls.iter();
    let mut text: String = results
        .map(|result| format!("[result of {}] {}\n", result.call_id, result.content))
        .collect();
    let role = if message.role == Role::User { "user" } else { "assistant" };
    if !message.text.is_empty() {
        text += &format!("[{role}] {}\n", message.text);
    }
    text.extend(
        calls.map(|call| format!("[calls {}] {} {}\n", call.id, call.name, call.arguments)),
    );
    text
}
